"""Methods compared on one dataset."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from msgspec.structs import replace
from scipy.stats import rankdata

from ensemblage._core import (
    Field,
    Heading,
    TableBlock,
    count,
    html_table,
    listed,
    suggestion,
    text_table,
)
from ensemblage.datasets import Dataset, DataSummary, dataset_fingerprint
from ensemblage.evaluation import (
    DECIDING,
    MEASURES,
    REGRESSION,
    TASKS,
    PredictedValues,
    Task,
    source_residuals,
)
from ensemblage.studies._choice import Design, choose, signed_scores, summarised, verdict
from ensemblage.studies._documents import Comparison, MethodScores, Residuals
from ensemblage.studies._experiment import CellResult
from ensemblage.studies._methods import (
    Given,
    Method,
    digest_of,
    methods_for,
    named_methods,
    wide_notes,
)
from ensemblage.studies._runner import run_study
from ensemblage.studies._store import ResultStore
from ensemblage.studies._study import (
    TEST_ROWS,
    MethodPoint,
    Splits,
    Study,
    StudyParams,
    fold_rows,
    quick_notes,
    study_experiment,
    train_rows,
    within_reach,
)

AUTO = "auto"
# Classes are imbalanced if the largest has more than this times its share among equal classes.
IMBALANCED = 1.5
# Predictions kept for plots at most; of more, an evenly spaced subset.
MAX_RESIDUALS = 2000
# Values of a table (rows times columns) up to which a fit may be faster than starting a worker.
SMALL = 50_000
# Marks a method of this library in a table.
MARK = "*"
# Other measures shown in the table, at a width of 80 characters.
MAX_OTHER_MEASURES = 3


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
    """Compare methods by cross-validation on the same stratified folds, and recommend one.

    The same data, method, seed and folds give the same scores as in an experiment declared in a
    TOML file.

    Parameters
    ----------
    X : Dataset, array-like or frame of shape (n_rows, n_columns)
        The rows. Arrays and frames (pandas, polars, Arrow) may have numeric, categorical and date
        columns and missing values.
    y : array-like of shape (n_rows,), default=None
        The target: classes or numeric values; a Dataset has its own. Rows with a missing target
        are left out.
    methods : sequence or mapping, default=None
        Names of methods (see ``METHODS``) and your own classifiers or regressors; a mapping sets
        their names. None takes every method that is applicable. An estimator is given encoded,
        imputed features, as every method is; a Pipeline is given the raw rows as an array.
    task : {"classification", "regression"}, default=None
        The task. By default it is classification for a categorical target and for a numeric one
        with few distinct values: at most five, or at most twenty integers that occur twice or more
        on average.
    measure : str, default="auto"
        The measure of order, ranks, tests and recommendation. Classification: "accuracy",
        "balanced_accuracy", "log_loss", "auc" or "f1"; regression: "rmse", "mae", "r2" or
        "log_score". "auto" is RMSE in regression, and accuracy in classification, unless the
        largest class has more than 1.5 times its share among equal classes (75 % of two classes,
        50 % of three); then it is log loss, or balanced accuracy where a method gives no
        probabilities. AUC is one-vs-rest, AUC and F1 are macro-averaged. The log score is for
        methods that predict a standard deviation.
    groups : array-like of shape (n_rows,), default=None
        Rows that belong together, such as those of one patient: each group is in one fold only.
    sources : array-like of shape (n_rows,), default=None
        The source of each row, such as a hospital or site. Source-aware methods use it.
    n_splits : int, default=5
        Folds per repeat.
    n_repeats : int, default=1
        Repeats of the cross-validation, with other folds.
    seed : int, default=0
        Random seed of folds and fits; a method's scores do not depend on the other methods.
    n_jobs : int, default=None
        Processes, as in joblib; the scores are the same for any number.
    new_sources : bool, default=False
        Test on sources that are not in the training rows; needs ``sources``.
    quick : bool, default=False
        Subsample large folds, stratified by class: at most 1,000 training rows for methods whose
        time grows faster than linearly, at most 4,000 for the others, and at most 3,000 test rows.
        Some methods have smaller hyperparameter grids, and variants are only run if they are named.
    store : ResultStore, default=None
        Stores each score when it is computed; stored scores are not computed again. None keeps
        them in memory.
    budget : float, default=None
        Seconds after which no new fit is started; the comparison is then of the folds that every
        method has.
    scheduler : str, default=None
        Address of a Dask scheduler whose workers compute instead of local ones.
    retry_failed : bool, default=False
        Whether to repeat fits that are stored as failed.
    progress : callable, default=None
        Called as ``progress(done, total)`` at the start and after each fit.

    Returns
    -------
    Comparison
        Scores per method and fold, with means, ranks and failures; displayed as a table.

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
        raise ValueError("`groups` and `sources` exclude each other: give only one of them.")
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
    notes += source_notes(dataset, found, new_sources) if groups is None else []
    if new_sources:
        n_splits = min(n_splits, _n_sources(dataset))
    splits = Splits(seed, n_repeats, n_splits, new_sources=new_sources, quick=quick)
    if quick:
        folds = [splits.rows(dataset, *place) for place in splits.places()]
        notes += quick_notes(folds, list(found.values()))
    seconds = {
        name: each.expected_seconds(train_rows(each, len(dataset.y), splits))
        for name, each in found.items()
    }
    # the slowest first: the time left is known early, and workers end together
    points = tuple(
        MethodPoint(name, found[name].label, {}, digest_of(found[name]))
        for name in sorted(found, key=lambda name: -seconds[name])
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
        experiment = dataclasses.replace(experiment, cost=lambda params: seconds[params["method"]])
        results = run_study(
            experiment, store, n_jobs=n_jobs, budget=budget, scheduler=scheduler,
            progress=progress, retry_failed=retry_failed, small=dataset.X.size <= SMALL,
        )  # fmt: skip
    if len(results) < len(experiment.cells):
        notes.append(
            f"Stopped at the end of the budget after {len(results)} of {len(experiment.cells)} "
            "fits; scores are of the folds that every method has."
        )
    comparison = comparison_of(dataset, study, _method_scores(study, found, results), notes)
    if dataset.task is not REGRESSION:
        return comparison
    choice = comparison.choice
    shown = found[comparison.summary[0].method if choice is None else choice.method]
    return replace(comparison, residuals=kept_residuals(dataset, shown, results))


def check_measure(name: str, task: Task | None = None) -> None:
    """Refuse an unknown measure; once the task is known, also one of the other task."""
    known = DECIDING if task is None else task.deciding
    if name not in {AUTO, *known}:
        problem = "is not known"
        if name in MEASURES and task is not None:
            problem = f"is not for {task.name}"
        raise ValueError(
            f"`measure`={name!r} {problem}.{suggestion(name, known)} It must be one of: "
            f"{', '.join([AUTO, *known])}."
        )


def _method_scores(
    study: Study, methods: Mapping[str, Method], results: Sequence[CellResult]
) -> tuple[MethodScores, ...]:
    """Scores on the folds that every method has, without ranks."""
    found: dict[tuple[str, int, int], CellResult] = {}
    for each in results:
        params = StudyParams.of(each.cell)
        found[params.method, params.repeat, params.fold] = each
    places = [
        place for place in study.splits.places() if all((name, *place) in found for name in methods)
    ]
    scored = []
    for name, method in methods.items():
        cells = [found[name, *place] for place in places]
        scored.append(
            MethodScores(
                name=name,
                label=method.label,
                ours=method.ours,
                complexity=method.complexity,
                seconds=tuple(None if each.error else each.seconds for each in cells),
                ranks=(),
                failures={fold: each.error for fold, each in enumerate(cells) if each.error},
                warnings=_grouped([each.values.get("warnings", ()) for each in cells]),
                **{
                    measure: tuple(each.values.get(measure) for each in cells)
                    for measure in study.task.measures
                },
            )
        )
    return tuple(scored)


def _grouped(warnings: Sequence[Any]) -> dict[str, int]:
    """Count the folds of each warning; warnings that differ only in digits count as one."""
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for texts in warnings:
        patterns = {re.sub(r"[\d, ]+", "#", text): text for text in reversed(texts)}
        for pattern, text in reversed(patterns.items()):
            shown = first.setdefault(pattern, text)
            counts[shown] = counts.get(shown, 0) + 1
    return counts


def comparison_of(
    dataset: Dataset, study: Study, methods: Sequence[MethodScores], notes: Sequence[str]
) -> Comparison:
    """Rank, summarise and test the methods' scores."""
    splits, requested = study.splits, study.measure
    measure = _auto_measure(dataset, methods) if requested == AUTO else requested
    # per fold; methods without a value on a fold share its last ranks
    scores = np.array([signed_scores(each, measure) for each in methods])
    ranks = rankdata(-np.nan_to_num(scores, nan=-np.inf), axis=0).tolist()
    methods = tuple(
        replace(each, ranks=tuple(own)) for each, own in zip(methods, ranks, strict=True)
    )
    n_rows, n_features = dataset.X.shape
    tested = min(n_rows, TEST_ROWS * (splits.folds or 1)) if splits.quick else n_rows
    design = Design(measure, splits.share, tested)
    choice = choose(methods, design)
    return Comparison(
        dataset=dataset.name,
        n_rows=n_rows,
        n_features=n_features,
        n_classes=len(dataset.classes) or None,
        task=dataset.task.name,
        n_splits=len(splits.places()) // splits.repeats,
        n_repeats=splits.repeats,
        seed=splits.seed,
        notes=(*notes, *_measure_notes(dataset, requested, measure, methods)),
        quick=splits.quick,
        finished=all(each.n_folds == len(splits.places()) for each in methods),
        measure=measure,
        summary=summarised(methods, design),
        verdict=verdict(methods, choice, measure),
        choice=choice,
        methods=methods,
        data=DataSummary.of_dataset(dataset),
    )


def _auto_measure(dataset: Dataset, methods: Sequence[MethodScores]) -> str:
    """RMSE in regression, accuracy for balanced classes.

    For imbalanced classes it is log loss, or balanced accuracy if a method that did not fail on all
    folds gives no probabilities.
    """
    if dataset.task is REGRESSION or not is_imbalanced(dataset.classes):
        return dataset.task.usual
    scored = [each for each in methods if len(each.failures) < each.n_folds]
    lacking = any(_lacks(each, "log_loss") for each in scored)
    return "balanced_accuracy" if lacking or not scored else "log_loss"


def is_imbalanced(classes: Mapping[str, int]) -> bool:
    """Whether the largest class has more than 1.5 times its share among equal classes.

    For two classes that is more than 75 % of the rows, for three more than 50 %.
    """
    if not classes:
        return False
    return max(classes.values()) * len(classes) > IMBALANCED * sum(classes.values())


def _lacks(method: MethodScores, measure: str) -> bool:
    """Whether a measure has no value on a fold on which the method did not fail."""
    return any(
        value is None and fold not in method.failures for fold, value in enumerate(method[measure])
    )


def _measure_notes(
    dataset: Dataset, requested: str, measure: str, methods: Sequence[MethodScores]
) -> list[str]:
    """Explain the choice of the measure, and name methods that have no value of it."""
    notes, label = [], MEASURES[measure].label
    if requested == AUTO and is_imbalanced(dataset.classes) and len(methods) > 1:
        share = max(dataset.classes.values()) / len(dataset.y)
        notes.append(
            f"The classes are imbalanced (the largest has {share:.0%} of the rows), so methods are "
            f"compared by {label} instead of accuracy; set another by `measure`."
        )
    without = [each.label for each in methods if _lacks(each, measure)]
    if without:
        has = "has" if len(without) == 1 else "have"
        notes.append(f"{listed(without)} {has} no {label}, and cannot be recommended by it.")
    return notes


def _fold_notes(dataset: Dataset, n_splits: int, n_repeats: int) -> list[str]:
    """Refuse an impossible number of folds; note classes with fewer rows than folds."""
    if n_splits < 2:
        raise ValueError(f"`n_splits`, the number of folds, must be at least 2, got {n_splits}.")
    if n_repeats < 1:
        raise ValueError(
            f"`n_repeats`, the number of repeats, must be at least 1, got {n_repeats}."
        )
    most = dataset.max_folds
    if most < n_splits:
        fewer = f"use at most {most} folds, or more rows" if most > 1 else "more rows are needed"
        few = "no class has that many rows"
        if not dataset.classes:
            few = "there are fewer than two rows per fold"
        raise ValueError(f"`n_splits`={n_splits} is too large, as {few}: {fewer}.")
    small = {label: count for label, count in dataset.classes.items() if count < n_splits}
    return [
        f"Class {label!r} has {count} row{'s' * (count > 1)}, fewer than the {n_splits} folds: "
        "some folds have no test row of it."
        for label, count in small.items()
    ]


def _n_sources(dataset: Dataset) -> int:
    if dataset.sources is None:
        raise ValueError(
            "`new_sources` needs the source of each row: name its column by `source_column`."
        )
    n_sources = len(np.unique(dataset.sources))
    if n_sources < 2:
        raise ValueError(
            f"`new_sources` needs two or more sources, got {n_sources}: the test folds are sources "
            "that are not in the training rows."
        )
    return n_sources


def source_notes(
    dataset: Dataset, methods: Mapping[str, Method], new_sources: bool
) -> Iterator[str]:
    """Note which methods use the source of the rows, and what the scores estimate."""
    if dataset.sources is None:
        return
    n_sources = len(np.unique(dataset.sources))
    if new_sources:
        yield (
            f"{n_sources} sources, each in one fold only: every source is tested by models fitted "
            "without it, so that the scores estimate the performance on a new source. The source "
            "is not a feature."
        )
        return
    aware = [each.label for each in methods.values() if "sources" in each.takes]
    blind = [each.label for each in methods.values() if "sources" not in each.takes]
    used = f"used by {listed(aware)}"
    if aware and blind:
        used += f" only, and not a feature of {listed(blind)}"
    elif blind:
        task = dataset.task.name
        names = [name for name, each in methods_for(task).items() if "sources" in each.takes]
        used = (
            f"used by no method here, and not a feature: of the methods for {task}, "
            f"{listed(names)} {'uses' if len(names) == 1 else 'use'} the source"
        )
    remedy = " Without `source_column`, the source is a feature like any other." if blind else ""
    yield (
        f"{n_sources} sources, {used}.{remedy} The scores are for known sources: a comparison with "
        "`new_sources` estimates the performance on a new one."
    )


def kept_residuals(
    dataset: Dataset, method: Method, results: Sequence[CellResult]
) -> Residuals | None:
    """Out-of-fold predictions kept by a method's cells in the first repeat, if there are any."""
    rows, predicted, intervals = [], [], []
    for result in results:
        params = StudyParams.of(result.cell)
        if params.method == method.name and params.repeat == 0 and not result.error:
            kept: Any = result.values["kept"]
            rows.append(fold_rows(dataset, method, params).test[kept["places"]])
            predicted.append(kept["predicted"])
            intervals.append(kept["intervals"])
    if not rows:
        return None
    order = np.argsort(np.concatenate(rows), kind="stable")
    shown = order[:: -(-len(order) // MAX_RESIDUALS)]
    own = np.concatenate(rows)[shown]
    found = PredictedValues(
        dataset.y[own],
        np.concatenate(predicted)[shown],
        None if None in intervals else np.concatenate(intervals)[shown],
        None if dataset.sources is None else dataset.sources[own],
    )
    return Residuals(
        method=method.name, label=method.label, observed=tuple(found.y.tolist()),
        predicted=tuple(found.predicted.tolist()),
        intervals=None if found.intervals is None else tuple(map(tuple, found.intervals.tolist())),
        row_sources=None if found.sources is None else tuple(found.sources.tolist()),
        sources=source_residuals(found),
    )  # fmt: skip


def comparison_title(result: Comparison) -> str:
    """Dataset, its size, the task and the folds, in one line."""
    repeats = f", repeated {result.n_repeats} times" if result.n_repeats > 1 else ""
    what = "regression" if result.n_classes is None else f"{result.n_classes} classes"
    return (
        f"{result.dataset}: {count(result.n_rows, 'row')}, {count(result.n_features, 'column')}, "
        f"{what}; {result.n_splits} folds{repeats}, seed {result.seed}"
    )


def comparison_block(result: Comparison) -> TableBlock:
    """Table of mean scores, the measure of the comparison with its standard error."""
    names = [name for name in TASKS[result.task].measures if name != result.measure]
    if result.n_classes is None:
        names = [name for name in names if any(row[name] is not None for row in result.summary)]
    measure, others = MEASURES[result.measure], [MEASURES[n] for n in names[:MAX_OTHER_MEASURES]]
    heads = ["method", measure.heading, *(each.heading for each in others), "seconds"]
    rows = []
    for row in result.summary:
        name = f"{row.label} {MARK}" if row.ours else row.label
        if row.seconds is None:
            rows.append([name, "failed", *[""] * (len(others) + 1)])
            continue
        score = "-" if row.score is None else measure.with_error(row.score, row.score_se)
        values = [
            "-" if (value := row[each.name]) is None else each.written(value) for each in others
        ]
        rows.append([name, score, *values, f"{row.seconds:.{2 if row.seconds < 100 else 0}f}"])
    ours = f"{MARK} method of this library. " if any(row.ours for row in result.summary) else ""
    return TableBlock(
        [Heading(head, numeric=head != "method") for head in heads],
        [[Field(text) for text in row] for row in rows],
        "",
        f"{ours}Sorted by {measure.label} ({'higher' if measure.greater_is_better else 'lower'} is "
        "better). ±: corrected standard error. seconds: fit and prediction per fold, on one core.",
    )


def comparison_text(result: Comparison) -> str:
    """Text for a terminal: title, table, legend and recommendation."""
    block = comparison_block(result)
    detail = [] if result.choice is None else [result.choice.detail]
    parts = [comparison_title(result), "", text_table(block), "", block.legend, result.verdict]
    return "\n".join([*parts, *detail])


def comparison_html(result: Comparison) -> str:
    """HTML for a notebook: title, table and recommendation."""
    sentences = [result.verdict, *([] if result.choice is None else [result.choice.detail])]
    texts = "".join(f"<p>{escape(text)}</p>" for text in sentences)
    return f"<p>{escape(comparison_title(result))}</p>{html_table(comparison_block(result))}{texts}"
