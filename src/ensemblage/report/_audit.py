"""The report of an audit."""

from __future__ import annotations

from collections.abc import Sequence

from ensemblage._core import (
    NOTHING,
    Field,
    Heading,
    TableBlock,
    count,
    listing,
    share_field,
)
from ensemblage.report._blocks import Block, ForestBlock, Page, PanelsBlock, Section
from ensemblage.report._data import data_section, subject_of
from ensemblage.sources import (
    AuditedSource,
    forests,
    interval_text,
    panels_of,
    period_forests,
    sources_table,
)
from ensemblage.studies import AuditDocument

N_SENTENCES = 3
"""Of the summary; the others are notes."""
BENEFIT_STEP = 10
"""Every tenth threshold of the decision curves is in the table."""
FOREST = (
    "Squares are estimates at left-out sources, larger with more weight in the mean, with 95 % "
    "confidence intervals; an arrow: beyond the axis. The diamond is the random-effects mean, the "
    "wide bar the 95 % prediction interval {to_come}, the upright mark cross-validation."
)
AUTHORS = "For the authors: "


def audit_page(document: AuditDocument) -> Page:
    """Show the validation of a model at new sources and over time."""
    if document.sources:
        validated = [
            Section("What to expect at a new source", [document.summary_table()]),
            Section("Forest plots", _forests(document)),
            Section("Calibration by source", _calibration(document)),
            Section("Decision curves", _decision(document)),
            Section("Predicted risk by outcome", _risks(document)),
            Section("Sources", [document.table(), *_all_measures(document)]),
            Section("One class against the rest", _classes(document)),
            Section("Sources to be checked", _suspects(document)),
            Section("Missing values by source", _missing(document.sources)),
            Section("Columns that differ between sources", _shifts(document)),
            Section("How many sources are enough", _learning(document)),
        ]
    else:
        validated = [Section("What to expect in the next period", [document.summary_table()])]
    notes = list(document.sentences[N_SENTENCES:])
    sections = [
        Section("What else was found", [notes] if notes else []),
        *validated,
        Section("Over time", _over_time(document)),
        Section("TRIPOD-Cluster", [_tripod(document)] if document.sources else []),
        *data_section(document.data),
    ]
    target = None if document.data is None else document.data.target
    title = f"Validation at new sources: {subject_of(target, document.dataset)}"
    if not document.sources:
        title = f"Validation over time: {subject_of(target, document.dataset)}"
    kind = "internal-external validation"
    return Page(title, kind, list(document.sentences[:N_SENTENCES]), _facts(document), sections)


def _facts(document: AuditDocument) -> dict[str, str]:
    facts = {"model": document.label, "rows": f"{document.n:,}"}
    if document.sources:
        facts["sources"] = str(len(document.sources))
    if document.events is not None:
        facts[f"rows of {document.event}"] = (
            f"{document.events:,} ({document.events / document.n:.0%})"
        )
    for measure in document.main_measures[:2]:
        each = document[measure.name]
        facts[f"{measure.label}, cross-validation"] = measure.written(each.cross_validation)
        if each.mean is not None:
            to_come = "at a new source" if document.sources else "in the next period"
            facts[f"{measure.label}, expected {to_come}"] = measure.written(each.mean)
            interval = interval_text(measure, each.new_low, each.new_high)
            facts[f"{measure.label}, 95 % prediction interval"] = interval
    return facts


def _forests(document: AuditDocument) -> list[Block]:
    return [*map(ForestBlock, forests(document)), FOREST.format(to_come="of a new source")]


def _calibration(document: AuditDocument) -> list[Block]:
    what, few = "mean by predicted value", "lines with fewer than 40 rows"
    if document.event is not None:
        what, few = "rate by predicted risk", "lines on the logit scale with fewer than 20 events"
    return [
        PanelsBlock(
            panels_of(document, "calibration"), "Calibration curve of each source.",
            f"Observed {what} at left-out sources, from the 2nd to the 98th percentile of the "
            "predictions; on the diagonal the model is calibrated. Natural cubic splines, or "
            f"{few}.",
        )
    ]  # fmt: skip


