import numpy as np
import pandas as pd
import polars as pl
import pytest

from ensemblage.pool._source_column import part_known_column, part_sources

DATA = {"age": [1.0, 2.0], "site": ["a", "b"]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_column_is_taken_out(frame):
    rest, sources = part_sources(frame(DATA), "site")
    assert list(rest.columns) == ["age"]
    assert list(sources) == ["a", "b"]
    again, found = part_known_column(frame(DATA), None, "site")
    assert list(again.columns) == ["age"]
    assert list(found) == ["a", "b"]


def test_what_is_given_is_preferred_and_the_column_goes():
    rest, sources = part_known_column(pd.DataFrame(DATA), ["c", "d"], "site")
    assert list(rest.columns) == ["age"]
    assert sources == ["c", "d"]


def test_rows_without_the_column_have_no_sources():
    X = np.zeros((2, 1))
    rest, sources = part_known_column(X, None, "site")
    assert rest is X
    assert sources is None
    assert part_sources(X, None).sources is None


def test_another_name_is_refused():
    with pytest.raises(ValueError, match=r"sources='sit' is no column of X\..*'site'"):
        part_sources(pd.DataFrame(DATA), "sit")
    with pytest.raises(ValueError, match="sources='site' is no column of X"):
        part_sources(np.zeros((2, 1)), "site")
