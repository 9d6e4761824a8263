import numpy as np
import pandas as pd
import polars as pl
import pytest

from ensemblage._core import deal_folds
from ensemblage.sources import (
    class_source_pairs,
    encode_sources,
    lookup_sources,
    split_fitted_column,
    split_source_column,
)
from ensemblage.sources._source_codes import outer_sources, source_labels


def test_codes_follow_the_sorted_names():
    names, codes = encode_sources(["b", "a", "b"], np.zeros((3, 1)))
    assert names.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]
    assert lookup_sources(["a", "new", None, float("nan"), "b"], names, 5).tolist() == [
        0,
        -1,
        -1,
        -1,
        1,
    ]
    assert lookup_sources(None, names, 2).tolist() == [-1, -1]


def test_invalid_sources_are_refused():
    X = np.zeros((3, 1))
    with pytest.raises(ValueError, match="missing for 1 of 3 rows: give these a source"):
        encode_sources(np.array(["a", None, "b"], dtype=object), X)
    with pytest.raises(
        TypeError, match="mixes values of type int and str: convert them all to text"
    ):
        encode_sources(np.array(["a", 1, "b"], dtype=object), X)
    with pytest.raises(ValueError, match=r"sources must have one entry per row.* got shape \(\)"):
        encode_sources(None, X)
    with pytest.raises(ValueError, match=r"in one column; got shape \(3, 2\)"):
        encode_sources([["a", "b"]] * 3, X)
    with pytest.raises(ValueError, match="sources has 1 entry, but there are 3 rows: give one"):
        encode_sources(["a"], X)
    with pytest.raises(ValueError, match="sources has 1 entry, but there are 3 rows: give one"):
        lookup_sources(["a"], np.array(["a"]), 3)


NESTED = [["A", "u"], ["A", "v"], ["B", "w"], ["B", "w"]]


def test_pairs_of_nested_sources():
    names, codes = encode_sources(NESTED, np.zeros((4, 1)), allow_nested=True)
    assert names.tolist() == [["A", "u"], ["A", "v"], ["B", "w"]]
    assert codes.tolist() == [0, 1, 2, 2]
    outer, of_each = outer_sources(names)
    assert (outer.tolist(), of_each.tolist()) == (["A", "B"], [0, 0, 1])
    assert source_labels(names) == ["A / u", "A / v", "B / w"]
    new = [["A", "v"], ["B", "u"], ["B", None], ["C", "u"], [None, "u"]]
    assert lookup_sources(new, names, 5).tolist() == [1, 4, 4, -1, -1]
    with pytest.raises(ValueError, match=r"in two columns, outer and inner, as in fit"):
        lookup_sources(["A"], names, 1)


def test_numbers_beside_texts_stay_numbers():
    mixed = [["A", 1], ["A", 2], ["B", 10]]
    names, codes = encode_sources(mixed, np.zeros((3, 1)), allow_nested=True)
    assert names.tolist() == mixed
    assert lookup_sources(mixed, names, 3).tolist() == codes.tolist() == [0, 1, 2]


def test_nested_sources_that_are_not_nested():
    X = np.zeros((4, 1))
    with pytest.raises(ValueError, match=r"in the wrong order.*Give the second column"):
        encode_sources(np.array(NESTED)[:, ::-1], X, allow_nested=True)
    with pytest.raises(ValueError, match="two columns of sources are identical"):
        encode_sources([[each, each] for each in "aabb"], X, allow_nested=True)
    with pytest.warns(UserWarning, match="has one inner source, so that the two levels"):
        encode_sources([["A", "u"], ["B", "v"]] * 2, X, allow_nested=True)
    with pytest.warns(UserWarning, match=r"'1' occurs in 2 of the outer sources, and 1 other"):
        encode_sources([["A", "1"], ["A", "2"], ["B", "1"], ["B", "2"]], X, allow_nested=True)
    with pytest.raises(ValueError, match="missing for 1 of 4 rows"):
        encode_sources([*NESTED[:3], ["B", None]], X, allow_nested=True)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_two_columns_are_removed(frame):
    data = frame({"ward": [*"uvw"], "age": [1.0, 2.0, 3.0], "hospital": [*"ABB"]})
    rest, sources = split_source_column(data, ["hospital", "ward"])
    assert list(rest.columns) == ["age"]
    assert sources.tolist() == [["A", "u"], ["B", "v"], ["B", "w"]]
    without = data[["age", "hospital"]]
    again, found = split_fitted_column(without, None, ["hospital", "ward"])
    assert list(again.columns) == ["age"]
    assert found.tolist() == [["A", None], ["B", None], ["B", None]]
    with pytest.raises(ValueError, match=r"of which 'wrd' is not a column of X.*'ward'"):
        split_source_column(data, ["hospital", "wrd"])
    with pytest.raises(ValueError, match="names 4 columns of X"):
        split_source_column(data, ["ward", "hospital", "age", "age"])


def test_a_class_that_is_rare_in_every_source_is_in_every_fold():
    # five rows of each source, one of them of the second class
    codes, labels = np.repeat(np.arange(20), 5), np.tile([0, 0, 0, 0, 1], 20)
    for _, test in deal_folds(class_source_pairs(codes, labels), 5, np.random.default_rng(0)):
        assert labels[test].sum() == 4
        assert len(set(codes[test].tolist())) >= 16
    unknown = class_source_pairs(np.array([-1, 0, 0]), np.array([1, 0, 1]))
    assert sorted(unknown.tolist()) == [0, 1, 2]


DATA = {"age": [1.0, 2.0], "site": ["a", "b"]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_source_column_is_removed(frame):
    rest, sources = split_source_column(frame(DATA), "site")
    assert list(rest.columns) == ["age"]
    assert list(sources) == ["a", "b"]
    again, found = split_fitted_column(frame(DATA), None, "site")
    assert list(again.columns) == ["age"]
    assert list(found) == ["a", "b"]


def test_given_sources_take_precedence_over_the_column():
    rest, sources = split_fitted_column(pd.DataFrame(DATA), ["c", "d"], "site")
    assert list(rest.columns) == ["age"]
    assert sources == ["c", "d"]


def test_rows_without_the_column_have_no_sources():
    X = np.zeros((2, 1))
    rest, sources = split_fitted_column(X, None, "site")
    assert rest is X
    assert sources is None
    assert split_source_column(X, None)[1] is None


def test_another_name_is_refused():
    with pytest.raises(ValueError, match=r"sources='sit' is not a column of X\..*'site'"):
        split_source_column(pd.DataFrame(DATA), "sit")
    with pytest.raises(ValueError, match="sources='site' is not a column of X"):
        split_source_column(np.zeros((2, 1)), "site")


def test_sources_of_another_type_are_pointed_out():
    names, _ = encode_sources(["1", "2"], np.zeros((2, 1)))
    with pytest.warns(UserWarning, match=r"No source is known: sources has int values such as 2"):
        codes = lookup_sources([7, 2], names, 2)
    assert codes.tolist() == [-1, -1]
    assert lookup_sources([7, 8], names, 2).tolist() == [-1, -1]
    assert lookup_sources(["7", None], names, 2).tolist() == [-1, -1]


def test_one_column_twice_is_refused():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "site": ["a", "b", "b"]})
    with pytest.raises(ValueError, match=r"names one column twice: give it once"):
        split_source_column(frame, ["site", "site"])