def _decision(document: AuditDocument) -> list[Block]:
    if document.event is None:
        return []
    caption = (
        "Net benefit: true positives minus false positives weighted by the odds of the threshold, "
        "per row. A model is useful at a threshold where its line is above both others."
    )
    shown = range(BENEFIT_STEP - 1, len(document.thresholds), BENEFIT_STEP)
    heads = [Heading(f"at {document.thresholds[j]:.2g}", numeric=True) for j in shown]
    rows = []
    named = [("all sources", document.curves)]
    named += [(each.source, each.curves) for each in document.sources]
    for name, curves in named:
        if curves is not None:
            pairs = [(curves.net_benefit[j], curves.treat_all[j]) for j in shown]
            texts = (Field(f"{ours:.3f}", ours, f"all {treated:.3f}") for ours, treated in pairs)
            rows.append((Field(name), *texts))
    table = TableBlock(
        [Heading("source"), *heads], rows, "Net benefit by threshold",
        "Net benefit of the model, and of treating all; of treating none it is 0.", folded=True,
    )  # fmt: skip
    alt = "Net benefit of the model, of treating all and of treating none, by threshold."
    return [PanelsBlock(panels_of(document, "decision"), alt, caption), table]


def _risks(document: AuditDocument) -> list[Block]:
    if document.event is None:
        return []
    return [
        PanelsBlock(
            panels_of(document, "risk"), "Histogram of predicted risks by outcome.",
            "Share of the rows of each outcome by predicted risk at left-out sources: the less the "
            "two overlap, the better they are discriminated.",
        )
    ]  # fmt: skip


def _all_measures(document: AuditDocument) -> list[Block]:
    """Tabulate every measure of every source, folded."""
    heads = [Heading(each.label, numeric=True) for each in document.measures]
    rows = []
    for source in document.sources:
        fields = []
        for measure in document.measures:
            each = source.measures[measure.name]
            limits = interval_text(measure, each.low, each.high)
            quiet = "" if each.low is None else f"({limits})"
            fields.append(Field(measure.written(each.value), each.value, quiet))
        rows.append((Field(source.source), *fields))
    inside = [
        (Field(source.source), *(
            Field(measure.written(value), value)
            for measure in document.measures
            for value in [source.cross_validation[measure.name]]
        ))
        for source in document.sources
    ]  # fmt: skip
    legend = " ".join(f"{each.label}: {each.definition}" for each in document.measures)
    columns = [Heading("source"), *heads]
    return [
        TableBlock(columns, rows, "All measures, the source left out", legend, folded=True),
        TableBlock(columns, inside, "All measures by cross-validation", folded=True),
    ]


def _classes(document: AuditDocument) -> list[Block]:
    if not document.classes:
        return []
    names = [each.measure for each in document.classes[0].summary]
    labels = {"auc": "AUC", "oe": "O:E ratio", "intercept": "calibration intercept",
              "slope": "calibration slope"}  # fmt: skip
    rows = []
    for each in document.classes:
        fields = []
        for one in each.summary:
            if one.mean is None or one.new_low is None or one.new_high is None:
                fields.append(NOTHING)
            else:
                limits = f"({one.new_low:.2f} to {one.new_high:.2f})"
                fields.append(Field(f"{one.mean:.2f}", one.mean, limits))
        rows.append((Field(each.event), *fields))
    heads = [Heading("class"), *(Heading(labels[name], numeric=True) for name in names)]
    legend = "Mean over left-out sources, with the 95 % prediction interval of a new source."
    return [TableBlock(heads, rows, "Each class against the rest", legend)]


def _suspects(document: AuditDocument) -> list[Block]:
    if not document.suspects:
        return []
    rows = [
        (Field(each.source), Field(each.kind), Field(each.column or ""), Field(each.sentence))
        for each in document.suspects
    ]
    heads = [*map(Heading, ("source", "what", "column")), Heading("found", wide=True)]
    return [TableBlock(heads, rows, "What is peculiar in a source")]


