"""Figures of an audit: forest plots, calibration, decision and learning curves, risks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ensemblage._core import ACCENT, FAINT, INK, MINUS, QUIET, WARM, require, set_module
from ensemblage.evaluation import REGRESSION
from ensemblage.sources._audit import source_audit
from ensemblage.sources._audit_result import (
    N_FORESTS,
    AuditedSource,
    MeasureSummary,
    SourceAudit,
)
from ensemblage.sources._source_measures import AuditMeasure, Curves

KINDS = ("forest", "calibration", "decision", "risk", "learning", "time")
ROW_INCHES = 0.28
"""Height of one source in a forest plot."""
PANEL_INCHES = 2.4
MAX_PANEL_COLUMNS = 4
MIN_TICKS = 3
LOG_TICKS = ((1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
"""Round values of each power of ten, more where an axis is short."""
LARGEST_RATIO = 100.0
"""Of a ratio to 1 that is drawn."""
STYLES: dict[str, dict[str, Any]] = {
    "model": {"color": ACCENT, "linewidth": 1.8},
    "ideal": {"color": FAINT, "linewidth": 1.0},
    "all": {"color": QUIET, "linewidth": 1.2, "linestyle": "--"},
    "none": {"color": QUIET, "linewidth": 1.2, "linestyle": ":"},
    "events": {"color": WARM, "linewidth": 1.5},
    "others": {"color": ACCENT, "linewidth": 1.5},
    "expected": {"color": ACCENT, "linewidth": 1.4, "linestyle": "--"},
}


class Line(NamedTuple):
    """A line of a panel; its ``kind`` decides its style, and has one label."""

    kind: str
    points: Sequence[tuple[float, float]]


class Panel(NamedTuple):
    """A small figure with a title, such as the name of a source; its x axis may be its own."""

    title: str
    lines: Sequence[Line]
    x: tuple[float, float] | None = None


class Panels(NamedTuple):
    """Small figures on the same axes, with labels of the kinds of lines."""

    panels: Sequence[Panel]
    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str
    y_label: str
    labels: dict[str, str]

    def ticks(self, axis: str) -> list[tuple[float, str]]:
        """Give round places on an axis with their texts."""
        return _ticks(*(self.x if axis == "x" else self.y))


class ForestRow(NamedTuple):
    """A row of a forest plot; ``kind`` is "source", "mean", "new" or "cross-validation"."""

    kind: str
    label: str
    text: str
    value: float | None
    low: float | None
    high: float | None
    weight: float = 0.0
    inverted: bool = False


class Forest(NamedTuple):
    """A forest plot: rows, an axis, and the value of an ideal model."""

    title: str
    rows: Sequence[ForestRow]
    low: float
    high: float
    logarithmic: bool
    ideal: float | None

    def place(self, value: float) -> float:
        """Give the place of a value on the axis, between 0 and 1; beyond it at its end."""
        ends = np.array([self.low, self.high, min(max(value, self.low), self.high)])
        low, high, at = np.log(ends) if self.logarithmic else ends
        return float((at - low) / (high - low))

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round places with their texts."""
        if not self.logarithmic:
            return _ticks(self.low, self.high)
        found: list[float] = []
        for digits in LOG_TICKS:
            found = [d * 10.0**n for n in range(-3, 4) for d in digits]
            found = [each for each in found if self.low <= each <= self.high]
            if len(found) > MIN_TICKS:
                break
        return [(each, f"{each:g}") for each in found]

    def beyond(self, value: float) -> bool:
        """Whether a value is beyond the axis."""
        return not self.low <= value <= self.high


