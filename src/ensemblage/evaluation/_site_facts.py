"""What held-out probabilities say about each source: how right, and how sure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.evaluation._random_effects import Shrunk, shrink
from ensemblage.evaluation._source_predictions import Codes, Doubles, HeldOut
from ensemblage.parallel import deal_folds
from ensemblage.strata import CalibrationPrior, as_log_proba, calibrate_site

# so wide that a source's own rows decide; without any, separable rows would have no estimate
WEAK = CalibrationPrior(slope=1.0, offset=2.5)
FOLDS = 5


class SiteCalibrations(NamedTuple):
    """Log slopes and offsets of all sources, drawn towards each other."""

    log_slopes: Shrunk
    offsets: Shrunk


def compared_class(held: HeldOut, labels: Codes) -> int:
    """Choose the class whose rates are told: the second of two, else the most frequent one."""
    n_classes = held.shares.shape[1]
    return 1 if n_classes == 2 else int(np.bincount(labels, minlength=n_classes).argmax())


def site_calibrations(held: HeldOut, labels: Codes, sources: Codes, label: int) -> SiteCalibrations:
    """Calibrate each source; an offset is that of the class against the mean of the others."""
    log_proba = as_log_proba(held.shares)
    n_classes = log_proba.shape[1]
    contrast = np.full(n_classes, -1 / (n_classes - 1))
    contrast[label] = 1.0
    found = [
        calibrate_site(log_proba[own], labels[own], np.ones(int(own.sum())), WEAK)
        for own in (sources == s for s in range(int(sources.max()) + 1))
    ]
    slopes = [(np.log(each.slope), each.covariance[0, 0], WEAK.slope**2) for each in found]
    prior = WEAK.offset**2 * float(contrast @ contrast)
    offsets = [
        (contrast @ each.offsets, contrast @ each.covariance[1:, 1:] @ contrast, prior)
        for each in found
    ]
    return SiteCalibrations(_without_prior(slopes, skewed=True), _without_prior(offsets))


def _without_prior(estimates: list[tuple[Any, Any, float]], *, skewed: bool = False) -> Shrunk:
    """Take out the weak prior of each source, and put in what the other sources say."""
    values, variances, priors = np.array(estimates).T
    precision = 1 / variances - 1 / priors
    telling = precision > 1e-6 / priors
    own = np.where(telling, 1 / np.where(telling, precision, 1.0), np.inf)
    return shrink(np.where(telling, values / variances * own, 0.0), own, skewed=skewed)


def coverages(held: HeldOut, labels: Codes, sources: Codes, coverage: float) -> Doubles:
    """Share of each source's rows whose class is in a prediction set made for other sources.

    The set has the classes of at least a certain probability: that at which the other sources'
    rows are covered as often as asked for.
    """
    true = held.shares[np.arange(len(labels)), labels]
    found = []
    for s in range(int(sources.max()) + 1):
        others = true[sources != s]
        place = min(1.0, coverage * (1 + 1 / len(others)))
        found.append((true[sources == s] >= np.quantile(others, 1 - place, method="lower")).mean())
    return np.array(found)


def recalibrated_loss(held: HeldOut, labels: Codes, rows: NDArray[np.intp]) -> float:
    """Log loss of a source whose probabilities are adapted by its other rows, fold by fold."""
    log_proba, own = as_log_proba(held.shares[rows]), labels[rows]
    losses = np.zeros(len(rows))
    for train, test in deal_folds(own, FOLDS, np.random.default_rng(0)):
        change = calibrate_site(log_proba[train], own[train], np.ones(len(train))).cautious()
        losses[test] = -change.log_proba(log_proba[test])[np.arange(len(test)), own[test]]
    return float(losses.mean())
