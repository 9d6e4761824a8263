"""A study as an experiment to run; from a TOML file, what it says of methods is checked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from ensemblage.datasets import dataset_fingerprint
from ensemblage.methods._registry import METHODS
from ensemblage.methods._splits import Splits
from ensemblage.methods._study import MethodPoint, Study
from ensemblage.methods._study_cell import Place, open_entry, score_cell
from ensemblage.methods._study_checks import check_method, check_splits
from ensemblage.methods._study_table import summarise_study
from ensemblage.runs import (
    Experiment,
    ExperimentFileError,
    MethodEntry,
    StudyFile,
    check_choice,
    check_different,
    read_study_file,
)


def study_experiment(
    study: Study,
    places: Mapping[str, Place],
    hashes: Mapping[str, str],
    data_dir: str | None = None,
) -> Experiment:
    """Make a study something to run, given where each dataset lies and the hash of its rows."""
    return Experiment(
        study.name, study.title, study.cells(hashes),
        compute=partial(score_cell, places=dict(places)),
        summarise=partial(summarise_study, study=study),
        data_dir=data_dir,
    )  # fmt: skip


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
        methods = tuple(
            point
            for i, entry in enumerate(file.methods, start=1)
            for point in _points(entry, f"methods[{i}]")
        )
        check_different((each.label for each in methods), "methods", "label")
    except ExperimentFileError as error:
        raise ExperimentFileError(f"{Path(path).name}: {error}") from None
    splits = Splits(file.seed if seed is None else seed, file.repeats, file.folds, file.test_share)
    study = Study(
        file.name, file.title, tuple(each.name for each in file.datasets), methods, splits,
        file.measure,
    )  # fmt: skip
    places = {entry.name: entry for entry in file.datasets}
    return study_experiment(study, places, _checked_hashes(file, study, data_dir), data_dir)


def _checked_hashes(file: StudyFile, study: Study, data_dir: str | None) -> dict[str, str]:
    """Open each dataset, see that splits and parameters suit it, and give its hash."""
    hashes: dict[str, str] = {}
    for entry in file.datasets:
        dataset = open_entry(entry, data_dir)
        check_splits(dataset, study.splits)
        for method in study.methods:
            check_method(method, dataset)
        hashes[entry.name] = dataset_fingerprint(dataset)
    return hashes


def _points(entry: MethodEntry, where: str) -> list[MethodPoint]:
    """One point of the grid after the other: a list of values is tried one by one."""
    if entry.name is None:
        raise ExperimentFileError(f"{where} needs a name, one of: {', '.join(METHODS)}.")
    name = check_choice(entry.name, METHODS, f"{where}: name")
    label = METHODS[name].label if entry.label is None else entry.label
    grid = {key: each if isinstance(each, list) else [each] for key, each in entry.params.items()}
    varied = [key for key, values in grid.items() if len(values) > 1]
    points = [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]
    return [MethodPoint(name, _point_label(label, point, varied), point) for point in points]


def _point_label(label: str, point: Mapping[str, Any], varied: list[str]) -> str:
    shown = ", ".join(f"{key}={point[key]}" for key in varied)
    return f"{label} ({shown})" if shown else label