def _missing(sources: Sequence[AuditedSource]) -> list[Block]:
    columns = sorted({column for each in sources for column in each.missing})
    if not columns:
        return ["No values are missing."]
    rows = [
        (Field(each.source), *(share_field(each.missing.get(c, 0) / each.n) for c in columns))
        for each in sources
    ]
    heads = [Heading("source"), *(Heading(column, numeric=True) for column in columns)]
    return [TableBlock(heads, rows, "Share of missing values; other columns are complete")]


def _shifts(document: AuditDocument) -> list[Block]:
    if not document.column_shifts:
        return []
    heads = ("source", "in this source", "in the others")
    columns = [Heading("column"), Heading("strength", numeric=True), *map(Heading, heads)]
    rows = [
        (
            Field(each.column), Field(f"{each.strength:.2f}", each.strength), Field(each.source),
            Field(each.in_source), Field(each.in_others),
        )
        for each in document.column_shifts
    ]  # fmt: skip
    legend = (
        "Strength: association with the source, from 0 (same distribution in all sources) to 1 "
        "(identifies the source)."
    )
    return [TableBlock(columns, rows, "Columns with the largest shift", legend)]


def _learning(document: AuditDocument) -> list[Block]:
    curve = document.learning
    if curve is None:
        return []
    measure = next(each for each in document.measures if each.name == curve.measure)
    last = curve.n_sources[-1]
    known = [*zip(curve.n_sources, curve.values, strict=True)]
    rows = [(Field(str(m), m), Field(measure.written(v), v)) for m, v in known]
    for m, value, limits in (
        (last + 1, curve.expected_of_one_more, ""),
        (2 * last, curve.expected_of_twice, interval_text(measure, curve.low, curve.high)),
    ):
        quiet = f"(95 % CI {limits})" if limits else ""
        rows.append((Field(str(m), m, "expected"), Field(measure.written(value), value, quiet)))
    heads = [Heading("sources in training", numeric=True), Heading(measure.label, numeric=True)]
    caption = (
        f"{measure.label[:1].upper()}{measure.label[1:]} at left-out sources by the number of "
        "sources in training, extrapolated by a + b / m: on other tables this foretold about two "
        "thirds of the gain of twice as many sources, so read it as at least about."
    )
    table = TableBlock(heads, rows, "By the number of sources in training")
    alt = f"{measure.label} by the number of sources in training."
    return [PanelsBlock(panels_of(document, "learning"), alt, caption), table]


def _over_time(document: AuditDocument) -> list[Block]:
    if not document.time:
        return []
    legend = FOREST.format(to_come="of the next period").replace("at left-out sources, ", "")
    blocks: list[Block] = [*map(ForestBlock, period_forests(document))]
    blocks.append(legend.replace("random-effects mean", "mean"))
    for each in document.time:
        where = ", at left-out sources" if each.new_sources else ""
        title = f"Each period by a model of the earlier ones{where}"
        blocks.append(sources_table(document, each.periods, "period", title))
    return blocks


def _tripod(document: AuditDocument) -> TableBlock:
    """Fill the items of TRIPOD-Cluster (Debray et al., 2023) that a run can fill."""
    rows = [
        (Field(number, float(number)), Field(topic), Field(text))
        for number, topic, text in _tripod_items(document)
    ]
    heads = [Heading("item", numeric=True), Heading("topic"), Heading("in this study", wide=True)]
    legend = (
        "TRIPOD-Cluster: reporting of prediction models that are developed or validated with "
        "clustered data (BMJ 2023;380:e071018); items in our words."
    )
    return TableBlock(heads, rows, "The nineteen items of TRIPOD-Cluster", legend)