def forest_of(
    audit: SourceAudit,
    measure: AuditMeasure,
    shown: Sequence[AuditedSource] | None = None,
    summary: MeasureSummary | None = None,
) -> Forest:
    """Collect a forest plot of a measure, of sources or of periods."""
    sources = audit.sources if shown is None else shown
    whole = audit[measure.name] if summary is None else summary
    inverted = set(audit.inverted_sources)
    write = measure.written
    heaviest = max((each.measures[measure.name].weight or 0.0 for each in sources), default=1.0)
    rows = []
    for source in sources:
        each = source.measures[measure.name]
        text = write(each.value)
        if each.low is not None and each.high is not None:
            text += f" ({write(each.low)} to {write(each.high)})"
        rows.append(
            ForestRow(
                "source", source.source, text, each.value, each.low, each.high,
                (each.weight or 0.0) / (heaviest or 1.0), source.source in inverted,
            )
        )  # fmt: skip
    to_come = "a new source" if shown is None else "the next period"
    if whole.mean is not None:
        rows += [
            ForestRow(
                kind, label, f"{write(whole.mean)} ({write(low)} to {write(high)})", whole.mean,
                low, high,
            )
            for kind, label, low, high in (
                ("mean", "mean", whole.low, whole.high),
                ("new", to_come, whole.new_low, whole.new_high),
            )
        ]  # fmt: skip
    inside = whole.cross_validation
    name = "cross-validation"
    rows.append(ForestRow(name, name, write(inside), inside, None, None))
    low, high, logarithmic = _forest_range(measure, rows)
    return Forest(measure.label, rows, low, high, logarithmic, measure.ideal or measure.none)


