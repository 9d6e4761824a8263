import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import log_softmax
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage._core import deal_folds
from ensemblage.persistence import load, save
from ensemblage.sources import (
    RecalibratedClassifier,
    add_intercepts,
    as_log_proba,
    choose_intercept_penalty,
    fit_calibration,
    fit_intercepts,
    recalibrate,
)
from ensemblage.sources._calibration import Calibration, CalibrationPrior, _fisher_information
from reference.source_intercepts import intercepts_by_source


def made(seed, n_rows=60, n_classes=3):
    rng = np.random.default_rng(seed)
    log_proba = log_softmax(2 * rng.normal(size=(n_rows, n_classes)), axis=1)
    return log_proba, rng.integers(0, n_classes, n_rows), np.ones(n_rows)


def test_by_hand():
    """Slope 2 and intercepts of -0.5 and 0.5 give even odds the log-odds 1."""
    change = Calibration(2.0, np.array([-0.5, 0.5]), np.eye(3))
    found = np.exp(change.log_proba(np.log([[0.5, 0.5], [0.8, 0.2]])))
    odds = np.exp(1.0)
    np.testing.assert_allclose(found[0, 1] / found[0, 0], odds)
    np.testing.assert_allclose(found[1, 1] / found[1, 0], odds / 16)
    np.testing.assert_allclose(change.z_scores, [np.log(2), -0.5, 0.5])


def test_many_rows_recover_slope_and_intercepts():
    rng = np.random.default_rng(0)
    log_proba, _, _ = made(1, 20_000, 2)
    truth = Calibration(0.6, np.array([-0.4, 0.4]), np.eye(3))
    labels = (rng.random(20_000) < np.exp(truth.log_proba(log_proba))[:, 1]).astype(int)
    found = fit_calibration(log_proba, labels, np.ones(20_000))
    assert found.slope == pytest.approx(0.6, abs=0.03)
    assert found.intercepts[1] == pytest.approx(0.4, abs=0.03)
    sd = np.sqrt(np.diag(found.covariance))
    assert 0.005 < sd[0] < 0.03


def test_fisher_information_is_the_expected_curvature():
    """Expected over the labels, the loss has the Fisher information as its second derivative."""
    log_proba, _, weights = made(2)
    at = np.zeros(4)

    def gradient(values):
        shares = np.exp(log_proba)
        stretched = np.exp(values[0]) * log_proba
        residual = np.exp(log_softmax(stretched + values[1:], axis=1)) - shares
        return np.append((residual * stretched).sum(), residual.sum(axis=0))

    numeric = np.array([approx_fprime(at, lambda v, j=j: gradient(v)[j], 1e-6) for j in range(4)])
    np.testing.assert_allclose(_fisher_information(log_proba, weights, at), numeric, atol=1e-3)


@given(st.integers(0, 500), st.sampled_from([2, 4]))
def test_intercepts_add_up_to_zero_and_a_narrow_prior_changes_nothing(seed, n_classes):
    found = fit_calibration(*made(seed, 30, n_classes))
    assert abs(found.intercepts.sum()) < 1e-3
    assert np.isfinite(found.covariance).all()
    still = fit_calibration(*made(seed, 30, n_classes), CalibrationPrior(1e-6, 1e-6))
    assert still.slope == pytest.approx(1.0, abs=1e-6)


def test_shrinkage_by_the_probability_of_change():
    found = Calibration(4.0, np.array([-1.0, 1.0]), np.eye(3), probability_of_change=0.5).shrunken()
    assert found.slope == pytest.approx(2.0)
    np.testing.assert_allclose(found.intercepts, [-0.5, 0.5])
    log_proba, _, weights = made(3, 400, 2)
    rng = np.random.default_rng(0)
    calibrated = (rng.random(400) < np.exp(log_proba)[:, 1]).astype(int)
    assert fit_calibration(log_proba, calibrated, weights).probability_of_change < 0.2
    assert fit_calibration(log_proba, 1 - calibrated, weights).probability_of_change > 0.99


def test_probabilities_of_zero_are_clipped():
    assert np.isfinite(as_log_proba(np.array([[0.0, 1.0]]))).all()


def test_probabilities_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="The estimator's probabilities are not all finite"):
        as_log_proba([[0.5, 0.5], [np.nan, np.nan]])


def site(seed, n_rows, shift=0.0, stretch=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    return X, (stretch * X[:, 0] + shift + rng.logistic(size=n_rows) > 0).astype(int)


@pytest.fixture(scope="module")
def model():
    return LogisticRegression().fit(*site(0, 2000))


@parametrize_with_checks([RecalibratedClassifier(LogisticRegression())])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("shift", "stretch"), [(2.0, 1.0), (0.0, 3.0)])
def test_a_miscalibrated_site_is_recalibrated(model, shift, stretch):
    adapted = recalibrate(model, *site(1, 100, shift, stretch))
    X, y = site(2, 4000, shift, stretch)
    assert adapted.significant_
    assert log_loss(y, adapted.predict_proba(X)) < 0.9 * log_loss(y, model.predict_proba(X))
    assert (adapted.predict(X) == adapted.predict_proba(X).argmax(axis=1)).all()


