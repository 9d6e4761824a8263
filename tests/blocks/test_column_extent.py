import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage.blocks import MemoryBlocks, column_extent


@given(arrays(np.float32, (9, 2), elements=st.floats(-1024, 1024, width=32)), st.integers(1, 10))
def test_the_extent_is_that_of_all_rows(rows, block_rows):
    extent = column_extent(MemoryBlocks(rows, block_rows=block_rows))
    np.testing.assert_array_equal(extent.lowest, rows.min(axis=0))
    np.testing.assert_array_equal(extent.highest, rows.max(axis=0))
    assert extent.largest == np.abs(rows).max()


@given(st.integers(0, 8), st.integers(0, 8), st.integers(1, 10))
def test_the_first_value_that_is_none_is_named(first, second, block_rows):
    rows = np.zeros((9, 2))
    rows[first, 1], rows[second, 0] = np.nan, np.inf
    row = min(first, second)
    column, value = (0, "inf") if row == second else (1, "nan")
    with pytest.raises(ValueError, match=rf"Column {column} is {value} in row {row}, counted from"):
        column_extent(MemoryBlocks(rows, block_rows=block_rows))
