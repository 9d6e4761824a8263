"""A declared experiment as cells: datasets x methods x parameters x repeats x folds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from os import PathLike
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline

from ensemblage.datasets import Dataset, dataset_fingerprint, open_dataset
from ensemblage.messages import suggestion
from ensemblage.methods._registry import get_method, make_model
from ensemblage.methods._study_file import (
    DatasetEntry,
    Declaration,
    ExperimentFileError,
    MethodEntry,
    read_declaration,
)
from ensemblage.methods._study_table import summarise_declared
from ensemblage.parallel import draw_seeds
from ensemblage.runs import (
    Cell,
    Experiment,
    Plain,
    balanced_accuracy,
    log_loss,
    recorded_warnings,
)

# Of how cells are computed; a change that alters values raises it.
VERSION = 1


def read_experiment(
    path: str | PathLike[str],
    *,
    seed: int | None = None,
    data_dir: str | None = None,
) -> Experiment:
    """Turn a TOML file into an experiment, checked before any work starts.

    Parameters
    ----------
    path : str or path-like
        The file; see the guide on experiments for what it may say.
    seed : int, default=None
        In place of the file's own.
    data_dir : str, default=None
        A folder of CSV files, for datasets by name.

    Returns
    -------
    Experiment
        Its cells carry a hash of the data: rows that change are computed anew.
    """
    declared = read_declaration(path)
    if seed is not None:
        declared = replace(declared, seed=seed)
    return declared_experiment(declared, data_dir=data_dir)


def declared_experiment(declared: Declaration, *, data_dir: str | None = None) -> Experiment:
    """Open the datasets, try the parameters, and lay out the cells.

    Parameters
    ----------
    declared : Declaration
        What to compare on what.
    data_dir : str, default=None
        A folder of CSV files, for datasets by name.

    Returns
    -------
    Experiment
        First repeats first, so that a table of all entries is there early.
    """
    hashes: dict[str, str] = {}
    for entry in declared.datasets:
        dataset = _open(entry, data_dir)
        _check_splits(dataset, declared)
        for method in declared.methods:
            _check_method(method, dataset)
        hashes[entry.name] = dataset_fingerprint(dataset)
    cells = [
        Cell(declared.name, params, VERSION, hashes[str(params["dataset"])])
        for params in _params(declared)
    ]
    places = {entry.name: entry for entry in declared.datasets}
    return Experiment(
        declared.name, declared.title, cells,
        compute=partial(score_declared, places=places),
        summarise=partial(summarise_declared, declared=declared),
        data_dir=data_dir,
    )  # fmt: skip


def score_declared(
    cell: Cell, data_dir: str | None, places: Mapping[str, DatasetEntry]
) -> dict[str, Plain]:
    """Fit one method on one split and score it on the other rows.

    Parameters
    ----------
    cell : Cell
        Of a declared experiment.
    data_dir : str or None
        A folder of CSV files, for datasets by name.
    places : mapping of str to DatasetEntry
        Where each dataset lies; not in the cell, as a file that moves stays the same.

    Returns
    -------
    dict
        All measures, and what the fit warned of.
    """
    params = cell.params
    dataset, found = _opened(places[str(params["dataset"])], data_dir)
    if found != cell.data:
        raise ValueError(f"the rows of {params['dataset']!r} have changed since the run began")
    train, test = _split(dataset.y, params)
    method = get_method(str(params["method"]))
    model = make_model(method.name, dataset.kinds, cell.seed)
    set_method_params(model, params["params"])
    _seed_the_rest(model, cell.seed)
    sources = None if dataset.sources is None else dataset.sources[train]
    extra = method.fit_params(sources, new_sources=False)
    with recorded_warnings() as said:
        model.fit(dataset.X[train], dataset.y[train], **extra)
        values = _measures(model, dataset.X[test], dataset.y[test])
    return values | {"warnings": list(dict.fromkeys(said))}


def set_method_params(model: Pipeline, params: Mapping[str, Any]) -> None:
    """Set parameters of a method's estimator.

    Parameters
    ----------
    model : Pipeline
        As ``make_model`` gives it; changed in place.
    params : mapping of str to object
        Parameters of its last step. One that the step tunes by inner folds is fixed instead.
    """
    step = model[-1]
    if not isinstance(step, GridSearchCV):
        step.set_params(**params)
        return
    known = step.estimator.get_params()
    own = {name: value for name, value in params.items() if name not in known}
    grid = {name: values for name, values in step.param_grid.items() if name not in params}
    step.estimator.set_params(**{name: params[name] for name in params if name in known})
    step.set_params(**({"param_grid": grid} | own))


def _seed_the_rest(model: Pipeline, seed: int) -> None:
    """Seed randomness that a parameter brings in and the method had no seed for."""
    free = [name for name, value in model.get_params().items() if value is None]
    model.set_params(**{name: seed for name in free if name.endswith("random_state")})


def _params(declared: Declaration) -> list[dict[str, Plain]]:
    split: dict[str, Plain] = (
        {"folds": declared.folds}
        if declared.test_share is None
        else {"test_share": declared.test_share}
    )
    return [
        {
            "dataset": dataset.name, "method": method.name, "params": dict(method.params),
            "repeat": repeat, "fold": fold, "seed": declared.seed, **split,
        }
        for repeat in range(declared.repeats)
        for fold in range(declared.folds or 1)
        for dataset in declared.datasets
        for method in declared.methods
    ]  # fmt: skip


def _split(y: np.ndarray, params: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    # The same rows for every method, and for a repeat the same whatever the number of repeats.
    seed = draw_seeds(params["seed"], params["repeat"] + 1)[params["repeat"]]
    if "folds" in params:
        splitter = StratifiedKFold(params["folds"], shuffle=True, random_state=seed)
    else:
        splitter = StratifiedShuffleSplit(1, test_size=params["test_share"], random_state=seed)
    with warnings.catch_warnings():
        # a class with fewer rows than folds is not tested in some of them
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(np.zeros(len(y)), y))[params["fold"]]


def _measures(model: Pipeline, X: np.ndarray, y: np.ndarray) -> dict[str, Plain]:
    predicted = np.asarray(model.predict(X))
    loss = None
    if hasattr(model, "predict_proba"):
        loss = log_loss(y, model.predict_proba(X), model.classes_)
    return {
        "accuracy": float((predicted == y).mean()),
        "balanced_accuracy": balanced_accuracy(y, predicted),
        "log_loss": loss,
    }


def _open(entry: DatasetEntry, data_dir: str | None) -> Dataset:
    return open_dataset(
        entry.file or entry.name, entry.target, data_dir=data_dir, drop=entry.drop,
        source_column=entry.source,
    )  # fmt: skip


@lru_cache(maxsize=4)
def _opened(entry: DatasetEntry, data_dir: str | None) -> tuple[Dataset, str]:
    dataset = _open(entry, data_dir)
    return dataset, dataset_fingerprint(dataset)


def _check_splits(dataset: Dataset, declared: Declaration) -> None:
    counts = dataset.classes
    if declared.folds is not None and max(counts.values()) < declared.folds:
        raise ExperimentFileError(
            f"folds is {declared.folds}, but no class of {dataset.name!r} has more than "
            f"{max(counts.values())} rows: use fewer folds."
        )
    if declared.folds is None:
        try:
            _split(
                dataset.y, {"seed": 0, "repeat": 0, "fold": 0, "test_share": declared.test_share}
            )
        except ValueError as error:
            raise ExperimentFileError(
                f"test_share is {declared.test_share}, which does not suit {dataset.name!r}: "
                f"{error}"
            ) from None


def _check_method(entry: MethodEntry, dataset: Dataset) -> None:
    where = f"The method {entry.label!r}"
    method = get_method(entry.name)
    if "sources" in method.takes and dataset.sources is None:
        raise ExperimentFileError(
            f"{where} needs to know where rows come from, but the dataset {dataset.name!r} has no "
            'source: name the column by source = "...".'
        )
    model = make_model(entry.name, dataset.kinds, seed=0)
    inner = model[-1].estimator if isinstance(model[-1], GridSearchCV) else model[-1]
    known = [name for name in inner.get_params() if not name.endswith("random_state")]
    for name, value in entry.params.items():
        if name.endswith("random_state"):
            raise ExperimentFileError(f"{where}: {name} cannot be set; seed sets them all.")
        if name not in known:
            raise ExperimentFileError(
                f"{where}: params.{name} = {value!r} is not a parameter of "
                f"{type(inner).__name__}.{suggestion(name, known)} Its parameters are: "
                f"{', '.join(each for each in known if '__' not in each)}."
            )
    set_method_params(model, entry.params)
    try:
        inner._validate_params()  # noqa: SLF001  scikit-learn's own check, which fit runs too late
    except ValueError as error:
        raise ExperimentFileError(f"{where}: {error}") from None
