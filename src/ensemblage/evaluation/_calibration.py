"""Reliability (calibration) curves, and thresholds of conformal prediction by source."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ensemblage._core import set_module
from ensemblage.evaluation._measures import STD_FLOOR, check_equal_lengths

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

# Total weight of the rows of all other sources, in rows of the source itself.
PRIOR_ROWS = 20.0


@set_module("ensemblage.evaluation")
class Reliability(NamedTuple):
    """Means of bins of rows with about the same confidence, (n_bins,) each."""

    confidence: Doubles
    accuracy: Doubles
    share: Doubles

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance of confidence and accuracy."""
        return float(self.share @ np.abs(self.confidence - self.accuracy))


def reliability(probabilities: Any, y: Any, *, n_bins: int = 10) -> Reliability:
    """Compare a classifier's confidence with its accuracy.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Predicted probabilities.
    y : array-like of shape (n_samples,)
        Class indices, 0 to n_classes - 1.
    n_bins : int, default=10
        Maximum number of bins of equally many rows; rows of equal confidence share a bin.

    Returns
    -------
    Reliability
        Means of bins of rows with about the same confidence, the lowest first: ``confidence`` is
        the mean probability of the predicted class, ``accuracy`` the share of correct predictions,
        ``share`` the share of all rows, and ``error`` the expected calibration error.

    Examples
    --------
    >>> from ensemblage.evaluation import reliability
    >>> reliability([[0.8, 0.2]] * 4, [0, 0, 0, 1]).accuracy
    array([0.75])
    """
    probabilities, codes = np.asarray(probabilities, dtype=float), np.asarray(y)
    shape = probabilities.shape
    if probabilities.ndim != 2 or probabilities.size == 0 or codes.shape != shape[:1]:
        raise ValueError(
            "Expected probabilities of shape (n_samples, n_classes) and a class index per row, got "
            f"arrays of shapes {shape} and {codes.shape}."
        )
    if not np.isfinite(probabilities).all():
        raise ValueError("Probabilities must be finite: drop the other rows.")
    if not np.isin(codes, np.arange(shape[1])).all():
        raise ValueError(
            f"y must hold class indices from 0 to {shape[1] - 1}, the columns of the classes; "
            "np.searchsorted(model.classes_, y) returns them."
        )
    if n_bins < 1:
        raise ValueError(f"n_bins={n_bins} must be at least 1.")
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == codes
    edges = np.unique(np.quantile(confidence, np.linspace(0, 1, n_bins + 1)[1:-1]))
    bins = np.searchsorted(edges, confidence)
    counts = np.bincount(bins)
    filled = counts > 0
    means, accuracy = (
        np.bincount(bins, each)[filled] / counts[filled] for each in (confidence, correct)
    )
    return Reliability(means, accuracy, counts[filled] / len(confidence))


def interval_reliability(y: Any, predicted: Any, std: Any) -> Reliability:
    """Compare nominal and observed coverage of normal prediction intervals, 5 % to 95 %.

    The nominal coverage is in ``confidence``, the observed one in ``accuracy``.
    """
    nominal = np.arange(1, 20) / 20
    values, means, deviations = check_equal_lengths(y, predicted, std)
    z_scores = np.abs(values - means) / np.maximum(deviations, STD_FLOOR)
    observed = (z_scores <= ndtri(0.5 + nominal / 2)[:, None]).mean(axis=1)
    return Reliability(nominal, observed, np.full(len(nominal), 1 / len(nominal)))


def weighted_threshold(scores: Doubles, weights: Doubles, coverage: float, spare: float) -> float:
    """Return the weighted quantile of the scores at ``coverage``; infinity if weight is lacking.

    ``spare`` is the weight of the new row, whose score is unknown.
    """
    order = np.argsort(scores, kind="stable")
    needed = coverage * (weights.sum() + spare)
    total = np.cumsum(weights[order])
    # sums of floating-point weights are not exact
    position = int(np.searchsorted(total, needed * (1 - 1e-12)))
    return float(scores[order[position]]) if position < len(order) else np.inf


def source_thresholds(
    scores: Doubles, sources: Integers, weights: Doubles, n_sources: int, coverage: float
) -> Doubles:
    """Return each source's threshold, (n_sources,), shrunk towards that of the other sources.

    A source's rows have a mean weight of one, those of the others a total weight of ``PRIOR_ROWS``.
    The new row has the weighted mean of these weights: it is one more row of its source as far as
    the source's own rows count, and one more of all as far as the others do. Large sources get a
    threshold of their own, small ones nearly that of all rows.
    """
    found = np.empty(n_sources)
    mean = weights.mean()
    for source in range(n_sources):
        own = sources == source
        others = weights[~own].sum()
        share = PRIOR_ROWS * mean / others if others > 0 else 0.0
        shared = np.where(own, weights, share * weights) / mean
        spare = float(shared @ np.where(own, 1.0, share)) / float(shared.sum())
        found[source] = weighted_threshold(scores, shared, coverage, spare)
    return found
