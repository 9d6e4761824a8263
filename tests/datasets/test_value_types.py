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
    ("text", "number_format", "value"),
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
def test_numbers_of_all_locales(text, number_format, value):
    assert parse_numbers([text], number_format) == [value]


@pytest.mark.parametrize(
    ("text", "number_format"),
    [
        ("1_000", PLAIN), ("inf", PLAIN), ("x", PLAIN), ("1,5", PLAIN),
        ("0.123", NumberFormat(",", ".")), ("1.23,4", NumberFormat(",", ".")),
        ("1,5", NumberFormat(".", ",")), ("12345.678", NumberFormat(",", ".")),
        ("1,5\n2", NumberFormat(",")), ("", NumberFormat(",")), (",", NumberFormat(",")),
    ],
)  # fmt: skip
def test_invalid_numbers(text, number_format):
    assert parse_numbers(["1", text], number_format) is None


@given(st.integers(-(10**12), 10**12), st.sampled_from(NUMBER_FORMATS))
def test_numbers_round_trip_in_all_formats(value, number_format):
    text = f"{value:,}.25".replace(",", "T").replace(".", number_format.decimal)
    assert parse_numbers([text.replace("T", number_format.thousands)], number_format) == [
        float(f"{value}.25")
    ]


def test_quick_numbers_accept_missing_values_but_no_text():
    assert quick_numbers(["1", "", " 2.5 "]).tolist()[::2] == [1.0, 2.5]
    for text in ("x", "1_0", "inf", "1,5"):
        assert quick_numbers(["1", text]) is None


def test_common_sign_is_removed():
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
def test_number_format_is_inferred(odd, plain, separator, expected):
    assert find_number_format(odd, plain, ReadOptions(), separator) == expected


@pytest.mark.parametrize(
    ("odd", "plain", "options", "separator", "expected"),
    [
        ([], [["1.234"]], ReadOptions(decimal=","), ",", NumberFormat(",", ".")),
        ([["1,234"]], [], ReadOptions(thousands=","), ";", NumberFormat(".", ",")),
        ([["1,5"]], [], ReadOptions(decimal="."), ";", PLAIN),
    ],
)
def test_given_number_format(odd, plain, options, separator, expected):
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
def test_date_formats(text, expected):
    assert dates(text) == [expected]


@pytest.mark.parametrize(
    "texts",
    [
        ["2021-02-30"], ["2021-13-01"], ["1.2.10"], ["10-11-12"], ["2021"], ["3/4"], ["x"], [""],
        ["13/14/2021"], ["31/12/2021", "12/31/2021"], ["2021-01-01", "1.1.2021"], ["3 foo 2021"],
        ["2021-01-01 25:00"],
    ],
)  # fmt: skip
def test_invalid_date_columns(texts):
    assert read_dates(texts) is None


def test_order_of_day_and_month_is_inferred():
    assert dates("03/04/2021", "13/04/2021") == ["2021-04-03T00:00", "2021-04-13T00:00"]
    assert dates("03/04/2021", "04/13/2021") == ["2021-03-04T00:00", "2021-04-13T00:00"]
    assert read_dates(["03/04/2021", "13/04/2021"])[1:] == ("day-first", True)


def test_ambiguous_order_uses_the_hint():
    assert read_dates(["03/04/2021"])[1:] == ("month-first", False)
    assert read_dates(["03/04/2021"], hint="day-first")[1:] == ("day-first", False)
    assert read_dates(["03/04/2021"], "day-first")[1:] == ("day-first", True)
    assert read_dates(["13/04/2021"], "month-first") is None


@given(st.datetimes(min_value=np.datetime64("1000-01-01", "s").item()))
def test_iso_dates_round_trip(value):
    found = read_dates([value.isoformat()])
    assert found[0][0] == np.datetime64(value, "ms")


def test_missing_parts_of_a_date_are_the_first():
    assert moment({"year": "1999", "month": "2"}) == np.datetime64("1999-02-01", "ms")


def typed(separator=",", kinds=None, options=None, **texts):
    columns = {name: values.split("|") for name, values in texts.items()}
    return type_columns(columns, Request("a.csv", kinds or {}, options or ReadOptions()), separator)


