import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import ReadOptions
from ensemblage.datasets._options import Request
from ensemblage.datasets._table import kind_of
from ensemblage.datasets._value_types import (
    NUMBER_FORMATS,
    PLAIN,
    NumberFormat,
    find_number_format,
    moment,
    parse_numbers,
    quick_numbers,
    read_dates,
    strip_sign,
    type_columns,
)


@pytest.mark.parametrize(
    ("text", "marks", "value"),
    [
        ("1.5e-3", PLAIN, 0.0015),
        ("1.234,56", NumberFormat(",", "."), 1234.56),
        ("1,234.56", NumberFormat(".", ","), 1234.56),
        ("12,34,567", NumberFormat(".", ","), 1234567.0),
        ("1 234,56", NumberFormat(",", " "), 1234.56),
        ("1\u202f234\u00a0567,5", NumberFormat(",", " "), 1234567.5),
        ("1'234.56", NumberFormat(".", "'"), 1234.56),
        ("1\u2019234", NumberFormat(".", "'"), 1234.0),
        ("\u2212,5", NumberFormat(","), -0.5),
    ],
)
def test_numbers_of_the_world(text, marks, value):
    assert parse_numbers([text], marks) == [value]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("1_000", PLAIN), ("inf", PLAIN), ("x", PLAIN), ("1,5", PLAIN),
        ("0.123", NumberFormat(",", ".")), ("1.23,4", NumberFormat(",", ".")),
        ("1,5", NumberFormat(".", ",")), ("12345.678", NumberFormat(",", ".")),
        ("1,5\n2", NumberFormat(",")), ("", NumberFormat(",")), (",", NumberFormat(",")),
    ],
)  # fmt: skip
def test_what_is_no_number(text, marks):
    assert parse_numbers(["1", text], marks) is None


@given(st.integers(-(10**12), 10**12), st.sampled_from(NUMBER_FORMATS))
def test_what_is_written_with_marks_is_read_with_them(value, marks):
    text = f"{value:,}.25".replace(",", "T").replace(".", marks.decimal)
    assert parse_numbers([text.replace("T", marks.thousands)], marks) == [float(f"{value}.25")]


def test_quick_numbers_take_gaps_but_no_words():
    assert quick_numbers(["1", "", " 2.5 "]).tolist()[::2] == [1.0, 2.5]
    for word in ("x", "1_0", "inf", "1,5"):
        assert quick_numbers(["1", word]) is None


def test_a_sign_that_all_have_is_taken_off():
    assert strip_sign(["12 %", "3%"]) == ("%", ["12", "3"])
    assert strip_sign(["-$1.50", "$2"]) == ("$", ["-1.50", "2"])
    assert strip_sign(["12%", "3"]) is None
    assert strip_sign(["1$2"]) is None
    assert strip_sign([]) is None


@pytest.mark.parametrize(
    ("odd", "plain", "separator", "expected"),
    [
        ([], [["1.5"]], ",", (PLAIN, None)),
        ([["1,5"]], [["2"]], ";", (NumberFormat(","), None)),
        ([["1,5"], ["1.234,5"]], [], ";", (NumberFormat(",", "."), None)),
        ([["1,5"]], [["1.234", "12"]], ";", (NumberFormat(",", "."), None)),
        ([["1,5"]], [["0.234"]], ";", (NumberFormat(","), None)),
        ([["1,234.5"]], [], ",", (NumberFormat(".", ","), None)),
        # only 1,234: other columns, then the separator decide
        ([["1,234"]], [["0.5"]], ";", (NumberFormat(".", ","), "1,234")),
        ([["1,234"]], [["5"]], ";", (NumberFormat(","), "1,234")),
        ([["1,234"]], [["5"]], ",", (NumberFormat(".", ","), "1,234")),
        ([["red"], ["1 234"]], [], ";", (NumberFormat(",", " "), None)),
    ],
)
def test_marks_are_those_that_read_the_most_columns(odd, plain, separator, expected):
    assert find_number_format(odd, plain, ReadOptions(), separator) == expected


