import pytest

from ensemblage.datasets._header_row import is_number_like, looks_like_data


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
