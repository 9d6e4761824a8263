import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.sources import upper_prediction_limit
from ensemblage.sources._random_effects import mean_limits, shrink, shrink_shares


def test_equal_estimates_stay_with_smaller_variance():
    found = shrink(np.full(10, 0.7), np.full(10, 0.04))
    np.testing.assert_allclose(found.values, 0.7, atol=1e-9)
    assert (found.high - found.low < 2 * 1.96 * 0.2).all()


def test_precise_estimates_stay_and_imprecise_ones_are_shrunk():
    found = shrink(np.array([0.0, 1.0, 2.0, 30.0]), np.array([1e-4, 1e-4, 1e-4, 400.0]))
    np.testing.assert_allclose(found.values[:3], [0, 1, 2], atol=0.01)
    assert found.values[3] < 10


def test_infinite_variance_gets_the_mean():
    found = shrink(np.array([1.0, 1.2, 99.0]), np.array([0.01, 0.01, np.inf]))
    assert found.values[2] == pytest.approx(1.1, abs=0.05)
    assert np.isfinite(found.low).all()


@pytest.mark.parametrize("tau", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_sources", [4, 15, 40])
def test_coverage_of_the_limits(n_sources, tau):
    rng = np.random.default_rng(n_sources)
    hits = []
    for _ in range(200):
        true = 0.2 + tau * rng.normal(size=n_sources)
        variances = rng.uniform(0.02, 0.5, n_sources)
        found = shrink(true + np.sqrt(variances) * rng.normal(size=n_sources), variances)
        hits.append(((found.low <= true) & (true <= found.high)).mean())
    assert np.mean(hits) > 0.925


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(1e-4, 10))
def test_values_lie_between_the_estimates(estimates, variance):
    x = np.array(estimates)
    found = shrink(x, np.full(len(x), variance))
    assert (found.values >= x.min() - 1e-9).all()
    assert (found.values <= x.max() + 1e-9).all()
    assert (found.low <= found.values).all()


def test_proportions_of_few_rows_are_shrunk():
    found = shrink_shares(np.array([20.0, 21.0, 19.0, 2.0]), np.array([100.0, 100.0, 100.0, 3.0]))
    np.testing.assert_allclose(found.values[:3], 0.2, atol=0.02)
    assert 0.2 < found.values[3] < 0.45
    assert ((found.low >= 0) & (found.low < found.values) & (found.values < found.high)).all()
    assert (shrink_shares(np.array([0.0, 5.0]), np.array([5.0, 5.0])).high <= 1).all()


def test_confidence_and_prediction_limits_by_hand():
    # t(.975; 2) = 4.3027, t(.9; 2) = 1.8856, standard deviation 1
    low, high = mean_limits(np.array([1.0, 2.0, 3.0]))
    assert (low, high) == pytest.approx(
        (2 - 4.3027 / np.sqrt(2), 2 + 4.3027 / np.sqrt(2)), abs=1e-4
    )
    assert upper_prediction_limit(np.array([1.0, 2.0, 3.0]), 0.9) == pytest.approx(
        2 + 1.8856 * np.sqrt(4 / 3), abs=1e-4
    )
