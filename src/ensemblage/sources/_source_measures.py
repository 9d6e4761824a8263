r"""Measures of predictions at each source, with variances by which they are pooled.

A measure is estimated on a scale where it is about normal. Its variance must not depend on the
source's own estimate, or sources that happen to do well would weigh more: it is computed at the
pooled value, or as a constant per row, :math:`v_i = c / n_i`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm, rankdata

from ensemblage._core import PROBABILITY_FLOOR
from ensemblage.sources._meta_analysis import (
    MIN_SOURCES,
    UPPER_975,
    PooledEstimate,
    pool_estimates,
    restricted_tau2,
)

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
Groups = list[NDArray[np.intp]]

ROUNDS = 2
"""Rounds in which variances are computed at the pooled value."""
MAX_EVENT_SHARE = 0.95
"""Largest expected share of events in the variance of O:E."""
NEWTON_STEPS = 100
LARGEST_LOGIT = 30.0
"""Bound of coefficients and log-odds: separable rows have no finite estimate without it."""


class Scale(NamedTuple):
    """Scale on which a measure is pooled, and its way back."""

    forward: Callable[[Doubles], Doubles]
    back: Callable[[Doubles], Doubles]


SCALES = {
    "identity": Scale(lambda x: x, lambda x: x),
    "log": Scale(np.log, np.exp),
    "logit": Scale(logit, expit),
    "log of 1 - x": Scale(lambda x: np.log1p(-x), lambda x: -np.expm1(x)),
}


class SourceEstimates(NamedTuple):
    """A measure at each source, (n_sources,) each.

    ``values`` are as usually reported; ``estimates`` and ``variances`` are on the scale ``scale``.
    A source without an estimate has NaN in all three.
    """

    values: Doubles
    estimates: Doubles
    variances: Doubles
    scale: str

    @property
    def known(self) -> Flags:
        """Sources with an estimate."""
        return np.isfinite(self.estimates) & np.isfinite(self.variances) & (self.variances > 0)

    def limits(self) -> tuple[Doubles, Doubles]:
        """Give the 95 % confidence limits of each source; they include the value."""
        half = norm.ppf(UPPER_975) * np.sqrt(self.variances)
        back = SCALES[self.scale].back
        ends = np.sort([back(self.estimates - half), back(self.estimates + half)], axis=0)
        return np.minimum(ends[0], self.values), np.maximum(ends[1], self.values)

    def pooled(self, interval: str = "profile") -> PooledEstimate | None:
        """Pool over sources, back on the measure's own scale; None below three sources.

        ``tau`` stays on the scale of the pooling.
        """
        known = self.known
        if known.sum() < MIN_SOURCES:
            return None
        found = pool_estimates(self.estimates[known], self.variances[known], interval)
        mean, *ends = SCALES[self.scale].back(np.array(found[:5])).tolist()
        low, high = sorted(ends[:2])
        new_low, new_high = sorted(ends[2:])
        return PooledEstimate(mean, low, high, new_low, new_high, *found[5:])


def _at_pooled_value(
    estimates: Doubles, variance: Callable[[float], Doubles], first: float
) -> Doubles:
    """Compute variances at the pooled estimate, starting from a first guess of it."""
    value, variances = first, variance(first)
    for _ in range(ROUNDS):
        known = np.isfinite(estimates) & np.isfinite(variances)
        if known.sum() < 2:
            break
        y, v = estimates[known], variances[known]
        weights = 1 / (v + restricted_tau2(y, v))
        value = float(weights @ y / weights.sum())
        variances = variance(value)
    return np.where(np.isfinite(estimates), variances, np.nan)


def source_auc(risk: Doubles, events: Flags, groups: Groups) -> SourceEstimates:
    r"""Area under the ROC curve of each source that has both classes.

    :math:`y = \mathrm{logit} \frac{U + .5}{n_1 n_0 + 1}` exists for areas of 0 and 1 too. The
    variance is Hanley and McNeil's (1982) at the pooled area, times the ratio of DeLong's
    variances to theirs over all sources.
    """
    found = np.array([delong(risk[own], events[own]) for own in groups])
    n_events = np.array([events[own].sum() for own in groups], dtype=float)
    n_others = np.array([len(own) for own in groups]) - n_events
    auc, own_variance = found.T
    pairs = n_events * n_others
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = np.where(pairs > 0, logit((auc * pairs + 0.5) / (pairs + 1)), np.nan)
        weights = pairs / (n_events + n_others)
        hanley = hanley_mcneil(auc, n_events, n_others)
    both = (n_events > 1) & (n_others > 1)
    whole = float((weights * hanley)[both].sum())
    ratio = float((weights * own_variance)[both].sum()) / whole if whole > 0 else 1.0

    def variance(value: float) -> Doubles:
        area = np.full(len(auc), expit(value))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                (ratio or 1.0) * hanley_mcneil(area, n_events, n_others) / (area * (1 - area)) ** 2
            )

    usable = np.isfinite(estimates)
    first = float(np.average(estimates[usable], weights=weights[usable])) if usable.any() else 0.0
    return SourceEstimates(auc, estimates, _at_pooled_value(estimates, variance, first), "logit")


def delong(risk: Doubles, events: Flags) -> tuple[float, float]:
    """Give the area under the ROC curve and DeLong's variance (1988), by ranks (Sun and Xu, 2014).

    NaN without both classes.
    """
    high, low = risk[events], risk[~events]
    m, n = len(high), len(low)
    if m == 0 or n == 0:
        return np.nan, np.nan
    ranks = rankdata(np.concatenate([high, low]))
    above = (ranks[:m] - rankdata(high)) / n
    below = 1 - (ranks[m:] - rankdata(low)) / m
    spreads = [each.var(ddof=1) / len(each) if len(each) > 1 else 0.0 for each in (above, below)]
    return float(above.mean()), float(sum(spreads))


def hanley_mcneil(auc: Doubles, n_events: Doubles, n_others: Doubles) -> Doubles:
    """Variance of an area under the ROC curve of exponential risks (Hanley and McNeil, 1982)."""
    one, two = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    return np.asarray(
        (auc * (1 - auc) + (n_events - 1) * (one - auc**2) + (n_others - 1) * (two - auc**2))
        / (n_events * n_others)
    )


def observed_to_expected(risk: Doubles, events: Flags, groups: Groups) -> SourceEstimates:
    r"""Ratio of observed to expected events: :math:`y = \log \frac{O + .5}{E + .5}`.

    :math:`v = (1 - q) / (\theta E)` at the pooled ratio :math:`\theta`, with
    :math:`q = \min(\theta E / n, .95)`.
    """
    observed = np.array([events[own].sum() for own in groups], dtype=float)
    expected = np.array([risk[own].sum() for own in groups])
    n_rows = np.array([len(own) for own in groups])

    def variance(value: float) -> Doubles:
        events_there = np.maximum(np.exp(value) * expected, PROBABILITY_FLOOR)
        return np.asarray((1 - np.minimum(events_there / n_rows, MAX_EVENT_SHARE)) / events_there)

    estimates = np.log((observed + 0.5) / (expected + 0.5))
    first = float(np.log((observed.sum() + 0.5) / (expected.sum() + 0.5)))
    ratio = observed / np.maximum(expected, PROBABILITY_FLOOR)
    return SourceEstimates(ratio, estimates, _at_pooled_value(estimates, variance, first), "log")


def source_share(hits: Doubles, n_rows: Doubles) -> SourceEstimates:
    r"""Share of rows, such as an error or a sensitivity.

    :math:`y = \mathrm{logit} \frac{h + .5}{n + 1}`, :math:`v = 1 / (n \theta (1 - \theta))` at the
    pooled share :math:`\theta`.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = np.where(n_rows > 0, logit((hits + 0.5) / (n_rows + 1)), np.nan)
        values = np.where(n_rows > 0, hits / n_rows, np.nan)

    def variance(value: float) -> Doubles:
        share = expit(value)
        with np.errstate(divide="ignore"):
            return np.asarray(1 / (n_rows * share * (1 - share)))

    first = float(logit((hits.sum() + 0.5) / (n_rows.sum() + 1)))
    return SourceEstimates(values, estimates, _at_pooled_value(estimates, variance, first), "logit")


