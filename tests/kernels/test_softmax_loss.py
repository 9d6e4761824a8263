import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad

from ensemblage.kernels import softmax_loss


def test_by_hand():
    # zero parameters: both classes at one half, so the loss is log 2 and the slope half the row
    loss, slope = softmax_loss(
        np.array([[2.0]]), np.array([1]), np.ones(1), np.zeros((2, 2)), decay=3.0
    )  # fmt: skip
    assert loss == pytest.approx(np.log(2))
    np.testing.assert_allclose(slope, [[1.0, 0.5], [-1.0, -0.5]])


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_slope_is_the_losss(seed, decay):
    rng = np.random.default_rng(seed)
    features, labels = rng.normal(size=(4, 9)), rng.integers(3, size=9)
    weights, start = rng.uniform(size=9), rng.normal(size=15)

    def part(which):
        return lambda flat: np.ravel(
            softmax_loss(features, labels, weights, flat.reshape(3, 5), decay)[which]
        ).squeeze()[()]  # fmt: skip

    assert check_grad(part(0), part(1), start) < 1e-5


def test_huge_logits_stay_finite():
    loss, slope = softmax_loss(
        np.array([[1e8, -1e8]]), np.array([1, 0]), np.ones(2), np.array([[1.0, 0], [0, 0]]), 0.0
    )  # fmt: skip
    assert np.isfinite(loss)
    assert np.isfinite(slope).all()
