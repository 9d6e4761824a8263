import re

import pytest

from ensemblage.datasets import ReadOptions
from ensemblage.datasets._options import Request
from ensemblage.datasets._text import (
    distinct_names,
    find_layout,
    is_number_like,
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
        # numeric names: years, column numbers, numbers outside the range of the column
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
def test_header_differs_from_the_rows_below(rows, expected):
    assert data(*rows) is expected


def test_single_row_is_data_if_all_values_are_numbers():
    assert looks_like_data(["1", "2"], [])
    assert not looks_like_data(["1", "x"], [])


def test_numbers_of_all_locales():
    assert all(map(is_number_like, ["1", "-1.5e3", "1.234,5", "1 234", "12 %", "$5", ".5"]))
    assert not any(map(is_number_like, ["", "x", "1x", "-", "2020-01-01", "%"]))


def layout_of(text, **request):
    lines = [(line.split(","), i) for i, line in enumerate(text.split("/"), 1)]
    return find_layout(lines, Request("a.csv", **request))


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
        ("a,b,c/kg,cm,/1,2,x/3,4,y", ["a", "b", "c"], r"Skipped the row .* units \(kg, cm\)"),
        ("a,b,c/[kg],,/1,p,x/3,q,y", ["a", "b", "c"], r"units \(\[kg\]\)"),
        ("a,b,c,/1,2,x,/3,4,y,", ["a", "b", "c"], "Dropped 1 column without name and values"),
        ("a,b,c/1,2,x,/3,4,y", ["a", "b", "c"], None),
        ("a,b,c,/1,2,x/3,4,y", ["a", "b", "c"], None),
        ("b,c/1,2,x/3,4,y", ["row", "b", "c"], "one value more than the header"),
        ("a,a,c/1,2,x/3,4,y", ["a", "a_2", "c"], "Duplicate column names were renamed: 'a_2'"),
        (",b,c/1,2,x/3,4,y", ["column_1", "b", "c"], None),
        ("1,2,x/3,4,y/1,4,x", ["column_1", "column_2", "column_3"], "No header found; .* column_3"),
    ],
)
def test_layouts(text, names, note):
    layout = layout_of(text)
    assert list(layout.texts) == names
    assert list(layout.texts.values())[-1][:2] in {("x", "y"), ("x", "x")}
    assert len(layout.notes) == (note is not None)
    assert note is None or re.search(note, layout.notes[0])


def test_given_header_and_known_names():
    assert list(layout_of("a,b/1,2", options=ReadOptions(header=False)).texts) == [
        "column_1",
        "column_2",
    ]
    assert list(layout_of("1,2/3,4/5,6", options=ReadOptions(header=True)).texts) == ["1", "2"]
    assert list(layout_of("1,2/3,4/5,6", kinds={"2": "numeric"}).texts) == ["1", "2"]
    # a new row for a model trained on a file without header
    unnamed = {"column_1": "numeric", "column_2": "categorical"}
    assert list(layout_of("1,x", kinds=unnamed).texts) == ["column_1", "column_2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b", "a.csv has a header but no rows"),
        ("a,b/1,2/3", "Line 3 of a.csv has 1 value, but the header has 2: every row"),
        ("a,b/1,2,3", "Line 2 of a.csv has 3 values"),
    ],
)
def test_rows_of_wrong_length_are_refused_by_line(text, message):
    with pytest.raises(ValueError, match=message):
        layout_of(text)


def test_empty_file():
    with pytest.raises(ValueError, match=r"a\.csv is empty"):
        find_layout([], Request("a.csv"))


def test_duplicate_names_are_renamed():
    assert distinct_names(["x", "x", "x_2", "x", "y"]) == ["x", "x_3", "x_2", "x_4", "y"]
    assert distinct_names([f"n{i}" for i in range(3)]) == ["n0", "n1", "n2"]
