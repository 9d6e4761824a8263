"""One cell of a study: a method fitted on one part of the rows and scored on another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import joblib
import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from ensemblage.datasets import Dataset, dataset_fingerprint, fold_labels, open_dataset
from ensemblage.messages import REGRESSION, listed
from ensemblage.methods._fold_scores import score_predictions
from ensemblage.methods._method import Method
from ensemblage.methods._number_scores import score_numbers
from ensemblage.methods._registry import get_method, make_model
from ensemblage.methods._study import Splits, Study, StudyParams, summarise_study
from ensemblage.parallel import Fold
from ensemblage.runs import Cell, DatasetEntry, Experiment, Plain, recorded_warnings

# What changes neither the fit's randomness nor the folds.
UNSEEDED = {"dataset", "quick"}
# More bytes of numbers than these are not sent along with every cell.
LARGE = 1_000_000
# To be quick, a fit is on no more rows than these: of a method whose time grows faster than the
# rows, of any other, and for testing.
STEEP_ROWS = 1_000
MOST_ROWS = 4_000
TEST_ROWS = 3_000


class KeptRows(NamedTuple):
    """Rows that lie in a file of this process, for its workers on the same machine."""

    path: str


Place: TypeAlias = DatasetEntry | Dataset | KeptRows
"""Where a worker finds a dataset."""


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
    learned, asked = (_sources(dataset, rows) for rows in fold)
    extra = method.fit_params(learned, splits.new_sources)
    told = method.predict_params(asked, splits.new_sources)
    with recorded_warnings() as said:
        light = dict(method.quick or {}) if splits.quick else {}
        model = seeded_model(method, light | params.params, dataset, fit_seed(cell))
        model.fit(dataset.X[fold.train], dataset.y[fold.train], **extra)
        score: Any = score_numbers if task is REGRESSION else score_predictions
        scores = score(model, dataset.X[fold.test], dataset.y[fold.test], told)
    warned = tuple(dict.fromkeys(said))
    return dict(msgspec.to_builtins(msgspec.structs.replace(scores, warnings=warned)))


def _sources(dataset: Dataset, rows: NDArray[np.intp]) -> NDArray[Any] | None:
    return None if dataset.sources is None else dataset.sources[rows]


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
    model = make_model(method, dataset.columns, seed)
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
        yield KeptRows(str(path))


def _same_rows(place: Place, data_dir: str | None, cell: Cell) -> Dataset:
    if isinstance(place, Dataset):
        return place
    if isinstance(place, KeptRows):
        return _kept(place)
    dataset, found = _opened(place, data_dir)
    if found != cell.data:
        raise ValueError(f"the rows of {place.name!r} have changed since the run began")
    return dataset


@lru_cache(maxsize=4)
def _opened(entry: DatasetEntry, data_dir: str | None) -> tuple[Dataset, str]:
    dataset = open_entry(entry, data_dir)
    return dataset, dataset_fingerprint(dataset)


@lru_cache(maxsize=1)
def _kept(rows: KeptRows) -> Dataset:
    dataset: Dataset = joblib.load(rows.path, mmap_mode="r")
    return replace(dataset, X=np.asarray(dataset.X), y=np.asarray(dataset.y))


def train_rows(method: Method, n_rows: int, splits: Splits) -> int:
    """Say on how many rows a method is fitted."""
    whole = int(n_rows * (1 - splits.share))
    return min(whole, STEEP_ROWS if method.steep else MOST_ROWS) if splits.quick else whole


def fewer_rows(fold: Fold, y: NDArray[Any], method: Method, seed: int) -> Fold:
    """Leave rows out where there are many; methods of equal limits keep equal rows."""
    limit = STEEP_ROWS if method.steep else MOST_ROWS
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
    slow = [method.label for method in methods if method.steep]
    if slow and largest > STEEP_ROWS:
        notes.append(
            f"To be quick, {listed(slow)} learned from {STEEP_ROWS} of {largest} training rows, "
            "as their time grows faster than the rows; they may be better on all, so compare "
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