def calibration_lines(
    risk: Doubles, events: Flags, groups: Groups
) -> tuple[SourceEstimates, SourceEstimates]:
    r"""Calibration intercept and slope of each source, by Firth's logistic regression.

    The intercept has the log-odds :math:`l` as offset and :math:`v = 1 / \sum p (1 - p)`; the
    slope :math:`v = \sum w / (\sum w \sum w l^2 - (\sum w l)^2)`, :math:`w = p (1 - p)`.
    """
    rows = []
    for own in groups:
        p = np.clip(risk[own], PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)
        log_odds = np.clip(logit(p), -LARGEST_LOGIT, LARGEST_LOGIT)
        weights = p * (1 - p)
        total, first, second = weights.sum(), weights @ log_odds, weights @ log_odds**2
        determinant = total * second - first**2
        intercept = logistic_fit(np.ones((len(own), 1)), events[own], log_odds)[0]
        slope, slope_variance = np.nan, np.nan
        if determinant > 1e-9 * max(total * second, PROBABILITY_FLOOR):
            design = np.column_stack([np.ones(len(own)), log_odds])
            slope, slope_variance = logistic_fit(design, events[own])[1], total / determinant
        rows.append((intercept, 1 / max(total, PROBABILITY_FLOOR), slope, slope_variance))
    intercept, its, slope, own = np.array(rows).T
    return (
        SourceEstimates(intercept, intercept, its, "identity"),
        SourceEstimates(slope, slope, own, "identity"),
    )


