import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

from ensemblage.strata._site_calibration import (
    CalibrationPrior,
    SiteCalibration,
    _information,
    as_log_proba,
    calibrate_site,
)


def made(seed, n_rows=60, n_classes=3):
    rng = np.random.default_rng(seed)
    log_proba = log_softmax(2 * rng.normal(size=(n_rows, n_classes)), axis=1)
    return log_proba, rng.integers(0, n_classes, n_rows), np.ones(n_rows)


def test_by_hand():
    """Slope 2 and offsets of half a log odds turn even odds into their sum."""
    change = SiteCalibration(2.0, np.array([-0.5, 0.5]), np.eye(3))
    found = np.exp(change.log_proba(np.log([[0.5, 0.5], [0.8, 0.2]])))
    odds = np.exp(1.0)
    np.testing.assert_allclose(found[0, 1] / found[0, 0], odds)
    np.testing.assert_allclose(found[1, 1] / found[1, 0], odds / 16)
    np.testing.assert_allclose(change.deviations, [np.log(2), -0.5, 0.5])


def test_many_rows_find_the_truth():
    rng = np.random.default_rng(0)
    log_proba, _, _ = made(1, 20_000, 2)
    truth = SiteCalibration(0.6, np.array([-0.4, 0.4]), np.eye(3))
    labels = (rng.random(20_000) < np.exp(truth.log_proba(log_proba))[:, 1]).astype(int)
    found = calibrate_site(log_proba, labels, np.ones(20_000))
    assert found.slope == pytest.approx(0.6, abs=0.03)
    assert found.offsets[1] == pytest.approx(0.4, abs=0.03)
    sd = np.sqrt(np.diag(found.covariance))
    assert 0.005 < sd[0] < 0.03


def test_information_is_the_curvature_where_the_model_is_right():
    """Expected over the labels, the loss has the Fisher information as its second derivative."""
    log_proba, _, weights = made(2)
    at = np.zeros(4)

    def slope(values):
        shares = np.exp(log_proba)
        stretched = np.exp(values[0]) * log_proba
        gap = np.exp(log_softmax(stretched + values[1:], axis=1)) - shares
        return np.append((gap * stretched).sum(), gap.sum(axis=0))

    numeric = np.array([approx_fprime(at, lambda v, j=j: slope(v)[j], 1e-6) for j in range(4)])
    np.testing.assert_allclose(_information(log_proba, weights, at), numeric, atol=1e-3)


@given(st.integers(0, 500), st.sampled_from([2, 4]))
def test_offsets_add_up_to_nothing_and_a_tight_prior_changes_nothing(seed, n_classes):
    found = calibrate_site(*made(seed, 30, n_classes))
    assert abs(found.offsets.sum()) < 1e-3
    assert np.isfinite(found.covariance).all()
    still = calibrate_site(*made(seed, 30, n_classes), CalibrationPrior(1e-6, 1e-6))
    assert still.slope == pytest.approx(1.0, abs=1e-6)


def test_caution_follows_the_chance_of_a_change():
    found = SiteCalibration(4.0, np.array([-1.0, 1.0]), np.eye(3), chance=0.5).cautious()
    assert found.slope == pytest.approx(2.0)
    np.testing.assert_allclose(found.offsets, [-0.5, 0.5])
    log_proba, _, weights = made(3, 400, 2)
    rng = np.random.default_rng(0)
    as_said = (rng.random(400) < np.exp(log_proba)[:, 1]).astype(int)
    assert calibrate_site(log_proba, as_said, weights).chance < 0.2
    assert calibrate_site(log_proba, 1 - as_said, weights).chance > 0.99


def test_probabilities_of_zero_have_logs():
    assert np.isfinite(as_log_proba(np.array([[0.0, 1.0]]))).all()


def test_probabilities_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="The estimator's probabilities are not all numbers"):
        as_log_proba([[0.5, 0.5], [np.nan, np.nan]])
