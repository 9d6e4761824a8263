"""Results of an audit: estimates, tables and sentences."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from html import escape

from msgspec import Struct

from ensemblage._core import (
    MINUS,
    NOTHING,
    Field,
    Heading,
    TableBlock,
    count_field,
    html_table,
    listed,
    no_formula,
    text_table,
)
from ensemblage.evaluation import CLASSIFICATION, REGRESSION
from ensemblage.sources._source_measures import (
    VALUE_MEASURES,
    AuditMeasure,
    Curves,
    class_measures,
)
from ensemblage.sources._suspects import ColumnShift, Suspect

MAIN_MEASURES: dict[str, tuple[str, ...]] = {
    CLASSIFICATION.name: ("auc", "oe", "slope", "log_loss"),
    REGRESSION.name: ("r2", "rmse", "slope"),
}
"""Measures of the tables; those with a forest plot first."""
N_FORESTS = 3
LOSSES: dict[str, str] = {CLASSIFICATION.name: "log_loss", REGRESSION.name: "rmse"}
"""The measure by which models are compared and learning curves drawn."""
TABLE_WIDTH = 120
"""Characters."""


class Estimate(Struct, frozen=True):
    """A measure with its standard error and 95 % confidence interval; null where unknown.

    Parameters
    ----------
    value : float or None
        Its value.
    se : float or None
        Its standard error.
    low, high : float or None
        Ends of the interval.
    weight : float or None
        Share of a source in the mean over sources.
    """

    value: float | None
    se: float | None
    low: float | None
    high: float | None
    weight: float | None = None


class MeasureSummary(Struct, frozen=True):
    """What to expect of a measure at a new source, or in the next period.

    Parameters
    ----------
    measure : str
        Its name.
    cross_validation : float or None
        Its value by cross-validation, over all rows.
    mean : float or None
        Random-effects mean over sources; null if they are too few.
    low, high : float or None
        95 % confidence interval of the mean.
    new_low, new_high : float or None
        95 % prediction interval of one new source.
    tau : float or None
        Standard deviation between sources, on the scale of the pooling.
    i2 : float or None
        Share of the variance that is between sources.
    n_sources : int
        Sources with an estimate.
    """

    measure: str
    cross_validation: float | None
    mean: float | None
    low: float | None
    high: float | None
    new_low: float | None
    new_high: float | None
    tau: float | None
    i2: float | None
    n_sources: int


class AuditedSource(Struct, frozen=True):
    """A source that was left out of training, or a period that was predicted from the past.

    Parameters
    ----------
    source : str
        Its name.
    n : int
        Its rows.
    events : int or None
        Its rows of the class whose risk is predicted; null in regression.
    measures : dict of str to Estimate
        Measures of its left-out predictions.
    cross_validation : dict of str to float or None
        The same measures with other rows of the source in training.
    missing : dict of str to int
        Missing values by column, where there are any.
    curves : Curves or None
        What is drawn of it; null for a period.
    n_train : int or None
        Training rows of a period; null for a source.
    """

    source: str
    n: int
    events: int | None
    measures: dict[str, Estimate]
    cross_validation: dict[str, float | None] = {}
    missing: dict[str, int] = {}
    curves: Curves | None = None
    n_train: int | None = None


class ReferenceModel(Struct, frozen=True):
    """A model to compare with, by the same measures.

    Parameters
    ----------
    reference : str
        "no-information", "logistic-regression" or "ridge-regression".
    label : str
        Display name.
    measures : dict of str to Estimate
        Means over left-out sources.
    cross_validation : dict of str to float or None
        The same by cross-validation.
    difference : float or None
        Log loss (RMSE) of the audited model minus this one's, averaged over sources.
    low, high : float or None
        95 % confidence limits of the difference, by Student's t.
    """

    reference: str
    label: str
    measures: dict[str, Estimate]
    cross_validation: dict[str, float | None]
    difference: float | None = None
    low: float | None = None
    high: float | None = None


class ClassSummary(Struct, frozen=True):
    """Measures of one class against the rest, where there are several.

    Parameters
    ----------
    event : str
        The class.
    summary : tuple of MeasureSummary
        Its measures.
    """

    event: str
    summary: tuple[MeasureSummary, ...]


class LearningCurve(Struct, frozen=True):
    """A measure at left-out sources by the number of sources in training.

    Parameters
    ----------
    measure : str
        Its name.
    n_sources : tuple of int
        Numbers of sources in training.
    values : tuple of float
        Mean over left-out sources, by number.
    expected_of_one_more, expected_of_twice : float
        Extrapolations by a + b / m to one more source in training, and to twice as many.
    low, high : float
        95 % confidence limits with twice as many, by Student's t over left-out sources.
    """

    measure: str
    n_sources: tuple[int, ...]
    values: tuple[float, ...]
    expected_of_one_more: float
    expected_of_twice: float
    low: float
    high: float


class TimeValidation(Struct, frozen=True):
    """Validation of each period by the past.

    Parameters
    ----------
    new_sources : bool
        Whether the sources of a period were left out of training too.
    periods : tuple of AuditedSource
        The periods, in order.
    summary : tuple of MeasureSummary
        What to expect of the next period.
    """

    new_sources: bool
    periods: tuple[AuditedSource, ...]
    summary: tuple[MeasureSummary, ...]


class SourceAudit(Struct, frozen=True, kw_only=True):
    """Validation of a model at sources, and in periods, that it was not fitted on.

    Returned by :func:`source_audit`; prints a summary and tables.

    Parameters
    ----------
    task : str
        "classification" or "regression".
    event : str or None
        The class whose risk is reported; None in regression.
    n : int
        Number of rows.
    events : int or None
        Rows of that class; None in regression.
    sentences : tuple of str
        The main results: what to expect at a new source, calibration, comparison with the
        references; then sources to be checked, and what else to know.
    summary : tuple of MeasureSummary
        For each ``measure``: ``cross_validation``, the ``mean`` over sources with its 95 %
        confidence interval ``low`` and ``high``, the 95 % prediction interval of a new source
        ``new_low`` and ``new_high``, ``tau``, ``i2``, ``n_sources``. Without sources, of periods.
    sources : tuple of AuditedSource
        For each ``source``: ``n``, ``events``, ``measures`` by name, each with ``value``, ``se``,
        ``low``, ``high`` and ``weight``, the same by ``cross_validation``, ``missing`` values by
        column, and its ``curves``.
    references : tuple of ReferenceModel
        The model without information (prevalence or mean) and logistic or ridge regression.
    classes : tuple of ClassSummary
        Of several classes, the measures of each against the rest.
    suspects : tuple of Suspect
        Sources to be checked: ``source``, ``kind``, ``column``, ``sentence``.
    column_shifts : tuple of ColumnShift
        Columns that differ most between sources (covariate shift): ``column``, ``strength``,
        ``source``, ``in_source``, ``in_others``.
    curves : Curves
        Calibration, decision curve and risks of all left-out predictions.
    thresholds : tuple of float
        Thresholds of the decision curves.
    risk_edges : tuple of float
        Edges of the bins of risks.
    learning : LearningCurve or None
        The loss by the number of sources in training; None with fewer than six sources.
    time : tuple of TimeValidation
        Validation over time, of known and of left-out sources; empty without ``time``.
    interval : str
        How limits were computed.
    """

    task: str
    event: str | None
    n: int
    events: int | None
    sentences: tuple[str, ...]
    summary: tuple[MeasureSummary, ...]
    sources: tuple[AuditedSource, ...]
    references: tuple[ReferenceModel, ...]
    classes: tuple[ClassSummary, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    column_shifts: tuple[ColumnShift, ...] = ()
    curves: Curves | None = None
    thresholds: tuple[float, ...] = ()
    risk_edges: tuple[float, ...] = ()
    learning: LearningCurve | None = None
    time: tuple[TimeValidation, ...] = ()
    interval: str = "profile"

    def __getitem__(self, measure: str) -> MeasureSummary:
        """Give the summary of a measure by its name."""
        known = {each.measure: each for each in self.summary}
        if measure not in known:
            raise KeyError(f"{measure!r} is not one of the measures {listed([*known])}.")
        return known[measure]

    @property
    def inverted_sources(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """Sources whose labels or codes may be inverted."""
        return tuple(each.source for each in self.suspects if each.kind == "inverted")

    @property
    def measures(self) -> tuple[AuditMeasure, ...]:  # numpydoc ignore=RT01
        """The measures of this audit, in the order of the summary."""
        known = {each.name: each for each in self._known_measures()}
        return tuple(known[each.measure] for each in self.summary)

    def _known_measures(self) -> tuple[AuditMeasure, ...]:
        if self.task == REGRESSION.name:
            # as many decimals for all measures in the unit of the target: four digits of the RMSE
            error = self["rmse"].cross_validation or 1.0
            decimals = max(0, 3 - math.floor(math.log10(error)))
            return tuple(
                each._replace(digits=decimals) if each.digits is None else each
                for each in VALUE_MEASURES
            )
        names = (each.measure.partition("@")[2] for each in self.summary)
        thresholds = dict.fromkeys(float(each) for each in names if each)
        n_classes = len(self.classes) or 2
        return class_measures(n_classes, n_classes - 1, tuple(thresholds))

    @property
    def main_measures(self) -> tuple[AuditMeasure, ...]:  # numpydoc ignore=RT01
        """The measures of the tables."""
        return tuple(each for each in self.measures if each.name in MAIN_MEASURES[self.task])

    def summary_table(self) -> TableBlock:
        """Give the summary as a table.

        Returns
        -------
        TableBlock
            One row per measure.
        """
        what = "next period" if self.time and not self.sources else "new source"
        heads = ["CV", "mean", "95% CI", what, "tau", "I²"]
        heads += [_named(each).removeprefix("the ") for each in self.references]
        columns = (Heading("measure"), *(Heading(head, numeric=True) for head in heads))
        rows = []
        for measure, each in zip(self.measures, self.summary, strict=True):
            write = measure.written
            texts = [
                (write(each.cross_validation), each.cross_validation),
                (write(each.mean), each.mean),
                (interval_text(measure, each.low, each.high), each.low),
                (interval_text(measure, each.new_low, each.new_high), each.new_low),
                (NOTHING.text if each.tau is None else f"{each.tau:.2f}", each.tau),
                (NOTHING.text if each.i2 is None else f"{each.i2:.0%}", each.i2),
            ]
            for reference in self.references:
                value = reference.measures[each.measure].value
                texts.append((write(value), value))
            rows.append((Field(measure.label), *(Field(*text) for text in texts)))
        legend = (
            "CV: cross-validation, rows of every source in training. Mean: over left-out sources, "
            f"random effects, with its 95% confidence interval; {what}: 95% prediction interval. "
            "tau: standard deviation between sources on the scale of the pooling; I²: share of the "
            "variance that is between sources."
        )
        if not self.sources:
            legend = legend.replace("left-out sources, random effects,", "periods")
        return TableBlock(columns, rows, "What to expect", legend)

    def table(self) -> TableBlock:
        """Give the main measures of each source as a table.

        Returns
        -------
        TableBlock
            One row per source, or per period without sources.
        """
        shown = self.sources or self.time[0].periods
        what = "source" if self.sources else "period"
        return sources_table(self, shown, what, f"Validation of each {what}")

    def to_csv(self) -> str:
        """Give the measures of each source and their means as CSV.

        Returns
        -------
        str
            One line per source (or period) and measure, then the means and the limits for a new
            source as ``pooled`` and ``new``, and ``cross-validation``.
        """
        buffer = io.StringIO()
        out = csv.writer(buffer, lineterminator="\n")
        out.writerow(["source", "n", "events", "measure", "value", "se", "low", "high", "weight"])
        shown = self.sources or self.time[0].periods
        for source in shown:
            for name, each in source.measures.items():
                out.writerow([
                    no_formula(source.source), source.n, source.events, name, each.value, each.se,
                    each.low, each.high, each.weight,
                ])  # fmt: skip
        for whole in self.summary:
            for name, value, low, high in (
                ("cross-validation", whole.cross_validation, None, None),
                ("pooled", whole.mean, whole.low, whole.high),
                ("new", whole.mean, whole.new_low, whole.new_high),
            ):
                out.writerow(
                    [name, self.n, self.events, whole.measure, value, None, low, high, None]
                )
        return buffer.getvalue()

    def to_latex(self) -> str:
        r"""Give the main measures of each source and their means as a LaTeX table.

        Returns
        -------
        str
            A ``tabular`` with the rules of the package ``booktabs``.
        """
        table = self.table()
        lines = [
            " & ".join(_latex(column.name) for column in table.columns),
            *(" & ".join(_latex(field.text) for field in row) for row in table.rows),
        ]
        sides = "".join("r" if column.numeric else "l" for column in table.columns)
        body = [f"{line} \\\\" for line in lines]
        n_last = 3 if self["log_loss" if self.event else "rmse"].mean is not None else 1
        parts = [body[0], *body[1:-n_last], "\\midrule", *body[-n_last:]]
        parts.insert(1, "\\midrule")
        return "\n".join(
            [f"\\begin{{tabular}}{{{sides}}}", "\\toprule", *parts, "\\bottomrule",
             "\\end{tabular}", ""]
        )  # fmt: skip

    def __str__(self) -> str:
        tables = [text_table(each, TABLE_WIDTH) for each in (self.summary_table(), self.table())]
        return "\n".join([*self.sentences, "", tables[0], "", tables[1]])

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{escape(each)}</p>" for each in self.sentences)
        return sentences + html_table(self.summary_table()) + html_table(self.table())


def interval_text(measure: AuditMeasure, low: float | None, high: float | None) -> str:
    """Format the limits of an interval; a dash where there are none."""
    if low is None or high is None:
        return NOTHING.text
    return f"{measure.written(low)} to {measure.written(high)}"


def sources_table(
    audit: SourceAudit, shown: Sequence[AuditedSource], what: str, caption: str
) -> TableBlock:
    """Make a table of sources or periods, with the means and the cross-validation below."""
    measures = audit.main_measures
    heads = ["rows"] + (["events"] if audit.event is not None else [])
    columns = [Heading(what), *(Heading(head, numeric=True) for head in heads)]
    columns += [Heading(f"{each.label} (95% CI)", numeric=True) for each in measures]
    rows = []
    inverted = set(audit.inverted_sources)
    for each in shown:
        name = Field(each.source, tag="inverted?" if each.source in inverted else "")
        fields = [name, count_field(each.n)]
        fields += [] if each.events is None else [count_field(each.events)]
        for measure in measures:
            found = each.measures[measure.name]
            limits = interval_text(measure, found.low, found.high)
            text = (
                NOTHING.text
                if found.value is None
                else f"{measure.written(found.value)} ({limits})"
            )
            fields.append(Field(text, found.value))
        rows.append(fields)
    totals = [count_field(each) for each in (audit.n, audit.events) if each is not None]
    summary = {each.measure: each for each in audit.summary}
    if shown is (audit.sources or (audit.time and audit.time[0].periods)):
        chosen = [(each, summary[each.name]) for each in measures]
        to_come = "a new source" if audit.sources else "the next period"
        lines = [
            ("all", "low", "high"), (f"{to_come} (95% prediction interval)", "new_low", "new_high")
        ]  # fmt: skip
        for title, low, high in lines:
            if all(each.mean is None for _, each in chosen):
                continue
            texts = [
                NOTHING.text if each.mean is None
                else f"{measure.written(each.mean)} "
                f"({interval_text(measure, getattr(each, low), getattr(each, high))})"
                for measure, each in chosen
            ]  # fmt: skip
            counts = totals if low == "low" else [NOTHING for _ in totals]
            rows.append([Field(title), *counts, *map(Field, texts)])
        texts = [measure.written(each.cross_validation) for measure, each in chosen]
        rows.append([Field("cross-validation"), *totals, *map(Field, texts)])
    return TableBlock(columns, rows, caption)


def _latex(text: str) -> str:
    special = {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "\N{EN DASH}": "--", MINUS: "$-$", "²": "$^2$",
    }  # fmt: skip
    return "".join(special.get(each, each) for each in text)


def main_sentences(audit: SourceAudit) -> list[str]:
    """Say what to expect at a new source, of calibration, and beside the references."""
    if not audit.sources:
        return []
    measures = {each.name: each for each in audit.measures}
    first = audit.main_measures[0]
    return [
        _expected(audit, first, audit[first.name], "at a new source"),
        _calibrated(audit, measures),
        _compared(audit, measures[LOSSES[audit.task]]),
    ]


def further_sentences(audit: SourceAudit) -> list[str]:
    """Say what more sources may bring, and what to expect in the next period."""
    said, first = [], audit.main_measures[0]
    if audit.learning is not None:
        [measure] = [each for each in audit.measures if each.name == audit.learning.measure]
        said.append(_learned(audit.learning, measure))
    for each in audit.time:
        where = "in the next period" + (" at a new source" if each.new_sources else "")
        [summary] = [one for one in each.summary if one.measure == first.name]
        said.append(_expected(audit, first, summary, where))
    return said


def _expected(
    audit: SourceAudit, measure: AuditMeasure, summary: MeasureSummary, where: str
) -> str:
    write = measure.written
    if summary.mean is None:
        shown = audit.sources if where == "at a new source" else audit.time[0].periods
        values = [each.measures[measure.name].value for each in shown]
        known = ", ".join(write(each) for each in values if each is not None) or "unknown"
        return (
            f"{measure.label} of the left-out rows: {known}; cross-validation: "
            f"{write(summary.cross_validation)}. Too few to say what to expect {where}."
        )
    few = "sources" if where == "at a new source" else "periods"
    return (
        f"Expected {measure.label} {where}: {write(summary.mean)} (95% CI "
        f"{interval_text(measure, summary.low, summary.high)}; {summary.n_sources} {few}); for a "
        f"single one the 95% prediction interval is "
        f"{interval_text(measure, summary.new_low, summary.new_high)}. Cross-validation: "
        f"{write(summary.cross_validation)}."
    )


def _calibrated(audit: SourceAudit, measures: dict[str, AuditMeasure]) -> str:
    """Say how predictions agree with what is observed."""
    slope = audit["slope"]
    parts = []
    for name in ("oe", "bias", "slope"):
        if name in measures and audit[name].mean is not None:
            each, measure = audit[name], measures[name]
            parts.append(
                f"{measure.label} {measure.written(each.mean)} (at a new source "
                f"{interval_text(measure, each.new_low, each.new_high)})"
            )
    if slope.mean is None or slope.low is None or slope.high is None:
        return "Calibration: see the figures of each source."
    verdict = "no significant deviation of the slope from 1"
    if slope.high < 1:
        verdict = "predictions are too extreme"
    elif slope.low > 1:
        verdict = "predictions are not extreme enough"
    return f"Calibration: {listed(parts)}; {verdict}."


def _compared(audit: SourceAudit, measure: AuditMeasure) -> str:
    """Compare the loss with that of the references."""
    ours = audit[measure.name].mean
    if ours is None or not audit.references:
        return "References: see the table."
    parts, better, worse = [], [], []
    for each in audit.references:
        parts.append(f"{measure.written(each.measures[measure.name].value)} of {_named(each)}")
        if each.high is not None and each.high < 0:
            better.append(_named(each))
        if each.low is not None and each.low > 0:
            worse.append(_named(each))
    same = [each for each in map(_named, audit.references) if each not in {*better, *worse}]
    verdict = [
        f"{text} {listed(names)}"
        for text, names in (
            ("significantly better than", better), ("not significantly better than", same),
            ("significantly worse than", worse),
        )
        if names
    ]  # fmt: skip
    return (
        f"{measure.label[:1].upper()}{measure.label[1:]} at left-out sources "
        f"{measure.written(ours)}, against {listed(parts)}: {'; '.join(verdict)}."
    )


def _named(reference: ReferenceModel) -> str:
    if reference.reference == "no-information":
        return f"the {reference.label} alone"
    return reference.label


def _learned(curve: LearningCurve, measure: AuditMeasure) -> str:
    """Say what more sources may bring; two thirds of a gain were foretold, so at least about."""
    now, write = curve.values[-1], measure.written
    start = f"With {curve.n_sources[-1]} sources in training the {measure.label} is {write(now)}"
    if curve.high >= now:
        return (
            f"{start}; how it depends on their number is uncertain (with twice as many "
            f"{write(curve.low)} to {write(curve.high)})."
        )
    return (
        f"{start}; with twice as many a fall to at least about {write(curve.expected_of_twice)} is "
        f"expected (95% CI {write(curve.low)} to {write(curve.high)}), with one more to "
        f"{write(curve.expected_of_one_more)}."
    )