@pytest.mark.parametrize(
    ("odd", "plain", "options", "separator", "expected"),
    [
        ([], [["1.234"]], ReadOptions(decimal=","), ",", NumberFormat(",", ".")),
        ([["1,234"]], [], ReadOptions(thousands=","), ";", NumberFormat(".", ",")),
        ([["1,5"]], [], ReadOptions(decimal="."), ";", PLAIN),
    ],
)
def test_marks_that_are_said_are_taken(odd, plain, options, separator, expected):
    assert find_number_format(odd, plain, options, separator)[0] == expected


def dates(*texts, **how):
    found = read_dates(texts, **how)
    return None if found is None else np.datetime_as_string(found[0], "m").tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2021-04-03", "2021-04-03T00:00"),
        ("2021/4/3 7:05", "2021-04-03T07:05"),
        ("2021-04-03T10:11:12.5Z", "2021-04-03T10:11"),
        ("2021-04-03T10:11+02:00", "2021-04-03T08:11"),
        ("3.4.2021", "2021-04-03T00:00"),
        ("03.04.21", "2021-04-03T00:00"),
        ("13/04/2021 1:30 PM", "2021-04-13T13:30"),
        ("4/13/70", "1970-04-13T00:00"),
        ("3-Apr-2021", "2021-04-03T00:00"),
        ("3 april 2021", "2021-04-03T00:00"),
        ("Apr 3rd, 2021", "2021-04-03T00:00"),
    ],
)
def test_dates_as_people_write_them(text, expected):
    assert dates(text) == [expected]


@pytest.mark.parametrize(
    "texts",
    [
        ["2021-02-30"], ["2021-13-01"], ["1.2.10"], ["10-11-12"], ["2021"], ["3/4"], ["x"], [""],
        ["13/14/2021"], ["31/12/2021", "12/31/2021"], ["2021-01-01", "1.1.2021"], ["3 foo 2021"],
        ["2021-01-01 25:00"],
    ],
)  # fmt: skip
def test_what_is_no_column_of_dates(texts):
    assert read_dates(texts) is None


def test_one_date_tells_the_order_of_all():
    assert dates("03/04/2021", "13/04/2021") == ["2021-04-03T00:00", "2021-04-13T00:00"]
    assert dates("03/04/2021", "04/13/2021") == ["2021-03-04T00:00", "2021-04-13T00:00"]
    assert read_dates(["03/04/2021", "13/04/2021"])[1:] == ("day-first", True)


def test_where_nothing_tells_the_hint_is_taken_and_said():
    assert read_dates(["03/04/2021"])[1:] == ("month-first", False)
    assert read_dates(["03/04/2021"], hint="day-first")[1:] == ("day-first", False)
    assert read_dates(["03/04/2021"], "day-first")[1:] == ("day-first", True)
    assert read_dates(["13/04/2021"], "month-first") is None


@given(st.datetimes(min_value=np.datetime64("1000-01-01", "s").item()))
def test_iso_dates_survive(value):
    found = read_dates([value.isoformat()])
    assert found[0][0] == np.datetime64(value, "ms")


def test_parts_that_are_not_there_have_the_least_value():
    assert moment({"year": "1999", "month": "2"}) == np.datetime64("1999-02-01", "ms")


def typed(separator=",", kinds=None, options=None, **texts):
    columns = {name: values.split("|") for name, values in texts.items()}
    return type_columns(columns, Request("a.csv", kinds or {}, options or ReadOptions()), separator)


def values(found, place=0):
    return found.columns[place].tolist()


def test_plain_columns_need_no_note():
    found = typed(a="1|2.5||NA", b="x|NA|?|null", c="|||", d="NA|?||")
    kinds = ["numeric", "categorical", "numeric", "numeric"]
    assert [kind_of(column) for column in found.columns] == kinds
    np.testing.assert_array_equal(found.columns[0], [1.0, 2.5, np.nan, np.nan])
    assert values(found, 1) == ["x", None, None, None]
    assert found[1:4] == (PLAIN, (), None)


