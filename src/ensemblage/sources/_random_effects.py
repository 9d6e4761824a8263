"""Random-effects pooling of per-source estimates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import norm
from scipy.stats import t as student

Doubles = NDArray[np.float64]

UPPER_975 = 0.975
"""Quantile of the upper limit of a 95 % interval."""
N_TAUS = 100
"""Between-source standard deviations on the grid."""
EXTRA_DEGREES = 8
"""Degrees of freedom beyond the number of sources, for skewed estimates."""


class Shrunk(NamedTuple):
    """Shrunken estimates with 95 % confidence limits, (n_sources,) each."""

    values: Doubles
    low: Doubles
    high: Doubles


def shrink(estimates: Doubles, variances: Doubles, *, skewed: bool = False) -> Shrunk:
    r"""Shrink estimates with known variances v towards their common mean.

    The sources' true values are :math:`N(\mu, \tau^2)`, with flat priors of :math:`\mu` and
    :math:`\tau`. Given :math:`\tau`, all is normal: a source has mean
    :math:`(1 - B) x + B \hat\mu` and variance :math:`(1 - B) v + B^2 / \sum_s w_s`, with
    :math:`w = 1 / (v + \tau^2)` and :math:`B = v w`. Over :math:`\tau` it is averaged on a grid.
    An estimate of infinite variance becomes that of the other sources. Limits of estimates that
    are skewed in small samples are wider, by Student's t (`studies/study_audit.py`).
    """
    known = np.isfinite(variances)
    x, v = np.where(known, estimates, 0.0), np.where(known, variances, 1e12)
    scale = max(float(x[known].std()) if known.any() else 0.0, float(np.sqrt(v.min())), 1e-12)
    taus = 6 * scale * (np.arange(N_TAUS) + 0.5) / N_TAUS
    weights = 1 / (v + taus[:, None] ** 2)
    total = weights.sum(axis=1)
    means = weights @ x / total
    residuals = x - means[:, None]
    log_posterior = 0.5 * (np.log(weights) - weights * residuals**2).sum(axis=1)
    posterior = softmax(log_posterior - 0.5 * np.log(total))
    shrinkage = v * weights
    centres = x - shrinkage * residuals
    within = (1 - shrinkage) * v + shrinkage**2 / total[:, None]
    values = posterior @ centres
    variance = posterior @ (within + (centres - values) ** 2)
    z = student.ppf(UPPER_975, len(x) + EXTRA_DEGREES) if skewed else norm.ppf(UPPER_975)
    half = z * np.sqrt(variance)
    return Shrunk(values, values - half, values + half)


def shrink_shares(hits: Doubles, n_rows: Doubles) -> Shrunk:
    """Shrink proportions on the arcsine scale, where variances are known.

    With h hits in n rows the angle is arcsin(sqrt((h + 3/8) / (n + 3/4))), whose variance is
    1 / (4 n + 2) for any proportion (Anscombe, 1948).
    """
    angles = np.arcsin(np.sqrt((hits + 0.375) / (n_rows + 0.75)))
    found = shrink(angles, 1 / (4 * n_rows + 2), skewed=True)
    return Shrunk(*(np.sin(np.clip(each, 0, np.pi / 2)) ** 2 for each in found))


def mean_limits(values: Doubles) -> tuple[float, float]:
    """Give 95 % confidence limits of the mean over sources, by Student's t.

    Leave-source-out models share most of their rows, so that n sources count as n - 1.
    """
    n = len(values)
    half = float(student.ppf(UPPER_975, n - 1) * values.std(ddof=1) / np.sqrt(n - 1))
    return float(values.mean()) - half, float(values.mean()) + half


def upper_prediction_limit(values: Doubles, probability: float) -> float:
    """Upper prediction limit of one new source's value, at a probability."""
    n = len(values)
    half = student.ppf(probability, n - 1) * values.std(ddof=1) * np.sqrt(1 + 1 / n)
    return float(values.mean() + half)
