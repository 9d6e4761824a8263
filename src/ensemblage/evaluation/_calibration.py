"""Reliability curves: how often what is predicted happens."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ensemblage._core import set_module
from ensemblage.evaluation._measures import STD_FLOOR, alike_columns

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
        Its probabilities.
    y : array-like of shape (n_samples,)
        Class indices, 0 to n_classes - 1.
    n_bins : int, default=10
        Bins of equally many rows, at most; rows of equal confidence stay together.

    Returns
    -------
    Reliability
        Means of bins of rows with about the same confidence, the lowest first: ``confidence`` is
        the mean probability of the predicted class, ``accuracy`` how often it is the true one,
        ``share`` the share of the rows, and ``error`` the expected calibration error.

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
            "Probabilities of each row and class are needed, and a class index per row, got "
            f"arrays of shapes {shape} and {codes.shape}."
        )
    if not np.isfinite(probabilities).all():
        raise ValueError("Probabilities must be finite: leave the other rows out.")
    if not np.isin(codes, np.arange(shape[1])).all():
        raise ValueError(
            f"y must hold class indices from 0 to {shape[1] - 1}, the places of its classes among "
            "the columns; np.searchsorted(model.classes_, y) gives them."
        )
    if n_bins < 1:
        raise ValueError(f"n_bins={n_bins} must be at least 1.")
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == codes
    edges = np.unique(np.quantile(confidence, np.linspace(0, 1, n_bins + 1)[1:-1]))
    bins = np.searchsorted(edges, confidence)
    counts = np.bincount(bins)
    filled = counts > 0
    means, accuracy = (
        np.bincount(bins, each)[filled] / counts[filled] for each in (confidence, right)
    )
    return Reliability(means, accuracy, counts[filled] / len(confidence))


def interval_reliability(y: Any, predicted: Any, std: Any) -> Reliability:
    """Compare the nominal coverage of normal intervals, 5 % to 95 %, with what they cover.

    The nominal coverage is in ``confidence``, the actual one in ``accuracy``.
    """
    nominal = np.arange(1, 20) / 20
    values, means, deviations = alike_columns(y, predicted, std)
    apart = np.abs(values - means) / np.maximum(deviations, STD_FLOOR)
    held = (apart <= ndtri(0.5 + nominal / 2)[:, None]).mean(axis=1)
    return Reliability(nominal, held, np.full(len(nominal), 1 / len(nominal)))
