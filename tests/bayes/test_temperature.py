import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_iris, load_wine

from ensemblage.bayes import BayesNetClassifier, _base
from ensemblage.bayes._reading import read_training
from ensemblage.bayes._search_space import Structure
from ensemblage.bayes._temperature import fit_temperature
from ensemblage.inner import InnerBayesNetClassifier


def slowly(log_joint, labels, weights):
    """The formula, tried at many temperatures."""
    best, found = np.inf, 1.0
    for log_t in np.linspace(-4, 4, 8001):
        loss = 0.5 * log_t**2
        for scores, label, weight in zip(log_joint, labels, weights, strict=True):
            p = np.exp(scores / np.exp(log_t) - np.max(scores / np.exp(log_t)))
            loss -= weight * np.log(p[label] / p.sum())
        if loss < best:
            best, found = loss, np.exp(log_t)
    return found


def test_by_hand():
    # three rows of four are right: the odds should be three to one, and the prior hardly counts
    log_joint = np.tile([np.log(81.0), 0.0], (4000, 1))
    labels = np.repeat([0, 0, 0, 1], 1000)
    found = fit_temperature(log_joint, labels, np.ones(4000))
    assert found == pytest.approx(4.0, rel=0.01)  # 81 ** (1 / 4) = 3


def test_the_slow_twin_agrees():
    rng = np.random.default_rng(0)
    log_joint, labels = 3 * rng.normal(size=(12, 3)), rng.integers(0, 3, 12)
    weights = rng.uniform(0, 2, 12)
    expected = slowly(log_joint, labels, weights)
    assert fit_temperature(log_joint, labels, weights) == pytest.approx(expected, rel=2e-3)


@given(st.integers(0, 10**6), st.floats(0.2, 5))
def test_it_follows_the_scale_of_what_it_is_given(seed, scale):
    rng = np.random.default_rng(seed)
    log_joint = rng.normal(size=(3000, 2))
    labels = (rng.random(3000) < softmax(log_joint, axis=1)[:, 1]).astype(int)
    found = fit_temperature(scale * log_joint, labels, np.ones(3000))
    assert found / scale == pytest.approx(1, abs=0.25)


def test_without_rows_it_is_one():
    found = fit_temperature(np.empty((0, 2)), np.empty(0, int), np.empty(0))
    assert found == pytest.approx(1, abs=1e-3)


MODELS = {
    "plain": BayesNetClassifier(),
    "crowd": InnerBayesNetClassifier(10, random_state=0),
    "plain tables": InnerBayesNetClassifier(5, tables="plain", random_state=0),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_decisions_stay_and_explanations_agree(model):
    X, y = load_wine(return_X_y=True)
    model.fit(X, y)
    assert model.temperature_ != 1
    sure = model.predict_log_proba(X) * model.temperature_
    assert np.array_equal(model.predict(X), model.classes_[sure.argmax(axis=1)])
    contributions = model.explain(X).sum(axis=1)
    np.testing.assert_allclose(softmax(contributions, axis=1), model.predict_proba(X), atol=1e-12)
    uncalibrated = type(model)(**{**model.get_params(), "calibration": None}).fit(X, y)
    assert uncalibrated.temperature_ == 1
    np.testing.assert_allclose(log_softmax(sure, axis=1), uncalibrated.predict_log_proba(X))


def test_bootstraps_tell_the_temperature_of_rows_that_they_have_left():
    """Pure chance: whoever has not seen a row knows nothing of it, and should say so."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (150, 12)).astype(str), rng.integers(0, 2, 150)
    crowd = InnerBayesNetClassifier(20, 0.3, random_state=0).fit(X, y)
    sure = InnerBayesNetClassifier(20, 0.3, random_state=0, calibration=None).fit(X, y)
    fresh = rng.integers(0, 4, (500, 12)).astype(str)
    doubts = [np.abs(model.predict_proba(fresh) - 0.5).mean() for model in (crowd, sure)]
    assert doubts[0] < 0.8 * doubts[1]


def test_classes_of_one_row_are_no_obstacle():
    X, y = load_iris(return_X_y=True)
    few = np.r_[0:20, 50:70, 100:101]
    for model in MODELS.values():
        assert np.isfinite(model.fit(X[few], y[few]).predict_log_proba(X)).all()


def test_of_many_rows_fewer_folds_are_held_out(monkeypatch):
    X, y = load_iris(return_X_y=True)
    held_out = {}
    for enough in (10**6, 60, 10):
        monkeypatch.setattr(_base, "ENOUGH_ROWS", enough)
        network = BayesNetClassifier()
        training = read_training(network, X, y, None)
        found = network._held_out(training, Structure.start(4, "naive"))
        held_out[enough] = np.isfinite(found).all(axis=1).sum()
    assert held_out == {10**6: 150, 60: 60, 10: 30}
