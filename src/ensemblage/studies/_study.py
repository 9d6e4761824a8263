"""A study: datasets, methods, splits, cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypeAlias

import joblib
import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline

from ensemblage._core import Fold, draw_seeds, listed, make_folds
from ensemblage.datasets import Dataset, dataset_fingerprint, fold_labels, open_dataset
from ensemblage.evaluation import (
    CLASSIFICATION,
    MEASURES,
    Predictions,
    Task,
    compare_methods,
    model_predictions,
)
from ensemblage.sources import expanding_folds
from ensemblage.studies._choice import corrected_standard_error, share_of_fold
from ensemblage.studies._documents import ResultRow, ResultTable
from ensemblage.studies._experiment import Cell, CellResult, Experiment, Plain
from ensemblage.studies._methods import Method, get_method, make_model
from ensemblage.studies._runner import recorded_warnings

DEFAULT_FOLDS = 5

# Version of the computation of a cell; raised by a change that alters values.
VERSION = 3
# Cells of a study at most.
MAX_CELLS = 1_000_000
# Rows of a fold whose predictions are kept for plots at most, evenly spaced.
KEPT_ROWS = 1000
# Parameters of a cell that do not enter its seed.
UNSEEDED = {"dataset", "quick", "keep"}
# Size of a table, in bytes, from which workers read it from a file.
LARGE = 1_000_000
# Training rows in a quick comparison, of a method whose time grows faster than linearly.
SUPERLINEAR_ROWS = 1_000
# Training rows in a quick comparison, of any other method.
MAX_ROWS = 4_000
# Test rows of a fold in a quick comparison.
TEST_ROWS = 3_000

# Error messages show the description as the expected value.
Text = Annotated[str, Meta(pattern=r"\S", description="text")]


class DatasetEntry(Struct, frozen=True):
    """A dataset of a study: a known name, or a file (an absolute path) with its target."""

    name: Text = ""
    file: Text | None = None
    target: Text | None = None
    drop: Annotated[tuple[str, ...], Meta(description="a list of column names")] = ()
    source: Text | None = None
    task: Any = None


class Splits(NamedTuple):
    """Repeated stratified cross-validation, or repeated train-test splits with ``test_share``.

    Folds are stratified by class, or by quantile bins of a numeric target. With ``new_sources``
    each source is in one fold only; with ``ordered`` sources are periods, each of which is
    predicted from the earlier ones. ``quick`` subsamples large folds, and ``keep`` keeps all
    predictions.
    """

    seed: int = 0
    repeats: int = 1
    folds: int | None = DEFAULT_FOLDS
    test_share: float | None = None
    new_sources: bool = False
    quick: bool = False
    ordered: bool = False
    keep: bool = False

    @property
    def share(self) -> float:
        """Share of test rows in a split."""
        if self.folds is None:
            return float(self.test_share or 0)
        return share_of_fold(self.folds, ordered=self.ordered)

    def places(self) -> list[tuple[int, int]]:
        """Repeat and fold of each split, in order."""
        return [(repeat, fold) for repeat in range(self.repeats) for fold in range(self.folds or 1)]

    def rows(self, dataset: Dataset, repeat: int, fold: int) -> Fold:
        """Training rows and test rows of a split."""
        if self.ordered:
            return period_folds(dataset)[fold]
        y, seed = fold_labels(dataset.y), self._repeat_seed(repeat)
        if self.folds is None:
            share = StratifiedShuffleSplit(1, test_size=self.test_share, random_state=seed)
            return Fold(*next(share.split(y, y)))
        return make_folds(y, self.folds, seed, dataset.outer_sources if self.new_sources else None)[
            fold
        ]

    def fold_seed(self, repeat: int, fold: int) -> int:
        """Seed of the subsample of a fold, the same for every method."""
        return draw_seeds(self._repeat_seed(repeat), fold + 1)[fold]

    def _repeat_seed(self, repeat: int) -> int:
        # independent of the number of repeats
        return draw_seeds(self.seed, repeat + 1)[repeat]


def period_folds(dataset: Dataset) -> list[Fold]:
    """Train on earlier periods, the dataset's sources, where they have two classes or values."""
    codes = np.asarray(dataset.sources).astype(np.int64)
    return [each for each in expanding_folds(codes) if len(np.unique(dataset.y[each.train])) > 1]


