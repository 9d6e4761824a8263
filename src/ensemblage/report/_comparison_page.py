"""The page of ``ensemblage compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    TextBlock,
    mark_best,
    number_field,
)
from ensemblage.report._rank_figure import critical_difference_figure

COLUMNS = (
    Column("method"),
    Column("accuracy", numeric=True, greater_is_better=True),
    Column("balanced accuracy", numeric=True, greater_is_better=True),
    Column("log loss", numeric=True, greater_is_better=False),
    Column("mean rank", numeric=True, greater_is_better=False),
    Column("seconds", numeric=True),
)
LEGEND = (
    "± is a standard error, corrected for the overlap of the folds. Seconds are per fit, on one "
    "core. A dash stands where a method gives no probabilities, or has failed."
)

DEPENDENT = (
    "Ranks are of the accuracy, fold by fold. The folds share training rows, so that they are not "
    "independent: the test takes small differences for more certain than they are."
)


def comparison_page(document: Mapping[str, Any]) -> Page:
    """Tell what a comparison of methods shows.

    Parameters
    ----------
    document : mapping
        What ``ensemblage compare --json`` prints: a :class:`ensemblage.methods.Comparison` as
        plain data.

    Returns
    -------
    Page
        To be rendered.

    Examples
    --------
    >>> from ensemblage.datasets import load_dataset
    >>> from msgspec import to_builtins
    >>> from ensemblage.methods import compare
    >>> from ensemblage.report import comparison_page
    >>> result = compare(load_dataset("iris"), ["majority", "logistic"], n_splits=3)
    >>> comparison_page(to_builtins(result, str_keys=True)).title
    'Methods compared on iris'
    """
    rows = document["summary"]
    sections = [
        Section("Scores", [_bars(rows), _scores(rows)]),
        Section("Ranks", _ranks(document)),
        Section("Fold by fold", [_folds(document)]),
        Section("Notes", _notes(document)),
    ]
    return Page(
        f"Methods compared on {document['dataset']}", "comparison", _summary(document),
        _facts(document), sections,
    )  # fmt: skip


def _facts(document: Mapping[str, Any]) -> FactsBlock:
    folds = f"{document['n_splits']}"
    if document["n_repeats"] > 1:
        folds += f" by {document['n_repeats']}"
    names = {"n_rows": "rows", "n_features": "columns", "n_classes": "classes"}
    facts = [(name, f"{document[key]:,}") for key, name in names.items()]
    facts += [("folds", folds), ("seed", str(document["seed"]))]
    choice = document.get("choice")
    return FactsBlock(facts if choice is None else [*facts, ("choice", choice["label"])])


def _summary(document: Mapping[str, Any]) -> list[str]:
    scored = [row for row in document["summary"] if row["accuracy"] is not None]
    told = [document["verdict"]]
    ours = next((row for row in scored if row["ours"]), None)
    others = next((row for row in scored if not row["ours"]), None)
    if ours is not None and others is not None:
        told.append(
            f"Of this library's methods {ours['label']} ranks best, with an accuracy of "
            f"{_accuracy(ours)}; of the others {others['label']}, with {_accuracy(others)}."
        )
    return told


def _accuracy(row: Mapping[str, Any]) -> str:
    error = "" if row["accuracy_se"] is None else f" ± {row['accuracy_se']:.4f}"
    return f"{row['accuracy']:.4f}{error}"


def _bars(rows: Sequence[Mapping[str, Any]]) -> BarsBlock:
    bars = [
        Bar(
            row["label"], row["accuracy"],
            "failed" if row["accuracy"] is None else f"{row['accuracy']:.4f}",
            error=row["accuracy_se"], strong=row["ours"],
        )
        for row in rows
    ]  # fmt: skip
    return BarsBlock(
        bars, "Mean accuracy with its standard error, best mean rank first; methods of this "
        "library in colour."
    )  # fmt: skip


def _scores(rows: Sequence[Mapping[str, Any]]) -> TableBlock:
    cells = [
        [
            Field(row["label"], tag="Ensemblage" if row["ours"] else ""),
            number_field(row["accuracy"], 4, row["accuracy_se"]),
            number_field(row["balanced_accuracy"], 4),
            number_field(row["log_loss"], 3),
            number_field(row["mean_rank"], 2),
            number_field(row["seconds"], 2),
        ]
        for row in rows
    ]
    return TableBlock(COLUMNS, mark_best(COLUMNS, cells), "Means over the folds", LEGEND)


def _ranks(document: Mapping[str, Any]) -> list[Block]:
    """Mean ranks over the folds on which every method has a score."""
    methods = [each for each in document["methods"] if None not in each["accuracy"]]
    n_folds = len(document["methods"][0]["accuracy"])
    if len(methods) < 2 or n_folds < 2:
        return []
    scores = [[each["accuracy"][fold] for each in methods] for fold in range(n_folds)]
    figure = critical_difference_figure(
        [each["label"] for each in methods], scores, greater_is_better=True,
        over=f"{n_folds} folds",
    )  # fmt: skip
    left = len(document["methods"]) - len(methods)
    told = [DEPENDENT]
    if left:
        told.append(f"{left} of the methods failed on some fold and are left out here.")
    return [figure, TextBlock(told)]


def _folds(document: Mapping[str, Any]) -> TableBlock:
    """Accuracy of each method on each fold, the best of a fold marked."""
    order = [row["method"] for row in document["summary"]]
    methods = sorted(document["methods"], key=lambda each: order.index(each["name"]))
    columns = [Column("method")]
    columns += [
        Column(f"fold {fold + 1}", numeric=True, greater_is_better=True)
        for fold in range(len(methods[0]["accuracy"]))
    ]
    rows = [
        [Field(each["label"]), *(number_field(value, 4) for value in each["accuracy"])]
        for each in methods
    ]
    return TableBlock(columns, mark_best(columns, rows), "Accuracy on each fold")


def _notes(document: Mapping[str, Any]) -> list[Block]:
    notes = list(document["notes"])
    for each in document["methods"]:
        folds = len(each["accuracy"])
        notes += [
            f"{each['label']}, {times} of {folds} folds: {text}"
            for text, times in each["warnings"].items()
        ]
        if each["failures"]:
            first = next(iter(each["failures"].values()))
            notes.append(
                f"{each['label']} failed on {len(each['failures'])} of {folds} folds: {first}"
            )
    return [NotesBlock(notes)] if notes else []
