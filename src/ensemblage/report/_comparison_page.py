"""The page of ``ensemblage compare``."""

from __future__ import annotations

from ensemblage.messages import MEASURES, TASKS
from ensemblage.methods import Comparison, SummaryRow, values_of
from ensemblage.pages import (
    Bar,
    BarsBlock,
    Block,
    Column,
    FactsBlock,
    Field,
    NotesBlock,
    Page,
    Section,
    TableBlock,
    mark_best,
    number_field,
)
from ensemblage.report._data_section import data_section
from ensemblage.report._differences import difference_blocks
from ensemblage.report._residual_section import residual_section

LEGEND = (
    "± is a standard error, corrected for the overlap of the folds. Seconds are per fold, on one "
    "core. A dash stands where a method gives no {beside}, or has failed. {measures}"
)
MEASURE_LEGENDS = {
    "classification": "AUC is of each class against the rest, F1 of each class, both averaged.",
    "regression": "RMSE is the root mean squared error, MAE the mean absolute one, R² one less "
    "the share of the numbers' variance that is missed. The log score is the mean negative log "
    "density of the numbers; covered is their share in intervals of 90 %, width how wide these "
    "are.",
}


def comparison_page(document: Comparison) -> Page:
    """Tell what a comparison of methods shows.

    Parameters
    ----------
    document : Comparison
        What :func:`ensemblage.methods.compare` gives and ``ensemblage compare --json`` prints.

    Returns
    -------
    Page
        To be rendered.

    Examples
    --------
    >>> from ensemblage.datasets import load_dataset
    >>> from ensemblage.methods import compare
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
            "failed" if row.usual is None
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
        Column("method"),
        *(Column(each.label, numeric=True,
                 greater_is_better=each.greater_is_better if each.decides else None)
          for each in (MEASURES[name] for name in names)),
        Column("mean rank", numeric=True, greater_is_better=False),
        Column("seconds", numeric=True),
    ]  # fmt: skip
    fields = [
        [
            Field(row.label, ours=row.ours),
            number_field(row.score, places[names[0]], row.score_se),
            *(number_field(getattr(row, name), places[name]) for name in names[1:]),
            number_field(row.mean_rank, 2),
            number_field(row.seconds, 2),
        ]
        for row in document.summary
    ]
    legend = LEGEND.format(beside=task.beside, measures=MEASURE_LEGENDS[task.name])
    return TableBlock(columns, mark_best(columns, fields), "Means over the folds", legend)


def _shown(document: Comparison) -> list[str]:
    """Choose the measures of the table: all of classes, those of numbers that have a value."""
    names = list(TASKS[document.task].measures)
    if document.n_classes is not None:
        return names
    return [
        name
        for name in names
        if name == document.measure or any(getattr(r, name) is not None for r in document.summary)
    ]


def _places(document: Comparison, name: str) -> int:
    """Tell how many decimals a measure is shown with: in units, enough for the least value."""
    measure = MEASURES[name]
    known = [value for row in document.summary if (value := getattr(row, name)) is not None]
    least = min((abs(each) for each in known), default=1.0)
    return measure.places(least, measure.decimals)


def _folds(document: Comparison) -> TableBlock:
    """Score of each method on each fold, the best of a fold marked."""
    better, label = MEASURES[document.measure].greater_is_better, MEASURES[document.measure].label
    places = MEASURES[document.measure].places(document.summary[0].score or 1.0, 4)
    order = [row.method for row in document.summary]
    methods = sorted(document.methods, key=lambda each: order.index(each.name))
    columns = [Column("method")]
    columns += [
        Column(f"fold {fold + 1}", numeric=True, greater_is_better=better)
        for fold in range(len(methods[0].usual))
    ]
    rows = [
        [
            Field(each.label, ours=each.ours),
            *(number_field(value, places) for value in values_of(each, document.measure)),
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
        folds = len(each.usual)
        notes += [
            f"{each.label}, {times} of {folds} folds: {text}"
            for text, times in each.warnings.items()
        ]
        if each.failures:
            first = next(iter(each.failures.values()))
            notes.append(f"{each.label} failed on {len(each.failures)} of {folds} folds: {first}")
    return [NotesBlock(notes)] if notes else []
