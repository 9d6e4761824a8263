"""Reliability curves: how often what is predicted happens."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ensemblage._core import set_module
from ensemblage.evaluation._measures import STD_FLOOR, alike_columns

Doubles = NDArray[np.float64]


N_BINS = 10


@set_module("ensemblage.evaluation")
class Reliability(NamedTuple):
    """Means of bins of rows with about the same confidence.

    Parameters
    ----------
    confidence : ndarray of shape (n_bins,)
        Mean probability of the class that is predicted.
    accuracy : ndarray of shape (n_bins,)
        How often it is the true one.
    share : ndarray of shape (n_bins,)
        Share of the rows.
    """

    confidence: Doubles
    accuracy: Doubles
    share: Doubles

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance of confidence and accuracy."""
        return float(self.share @ np.abs(self.confidence - self.accuracy))


def reliability(probabilities: Any, y: Any, *, n_bins: int = N_BINS) -> Reliability:
    """Compare how sure a classifier is with how often it is right.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Its probabilities.
    y : array-like of shape (n_samples,)
        Class numbers, 0 to n_classes - 1.
    n_bins : int, default=10
        Bins of equally many rows, at most; rows that are equally sure stay together.

    Returns
    -------
    Reliability
        A mean per bin, the least sure first.

    Examples
    --------
    >>> from ensemblage.evaluation import reliability
    >>> reliability([[0.8, 0.2]] * 4, [0, 0, 0, 1]).accuracy
    array([0.75])
    """
    probabilities, numbers = _probabilities_and_numbers(probabilities, y)
    if n_bins < 1:
        raise ValueError(f"n_bins={n_bins} must be at least 1.")
    sure = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == numbers
    edges = np.unique(np.quantile(sure, np.linspace(0, 1, n_bins + 1)[1:-1]))
    bins = np.searchsorted(edges, sure)
    counts = np.bincount(bins)
    filled = counts > 0
    confidence, accuracy = (
        np.bincount(bins, values)[filled] / counts[filled] for values in (sure, right)
    )
    return Reliability(confidence, accuracy, counts[filled] / len(sure))


def _probabilities_and_numbers(probabilities: Any, y: Any) -> tuple[Doubles, NDArray[Any]]:
    found, numbers = np.asarray(probabilities, dtype=float), np.asarray(y)
    if found.ndim != 2 or found.size == 0 or numbers.shape != found.shape[:1]:
        raise ValueError(
            "Probabilities of each row and class are needed, and a class number per row, got "
            f"arrays of shapes {found.shape} and {numbers.shape}."
        )
    if not np.isfinite(found).all():
        raise ValueError("Probabilities must be finite: leave the other rows out.")
    if not np.isin(numbers, np.arange(found.shape[1])).all():
        raise ValueError(
            f"y must hold class numbers from 0 to {found.shape[1] - 1}, the places of its classes "
            "among the columns; np.searchsorted(model.classes_, y) gives them."
        )
    return found, numbers


def interval_reliability(y: Any, predicted: Any, spread: Any) -> Reliability:
    """Compare how many numbers normal intervals should hold with how many they do.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The numbers.
    predicted : array-like of shape (n_samples,)
        Their predicted means.
    spread : array-like of shape (n_samples,)
        Their predicted standard deviations; what is below 1e-12 counts as that.

    Returns
    -------
    Reliability
        For intervals of 5 % to 95 %, in ``confidence``, how many numbers they hold, in
        ``accuracy``.

    Examples
    --------
    >>> from ensemblage.evaluation import interval_reliability
    >>> found = interval_reliability([0.0, 2.0], [0.0, 0.0], [1.0, 1.0])
    >>> found.accuracy[[0, -1]]
    array([0.5, 0.5])
    """
    nominal = np.arange(1, 20) / 20
    numbers, means, spreads = alike_columns(y, predicted, spread)
    apart = np.abs(numbers - means) / np.maximum(spreads, STD_FLOOR)
    held = (apart <= ndtri(0.5 + nominal / 2)[:, None]).mean(axis=1)
    return Reliability(nominal, held, np.full(len(nominal), 1 / len(nominal)))
