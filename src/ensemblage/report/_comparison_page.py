"""The page of ``ensemblage compare``."""

from __future__ import annotations

from collections.abc import Sequence

from ensemblage.methods import Comparison, SummaryRow
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

COLUMNS = (
    Column("method"),
    Column("accuracy", numeric=True, greater_is_better=True),
    Column("balanced accuracy", numeric=True, greater_is_better=True),
    Column("log loss", numeric=True, greater_is_better=False),
    Column("mean rank", numeric=True, greater_is_better=False),
    Column("seconds", numeric=True),
)
LEGEND = (
    "± is a standard error, corrected for the overlap of the folds. Seconds are per fold, on one "
    "core. A dash stands where a method gives no probabilities, or has failed."
)


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
    >>> result = compare(load_dataset("iris"), ["majority", "logistic"], n_splits=3)
    >>> comparison_page(result).title
    'Methods compared on iris'
    """
    rows = document.summary
    sections = [
        Section("Scores", [_bars(rows), _scores(rows)]),
        Section("Differences", difference_blocks(document)),
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
        ("classes", f"{document.n_classes:,}"),
        ("folds", folds),
        ("seed", str(document.seed)),
    ]
    choice = document.choice
    return FactsBlock(facts if choice is None else [*facts, ("choice", choice.label)])


def _summary(document: Comparison) -> list[str]:
    scored = [row for row in document.summary if row.accuracy is not None]
    told = [document.verdict]
    ours = next((row for row in scored if row.ours), None)
    others = next((row for row in scored if not row.ours), None)
    if ours is not None and others is not None:
        told.append(
            f"Of this library's methods {ours.label} ranks best, with an accuracy of "
            f"{_accuracy(ours)}; of the others {others.label}, with {_accuracy(others)}."
        )
    return told


def _accuracy(row: SummaryRow) -> str:
    error = "" if row.accuracy_se is None else f" ± {row.accuracy_se:.4f}"
    return f"{row.accuracy:.4f}{error}"


def _bars(rows: Sequence[SummaryRow]) -> BarsBlock:
    bars = [
        Bar(
            row.label, row.accuracy,
            "failed" if row.accuracy is None else f"{row.accuracy:.4f}",
            error=row.accuracy_se, strong=row.ours,
        )
        for row in rows
    ]  # fmt: skip
    return BarsBlock(
        bars, "Mean accuracy with its standard error, best mean rank first; methods of this "
        "library in colour."
    )  # fmt: skip


def _scores(rows: Sequence[SummaryRow]) -> TableBlock:
    fields = [
        [
            Field(row.label, tag="Ensemblage" if row.ours else ""),
            number_field(row.accuracy, 4, row.accuracy_se),
            number_field(row.balanced_accuracy, 4),
            number_field(row.log_loss, 3),
            number_field(row.mean_rank, 2),
            number_field(row.seconds, 2),
        ]
        for row in rows
    ]
    return TableBlock(COLUMNS, mark_best(COLUMNS, fields), "Means over the folds", LEGEND)


def _folds(document: Comparison) -> TableBlock:
    """Accuracy of each method on each fold, the best of a fold marked."""
    order = [row.method for row in document.summary]
    methods = sorted(document.methods, key=lambda each: order.index(each.name))
    columns = [Column("method")]
    columns += [
        Column(f"fold {fold + 1}", numeric=True, greater_is_better=True)
        for fold in range(len(methods[0].accuracy))
    ]
    rows = [
        [Field(each.label), *(number_field(value, 4) for value in each.accuracy)]
        for each in methods
    ]
    return TableBlock(columns, mark_best(columns, rows), "Accuracy on each fold")


def _notes(document: Comparison) -> list[Block]:
    known = () if document.data is None else document.data.notes
    notes = [text for text in document.notes if text not in known]
    for each in document.methods:
        folds = len(each.accuracy)
        notes += [
            f"{each.label}, {times} of {folds} folds: {text}"
            for text, times in each.warnings.items()
        ]
        if each.failures:
            first = next(iter(each.failures.values()))
            notes.append(f"{each.label} failed on {len(each.failures)} of {folds} folds: {first}")
    return [NotesBlock(notes)] if notes else []
