import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.dummy import DummyRegressor

from ensemblage.evaluation import MEASURES, Predictions
from ensemblage.pool import EnsemblageRegressor, PoolClassTarget
from ensemblage.pool._member_spec import (
    PoolNumericTarget,
    correct_variance,
    fit_growing_correction,
    is_valid_correction,
    log_loss,
    mean_loss,
)

CLASSES = PoolClassTarget(np.arange(3))
NUMERIC = PoolNumericTarget(2.0)


def made(seed, growth, n_rows=400):
    """Rows whose variance grows with their mean: what is fused tells one variance for all."""
    rng = np.random.default_rng(seed)
    mean = rng.uniform(10, 20, n_rows)
    variance = np.exp(growth * (mean - 10) / 10)
    fused = np.column_stack([mean, np.full(n_rows, 3.0)])
    return fused, mean + np.sqrt(variance) * rng.normal(size=n_rows)


def normal_loss(fused, y):
    mean, variance = fused.T
    return np.mean(np.log(2 * np.pi * variance) + (y - mean) ** 2 / variance) / 2


def test_a_correction_by_hand():
    correction = {
        "factor": 2.0,
        "offset": 1.0,
        "log_growth": np.log(16.0),
        "low": 10.0,
        "high": 20.0,
    }
    fused = np.array([[5.0, 4.0], [10.0, 4.0], [15.0, 4.0], [20.0, 4.0], [99.0, 4.0]])
    corrected = correct_variance(fused, correction)
    np.testing.assert_allclose(corrected[:, 1], [9, 9, 36, 144, 144])
    assert corrected[:, 0].tolist() == fused[:, 0].tolist()


@pytest.mark.parametrize("growth", [-3.0, 0.0, 4.0])
def test_growth_is_found(growth):
    fused, y = made(0, growth, n_rows=20_000)
    found = fit_growing_correction(fused, y, None)
    assert found["log_growth"] == pytest.approx(growth, abs=0.5)
    expected = np.exp(growth * (fused[:, 0] - 10) / 10)
    np.testing.assert_allclose(correct_variance(fused, found)[:, 1], expected, rtol=0.5)


def test_a_growth_that_is_not_significant_is_zero():
    growths = [fit_growing_correction(*made(seed, growth=0.0, n_rows=100), None)["log_growth"]
               for seed in range(40)]  # fmt: skip
    assert np.mean(np.equal(growths, 0)) > 0.6
    assert np.max(np.abs(growths)) <= 2


def test_one_mean_for_all_has_no_levels():
    rng = np.random.default_rng(0)
    fused = np.column_stack([np.full(50, 7.0), np.ones(50)])
    found = fit_growing_correction(fused, 7 + rng.normal(size=50), None)
    assert found["log_growth"] == 0
    assert is_valid_correction(found)
    assert np.ptp(correct_variance(fused, found)[:, 1]) == 0


def test_zero_residuals_have_no_growth():
    fused = np.column_stack([np.arange(30.0), np.ones(30)])
    found = fit_growing_correction(fused, np.arange(30.0), None)
    assert found["log_growth"] == 0
    assert is_valid_correction(found)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(-4, 4), st.floats(1e-3, 1e3))
def test_no_row_learned_from_is_less_likely_and_units_do_not_matter(seed, growth, unit):
    fused, y = made(seed, growth)
    found = fit_growing_correction(fused, y, None)
    flat = found | {"log_growth": 0.0}
    size = np.mean((y - fused[:, 0]) ** 2 / correct_variance(fused, flat)[:, 1])
    flat |= {"factor": flat["factor"] * size, "offset": flat["offset"] * size}
    assert (
        normal_loss(correct_variance(fused, found), y)
        <= normal_loss(correct_variance(fused, flat), y) + 1e-9
    )
    scaled = fit_growing_correction(fused * [unit, unit**2], unit * y, np.full(400, unit))
    assert scaled["log_growth"] == found["log_growth"]
    in_units = correct_variance(fused * [unit, unit**2], scaled)[:, 1]
    expected = unit**2 * correct_variance(fused, found)[:, 1]
    np.testing.assert_allclose(in_units, expected, rtol=1e-6)


def test_intervals_of_prices_grow_with_the_price():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.exp(X[:, 0] + 0.2 * rng.normal(size=600))
    model = EnsemblageRegressor(["ridge", "forest"], random_state=0).fit(X[:300], y[:300])
    assert model.variance_correction_["log_growth"] > 1
    low, high = model.predict_interval(X[300:], coverage=0.9).T
    covered = (low <= y[300:]) & (y[300:] <= high)
    assert 0.84 < covered.mean() < 0.97
    wide = high - low
    cheap = y[300:] < np.median(y[300:])
    assert wide[cheap].mean() < 0.7 * wide[~cheap].mean()


