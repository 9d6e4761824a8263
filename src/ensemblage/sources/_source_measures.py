r"""Measures of predictions at each source, with variances by which they are pooled.

A measure is estimated on a scale where it is about normal. Its variance must not depend on the
source's own estimate, or sources that happen to do well would weigh more: it is computed at the
pooled value, or as a constant per row, :math:`v_i = c / n_i`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm, rankdata
from scipy.stats import t as student

from ensemblage._core import MINUS, NOTHING, PROBABILITY_FLOOR, write_number
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
CONSTANT = 1e-12
"""Least variance of a row, as a share of the mean square."""
NEWTON_STEPS = 100
LARGEST_LOGIT = 30.0
"""Bound of coefficients and log-odds: separable rows have no finite estimate without it."""


MIN_WINDOWS = 4
"""Windows below which nothing is said of the next period (measured with four or more)."""
LARGEST_THRESHOLD = 0.5
N_THRESHOLDS = 50
"""Of decision curves."""
N_BINS = 20
"""Of the histogram of risks."""
N_POINTS = 30
"""Of a calibration curve."""
MIN_SPLINE_EVENTS = 20
"""Of the rarer outcome, below which a calibration curve is a line on the logit scale."""


class Scale(NamedTuple):
    """Way back from the scale on which a measure is pooled, and its absolute derivative."""

    back: Callable[[Doubles], Doubles]
    derivative: Callable[[Doubles], Doubles]


SCALES = {
    "identity": Scale(lambda x: x, np.ones_like),
    "log": Scale(np.exp, np.exp),
    "log of the square": Scale(lambda x: np.exp(x / 2), lambda x: np.exp(x / 2) / 2),
    "logit": Scale(expit, lambda x: expit(x) * expit(-x)),
    "log of 1 - x": Scale(lambda x: -np.expm1(x), np.exp),
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

    @property
    def standard_errors(self) -> Doubles:
        """Standard error of each source on the measure's own scale, by the delta method."""
        return SCALES[self.scale].derivative(self.estimates) * np.sqrt(self.variances)

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
        return self.as_reported(
            pool_estimates(self.estimates[known], self.variances[known], interval)
        )

    def as_reported(self, found: PooledEstimate) -> PooledEstimate:
        """Bring a summary back on the measure's own scale."""
        mean, *ends = SCALES[self.scale].back(np.array(found[:5])).tolist()
        low, high = sorted(ends[:2])
        new_low, new_high = sorted(ends[2:])
        return PooledEstimate(mean, low, high, new_low, new_high, *found[5:])


def next_period(found: SourceEstimates) -> PooledEstimate | None:
    r"""Summarise windows by their mean; the next is expected within :math:`t s \sqrt{1 + 1/k}`.

    Both on the scale on which a measure is pooled; None with fewer than four windows.
    """
    y = found.estimates[found.known]
    k = len(y)
    if k < MIN_WINDOWS:
        return None
    mean, sd = float(y.mean()), float(y.std(ddof=1))
    half = float(student.ppf(UPPER_975, k - 1)) * sd
    ends = half / np.sqrt(k), half * np.sqrt(1 + 1 / k)
    noise = float(found.variances[found.known].mean())
    tau2 = max(sd**2 - noise, 0.0)
    return found.as_reported(
        PooledEstimate(
            mean, mean - ends[0], mean + ends[0], mean - ends[1], mean + ends[1],
            float(np.sqrt(tau2)), tau2 / (tau2 + noise), k,
        )
    )  # fmt: skip


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
    auc, estimates, weights, variance = _areas(risk, events, groups)
    usable = np.isfinite(estimates)
    first = float(np.average(estimates[usable], weights=weights[usable])) if usable.any() else 0.0
    return SourceEstimates(auc, estimates, _at_pooled_value(estimates, variance, first), "logit")


def auc_z(risk: Doubles, events: Flags, groups: Groups) -> Doubles:
    """Distance of each source's area from one half, in standard errors of no signal."""
    _, estimates, _, variance = _areas(risk, events, groups)
    return np.asarray(estimates / np.sqrt(variance(0.0)))


def _areas(
    risk: Doubles, events: Flags, groups: Groups
) -> tuple[Doubles, Doubles, Doubles, Callable[[float], Doubles]]:
    """Give areas, their logits, weights, and the variances at a pooled logit."""
    auc, own_variance = np.array([delong(risk[own], events[own]) for own in groups]).T
    n_events = np.array([events[own].sum() for own in groups], dtype=float)
    n_others = np.array([len(own) for own in groups]) - n_events
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

    return auc, estimates, weights, variance


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


