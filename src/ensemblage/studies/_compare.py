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
# Classes are imbalanced if the largest has more than so many times its share among even ones.
IMBALANCED = 1.5
# Of more predictions than these, so many in equal steps are kept to be drawn.
MOST_RESIDUALS = 2000
# So many values, and a fit may take less time than to start a worker for it.
SMALL = 50_000
# Marks a method of this library in a table.
MARK = "*"
# Of the other measures so many fit beside the one that decides, at 80 places.
MOST_BESIDE = 3


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
        Names of methods, see ``METHODS``, and classifiers or regressors of
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
        name: each.expected_seconds(train_rows(each, len(dataset.y), splits))
        for name, each in found.items()
    }
    # the slowest first: soon it is known how long all will take, and workers end together
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
            f"Stopped by the budget after {len(results)} of {len(experiment.cells)} fits; scores "
            "are of the folds that every method has."
        )
    comparison = comparison_of(dataset, study, _method_scores(study, found, results), notes)
    if dataset.task is not REGRESSION:
        return comparison
    choice = comparison.choice
    shown = found[comparison.summary[0].method if choice is None else choice.method]
    return replace(comparison, residuals=kept_residuals(dataset, shown, results))


def check_measure(name: str, task: Task | None = None) -> None:
    """Refuse what is no measure; once the task is known, also those of another."""
    known = DECIDING if task is None else task.deciding
    if name not in {AUTO, *known}:
        problem = "is not known"
        if name in MEASURES and task is not None:
            problem = f"does not judge predicted {task.targets}"
        raise ValueError(
            f"`measure`={name!r} {problem}.{suggestion(name, known)} It must be one of: "
            f"{', '.join([AUTO, *known])}."
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
    scored = []
    for name, method in methods.items():
        cells = [found[name, *place] for place in places]
        scored.append(
            MethodScores(
                name=name,
                label=method.label,
                ours=method.ours,
                effort=method.effort,
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
    """Count the folds of each warning; those that differ only in numbers are one, as first said."""
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for texts in warnings:
        said = {re.sub(r"[\d, ]+", "#", text): text for text in reversed(texts)}
        for gist, text in reversed(said.items()):
            shown = first.setdefault(gist, text)
            counts[shown] = counts.get(shown, 0) + 1
    return counts


def comparison_of(
    dataset: Dataset, study: Study, methods: Sequence[MethodScores], notes: Sequence[str]
) -> Comparison:
    """Rank, summarise and test what the methods have scored."""
    splits, asked = study.splits, study.measure
    measure = _auto_measure(dataset, methods) if asked == AUTO else asked
    # fold by fold; those without a value on a fold share the last ranks there
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
        notes=(*notes, *_measure_notes(dataset, asked, measure, methods)),
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
    """Choose RMSE for numbers, accuracy for even classes.

    For imbalanced classes it is log loss, or balanced accuracy where some method that did not fail
    throughout gives no probabilities.
    """
    if dataset.task is REGRESSION or not is_imbalanced(dataset.classes):
        return dataset.task.usual
    scored = [each for each in methods if len(each.failures) < each.n_folds]
    lacking = any(_lacks(each, "log_loss") for each in scored)
    return "balanced_accuracy" if lacking or not scored else "log_loss"


def is_imbalanced(classes: Mapping[str, int]) -> bool:
    """Tell whether always giving the largest class would look good by accuracy.

    That is so for two classes above 75 % of the rows, for three above 50 %.
    """
    if not classes:
        return False
    return max(classes.values()) * len(classes) > IMBALANCED * sum(classes.values())


def _lacks(method: MethodScores, measure: str) -> bool:
    """Whether there is no value of a measure on a fold on which the method did not fail."""
    return any(
        value is None and fold not in method.failures for fold, value in enumerate(method[measure])
    )


def _measure_notes(
    dataset: Dataset, asked: str, measure: str, methods: Sequence[MethodScores]
) -> list[str]:
    """Say why it is that measure, and for whom there is none."""
    notes, label = [], MEASURES[measure].label
    if asked == AUTO and is_imbalanced(dataset.classes) and len(methods) > 1:
        share = max(dataset.classes.values()) / len(dataset.y)
        notes.append(
            f"The largest class has {share:.0%} of the rows, so that methods are judged by "
            f"{label} rather than by accuracy; `measure` asks for another."
        )
    without = [each.label for each in methods if _lacks(each, measure)]
    if without:
        give = "gives" if len(without) == 1 else "give"
        notes.append(
            f"{', '.join(without)} {give} nothing to compute {label} from, and cannot be chosen "
            "by it."
        )
    return notes


def _fold_notes(dataset: Dataset, n_splits: int, n_repeats: int) -> list[str]:
    """Refuse folds that cannot be drawn; note classes that do not reach every fold."""
    if n_splits < 2:
        raise ValueError(f"`n_splits`, the number of folds, must be at least 2, got {n_splits}.")
    if n_repeats < 1:
        raise ValueError(
            f"`n_repeats`, how often they are drawn, must be at least 1, got {n_repeats}."
        )
    most = dataset.max_folds
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


def kept_residuals(
    dataset: Dataset, method: Method, results: Sequence[CellResult]
) -> Residuals | None:
    """Gather what a method's cells have kept of their first repeat; None if that is nothing."""
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
    taken = order[:: -(-len(order) // MOST_RESIDUALS)]
    own = np.concatenate(rows)[taken]
    found = PredictedValues(
        dataset.y[own],
        np.concatenate(predicted)[taken],
        None if None in intervals else np.concatenate(intervals)[taken],
        None if dataset.sources is None else dataset.sources[own],
    )
    return Residuals(
        method=method.name, label=method.label, numbers=tuple(found.y.tolist()),
        predicted=tuple(found.predicted.tolist()),
        intervals=None if found.intervals is None else tuple(map(tuple, found.intervals.tolist())),
        row_sources=None if found.sources is None else tuple(found.sources.tolist()),
        sources=source_residuals(found),
    )  # fmt: skip


def comparison_title(result: Comparison) -> str:
    """Say what was compared on what."""
    repeats = f", repeated {result.n_repeats} times" if result.n_repeats > 1 else ""
    what = "numbers" if result.n_classes is None else f"{result.n_classes} classes"
    return (
        f"{result.dataset}: {count(result.n_rows, 'row')}, {count(result.n_features, 'column')}, "
        f"{what}; {result.n_splits} folds{repeats}, seed {result.seed}"
    )


def comparison_block(result: Comparison) -> TableBlock:
    """Lay out the means, the deciding measure with its standard error."""
    names = [name for name in TASKS[result.task].measures if name != result.measure]
    if result.n_classes is None:
        names = [name for name in names if any(row[name] is not None for row in result.summary)]
    decides, beside = MEASURES[result.measure], [MEASURES[name] for name in names[:MOST_BESIDE]]
    heads = ["method", decides.heading, *(each.heading for each in beside), "seconds"]
    rows = []
    for row in result.summary:
        name = f"{row.label} {MARK}" if row.ours else row.label
        if row.seconds is None:
            rows.append([name, "failed", *[""] * (len(beside) + 1)])
            continue
        score = "-" if row.score is None else decides.with_error(row.score, row.score_se)
        others = [
            "-" if (value := row[each.name]) is None else each.written(value) for each in beside
        ]
        rows.append([name, score, *others, f"{row.seconds:.{2 if row.seconds < 100 else 0}f}"])
    ours = f"{MARK} a method of this library; " if any(row.ours for row in result.summary) else ""
    return TableBlock(
        [Heading(head, numeric=head != "method") for head in heads],
        [[Field(text) for text in row] for row in rows],
        "",
        f"{ours}by {decides.heading}, {'more' if decides.greater_is_better else 'less'} is better; "
        "± is a standard error; seconds are per fold, on one core",
    )


def comparison_text(result: Comparison) -> str:
    """Write all that for a terminal."""
    block = comparison_block(result)
    detail = [] if result.choice is None else [result.choice.detail]
    parts = [comparison_title(result), "", text_table(block), "", block.legend, result.verdict]
    return "\n".join([*parts, *detail])


def comparison_html(result: Comparison) -> str:
    """Write all that for a notebook."""
    said = [result.verdict, *([] if result.choice is None else [result.choice.detail])]
    texts = "".join(f"<p>{escape(text)}</p>" for text in said)
    return f"<p>{escape(comparison_title(result))}</p>{html_table(comparison_block(result))}{texts}"
