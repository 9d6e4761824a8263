"""Log score and coverage of predictions with a standard deviation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Doubles = NDArray[np.float64]


SMALLEST = 1e-12
"""A spread of nothing would make the score infinite."""


def log_score(y: Any, predicted: Any, spread: Any) -> float:
    r"""Average the negative log density of numbers under normal predictions; less is better.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The numbers.
    predicted : array-like of shape (n_rows,)
        Their predicted means.
    spread : array-like of shape (n_rows,)
        Their predicted standard deviations; what is below 1e-12 counts as that.

    Returns
    -------
    float
        In nats, per row. It may be negative, and it changes with the unit of the numbers.

    Notes
    -----
    For a prediction :math:`m` with spread :math:`s` it is

    .. math:: \frac12 \log(2\pi s^2) + \frac{(y - m)^2}{2 s^2} .

    Examples
    --------
    >>> from ensemblage.evaluation import log_score
    >>> round(log_score([1.0, 2.0], [1.0, 2.0], [1.0, 1.0]), 4)
    0.9189
    """
    numbers, means, spreads = alike_columns(y, predicted, spread)
    return float(-np.mean(norm.logpdf(numbers, means, np.maximum(spreads, SMALLEST))))


def interval_coverage(y: Any, low: Any, high: Any) -> float:
    """Tell the share of numbers that lie in their intervals, ends included.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The numbers.
    low, high : array-like of shape (n_rows,)
        Ends of their intervals.

    Returns
    -------
    float
        Between 0 and 1; intervals of 90 % should hold 0.9 of the numbers.

    Examples
    --------
    >>> from ensemblage.evaluation import interval_coverage
    >>> interval_coverage([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 3.5, 0.0], [1.0, 5.0, 4.0, 5.0])
    0.75
    """
    numbers, lows, highs = alike_columns(y, low, high)
    return float(((lows <= numbers) & (numbers <= highs)).mean())


def alike_columns(*columns: Any) -> tuple[Doubles, ...]:
    """Take columns of finite numbers of one length."""
    found = tuple(np.asarray(each, dtype=float) for each in columns)
    if found[0].ndim != 1 or len({each.shape for each in found}) > 1 or not found[0].size:
        shapes = ", ".join(str(each.shape) for each in found)
        raise ValueError(f"One value per row is needed in each, got arrays of shapes {shapes}.")
    if not all(np.isfinite(each).all() for each in found):
        raise ValueError("Numbers and predictions must be finite: leave the others out.")
    return found