def test_a_calibrated_site_is_hardly_changed(model):
    X, y = site(3, 4000)
    before, losses = log_loss(y, model.predict_proba(X)), []
    for seed in range(20):
        adapted = RecalibratedClassifier(FrozenEstimator(model)).fit(*site(10 + seed, 50))
        losses.append(log_loss(y, adapted.predict_proba(X)))
    assert np.mean(losses) < 1.005 * before


def test_warning_if_no_change_is_significant(model):
    with pytest.warns(UserWarning, match="No significant miscalibration in 20 labelled rows"):
        adapted = recalibrate(model, *site(4, 20))
    assert not adapted.significant_
    assert adapted.slope_ == pytest.approx(1.0, abs=0.1)


def test_a_class_that_the_site_does_not_have_keeps_a_probability(model):
    X, _ = site(5, 30)
    adapted = recalibrate(model, X, np.ones(30, dtype=int))
    shares = adapted.predict_proba(X)
    assert (shares > 0.001).all()
    assert shares[:, 1].mean() > model.predict_proba(X)[:, 1].mean()


def test_invalid_input_is_refused(model):
    X, y = site(6, 30)
    with pytest.raises(ValueError, match="not among the model's classes_: 7"):
        recalibrate(model, X, np.where(y == 1, 7, 0))
    with pytest.raises(NotFittedError):
        recalibrate(LogisticRegression(), X, y)
    with pytest.raises(TypeError, match="KNeighborsClassifier does not support sample_weight"):
        RecalibratedClassifier(KNeighborsClassifier()).fit(X, y, np.ones(30))


def test_saved_and_loaded(model, tmp_path):
    adapted = recalibrate(model, *site(1, 100, shift=2.0))
    X, _ = site(7, 10)
    save(adapted, tmp_path / "site.skops")
    again = load(tmp_path / "site.skops").model
    np.testing.assert_array_equal(again.predict_proba(X), adapted.predict_proba(X))
    adapted.intercepts_ = np.array([np.nan, 0.0])
    save(adapted, tmp_path / "forged.skops")
    with pytest.raises(ValueError, match="forged or damaged RecalibratedClassifier"):
        load(tmp_path / "forged.skops")


def rows_of_sources(seed, n_rows=60, n_classes=3, n_sources=4, shift=0.0):
    """Rows whose first class is more frequent in later sources than predicted."""
    rng = np.random.default_rng(seed)
    sources = rng.integers(0, n_sources, n_rows)
    proba = rng.dirichlet(np.ones(n_classes), n_rows)
    tilt = np.zeros((n_rows, n_classes))
    tilt[:, 0] = shift * sources
    true = proba * np.exp(tilt)
    true /= true.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(n_classes, p=each) for each in true])
    return np.log(proba), y, sources, rng.uniform(0.5, 2.0, n_rows)


def test_intercepts_by_hand():
    # four rows of class 1 that were even: a = n p(0) / 2 nu, at a = log(3) / 2 and p(0) = 1/4
    log_proba, zeros = np.log(np.full((4, 2), 0.5)), np.zeros(4, dtype=int)
    found = fit_intercepts(log_proba, zeros + 1, zeros, np.ones(4), 1, 1 / np.log(3))
    np.testing.assert_allclose(found, [[-np.log(3) / 2, np.log(3) / 2]], atol=1e-7)
    proba = np.exp(add_intercepts(log_proba, zeros, found))
    np.testing.assert_allclose(proba[0], [0.25, 0.75], atol=1e-7)


@pytest.mark.parametrize("penalty", [0.5, 4.0])
def test_the_slow_twin_agrees(penalty):
    rows = rows_of_sources(0)
    slow = intercepts_by_source(*rows, penalty)
    np.testing.assert_allclose(fit_intercepts(*rows, 4, penalty), slow, atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 16.0]))
def test_intercepts_add_up_to_zero_never_lose_and_shrink(seed, penalty):
    rows = rows_of_sources(seed)
    log_proba, y, sources, weights = rows

    def loss(intercepts):
        log_p = add_intercepts(log_proba, sources, intercepts)
        return -weights @ log_p[np.arange(len(y)), y]

    none, some = np.zeros((5, 3)), fit_intercepts(*rows, 5, penalty)
    np.testing.assert_allclose(some.sum(axis=1), 0, atol=1e-6)
    assert loss(some) <= loss(none) + 1e-9
    assert (some[4] == 0).all()  # no row is of this source
    assert np.abs(fit_intercepts(*rows, 5, 10 * penalty)).sum() <= np.abs(some).sum() + 1e-6


def test_an_infinite_penalty_leaves_no_intercepts():
    assert (fit_intercepts(*rows_of_sources(1), 4, np.inf) == 0).all()


@pytest.mark.parametrize(("shift", "expected"), [(0.0, {16.0, np.inf}), (2.0, {1.0})])
def test_the_penalty_is_chosen_by_cross_validation(shift, expected):
    rows = rows_of_sources(3, n_rows=400, shift=shift)
    folds = deal_folds(rows[1], 5, np.random.default_rng(0))
    assert choose_intercept_penalty(*rows, 4, folds) in expected
