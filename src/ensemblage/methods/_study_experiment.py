"""A study from a TOML file, checked for its datasets and methods before any work starts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
from sklearn.model_selection import GridSearchCV

from ensemblage.datasets import DataCard, Dataset, dataset_fingerprint, names_file
from ensemblage.messages import Task, suggestion
from ensemblage.methods._registry import METHODS_OF, get_method, make_model
from ensemblage.methods._study import MethodPoint, Splits, Study
from ensemblage.methods._study_cell import (
    open_entry,
    set_method_params,
    study_experiment,
)
from ensemblage.runs import (
    DatasetEntry,
    Experiment,
    ExperimentFileError,
    MethodEntry,
    StudyFile,
    check_choice,
    check_different,
    read_study_file,
)

MOST_POINTS = 10_000
"""Combinations of one method's parameters."""


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
    file = read_study_file(path)
    try:
        for i, entry in enumerate(file.methods, start=1):
            _check_name(entry, f"methods[{i}]")
        for i, each in enumerate(file.datasets, start=1):
            _check_dataset(each, f"datasets[{i}]")
        opened = {each.name: open_entry(each, data_dir) for each in file.datasets}
        task = _one_task(opened)
        methods = tuple(
            point
            for i, entry in enumerate(file.methods, start=1)
            for point in _points(entry, f"methods[{i}]", task)
        )
        check_different((each.label for each in methods), "methods", "label")
        measure = _measure(file, task)
    except ExperimentFileError as error:
        raise ExperimentFileError(f"{Path(path).name}: {error}") from None
    splits = Splits(file.seed if seed is None else seed, file.repeats, file.folds, file.test_share)
    study = Study(file.name, file.title, tuple(opened), methods, splits, measure, task)
    places = {entry.name: entry for entry in file.datasets}
    hashes, cards = _checked_data(opened, study)
    return replace(study_experiment(study, places, hashes, data_dir), data=cards)


def _one_task(opened: Mapping[str, Dataset]) -> Task:
    """Tell whether classes or numbers are predicted, in all datasets alike."""
    tasks = {each.task.name: name for name, each in opened.items()}
    if len(tasks) > 1:
        told = ", ".join(f"{name} has {opened[name].task.targets}" for name in tasks.values())
        raise ExperimentFileError(
            f"datasets: either classes or numbers are predicted in one study, but {told}. Declare "
            'two studies, or say task = "classification" or "regression" for a file.'
        )
    return next(iter(opened.values())).task


def _measure(file: StudyFile, task: Task) -> str:
    return (
        task.usual if file.measure is None else check_choice(file.measure, task.deciding, "measure")
    )


def _checked_data(
    opened: Mapping[str, Dataset], study: Study
) -> tuple[dict[str, str], tuple[DataCard, ...]]:
    """See that splits and parameters suit each dataset, and give its hash and card."""
    hashes: dict[str, str] = {}
    cards = []
    for name, dataset in opened.items():
        check_splits(dataset, study.splits)
        for method in study.methods:
            check_method(method, dataset)
        hashes[name] = dataset_fingerprint(dataset)
        cards.append(msgspec.structs.replace(DataCard.of_dataset(dataset), name=name))
    return hashes, tuple(cards)


def _check_dataset(entry: DatasetEntry, where: str) -> None:
    """Refuse a file in the place of a name: it has no target, and a study reads data again."""
    if entry.file is None and names_file(entry.name):
        raise ExperimentFileError(
            f"{where}: {entry.name!r} is no name of a dataset. Say which file it is, as "
            'file = "...", and its target; standard input cannot be read again.'
        )


def _check_name(entry: MethodEntry, where: str) -> None:
    """Refuse what no method is called, before any dataset is opened."""
    every = list(dict.fromkeys(name for methods in METHODS_OF.values() for name in methods))
    if entry.name is None:
        raise ExperimentFileError(f"{where} needs a name, one of: {', '.join(every)}.")
    check_choice(entry.name, every, f"{where}: name")


def _points(entry: MethodEntry, where: str, task: Task) -> list[MethodPoint]:
    """One point of the grid after the other: a list of values is tried one by one."""
    known = METHODS_OF[task.name]
    name = check_choice(entry.name, known, f"{where}: {task.targets} are predicted, and name")
    label = known[name].label if entry.label is None else entry.label
    grid = {key: each if isinstance(each, list) else [each] for key, each in entry.params.items()}
    varied = [key for key, values in grid.items() if len(values) > 1]
    n_points = math.prod(len(values) for values in grid.values())
    if n_points > MOST_POINTS:
        raise ExperimentFileError(
            f"{where}: the lists of {', '.join(varied)} make {n_points:,} combinations, more than "
            f"{MOST_POINTS:,}. Shorten them, or spread them over several studies."
        )
    points = [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]
    return [MethodPoint(name, _point_label(label, point, varied), point) for point in points]


def _point_label(label: str, point: Mapping[str, Any], varied: list[str]) -> str:
    shown = ", ".join(f"{key}={point[key]}" for key in varied)
    return f"{label} ({shown})" if shown else label


def check_splits(dataset: Dataset, splits: Splits) -> None:
    """Refuse folds or shares that cannot be drawn."""
    most = dataset.most_folds
    if splits.folds is not None and most < splits.folds:
        few = f"no class of {dataset.name!r} has more than {most} rows"
        if not dataset.classes:
            few = f"{dataset.name!r} has {len(dataset.y)} rows, and each fold needs two"
        raise ExperimentFileError(f"folds is {splits.folds}, but {few}: use fewer folds.")
    if splits.folds is None:
        try:
            splits.rows(dataset, 0, 0)
        except ValueError as error:
            raise ExperimentFileError(
                f"test_share is {splits.test_share}, which does not suit {dataset.name!r}: {error}"
            ) from None


def check_method(point: MethodPoint, dataset: Dataset) -> None:
    """Refuse parameters that a method does not have or take."""
    where = f"The method {point.label!r}"
    task = dataset.task.name
    if get_method(point.name, task).needs_sources and dataset.sources is None:
        raise ExperimentFileError(
            f"{where} needs to know where rows come from, but the dataset {dataset.name!r} has no "
            'source: name the column by source = "...".'
        )
    model = make_model(point.name, dataset.columns, seed=0, task=task)
    inner = model[-1].estimator if isinstance(model[-1], GridSearchCV) else model[-1]
    known = [name for name in inner.get_params() if not name.endswith("random_state")]
    for name, value in point.params.items():
        if name.endswith("random_state"):
            raise ExperimentFileError(f"{where}: {name} cannot be set; seed sets them all.")
        if name not in known:
            raise ExperimentFileError(
                f"{where}: params.{name} = {value!r} is not a parameter of "
                f"{type(inner).__name__}.{suggestion(name, known)} Its parameters are: "
                f"{', '.join(each for each in known if '__' not in each)}."
            )
    set_method_params(model, point.params)
    try:
        inner._validate_params()  # noqa: SLF001  scikit-learn's own check, which fit runs too late
    except ValueError as error:
        raise ExperimentFileError(f"{where}: {error}") from None
