"""A column as it was read."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.tables import MISSING, Column, read_columns


def test_a_column_is_taken_coded_and_sorted():
    column = Column("x", values=["b", None, 2, "a", "b"])
    assert column.n_rows == 5
    assert column.categories() == [2, "a", "b"]  # by type, then by text
    assert column.match(["b", "a"]).tolist() == [0, MISSING, 2, 1, 0]
    assert column.take(np.array([4, 1])).values == ["b", None]
    flags = Column("y", values=[True, None], declared=[False, True])
    np.testing.assert_array_equal(flags.as_numbers(), [1.0, np.nan])


def test_codes_of_a_type_are_values_too():
    column = Column("x", declared=["c", "b", "a"], codes=np.array([2, MISSING, 1], dtype=np.int32))
    assert (column.kind, column.n_rows) == ("word", 3)
    assert column.categories() == ["c", "b", "a"]
    assert column.occurring() == ["a", "b"]
    assert column.match(["a"]).tolist() == [0, MISSING, 1]
    assert column.as_words(["a", "b"]).values == ["a", None, "b"]


def test_fields_one_by_one():
    assert Column("x", values=["a", None]).field(0) == "a"
    assert Column("x", declared=["b"], codes=np.array([0, -1], dtype=np.int32)).field(1) is None
    assert Column("x", np.array([2.0])).field(0) == 2.0


def test_numbers_can_be_categories():
    column = Column("grade", np.array([2.0, np.nan, 1.0]))
    words = column.as_words([1, 2, 3])
    assert (column.kind, words.kind) == ("number", "word")
    assert words.categories() == [1, 2, 3]
    assert words.match([1, 2, 3]).tolist() == [1, MISSING, 0]


def test_what_is_not_declared_is_refused():
    with pytest.raises(ValueError, match=r"'x' holds 'z', which is not among its `categories`: a"):
        Column("x", values=["a", "z"]).as_words(["a"])


def test_words_where_numbers_were_are_refused():
    with pytest.raises(ValueError, match="Column 'x' held numbers when the model was fitted"):
        Column("x", values=["a"]).as_numbers()
    gaps = Column("x", declared=["a"], codes=np.full(2, MISSING, dtype=np.int32))
    assert np.isnan(gaps.as_numbers()).all()


@given(st.lists(st.sampled_from(["a", "b", "", "é", None]), min_size=1))
def test_codes_of_all_categories_give_the_values_back(values):
    column = Column("x", values=values)
    known = [*column.categories(), None]
    assert [known[code] for code in column.match(column.categories())] == values
    assert column.coded().as_words().values == values
    declared = pd.DataFrame({"x": pd.Categorical(values)})
    assert read_columns(declared, ["x"])[0].occurring() == column.occurring()
