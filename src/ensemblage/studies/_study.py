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
from ensemblage.studies._choice import corrected_error
from ensemblage.studies._documents import ResultRow, ResultTable
from ensemblage.studies._experiment import Cell, CellResult, Experiment, Plain
from ensemblage.studies._methods import Method, get_method, make_model
from ensemblage.studies._runner import recorded_warnings

DEFAULT_FOLDS = 5

# Of how cells are computed; a change that alters values raises it.
VERSION = 3

MOST_CELLS = 1_000_000
# Of so many rows of a fold, in equal steps, predictions are kept, to be drawn.
KEPT_ROWS = 1000
# What changes neither the fit's randomness nor the folds.
UNSEEDED = {"dataset", "quick"}
# More bytes of numbers than these are not sent along with every cell.
LARGE = 1_000_000
# To be quick, a fit is on no more rows than these: of a method whose time grows faster than the
# rows, of any other, and for testing.
SUPERLINEAR_ROWS = 1_000
MOST_ROWS = 4_000
TEST_ROWS = 3_000

# The description of a type is what an error says that a value must be.
Text = Annotated[str, Meta(pattern=r"\S", description="text")]


class DatasetEntry(Struct, frozen=True):
    """A dataset of a study: a name that is known, or a file (an absolute path) with its target."""

    name: Text = ""
    file: Text | None = None
    target: Text | None = None
    drop: Annotated[tuple[str, ...], Meta(description="a list of column names")] = ()
    source: Text | None = None
    task: Any = None


class Splits(NamedTuple):
    """Repeats of stratified folds, or of a share drawn for testing where that is given.

    Folds have each class as often, or numbers from each part of their range. With
    ``new_sources`` each source is in one fold only; ``quick`` leaves rows out of large folds.
    """

    seed: int = 0
    repeats: int = 1
    folds: int | None = DEFAULT_FOLDS
    test_share: float | None = None
    new_sources: bool = False
    quick: bool = False

    @property
    def share(self) -> float:
        """Share of the rows that a split tests."""
        return 1 / self.folds if self.folds else float(self.test_share or 0)

    def places(self) -> list[tuple[int, int]]:
        """Repeat and fold of each split, first repeats first."""
        return [(repeat, fold) for repeat in range(self.repeats) for fold in range(self.folds or 1)]

    def rows(self, dataset: Dataset, repeat: int, fold: int) -> Fold:
        """Rows to train on and rows to test on."""
        y, seed = fold_labels(dataset.y), self._repeat_seed(repeat)
        if self.folds is None:
            share = StratifiedShuffleSplit(1, test_size=self.test_share, random_state=seed)
            return Fold(*next(share.split(y, y)))
        return make_folds(y, self.folds, seed, dataset.sources if self.new_sources else None)[fold]

    def fold_seed(self, repeat: int, fold: int) -> int:
        """For what is drawn from a fold's rows, the same for every method."""
        return draw_seeds(self._repeat_seed(repeat), fold + 1)[fold]

    def _repeat_seed(self, repeat: int) -> int:
        # the same whatever the number of repeats
        return draw_seeds(self.seed, repeat + 1)[repeat]


class MethodPoint(NamedTuple):
    """A method with one set of parameters, under a label that no other point has.

    ``digest`` tells a user's own estimators of one name apart.
    """

    name: str
    label: str
    params: Mapping[str, Any]
    digest: str = ""


class StudyParams(Struct, frozen=True, omit_defaults=True):
    """What tells one cell of a study from another; what is usual is left out of the cell."""

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

    @classmethod
    def of(cls, cell: Cell) -> StudyParams:
        """Read a cell."""
        return msgspec.convert(cell.params, cls)

    @property
    def splits(self) -> Splits:
        """How the rows are split, but for the number of repeats."""
        return Splits(
            self.seed, folds=self.folds, test_share=self.test_share, new_sources=self.new_sources,
            quick=self.quick,
        )  # fmt: skip


@dataclass(frozen=True)
class Study:
    """What is to be repeated; the datasets by their names."""

    name: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[MethodPoint, ...]
    splits: Splits
    measure: str = "accuracy"
    task: Task = CLASSIFICATION

    def cells(self, hashes: Mapping[str, str]) -> list[Cell]:
        """First repeats first, so that a table of all entries is there early."""
        n_splits = self.splits.repeats * (self.splits.folds or 1)
        count = n_splits * len(self.datasets) * len(self.methods)
        if count > MOST_CELLS:
            raise ValueError(
                f"{self.splits.repeats:,} repeats make {count:,} fits, more than {MOST_CELLS:,}. "
                "Ask for fewer repeats, methods or datasets, or spread them over several studies."
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
            splits.test_share, splits.new_sources, splits.quick, method.digest,
        )  # fmt: skip
        return dict(msgspec.to_builtins(params))


