"""Random-effects meta-analysis of a measure over sources, with the limits for a new source."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi2, norm
from scipy.stats import t as student

Doubles = NDArray[np.float64]

MIN_SOURCES = 3
"""Estimates below which nothing is pooled."""
N_QUANTILES = 99
"""Quantiles of the distribution of tau squared over which limits are mixed."""
GRID_POINTS = 40
"""Values of tau squared at which the restricted likelihood is compared."""
MAX_STEPS = 500
"""Newton steps for tau squared; some twenty are usual."""
UPPER_975 = 0.975
"""Quantile of the upper limit of a 95 % interval."""


class PooledEstimate(NamedTuple):
    """Random-effects summary of one measure over sources.

    ``mean``, ``tau`` (standard deviation between sources) and ``i2`` (share of the total variance
    that is between sources) are by restricted maximum likelihood. ``low`` and ``high`` are 95 %
    confidence limits of the mean, ``new_low`` and ``new_high`` 95 % prediction limits of the true
    value at a new source.
    """

    mean: float
    low: float
    high: float
    new_low: float
    new_high: float
    tau: float
    i2: float
    n_sources: int


def pool_estimates(
    estimates: Doubles, variances: Doubles, interval: str = "profile", new_variance: float = 0.0
) -> PooledEstimate:
    r"""Pool estimates :math:`y_i` of three or more sources with variances :math:`v_i`.

    With :math:`w_i = 1 / (v_i + t)`, :math:`\mu(t) = \sum w_i y_i / \sum w_i` and
    :math:`Q(t) = \sum w_i (y_i - \mu)^2`, which is chi-squared with :math:`k - 1` degrees of
    freedom at the true :math:`t = \tau^2`:

    - ``"profile"`` solves :math:`Q(t_j) = c_j` for quantiles :math:`c_j` of that distribution
      (:math:`t_j = 0` if there is no solution), and takes quantiles of the equal mixture of
      :math:`N(\mu(t_j), 1 / \sum w_i)`; for a new source :math:`t_j` is added to the variance.
      So the limits allow for the uncertainty of :math:`\tau^2`.
    - ``"hartung-knapp"`` is the convention: :math:`\hat\mu \pm t_{k-1} s` with
      :math:`s^2 = Q(\hat\tau^2) / ((k - 1) \sum w_i)`, and for a new source
      :math:`\hat\mu \pm t_{k-2} \sqrt{\hat\tau^2 + s^2}` (Higgins, Thompson and Spiegelhalter,
      2009; Partlett and Riley, 2017).

    ``new_variance`` is the sampling variance of the new source's estimate; 0 for its true value.
    """
    y, v = np.asarray(estimates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    k, tau2 = len(y), restricted_tau2(y, v)
    mean, total, q = _pooled(y, v, np.array([tau2]))
    typical = (k - 1) * (1 / v).sum() / ((1 / v).sum() ** 2 - (1 / v**2).sum())
    if interval == "profile":
        grid = profile_tau2(y, v)
        means, totals, _ = _pooled(y, v, grid)
        low, high = mixture_limits(means, np.sqrt(1 / totals))
        new = mixture_limits(means, np.sqrt(1 / totals + grid + new_variance))
    else:
        variance = float(q[0] / ((k - 1) * total[0]))
        half = student.ppf(UPPER_975, k - 1) * np.sqrt(variance)
        wide = student.ppf(UPPER_975, k - 2) * np.sqrt(tau2 + variance + new_variance)
        low, high = mean[0] - half, mean[0] + half
        new = mean[0] - wide, mean[0] + wide
    return PooledEstimate(
        float(mean[0]), float(low), float(high), float(new[0]), float(new[1]),
        float(np.sqrt(tau2)), float(tau2 / (tau2 + typical)), k,
    )  # fmt: skip


def _pooled(y: Doubles, v: Doubles, tau2: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Give the weighted mean, the sum of weights and Q at each tau squared."""
    weights = 1 / (v + tau2[:, None])
    total = weights.sum(axis=1)
    mean = weights @ y / total
    return mean, total, (weights * (y - mean[:, None]) ** 2).sum(axis=1)


def profile_tau2(y: Doubles, v: Doubles) -> Doubles:
    """Solve Q(t) = c for quantiles c of its distribution; 0 where Q(0) is below c."""
    levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    goals = chi2.ppf(levels, len(y) - 1)
    tau2 = np.zeros(N_QUANTILES)
    # Q is convex and decreasing: Newton's steps from 0 approach the solution from below
    for _ in range(MAX_STEPS):
        weights = 1 / (v + tau2[:, None])
        mean = weights @ y / weights.sum(axis=1)
        residuals = weights * (y - mean[:, None])
        excess = (residuals**2 / weights).sum(axis=1) - goals
        slope = np.maximum((residuals**2).sum(axis=1), np.finfo(float).tiny)
        step = np.maximum(excess, 0.0) / slope
        tau2 += step
        if (step <= 1e-12 * tau2).all():
            break
    return tau2


def restricted_tau2(y: Doubles, v: Doubles) -> float:
    """Estimate tau squared by restricted maximum likelihood.

    The likelihood may have more than one maximum: the best point of a grid encloses the highest.
    """

    def gradient(tau2: float) -> float:
        weights = 1 / (v + tau2)
        total = weights.sum()
        residuals = weights * (y - weights @ y / total)
        return float((residuals**2).sum() - total + (weights**2).sum() / total)

    largest = float(((y - y.mean()) ** 2).sum()) + float(v.max())
    grid = np.append(0.0, largest * np.logspace(-8, 0, GRID_POINTS))
    _, totals, q = _pooled(y, v, grid)
    best = int((np.log(v + grid[:, None]).sum(axis=1) + np.log(totals) + q).argmin())
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID_POINTS)])
    if gradient(low) <= 0 or gradient(high) >= 0:
        return float(grid[best])
    return float(brentq(gradient, low, high, xtol=1e-14 * largest, rtol=1e-13))


def mixture_limits(means: Doubles, deviations: Doubles) -> tuple[float, float]:
    """Give the 2.5 and 97.5 % quantiles of an equal mixture of normal distributions."""
    reach = norm.ppf(UPPER_975) * deviations
    lows, highs = means - reach, means + reach

    def quantile(level: float, low: float, high: float) -> float:
        if high - low <= 1e-12 * max(abs(low), abs(high)):
            return low
        share = lambda x: norm.cdf((x - means) / deviations).mean() - level  # noqa: E731
        return float(brentq(share, low, high, xtol=1e-12 * (high - low), rtol=1e-13))

    # a quantile of the mixture is between the least and the largest of its components
    return (
        quantile(1 - UPPER_975, lows.min(), lows.max()),
        quantile(UPPER_975, highs.min(), highs.max()),
    )


def upper_prediction_limit(values: Doubles, probability: float) -> float:
    """Upper prediction limit of one new source's value, at a probability, by Student's t."""
    n = len(values)
    half = student.ppf(probability, n - 1) * values.std(ddof=1) * np.sqrt(1 + 1 / n)
    return float(values.mean() + half)
