"""The report of a comparison."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.stats import t as student

from ensemblage._core import (
    MINUS,
    Field,
    Heading,
    TableBlock,
    count,
    count_field,
    mark_best,
    number_field,
    signed_field,
)
from ensemblage.evaluation import (
    MEASURES,
    TASKS,
    PredictedValues,
    draw_residuals,
    draw_source_means,
)
from ensemblage.report._blocks import Bar, BarsBlock, Block, FigureBlock, Page, Section
from ensemblage.report._data import data_section, subject_of
from ensemblage.studies import (
    ALPHA,
    Comparison,
    Design,
    Residuals,
    SummaryRow,
    corrected_t_test,
    expected_block,
    share_of_fold,
)

SIGNIFICANT = "significantly different from the best"
NOT_SIGNIFICANT = "not significantly different"
LEGEND = (
    "± is a standard error, corrected for the overlap of the folds. Seconds are per fold, on one "
    "core. A dash: the method gives no {beside}, or has failed. {measures}"
)


def difference_blocks(document: Comparison) -> list[Block]:
    """Draw each method's mean difference from the best one; nothing without a recommendation.

    Holm's procedure tests the i-th smallest of m p-values at the level alpha / (m - i + 1) and
    stops at the first that is not significant; each interval is drawn at the level of its own
    test, or of the one that ended them.
    """
    choice = document.choice
    if choice is None:
        return []
    measure = MEASURES[document.measure]
    share = share_of_fold(document.n_splits, ordered=document.validation == "time")
    design = Design(document.measure, share, document.n_rows)
    whole = {each.name: each for each in document.methods if None not in each[document.measure]}
    scores = {
        name: [value for value in each[document.measure] if value is not None]
        for name, each in whole.items()
    }
    best = whole.pop(choice.best)
    differences = {
        name: corrected_t_test(scores[name], scores[best.name], design) for name in whole
    }
    order = sorted(differences, key=lambda name: differences[name].pvalue)
    similar = choice.not_significantly_different
    n_significant = len(whole) - len(similar)
    sign = 1 if measure.greater_is_better else -1
    bars = []
    for name in sorted(
        whole,
        key=lambda name: (
            name not in similar,
            -sign * differences[name].mean,
        ),
    ):
        level = ALPHA / (len(whole) - min(order.index(name), n_significant))
        quantile = float(student.ppf(1 - level / 2, len(scores[name]) - 1))
        bars.append(
            Bar(
                whole[name].label, differences[name].mean,
                signed_field(differences[name].mean, measure.places(choice.score, 4)).text,
                error=quantile * differences[name].standard_error, reference=0.0,
                ours=whole[name].ours,
                group=NOT_SIGNIFICANT if name in similar else SIGNIFICANT,
            )
        )  # fmt: skip
    figure = BarsBlock(
        bars,
        f"Mean difference in {measure.label} from {best.label}, the best method, with its "
        "confidence interval (±). Where it excludes zero, the vertical line, the difference is "
        f"significant at the level of {ALPHA:.1%}: corrected resampled t-test over the folds, "
        "with Holm's correction for the number of methods.",
        signed=True,
    )
    left = len(document.methods) - len(whole) - 1
    if not left:
        return [figure]
    are = "is" if left == 1 else "are"
    return [figure, f"{count(left, 'method')} without a score on every fold {are} not compared."]


def residual_section(found: Residuals | None) -> list[Section]:
    """Draw residuals and calibration of a regression, and list the sources."""
    if found is None:
        return []
    rows = PredictedValues(
        np.array(found.observed), np.array(found.predicted),
        None if found.intervals is None else np.array(found.intervals),
        None if found.row_sources is None else np.array(found.row_sources),
    )  # fmt: skip
    residual = rows.y - rows.predicted
    ends = np.quantile(residual, [0.05, 0.95]).tolist()
    low, high = (MEASURES["rmse"].written(each) for each in ends)
    residuals = FigureBlock(
        partial(draw_residuals, rows), 3.1, 3.1,
        f"Residuals of {found.label} against predictions; 90 % lie between {low} and {high}.",
        f"Out-of-fold residuals (observed {MINUS} predicted) of {found.label} on "
        f"{count(len(residual), 'row')}. The residuals of a good model scatter around zero without "
        "a pattern.",
    )  # fmt: skip
    lines = "a line per source" if found.sources else "one line for all rows"
    means = FigureBlock(
        partial(draw_source_means, rows), 3.1, 3.1,
        f"Mean observed values against mean predictions of {found.label}, {lines}.",
        "Calibration: mean observed value against mean prediction, in bins of rows ordered by "
        f"prediction, {lines}. On the diagonal, predictions are correct on average; above it, they "
        "are too low.",
    )  # fmt: skip
    sources = [_source_table(found)] if found.sources else []
    return [Section("Residuals and calibration", [residuals, means, *sources])]


def _source_table(found: Residuals) -> TableBlock:
    places = MEASURES["rmse"].places(max(each.rmse for each in found.sources))
    heads = ["rows", "bias", "RMSE", *([] if found.intervals is None else ["coverage"])]
    rows = [
        [
            Field(each.source), count_field(each.rows), signed_field(each.bias, places),
            number_field(each.rmse, places),
            *([] if found.intervals is None else [number_field(each.coverage, 3)]),
        ]
        for each in found.sources
    ]  # fmt: skip
    legend = "Bias: mean residual; above zero, predictions are too low at the source."
    if found.intervals is not None:
        legend += " Coverage: share of the observed values in their 90 % prediction intervals."
    columns = [Heading("source"), *(Heading(name, numeric=True) for name in heads)]
    return TableBlock(columns, rows, "Residuals by source", legend)


def comparison_page(document: Comparison) -> Page:
    """Show a comparison of methods."""
    expected = expected_block(document)
    sections = [
        Section("Scores", [_bars(document), _scores(document)]),
        *([] if expected is None else [Section("Expected performance", [expected])]),
        Section("Differences", difference_blocks(document)),
        *residual_section(document.residuals),
        Section("Scores per fold", [_folds(document)]),
        *data_section(document.data),
        Section("Notes", _notes(document)),
    ]
    target = None if document.data is None else document.data.target
    title = f"Method comparison: {subject_of(target, document.dataset)}"
    return Page(title, "method comparison", _summary(document), _facts(document), sections)


def _facts(document: Comparison) -> dict[str, str]:
    repeats = f" by {document.n_repeats}" if document.n_repeats > 1 else ""
    regression = document.n_classes is None
    facts = {
        "rows": f"{document.n_rows:,}",
        "columns": f"{document.n_features:,}",
        "task": "regression" if regression else f"{document.n_classes} classes",
        "periods" if document.validation == "time" else "folds": f"{document.n_splits}{repeats}",
        "seed": str(document.seed),
        "measure": MEASURES[document.measure].label,
    }
    return facts if document.choice is None else facts | {"recommended": document.choice.label}


def _summary(document: Comparison) -> list[str]:
    scored = [row for row in document.summary if row.score is not None]
    sentences = [document.verdict, *([] if document.choice is None else [document.choice.detail])]
    ours = next((row for row in scored if row.ours), None)
    others = next((row for row in scored if not row.ours), None)
    if ours is not None and others is not None:
        sentences.append(
            f"Best method of this library: {ours.label} ({_score(ours, document)}); best of the "
            f"others: {others.label} ({_score(others, document)})."
        )
    return sentences


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
    return TableBlock(columns, mark_best(columns, fields), "Mean scores over the folds", legend)


def _shown(document: Comparison) -> list[str]:
    """Choose the measures of the table: for a regression, those that have a value."""
    names = list(TASKS[document.task].measures)
    if document.n_classes is not None:
        return names
    return [
        name
        for name in names
        if name == document.measure or any(r[name] is not None for r in document.summary)
    ]


def _places(document: Comparison, name: str) -> int:
    """Decimals that a measure is shown with: in units, enough for the least value."""
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
    return [notes] if notes else []