def values(found, index=0):
    return found.columns[index].tolist()


def test_plain_columns_have_no_note():
    found = typed(a="1|2.5||NA", b="x|NA|?|null", c="|||", d="NA|?||")
    kinds = ["numeric", "categorical", "numeric", "numeric"]
    assert [kind_of(column) for column in found.columns] == kinds
    np.testing.assert_array_equal(found.columns[0], [1.0, 2.5, np.nan, np.nan])
    assert values(found, 1) == ["x", None, None, None]
    assert found[1:4] == (PLAIN, (), None)


def test_missing_tokens_only_in_numeric_columns():
    found = typed(a="1|n/a|-|2", b="x|n/a|-|y", c="-|-|-|-")
    np.testing.assert_array_equal(found.columns[0], [1.0, np.nan, np.nan, 2.0])
    assert values(found, 1) == ["x", "n/a", "-", "y"]
    assert values(found, 2) == ["-", "-", "-", "-"]
    assert found.notes == ("Read as missing in column 'a': '-', 'n/a'.",)


def test_number_format_is_the_same_for_all_columns():
    found = typed(";", a="1,5|2", b="1.234|5", c="0.5|7", d="x|1,5")
    assert values(found, 0) == [1.5, 2.0]
    assert values(found, 1) == [1234.0, 5.0]
    assert values(found, 2) == [0.5, 7.0]
    assert values(found, 3) == ["x", "1,5"]
    assert found.format == NumberFormat(",", ".")


def test_ambiguous_numbers_are_noted():
    expected = "'1,234' is ambiguous (1234 or 1.234); read as 1.234. To change this, set `decimal`."
    assert typed(";", a="1,234|5").notes == (expected,)
    assert (
        "'1.234' is ambiguous (1234 or 1.234); read as 1.234"
        in typed(";", a="1.234|12.345").notes[0]
    )
    assert typed(",", a="1.234|12.345").notes == ()


def test_signs_are_removed_with_a_note():
    found = typed(a="12%|3 %|", b="$1,200|$5|-")
    np.testing.assert_array_equal(found.columns[0], [12.0, 3.0, np.nan])
    np.testing.assert_array_equal(found.columns[1], [1200.0, 5.0, np.nan])
    assert found.notes[1:3] == (
        "Removed the sign '%' from the values of column 'a'.",
        "Removed the sign '$' from the values of column 'b'.",
    )


def test_order_of_dates_applies_to_all_columns():
    found = typed(a="13/04/2021|", b="03/04/2021|n/a", c="x|y")
    assert kind_of(found.columns[1]) == "date"
    assert found.columns[1][0] == np.datetime64("2021-04-03", "ms")
    assert np.isnat(found.columns[1][1])
    assert found.notes == (
        "Columns 'a', 'b' contain dates (day first), converted to days since 1970-01-01.",
        "Read as missing in column 'b': 'n/a'.",
    )


def test_ambiguous_dates_follow_the_number_format():
    comma = typed(";", a="03/04/2021|05/06/2021")
    point = typed(",", a="03/04/2021|05/06/2021")
    assert comma.columns[0][0] == np.datetime64("2021-04-03", "ms")
    assert point.columns[0][0] == np.datetime64("2021-03-04", "ms")
    assert "read as month first. To change this, set `dates`." in point.notes[1]
    given = typed(",", a="03/04/2021|05/06/2021", options=ReadOptions(dates="day-first"))
    assert len(given.notes) == 1
    as_text = typed(",", a="03/04/2021|05/06/2021", options=ReadOptions(dates="text"))
    assert values(as_text) == ["03/04/2021", "05/06/2021"]


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
        ("numeric", "Column 'a' contains 'hot', which is not a finite number; expected numbers"),
        ("date", "Column 'a' contains '1', which is not a date; expected dates"),
    ],
)
def test_values_of_another_kind_are_refused(kind, message):
    with pytest.raises(ValueError, match=message):
        typed(kinds={"a": kind}, a="1|hot")
