"""Compare methods on one dataset: a study of one row of cells per fold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ensemblage.datasets import DataCard, Dataset, dataset_fingerprint
from ensemblage.methods._choice import chosen, summarised, verdict
from ensemblage.methods._method_documents import Comparison, MethodScores
from ensemblage.methods._registry import get_method
from ensemblage.methods._study import MethodPoint, Scores, Splits, Study, StudyParams, scores_of
from ensemblage.methods._study_cell import fewer_rows_notes, study_experiment, within_reach
from ensemblage.runs import CellResult, ResultStore, run_experiment

# So many values, and a fit may take less time than to start a worker for it.
SMALL = 50_000


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
    store: ResultStore | None = None,
    budget: float | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    progress: Callable[[int, int], Any] | None = None,
) -> Comparison:
    """Score methods on the same stratified folds.

    The same data, method, seed and folds give the same scores as in an experiment declared in a
    TOML file.

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
    store : ResultStore, default=None
        Where scores are kept as they come, and what is there is not computed again; None keeps
        them in memory.
    budget : float, default=None
        Seconds after which no new fit is started; the comparison is then of the folds that every
        method has.
    scheduler : str, default=None
        Address of a Dask scheduler whose workers compute instead of local ones.
    retry_failed : bool, default=False
        Whether fits that failed earlier, by what the store says, are tried again.
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
    >>> [row.method for row in result.summary]
    ['logistic', 'majority']
    """
    names = dict.fromkeys(methods)
    points = tuple(MethodPoint(name, get_method(name).label, {}) for name in names)
    classes, rows_hash = dataset.classes, dataset_fingerprint(dataset)
    notes = [*dataset.notes, *_fold_notes(classes, n_splits, n_repeats)]
    notes += _source_notes(dataset, new_sources)
    if new_sources:
        n_splits = min(n_splits, _n_sources(dataset))
    splits = Splits(seed, n_repeats, n_splits, new_sources=new_sources, quick=quick)
    if quick:
        folds = [splits.rows(dataset, *place) for place in splits.places()]
        notes += fewer_rows_notes(folds, [get_method(name) for name in names])
    study = Study("compare", f"Methods on {dataset.name}", (dataset.name,), points, splits)
    with within_reach(dataset, scheduler) as place:
        experiment = study_experiment(study, {dataset.name: place}, {dataset.name: rows_hash})
        results = run_experiment(
            experiment, store, n_jobs=n_jobs, budget=budget, scheduler=scheduler,
            progress=progress, retry_failed=retry_failed, small=dataset.X.size <= SMALL,
        )  # fmt: skip
    if len(results) < len(experiment.cells):
        notes.append(
            f"Stopped by the budget after {len(results)} of {len(experiment.cells)} fits; scores "
            "are of the folds that every method has."
        )
    return _comparison(dataset, study, results, notes)


def _comparison(
    dataset: Dataset, study: Study, results: Sequence[CellResult], notes: Sequence[str]
) -> Comparison:
    splits = study.splits
    methods = _method_scores(study, results)
    choice = chosen(methods, splits.share)
    n_rows, n_features = dataset.X.shape
    return Comparison(
        dataset=dataset.name,
        n_rows=n_rows,
        n_features=n_features,
        n_classes=len(dataset.classes),
        n_splits=len(splits.places()) // splits.repeats,
        n_repeats=splits.repeats,
        seed=splits.seed,
        notes=tuple(notes),
        quick=splits.quick,
        finished=len(results) == len(study.methods) * len(splits.places()),
        summary=summarised(methods, splits.share),
        verdict=verdict(methods, choice),
        choice=choice,
        methods=methods,
        data=DataCard.of_dataset(dataset),
    )


def _fold_notes(classes: dict[str, int], n_splits: int, n_repeats: int) -> list[str]:
    """Refuse folds that cannot be drawn; note classes that do not reach every fold."""
    if n_splits < 2:
        raise ValueError(f"`n_splits`, the number of folds, must be at least 2, got {n_splits}.")
    if n_repeats < 1:
        raise ValueError(
            f"`n_repeats`, how often they are drawn, must be at least 1, got {n_repeats}."
        )
    most = max(classes.values())
    if most < n_splits:
        fewer = f"use at most {most} folds, or" if most > 1 else "bring"
        raise ValueError(
            f"No class has as many rows as there are folds ({n_splits}): {fewer} more rows."
        )
    small = {label: count for label, count in classes.items() if count < n_splits}
    return [
        f"Class {label!r} has {count} row{'s' * (count > 1)}, fewer than the {n_splits} folds: "
        "in some folds it is not tested."
        for label, count in small.items()
    ]


def _n_sources(dataset: Dataset) -> int:
    if dataset.sources is None:
        raise ValueError(
            "New sources can be tested only if the sources are known: name their column by "
            "`source_column`."
        )
    n_sources = len(np.unique(dataset.sources))
    if n_sources < 2:
        raise ValueError(f"There is {n_sources} source; testing on new ones needs two or more.")
    return n_sources


def _source_notes(dataset: Dataset, new_sources: bool) -> list[str]:
    if dataset.sources is None:
        return []
    kept = "each source is in one fold only" if new_sources else "folds mix the sources"
    text = (
        f"{len(np.unique(dataset.sources))} sources, used in training only; {kept}. If the source "
        "is known at prediction too, leave `source_column` out, so that it is a column like any "
        "other: that often helps more."
    )
    return [text]


def _method_scores(study: Study, results: Sequence[CellResult]) -> tuple[MethodScores, ...]:
    """Scores on the folds that every method has, ranked fold by fold."""
    found: dict[tuple[str, int, int], CellResult] = {}
    for each in results:
        params = StudyParams.of(each.cell)
        found[params.method, params.repeat, params.fold] = each
    names = [point.name for point in study.methods]
    places = [
        place for place in study.splits.places() if all((name, *place) in found for name in names)
    ]
    grid = {name: [found[name, *place] for place in places] for name in names}
    scores = {name: [scores_of(each) for each in row] for name, row in grid.items()}
    accuracy = [
        [-1.0 if each is None else each.accuracy for each in scores[name]] for name in names
    ]
    # A method that failed on a fold shares the last ranks there.
    ranks = rankdata(-np.array(accuracy), axis=0)
    return tuple(
        _scores_of(name, row, scores[name], tuple(own.tolist()))
        for (name, row), own in zip(grid.items(), ranks, strict=True)
    )


def _scores_of(
    name: str,
    results: Sequence[CellResult],
    scores: Sequence[Scores | None],
    ranks: tuple[float, ...],
) -> MethodScores:
    method = get_method(name)
    return MethodScores(
        name=name,
        label=method.label,
        ours=method.ours,
        accuracy=tuple(None if each is None else each.accuracy for each in scores),
        balanced_accuracy=tuple(
            None if each is None else each.balanced_accuracy for each in scores
        ),
        log_loss=tuple(None if each is None else each.log_loss for each in scores),
        seconds=tuple(None if each.error else each.seconds for each in results),
        ranks=ranks,
        failures={fold: each.error for fold, each in enumerate(results) if each.error},
        warnings=_grouped([text for each in scores if each is not None for text in each.warnings]),
    )


def _grouped(texts: Sequence[str]) -> dict[str, int]:
    """Count warnings that differ only in their numbers as one, in the words of the first."""
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for text in texts:
        shown = first.setdefault(re.sub(r"[\d, ]+", "#", text), text)
        counts[shown] = counts.get(shown, 0) + 1
    return counts
