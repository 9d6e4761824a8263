"""The audit's expected error at a new source, prediction sets, and bounds on false findings."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ensemblage.pool import EnsemblageClassifier
from ensemblage.sources import RecalibratedClassifier, source_audit
from ensemblage.subspace import StabilitySelector
from honesty.drawn import assert_honest, draw_classes

pytestmark = pytest.mark.slow


def draw_sources(rng, n_sources, n_rows, deviation):
    """Logistic models whose coefficients differ by source."""
    coefs = [1.0, 1.0, 0.0, 0.0] + deviation * rng.normal(size=(n_sources, 4))
    intercepts = deviation * rng.normal(size=n_sources)
    sources = np.repeat(np.arange(n_sources), n_rows)
    X = rng.normal(size=(len(sources), 4))
    log_odds = (X * coefs[sources]).sum(axis=1) + intercepts[sources]
    return X, (rng.logistic(size=len(X)) < log_odds).astype(int), sources


@pytest.mark.parametrize("deviation", [0.0, 0.7])
def test_expected_error_at_a_new_source(deviation):
    told, true, inside, held = [], [], [], []
    for draw in range(25):
        rng = np.random.default_rng(draw)
        X, y, sources = draw_sources(rng, 8, 40, deviation)
        audit = source_audit(
            LogisticRegression(), X, y, sources, learning_curve=False, random_state=0
        )
        found, model = audit["error"], LogisticRegression().fit(X, y)
        # so many rows that these are the true errors of new sources
        X, y, sources = draw_sources(rng, 200, 1000, deviation)
        errors = np.bincount(sources, model.predict(X) != y) / 1000
        told.append(found.mean)
        true.append(errors.mean())
        inside.append(found.low <= errors.mean() <= found.high)
        held.append(((found.new_low <= errors) & (errors <= found.new_high)).mean())
    assert_honest(told, true, pessimism=0.01)
    assert np.mean(inside) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / len(inside))
    assert np.mean(held) >= 0.95 - 2 * np.std(held, ddof=1) / np.sqrt(len(held))


@pytest.mark.parametrize("effect", [0.0, 1.0])
@pytest.mark.parametrize("n_rows", [30, 100])
def test_prediction_sets_hold_the_class(n_rows, effect):
    found = []
    for draw in range(40):
        train, (X, y) = draw_classes(n_rows, draw, effect)
        pool = EnsemblageClassifier(["logistic"], random_state=0).fit(*train)
        found.append(pool.predict_set(X)[np.arange(len(y)), y].mean())
    assert np.mean(found) >= 0.9 - 2 * np.std(found, ddof=1) / np.sqrt(len(found))


def test_false_selections_stay_below_the_bound():
    selected, bounds = [], []
    for draw in range(30):
        (X, y), _ = draw_classes(80, draw, n_columns=30)
        stable = StabilitySelector(LogisticRegression(), random_state=draw).fit(X, y)
        selected.append(stable.support_.sum())
        bounds.append(stable.error_bound_)
    assert max(bounds) <= 1
    assert np.mean(selected) <= np.mean(bounds)


def test_a_calibrated_model_is_rarely_called_miscalibrated():
    found = []
    for draw in range(100):
        X, y, _ = draw_sources(np.random.default_rng(draw), 1, 200, 0.0)
        found.append(RecalibratedClassifier(LogisticRegression(C=1.0)).fit(X, y).significant_)
    assert np.mean(found) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / len(found))