def summarise_study(results: Sequence[CellResult], study: Study) -> list[ResultTable]:
    """Make one table, a row per dataset and method, of whatever results there are."""
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
    numbers, errors = np.array(values, dtype=float), [each.error for each in results if each.error]
    warned = [each["warnings"][0] for each in scored if each.get("warnings")]  # type: ignore[index]
    note = ""
    if errors:
        note = f"{len(errors)} failed: {errors[0]}"
    elif scored and not values:
        note = f"gives no {study.task.beside}"
    elif warned:
        note = f"{len(warned)} of {len(scored)} fits warned: {warned[0]}"
    return ResultRow(
        dataset, method.label, None, float(numbers.mean()) if values else None,
        corrected_error(numbers, study.splits.share), len(values), len(errors), note,
    )  # fmt: skip


def _notes(study: Study) -> list[str]:
    splits = study.splits
    kind = (
        f"{splits.folds} stratified folds"
        if splits.test_share is None
        else f"A stratified {splits.test_share:.0%} of the rows for testing"
    )
    times = "once" if splits.repeats == 1 else f"{splits.repeats} times"
    text = (
        f"{kind}, drawn {times}, the same for every method; seed {splits.seed}. ± is a standard "
        "error, corrected for the overlap of training sets."
    )
    return [text]


def _summary(rows: Sequence[ResultRow], study: Study) -> list[str]:
    """Say which method comes first, and whether that can be chance."""
    labels = [method.label for method in study.methods]
    if len(labels) < 2:
        return []
    scores = np.array([row.ours for row in rows], dtype=float).reshape(-1, len(labels))
    whole = scores[~np.isnan(scores).any(axis=1)]
    measure = MEASURES[study.measure]
    greater = bool(measure.greater_is_better)
    if not len(whole):
        return ["No dataset has values of every method yet, so there is no ranking."]
    if len(whole) == 1:
        # folds of one dataset are no evidence about others, so there is no test
        order = np.argsort(-whole[0] if greater else whole[0], kind="stable")
        first, second = (f"{labels[i]} ({measure.written(whole[0, i], 4)})" for i in order[:2])
        return [f"Best mean {measure.label}: {first}, then {second}."]
    found = compare_methods(whole, greater_is_better=greater, names=labels)
    left_out = len(scores) - len(whole)
    rest = f"Datasets without values of every method, left out of the ranking: {left_out}."
    return [found.sentence(), *[rest] * bool(left_out)]


Place: TypeAlias = DatasetEntry | Dataset | str
"""Where a worker finds a dataset: by its name, here, or in a file of the process that asks."""


def study_experiment(
    study: Study,
    places: Mapping[str, Place],
    hashes: Mapping[str, str],
    data_dir: str | None = None,
    methods: Mapping[str, Method] = MappingProxyType({}),
) -> Experiment:
    """Make a study something to run, given where each dataset lies and the hash of its rows."""
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
    """Fit and score; places are not in the cell, as rows that move stay the same.

    ``own`` are methods that the registry does not have.
    """
    params = StudyParams.of(cell)
    dataset = _same_rows(places[params.dataset], data_dir, cell)
    splits, task = params.splits, dataset.task
    method = own[params.method] if params.method in own else get_method(params.method, task.name)
    fold = fold_rows(dataset, method, params)
    train, test = (None if dataset.sources is None else dataset.sources[rows] for rows in fold)
    fit_params = method.fit_params(train, splits.new_sources)
    predict_params = method.predict_params(test, splits.new_sources)
    with recorded_warnings() as warned:
        light = dict(method.quick or {}) if splits.quick else {}
        model = seeded_model(method, light | params.params, dataset, fit_seed(cell))
        model.fit(dataset.X[fold.train], dataset.y[fold.train], **fit_params)
        scores = score_model(
            model, dataset.X[fold.test], dataset.y[fold.test], task, predict_params
        )
    return scores | {"warnings": list(dict.fromkeys(warned))}


