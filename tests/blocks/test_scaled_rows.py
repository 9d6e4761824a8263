"""Rows scaled as they are read."""

import numpy as np
import pytest

from ensemblage.blocks import open_blocks, standardised
from ensemblage.inner import InnerKMeans


def stored(tmp_path, X):
    path = tmp_path / "rows.npy"
    np.save(path, X)
    return open_blocks(path, block_rows=8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_have_mean_zero_and_variance_one_and_a_constant_stays(tmp_path, dtype):
    X = np.random.default_rng(0).normal(7, 3, size=(50, 3)).astype(dtype)
    X[:, 1] = 4.0
    source, scaling = standardised(stored(tmp_path, X))
    rows = np.concatenate([block.rows for block in source.map(lambda block: block)])
    assert rows.dtype == dtype
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(rows.std(axis=0), [1, 0, 1], atol=1e-5)
    np.testing.assert_allclose(scaling.undo(rows), X, rtol=1e-5)
    assert source.place(3) == f"row 3 of {tmp_path / 'rows.npy'}"


def test_a_fit_is_that_of_scaled_rows_in_memory(tmp_path):
    X = np.random.default_rng(1).normal(size=(60, 2)) * [1, 100]
    source, scaling = standardised(stored(tmp_path, X))
    there = InnerKMeans(3, n_views=5, random_state=0).fit(source)
    here = InnerKMeans(3, n_views=5, random_state=0)
    np.save(tmp_path / "scaled.npy", scaling.apply(X))
    here.fit(open_blocks(tmp_path / "scaled.npy", block_rows=8))
    np.testing.assert_array_equal(there.cluster_centers_, here.cluster_centers_)


def test_a_gap_is_named_by_its_row(tmp_path):
    X = np.ones((20, 2))
    X[13, 1] = np.nan
    with pytest.raises(ValueError, match=r"Column 1 is nan in row 13 of .*rows\.npy"):
        standardised(stored(tmp_path, X))