class MethodPoint(NamedTuple):
    """A method with one set of parameters and a unique label.

    ``digest`` distinguishes user-defined estimators of the same name.
    """

    name: str
    label: str
    params: Mapping[str, Any]
    digest: str = ""


class StudyParams(Struct, frozen=True, omit_defaults=True):
    """Parameters that identify a cell of a study; default values are omitted."""

    dataset: str
    method: str
    params: dict[str, Any]
    repeat: int
    fold: int
    seed: int
    folds: int | None = None
    test_share: float | None = None
    new_sources: bool = False
    quick: bool = False
    digest: str = ""
    ordered: bool = False
    keep: bool = False

    @classmethod
    def of(cls, cell: Cell) -> StudyParams:
        """Parse a cell's parameters."""
        return msgspec.convert(cell.params, cls)

    @property
    def splits(self) -> Splits:
        """The splits, without the number of repeats."""
        return Splits(
            self.seed, folds=self.folds, test_share=self.test_share, new_sources=self.new_sources,
            quick=self.quick, ordered=self.ordered, keep=self.keep,
        )  # fmt: skip


@dataclass(frozen=True)
class Study:
    """Datasets (by name), methods, splits and measure of a study."""

    name: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[MethodPoint, ...]
    splits: Splits
    measure: str = "accuracy"
    task: Task = CLASSIFICATION

    def cells(self, hashes: Mapping[str, str]) -> list[Cell]:
        """Cells in order of the repeats, so that the table is complete early."""
        n_splits = self.splits.repeats * (self.splits.folds or 1)
        count = n_splits * len(self.datasets) * len(self.methods)
        if count > MAX_CELLS:
            raise ValueError(
                f"The study needs {count:,} fits, more than the maximum of {MAX_CELLS:,}. Use "
                "fewer repeats, methods or datasets, or divide it into several studies."
            )
        return [
            Cell(self.name, self._params(dataset, method, place), VERSION, hashes[dataset])
            for place in self.splits.places()
            for dataset in self.datasets
            for method in self.methods
        ]

    def _params(
        self, dataset: str, method: MethodPoint, place: tuple[int, int]
    ) -> dict[str, Plain]:
        splits = self.splits
        params = StudyParams(
            dataset, method.name, dict(method.params), *place, splits.seed, splits.folds,
            splits.test_share, splits.new_sources, splits.quick, method.digest, splits.ordered,
            splits.keep,
        )  # fmt: skip
        return dict(msgspec.to_builtins(params))


def summarise_study(results: Sequence[CellResult], study: Study) -> list[ResultTable]:
    """Make one table of the results so far, with a row for each dataset and method."""
    rows = [
        _row(dataset, method, _of(results, dataset, method), study)
        for dataset in study.datasets
        for method in study.methods
    ]
    return [
        ResultTable(
            study.name, study.title, MEASURES[study.measure].label, rows,
            summary=_summary(rows, study), notes=_notes(study),
            greater_is_better=MEASURES[study.measure].greater_is_better,
            library=[
                each.label
                for each in study.methods
                if get_method(each.name, study.task.name).ours
            ],
        )
    ]  # fmt: skip


def _of(results: Sequence[CellResult], dataset: str, method: MethodPoint) -> list[CellResult]:
    def wanted(result: CellResult) -> bool:
        params = StudyParams.of(result.cell)
        own = (params.dataset, params.method, params.params)
        return own == (dataset, method.name, dict(method.params))

    return [each for each in results if wanted(each)]


