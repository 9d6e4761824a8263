import numpy as np
import pytest

from ensemblage.datasets import read_table
from ensemblage.datasets._arff import (
    Attribute,
    date_pattern,
    declare,
    parse_arff,
    split_tokens,
    split_values,
)
from ensemblage.datasets._options import Request
from ensemblage.datasets._text import is_arff

ARFF = """% a comment
@RELATION play
@attribute 'the outlook' {sunny, 'over cast', rainy}
@attribute temp numeric
@attribute note string
@attribute class {yes,no}
@data
sunny, 85, 'it\\'s hot', no
'over cast',?,"x, y",yes
% another
rainy,1e2,?,yes
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a numeric", Attribute("a", "numeric")),
        ("'a b' REAL", Attribute("a b", "numeric")),
        ('"it\'s" string', Attribute("it's", "categorical")),
        ("'it\\'s' string", Attribute("it's", "categorical")),
        ("a integer[1,5]", Attribute("a", "numeric")),
        ("a{x, 'y z', 3}", Attribute("a", "categorical", ("x", "y z", "3"))),
        ("a {x y z}", Attribute("a", "categorical", ("x", "y", "z"))),
        ("a {New York, Rome,}", Attribute("a", "categorical", ("New York", "Rome"))),
        ("a {?, x}", Attribute("a", "categorical", ("?", "x"))),
        ("a date", Attribute("a", "date")),
        ('a date "yyyy-MM-dd"', Attribute("a", "date", form="yyyy-MM-dd")),
    ],
)
def test_declarations(line, expected):
    assert declare(line, "Line 1") == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a", "expected `@attribute NAME TYPE`, got 'a'"),
        ("", "NAME TYPE"),
        ("a {x", "without a closing brace"),
        ("a relational", "relational attribute, which is not supported"),
        ("a reel", r"unknown type 'reel' for 'a'\. Did you mean 'real'\? Expected one of numeric"),
    ],
)
def test_bad_declarations(line, message):
    with pytest.raises(ValueError, match=message):
        declare(line, "Line 1")


def test_splitting_at_commas_and_whitespace():
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
def test_java_date_formats(form, text, parts):
    found = date_pattern(form).fullmatch(text).groupdict()
    assert (found["year"], found.get("month"), found["day"]) == parts


def parse(text, **request):
    return parse_arff(text, "UTF-8", Request("a.arff", **request))


def declared(*rows, head="@attribute a real\n@attribute b {x,'y z'}\n@attribute c integer"):
    return parse("\n".join(["@relation r", head, "@data", *rows]))


def test_declarations_and_rows():
    table = parse(ARFF)
    assert table.names == ("the outlook", "temp", "note", "class")
    assert table.kinds == ("categorical", "numeric", "categorical", "categorical")
    assert table.column("the outlook").tolist() == ["sunny", "over cast", "rainy"]
    np.testing.assert_array_equal(table.column("temp"), [85.0, np.nan, 100.0])
    assert table.column("note").tolist() == ["it's hot", "x, y", None]
    assert table.categories["the outlook"] == ("sunny", "over cast", "rainy")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "sunny, 85",
            "foggy, 85",
            r"Line 8 of a\.arff has 'foggy' in column 'the outlook'; declared cat",
        ),
        ("rainy,1e2,?,yes", "rainy,1e2", "Line 11 .* has 2 values, but 4 attributes"),
        ("rainy,1e2", "rainy,hot", "Line 11 of a.arff has 'hot' in column 'temp'; expected a fin"),
        ("rainy,1e2,?,yes", "{7 1}", "attribute index 7, but 4 attributes are declared"),
        ("rainy,1e2,?", "rainy,1e2,'x", "quotation mark that is not closed"),
        ("@RELATION play", "x,y", "Line 2 of a.arff is not an ARFF declaration"),
        (ARFF, "", "declares no @attribute"),
        (ARFF[ARFF.index("sunny, 85") :], "", "no rows after @data"),
    ],
)
def test_bad_arff_names_the_line(old, new, message):
    with pytest.raises(ValueError, match=message):
        parse(ARFF.replace(old, new))


def test_arff_equals_csv_on_real_data(shared):
    text = (shared / "data" / "vote.csv").read_text(encoding="utf-8")
    header, *rows = text.splitlines()
    lines = [f"@attribute {name} string" for name in header.split(",")]
    rows = [",".join(value or "?" for value in row.split(",")) for row in rows]
    arff = parse("\n".join(["@relation v", *lines, "@data", *rows]))
    csv = read_table(shared / "data" / "vote.csv")
    assert arff.names == csv.names
    assert arff.to_array().tolist() == csv.to_array().tolist()


def test_quoted_question_mark_and_declared_na_are_values():
    table = declared("?,NA", "NA,'?'", "1,?", head="@attribute a real\n@attribute b {NA,'?',x}")
    assert table.column("b").tolist() == ["NA", "?", None]
    assert np.isnan(table.column("a")).tolist() == [True, True, False]
    assert table.categories == {"b": ("NA", "?", "x")}


@pytest.mark.parametrize(
    "row",
    [
        "1,'y z',2", "1 'y z' 2", "1\t'y z'\t2", "1\ty z\t2", "1, y z, 2,", "1,'y z',2 % a comment",
        "1,\"y z\",2", "1,'y z',2,{5}", "{0 1, 1 'y z', 2 2}", "  1 , 'y z' , 2  ",
    ],
)  # fmt: skip
def test_rows_in_all_forms_of_weka(row):
    table = declared(row, "3 x 4")
    assert table.to_array().tolist() == [[1.0, "y z", 2.0], [3.0, "x", 4.0]]


def test_omitted_sparse_values_are_zero_or_the_first_category():
    assert declared("{2 5}", "{0 ?}").to_array()[:, 1:].tolist() == [["x", 5.0], ["x", 0.0]]


def test_dates_in_their_declared_format():
    head = "@attribute t date 'dd.MM.yyyy HH:mm'\n@attribute u DATE"
    table = declared("'03.04.2021 10:11',2021-04-03T10:11:12", "?,?", head=head)
    assert table.kinds == ("date", "date")
    assert table.column("t")[0] == np.datetime64("2021-04-03T10:11", "ms")
    assert table.column("u")[0] == np.datetime64("2021-04-03T10:11:12", "ms")
    with pytest.raises(
        ValueError, match=r"'2021' in column 't'; expected a date of the form 'dd\.MM\.yyyy"
    ):
        declared("2021,?", head=head)


def test_known_kinds_override_declared_ones():
    text = "@attribute a {1,2}\n@attribute b real\n@attribute c string\n@data\n1,2,2021-04-03\n"
    table = parse(text, kinds={"a": "numeric", "b": "categorical", "c": "date"})
    assert table.kinds == ("numeric", "categorical", "date")
    assert table.categories == {}
    with pytest.raises(ValueError, match="has 'x' in column 'c'; expected a date"):
        parse(text.replace("2021-04-03", "x"), kinds={"c": "date"})


def test_duplicate_names_are_renamed_and_encoding_is_noted():
    text = "@attribute a real\n@attribute a real\n@data\n1,2\n"
    table = parse_arff(text, "Latin-1", Request("a.arff"))
    assert table.names == ("a", "a_2")
    assert table.notes == ("Read with encoding Latin-1.",)


def test_arff_is_detected_by_its_first_declaration():
    assert is_arff("% c\n\n @RELATION x")
    assert not is_arff("a,b\n@relation")
    assert not is_arff("")


@pytest.mark.parametrize(
    "line",
    ["@attribute a" + " " * 200_000, "@attribute a {b" + " " * 200_000, "' " * 100_000, " ," * 9],
)
def test_many_spaces_take_no_time(line):
    with pytest.raises(ValueError, match="Line"):
        declared(line + "x")
    with pytest.raises(ValueError, match="Line"):
        parse(line + "\n")
