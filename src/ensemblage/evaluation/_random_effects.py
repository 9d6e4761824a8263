"""Estimates of many sources, each drawn towards the others as far as it is unsure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import norm

Doubles = NDArray[np.float64]

GRID = 100
"""So many standard deviations between sources are weighed."""


class Shrunk(NamedTuple):
    """Estimates after all are known, with bounds; and what they vary around, and how much."""

    values: Doubles
    low: Doubles
    high: Doubles
    mean: float
    spread: float


def shrink(estimates: Doubles, variances: Doubles, probability: float = 0.95) -> Shrunk:
    r"""Draw estimates with known variances v towards each other.

    The sources' true values are :math:`N(\mu, \tau^2)`, flat before any row is seen in
    :math:`\mu` and :math:`\tau`. Given :math:`\tau`, all is normal: a source has mean
    :math:`(1 - B) x + B \hat\mu` and variance :math:`(1 - B) v + B^2 / \sum_s w_s`, with
    :math:`w = 1 / (v + \tau^2)` and :math:`B = v w`. Over :math:`\tau` it is averaged on a grid.
    An estimate of infinite variance tells nothing, and gets what the others say.
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
    half = norm.ppf((1 + probability) / 2) * np.sqrt(variance)
    return Shrunk(values, values - half, values + half, float(shares @ means), float(shares @ taus))