def score_model(
    model: Any,
    X: NDArray[Any],
    y: NDArray[Any],
    task: Task,
    predict_params: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Score a fitted model on rows that it has not seen; of numbers, keep some predictions."""
    predictions = model_predictions(model, X, predict_params, class_scores=task is CLASSIFICATION)
    if task is CLASSIFICATION:
        return dict(task.scores(y, predictions))
    if not np.isfinite(predictions.y_pred).all():
        raise ValueError("the model predicts what is not a finite number")
    return task.scores(y, predictions) | {"kept": _kept_predictions(predictions)}


def _kept_predictions(predictions: Predictions) -> dict[str, Any]:
    """Predictions of some rows of a fold, in equal steps, by their places in the fold."""
    y_pred, intervals = predictions.y_pred, predictions.intervals
    places = np.arange(0, len(y_pred), -(-len(y_pred) // KEPT_ROWS))
    return {
        "places": places.tolist(),
        "predicted": y_pred[places].tolist(),
        "intervals": None if intervals is None else intervals[places].tolist(),
    }


def fold_rows(dataset: Dataset, method: Method, params: StudyParams) -> Fold:
    """Rows that a cell trains on and tests on."""
    splits, place = params.splits, (params.repeat, params.fold)
    fold = splits.rows(dataset, *place)
    if not splits.quick:
        return fold
    return fewer_rows(fold, fold_labels(dataset.y), method, splits.fold_seed(*place))


def fit_seed(cell: Cell) -> int:
    """Derive a seed: the same for the same data, method, parameters and split in any study."""
    own = {name: value for name, value in cell.params.items() if name not in UNSEEDED}
    return Cell("study", own, cell.version, cell.data).seed


def seeded_model(
    method: Method, params: Mapping[str, Any], dataset: Dataset, seed: int
) -> Pipeline:
    """Make a method's model with parameters; they may bring in randomness, which is seeded too."""
    model = make_model(method, dataset.columns, seed, task=dataset.task.name)
    set_method_params(model, params)
    free = [name for name, value in model.get_params().items() if value is None]
    return model.set_params(**{name: seed for name in free if name.endswith("random_state")})


def set_method_params(model: Pipeline, params: Mapping[str, Any]) -> None:
    """Set parameters of the last step; one that it tunes by inner folds is fixed instead."""
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
    """Open what a study's file names."""
    return open_dataset(
        entry.file or entry.name, entry.target, data_dir=data_dir, drop=entry.drop,
        source_column=entry.source, task=entry.task,
    )  # fmt: skip


@contextmanager
def within_reach(dataset: Dataset, scheduler: str | None) -> Iterator[Place]:
    """Put many rows where each local worker reads them once; a cluster is sent them."""
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
        raise ValueError(f"the rows of {place.name!r} have changed since the run began")
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
    """Say on how many rows a method is fitted."""
    whole = int(n_rows * (1 - splits.share))
    return min(whole, _most_rows(method)) if splits.quick else whole


def _most_rows(method: Method) -> int:
    return SUPERLINEAR_ROWS if method.superlinear else MOST_ROWS


def fewer_rows(fold: Fold, y: NDArray[Any], method: Method, seed: int) -> Fold:
    """Leave rows out where there are many; methods of equal limits keep equal rows."""
    limit = _most_rows(method)
    return Fold(
        draw_by_class(fold.train, y, limit, seed), draw_by_class(fold.test, y, TEST_ROWS, seed)
    )


def draw_by_class(
    rows: NDArray[np.intp], y: NDArray[Any], limit: int, seed: int
) -> NDArray[np.intp]:
    """Draw rows, in order, such that classes keep their shares, and each at least one row."""
    if len(rows) <= limit:
        return rows
    mixed = np.random.default_rng(seed).permutation(rows)
    place = np.empty(len(mixed))
    for label in np.unique(y[mixed]):
        here = np.flatnonzero(y[mixed] == label)
        # the first row of each class comes first of all, the last ones last
        place[here] = np.arange(len(here)) / len(here)
    return np.sort(mixed[np.argsort(place, kind="stable")[:limit]])


def quick_notes(folds: Sequence[Fold], methods: Sequence[Method]) -> list[str]:
    """Say what was left out to be quick: rows of the folds, settings, methods."""
    largest, notes = max(len(fold.train) for fold in folds), []
    slow = [method.label for method in methods if method.superlinear]
    if slow and largest > SUPERLINEAR_ROWS:
        notes.append(
            f"To be quick, {listed(slow)} learned from {SUPERLINEAR_ROWS} of {largest} training "
            "rows, as their time grows faster than the rows; they may be better on all, so compare "
            "without `quick` before ruling them out."
        )
    if len(slow) < len(methods) and largest > MOST_ROWS:
        notes.append(
            f"To be quick, every {'other ' * bool(slow)}method learned from {MOST_ROWS} of "
            f"{largest} training rows; without `quick` all are used."
        )
    if max(len(fold.test) for fold in folds) > TEST_ROWS:
        notes.append(f"To be quick, each fold was tested on {TEST_ROWS} rows.")
    lighter = [method.label for method in methods if method.quick]
    if lighter:
        notes.append(f"To be quick, {listed(lighter)} tried fewer settings.")
    return notes