def _tripod_items(document: AuditDocument) -> list[tuple[str, str, str]]:
    data, sources = document.data, document.sources
    target = document.event or (data.target if data is not None else None) or "the target"
    sizes = sorted(each.n for each in sources)
    sizes_text = f"{sizes[0]:,} to {sizes[-1]:,} rows each"
    columns = [] if data is None else [each.name for each in data.columns]
    events = "" if document.events is None else f", {document.events:,} of them {target}"
    gone = sum(sum(each.missing.values()) for each in sources)
    first = document.main_measures[0]
    summary = document[first.name]
    interval = interval_text(first, summary.new_low, summary.new_high)
    limits = (
        "a mixture over the Q-profile distribution of the variance between sources"
        if document.interval == "profile"
        else "restricted maximum likelihood with Hartung-Knapp limits"
    )
    peculiar = listing([each.sentence.rstrip(".") for each in document.suspects], 4)
    measures = ", ".join(each.label for each in document.measures if "@" not in each.name)
    compared = [each.label for each in document.references]
    return [
        ("1", "Title", (f"{AUTHORS}name the model, the target population and the outcome. Here: "
         f"validation of a model of {target}.")),
        ("2", "Abstract", (f"{AUTHORS}summarise objectives, sources, participants, sample size, "
         "predictors, outcome, analysis, results and conclusions; the first sentences of this page "
         "are the results.")),
        ("3", "Background and objectives", (f"{AUTHORS}the clinical context, existing models, and "
         "why performance at a new source matters.")),
        ("4", "Participants and data", (f"{AUTHORS}eligibility of participants and sources, origin "
         f"and dates of the data. This run: {count(len(sources), 'source')} of {sizes_text}.")),
        ("5", "Sample size", f"{document.n:,} rows{events}. {AUTHORS}how the size was arrived at."),
        ("6", "Outcome and predictors", (f"Outcome: {target}. "
         f"{count(len(columns), 'predictor')}: {listing(columns)}. {AUTHORS}define each, with when "
         "and how it was measured, and whether blinded.")),
        ("7", "Data preparation", (f"{count(gone, 'missing value')}, handled by the model's own "
         f"preprocessing inside each training set. {AUTHORS}cleaning, harmonisation and linkage.")),
        ("8", "Data analysis", (f"Model: {document.label}. Each source was left out of training in "
         f"turn; measures: {measures}. They were pooled by random effects, limits by {limits}. "
         f"Compared with: {', '.join(compared)}.")),
        ("9", "Sensitivity analyses", "By cross-validation, and with fewer sources in training."
         if document.learning is not None else f"By cross-validation. {AUTHORS}any other."),
        ("10", "Participants and sources", ("See the table of sources and the missing values by "
         f"source. {AUTHORS}a flow chart, and participants' characteristics.")),
        ("11", "Risk of bias of each source", f"Found here: {peculiar}. {AUTHORS}an assessment of "
         "each source, for example by PROBAST." if document.suspects else "No source was found "
         f"peculiar. {AUTHORS}an assessment of each source, for example by PROBAST."),
        ("12", "Model development and specification", (f"{AUTHORS}the final model, fitted to all "
         "sources: `ensemblage fit` and `explain` give it.")),
        ("13", "Model performance", ("See the summary, the forest plots and the calibration and "
         f"decision curves. {first.label} {first.written(summary.mean)}; 95 % prediction interval "
         f"of a new source {interval}.")),
        ("14", "Model updating", f"{AUTHORS}any. `recalibrate` adapts the model to a new source."),
        ("15", "Results of sensitivity analyses", "See how many sources are enough."
         if document.learning is not None else f"{AUTHORS}any."),
        ("16", "Interpretation", f"{AUTHORS}the results, their heterogeneity between sources"
         + ("" if summary.i2 is None else f" (I² of the {first.label} {summary.i2:.0%})")
         + ", limitations, and other studies."),
        ("17", "Implications", f"{AUTHORS}use in practice, and where the model may not apply."),
        ("18", "Supplementary information", (f"This page, and `audit --json`. {AUTHORS}protocol, "
         "code and data.")),
        ("19", "Funding", f"{AUTHORS}funding and the role of the funders."),
    ]  # fmt: skip
