"""Reliability (calibration) curves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ensemblage._core import set_module
from ensemblage.evaluation._measures import STD_FLOOR, check_equal_lengths

Doubles = NDArray[np.float64]


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
