"""Compare methods on one dataset by repeated stratified cross-validation."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

from ensemblage.datasets import Dataset
from ensemblage.methods._choice import Candidate, Choice, choose, corrected_error
from ensemblage.methods._compare_cells import Cell, Task, score_cell
from ensemblage.methods._fewer_rows import fewer_rows
from ensemblage.methods._registry import METHODS, get_method
from ensemblage.parallel import draw_seeds, iterate_tasks


@dataclass(frozen=True)
class MethodScores:
    """What one method reached, fold by fold.

    Parameters
    ----------
    name, label : str
        The method.
    ours : bool
        Whether it is one of this library's own methods.
    accuracy, balanced_accuracy, log_loss, seconds : tuple of float
        Per fold; NaN where the fit failed, and for the log loss where there are no probabilities.
    ranks : tuple of float
        Per fold the rank of the accuracy among the methods, 1 for the best, ties averaged.
    failures : mapping of int to str
        The error texts of the folds that failed.
    warnings : mapping of str to int
        What fits warned of, and in how many folds.
    """

    name: str
    label: str
    ours: bool
    accuracy: tuple[float, ...]
    balanced_accuracy: tuple[float, ...]
    log_loss: tuple[float, ...]
    seconds: tuple[float, ...]
    ranks: tuple[float, ...]
    failures: dict[int, str]
    warnings: dict[str, int]

    def mean(self, measure: str) -> float:
        """Average a measure over the folds that did not fail.

        Parameters
        ----------
        measure : {"accuracy", "balanced_accuracy", "log_loss", "seconds", "ranks"}
            Which.

        Returns
        -------
        float
            The mean; NaN if there is no value.
        """
        values = np.array(getattr(self, measure))
        values = values[~np.isnan(values)]
        return float(values.mean()) if len(values) else float("nan")


@dataclass(frozen=True)
class Comparison:
    """Scores of several methods on the same folds of one dataset.

    Parameters
    ----------
    dataset : str
        Its name.
    n_rows, n_features, n_classes : int
        Its size.
    n_splits, n_repeats, seed : int
        The folds.
    methods : tuple of MethodScores
        In the order asked for.
    notes : tuple of str
        What a reader should know about the data.
    quick : bool
        Whether rows were left out to save time.
    """

    dataset: str
    n_rows: int
    n_features: int
    n_classes: int
    n_splits: int
    n_repeats: int
    seed: int
    methods: tuple[MethodScores, ...]
    notes: tuple[str, ...] = ()
    quick: bool = False

    def standard_error(self, values: Sequence[float]) -> float:
        """Estimate the standard error of a mean over the folds.

        Parameters
        ----------
        values : sequence of float
            One per fold; NaN for a fold that failed.

        Returns
        -------
        float
            NaN if there are fewer than two values.

        Notes
        -----
        Corrected for the overlap of the training sets (Nadeau and Bengio, Inference for the
        generalization error, Machine Learning 52, 2003).
        """
        return corrected_error(values, self.n_splits)

    def ranking(self) -> list[MethodScores]:
        """Sort the methods.

        Returns
        -------
        list of MethodScores
            By mean rank, the best first; at equal rank by mean accuracy.
        """
        return sorted(self.methods, key=lambda each: (each.mean("ranks"), -_or_zero(each)))

    def choice(self) -> Choice | None:
        """Choose a method.

        Returns
        -------
        Choice or None
            The most accurate method, or a simpler one that is about as good, and how sure that
            is; None if fewer than two methods have a score on every fold.
        """
        candidates = [
            Candidate(each.name, each.label, _effort(each.name), each.accuracy)
            for each in self.methods
            if not each.failures
        ]
        return choose(candidates, self.n_splits)

    def verdict(self) -> str:
        """Say in one sentence which method to choose, and how sure that is.

        Returns
        -------
        str
            In plain words.
        """
        choice = self.choice()
        if choice is not None:
            return choice.sentence
        if all(len(each.failures) == len(each.accuracy) for each in self.methods):
            return "Every method failed."
        whole = [each.label for each in self.methods if not each.failures]
        if not whole:
            return "No method has a score on every fold, so there is none to choose."
        return f"Only {whole[0]} has a score on every fold; there is nothing to compare it with."


def compare(
    dataset: Dataset,
    methods: Sequence[str],
    *,
    n_splits: int = 5,
    n_repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    new_sources: bool = False,
    quick: bool = False,
    progress: Callable[[int, int], Any] | None = None,
) -> Comparison:
    """Score methods on the same stratified folds.

    Parameters
    ----------
    dataset : Dataset
        The rows.
    methods : sequence of str
        Names of methods, see ``METHODS``.
    n_splits : int, default=5
        Folds per repeat.
    n_repeats : int, default=1
        How often the folds are drawn anew.
    seed : int, default=0
        Folds and fits derive from it; a method's scores do not depend on the other methods.
    n_jobs : int, default=None
        Processes, as in joblib; the scores are the same for any number.
    new_sources : bool, default=False
        Test on sources that were not trained on; the dataset must have ``sources``.
    quick : bool, default=False
        Fit on fewer rows, drawn by class, where there are many: on at most 2,000 for methods
        whose time grows faster than the rows, on at most 20,000 for the others.
    progress : callable, default=None
        Called as ``progress(done, total)`` at the start and after each fit.

    Returns
    -------
    Comparison
        Plain data: scores per method and fold, with means, ranks and failures.

    Examples
    --------
    >>> from ensemblage.datasets import load_dataset
    >>> from ensemblage.methods import compare
    >>> result = compare(load_dataset("iris"), ["majority", "logistic"], n_splits=3)
    >>> [method.name for method in result.ranking()]
    ['logistic', 'majority']
    """
    names = list(dict.fromkeys(methods))
    for name in names:
        get_method(name)
    notes = [
        *dataset.notes,
        *_check_folds(dataset, n_splits, n_repeats),
        *_source_notes(dataset, new_sources),
    ]
    draw = _source_folds if new_sources else _row_folds
    folds = draw(dataset, n_splits, n_repeats, seed)
    n_splits = len(folds) // n_repeats  # fewer than asked for, if there are fewer sources
    tasks = _tasks(folds, names, seed)
    if quick:
        tasks, said = fewer_rows(tasks, dataset.y)
        notes += said
    shared = (dataset.X, dataset.y, dataset.kinds, dataset.sources, new_sources)
    arguments = [(task, *shared) for task in tasks]
    cells: list[Cell | None] = [None] * len(tasks)
    if progress is not None:
        progress(0, len(tasks))
    results = iterate_tasks(score_cell, arguments, n_jobs)
    for done, (index, cell) in enumerate(results, start=1):
        cells[index] = cell
        if progress is not None:
            progress(done, len(tasks))
    grid = {
        name: [cell for task, cell in zip(tasks, cells, strict=True) if task.method == name]
        for name in names
    }
    return Comparison(
        dataset.name, *dataset.X.shape, len(dataset.classes), n_splits, n_repeats, seed,
        methods=_collect(grid), notes=tuple(notes), quick=quick,
    )  # fmt: skip


def _check_folds(dataset: Dataset, n_splits: int, n_repeats: int) -> list[str]:
    """Refuse folds that cannot be drawn; note classes that do not reach every fold."""
    if n_splits < 2:
        raise ValueError(f"The number of folds must be at least 2, got {n_splits}.")
    if n_repeats < 1:
        raise ValueError(f"The number of repeats must be at least 1, got {n_repeats}.")
    counts = dataset.classes
    most = max(counts.values())
    if most < n_splits:
        fewer = f"use at most {most} folds, or" if most > 1 else "bring"
        raise ValueError(
            f"No class has as many rows as there are folds ({n_splits}): {fewer} more rows."
        )
    small = {label: count for label, count in counts.items() if count < n_splits}
    return [
        f"Class {label!r} has {count} row{'s' * (count > 1)}, fewer than the {n_splits} folds: "
        "in some folds it is not tested."
        for label, count in small.items()
    ]


def _row_folds(dataset: Dataset, n_splits: int, n_repeats: int, seed: int) -> list[Any]:
    splitter = RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=n_repeats, random_state=seed)
    with warnings.catch_warnings():
        # A class with fewer rows than folds is in the notes.
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(np.zeros(len(dataset.y)), dataset.y))


def _source_folds(dataset: Dataset, n_splits: int, n_repeats: int, seed: int) -> list[Any]:
    """Folds that keep each source together."""
    if dataset.sources is None:
        raise ValueError("New sources can be tested only if the sources are known: use --source.")
    n_sources = len(np.unique(dataset.sources))
    if n_sources < 2:
        raise ValueError(f"There is {n_sources} source; testing on new ones needs two or more.")
    folds: list[Any] = []
    for own in draw_seeds(seed, n_repeats):
        splitter = StratifiedGroupKFold(min(n_splits, n_sources), shuffle=True, random_state=own)
        folds.extend(splitter.split(np.zeros(len(dataset.y)), dataset.y, dataset.sources))
    return folds


def _source_notes(dataset: Dataset, new_sources: bool) -> list[str]:
    if dataset.sources is None:
        return []
    kept = "each source is in one fold only" if new_sources else "folds mix the sources"
    return [
        (
            f"{len(np.unique(dataset.sources))} sources, used in training only; {kept}. If the "
            "source is known at prediction too, leave --source out, so that it is a column like "
            "any other: that often helps more."
        )
    ]


def _tasks(folds: list[Any], names: Sequence[str], seed: int) -> list[Task]:
    # One seed per fold, not per cell: leaving a method out must not change the others.
    seeds = draw_seeds(seed, len(folds))
    return [
        Task(name, fold, seeds[fold], train, test)
        for fold, (train, test) in enumerate(folds)
        for name in names
    ]


def _collect(grid: dict[str, list[Cell]]) -> tuple[MethodScores, ...]:
    accuracy = np.array([[cell.accuracy for cell in cells] for cells in grid.values()])
    # A method that failed on a fold shares the last ranks there.
    ranks = rankdata(-np.nan_to_num(accuracy, nan=-1.0), axis=0)
    return tuple(
        _method_scores(name, cells, row)
        for (name, cells), row in zip(grid.items(), ranks, strict=True)
    )


def _method_scores(name: str, cells: list[Cell], ranks: np.ndarray) -> MethodScores:
    method = get_method(name)
    said = _grouped([text for cell in cells for text in cell.warnings])
    return MethodScores(
        name=name,
        label=method.label,
        ours=method.ours,
        accuracy=tuple(cell.accuracy for cell in cells),
        balanced_accuracy=tuple(cell.balanced_accuracy for cell in cells),
        log_loss=tuple(cell.log_loss for cell in cells),
        seconds=tuple(cell.seconds for cell in cells),
        ranks=tuple(ranks.tolist()),
        failures={fold: cell.error for fold, cell in enumerate(cells) if cell.error},
        warnings=said,
    )


def _grouped(texts: list[str]) -> dict[str, int]:
    """Count warnings that differ only in their numbers as one, in the words of the first."""
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for text in texts:
        shown = first.setdefault(re.sub(r"[\d, ]+", "#", text), text)
        counts[shown] = counts.get(shown, 0) + 1
    return counts


def _or_zero(scores: MethodScores) -> float:
    return float(np.nan_to_num(scores.mean("accuracy")))


def _effort(name: str) -> int:
    return METHODS[name].effort if name in METHODS else 0
