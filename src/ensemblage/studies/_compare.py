"""Methods compared on one dataset."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.stats import rankdata

from ensemblage._core import (
    Field,
    Heading,
    TableBlock,
    count,
    html_table,
    listed,
    listing,
    suggestion,
    text_table,
)
from ensemblage.datasets import Dataset, DataSummary, dataset_fingerprint, parse_number
from ensemblage.evaluation import (
    DECIDING,
    MEASURES,
    REGRESSION,
    TASKS,
    PredictedValues,
    Task,
    source_residuals,
)
from ensemblage.sources import (
    MAIN_MEASURES,
    MIN_SOURCES,
    MIN_WINDOWS,
    VALUE_MEASURES,
    MeasureSummary,
    Periods,
    Predicted,
    class_measures,
    encode_sources,
    interval_text,
    next_period,
    read_periods,
    source_labels,
    summary_of,
)
from ensemblage.studies._audit import split_times
from ensemblage.studies._choice import Design, choose, signed_scores, summarised, verdict
from ensemblage.studies._documents import Choice, Comparison, MethodScores, Residuals
from ensemblage.studies._experiment import CellResult
from ensemblage.studies._methods import (
    Given,
    Method,
    digest_of,
    methods_for,
    named_methods,
    wide_notes,
)
from ensemblage.studies._runner import recorded_warnings, run_study
from ensemblage.studies._store import ResultStore
from ensemblage.studies._study import (
    TEST_ROWS,
    MethodPoint,
    Splits,
    Study,
    StudyParams,
    fold_rows,
    period_folds,
    quick_notes,
    study_experiment,
    train_rows,
    within_reach,
)

AUTO = "auto"
# Classes are imbalanced if the largest has more than this times its share among equal classes.
IMBALANCED = 1.5
# So are they if the rarest has less than this times its share (20 % of two classes).
RARE = 0.4
# Predictions kept for plots at most; of more, an evenly spaced subset.
MAX_RESIDUALS = 2000
# Values of a table (rows times columns) up to which a fit may be faster than starting a worker.
SMALL = 50_000
# Marks a method of this library in a table.
MARK = "*"
# Sources that are named in a note.
MAX_NAMED = 5
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
    time: Any = None,
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
        "log_score". "auto" is RMSE in regression. In classification it is log loss if the largest
        class has more than 1.5 times its share among equal classes (75 % of two classes, 50 % of
        three) or the rarest less than 0.4 times (20 % of two classes), with ``new_sources`` or
        ``time``, and if a method is better than the best constant prediction by log loss and AUC
        but none by accuracy; balanced accuracy if fewer than two methods give probabilities; else
        accuracy. AUC is one-vs-rest, AUC and F1 are macro-averaged. The log score is for methods
        that predict a standard deviation.
    groups : array-like of shape (n_rows,), default=None
        Rows that belong together, such as those of one patient: each group is in one fold only.
    sources : array-like of shape (n_rows,) or (n_rows, 2), default=None
        The source of each row, such as a hospital or site, or its outer and its inner source, such
        as a hospital and a ward of it. Source-aware methods use it.
    n_splits : int, default=5
        Folds per repeat.
    n_repeats : int, default=1
        Repeats of the cross-validation, with other folds.
    seed : int, default=0
        Random seed of folds and fits; a method's scores do not depend on the other methods.
    n_jobs : int, default=None
        Processes, as in joblib; the scores are the same for any number.
    new_sources : bool, default=False
        Test on sources (the outer ones, if nested) that are not in the training rows; needs
        ``sources``. ``expected`` is then a
        random-effects summary over the left-out sources, see
        :func:`ensemblage.sources.source_audit`.
    time : array-like of shape (n_rows,) or str, default=None
        Time of each row, numbers or dates, or the column that has it, which is then no feature:
        each period is predicted by models of the earlier ones, and ``n_splits`` is not used. Up to
        ten distinct times, years or months are periods, otherwise six parts of about equal size.
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
    given = sources if groups is None else groups
    ordered = time is not None
    if not ordered:
        dataset, periods = Dataset.from_arrays(X, y, sources=given, task=task), None
    elif new_sources or n_repeats > 1 or given is not None:
        raise ValueError(
            "`time` tests each period once, at all sources: leave out the sources, groups, "
            "`new_sources` and repeats. An audit takes sources and time together."
        )
    else:
        dataset, periods = _by_period(X, y, task, time)
        n_splits = len(period_folds(dataset))
    check_measure(measure, dataset.task)
    keep = ordered or (new_sources and groups is None)
    new_sources = new_sources or groups is not None
    known = dataset.sources is not None and groups is None and not ordered
    n_columns = dataset.X.shape[1]
    found = named_methods(
        methods, task=dataset.task, sources=known, quick=quick, n_columns=n_columns
    )
    notes = [*dataset.notes, *_fold_notes(dataset, n_splits, n_repeats, periods)]
    notes += wide_notes(dataset.task, quick, n_columns) if methods is None else []
    notes += source_notes(dataset, found, new_sources) if known else []
    if new_sources:
        n_splits = min(n_splits, _n_sources(dataset))
    splits = Splits(
        seed, n_repeats, n_splits, new_sources=new_sources, quick=quick, ordered=ordered, keep=keep
    )
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
    expected = {name: _expected(dataset, each, results, splits) for name, each in found.items()}
    comparison = replace(comparison, expected={name: e for name, e in expected.items() if e})
    if dataset.task is not REGRESSION:
        return comparison
    choice = comparison.choice
    shown = found[comparison.summary[0].method if choice is None else choice.method]
    residuals = kept_residuals(dataset, shown, results, ordered=ordered)
    return replace(comparison, residuals=residuals)


def _by_period(X: Any, y: Any, task: str | None, time: Any) -> tuple[Dataset, Periods]:
    """Make a dataset whose sources are periods, as numbers."""
    if isinstance(time, str):
        dataset = Dataset.from_arrays(X, y, task=task)
        if dataset.sources is not None:
            raise ValueError(
                "`time` is given, and the dataset has sources: compare over one of them, or audit "
                "a method over both."
            )
        dataset, times = split_times(dataset, time)
        periods = read_periods(times, len(dataset.y))
        dataset = dataclasses.replace(dataset, sources=periods.codes.astype(str))
    else:
        periods = read_periods(time, np.size(time))
        if isinstance(X, Dataset):
            raise TypeError(
                "`time` must be the name of a column if `X` is a Dataset, got "
                f"{type(time).__name__}."
            )
        dataset = Dataset.from_arrays(X, y, sources=periods.codes.astype(str), task=task)
    if not period_folds(dataset):
        raise ValueError(
            "`time` has no period whose past holds two classes or values: give times that cover "
            "more, or leave `time` out."
        )
    return dataset, periods


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
    n_rows, n_features = dataset.X.shape
    tested = min(n_rows, TEST_ROWS * (splits.folds or 1)) if splits.quick else n_rows
    first = requested
    if requested == AUTO:
        first = _auto_measure(dataset, methods, new_rows=splits.keep)
    design = Design(first, splits.share, tested)
    choice = choose(methods, design)
    other = _better_than_constant(methods, choice, design)
    if other is not None and requested == AUTO:
        choice, design = other, design._replace(measure=other.measure)
    elif other is not None and choice is not None:
        choice = replace(choice, sentence=_disagreement(choice, other))
    measure = design.measure
    # per fold; methods without a value on a fold share its last ranks
    scores = np.array([signed_scores(each, measure) for each in methods])
    ranks = rankdata(-np.nan_to_num(scores, nan=-np.inf), axis=0).tolist()
    methods = tuple(
        replace(each, ranks=tuple(own)) for each, own in zip(methods, ranks, strict=True)
    )
    return Comparison(
        dataset=dataset.name,
        n_rows=n_rows,
        n_features=n_features,
        n_classes=len(dataset.classes) or None,
        task=dataset.task.name,
        n_splits=len(splits.places()) // splits.repeats,
        n_repeats=splits.repeats,
        seed=splits.seed,
        notes=(*notes, *_measure_notes(dataset, study, first, measure, methods)),
        quick=splits.quick,
        finished=all(each.n_folds == len(splits.places()) for each in methods),
        measure=measure,
        summary=summarised(methods, design),
        verdict=verdict(methods, choice, measure),
        choice=choice,
        methods=methods,
        data=DataSummary.of_dataset(
            dataclasses.replace(dataset, sources=None) if splits.ordered else dataset
        ),
        validation=_validation(splits),
    )


def _validation(splits: Splits) -> Any:
    if splits.ordered:
        return "time"
    return "new-sources" if splits.new_sources else "cross-validation"


def _auto_measure(
    dataset: Dataset, methods: Sequence[MethodScores], *, new_rows: bool = False
) -> str:
    """RMSE in regression, accuracy for balanced classes.

    For imbalanced classes, and for new sources or periods, it is log loss, or balanced accuracy if
    fewer than two of several methods that did not fail on all folds give probabilities.
    """
    if dataset.task is REGRESSION or not (new_rows or is_imbalanced(dataset.classes)):
        return dataset.task.usual
    scored = [each for each in methods if len(each.failures) < each.n_folds]
    giving = [each for each in scored if not _lacks(each, "log_loss")]
    return "log_loss" if len(giving) >= max(1, min(2, len(scored))) else "balanced_accuracy"


def _better_than_constant(
    methods: Sequence[MethodScores], choice: Choice | None, design: Design
) -> Choice | None:
    """Choose by log loss or AUC if by another measure a constant prediction is not outdone.

    The best is significantly better by it, and the method chosen has a better mean of both; None if
    there is none such.
    """
    constant = {each.name for each in methods if each.complexity == 0}
    if choice is None or choice.method not in constant or not methods[0]["log_loss"]:
        return None
    means = {
        name: [float(np.mean(signed_scores(each, name))) for each in methods]
        for name in ("log_loss", "auc")
    }
    names = [each.name for each in methods]
    for measure in [each for each in means if each != design.measure]:
        other = choose(methods, design._replace(measure=measure))
        if other is None or constant & {other.method, *other.not_significantly_different}:
            continue
        ours, reference = names.index(other.method), names.index(choice.method)
        if all(each[ours] > each[reference] for each in means.values()):
            return other
    return None


def _disagreement(choice: Choice, other: Choice) -> str:
    """Say that a measure on which a constant prediction is not outdone misses a better method."""
    shown, better = MEASURES[choice.measure], MEASURES[other.measure]
    beside = MEASURES["auc" if other.measure == "log_loss" else "log_loss"]
    return (
        f"No method is recommended by {shown.label}: by it none is significantly better than "
        f"{choice.label} ({shown.written(choice.score)}). But by {better.label} {other.label} "
        f"({better.written(other.score)}) is recommended, and its {beside.label} is better too: "
        f"compare by {better.label}."
    )


def is_imbalanced(classes: Mapping[str, int]) -> bool:
    """Whether the largest class has more than 1.5 times its share among equal classes.

    For two classes that is more than 75 % of the rows, for three more than 50 %. Classes are
    imbalanced, too, if the rarest has less than 0.4 times its share.
    """
    if not classes:
        return False
    equal = sum(classes.values()) / len(classes)
    return max(classes.values()) > IMBALANCED * equal or min(classes.values()) < RARE * equal


def _lacks(method: MethodScores, measure: str) -> bool:
    """Whether a measure has no value on a fold on which the method did not fail."""
    return any(
        value is None and fold not in method.failures for fold, value in enumerate(method[measure])
    )


def _measure_notes(
    dataset: Dataset, study: Study, first: str, measure: str, methods: Sequence[MethodScores]
) -> list[str]:
    """Explain the choice of the measure, and name methods that have no value of it.

    ``first`` is the measure before a comparison with a constant prediction.
    """
    notes, label = [], MEASURES[measure].label
    if study.measure == AUTO and measure != dataset.task.usual and len(methods) > 1:
        instead = " instead of accuracy"
        if measure != first:
            beside = MEASURES["auc" if measure == "log_loss" else "log_loss"].label
            reason = (
                f"By {MEASURES[first].label} no method is significantly better than a constant "
                f"prediction, but by {label} one is recommended, and its {beside} is better too"
            )
            instead = ""
        elif is_imbalanced(dataset.classes):
            share = max(dataset.classes.values()) / len(dataset.y)
            reason = f"The classes are imbalanced (the largest has {share:.0%} of the rows)"
        else:
            place = "the next period" if study.splits.ordered else "a new source"
            reason = f"The scores are for {place}, where probabilities have to be right too"
        notes.append(
            f"{reason}, so methods are compared by {label}{instead}; set another by `measure`."
        )
    without = [each.label for each in methods if _lacks(each, measure)]
    if without:
        has = "has" if len(without) == 1 else "have"
        notes.append(f"{listed(without)} {has} no {label}, and cannot be recommended by it.")
    return notes


def _fold_notes(
    dataset: Dataset, n_splits: int, n_repeats: int, periods: Periods | None
) -> list[str]:
    """Refuse an impossible number of folds; note classes with fewer rows than folds, or periods."""
    if periods is not None:
        few = f" With fewer than {MIN_WINDOWS} nothing is said of the next one."
        note = (
            f"{len(periods.names)} periods ({listing(periods.names)}): "
            f"{count(n_splits, 'period is', 'periods are')} predicted by models of the earlier "
            "ones, so that the scores estimate the performance in the next period. The time is not "
            f"a feature.{few if n_splits < MIN_WINDOWS else ''}"
        )
        return [note, *periods.notes]
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
    n_sources = len(np.unique(dataset.outer_sources))  # type: ignore[arg-type]
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
    if dataset.sources is None or dataset.outer_sources is None:
        return
    n_sources = len(np.unique(dataset.outer_sources))
    nested = dataset.sources.ndim == 2
    if new_sources:
        yield (
            f"{n_sources} {'outer ' * nested}sources, each in one fold only: every source is "
            "tested by models fitted "
            "without it, so that the scores estimate the performance on a new source. The source "
            "is not a feature."
            + " Confidence and prediction intervals take three or more."
            * (n_sources < MIN_SOURCES)
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
    sources = count(n_sources, "source")
    if nested:
        n_inner = len(np.unique(dataset.sources, axis=0))
        sources = f"{count(n_sources, 'outer source')} with {count(n_inner, 'inner source')}"
    yield (
        f"{sources}, {used}.{remedy} The scores are for known sources: a comparison with "
        "`new_sources` estimates the performance on a new one."
    )
    flat = [each.label for each in methods.values() if not each.nests_sources]
    flat = [label for label in flat if label in aware]
    if nested and flat:
        yield f"Only the outer sources are used by {listed(flat)}."
    yield from _doubtful_sources(dataset)


def _doubtful_sources(dataset: Dataset) -> Iterator[str]:
    """Note what is unusual about the sources; refuse nested ones in the wrong order."""
    assert dataset.sources is not None  # noqa: S101  by the caller
    with recorded_warnings() as warned:
        names, codes = encode_sources(dataset.sources, dataset.X, allow_nested=True)
    yield from warned
    labels, counts = source_labels(names), np.bincount(codes)
    if len(labels) == 1:
        yield f"There is one source only, {labels[0]!r}: knowing it cannot help."
        return
    single = counts == 1
    if single.any():
        few = [labels[k] for k in np.flatnonzero(single)]
        yield (
            f"Sources with one row: {single.sum()} of {len(labels)} "
            f"({listing(map(repr, few), MAX_NAMED)})."
            + " Is the column an identifier of rows?"
            * bool(single.mean() > 0.5)
        )
    if dataset.classes:
        pairs = np.unique(np.column_stack([codes, np.unique(dataset.y, return_inverse=True)[1]]),
                          axis=0)  # fmt: skip
        one = (np.bincount(pairs[:, 0]) == 1) & ~single
        if one.any():
            few = [labels[k] for k in np.flatnonzero(one)]
            yield (
                f"Sources with one class only: {one.sum()} of {len(labels)} "
                f"({listing(map(repr, few), MAX_NAMED)}). What is fitted to them is shrunk towards "
                "the other sources by the pool and by partial pooling."
            )
    if not any(np.isnan(parse_number(each)) for each in np.unique(dataset.sources).tolist()):
        yield f"The sources are numbers: each of the {len(labels)} is used as a name."


def _expected(
    dataset: Dataset, method: Method, results: Sequence[CellResult], splits: Splits
) -> tuple[MeasureSummary, ...]:
    """Summarise a method's predictions over left-out sources, or over periods.

    Nothing of a method that failed, gives no probabilities or was not fitted on all folds.
    """
    cells = [
        (StudyParams.of(each.cell), None if each.error else each.values.get("output"))
        for each in results
    ]
    kept = [each for each in cells if each[0].method == method.name and each[0].repeat == 0]
    if len(kept) < (splits.folds or 1) or any(output is None for _, output in kept):
        return ()
    own = np.concatenate([fold_rows(dataset, method, params).test for params, _ in kept])
    output = np.concatenate([np.array(output) for _, output in kept])
    if dataset.classes:
        truth: NDArray[Any] = np.searchsorted([*dataset.classes], dataset.y[own])
        measures = class_measures(len(dataset.classes), len(dataset.classes) - 1, ())
    else:
        # no intervals: their coverage is among the scores
        output = np.column_stack([output, np.full((len(output), 2), np.nan)])
        truth, measures = dataset.y[own], VALUE_MEASURES
    assert dataset.outer_sources is not None  # noqa: S101  by the caller
    sources = dataset.outer_sources[own]
    groups = [np.flatnonzero(sources == each) for each in np.unique(sources)]
    summaries = []
    for measure in measures:
        if measure.name in MAIN_MEASURES[dataset.task.name]:
            found = measure.function(Predicted(output, truth), groups)
            pooled = next_period(found) if splits.ordered else found.pooled()
            summaries.append(summary_of(measure, found, pooled, np.nan))
    return tuple(summaries)


def kept_residuals(
    dataset: Dataset, method: Method, results: Sequence[CellResult], *, ordered: bool = False
) -> Residuals | None:
    """Out-of-fold predictions kept by a method's cells in the first repeat, if there are any.

    Periods, where folds are ``ordered``, are not reported as sources.
    """
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
        None if dataset.source_labels is None or ordered else dataset.source_labels[own],
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
    folds = f"{result.n_splits} folds"
    if result.validation == "time":
        folds = f"{count(result.n_splits, 'period')} predicted from the past"
    return (
        f"{result.dataset}: {count(result.n_rows, 'row')}, {count(result.n_features, 'column')}, "
        f"{what}; {folds}{repeats}, seed {result.seed}"
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


def expected_block(result: Comparison) -> TableBlock | None:
    """Table of what to expect of each method at a new source, or in the next period."""
    shown = [row for row in result.summary if row.method in result.expected]
    known = [each.measure for row in shown for each in result.expected[row.method]]
    if not any(each.mean is not None for row in shown for each in result.expected[row.method]):
        return None
    measures = class_measures(result.n_classes, 0, ()) if result.n_classes else VALUE_MEASURES
    by_name = {each.name: each for each in measures}
    ahead, over = "new source", "random-effects mean over left-out sources"
    if result.validation == "time":
        ahead, over = "next period", "mean over periods predicted from the past"
    event = ""
    if "oe" in known and result.data is not None:
        event = f" O:E ratio: observed by expected rows of class {max(result.data.classes)!r}."
    rows = []
    for name in dict.fromkeys(known):
        measure = by_name[name]
        for row in shown:
            [found] = [each for each in result.expected[row.method] if each.measure == name]
            ends = [
                interval_text(measure, low, high)
                for low, high in ((found.low, found.high), (found.new_low, found.new_high))
            ]
            texts = map(Field, (measure.written(found.mean), *ends))
            rows.append([Field(measure.label), Field(row.label, ours=row.ours), *texts])
    return TableBlock(
        [
            Heading(head, numeric=head not in {"measure", "method"})
            for head in ("measure", "method", "mean", "95 % interval", ahead)
        ],
        rows,
        f"What to expect {'in the next period' if ahead == 'next period' else 'at a new source'}",
        f"mean: {over}, with its 95 % confidence interval. {ahead}: 95 % prediction interval."
        f"{event}",
    )  # fmt: skip


def comparison_text(result: Comparison) -> str:
    """Text for a terminal: title, tables, legends and recommendation."""
    block, expected = comparison_block(result), expected_block(result)
    detail = [] if result.choice is None else [result.choice.detail]
    parts = [comparison_title(result), "", text_table(block), "", block.legend]
    if expected is not None:
        parts += ["", text_table(expected), "", expected.legend]
    return "\n".join([*parts, result.verdict, *detail])


def comparison_html(result: Comparison) -> str:
    """HTML for a notebook: title, table and recommendation."""
    sentences = [result.verdict, *([] if result.choice is None else [result.choice.detail])]
    texts = "".join(f"<p>{escape(text)}</p>" for text in sentences)
    blocks = [each for each in (comparison_block(result), expected_block(result)) if each]
    tables = "".join(html_table(each) for each in blocks)
    return f"<p>{escape(comparison_title(result))}</p>{tables}{texts}"
