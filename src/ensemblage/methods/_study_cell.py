"""One cell of a study: a method fitted on one part of the rows and scored on another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

import joblib
import msgspec
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from ensemblage.datasets import Dataset, dataset_fingerprint, open_dataset
from ensemblage.methods._fewer_rows import fewer_rows
from ensemblage.methods._registry import Method, get_method, make_model
from ensemblage.methods._study import StudyParams
from ensemblage.runs import Cell, DatasetEntry, Plain, recorded_warnings, score_predictions

# What changes neither the fit's randomness nor the folds.
UNSEEDED = {"dataset", "quick"}
# More bytes of numbers than these are not sent along with every cell.
LARGE = 1_000_000


class KeptRows(NamedTuple):
    """Rows that lie in a file of this process, for its workers on the same machine."""

    path: str


Place: TypeAlias = DatasetEntry | Dataset | KeptRows
"""Where a worker finds a dataset."""


def score_cell(cell: Cell, data_dir: str | None, places: Mapping[str, Place]) -> dict[str, Plain]:
    """Fit and score; places are not in the cell, as rows that move stay the same."""
    params = StudyParams.of(cell)
    dataset = _same_rows(places[params.dataset], data_dir, cell)
    splits, method = params.splits, get_method(params.method)
    fold = splits.rows(dataset, params.repeat, params.fold)
    if splits.quick:
        fold = fewer_rows(fold, dataset.y, method, splits.fold_seed(params.repeat, params.fold))
    sources = None if dataset.sources is None else dataset.sources[fold.train]
    extra = method.fit_params(sources, splits.new_sources)
    with recorded_warnings() as said:
        model = seeded_model(method, params.params, dataset, fit_seed(cell))
        model.fit(dataset.X[fold.train], dataset.y[fold.train], **extra)
        scores = score_predictions(model, dataset.X[fold.test], dataset.y[fold.test])
    warned = tuple(dict.fromkeys(said))
    return dict(msgspec.to_builtins(msgspec.structs.replace(scores, warnings=warned)))


def fit_seed(cell: Cell) -> int:
    """Derive a seed: the same for the same data, method, parameters and split in any study."""
    own = {name: value for name, value in cell.params.items() if name not in UNSEEDED}
    return Cell("study", own, cell.version, cell.data).seed


def seeded_model(
    method: Method, params: Mapping[str, Any], dataset: Dataset, seed: int
) -> Pipeline:
    """Make a method's model with parameters; they may bring in randomness, which is seeded too."""
    model = make_model(method.name, dataset.kinds, seed)
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
        source_column=entry.source,
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
