import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import Reading
from ensemblage.datasets._number_marks import (
    PLAIN,
    STYLES,
    FoundMarks,
    Marks,
    find_marks,
    parse_numbers,
    quick_numbers,
    strip_sign,
)


@pytest.mark.parametrize(
    ("text", "marks", "value"),
    [
        ("1.5e-3", PLAIN, 0.0015),
        ("1.234,56", Marks(",", "."), 1234.56),
        ("1,234.56", Marks(".", ","), 1234.56),
        ("12,34,567", Marks(".", ","), 1234567.0),
        ("1 234,56", Marks(",", " "), 1234.56),
        ("1\u202f234\u00a0567,5", Marks(",", " "), 1234567.5),
        ("1'234.56", Marks(".", "'"), 1234.56),
        ("1\u2019234", Marks(".", "'"), 1234.0),
        ("\u2212,5", Marks(","), -0.5),
    ],
)
def test_numbers_of_the_world(text, marks, value):
    assert parse_numbers([text], marks) == [value]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("1_000", PLAIN), ("inf", PLAIN), ("x", PLAIN), ("1,5", PLAIN),
        ("0.123", Marks(",", ".")), ("1.23,4", Marks(",", ".")), ("1,5", Marks(".", ",")),
        ("12345.678", Marks(",", ".")), ("1,5\n2", Marks(",")), ("", Marks(",")), (",", Marks(",")),
    ],
)  # fmt: skip
def test_what_is_no_number(text, marks):
    assert parse_numbers(["1", text], marks) is None


@given(st.integers(-(10**12), 10**12), st.sampled_from(STYLES))
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
        ([], [["1.5"]], ",", FoundMarks(PLAIN)),
        ([["1,5"]], [["2"]], ";", FoundMarks(Marks(","))),
        ([["1,5"], ["1.234,5"]], [], ";", FoundMarks(Marks(",", "."))),
        ([["1,5"]], [["1.234", "12"]], ";", FoundMarks(Marks(",", "."))),
        ([["1,5"]], [["0.234"]], ";", FoundMarks(Marks(","))),
        ([["1,234.5"]], [], ",", FoundMarks(Marks(".", ","))),
        # only 1,234: other columns, then the separator decide
        ([["1,234"]], [["0.5"]], ";", FoundMarks(Marks(".", ","), "1,234")),
        ([["1,234"]], [["5"]], ";", FoundMarks(Marks(","), "1,234")),
        ([["1,234"]], [["5"]], ",", FoundMarks(Marks(".", ","), "1,234")),
        ([["red"], ["1 234"]], [], ";", FoundMarks(Marks(",", " "))),
    ],
)
def test_marks_are_those_that_read_the_most_columns(odd, plain, separator, expected):
    assert find_marks(odd, plain, Reading(), separator) == expected


def test_marks_that_are_said_are_taken():
    assert find_marks([], [["1.234"]], Reading(decimal=","), ",").marks == Marks(",", ".")
    assert find_marks([["1,234"]], [], Reading(thousands=","), ";").marks == Marks(".", ",")
    assert find_marks([["1,5"]], [], Reading(decimal="."), ";").marks == PLAIN
