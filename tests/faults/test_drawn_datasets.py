"""Random datasets: finite, valid and repeatable results, or a ValueError."""

import signal
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings

from faults.datasets_drawn import EXAMPLES, drawn_datasets
from made_estimators import CLASSES, CLUSTERS, COSTLY, MADE, REGRESSION, STRATA, fit_on, outputs_of

SECONDS = 60
# Datasets per estimator in the fast test.
N_FAST = 12
# Parts of the slow test, and how many of them include slow estimators.
N_PARTS = 20
N_COSTLY_PARTS = 4
PART_SIZE = (EXAMPLES or 10_000) // N_PARTS
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def check_any(made, drawn, twice=True):
    """Fit and predict, twice; a hang raises a TimeoutError."""
    truth = drawn.numeric if made.kind == REGRESSION else drawn.classes
    settings_ = {} if drawn.weights is None or not made.takes_weights else {
        "sample_weight": drawn.weights
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGALRM, _raise_timeout)
        signal.alarm(SECONDS)
        try:
            model = fit_on(made, drawn.X, truth, **settings_)
            outputs = outputs_of(model, drawn.X)
            again = outputs
            if twice:
                again = outputs_of(fit_on(made, drawn.X, truth, **settings_), drawn.X)
        except (ValueError, TypeError, MemoryError) as error:
            assert str(error)  # noqa: PT017
            return
        finally:
            signal.alarm(0)
    for name, each in outputs.items():
        if each.dtype.kind == "f":
            assert np.isfinite(each).all(), name
        np.testing.assert_array_equal(each, again[name])
    CHECKS.get(made.kind, _no_check)(model, drawn, outputs)


def _raise_timeout(*_):
    raise TimeoutError


def _no_check(model, drawn, outputs):
    pass


def _classes(model, drawn, outputs):
    assert set(outputs["predict"].tolist()) <= set(drawn.classes.tolist())
    proba = outputs["predict_proba"]
    assert proba.shape == (len(drawn.X), len(model.classes_))
    assert (proba >= 0).all()
    assert (proba <= 1).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-4)


def _regression(model, drawn, outputs):
    assert outputs["predict"].shape == (len(drawn.X),)


def _clusters(model, drawn, outputs):
    assert model.labels_.shape == (len(drawn.X),)
    assert model.labels_.min() >= 0


def _strata(model, drawn, outputs):
    proba = model.memberships_
    assert proba.shape[0] == len(drawn.X)
    assert (proba >= 0).all()
    assert (proba <= 1 + 1e-6).all()
    if type(model).__name__ == "HISS":
        weights = np.ones(len(drawn.X)) if drawn.weights is None else drawn.weights
        weights = weights / weights.max()
        sizes = weights @ proba / weights.sum()
        np.testing.assert_allclose(sizes, 0.6, atol=1e-3)
        path = model.objective_path_
        assert (np.diff(path) >= -1e-3 * (1 + np.abs(path[1:]))).all()


CHECKS = {CLASSES: _classes, REGRESSION: _regression, CLUSTERS: _clusters, STRATA: _strata}


@pytest.mark.parametrize("name", [name for name in MADE if name not in COSTLY])
@settings(max_examples=EXAMPLES or N_FAST, deadline=None, suppress_health_check=QUIET)
@given(drawn=drawn_datasets())
def test_any_dataset(name, drawn):
    check_any(MADE[name], drawn)


@pytest.mark.parametrize("name", sorted(COSTLY))
@settings(max_examples=EXAMPLES or 2, deadline=None, suppress_health_check=QUIET)
@given(drawn=drawn_datasets())
def test_any_dataset_with_slow_estimators(name, drawn):
    check_any(MADE[name], drawn)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("part", range(N_PARTS))
def test_many_datasets(part):
    """Draw 10,000 datasets in twenty parts; four of these also for slow estimators."""
    estimators = [
        made for name, made in MADE.items() if part < N_COSTLY_PARTS or name not in COSTLY
    ]

    @seed(part)
    # no shrinking of a failing dataset, which would take minutes
    @settings(
        max_examples=PART_SIZE, deadline=None, suppress_health_check=QUIET, database=None,
        phases=[Phase.generate],
    )  # fmt: skip
    @given(drawn=drawn_datasets())
    def check(drawn):
        for made in estimators:
            note(made.name)
            check_any(made, drawn, twice=len(drawn.X) % 8 == 0)

    check()
