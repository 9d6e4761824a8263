"""The page of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.stats import t as student

from ensemblage._core import (
    MINUS,
    NOTHING,
    Field,
    Heading,
    TableBlock,
    count,
    count_field,
    mark_best,
    number_field,
    signed_field,
)
from ensemblage.datasets import ColumnSummary, DataSummary, range_text
from ensemblage.evaluation import (
    MEASURES,
    TASKS,
    PredictedNumbers,
    draw_residuals,
    draw_source_means,
)
from ensemblage.report._blocks import (
    Bar,
    BarsBlock,
    Block,
    FactsBlock,
    FigureBlock,
    NotesBlock,
    Page,
    Section,
    TextBlock,
)
from ensemblage.studies import (
    ALPHA,
    Comparison,
    Design,
    Residuals,
    SummaryRow,
    gap_between,
)

SIGNIFICANT = "significantly different from the best"
NOT_SIGNIFICANT = "not significantly different"


def difference_blocks(document: Comparison) -> list[Block]:
    """Draw each method's mean difference from the best one; nothing where there is no choice.

    Holm's procedure tests the i-th smallest of m p-values at the level alpha / (m - i + 1) and
    stops at the first that is not significant; each interval is drawn at the level of its own
    test, or of the one that ended them.
    """
    choice = document.choice
    if choice is None:
        return []
    measure = MEASURES[document.measure]
    design = Design(document.measure, 1 / document.n_splits, document.n_rows)
    whole = {each.name: each for each in document.methods if None not in each[document.measure]}
    scores = {
        name: [value for value in each[document.measure] if value is not None]
        for name, each in whole.items()
    }
    best = whole.pop(choice.leader)
    gaps = {name: gap_between(scores[name], scores[best.name], design) for name in whole}
    order = sorted(gaps, key=lambda name: gaps[name].pvalue)
    n_significant = len(whole) - len(choice.not_told_apart)
    sign = 1 if measure.greater_is_better else -1
    bars = []
    for name in sorted(
        whole, key=lambda name: (name not in choice.not_told_apart, -sign * gaps[name].mean)
    ):
        level = ALPHA / (len(whole) - min(order.index(name), n_significant))
        quantile = float(student.ppf(1 - level / 2, len(scores[name]) - 1))
        bars.append(
            Bar(
                whole[name].label, gaps[name].mean,
                signed_field(gaps[name].mean, measure.places(choice.score, 4)).text,
                error=quantile * gaps[name].error, reference=0.0, ours=whole[name].ours,
                group=NOT_SIGNIFICANT if name in choice.not_told_apart else SIGNIFICANT,
            )
        )  # fmt: skip
    figure = BarsBlock(
        bars,
        f"Mean {measure.label} of each method less that of {best.label}, the best, with an "
        "interval (±). Where it does not cover zero, the upright line, the difference is "
        f"significant at the level of {ALPHA:.1%}: corrected resampled t-test over the folds, "
        "with Holm's correction for the number of methods.",
        signed=True,
    )
    left = len(document.methods) - len(whole) - 1
    if not left:
        return [figure]
    are = "is" if left == 1 else "are"
    said = f"{count(left, 'method')} without a score on every fold {are} left out here."
    return [figure, TextBlock([said])]


RESIDUAL_LEGEND = (
    "Bias is the mean of the numbers less that of the predictions: above zero, predictions are "
    "too low there."
)
COVERED = " Covered is the share of the numbers in intervals of 90 %."


def residual_section(found: Residuals | None) -> list[Section]:
    """Draw residuals and calibration, and list the sources; nothing where classes are predicted."""
    if found is None:
        return []
    rows = PredictedNumbers(
        np.array(found.numbers), np.array(found.predicted),
        None if found.intervals is None else np.array(found.intervals),
        None if found.row_sources is None else np.array(found.row_sources),
    )  # fmt: skip
    blocks: list[Block] = [_figure(found, rows), _means(found, rows)]
    if found.sources:
        blocks.append(_sources(found))
    return [Section("Residuals", blocks)]


def _figure(found: Residuals, rows: PredictedNumbers) -> FigureBlock:
    missed = rows.y - rows.predicted
    ends = np.quantile(missed, [0.05, 0.95]).tolist()
    low, high = (MEASURES["rmse"].written(each) for each in ends)
    return FigureBlock(
        partial(draw_residuals, rows), 3.1, 3.1,
        f"Residuals of {found.label} over its predictions; nine in ten lie between {low} and "
        f"{high}.",
        f"What {found.label} misses on {count(len(missed), 'row')} that it was not fitted on: the "
        "number less its prediction. Around zero without a shape is what a good model leaves.",
    )  # fmt: skip


def _means(found: Residuals, rows: PredictedNumbers) -> FigureBlock:
    each = "one line per source" if found.sources else "one line for all"
    return FigureBlock(
        partial(draw_source_means, rows), 3.1, 3.1,
        f"Mean numbers over mean predictions of {found.label}, {each}.",
        "The mean number over the mean prediction, in bins of rows ordered by prediction"
        f"{', a line per source' if found.sources else ''}. On the diagonal predictions are right "
        "on average; above it they are too low.",
    )  # fmt: skip


def _sources(found: Residuals) -> TableBlock:
    largest = max(each.rmse for each in found.sources)
    places = MEASURES["rmse"].places(largest)
    columns = [
        Heading("source"), Heading("rows", numeric=True), Heading("bias", numeric=True),
        Heading("RMSE", numeric=True),
        *([] if found.intervals is None else [Heading("covered", numeric=True)]),
    ]  # fmt: skip
    fields = [
        [
            Field(each.source), count_field(each.rows), signed_field(each.bias, places),
            number_field(each.rmse, places),
            *([] if found.intervals is None else [number_field(each.coverage, 3)]),
        ]
        for each in found.sources
    ]  # fmt: skip
    legend = RESIDUAL_LEGEND + (COVERED if found.intervals is not None else "")
    return TableBlock(columns, fields, "What is missed, source by source", legend)


MOST_BARS = 12
MOST_COLUMNS = 200
HEADS = (
    Heading("column"),
    Heading("type"),
    Heading("missing", numeric=True),
    Heading("unique", numeric=True),
    Heading("distribution", wide=True),
)


def data_section(card: DataSummary | None) -> list[Section]:
    """Show what the data hold; nothing where that is not known."""
    return [] if card is None else [Section("Data", _card_blocks(card))]


def datasets_section(cards: Sequence[DataSummary]) -> list[Section]:
    """Show what several datasets hold, each in a line."""
    if len(cards) < 2:
        return data_section(cards[0] if cards else None)
    heads = [
        Heading("dataset"),
        *(Heading(name, numeric=True) for name in ("rows", "columns", "missing")),
        *_target_heads(cards[0]),
    ]
    rows = [
        [
            Field(card.name), count_field(card.n_rows), count_field(len(card.columns)),
            count_field(card.n_missing), *_target_fields(card),
        ]
        for card in cards
    ]  # fmt: skip
    notes = [f"{card.name}: {text}" for card in cards for text in card.notes]
    table = TableBlock(heads, rows, "What the datasets hold")
    return [Section("Data", [table, NotesBlock(notes)] if notes else [table])]


def _target_heads(card: DataSummary) -> list[Heading]:
    if card.target_summary is not None:
        return [Heading("target", wide=True)]
    return [Heading("classes", numeric=True), Heading("largest class", numeric=True)]


def _target_fields(card: DataSummary) -> list[Field]:
    """Tell the range of the numbers, or how many classes there are and how large the largest."""
    if card.target_summary is not None:
        return [Field(_range(card.target_summary))]
    largest = max(card.class_shares.values())
    return [count_field(len(card.classes)), Field(f"{largest:.0%}", largest)]


def _card_blocks(card: DataSummary) -> list[Block]:
    blocks: list[Block] = [FactsBlock(_data_facts(card))]
    if card.classes:
        blocks.append(_shares(card.classes, f"Rows of each class of {card.target}."))
    if card.sources:
        blocks.append(_shares(card.sources, "Rows of each source."))
    blocks.append(_columns(card))
    notes = (*([card.task_reason] if card.has_numeric_target else []), *card.notes)
    return [*blocks, NotesBlock(notes)] if notes else blocks


def _data_facts(card: DataSummary) -> list[tuple[str, str]]:
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in card.kinds.items())
    missing = "none"
    if card.n_missing:
        share = card.n_missing / (card.n_rows * len(card.columns))
        missing = f"{share:.1%} of values, in {count(card.n_incomplete, 'column')}"
    facts = [
        ("data", card.name),
        ("rows", f"{card.n_rows:,}"),
        ("columns", kinds),
        ("missing", missing),
    ]
    most = max((each for each in card.columns if each.kind == "categorical"),
               key=lambda each: each.n_unique, default=None)  # fmt: skip
    if card.target_summary is not None:
        facts.append((f"target {card.target}", _range(card.target_summary)))
    if most is not None:
        facts.append(("highest cardinality", f"{most.n_unique:,} in {most.name}"))
    return facts


def _shares(counts: dict[str, int], caption: str) -> BarsBlock:
    """Draw counts as bars; of many, the rarest together."""
    total = sum(counts.values())
    order = sorted(counts, key=lambda name: -counts[name])
    shown = order if len(order) <= MOST_BARS else order[: MOST_BARS - 1]
    bars = [Bar(name, counts[name], f"{counts[name]:,} ({counts[name] / total:.1%})")
            for name in shown]  # fmt: skip
    rest = sum(counts[name] for name in order[len(shown) :])
    if rest:
        label = f"{len(order) - len(shown)} others"
        bars.append(Bar(label, rest, f"{rest:,} ({rest / total:.1%})"))
    return BarsBlock(bars, caption, from_zero=True)


def _columns(card: DataSummary) -> TableBlock:
    rows = [
        [
            Field(each.name), Field(each.kind),
            NOTHING if each.missing == 0
            else Field(f"{each.missing:,}", each.missing, f"({each.missing / card.n_rows:.0%})"),
            count_field(each.n_unique), Field(_typical(each, card.n_rows)),
        ]
        for each in card.columns[:MOST_COLUMNS]
    ]  # fmt: skip
    left = len(card.columns) - len(rows)
    legend = "Distribution: minimum, median and maximum, or the most frequent categories."
    if left:
        legend += f" {left:,} more columns are not shown."
    said = f"The {count(len(card.columns), 'column')}, one by one"
    return TableBlock(HEADS, rows, said, legend, folded=True)


def _typical(column: ColumnSummary, n_rows: int) -> str:
    if column.min is not None:
        return _range(column)
    return ", ".join(
        f"{word} ({rows / n_rows:.0%})" for word, rows in column.top_categories.items()
    )


def _range(column: ColumnSummary) -> str:
    return (
        range_text(column).replace("-", MINUS) if column.kind == "numeric" else range_text(column)
    )


LEGEND = (
    "± is a standard error, corrected for the overlap of the folds. Seconds are per fold, on one "
    "core. A dash stands where a method gives no {beside}, or has failed. {measures}"
)


def comparison_page(document: Comparison) -> Page:
    """Tell what a comparison of methods shows.

    Parameters
    ----------
    document : Comparison
        What :func:`ensemblage.studies.compare` gives and ``ensemblage compare --json`` prints.

    Returns
    -------
    Page
        To be rendered.

    Examples
    --------
    >>> from ensemblage.datasets import load_dataset
    >>> from ensemblage.studies import compare
    >>> from ensemblage.report import comparison_page
    >>> result = compare(load_dataset("iris"), methods=["majority", "logistic"], n_splits=3)
    >>> comparison_page(result).title
    'Methods compared on iris'
    """
    sections = [
        Section("Scores", [_bars(document), _scores(document)]),
        Section("Differences", difference_blocks(document)),
        *residual_section(document.residuals),
        Section("Fold by fold", [_folds(document)]),
        *data_section(document.data),
        Section("Notes", _notes(document)),
    ]
    return Page(
        f"Methods compared on {document.dataset}", "comparison", _summary(document),
        _facts(document), sections,
    )  # fmt: skip


def _facts(document: Comparison) -> FactsBlock:
    folds = f"{document.n_splits}"
    if document.n_repeats > 1:
        folds += f" by {document.n_repeats}"
    facts = [
        ("rows", f"{document.n_rows:,}"),
        ("columns", f"{document.n_features:,}"),
        ("predicted", "numbers" if document.n_classes is None else f"{document.n_classes} classes"),
        ("folds", folds),
        ("seed", str(document.seed)),
        ("measure", MEASURES[document.measure].label),
    ]
    choice = document.choice
    return FactsBlock(facts if choice is None else [*facts, ("choice", choice.label)])


def _summary(document: Comparison) -> list[str]:
    scored = [row for row in document.summary if row.score is not None]
    told = [document.verdict, *([] if document.choice is None else [document.choice.detail])]
    ours = next((row for row in scored if row.ours), None)
    others = next((row for row in scored if not row.ours), None)
    if ours is not None and others is not None:
        told.append(
            f"Of this library's methods {ours.label} does best, with {_score(ours, document)}; of "
            f"the others {others.label}, with {_score(others, document)}."
        )
    return told


def _score(row: SummaryRow, document: Comparison) -> str:
    measure = MEASURES[document.measure]
    return f"{measure.label} {measure.with_error(row.score or 0.0, row.score_se, 4)}"


def _bars(document: Comparison) -> BarsBlock:
    measure = MEASURES[document.measure]
    bars = [
        Bar(
            row.label, row.score,
            "failed" if row.seconds is None
            else "-" if row.score is None
            else measure.written(row.score, 4),
            error=row.score_se, ours=row.ours,
        )
        for row in document.summary
    ]  # fmt: skip
    return BarsBlock(
        bars, f"Mean {measure.label} with its standard error, best first. "
        "◆ marks the methods of this library."
    )  # fmt: skip


def _scores(document: Comparison) -> TableBlock:
    task = TASKS[document.task]
    names = sorted(_shown(document), key=lambda name: name != document.measure)
    places = {name: _places(document, name) for name in names}
    columns = [
        Heading("method"),
        *(Heading(each.label, numeric=True,
                 greater_is_better=each.greater_is_better)
          for each in (MEASURES[name] for name in names)),
        Heading("mean rank", numeric=True, greater_is_better=False),
        Heading("seconds", numeric=True),
    ]  # fmt: skip
    fields = [
        [
            Field(row.label, ours=row.ours),
            number_field(row.score, places[names[0]], row.score_se),
            *(number_field(row[name], places[name]) for name in names[1:]),
            number_field(row.mean_rank, 2),
            number_field(row.seconds, 2),
        ]
        for row in document.summary
    ]
    defined = " ".join(f"{MEASURES[name].label}: {MEASURES[name].definition}" for name in names)
    legend = LEGEND.format(beside=task.beside, measures=defined)
    return TableBlock(columns, mark_best(columns, fields), "Means over the folds", legend)


def _shown(document: Comparison) -> list[str]:
    """Choose the measures of the table: all of classes, those of numbers that have a value."""
    names = list(TASKS[document.task].measures)
    if document.n_classes is not None:
        return names
    return [
        name
        for name in names
        if name == document.measure or any(r[name] is not None for r in document.summary)
    ]


def _places(document: Comparison, name: str) -> int:
    """Tell how many decimals a measure is shown with: in units, enough for the least value."""
    measure = MEASURES[name]
    known = [value for row in document.summary if (value := row[name]) is not None]
    least = min((abs(each) for each in known), default=1.0)
    return measure.places(least, measure.decimals)


def _folds(document: Comparison) -> TableBlock:
    """Score of each method on each fold, the best of a fold marked."""
    better, label = MEASURES[document.measure].greater_is_better, MEASURES[document.measure].label
    places = MEASURES[document.measure].places(document.summary[0].score or 1.0, 4)
    order = [row.method for row in document.summary]
    methods = sorted(document.methods, key=lambda each: order.index(each.name))
    columns = [Heading("method")]
    columns += [
        Heading(f"fold {fold + 1}", numeric=True, greater_is_better=better)
        for fold in range(methods[0].n_folds)
    ]
    rows = [
        [
            Field(each.label, ours=each.ours),
            *(number_field(value, places) for value in each[document.measure]),
        ]
        for each in methods
    ]
    return TableBlock(
        columns, mark_best(columns, rows), f"{label[:1].upper()}{label[1:]} on each fold"
    )


def _notes(document: Comparison) -> list[Block]:
    known = () if document.data is None else document.data.notes
    notes = [text for text in document.notes if text not in known]
    for each in document.methods:
        folds = each.n_folds
        notes += [
            f"{each.label}, {times} of {folds} folds: {text}"
            for text, times in each.warnings.items()
        ]
        if each.failures:
            first = next(iter(each.failures.values()))
            notes.append(f"{each.label} failed on {len(each.failures)} of {folds} folds: {first}")
    return [NotesBlock(notes)] if notes else []