def _row(
    dataset: str, method: MethodPoint, results: Sequence[CellResult], study: Study
) -> ResultRow:
    scored = [each.values for each in results if not each.error]
    values = [each[study.measure] for each in scored if each.get(study.measure) is not None]
    scores, errors = np.array(values, dtype=float), [each.error for each in results if each.error]
    warned = [each["warnings"][0] for each in scored if each.get("warnings")]  # type: ignore[index]
    note = ""
    if errors:
        note = f"{len(errors)} failed: {errors[0]}"
    elif scored and not values:
        note = f"no {MEASURES[study.measure].label}: the method gives no {study.task.beside}"
    elif warned:
        note = f"warning in {len(warned)} of {len(scored)} fits: {warned[0]}"
    return ResultRow(
        dataset, method.label, None, float(scores.mean()) if values else None,
        corrected_standard_error(scores, study.splits.share), len(values), len(errors), note,
    )  # fmt: skip


def _notes(study: Study) -> list[str]:
    splits = study.splits
    kind = (
        f"Stratified {splits.folds}-fold cross-validation"
        if splits.test_share is None
        else f"Stratified train-test split with {splits.test_share:.0%} test rows"
    )
    times = "" if splits.repeats == 1 else f", {splits.repeats} repeats"
    text = (
        f"{kind}{times}, the same splits for every method; seed {splits.seed}. ±: standard error "
        "of the mean, corrected for overlapping training sets."
    )
    return [text]


def _summary(rows: Sequence[ResultRow], study: Study) -> list[str]:
    """Name the best method, and say whether it is significantly better."""
    labels = [method.label for method in study.methods]
    if len(labels) < 2:
        return []
    scores = np.array([row.ours for row in rows], dtype=float).reshape(-1, len(labels))
    whole = scores[~np.isnan(scores).any(axis=1)]
    measure = MEASURES[study.measure]
    greater = bool(measure.greater_is_better)
    if not len(whole):
        return ["No ranking: no dataset has scores of every method yet."]
    if len(whole) == 1:
        # a test needs several datasets
        order = np.argsort(-whole[0] if greater else whole[0], kind="stable")
        first, second = (f"{labels[i]} ({measure.written(whole[0, i], 4)})" for i in order[:2])
        return [f"Best mean {measure.label}: {first}, then {second}."]
    found = compare_methods(whole, greater_is_better=greater, names=labels)
    left_out = len(scores) - len(whole)
    rest = f"Datasets left out of the ranking, without scores of every method: {left_out}."
    return [found.sentence(), *[rest] * bool(left_out)]


Place: TypeAlias = DatasetEntry | Dataset | str
"""Where a worker finds a dataset: a declared entry, the rows themselves, or a joblib file."""


def study_experiment(
    study: Study,
    places: Mapping[str, Place],
    hashes: Mapping[str, str],
    data_dir: str | None = None,
    methods: Mapping[str, Method] = MappingProxyType({}),
) -> Experiment:
    """Make an experiment of a study, given the place of each dataset and the hash of its rows."""
    own = {each.name: methods[each.name] for each in study.methods if each.digest}
    return Experiment(
        study.name, study.title, study.cells(hashes),
        compute=partial(score_cell, places=dict(places), own=own),
        summarise=partial(summarise_study, study=study),
        data_dir=data_dir,
    )  # fmt: skip


def score_cell(
    cell: Cell,
    data_dir: str | None,
    places: Mapping[str, Place],
    own: Mapping[str, Method] = MappingProxyType({}),
) -> dict[str, Plain]:
    """Fit and score a cell; places are not part of its key, only the content of the rows is.

    ``own`` are user-defined methods.
    """
    params = StudyParams.of(cell)
    dataset = _same_rows(places[params.dataset], data_dir, cell)
    splits, task = params.splits, dataset.task
    method = own[params.method] if params.method in own else get_method(params.method, task.name)
    fold = fold_rows(dataset, method, params)
    sources = None if splits.ordered else dataset.sources
    train, test = (None if sources is None else sources[rows] for rows in fold)
    fit_params = method.fit_params(train, splits.new_sources)
    predict_params = method.predict_params(test, splits.new_sources)
    with recorded_warnings() as warned:
        reduced = dict(method.quick or {}) if splits.quick else {}
        model = seeded_model(method, reduced | params.params, dataset, fit_seed(cell))
        model.fit(dataset.X[fold.train], dataset.y[fold.train], **fit_params)
        scores = score_model(
            model, dataset.X[fold.test], dataset.y[fold.test], task, predict_params,
            tuple(dataset.classes) if splits.keep else None,
        )  # fmt: skip
    return scores | {"warnings": list(dict.fromkeys(warned))}


