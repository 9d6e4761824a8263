"""The page of ``ensemblage compare``."""

from __future__ import annotations

from ensemblage.methods import LABELS, Comparison, SummaryRow, values_of
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

MEASURES = {"accuracy": 4, "balanced_accuracy": 4, "log_loss": 3, "auc": 4, "f1": 4}
"""Measures in the order of the table, with how many decimals are shown."""
LEGEND = (
    "± is a standard error, corrected for the overlap of the folds. Seconds are per fold, on one "
    "core. A dash stands where a method gives no probabilities, or has failed. AUC is of each "
    "class against the rest, F1 of each class, both averaged."
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
    >>> result = compare(load_dataset("iris"), methods=["majority", "logistic"], n_splits=3)
    >>> comparison_page(result).title
    'Methods compared on iris'
    """
    sections = [
        Section("Scores", [_bars(document), _scores(document)]),
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
        ("measure", LABELS[document.measure]),
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
    error = "" if row.score_se is None else f" ± {row.score_se:.4f}"
    return f"{LABELS[document.measure]} {row.score:.4f}{error}"


def _bars(document: Comparison) -> BarsBlock:
    bars = [
        Bar(
            row.label, row.score,
            "failed" if row.accuracy is None else "-" if row.score is None else f"{row.score:.4f}",
            error=row.score_se, ours=row.ours,
        )
        for row in document.summary
    ]  # fmt: skip
    return BarsBlock(
        bars, f"Mean {LABELS[document.measure]} with its standard error, best first. "
        "◆ marks the methods of this library."
    )  # fmt: skip


def _scores(document: Comparison) -> TableBlock:
    names = sorted(MEASURES, key=lambda name: name != document.measure)
    columns = [
        Column("method"),
        *(Column(LABELS[name], numeric=True, greater_is_better=name != "log_loss")
          for name in names),
        Column("mean rank", numeric=True, greater_is_better=False),
        Column("seconds", numeric=True),
    ]  # fmt: skip
    fields = [
        [
            Field(row.label, ours=row.ours),
            number_field(row.score, MEASURES[names[0]], row.score_se),
            *(number_field(getattr(row, name), MEASURES[name]) for name in names[1:]),
            number_field(row.mean_rank, 2),
            number_field(row.seconds, 2),
        ]
        for row in document.summary
    ]
    return TableBlock(columns, mark_best(columns, fields), "Means over the folds", LEGEND)


def _folds(document: Comparison) -> TableBlock:
    """Score of each method on each fold, the best of a fold marked."""
    better = document.measure != "log_loss"
    label = LABELS[document.measure]
    order = [row.method for row in document.summary]
    methods = sorted(document.methods, key=lambda each: order.index(each.name))
    columns = [Column("method")]
    columns += [
        Column(f"fold {fold + 1}", numeric=True, greater_is_better=better)
        for fold in range(len(methods[0].accuracy))
    ]
    rows = [
        [
            Field(each.label, ours=each.ours),
            *(number_field(value, 4) for value in values_of(each, document.measure)),
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
        folds = len(each.accuracy)
        notes += [
            f"{each.label}, {times} of {folds} folds: {text}"
            for text, times in each.warnings.items()
        ]
        if each.failures:
            first = next(iter(each.failures.values()))
            notes.append(f"{each.label} failed on {len(each.failures)} of {folds} folds: {first}")
    return [NotesBlock(notes)] if notes else []
