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
    """A file that declares an experiment has something wrong in it."""


class MethodEntry(Struct, frozen=True):
    """A method of a study; a parameter with a list of values stands for each of them."""

    name: Any = None
    label: Text | None = None
    params: Annotated[dict[str, Any], Meta(description="a table")] = {}


class StudyFile(Struct, frozen=True):
    """What a TOML file declares."""

    name: Text = ""
    title: Text = ""
    seed: Annotated[
        int,
        Meta(
            ge=0, le=LARGEST_SEED,
            description=f"a whole number of at least 0 and at most {LARGEST_SEED}",
        ),
    ] = 0  # fmt: skip
    repeats: Annotated[int, Meta(ge=1, description="a whole number of at least 1")] = 1
    folds: Annotated[int, Meta(ge=2, description="a whole number of at least 2")] | None = None
    test_share: (
        Annotated[float, Meta(gt=0, lt=1, description="a number between 0 and 1, such as 0.3")]
        | None
    ) = None
    measure: Any = None
    datasets: tuple[DatasetEntry, ...] = ()
    methods: tuple[MethodEntry, ...] = ()


MOST_LETTERS, MOST_NAMES = 5_000_000, 100


def read_study_file(path: str | PathLike[str]) -> StudyFile:
    """Read and check a TOML file; files that it names are looked for from its own folder.

    Datasets are not opened, nor do names and parameters of methods mean anything here.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        facts = {} if _is_deep(text) else tomllib.loads(text)
    except FileNotFoundError:
        raise ExperimentFileError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise ExperimentFileError(f"{path} is a folder; name a TOML file.") from None
    except UnicodeDecodeError:
        raise ExperimentFileError(f"{path.name} is not a text file in UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise ExperimentFileError(f"{path.name} is not valid TOML: {error}.") from None
    except RecursionError:
        raise ExperimentFileError(f"{path.name} nests lists or tables too deeply.") from None
    if not facts and text.strip():
        raise ExperimentFileError(f"{path.name} nests lists or tables too deeply, or is no study.")
    try:
        return _study(facts, path)
    except ExperimentFileError as error:
        raise ExperimentFileError(f"{path.name}: {error}") from None


def _is_deep(text: str) -> bool:
    """Tell names of so many parts, or so long a text, that parsing would take minutes."""
    names = (line.partition("=")[0] for line in text.splitlines())
    return len(text) > MOST_LETTERS or any(
        name.count(".") > MOST_NAMES and "," not in name for name in names
    )


def check_different(names: Iterable[str], key: str, what: str) -> None:
    """Refuse names that occur twice, of which a table could not say which is which."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ExperimentFileError(
                f"{key}: the {what} {name!r} occurs twice; give each a {what} of its own."
            )
        seen.add(name)


def check_choice(value: Any, known: Iterable[str], where: str) -> str:
    """Refuse a value that is none of the known words."""
    if not isinstance(value, str) or value not in known:
        raise ExperimentFileError(
            f"{where} is {value!r}.{suggestion(str(value), known)} It must be one of: "
            f"{', '.join(known)}."
        )
    return value


def _study(facts: dict[str, Any], path: Path) -> StudyFile:
    shape = _shaped(facts, StudyFile, "the file")
    if shape.folds is not None and shape.test_share is not None:
        raise ExperimentFileError("folds and test_share exclude each other: keep one of them.")
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
    """Convert a table field by field, so that an error names the key, the value and the remedy."""
    types = {field.name: field.type for field in msgspec.structs.fields(shape)}
    for key in facts:
        if key not in types:
            raise ExperimentFileError(
                f"{where} has an unknown key {key!r}.{suggestion(key, types)} Known are: "
                f"{', '.join(types)}."
            )
    # tables within tables have a place of their own to name
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
    """Find the description of a type, which may be one of several that the field can have."""
    kinds = (kind, *getattr(kind, "__args__", ()))
    notes = [note for each in kinds for note in getattr(each, "__metadata__", ())]
    return next(str(note.description) for note in notes if note.description)


def _tables(facts: Mapping[str, Any], key: str) -> Iterable[tuple[int, dict[str, Any]]]:
    """Give the tables under a heading, counted from 1."""
    tables = facts.get(key)
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ExperimentFileError(f"{key} must be given as one or more tables, headed [[{key}]].")
    if not tables:
        raise ExperimentFileError(f"{key} is empty: at least one [[{key}]] is needed.")
    return enumerate(tables, start=1)


def _dataset(facts: dict[str, Any], where: str, folder: Path) -> DatasetEntry:
    entry = _shaped(facts, DatasetEntry, where)
    if entry.file is None:
        for key in ("target", "drop", "source", "task"):
            if key in facts:
                raise ExperimentFileError(f"{where}: {key} needs a file; a name has its own.")
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
        raise ExperimentFileError(f"{where}: there is no file {str(file)!r} (looked at {place}).")
    return msgspec.structs.replace(entry, name=entry.name or file.stem, file=str(place))


def _method(facts: dict[str, Any], where: str) -> MethodEntry:
    entry = _shaped(facts, MethodEntry, where)
    for key, value in entry.params.items():
        if value == []:
            raise ExperimentFileError(f"{where}: params.{key} is an empty list: nothing to try.")
        try:
            plain_values({key: value})
        except (TypeError, ValueError):
            raise ExperimentFileError(
                f"{where}: params.{key} is {value!r}; it must be text, a finite number, true or "
                "false, or a list of these."
            ) from None
    return entry


MOST_POINTS = 10_000
"""Combinations of one method's parameters."""


def read_study(
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
) -> tuple[dict[str, str], tuple[DataSummary, ...]]:
    """See that splits and parameters suit each dataset, and give its hash and card."""
    hashes: dict[str, str] = {}
    cards = []
    for name, dataset in opened.items():
        check_splits(dataset, study.splits)
        for method in study.methods:
            check_method(method, dataset)
        hashes[name] = dataset_fingerprint(dataset)
        cards.append(msgspec.structs.replace(DataSummary.of_dataset(dataset), name=name))
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
    if entry.name is None:
        raise ExperimentFileError(f"{where} needs a name, one of: {', '.join(METHODS)}.")
    check_choice(entry.name, METHODS, f"{where}: name")


def _points(entry: MethodEntry, where: str, task: Task) -> list[MethodPoint]:
    """One point of the grid after the other: a list of values is tried one by one."""
    known = methods_for(task.name)
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
    most = dataset.max_folds
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
