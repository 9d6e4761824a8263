import pytest

from ensemblage.datasets._arff_declarations import (
    Attribute,
    date_pattern,
    declare,
    split_tokens,
    split_values,
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a numeric", Attribute("a", "number")),
        ("'a b' REAL", Attribute("a b", "number")),
        ('"it\'s" string', Attribute("it's", "word")),
        ("'it\\'s' string", Attribute("it's", "word")),
        ("a integer[1,5]", Attribute("a", "number")),
        ("a{x, 'y z', 3}", Attribute("a", "word", ("x", "y z", "3"))),
        ("a {x y z}", Attribute("a", "word", ("x", "y", "z"))),
        ("a {New York, Rome,}", Attribute("a", "word", ("New York", "Rome"))),
        ("a {?, x}", Attribute("a", "word", ("?", "x"))),
        ("a date", Attribute("a", "date")),
        ('a date "yyyy-MM-dd"', Attribute("a", "date", form="yyyy-MM-dd")),
    ],
)
def test_declarations(line, expected):
    assert declare(line, "Line 1") == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a", "`@attribute NAME TYPE` is expected, got 'a'"),
        ("", "NAME TYPE"),
        ("a {x", "not closed by a brace"),
        ("a relational", "tables inside rows"),
        ("a reel", r"unknown type 'reel' for 'a'\. Did you mean 'real'\? Known are numeric"),
    ],
)
def test_bad_declarations(line, message):
    with pytest.raises(ValueError, match=message):
        declare(line, "Line 1")


def test_splitting_by_commas_and_by_blanks():
    assert split_values("1,, 'a, b' ,?,'?',", "Line 1") == ["1", "", "a, b", None, "?", ""]
    assert split_tokens("1, 'a b'  ? % '", "Line 1") == ["1", "a b", None]
    for split in (split_values, split_tokens):
        with pytest.raises(ValueError, match="Line 1 has a quotation mark that is not closed"):
            split("1,'a", "Line 1")


@pytest.mark.parametrize(
    ("form", "text", "parts"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss", "2021-04-03T10:11:12", ("2021", "04", "03")),
        ("d MMM yy", "3 Apr 21", ("21", None, "3")),
        ("EEE, dd/MM/yyyy hh:mm a z", "Sat, 03/04/2021 10:11 PM UTC", ("2021", "04", "03")),
    ],
)
def test_formats_of_java(form, text, parts):
    found = date_pattern(form).fullmatch(text).groupdict()
    assert (found["year"], found.get("month"), found["day"]) == parts
