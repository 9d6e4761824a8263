"""Studies declared in TOML."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct
from sklearn.model_selection import GridSearchCV

from ensemblage._core import set_module, suggestion
from ensemblage.datasets import Dataset, DataSummary, dataset_fingerprint, names_file
from ensemblage.evaluation import DECIDING, TASKS, Task
from ensemblage.studies._experiment import Experiment, plain_values
from ensemblage.studies._methods import METHODS, get_method, make_model, methods_for
from ensemblage.studies._study import (
    DEFAULT_FOLDS,
    DatasetEntry,
    MethodPoint,
    Splits,
    Study,
    Text,
    open_entry,
    set_method_params,
    study_experiment,
)

LARGEST_SEED = 2**32 - 1
Shape = TypeVar("Shape", bound=Struct)


@set_module("ensemblage.studies")
class ExperimentFileError(ValueError):
    """Error in a TOML file that declares a study."""


class MethodEntry(Struct, frozen=True):
    """A method of a study; a list of values of a parameter is a grid."""

    name: Any = None
    label: Text | None = None
    params: Annotated[dict[str, Any], Meta(description="a table")] = {}


class StudyFile(Struct, frozen=True):
    """Content of a TOML file that declares a study."""

    name: Text = ""
    title: Text = ""
    seed: Annotated[
        int,
        Meta(
            ge=0, le=LARGEST_SEED,
            description=f"an integer from 0 to {LARGEST_SEED}",
        ),
    ] = 0  # fmt: skip
    repeats: Annotated[int, Meta(ge=1, description="an integer of at least 1")] = 1
    folds: Annotated[int, Meta(ge=2, description="an integer of at least 2")] | None = None
    test_share: (
        Annotated[float, Meta(gt=0, lt=1, description="a number between 0 and 1, such as 0.3")]
        | None
    ) = None
    measure: Any = None
    datasets: tuple[DatasetEntry, ...] = ()
    methods: tuple[MethodEntry, ...] = ()


# Characters of a study file at most.
MAX_CHARACTERS = 5_000_000
# Parts of a dotted key at most.
MAX_KEY_PARTS = 100
# Combinations of one method's parameters at most.
MAX_POINTS = 10_000


def read_study_file(path: str | PathLike[str]) -> StudyFile:
    """Read and check a TOML file; paths in it are relative to its folder.

    Datasets are not opened, and names and parameters of methods are not checked.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        facts = {} if _is_deep(text) else tomllib.loads(text)
    except FileNotFoundError:
        raise ExperimentFileError(f"No such file: {path}.") from None
    except IsADirectoryError:
        raise ExperimentFileError(f"{path} is a folder; name a TOML file.") from None
    except UnicodeDecodeError:
        raise ExperimentFileError(f"{path.name} is not a text file in UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise ExperimentFileError(f"{path.name} is not valid TOML: {error}.") from None
    except RecursionError:
        raise ExperimentFileError(f"{path.name} nests lists or tables too deeply.") from None
    if not facts and text.strip():
        raise ExperimentFileError(f"{path.name} is too long, or nests tables too deeply.")
    try:
        return _study(facts, path)
    except ExperimentFileError as error:
        raise ExperimentFileError(f"{path.name}: {error}") from None


def _is_deep(text: str) -> bool:
    """Whether the text is so long or its keys so deep that parsing would take minutes."""
    names = (line.partition("=")[0] for line in text.splitlines())
    return len(text) > MAX_CHARACTERS or any(
        name.count(".") > MAX_KEY_PARTS and "," not in name for name in names
    )


def check_different(names: Iterable[str], key: str, what: str) -> None:
    """Refuse duplicate names."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ExperimentFileError(
                f"{key}: duplicate {what} {name!r}; give each a different {what}."
            )
        seen.add(name)


def check_choice(value: Any, known: Iterable[str], where: str) -> str:
    """Refuse a value that is not one of those known."""
    if not isinstance(value, str) or value not in known:
        raise ExperimentFileError(
            f"{where} is {value!r}.{suggestion(str(value), known)} It must be one of: "
            f"{', '.join(known)}."
        )
    return value


def _study(facts: dict[str, Any], path: Path) -> StudyFile:
    shape = _shaped(facts, StudyFile, "the file")
    if shape.folds is not None and shape.test_share is not None:
        raise ExperimentFileError("folds and test_share exclude each other: give only one of them.")
    if shape.measure is not None:
        check_choice(shape.measure, DECIDING, "measure")
    datasets = [
        _dataset(table, f"datasets[{i}]", path.parent) for i, table in _tables(facts, "datasets")
    ]
    check_different((each.name for each in datasets), "datasets", "name")
    methods = [_method(table, f"methods[{i}]") for i, table in _tables(facts, "methods")]
    name = shape.name or path.stem
    whole = shape.folds is None and shape.test_share is None
    return msgspec.structs.replace(
        shape, name=name, title=shape.title or name, datasets=tuple(datasets),
        methods=tuple(methods), folds=DEFAULT_FOLDS if whole else shape.folds,
    )  # fmt: skip


def _shaped(facts: Mapping[str, Any], shape: type[Shape], where: str) -> Shape:
    """Convert a table field by field, so that an error names the key and the value."""
    types = {field.name: field.type for field in msgspec.structs.fields(shape)}
    for key in facts:
        if key not in types:
            raise ExperimentFileError(
                f"{where} has an unknown key {key!r}.{suggestion(key, types)} Known keys: "
                f"{', '.join(types)}."
            )
    # nested tables are checked on their own, under their own prefix
    values = {key: value for key, value in facts.items() if key not in {"datasets", "methods"}}
    prefix = "" if where == "the file" else f"{where}: "
    for key, value in values.items():
        try:
            values[key] = msgspec.convert(value, types[key])
        except msgspec.ValidationError:
            raise ExperimentFileError(
                f"{prefix}{key} must be {_wanted(types[key])}; got {value!r}."
            ) from None
    return shape(**values)


def _wanted(kind: Any) -> str:
    """Return the description of a field's type, or of the first of several types that has one."""
    kinds = (kind, *getattr(kind, "__args__", ()))
    notes = [note for each in kinds for note in getattr(each, "__metadata__", ())]
    return next(str(note.description) for note in notes if note.description)


def _tables(facts: Mapping[str, Any], key: str) -> Iterable[tuple[int, dict[str, Any]]]:
    """Tables under a heading, numbered from 1."""
    tables = facts.get(key)
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ExperimentFileError(f"{key} must be one or more [[{key}]] tables.")
    if not tables:
        raise ExperimentFileError(f"{key} is empty: at least one [[{key}]] table is needed.")
    return enumerate(tables, start=1)


def _dataset(facts: dict[str, Any], where: str, folder: Path) -> DatasetEntry:
    entry = _shaped(facts, DatasetEntry, where)
    if entry.file is None:
        for key in ("target", "drop", "source", "task"):
            if key in facts:
                raise ExperimentFileError(
                    f"{where}: {key} is only for a file; a dataset by name has its own."
                )
        if not entry.name:
            raise ExperimentFileError(f"{where} needs a name, or a file and its target.")
        return entry
    if entry.task is not None:
        check_choice(entry.task, TASKS, f"{where}: task")
    if entry.target is None:
        raise ExperimentFileError(f"{where} has a file but no target: name the column to predict.")
    file = Path(entry.file)
    place = (folder / file.expanduser()).resolve()
    if not place.is_file():
        raise ExperimentFileError(f"{where}: no such file: {str(file)!r} ({place}).")
    return msgspec.structs.replace(entry, name=entry.name or file.stem, file=str(place))


def _method(facts: dict[str, Any], where: str) -> MethodEntry:
    entry = _shaped(facts, MethodEntry, where)
    for key, value in entry.params.items():
        if value == []:
            raise ExperimentFileError(f"{where}: params.{key} is an empty list.")
        try:
            plain_values({key: value})
        except (TypeError, ValueError):
            raise ExperimentFileError(
                f"{where}: params.{key} is {value!r}; it must be text, a finite number, true or "
                "false, or a list of these."
            ) from None
    return entry


def read_study(
    path: str | PathLike[str],
    *,
    seed: int | None = None,
    data_dir: str | None = None,
) -> Experiment:
    """Read an experiment from a TOML file and check it.

    Parameters
    ----------
    path : str or path-like
        The file; the guide on experiments describes its keys.
    seed : int, default=None
        Random seed that replaces the file's.
    data_dir : str, default=None
        A folder of CSV files, for datasets by name.

    Returns
    -------
    Experiment
        Its cells contain a hash of the data: cells of changed rows are computed again.
    """
    return make_experiment(read_study_file(path), path, seed=seed, data_dir=data_dir)


def make_experiment(
    file: StudyFile,
    path: str | PathLike[str],
    *,
    seed: int | None = None,
    data_dir: str | None = None,
) -> Experiment:
    """Open the datasets of a study file that was read, and check its methods on them."""
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
    hashes, summaries = _checked_data(opened, study)
    return replace(study_experiment(study, places, hashes, data_dir), data=summaries)


def _one_task(opened: Mapping[str, Dataset]) -> Task:
    """Return the task of the study, which all datasets must share."""
    tasks = {each.task.name: name for name, each in opened.items()}
    if len(tasks) > 1:
        found = ", ".join(f"{name}: {task}" for task, name in tasks.items())
        raise ExperimentFileError(
            f"datasets: all datasets of a study must have the same task, got {found}. Declare two "
            'studies, or set task = "classification" or "regression" for a file.'
        )
    return next(iter(opened.values())).task


def _measure(file: StudyFile, task: Task) -> str:
    return (
        task.usual if file.measure is None else check_choice(file.measure, task.deciding, "measure")
    )


def _checked_data(
    opened: Mapping[str, Dataset], study: Study
) -> tuple[dict[str, str], tuple[DataSummary, ...]]:
    """Check splits and parameters for each dataset; return its hash and summary."""
    hashes: dict[str, str] = {}
    summaries = []
    for name, dataset in opened.items():
        check_splits(dataset, study.splits)
        for method in study.methods:
            check_method(method, dataset)
        hashes[name] = dataset_fingerprint(dataset)
        summaries.append(msgspec.structs.replace(DataSummary.of_dataset(dataset), name=name))
    return hashes, tuple(summaries)


def _check_dataset(entry: DatasetEntry, where: str) -> None:
    """Refuse a path given as the name of a dataset: a file needs a target."""
    if entry.file is None and names_file(entry.name):
        raise ExperimentFileError(
            f"{where}: {entry.name!r} is not the name of a dataset. For a file, give "
            'file = "..." and target = "..."; standard input is not supported.'
        )


def _check_name(entry: MethodEntry, where: str) -> None:
    """Refuse an unknown method before any dataset is opened."""
    if entry.name is None:
        raise ExperimentFileError(f"{where} needs a name, one of: {', '.join(METHODS)}.")
    check_choice(entry.name, METHODS, f"{where}: name")


def _points(entry: MethodEntry, where: str, task: Task) -> list[MethodPoint]:
    """Points of the parameter grid of a method."""
    known = methods_for(task.name)
    name = check_choice(entry.name, known, f"{where}: for {task.name}, name")
    label = known[name].label if entry.label is None else entry.label
    grid = {key: each if isinstance(each, list) else [each] for key, each in entry.params.items()}
    varied = [key for key, values in grid.items() if len(values) > 1]
    n_points = math.prod(len(values) for values in grid.values())
    if n_points > MAX_POINTS:
        raise ExperimentFileError(
            f"{where}: the grid of {', '.join(varied)} has {n_points:,} combinations, more than "
            f"the maximum of {MAX_POINTS:,}. Shorten the lists, or use several studies."
        )
    points = [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]
    return [MethodPoint(name, _point_label(label, point, varied), point) for point in points]


def _point_label(label: str, point: Mapping[str, Any], varied: list[str]) -> str:
    shown = ", ".join(f"{key}={point[key]}" for key in varied)
    return f"{label} ({shown})" if shown else label


def check_splits(dataset: Dataset, splits: Splits) -> None:
    """Refuse splits that are impossible for a dataset."""
    most = dataset.max_folds
    if splits.folds is not None and most < splits.folds:
        few = f"no class of {dataset.name!r} has more than {most} rows"
        if not dataset.classes:
            few = f"{dataset.name!r} has {len(dataset.y)} rows, and each fold needs at least two"
        raise ExperimentFileError(f"folds is {splits.folds}, but {few}: use fewer folds.")
    if splits.folds is None:
        try:
            splits.rows(dataset, 0, 0)
        except ValueError as error:
            raise ExperimentFileError(
                f"test_share is {splits.test_share}, which fails for {dataset.name!r}: {error}"
            ) from None


def check_method(point: MethodPoint, dataset: Dataset) -> None:
    """Refuse unknown parameters and invalid values."""
    where = f"The method {point.label!r}"
    task = dataset.task.name
    if get_method(point.name, task).needs_sources and dataset.sources is None:
        raise ExperimentFileError(
            f"{where} needs the source of each row, but the dataset {dataset.name!r} has none: "
            'name the column by source = "...".'
        )
    model = make_model(point.name, dataset.columns, seed=0, task=task)
    inner = model[-1].estimator if isinstance(model[-1], GridSearchCV) else model[-1]
    known = [name for name in inner.get_params() if not name.endswith("random_state")]
    for name, value in point.params.items():
        if name.endswith("random_state"):
            raise ExperimentFileError(
                f"{where}: {name} cannot be set; seed of the file sets all random states."
            )
        if name not in known:
            raise ExperimentFileError(
                f"{where}: params.{name} = {value!r} is not a parameter of "
                f"{type(inner).__name__}.{suggestion(name, known)} Its parameters are: "
                f"{', '.join(each for each in known if '__' not in each)}."
            )
    set_method_params(model, point.params)
    try:
        inner._validate_params()  # noqa: SLF001  scikit-learn's check, before the first fit
    except ValueError as error:
        raise ExperimentFileError(f"{where}: {error}") from None
