import re

import pytest

from ensemblage.datasets import ReadOptions
from ensemblage.datasets._options import Request
from ensemblage.datasets._text import (
    distinct_names,
    is_number_like,
    lay_out,
    looks_like_data,
)


def data(first, *rows):
    return looks_like_data(first, list(zip(*rows, strict=True)))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["a", "b"], ["1", "x"], ["2", "y"]], False),
        # iris.data, agaricus-lepiota.data, zoo.data
        ([["5.1", "3.5", "setosa"], ["4.9", "3", "setosa"], ["7", "3", "other"]], True),
        ([["p", "x"], ["e", "x"], ["p", "b"]], True),
        ([["aardvark", "1", "0", "4"], ["bear", "1", "0", "4"], ["bee", "0", "1", "6"]], True),
        ([["1", "2"], ["3", "4"], ["5", "6"]], True),
        # one value beyond all others does not make a header
        ([["90", "5", "1"], ["1", "2", "3"], ["3", "1", "2"], ["2", "3", "1"]], True),
        # names that are numbers: years, numbers of columns, numbers beyond what is below
        ([["land", "2001", "2002", "2003"], ["a", "2001", "1", "2"], ["b", "4", "5", "6"]], False),
        (
            [["land", "1990", "2000", "2015"], ["a", "1000", "1", "2000"], ["b", "4", "3000", "6"]],
            False,
        ),
        ([["0", "1", "2"], ["0", "5", "1"], ["7", "1", "2"]], False),
        ([["id", "2019"], ["a", "5"], ["b", "7"]], False),
        ([["x", "1"], ["a", "b"], ["a", "c"]], False),
        ([["name", "1"], ["a", "1"], ["b", "2"]], False),
    ],
)
def test_a_header_is_unlike_what_is_below(rows, expected):
    assert data(*rows) is expected


def test_one_row_is_data_if_it_is_all_numbers():
    assert looks_like_data(["1", "2"], [])
    assert not looks_like_data(["1", "x"], [])


def test_numbers_of_any_country():
    assert all(map(is_number_like, ["1", "-1.5e3", "1.234,5", "1 234", "12 %", "$5", ".5"]))
    assert not any(map(is_number_like, ["", "x", "1x", "-", "2020-01-01", "%"]))


def laid_out(text, **request):
    lines = [(line.split(","), i) for i, line in enumerate(text.split("/"), 1)]
    return lay_out(lines, Request("a.csv", **request))


@pytest.mark.parametrize(
    ("text", "names", "note"),
    [
        ("a,b,c/1,2,x/3,4,y", ["a", "b", "c"], None),
        ("My title/a,b,c/1,2,x/3,4,y", ["a", "b", "c"], "1 line above .* 'My title'"),
        ("My title,,/a,b,c/1,2,x/3,4,y", ["a", "b", "c"], "1 line above"),
        ("a,b,c/1,2,x/3,4,y/from me", ["a", "b", "c"], "1 line below .* 'from me'"),
        ("#c/a,b,c/1,2,x/#x/3,4,y", ["a", "b", "c"], None),
        ("# a, b,c/1,2,x/3,4,x/1,4,y", ["a", "b", "c"], None),
        ("#a,b,c/u,v,x/w,z,y", ["a", "b", "c"], None),
        ("# by me, and,you/a,b,c/1,2,x/3,4,y", ["a", "b", "c"], "1 line above"),
        ("a,b,c/kg,cm,/1,2,x/3,4,y", ["a", "b", "c"], r"units \(kg, cm\); it is left out"),
        ("a,b,c/[kg],,/1,p,x/3,q,y", ["a", "b", "c"], r"units \(\[kg\]\)"),
        ("a,b,c,/1,2,x,/3,4,y,", ["a", "b", "c"], "1 column without a name and without values"),
        ("a,b,c/1,2,x,/3,4,y", ["a", "b", "c"], None),
        ("a,b,c,/1,2,x/3,4,y", ["a", "b", "c"], None),
        ("b,c/1,2,x/3,4,y", ["row", "b", "c"], "one value more than the header"),
        ("a,a,c/1,2,x/3,4,y", ["a", "a_2", "c"], "occur twice were numbered: 'a_2'"),
        (",b,c/1,2,x/3,4,y", ["column_1", "b", "c"], None),
        ("1,2,x/3,4,y/1,4,x", ["column_1", "column_2", "column_3"], "no header line; .* column_3"),
    ],
)
def test_the_table_is_found(text, names, note):
    layout = laid_out(text)
    assert list(layout.texts) == names
    assert list(layout.texts.values())[-1][:2] in {("x", "y"), ("x", "x")}
    assert len(layout.notes) == (note is not None)
    assert note is None or re.search(note, layout.notes[0])


def test_a_header_can_be_said_and_known():
    assert list(laid_out("a,b/1,2", options=ReadOptions(header=False)).texts) == [
        "column_1",
        "column_2",
    ]
    assert list(laid_out("1,2/3,4/5,6", options=ReadOptions(header=True)).texts) == ["1", "2"]
    assert list(laid_out("1,2/3,4/5,6", kinds={"2": "numeric"}).texts) == ["1", "2"]
    # a new row for a model that was trained without a header
    unnamed = {"column_1": "numeric", "column_2": "categorical"}
    assert list(laid_out("1,x", kinds=unnamed).texts) == ["column_1", "column_2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b", "a.csv has a header line but no rows"),
        ("a,b/1,2/3", "Line 3 of a.csv has 1 value, but the header has 2: every row"),
        ("a,b/1,2,3", "Line 2 of a.csv has 3 values"),
    ],
)
def test_rows_that_do_not_fit_are_refused_by_line(text, message):
    with pytest.raises(ValueError, match=message):
        laid_out(text)


def test_no_rows_at_all():
    with pytest.raises(ValueError, match=r"a\.csv is empty"):
        lay_out([], Request("a.csv"))


def test_equal_names_are_numbered_around_those_that_are_taken():
    assert distinct_names(["x", "x", "x_2", "x", "y"]) == ["x", "x_3", "x_2", "x_4", "y"]
    assert distinct_names([f"n{i}" for i in range(3)]) == ["n0", "n1", "n2"]
