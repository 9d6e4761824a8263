"""Random-effects pooling of per-source estimates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import norm
from scipy.stats import t as student

Doubles = NDArray[np.float64]


PLACE = 0.975
"""Where the upper bound lies: both hold with a probability of 95 %."""
GRID = 100
"""So many standard deviations between sources are weighed."""


class Shrunk(NamedTuple):
    """Estimates after all are known, with bounds; and what they vary around, and how much."""

    values: Doubles
    low: Doubles
    high: Doubles
    mean: float
    spread: float


def shrink(estimates: Doubles, variances: Doubles, *, skewed: bool = False) -> Shrunk:
    r"""Draw estimates with known variances v towards each other.

    The sources' true values are :math:`N(\mu, \tau^2)`, flat before any row is seen in
    :math:`\mu` and :math:`\tau`. Given :math:`\tau`, all is normal: a source has mean
    :math:`(1 - B) x + B \hat\mu` and variance :math:`(1 - B) v + B^2 / \sum_s w_s`, with
    :math:`w = 1 / (v + \tau^2)` and :math:`B = v w`. Over :math:`\tau` it is averaged on a grid.
    An estimate of infinite variance tells nothing, and gets what the others say. Bounds hold with
    a probability of 95 %; those of estimates that are skewed of few rows are wider by Student's t
    with eight degrees of freedom more than sources (`benchmarks/study_audit.py`).
    """
    known = np.isfinite(variances)
    x, v = np.where(known, estimates, 0.0), np.where(known, variances, 1e12)
    reach = max(float(x[known].std()) if known.any() else 0.0, float(np.sqrt(v.min())), 1e-12)
    taus = 6 * reach * (np.arange(GRID) + 0.5) / GRID
    weights = 1 / (v + taus[:, None] ** 2)
    total = weights.sum(axis=1)
    means = weights @ x / total
    gaps = x - means[:, None]
    shares = softmax(0.5 * (np.log(weights) - weights * gaps**2).sum(axis=1) - 0.5 * np.log(total))
    pull = v * weights
    centres = x - pull * gaps
    within = (1 - pull) * v + pull**2 / total[:, None]
    values = shares @ centres
    variance = shares @ (within + (centres - values) ** 2)
    reach = student.ppf(PLACE, len(x) + 8) if skewed else norm.ppf(PLACE)
    half = reach * np.sqrt(variance)
    return Shrunk(values, values - half, values + half, float(shares @ means), float(shares @ taus))


def shrink_shares(hits: Doubles, rows: Doubles) -> Shrunk:
    """Draw shares of rows towards each other, on the scale of angles, where variances are known.

    A share h of n rows has the angle arcsin(sqrt((h + 3/8) / (n + 3/4))), whose variance is
    1 / (4 n + 2) whatever the share (Anscombe, 1948). Mean and spread stay angles.
    """
    angles = np.arcsin(np.sqrt((hits + 0.375) / (rows + 0.75)))
    found = shrink(angles, 1 / (4 * rows + 2), skewed=True)
    values, low, high = (np.sin(np.clip(each, 0, np.pi / 2)) ** 2 for each in found[:3])
    return Shrunk(values, low, high, found.mean, found.spread)


def mean_bounds(values: Doubles) -> tuple[float, float]:
    """Bounds of the mean that sources as these have, by Student's t.

    Models without one source share the others, so that n sources tell no more than n - 1.
    """
    n = len(values)
    half = float(student.ppf(PLACE, n - 1) * values.std(ddof=1) / np.sqrt(n - 1))
    return float(values.mean()) - half, float(values.mean()) + half


def new_bound(values: Doubles, probability: float) -> float:
    """Bound below which a new source's value lies, as often as asked for."""
    n = len(values)
    reach = student.ppf(probability, n - 1) * values.std(ddof=1) * np.sqrt(1 + 1 / n)
    return float(values.mean() + reach)