def logistic_fit(
    design: Doubles, events: Flags, offset: Doubles | float = 0.0, *, firth: bool = True
) -> Doubles:
    """Fit coefficients of a logistic regression, with Firth's (1993) penalty unless told not to.

    The penalty, half the log determinant of the information, gives finite estimates even where
    classes are separable.
    """
    coefficients = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        p = expit(np.clip(design @ coefficients + offset, -LARGEST_LOGIT, LARGEST_LOGIT))
        weights = p * (1 - p)
        weighted = design * weights[:, None]
        inverse = np.linalg.pinv(design.T @ weighted, hermitian=True)
        residuals = events - p
        if firth:
            residuals = residuals + ((weighted @ inverse) * design).sum(axis=1) * (0.5 - p)
        step = inverse @ (design.T @ residuals)
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))  # damped: no overshooting
        coefficients = np.clip(coefficients + step, -LARGEST_LOGIT, LARGEST_LOGIT)
        if np.abs(step).max() < 1e-12:
            break
    return coefficients


def source_mean(values: Doubles, groups: Groups, scale: str = "identity") -> SourceEstimates:
    r"""Mean of a quantity per row, such as a loss or a net benefit.

    :math:`v = c / n_i` with the pooled variance :math:`c` within sources; on the log scale over
    the squared mean.
    """
    n_rows = np.array([len(own) for own in groups], dtype=float)
    means = np.array([values[own].mean() for own in groups])
    spread = sum(float(((values[own] - values[own].mean()) ** 2).sum()) for own in groups)
    variance = spread / max(float(n_rows.sum() - len(groups)), 1.0) / n_rows
    if scale == "log":
        overall = max(float(values.mean()), PROBABILITY_FLOOR)
        # a source without any loss counts as half the loss of one average row
        return SourceEstimates(
            means, np.log(np.maximum(means, 0.5 * overall / n_rows)), variance / overall**2, scale
        )
    return SourceEstimates(means, means, variance, scale)


def source_ratio(numerator: Doubles, denominator: Doubles, groups: Groups) -> SourceEstimates:
    r"""One minus a ratio of means, such as :math:`R^2`, on the scale of the log of the ratio.

    The variance of a log ratio is that of the rows' influence,
    :math:`a_j / \bar a - b_j / \bar b`, pooled over sources: :math:`v = c / n_i`.
    """
    n_rows = np.array([len(own) for own in groups], dtype=float)
    above = np.array([numerator[own].mean() for own in groups])
    below = np.array([denominator[own].mean() for own in groups])
    usable = (below > 0) & (above > 0) & (n_rows > 1)
    if not usable.any():
        missing = np.full(len(groups), np.nan)
        return SourceEstimates(missing, missing, missing, "log of 1 - x")
    influence = [
        float(((numerator[own] / a - denominator[own] / b) ** 2).sum())
        for own, a, b, use in zip(groups, above, below, usable, strict=True)
        if use
    ]
    variance = sum(influence) / max(float(n_rows[usable].sum()) - usable.sum(), 1.0) / n_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = np.where(usable, np.log(above / below), np.nan)
        values = np.where(below > 0, 1 - above / below, np.nan)
    variances = np.where(usable, variance, np.nan)
    return SourceEstimates(values, estimates, variances, "log of 1 - x")


def regression_slope(predicted: Doubles, y: Doubles, groups: Groups) -> SourceEstimates:
    r"""Slope of the target on the prediction, with HC3 variances pooled over sources.

    :math:`v = c / (n_i s_i^2)` with the variance :math:`s_i^2` of the source's predictions.
    """
    slopes, scales, weighted, used = [], [], 0.0, 0.0
    for own in groups:
        centred = predicted[own] - predicted[own].mean()
        total = float(centred @ centred)
        if len(own) < 3 or total <= 1e-18 * max(float(predicted[own] @ predicted[own]), 1e-300):
            slopes.append(np.nan)
            scales.append(np.nan)
            continue
        slope = float(centred @ y[own]) / total
        residuals = y[own] - y[own].mean() - slope * centred
        leverage = np.minimum(1 / len(own) + centred**2 / total, 1 - 1e-6)
        robust = float(((centred * residuals / (1 - leverage)) ** 2).sum()) / total**2
        slopes.append(slope)
        scales.append(total)
        weighted += robust * total * len(own)
        used += len(own)
    found, totals = np.array(slopes), np.array(scales)
    variances = weighted / max(used, 1.0) / totals
    return SourceEstimates(found, found, variances, "identity")
