import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from ensemblage.kernels import SourceRows, add_source_losses
from reference.source_losses import source_loss


def made(seed, n_logits, n_sources=3, n_rows=12):
    rng = np.random.default_rng(seed)
    sources = np.sort(rng.integers(0, n_sources, n_rows))
    rows = np.column_stack([rng.normal(size=(n_rows, 2)), np.ones(n_rows)])
    labels = rng.integers(0, max(n_logits, 2), n_rows)
    starts = np.searchsorted(sources, np.arange(n_sources + 1))
    data = SourceRows(rows, labels, rng.uniform(0, 2, n_rows), starts)
    return data, sources, rng.normal(size=(n_sources, n_logits, 3))


def test_by_hand():
    """One row of class 1 with weight 2 and logit 0: loss 2 log 2, slope 2 (1/2 - 1) x."""
    data = SourceRows(np.array([[3.0, 1.0]]), np.array([1]), np.array([2.0]), np.array([0, 0, 1]))
    slopes = np.zeros((2, 1, 2))
    loss = add_source_losses(data, np.zeros((2, 1, 2)), slopes)
    assert loss == pytest.approx(2 * np.log(2), rel=1e-15)
    np.testing.assert_allclose(slopes, [[[0.0, 0.0]], [[-3.0, -1.0]]], rtol=1e-15)
    assert data.n_sources == 2


@pytest.mark.parametrize("n_logits", [1, 3])
def test_equals_the_formula(n_logits):
    data, sources, coefs = made(0, n_logits)
    slopes = np.zeros_like(coefs)

    def loss(flat):
        parts = (data.rows, data.labels, sources, data.weights)
        return source_loss(*parts, flat.reshape(coefs.shape))

    assert add_source_losses(data, coefs, slopes) == pytest.approx(loss(coefs.ravel()), rel=1e-12)
    np.testing.assert_allclose(slopes.ravel(), approx_fprime(coefs.ravel(), loss), atol=1e-5)


@given(st.integers(0, 1000), st.sampled_from([1, 2, 4]), st.sampled_from([1.0, 1e3]))
def test_finite_and_without_slope_along_what_does_not_matter(seed, n_logits, size):
    data, _, coefs = made(seed, n_logits)
    slopes = np.zeros_like(coefs)
    loss = add_source_losses(data, size * coefs, slopes)
    assert 0 <= loss < np.inf
    assert np.isfinite(slopes).all()
    if n_logits > 1:  # adding the same to all logits changes nothing
        np.testing.assert_allclose(slopes.sum(axis=1), 0, atol=1e-9)