def calibration_intercept(risk: Doubles, events: Flags, groups: Groups) -> SourceEstimates:
    r"""Calibration intercept of each source, by Firth's logistic regression.

    The log-odds are the offset; :math:`v = 1 / \sum p (1 - p)`.
    """
    log_odds, weights = _log_odds(risk)
    found = np.array(
        [logistic_fit(np.ones((len(own), 1)), events[own], log_odds[own])[0] for own in groups]
    )
    totals = np.array([max(weights[own].sum(), PROBABILITY_FLOOR) for own in groups])
    return SourceEstimates(found, found, 1 / totals, "identity")


def calibration_slope(risk: Doubles, events: Flags, groups: Groups) -> SourceEstimates:
    r"""Calibration slope of each source, by Firth's logistic regression on the log-odds :math:`l`.

    :math:`v = \sum w / (\sum w \sum w l^2 - (\sum w l)^2)`, :math:`w = p (1 - p)`.
    """
    log_odds, weights = _log_odds(risk)
    slopes, variances = np.full((2, len(groups)), np.nan)
    for s, own in enumerate(groups):
        line, w = log_odds[own], weights[own]
        total, first, second = w.sum(), w @ line, w @ line**2
        determinant = total * second - first**2
        if determinant > 1e-9 * max(total * second, PROBABILITY_FLOOR):
            design = np.column_stack([np.ones(len(own)), line])
            slopes[s], variances[s] = logistic_fit(design, events[own])[1], total / determinant
    return SourceEstimates(slopes, slopes, variances, "identity")