def test_prior_outputs():
    y = np.array([0, 0, 1, 2])
    np.testing.assert_array_equal(CLASSES.prior_output(y, None), [0.5, 0.25, 0.25])
    np.testing.assert_array_equal(
        CLASSES.prior_output(y, np.array([0.0, 1.0, 3.0, 0.0])), [0.25, 0.75, 0]
    )
    prior = NUMERIC.prior_output(np.array([1.0, 3.0]), np.array([3.0, 1.0]))
    np.testing.assert_array_equal(prior, [1.5, 4.0])


def test_a_row_in_every_bootstrap_has_no_out_of_bag_output():
    predicted = np.array([[np.nan, np.nan, np.nan], [0.2, 0.3, 0.5]])
    prior = np.array([0.1, 0.1, 0.8])
    np.testing.assert_array_equal(CLASSES.outputs_from_oob(predicted, prior), [prior, predicted[1]])
    outputs = NUMERIC.outputs_from_oob(np.array([5.0, 6.0]), np.array([5.0, 4.0]))
    np.testing.assert_array_equal(outputs, [[5, 4], [6, 4]])


def test_stages_have_all_classes_and_a_variance():
    staged = CLASSES.outputs_from_stages(np.full((2, 4, 2), 0.5), np.array([0, 2]))
    np.testing.assert_array_equal(staged[1, 3], [0.5, 0, 0.5])
    np.testing.assert_array_equal(
        NUMERIC.outputs_from_stages(np.ones((2, 4)), np.ones(1))[1, 3], [1, 4]
    )


def test_losses_and_scores_by_hand():
    outputs, y = np.array([[1.0, 4.0], [3.0, 1.0]]), np.array([2.0, 3.0])
    expected = -norm.logpdf(y, [1, 3], [2, 1])
    np.testing.assert_allclose(NUMERIC.row_losses(outputs, y), expected)
    np.testing.assert_array_equal(NUMERIC.uncalibrated_losses(outputs, y), [1, 0])
    assert NUMERIC.score(outputs, y, None) == pytest.approx(np.sqrt(0.5))
    assert NUMERIC.score(outputs, y, np.array([3.0, 1.0])) == pytest.approx(np.sqrt(0.75))
    proba = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    assert log_loss(proba, np.array([0, 1])) == pytest.approx(np.log(2) / 2)
    assert CLASSES.score(proba, np.array([0, 2]), None) == 0.5
    assert mean_loss(np.array([1.0, 3.0]), np.array([3.0, 1.0])) == 1.5


def test_a_constant_member_has_no_standard_deviation_of_its_own():
    constant = NUMERIC.constant_member(np.array([3.0, 3.0]))
    assert isinstance(constant, DummyRegressor)
    np.testing.assert_array_equal(
        NUMERIC.outputs(constant, np.zeros((1, 2)), "predict_std"), [[3, 4]]
    )


@given(seed=st.integers(0, 1000), shift=st.floats(-10, 10), scale=st.floats(0.1, 10))
def test_a_member_alone_is_calibrated_whatever_the_units(seed, shift, scale):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=30)
    predicted = y + rng.normal(size=30)
    losses = []
    for a, b in ((0.0, 1.0), (shift, scale)):
        outputs = np.stack([a + b * predicted, np.full(30, 7.0)], axis=1)[None]
        fused = NUMERIC.calibrator().fit(outputs, a + b * y, numeric=True).combine(outputs)
        np.testing.assert_allclose(fused[:, 0], a + b * predicted)
        np.testing.assert_allclose(fused[:, 1], np.mean((b * (y - predicted)) ** 2), rtol=1e-6)
        losses.append(mean_loss(NUMERIC.row_losses(fused, a + b * y)))
    assert losses[1] - losses[0] == pytest.approx(np.log(scale), abs=1e-6)


def test_reported_losses_bound_probabilities_as_the_measures_do():
    proba, y = np.array([[1.0, 0.0, 0.0], [0.0, 0.25, 0.75]]), np.array([1, 1])
    measured = MEASURES["log_loss"].function(y, Predictions(y, (0, 1, 2), probabilities=proba))
    assert CLASSES.reported_losses(proba, y).mean() == pytest.approx(measured)
    loss, error, accuracy, _ = CLASSES.scores_with_errors(proba, y, None, 1.0)
    assert (loss, accuracy) == (pytest.approx(-np.log(1e-15 * 0.25) / 2), 0.0)
    assert error == pytest.approx(abs(np.log(1e-15 / 0.25)) / 2 / np.sqrt(2))
