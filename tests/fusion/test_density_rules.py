import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from ensemblage.fusion import DensityMean, DensityStacking


def made(n_rows=200):
    rng = np.random.default_rng(0)
    y = rng.normal(size=n_rows)
    said = np.stack([y + 0.3 * rng.normal(size=n_rows), rng.normal(size=n_rows)])
    return np.stack([said, np.ones((2, n_rows))], axis=2), y


def test_a_stack_learns_whom_to_trust_and_how_far_it_is_off():
    outputs, y = made()
    stack = DensityStacking().fit(outputs, y)
    mean, variance = stack.combine(outputs).T
    assert np.mean((mean - y) ** 2) < 0.11
    assert variance[0] == pytest.approx(0.09, rel=0.3)
    assert stack.importance(2)[0] > 0.8


def test_the_spread_of_a_stack_is_of_rows_that_it_has_not_seen():
    outputs, y = made()
    by_heart = DensityStacking(DecisionTreeRegressor(random_state=0)).fit(outputs, y)
    assert np.mean((by_heart.combine(outputs)[:, 0] - y) ** 2) < 1e-9
    assert by_heart.variance_ > 0.05


def test_a_stack_without_coefficients_or_weights():
    outputs, y = made()
    stack = DensityStacking(KNeighborsRegressor()).fit(outputs, y, sample_weight=np.ones(200))
    assert stack.importance(2) is None


def test_weights_reach_mean_and_stack():
    outputs, y = made()
    weights = np.where(np.arange(200) < 100, 1.0, 0.0)
    half = DensityMean().fit(outputs[:, :100], y[:100])
    assert DensityMean().fit(outputs, y, sample_weight=weights).variance_ == half.variance_
    heavy = DensityStacking().fit(outputs, y, sample_weight=weights)
    assert heavy.final_estimator_.coef_[0] > 0.7


def test_perfect_members_leave_a_variance_above_zero():
    outputs, y = made()
    outputs[:, :, 0] = y
    assert DensityMean().fit(outputs, y).variance_ > 0