def _forest_range(measure: AuditMeasure, rows: Sequence[ForestRow]) -> tuple[float, float, bool]:
    """Choose an axis for the values and most of the intervals; longer ones are cut."""
    logarithmic = measure.name == "oe"
    values = [each.value for each in rows if each.value is not None]
    if measure.ideal is not None:
        values.append(measure.ideal)
    ends = [end for each in rows for end in (each.low, each.high) if end is not None]
    if logarithmic:
        found = np.log(np.clip([*values, *ends], 1 / LARGEST_RATIO, LARGEST_RATIO))
    else:
        found = np.array([*values, *ends], dtype=float)
    if not len(found):
        return 0.0, 1.0, False
    core = found[: len(values)]
    widths = np.abs(found[len(values) + 1 :: 2] - found[len(values) :: 2])
    reach = 1.5 * float(np.median(widths)) if widths.size else 0.0
    reach = max(reach, 0.25 * float(np.ptp(core)), 1e-3 * max(abs(float(core.max())), 1e-6))
    low, high = max(found.min(), core.min() - reach), min(found.max(), core.max() + reach)
    margin = 0.04 * max(high - low, 1e-9)
    low, high = float(low - margin), float(high + margin)
    if measure.name == "auc":
        low, high = max(low, 0.0), min(high, 1.0)
    return (float(np.exp(low)), float(np.exp(high)), True) if logarithmic else (low, high, False)


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Give the fewest round places of an axis that are three or more."""
    places: list[float] = []
    power = 10.0 ** np.ceil(np.log10(max(high - low, 1e-12)))
    for step in (power * f for f in (1.0, 0.5, 0.25, 0.2, 0.1, 0.05)):
        first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
        places = [round(j * step, 12) for j in range(first, last + 1)]
        if len(places) >= MIN_TICKS:
            break
    return [(each, f"{each + 0.0:g}".replace("-", MINUS)) for each in places]


def forests(audit: SourceAudit) -> list[Forest]:
    """Collect the forest plots of the main measures."""
    if not audit.sources:
        return []
    return [forest_of(audit, each) for each in audit.main_measures[:N_FORESTS]]


def period_forests(audit: SourceAudit) -> list[Forest]:
    """Collect forest plots of periods: the first two measures, of known and of left-out sources."""
    found = []
    for validation in audit.time:
        summary = {each.measure: each for each in validation.summary}
        for measure in audit.main_measures[:2]:
            made = forest_of(audit, measure, validation.periods, summary[measure.name])
            where = ", at left-out sources" if validation.new_sources else ""
            found.append(made._replace(title=f"{measure.label} by period{where}"))
    return found


def panels_of(audit: SourceAudit, kind: str) -> Panels:
    """Collect the small figures of a kind."""
    if kind == "learning":
        return _learning_panels(audit)
    if audit.curves is None:
        raise ValueError(f"kind={kind!r} needs sources, and this audit has none.")
    if audit.task == REGRESSION.name and kind in {"decision", "risk"}:
        raise ValueError(f"kind={kind!r} is for classes, and this audit is of a numeric target.")
    named = [("all sources", audit.curves)]
    named += [(each.source, each.curves) for each in audit.sources if each.curves is not None]
    makers = {
        "calibration": _calibration_panels, "decision": _decision_panels, "risk": _risk_panels,
    }  # fmt: skip
    return makers[kind](audit, named)


def _calibration_panels(audit: SourceAudit, named: list[tuple[str, Curves]]) -> Panels:
    points = np.array([point for _, each in named for point in each.calibration])
    if audit.event is None:
        low, high = float(points.min()), float(points.max())
        words = "predicted value", "mean observed value"
    else:
        low, high = 0.0, min(1.0, float(np.ceil(10 * points.max()) / 10))
        words = f"predicted risk of {audit.event}", "observed rate"
    ideal = Line("ideal", ((low, low), (high, high)))
    panels = [Panel(name, (ideal, Line("model", each.calibration))) for name, each in named]
    return Panels(
        panels, (low, high), (low, high), *words, {"model": "the model", "ideal": "calibrated"}
    )


def _decision_panels(audit: SourceAudit, named: list[tuple[str, Curves]]) -> Panels:
    t = audit.thresholds
    panels = [
        Panel(
            name,
            (
                Line("none", ((0.0, 0.0), (t[-1], 0.0))),
                Line("all", [*zip(t, each.treat_all, strict=True)]),
                Line("model", [*zip(t, each.net_benefit, strict=True)]),
            ),
        )
        for name, each in named
    ]
    best = max(max(each.net_benefit + each.treat_all) for _, each in named)
    return Panels(
        panels, (0.0, t[-1]), (-0.25 * max(best, 0.02), 1.05 * max(best, 0.02)),
        f"threshold of the risk of {audit.event}", "net benefit",
        {"model": "the model", "all": "treat all", "none": "treat none"},
    )  # fmt: skip


def _risk_panels(audit: SourceAudit, named: list[tuple[str, Curves]]) -> Panels:
    edges, panels, highest = audit.risk_edges, [], 0.0
    for name, each in named:
        lines = []
        for kind, counts in (("others", each.risk_of_others), ("events", each.risk_of_events)):
            total = sum(counts)
            shares = [n / total if total else 0.0 for n in counts]
            highest = max(highest, *shares)
            steps = [(edges[0], 0.0)]
            for j, share in enumerate(shares):
                steps += [(edges[j], share), (edges[j + 1], share)]
            lines.append(Line(kind, [*steps, (edges[-1], 0.0)] if total else ()))
        panels.append(Panel(name, lines))
    return Panels(
        panels, (edges[0], edges[-1]), (0.0, 1.05 * highest), f"predicted risk of {audit.event}",
        "share of rows", {"events": f"{audit.event}", "others": f"not {audit.event}"},
    )  # fmt: skip


def _learning_panels(audit: SourceAudit) -> Panels:
    curve = audit.learning
    if curve is None:
        raise ValueError(
            "kind='learning' needs six sources or more, and learning_curve=True in source_audit."
        )
    measure = next(each for each in audit.measures if each.name == curve.measure)
    seen = [*zip(map(float, curve.n_sources), curve.values, strict=True)]
    last = float(curve.n_sources[-1])
    slope = (curve.expected_of_twice - curve.values[-1]) / (0.5 / last - 1 / last)
    further = [
        (float(m), curve.values[-1] + slope * (1 / m - 1 / last))
        for m in np.linspace(last, 2 * last, 20)
    ]
    ys = [y for _, y in (*seen, *further)]
    margin = 0.1 * max(max(ys) - min(ys), 1e-9)
    return Panels(
        [Panel("", (Line("model", seen), Line("expected", further)))],
        (min(curve.n_sources), 2 * last), (min(ys) - margin, max(ys) + margin),
        "sources in training", f"{measure.label} at a left-out source",
        {"model": "measured", "expected": "expected, at least about"},
    )  # fmt: skip


@set_module("ensemblage.sources")
class SourceAuditDisplay:
    """Figures of an audit.

    Parameters
    ----------
    audit : SourceAudit
        Result of :func:`source_audit`.
    kind : str, default="forest"
        "forest" (AUC, O:E ratio and calibration slope, or R², RMSE and slope, of each source),
        "calibration", "decision" (net benefit), "risk" (by outcome), "learning" (by the number of
        sources in training) or "time" (by period).

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One per measure, or one per source.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    source_audit : Validation at sources, and in periods, that a model was not fitted on.

    Notes
    -----
    Forest plots: squares are estimates at left-out sources, their area by weight in the mean, with
    95 % confidence intervals; the diamond is the mean with its 95 % confidence interval, the bar
    below it the 95 % prediction interval of a new source, the tick the value by cross-validation.
    Calibration curves are natural cubic splines on the logit of the risk.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.datasets import make_multi_source
    >>> from ensemblage.sources import SourceAuditDisplay, source_audit
    >>> X, y, sources = make_multi_source(3, n_samples=300, random_state=0, return_sources=True)
    >>> audit = source_audit(LogisticRegression(), X, y, sources, random_state=0)
    >>> SourceAuditDisplay.from_audit(audit, kind="calibration").axes_.shape
    (4,)
    """

    def __init__(self, audit: SourceAudit, kind: str = "forest") -> None:
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r} is not one of: {', '.join(KINDS)}.")
        self.audit = audit
        self.kind = kind

    @classmethod
    def from_audit(
        cls, audit: SourceAudit, *, kind: str = "forest", axes: Any = None
    ) -> SourceAuditDisplay:
        """Draw an audit.

        Parameters
        ----------
        audit : SourceAudit
            Result of :func:`source_audit`.
        kind : str, default="forest"
            "forest", "calibration", "decision", "risk", "learning" or "time".
        axes : sequence of matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        SourceAuditDisplay
            With ``axes_`` and ``figure_`` set.
        """
        return cls(audit, kind).plot(axes=axes)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        sources: Any = None,
        *,
        kind: str = "forest",
        axes: Any = None,
        **options: Any,
    ) -> SourceAuditDisplay:
        """Audit a model and draw the result.

        Parameters
        ----------
        estimator : classifier or regressor
            Unfitted; a classifier with ``predict_proba``.
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes, or a numeric target.
        sources : array-like of shape (n_samples,) or str, default=None
            Source of each row, or its column.
        kind : str, default="forest"
            What to draw.
        axes : sequence of matplotlib Axes, default=None
            Where to draw; a new figure if not given.
        **options : dict
            Passed to :func:`source_audit`.

        Returns
        -------
        SourceAuditDisplay
            With ``axes_`` and ``figure_`` set.
        """
        return cls.from_audit(
            source_audit(estimator, X, y, sources, **options), kind=kind, axes=axes
        )

    def plot(self, *, axes: Any = None) -> SourceAuditDisplay:
        """Draw the figure.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one per measure or source; a new figure if not given.

        Returns
        -------
        SourceAuditDisplay
            Itself, with ``axes_`` and ``figure_`` set.
        """
        plt = require("matplotlib.pyplot", "SourceAuditDisplay", extra="plot")
        if self.kind in {"forest", "time"}:
            plots = forests(self.audit) if self.kind == "forest" else period_forests(self.audit)
            if not plots:
                needed = "sources" if self.kind == "forest" else "times"
                raise ValueError(f"kind={self.kind!r} needs {needed}, and this audit has none.")
            if axes is None:
                height = max(2.5, 1.0 + ROW_INCHES * max(len(each.rows) for each in plots))
                axes = plt.subplots(
                    1, len(plots), figsize=(4.2 * len(plots), height), layout="constrained",
                    squeeze=False, sharey=self.kind == "forest",
                )[1]  # fmt: skip
            self.axes_ = np.ravel(axes)
            for forest, ax in zip(plots, self.axes_, strict=False):
                draw_forest(forest, ax)
        else:
            panels = panels_of(self.audit, self.kind)
            if axes is None:
                n = len(panels.panels)
                columns = min(MAX_PANEL_COLUMNS, n)
                lines = -(-n // columns)
                size = 4.5 if n == 1 else PANEL_INCHES
                axes = plt.subplots(
                    lines, columns, figsize=(size * columns, size * lines + 0.4), squeeze=False,
                    layout="constrained", sharex=True, sharey=True,
                )[1]  # fmt: skip
                for spare in np.ravel(axes)[n:]:
                    spare.remove()
                axes = np.ravel(axes)[:n]
            self.axes_ = np.ravel(axes)
            draw_panels(panels, self.axes_)
        self.figure_ = self.axes_[0].figure
        return self


def draw_forest(forest: Forest, ax: Any) -> None:
    """Draw a forest plot, the first row on top."""
    if forest.ideal is not None and not forest.beyond(forest.ideal):
        ax.axvline(forest.ideal, color=FAINT, zorder=0)
    for place, row in enumerate(reversed(forest.rows)):
        if row.value is not None:
            _draw_row(forest, row, row.value, place, ax)
    if forest.logarithmic:
        ax.set_xscale("log")
    ax.set_xlim(forest.low, forest.high)
    ticks = forest.ticks
    ax.set_xticks([at for at, _ in ticks], [text for _, text in ticks])
    ax.minorticks_off()
    ax.set_yticks(range(len(forest.rows)), [row.label for row in reversed(forest.rows)])
    ax.set_ylim(-0.7, len(forest.rows) - 0.3)
    ax.set_title(forest.title)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_row(forest: Forest, row: ForestRow, value: float, place: int, ax: Any) -> None:
    """Draw the estimate of a row and its interval, cut at the ends of the axis."""
    colour = WARM if row.inverted else INK
    ends = [
        min(max(each, forest.low), forest.high) for each in (row.low, row.high)
        if each is not None
    ]  # fmt: skip
    if row.kind == "mean" and ends:
        across = [ends[0], value, ends[1], value]
        ax.fill(across, [place, place + 0.3, place, place - 0.3], color=ACCENT)
        ax.axvline(value, color=ACCENT, linewidth=0.8, linestyle=":", zorder=0)
    elif ends:
        style = {"color": ACCENT, "linewidth": 4} if row.kind == "new" else {"color": colour}
        ax.plot(ends, [place, place], solid_capstyle="butt", **style)
    if row.kind == "source":
        ax.plot(value, place, "s", color=colour, markersize=2.5 + 5 * row.weight**0.5)
    elif row.kind == "cross-validation":
        ax.plot(value, place, "|", color=WARM, markersize=11, markeredgewidth=2)


def draw_panels(panels: Panels, axes: Any) -> None:
    """Draw small figures, each with its title, and one legend."""
    for panel, ax in zip(panels.panels, axes, strict=False):
        for line in panel.lines:
            if len(line.points):
                x, y = zip(*line.points, strict=True)
                mark = "o" if len(line.points) == 1 else None
                ax.plot(x, y, marker=mark, label=panels.labels[line.kind], **STYLES[line.kind])
        ax.set(xlim=panels.x, ylim=panels.y)
        ax.set_title(panel.title, fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(fontsize="small", frameon=False)
    figure = axes[0].figure
    if len(axes) == 1:
        axes[0].set(xlabel=panels.x_label, ylabel=panels.y_label)
    else:
        figure.supxlabel(panels.x_label, fontsize="medium")
        figure.supylabel(panels.y_label, fontsize="medium")