def score_model(
    model: Any,
    X: NDArray[Any],
    y: NDArray[Any],
    task: Task,
    predict_params: Mapping[str, Any] = MappingProxyType({}),
    classes: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Score a fitted model on test rows; in regression, keep some predictions.

    All are kept, as ``output``, if the ``classes`` of the dataset are given, none for regression.
    """
    predictions = model_predictions(model, X, predict_params, class_scores=task is CLASSIFICATION)
    if task is not CLASSIFICATION and not np.isfinite(predictions.y_pred).all():
        raise ValueError("the model predicts NaN or infinity")
    scores: dict[str, Any] = dict(task.scores(y, predictions))
    if task is not CLASSIFICATION:
        scores["kept"] = _kept_predictions(predictions)
    if classes is not None:
        scores["output"] = _output(predictions, classes)
    return scores


def _output(predictions: Predictions, classes: Sequence[str]) -> list[Any] | None:
    """Give values, or probabilities of all classes; None for a method without probabilities."""
    if not classes:
        return list(predictions.y_pred.tolist())
    if predictions.probabilities is None:
        return None
    output = np.zeros((len(predictions.y_pred), len(classes)))
    output[:, [classes.index(each) for each in predictions.classes]] = predictions.probabilities
    return list(output.tolist())


def _kept_predictions(predictions: Predictions) -> dict[str, Any]:
    """Predictions of evenly spaced rows of a fold, with their positions in the fold."""
    y_pred, intervals = predictions.y_pred, predictions.intervals
    places = np.arange(0, len(y_pred), -(-len(y_pred) // KEPT_ROWS))
    return {
        "places": places.tolist(),
        "predicted": y_pred[places].tolist(),
        "intervals": None if intervals is None else intervals[places].tolist(),
    }


def fold_rows(dataset: Dataset, method: Method, params: StudyParams) -> Fold:
    """Training rows and test rows of a cell."""
    splits, place = params.splits, (params.repeat, params.fold)
    fold = splits.rows(dataset, *place)
    if not splits.quick:
        return fold
    return fewer_rows(fold, fold_labels(dataset.y), method, splits.fold_seed(*place))


def fit_seed(cell: Cell) -> int:
    """Seed of a fit: the same for the same data, method, parameters and split in any study."""
    own = {name: value for name, value in cell.params.items() if name not in UNSEEDED}
    return Cell("study", own, cell.version, cell.data).seed


def seeded_model(
    method: Method, params: Mapping[str, Any], dataset: Dataset, seed: int
) -> Pipeline:
    """Make a method's model with parameters, and set every ``random_state`` that is None."""
    model = make_model(method, dataset.columns, seed, task=dataset.task.name)
    set_method_params(model, params)
    free = [name for name, value in model.get_params().items() if value is None]
    return model.set_params(**{name: seed for name in free if name.endswith("random_state")})


def set_method_params(model: Pipeline, params: Mapping[str, Any]) -> None:
    """Set parameters of the last step; a tuned one is fixed and leaves the search grid."""
    step = model[-1]
    if not isinstance(step, GridSearchCV):
        step.set_params(**params)
        return
    known = step.estimator.get_params()
    own = {name: value for name, value in params.items() if name not in known}
    grid = {name: values for name, values in step.param_grid.items() if name not in params}
    step.estimator.set_params(**{name: params[name] for name in params if name in known})
    step.set_params(**({"param_grid": grid} | own))


def open_entry(entry: DatasetEntry, data_dir: str | None) -> Dataset:
    """Open a dataset of a study file."""
    return open_dataset(
        entry.file or entry.name, entry.target, data_dir=data_dir, drop=entry.drop,
        source_column=entry.source, task=entry.task,
    )  # fmt: skip


@contextmanager
def within_reach(dataset: Dataset, scheduler: str | None) -> Iterator[Place]:
    """Write a large table to a file, which each local worker reads once; else yield it itself."""
    if scheduler is not None or dataset.X.nbytes < LARGE:
        yield dataset
        return
    with TemporaryDirectory(prefix="ensemblage-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "rows.joblib"
        joblib.dump(dataset, path)
        yield str(path)


def _same_rows(place: Place, data_dir: str | None, cell: Cell) -> Dataset:
    if isinstance(place, Dataset):
        return place
    if isinstance(place, str):
        return _mapped(place)
    dataset, found = _opened(place, data_dir)
    if found != cell.data:
        raise ValueError(f"the dataset {place.name!r} has changed since the start of the run")
    return dataset


@lru_cache(maxsize=4)
def _opened(entry: DatasetEntry, data_dir: str | None) -> tuple[Dataset, str]:
    dataset = open_entry(entry, data_dir)
    return dataset, dataset_fingerprint(dataset)


@lru_cache(maxsize=1)
def _mapped(path: str) -> Dataset:
    dataset: Dataset = joblib.load(path, mmap_mode="r")
    return replace(dataset, X=np.asarray(dataset.X), y=np.asarray(dataset.y))


def train_rows(method: Method, n_rows: int, splits: Splits) -> int:
    """Return the number of training rows of a method."""
    whole = int(n_rows * (1 - splits.share))
    return min(whole, _max_rows(method)) if splits.quick else whole


def _max_rows(method: Method) -> int:
    return SUPERLINEAR_ROWS if method.superlinear else MAX_ROWS


def fewer_rows(fold: Fold, y: NDArray[Any], method: Method, seed: int) -> Fold:
    """Subsample a large fold; methods with the same limit keep the same rows."""
    limit = _max_rows(method)
    return Fold(
        draw_by_class(fold.train, y, limit, seed), draw_by_class(fold.test, y, TEST_ROWS, seed)
    )


def draw_by_class(
    rows: NDArray[np.intp], y: NDArray[Any], limit: int, seed: int
) -> NDArray[np.intp]:
    """Draw a stratified subsample, in order, with at least one row of each class."""
    if len(rows) <= limit:
        return rows
    mixed = np.random.default_rng(seed).permutation(rows)
    place = np.empty(len(mixed))
    for label in np.unique(y[mixed]):
        here = np.flatnonzero(y[mixed] == label)
        # rows of each class at equal steps between 0 and 1: the lowest are kept
        place[here] = np.arange(len(here)) / len(here)
    return np.sort(mixed[np.argsort(place, kind="stable")[:limit]])


def quick_notes(folds: Sequence[Fold], methods: Sequence[Method]) -> list[str]:
    """List what a quick comparison reduces: training rows, test rows, hyperparameter grids."""
    largest, notes = max(len(fold.train) for fold in folds), []
    slow = [method.label for method in methods if method.superlinear]
    if slow and largest > SUPERLINEAR_ROWS:
        notes.append(
            f"`quick`: {listed(slow)} fitted on {SUPERLINEAR_ROWS} of {largest} training rows, "
            "since their time grows faster than linearly. They may score better on all rows: "
            "compare without `quick` before ruling them out."
        )
    if len(slow) < len(methods) and largest > MAX_ROWS:
        notes.append(
            f"`quick`: {'other ' if slow else 'all '}methods fitted on {MAX_ROWS} of {largest} "
            "training rows."
        )
    if max(len(fold.test) for fold in folds) > TEST_ROWS:
        notes.append(f"`quick`: {TEST_ROWS} test rows per fold.")
    reduced = [method.label for method in methods if method.quick]
    if reduced:
        notes.append(f"`quick`: smaller hyperparameter grids for {listed(reduced)}.")
    return notes
