"""A study in TOML: its shape, typed once and checked key by key before any work starts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from ensemblage.messages import MEASURES, TASKS, suggestion
from ensemblage.runs._store import plain_values

LARGEST_SEED = 2**32 - 1
DEFAULT_FOLDS = 5

# The description of a type is what an error says that a value must be.
Text = Annotated[str, Meta(pattern=r"\S", description="text")]
Shape = TypeVar("Shape", bound=Struct)


class ExperimentFileError(ValueError):
    """A file that declares an experiment has something wrong in it."""


class DatasetEntry(Struct, frozen=True):
    """A dataset of a study: a name that is known, or a file (an absolute path) with its target."""

    name: Text = ""
    file: Text | None = None
    target: Text | None = None
    drop: Annotated[tuple[str, ...], Meta(description="a list of column names")] = ()
    source: Text | None = None
    task: Any = None


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
        known = [name for name, each in MEASURES.items() if each.decides]
        check_choice(shape.measure, known, "measure")
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
