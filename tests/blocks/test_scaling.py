import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage.blocks import MemoryBlocks, column_range, open_blocks, standardised
from ensemblage.inner import InnerKMeans


@given(arrays(np.float32, (9, 2), elements=st.floats(-1024, 1024, width=32)), st.integers(1, 10))
def test_the_range_is_that_of_all_rows(rows, block_rows):
    found = column_range(MemoryBlocks(rows, block_rows=block_rows))
    np.testing.assert_array_equal(found.lowest, rows.min(axis=0))
    np.testing.assert_array_equal(found.highest, rows.max(axis=0))
    assert found.largest == np.abs(rows).max()


@given(st.integers(0, 8), st.integers(0, 8), st.integers(1, 10))
def test_the_first_non_finite_value_is_named(first, second, block_rows):
    rows = np.zeros((9, 2))
    rows[first, 1], rows[second, 0] = np.nan, np.inf
    row = min(first, second)
    column, value = (0, "inf") if row == second else (1, "nan")
    with pytest.raises(
        ValueError, match=rf"Column {column} is {value} in row {row} \(counted from"
    ):
        column_range(MemoryBlocks(rows, block_rows=block_rows))


def stored(tmp_path, X):
    path = tmp_path / "rows.npy"
    np.save(path, X)
    return open_blocks(path, block_rows=8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_have_mean_zero_and_variance_one_or_zero_if_constant(tmp_path, dtype):
    X = np.random.default_rng(0).normal(7, 3, size=(50, 3)).astype(dtype)
    X[:, 1] = 4.0
    source, scaling = standardised(stored(tmp_path, X))
    rows = np.concatenate([block.rows for block in source.map(lambda block: block)])
    assert rows.dtype == dtype
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(rows.std(axis=0), [1, 0, 1], atol=1e-5)
    np.testing.assert_allclose(scaling.undo(rows), X, rtol=1e-5)
    assert source.describe_row(3) == f"row 3 of {tmp_path / 'rows.npy'}"


def test_a_fit_equals_that_of_standardised_rows_in_memory(tmp_path):
    X = np.random.default_rng(1).normal(size=(60, 2)) * [1, 100]
    source, scaling = standardised(stored(tmp_path, X))
    there = InnerKMeans(3, n_views=5, random_state=0).fit(source)
    here = InnerKMeans(3, n_views=5, random_state=0)
    np.save(tmp_path / "scaled.npy", scaling.apply(X))
    here.fit(open_blocks(tmp_path / "scaled.npy", block_rows=8))
    np.testing.assert_array_equal(there.cluster_centers_, here.cluster_centers_)


def test_a_missing_value_is_named_by_its_row(tmp_path):
    X = np.ones((20, 2))
    X[13, 1] = np.nan
    with pytest.raises(ValueError, match=r"Column 1 is nan in row 13 of .*rows\.npy"):
        standardised(stored(tmp_path, X))