def test_words_for_gaps_are_gaps_among_numbers_only():
    found = typed(a="1|n/a|-|2", b="x|n/a|-|y", c="-|-|-|-")
    np.testing.assert_array_equal(found.columns[0], [1.0, np.nan, np.nan, 2.0])
    assert values(found, 1) == ["x", "n/a", "-", "y"]
    assert values(found, 2) == ["-", "-", "-", "-"]
    assert found.notes == ("Read as missing in column 'a': '-', 'n/a'.",)


def test_marks_are_the_same_in_the_whole_file():
    found = typed(";", a="1,5|2", b="1.234|5", c="0.5|7", d="x|1,5")
    assert values(found, 0) == [1.5, 2.0]
    assert values(found, 1) == [1234.0, 5.0]
    assert values(found, 2) == [0.5, 7.0]
    assert values(found, 3) == ["x", "1,5"]
    assert found.format == NumberFormat(",", ".")


def test_what_may_be_either_is_noted():
    expected = (
        "'1,234' may stand for 1234 or for 1.234; it is read as the second: if that is wrong, "
        "say so by `decimal`."
    )
    assert typed(";", a="1,234|5").notes == (expected,)
    assert "'1.234' may stand for 1234" in typed(";", a="1.234|12.345").notes[0]
    assert typed(",", a="1.234|12.345").notes == ()


def test_signs_are_taken_off():
    found = typed(a="12%|3 %|", b="$1,200|$5|-")
    np.testing.assert_array_equal(found.columns[0], [12.0, 3.0, np.nan])
    np.testing.assert_array_equal(found.columns[1], [1200.0, 5.0, np.nan])
    assert found.notes[1:3] == (
        "Column 'a' is read without its '%'.",
        "Column 'b' is read without its '$'.",
    )


def test_a_column_tells_the_others_what_comes_first():
    found = typed(a="13/04/2021|", b="03/04/2021|n/a", c="x|y")
    assert kind_of(found.columns[1]) == "date"
    assert found.columns[1][0] == np.datetime64("2021-04-03", "ms")
    assert np.isnat(found.columns[1][1])
    assert found.notes == (
        "Columns 'a', 'b' hold dates (day first); they become days since 1970-01-01.",
        "Read as missing in column 'b': 'n/a'.",
    )


def test_doubtful_dates_follow_the_marks_of_numbers():
    comma = typed(";", a="03/04/2021|05/06/2021")
    point = typed(",", a="03/04/2021|05/06/2021")
    assert comma.columns[0][0] == np.datetime64("2021-04-03", "ms")
    assert point.columns[0][0] == np.datetime64("2021-03-04", "ms")
    assert "month first is taken: if that is wrong, say so by `dates`." in point.notes[1]
    said = typed(",", a="03/04/2021|05/06/2021", options=ReadOptions(dates="day-first"))
    assert len(said.notes) == 1
    words = typed(",", a="03/04/2021|05/06/2021", options=ReadOptions(dates="text"))
    assert values(words) == ["03/04/2021", "05/06/2021"]


def test_known_kinds():
    kinds = {"a": "categorical", "b": "numeric", "c": "date", "d": "date", "e": "numeric"}
    found = typed(kinds=kinds, a="1|2", b="-|n/a", c="|", d="1.2.2021|-", e="1,5|2")
    assert values(found, 0) == ["1", "2"]
    assert np.isnan(found.columns[1]).all()
    assert np.isnat(found.columns[2]).all()
    assert found.columns[3][0] == np.datetime64("2021-02-01", "ms")
    assert values(found, 4) == [1.5, 2.0]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("numeric", "Column 'a' holds 'hot', which is not a finite number; numbers are expected"),
        ("date", "Column 'a' holds '1', which is not a date; dates are expected in this column"),
    ],
)
def test_a_known_kind_that_does_not_fit_is_refused(kind, message):
    with pytest.raises(ValueError, match=message):
        typed(kinds={"a": kind}, a="1|hot")
