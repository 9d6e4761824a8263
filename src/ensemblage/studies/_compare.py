"""Methods compared on one dataset."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace
from scipy.stats import rankdata

from ensemblage._core import Field, Heading, TableBlock, count, html_table, listed, text_table
from ensemblage.datasets import Dataset, DataSummary, dataset_fingerprint
from ensemblage.evaluation import (
    MEASURES,
    REGRESSION,
    TASKS,
    PredictedNumbers,
    Task,
    source_residuals,
)
from ensemblage.studies._choice import Design, chosen, summarised, verdict
from ensemblage.studies._documents import Comparison, MethodScores, Residuals
from ensemblage.studies._experiment import CellResult
from ensemblage.studies._measures import (
    LABELS,
    check_measure,
    gains,
    is_uneven,
    measure_for,
    values_of,
)
from ensemblage.studies._methods import (
    Given,
    Method,
    cell_cost,
    digest_of,
    expected_seconds,
    named_methods,
    wide_notes,
)
from ensemblage.studies._runner import run_experiment
from ensemblage.studies._scores import NumberScores, Scores
from ensemblage.studies._store import ResultStore
from ensemblage.studies._study import (
    TEST_ROWS,
    MethodPoint,
    Splits,
    Study,
    StudyParams,
    fold_rows,
    quick_notes,
    scores_of,
    study_experiment,
    train_rows,
    within_reach,
)

if TYPE_CHECKING:
    from ensemblage.studies._documents import SummaryRow


AUTO = "auto"


MOST_ROWS = 2000
"""Of more, so many in equal steps are told."""


def kept_residuals(
    dataset: Dataset, method: Method, results: Sequence[CellResult]
) -> Residuals | None:
    """Gather what a method's cells have kept of their first repeat; None if that is nothing."""
    rows, predicted, intervals = [], [], []
    for result in results:
        params, scores = StudyParams.of(result.cell), scores_of(result, REGRESSION)
        if params.method == method.name and params.repeat == 0 and isinstance(scores, NumberScores):
            rows.append(fold_rows(dataset, method, params).test[scores.kept.places])
            predicted.append(scores.kept.predicted)
            intervals.append(scores.kept.intervals)
    if not rows:
        return None
    order = np.argsort(np.concatenate(rows), kind="stable")
    taken = order[:: -(-len(order) // MOST_ROWS)]
    own = np.concatenate(rows)[taken]
    told = [each for each in intervals if each is not None]
    found = PredictedNumbers(
        dataset.y[own],
        np.concatenate(predicted)[taken],
        np.concatenate(told)[taken] if len(told) == len(intervals) else None,
        None if dataset.sources is None else dataset.sources[own],
    )
    return Residuals(
        method=method.name, label=method.label, numbers=tuple(found.y.tolist()),
        predicted=tuple(found.predicted.tolist()),
        intervals=None if found.intervals is None else tuple(map(tuple, found.intervals.tolist())),
        row_sources=None if found.sources is None else tuple(found.sources.tolist()),
        sources=source_residuals(found),
    )  # fmt: skip


MARK = "*"
# Of the other measures so many fit beside the one that decides, at 80 places.
MOST_BESIDE = 3
HEADINGS = {name: each.heading for name, each in MEASURES.items()}


def comparison_block(result: Comparison) -> TableBlock:
    """Lay out the means, the deciding measure with its standard error."""
    beside = _beside(result)
    heads = ["method", HEADINGS[result.measure], *(HEADINGS[name] for name in beside), "seconds"]
    columns = [Heading(head, numeric=head != "method") for head in heads]
    return TableBlock(
        columns,
        [[Field(text) for text in _texts(row, result.measure, beside)] for row in result.summary],
        "",
        _legend(result),
    )


def _beside(result: Comparison) -> list[str]:
    """Choose further measures to show: those of classes always, others where there is a value."""
    names = [name for name in TASKS[result.task].measures if name != result.measure]
    if result.n_classes is None:
        names = [
            name for name in names if any(getattr(row, name) is not None for row in result.summary)
        ]
    return names[:MOST_BESIDE]


def comparison_title(result: Comparison) -> str:
    """Say what was compared on what."""
    repeats = f", repeated {result.n_repeats} times" if result.n_repeats > 1 else ""
    what = "numbers" if result.n_classes is None else f"{result.n_classes} classes"
    return (
        f"{result.dataset}: {count(result.n_rows, 'row')}, {count(result.n_features, 'column')}, "
        f"{what}; {result.n_splits} folds{repeats}, seed {result.seed}"
    )


def comparison_text(result: Comparison) -> str:
    """Write all that for a terminal."""
    block = comparison_block(result)
    parts = [comparison_title(result), "", text_table(block), "", block.legend, *_said(result)]
    return "\n".join(parts)


def comparison_html(result: Comparison) -> str:
    """Write all that for a notebook."""
    said = "".join(f"<p>{escape(text)}</p>" for text in _said(result))
    return f"<p>{escape(comparison_title(result))}</p>{html_table(comparison_block(result))}{said}"


def _said(result: Comparison) -> list[str]:
    return [result.verdict, *([] if result.choice is None else [result.choice.detail])]


def _legend(result: Comparison) -> str:
    order = f"{'more' if MEASURES[result.measure].greater_is_better else 'less'} is better"
    ours = f"{MARK} a method of this library; " if any(row.ours for row in result.summary) else ""
    return (
        f"{ours}by {HEADINGS[result.measure]}, {order}; ± is a standard error; seconds are per "
        "fold, on one core"
    )


def _texts(row: SummaryRow, measure: str, beside: list[str]) -> list[str]:
    name = f"{row.label} {MARK}" if row.ours else row.label
    if row.usual is None:
        return [name, "failed", *[""] * (len(beside) + 1)]
    score = "-" if row.score is None else MEASURES[measure].with_error(row.score, row.score_se)
    return [name, score, *(_number(row, each) for each in beside), _time(row.seconds)]


def _number(row: SummaryRow, measure: str) -> str:
    value = getattr(row, measure)
    return "-" if value is None else MEASURES[measure].written(value)


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.{2 if seconds < 100 else 0}f}"


# So many values, and a fit may take less time than to start a worker for it.
SMALL = 50_000


def compare(
    X: Any,
    y: Any = None,
    methods: Given = None,
    *,
    task: str | None = None,
    measure: str = AUTO,
    groups: Any = None,
    sources: Any = None,
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
    """Score methods on the same stratified folds, and say which to take.

    The same data, method, seed and folds give the same scores as in an experiment declared in a
    TOML file.

    Parameters
    ----------
    X : Dataset, array-like or frame of shape (n_rows, n_columns)
        The rows. Arrays and frames (pandas, polars, Arrow) may hold numbers, words, dates and
        gaps.
    y : array-like of shape (n_rows,), default=None
        The class of each row, or the number to predict; a Dataset has them in itself. Rows
        without one are left out.
    methods : sequence or mapping, default=None
        Names of methods, see ``METHODS`` and ``NUMBER_METHODS``, and classifiers or regressors of
        your own; a mapping calls each by a name of yours. None takes every method that the rows
        allow. An estimator is given numbers without gaps, as every method is; a Pipeline is given
        the rows as they are, as an array.
    task : {"classification", "regression"}, default=None
        Whether ``y`` holds classes or numbers. By default words are classes, and so are numbers
        of which there are few: five different ones at most, or twenty whole ones that occur twice
        or more on average.
    measure : str, default="auto"
        What decides order, ranks, tests and choice: of classes "accuracy", "balanced_accuracy",
        "log_loss", "auc" or "f1", of numbers "rmse", "mae", "r2" or "log_score". "auto" is RMSE
        for numbers, and accuracy for classes, unless the largest class has more than 1.5 times
        its share among even ones (75 % of two classes, 50 % of three); then it is log loss, or
        balanced accuracy where a method gives no probabilities. AUC is of each class against the
        rest, F1 of each class, both averaged. The log score is for methods that give a spread.
    groups : array-like of shape (n_rows,), default=None
        Rows that belong together, such as those of one patient: each group is in one fold only.
    sources : array-like of shape (n_rows,), default=None
        Where each row comes from, known in training only.
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
        Fit on fewer rows, drawn by class, where there are many: on at most 1,000 for methods
        whose time grows faster than the rows, on at most 4,000 for the others, tested on at most
        3,000 per fold. Some methods tune less, and variants are only run if they are named.
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
        Plain data: scores per method and fold, with means, ranks and failures; shown as a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from ensemblage.studies import compare
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> result = compare(X, y, {"majority": "majority", "Gaussians": GaussianNB()}, n_splits=3)
    >>> [row.method for row in result.summary]
    ['Gaussians', 'majority']
    >>> result.measure
    'accuracy'
    """
    check_measure(measure)
    if groups is not None and sources is not None:
        raise ValueError("`groups` and `sources` exclude each other: rows have one or the other.")
    dataset = Dataset.from_arrays(X, y, sources=sources if groups is None else groups, task=task)
    check_measure(measure, dataset.task)
    new_sources = new_sources or groups is not None
    known = dataset.sources is not None and groups is None
    n_columns = dataset.X.shape[1]
    found = named_methods(
        methods, task=dataset.task, sources=known, quick=quick, n_columns=n_columns
    )
    notes = [*dataset.notes, *_fold_notes(dataset, n_splits, n_repeats)]
    notes += wide_notes(dataset.task, quick, n_columns) if methods is None else []
    notes += _source_notes(dataset, found, new_sources) if groups is None else []
    if new_sources:
        n_splits = min(n_splits, _n_sources(dataset))
    splits = Splits(seed, n_repeats, n_splits, new_sources=new_sources, quick=quick)
    if quick:
        folds = [splits.rows(dataset, *place) for place in splits.places()]
        notes += quick_notes(folds, list(found.values()))
    seconds = {
        name: expected_seconds(each, train_rows(each, len(dataset.y), splits))
        for name, each in found.items()
    }
    # the slowest first: soon it is known how long all will take, and workers end together
    order = sorted(found, key=lambda name: -seconds[name])
    points = tuple(
        MethodPoint(name, found[name].label, {}, digest_of(found[name])) for name in order
    )
    study = Study(
        "compare", f"Methods on {dataset.name}", (dataset.name,), points, splits, measure,
        dataset.task,
    )  # fmt: skip
    rows_hash = dataset_fingerprint(dataset)
    with within_reach(dataset, scheduler) as place:
        experiment = study_experiment(
            study, {dataset.name: place}, {dataset.name: rows_hash}, methods=found
        )
        experiment = dataclasses.replace(experiment, cost=partial(cell_cost, seconds=seconds))
        results = run_experiment(
            experiment, store, n_jobs=n_jobs, budget=budget, scheduler=scheduler,
            progress=progress, retry_failed=retry_failed, small=dataset.X.size <= SMALL,
        )  # fmt: skip
    if len(results) < len(experiment.cells):
        notes.append(
            f"Stopped by the budget after {len(results)} of {len(experiment.cells)} fits; scores "
            "are of the folds that every method has."
        )
    comparison = comparison_of(dataset, study, _method_scores(study, found, results), notes)
    if dataset.task is not REGRESSION:
        return comparison
    choice = comparison.choice
    shown = found[comparison.summary[0].method if choice is None else choice.method]
    return replace(comparison, residuals=kept_residuals(dataset, shown, results))


def comparison_of(
    dataset: Dataset, study: Study, methods: tuple[MethodScores, ...], notes: Sequence[str]
) -> Comparison:
    """Rank, summarise and test what the methods have scored."""
    splits, asked = study.splits, study.measure
    measure = measure_for(asked, dataset, methods)
    methods = _ranked(methods, measure)
    n_rows, n_features = dataset.X.shape
    tested = min(n_rows, TEST_ROWS * (splits.folds or 1)) if splits.quick else n_rows
    design = Design(measure, splits.share, tested)
    choice = chosen(methods, design)
    return Comparison(
        dataset=dataset.name,
        n_rows=n_rows,
        n_features=n_features,
        n_classes=len(dataset.classes) or None,
        task=dataset.task.name,
        n_splits=len(splits.places()) // splits.repeats,
        n_repeats=splits.repeats,
        seed=splits.seed,
        notes=(*notes, *_measure_notes(dataset, asked, measure, methods)),
        quick=splits.quick,
        finished=all(len(each.usual) == len(splits.places()) for each in methods),
        measure=measure,
        summary=summarised(methods, design),
        verdict=verdict(methods, choice, measure),
        choice=choice,
        methods=methods,
        data=DataSummary.of_dataset(dataset),
    )


def _measure_notes(
    dataset: Dataset, asked: str, measure: str, methods: Sequence[MethodScores]
) -> list[str]:
    """Say why it is that measure, and for whom there is none."""
    notes = []
    if asked == AUTO and is_uneven(dataset.classes) and len(methods) > 1:
        share = max(dataset.classes.values()) / len(dataset.y)
        notes.append(
            f"The largest class has {share:.0%} of the rows, so that methods are judged by "
            f"{LABELS[measure]} rather than by accuracy; `measure` asks for another."
        )
    silent = [each.label for each in methods if _is_silent(each, measure)]
    if silent:
        give = "gives" if len(silent) == 1 else "give"
        notes.append(
            f"{', '.join(silent)} {give} nothing to compute {LABELS[measure]} from, and cannot be "
            "chosen by it."
        )
    return notes


def _is_silent(method: MethodScores, measure: str) -> bool:
    """Whether a method that did not fail has no value of a measure."""
    pairs = zip(values_of(method, measure), method.usual, strict=True)
    return any(value is None and usual is not None for value, usual in pairs)


def _ranked(methods: Sequence[MethodScores], measure: str) -> tuple[MethodScores, ...]:
    """Rank methods fold by fold; those without a value on a fold share the last ranks there."""
    turned = np.array([gains(values_of(each, measure), measure) for each in methods])
    ranks = rankdata(-np.nan_to_num(turned, nan=-np.inf), axis=0)
    return tuple(
        replace(each, ranks=tuple(own.tolist())) for each, own in zip(methods, ranks, strict=True)
    )


def _fold_notes(dataset: Dataset, n_splits: int, n_repeats: int) -> list[str]:
    """Refuse folds that cannot be drawn; note classes that do not reach every fold."""
    if n_splits < 2:
        raise ValueError(f"`n_splits`, the number of folds, must be at least 2, got {n_splits}.")
    if n_repeats < 1:
        raise ValueError(
            f"`n_repeats`, how often they are drawn, must be at least 1, got {n_repeats}."
        )
    most = dataset.most_folds
    if most < n_splits:
        fewer = f"use at most {most} folds, or" if most > 1 else "bring"
        few = "No class has" if dataset.classes else "There are not twice"
        raise ValueError(f"{few} as many rows as there are folds ({n_splits}): {fewer} more rows.")
    small = {label: count for label, count in dataset.classes.items() if count < n_splits}
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


def _source_notes(
    dataset: Dataset, methods: Mapping[str, Method], new_sources: bool
) -> Iterator[str]:
    if dataset.sources is None:
        return
    n_sources = len(np.unique(dataset.sources))
    if new_sources:
        yield (
            f"{n_sources} sources, left out of training one after the other, as if they were new: "
            "scores are what to expect of a new source."
        )
        return
    told = [each.label for each in methods.values() if "sources" in each.takes]
    knowing = f"known to {listed(told)} alone" if told else "which no method here is told"
    yield (
        f"{n_sources} sources, {knowing}; folds mix them, so that scores are for known sources: "
        "`new_sources` tells what to expect of a new one. Leave `source_column` out to give the "
        "source to all methods, as a column like any other."
    )


def _method_scores(
    study: Study, methods: Mapping[str, Method], results: Sequence[CellResult]
) -> tuple[MethodScores, ...]:
    """Scores on the folds that every method has; not ranked yet."""
    found: dict[tuple[str, int, int], CellResult] = {}
    for each in results:
        params = StudyParams.of(each.cell)
        found[params.method, params.repeat, params.fold] = each
    places = [
        place for place in study.splits.places() if all((name, *place) in found for name in methods)
    ]
    return tuple(
        _scores_of(name, method, [found[name, *place] for place in places], study.task)
        for name, method in methods.items()
    )


def _scores_of(
    name: str, method: Method, results: Sequence[CellResult], task: Task
) -> MethodScores:
    scores = [scores_of(each, task) for each in results]

    def by(measure: str) -> tuple[float | None, ...]:
        if measure not in task.measures:
            return ()
        return tuple(None if each is None else getattr(each, measure) for each in scores)

    return MethodScores(
        name=name,
        label=method.label,
        ours=method.ours,
        effort=method.effort,
        **{measure: by(measure) for measure in MEASURES},
        seconds=tuple(None if each.error else each.seconds for each in results),
        ranks=(),
        failures={fold: each.error for fold, each in enumerate(results) if each.error},
        warnings=_grouped([each for each in scores if each is not None]),
    )


def _grouped(scores: Sequence[Scores | NumberScores]) -> dict[str, int]:
    """Count the folds of each warning; those that differ only in numbers are one, as first said."""
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for each in scores:
        said = {re.sub(r"[\d, ]+", "#", text): text for text in reversed(each.warnings)}
        for gist, text in reversed(said.items()):
            shown = first.setdefault(gist, text)
            counts[shown] = counts.get(shown, 0) + 1
    return counts