def _log_odds(risk: Doubles) -> tuple[Doubles, Doubles]:
    """Give bounded log-odds and the weights p (1 - p)."""
    p = np.clip(risk, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)
    return np.clip(logit(p), -LARGEST_LOGIT, LARGEST_LOGIT), p * (1 - p)


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
    the squared mean. On the scale "log of the square" the value is the root of the mean.
    """
    n_rows = np.array([len(own) for own in groups], dtype=float)
    means = np.array([values[own].mean() for own in groups])
    spread = sum(float(((values[own] - values[own].mean()) ** 2).sum()) for own in groups)
    # values that are all equal are known exactly, but still count
    least = CONSTANT * max(float((values**2).mean()), CONSTANT)
    variance = max(spread / max(float(n_rows.sum() - len(groups)), 1.0), least) / n_rows
    if scale != "identity":
        overall = max(float(values.mean()), np.finfo(float).tiny)
        # a source without any loss counts as half the loss of one average row
        logs = np.log(np.maximum(means, 0.5 * overall / n_rows))
        shown = means if scale == "log" else np.sqrt(means)
        return SourceEstimates(shown, logs, variance / overall**2, scale)
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


class Predicted(NamedTuple):
    """What a model says of rows, with the truth.

    Of classes: probabilities, (n_rows, n_classes), and labels. Of a numeric target: values with
    the ends of 90 % prediction intervals, (n_rows, 3), and the target.
    """

    output: Doubles
    truth: NDArray[Any]

    def of_class(self, label: int) -> tuple[Doubles, Flags]:
        """Give the risk of a class, and which rows have it."""
        return self.output[:, label], self.truth == label


class AuditMeasure(NamedTuple):
    """A measure of an audit: its name, the words for it and its function.

    ``ideal`` is the value of a perfect or calibrated model, drawn as a line; ``none`` that of a
    model without information. ``digits`` are decimals, None for four significant digits in the
    unit of the target. Limits are cut at ``upper`` where the scale of the pooling has no bound.
    """

    name: str
    label: str
    definition: str
    function: Callable[[Predicted, Groups], SourceEstimates]
    greater_is_better: bool | None = None
    ideal: float | None = None
    none: float | None = None
    digits: int | None = 2
    upper: float = np.inf

    def written(self, value: float | None) -> str:
        """Format a value; a dash for None."""
        if value is None:
            return NOTHING.text
        if self.digits is None:
            return write_number(value, 4).replace("-", MINUS)
        return f"{round(value, self.digits) + 0.0:.{self.digits}f}".replace("-", MINUS)


def measures_of_class(label: int) -> tuple[AuditMeasure, ...]:
    """Give the measures of the risk of one class against the rest."""

    def of(function: Callable[[Doubles, Flags, Groups], SourceEstimates]) -> Any:
        def at(found: Predicted, groups: Groups) -> SourceEstimates:
            risk, events = found.of_class(label)
            return function(risk, events, groups)

        return at

    return (
        AuditMeasure(
            "auc", "AUC", "Area under the ROC curve.", of(source_auc), True, none=0.5
        ),
        AuditMeasure(
            "oe", "O:E ratio", "Observed divided by expected events.", of(observed_to_expected),
            ideal=1.0,
        ),
        AuditMeasure(
            "intercept", "calibration intercept",
            "What has to be added to the log-odds; above 0 the risks are too low.",
            of(calibration_intercept), ideal=0.0,
        ),
        AuditMeasure(
            "slope", "calibration slope",
            "Factor of the log-odds; below 1 the risks are too extreme.", of(calibration_slope),
            ideal=1.0,
        ),
    )  # fmt: skip


def class_measures(
    n_classes: int, label: int, thresholds: Sequence[float]
) -> tuple[AuditMeasure, ...]:
    """Give the measures of probabilities; of several classes, measures of one are averaged."""
    own = measures_of_class(label)
    if n_classes > 2:
        by_name = [
            {each.name: each for each in measures_of_class(other)} for other in range(n_classes)
        ]
        # O:E and intercept of all classes cancel: they stand with each class
        own = tuple(
            each._replace(
                definition=f"{each.definition[:-1]}, averaged over the classes against the rest.",
                function=partial(_averaged, [one[each.name].function for one in by_name]),
            )
            for each in own if each.name in {"auc", "slope"}
        )  # fmt: skip
    overall = (
        AuditMeasure(
            "log_loss", "log loss", "Mean negative log probability of the class.", _log_loss, False,
            digits=3,
        ),
        AuditMeasure(
            "brier", "Brier score", "Mean squared difference of probability and outcome.", _brier,
            False, digits=3, upper=1.0 if n_classes == 2 else 2.0,
        ),
        AuditMeasure(
            "brier_scaled", "scaled Brier score",
            "Share of the Brier score of the source's own prevalence that the model removes.",
            _brier_scaled, True, none=0.0,
        ),
        AuditMeasure("error", "error", "Share of misclassified rows.", _error, False, digits=3),
    )  # fmt: skip
    at = (each for t in thresholds for each in _measures_at(label, t)) if n_classes == 2 else ()
    return (*own, *overall, *at)


def _averaged(
    functions: Sequence[Callable[[Predicted, Groups], SourceEstimates]],
    found: Predicted,
    groups: Groups,
) -> SourceEstimates:
    """Average over classes; as if their errors were the same, which no average exceeds."""
    each = [function(found, groups) for function in functions]
    values, estimates, variances = (
        np.ma.masked_invalid([getattr(one, name) for one in each]).mean(axis=0).filled(np.nan)
        for name in ("values", "estimates", "variances")
    )
    return SourceEstimates(values, estimates, variances, each[0].scale)


def _log_loss(found: Predicted, groups: Groups) -> SourceEstimates:
    true = found.output[np.arange(len(found.truth)), found.truth]
    return source_mean(-np.log(np.clip(true, PROBABILITY_FLOOR, 1.0)), groups, "log")


def _one_hot(found: Predicted) -> Doubles:
    return np.asarray(found.truth[:, None] == np.arange(found.output.shape[1]), dtype=float)


def _squares(found: Predicted) -> Doubles:
    """Squared differences of each row; of two classes those of one."""
    parts = (found.output - _one_hot(found)) ** 2
    return np.asarray(parts.sum(axis=1) / (2 if parts.shape[1] == 2 else 1))


def _brier(found: Predicted, groups: Groups) -> SourceEstimates:
    return source_mean(_squares(found), groups, "log")


def _brier_scaled(found: Predicted, groups: Groups) -> SourceEstimates:
    rates = Predicted(_source_means(_one_hot(found), groups), found.truth)
    return source_ratio(_squares(found), _squares(rates), groups)


def _source_means(values: Doubles, groups: Groups) -> Doubles:
    """Replace each row by the mean of its source."""
    means = np.zeros_like(values)
    for own in groups:
        means[own] = values[own].mean(axis=0)
    return means


def _error(found: Predicted, groups: Groups) -> SourceEstimates:
    return _share_of(found.output.argmax(axis=1) != found.truth, None, groups)


def _share_of(hits: Flags, among: Flags | None, groups: Groups) -> SourceEstimates:
    """Share of hits in each source, among some rows."""
    counted = np.ones(len(hits), dtype=bool) if among is None else among
    return source_share(
        np.array([(hits & counted)[own].sum() for own in groups], dtype=float),
        np.array([counted[own].sum() for own in groups], dtype=float),
    )


def _measures_at(label: int, threshold: float) -> tuple[AuditMeasure, ...]:
    """Give the measures of a decision by a threshold of the risk."""

    def share(hit: bool, among: str) -> Callable[[Predicted, Groups], SourceEstimates]:
        def function(found: Predicted, groups: Groups) -> SourceEstimates:
            risk, events = found.of_class(label)
            flags = {"event": events, "positive": risk >= threshold}
            other = flags["positive" if among == "event" else "event"]
            return _share_of(other == hit, flags[among] == hit, groups)

        return function

    def benefit(found: Predicted, groups: Groups) -> SourceEstimates:
        risk, events = found.of_class(label)
        return source_mean(net_benefits(risk, events, threshold), groups)

    at = f"at a risk of {threshold:g}"
    named: tuple[tuple[str, str, str, Any, int], ...] = (
        ("sensitivity", "sensitivity", "Share of events above the threshold",
         share(True, "event"), 2),
        ("specificity", "specificity", "Share of others below the threshold",
         share(False, "event"), 2),
        ("ppv", "positive predictive value", "Share of events among rows above the threshold",
         share(True, "positive"), 2),
        ("npv", "negative predictive value", "Share of others among rows below the threshold",
         share(False, "positive"), 2),
        ("net_benefit", "net benefit",
         "True positives minus weighted false positives, per row", benefit, 3),
    )  # fmt: skip
    return tuple(
        AuditMeasure(
            f"{name}@{threshold:g}", f"{words} {at}", f"{text}, {at}.", function, True,
            digits=digits, upper=1.0,
        )
        for name, words, text, function, digits in named
    )  # fmt: skip


def net_benefits(risk: Doubles, events: Flags, threshold: float) -> Doubles:
    """Net benefit of each row (Vickers and Elkin, 2006): 1 for a true positive, -odds for a false.

    The odds are those of the threshold.
    """
    positive = risk >= threshold
    return np.asarray(positive * np.where(events, 1.0, -threshold / (1 - threshold)))


def _of_residuals(
    of_residual: Callable[[Doubles], Doubles], scale: str = "identity"
) -> Callable[[Predicted, Groups], SourceEstimates]:
    def function(found: Predicted, groups: Groups) -> SourceEstimates:
        return source_mean(of_residual(found.truth - found.output[:, 0]), groups, scale)

    return function


def _r2(found: Predicted, groups: Groups) -> SourceEstimates:
    centred = (found.truth - _source_means(found.truth, groups)) ** 2
    return source_ratio((found.truth - found.output[:, 0]) ** 2, centred, groups)


def _coverage(found: Predicted, groups: Groups) -> SourceEstimates:
    _, low, high = found.output.T
    return _share_of((low <= found.truth) & (found.truth <= high), None, groups)


VALUE_MEASURES = (
    AuditMeasure(
        "r2", "R²", "Share of the source's own variance that is explained.", _r2, True, none=0.0
    ),
    AuditMeasure(
        "rmse", "RMSE", "Root mean squared error.",
        _of_residuals(np.square, "log of the square"), False, digits=None,
    ),
    AuditMeasure(
        "mae", "MAE", "Mean absolute error.", _of_residuals(np.abs, "log"), False, digits=None
    ),
    AuditMeasure(
        "slope", "calibration slope",
        "Slope of the target on the prediction; below 1 predictions are too extreme.",
        lambda found, groups: regression_slope(found.output[:, 0], found.truth, groups), ideal=1.0,
    ),
    AuditMeasure(
        "bias", "mean difference", "Mean of observed minus predicted values.",
        _of_residuals(lambda residuals: residuals), ideal=0.0, digits=None,
    ),
    AuditMeasure(
        "coverage", "coverage", "Share of rows in their 90 % prediction intervals.", _coverage,
        ideal=0.9,
    ),
    AuditMeasure(
        "width", "interval width", "Mean width of the 90 % prediction intervals.",
        lambda found, groups: source_mean(found.output[:, 2] - found.output[:, 1], groups, "log"),
        False, digits=None,
    ),
)  # fmt: skip
"""Measures of a numeric target."""


class Curves(Struct, frozen=True):
    """What is drawn of the left-out predictions of some rows.

    Parameters
    ----------
    calibration : tuple of (float, float)
        Predicted risk and observed rate, or predicted and observed value.
    net_benefit, treat_all : tuple of float
        Net benefit of the model, and of treating all, by threshold; empty in regression.
    risk_of_events, risk_of_others : tuple of int
        Rows by bin of the predicted risk; empty in regression.
    """

    calibration: tuple[tuple[float, float], ...]
    net_benefit: tuple[float, ...] = ()
    treat_all: tuple[float, ...] = ()
    risk_of_events: tuple[int, ...] = ()
    risk_of_others: tuple[int, ...] = ()


def decision_thresholds(risk: Doubles) -> Doubles:
    """Give thresholds up to one half, or up to the largest risks."""
    top = min(LARGEST_THRESHOLD, max(float(np.quantile(risk, 0.995)), 0.02))
    return top * np.arange(1, N_THRESHOLDS + 1) / N_THRESHOLDS


def risk_edges(risk: Doubles) -> Doubles:
    """Give edges of bins from 0 to the largest risk, rounded up to a tenth."""
    return np.linspace(0, min(1.0, max(np.ceil(10 * risk.max()) / 10, 0.1)), N_BINS + 1)


def class_curves(risk: Doubles, events: Flags, thresholds: Doubles, edges: Doubles) -> Curves:
    """Compute what is drawn of the risks of some rows."""
    everyone = np.ones(len(risk))
    net_benefit, treat_all = (
        tuple(float(net_benefits(each, events, t).mean()) for t in thresholds)
        for each in (risk, everyone)
    )
    of_events, of_others = (
        tuple(np.histogram(risk[each], edges)[0].tolist()) for each in (events, ~events)
    )
    return Curves(calibration_curve(risk, events), net_benefit, treat_all, of_events, of_others)


def calibration_curve(risk: Doubles, events: Flags) -> tuple[tuple[float, float], ...]:
    """Give the observed rate by predicted risk: a spline on the logit, or a line with few events.

    The natural cubic spline has knots at the 10th, 50th and 90th percentiles (Harrell, 2015); the
    fit is by Firth's logistic regression.
    """
    p = np.clip(risk, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)
    line = logit(p)
    low, high = (float(each) for each in np.quantile(line, [0.02, 0.98]))
    if not high - low > 1e-6:
        return ((float(p.mean()), float(events.mean())),)
    rare = min(events.sum(), len(events) - events.sum())
    basis = _spline(line) if rare >= MIN_SPLINE_EVENTS else _line
    shift, scale = line.mean(), line.std()
    coefficients = logistic_fit(basis((line - shift) / scale), events)
    grid = np.linspace(low, high, N_POINTS)
    rates = expit(np.clip(basis((grid - shift) / scale) @ coefficients, -30, 30))
    return tuple(zip(expit(grid).tolist(), rates.tolist(), strict=True))


def value_curve(predicted: Doubles, y: Doubles) -> tuple[tuple[float, float], ...]:
    """Give the mean of a target by its prediction: a spline by least squares."""
    low, high = (float(each) for each in np.quantile(predicted, [0.02, 0.98]))
    scale = predicted.std()
    if not high - low > 1e-9 * max(abs(low), abs(high), 1e-300) or len(y) < 3:
        return ((float(predicted.mean()), float(y.mean())),)
    shift = predicted.mean()
    basis = _spline(predicted) if len(y) >= 2 * MIN_SPLINE_EVENTS else _line
    coefficients = np.linalg.lstsq(basis((predicted - shift) / scale), y, rcond=None)[0]
    grid = np.linspace(low, high, N_POINTS)
    values = basis((grid - shift) / scale) @ coefficients
    return tuple(zip(grid.tolist(), values.tolist(), strict=True))


def _line(x: Doubles) -> Doubles:
    return np.column_stack([np.ones(len(x)), x])


def _spline(x: Doubles) -> Callable[[Doubles], Doubles]:
    """Give the basis of a natural cubic spline of standardised values with three knots."""
    a, b, c = np.quantile((x - x.mean()) / x.std(), [0.1, 0.5, 0.9])
    if not a < b < c:
        return _line

    def basis(z: Doubles) -> Doubles:
        cubes = [np.maximum(z - knot, 0.0) ** 3 for knot in (a, b, c)]
        bent = cubes[0] - cubes[1] * (c - a) / (c - b) + cubes[2] * (b - a) / (c - b)
        return np.column_stack([np.ones(len(z)), z, bent / (c - a) ** 2])

    return basis
