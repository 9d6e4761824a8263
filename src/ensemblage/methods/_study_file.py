"""A user's experiment in TOML: read, checked key by key before any work starts."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ensemblage.messages import suggestion
from ensemblage.methods._registry import METHODS
from ensemblage.runs import plain_values

MEASURES = {"accuracy": True, "balanced_accuracy": True, "log_loss": False}
"""Measures, and whether more is better."""

LARGEST_SEED = 2**32 - 1
DEFAULT_FOLDS = 5
TOP_KEYS = (
    "name", "title", "seed", "repeats", "folds", "test_share", "measure", "datasets", "methods",
)  # fmt: skip
DATASET_KEYS = ("name", "file", "target", "drop", "source")
METHOD_KEYS = ("name", "label", "params")


class ExperimentFileError(ValueError):
    """A file that declares an experiment has something wrong in it."""


@dataclass(frozen=True)
class DatasetEntry:
    """One dataset of a declared experiment.

    Parameters
    ----------
    name : str
        What tables call it; also what to load, if there is no file.
    file : str or None
        Absolute path of a file.
    target : str or None
        The column to predict; of a file only.
    drop : tuple of str
        Columns to leave out.
    source : str or None
        The column that tells where rows come from.
    """

    name: str
    file: str | None = None
    target: str | None = None
    drop: tuple[str, ...] = ()
    source: str | None = None


@dataclass(frozen=True)
class MethodEntry:
    """One method with one set of parameters.

    Parameters
    ----------
    name : str
        Of ``METHODS``.
    label : str
        What tables call it; different for every entry.
    params : mapping of str to a plain value
        Set on the method's estimator.
    """

    name: str
    label: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class Declaration:
    """What a TOML file declares.

    Parameters
    ----------
    name, title : str
        Of the experiment.
    datasets : tuple of DatasetEntry
        Rows of the table.
    methods : tuple of MethodEntry
        Columns of the table, each grid spread out.
    seed, repeats : int
        Where randomness comes from, and how often to draw splits.
    folds : int or None
        Folds of each repeat; None if a share is drawn for testing.
    test_share : float or None
        That share.
    measure : str
        Of ``MEASURES``.
    """

    name: str
    title: str
    datasets: tuple[DatasetEntry, ...]
    methods: tuple[MethodEntry, ...]
    seed: int = 0
    repeats: int = 1
    folds: int | None = DEFAULT_FOLDS
    test_share: float | None = None
    measure: str = "accuracy"


def read_declaration(path: str | PathLike[str]) -> Declaration:
    """Read and check a TOML file; datasets are not opened yet.

    Parameters
    ----------
    path : str or path-like
        The file. Files that it names are looked for from its own folder.

    Returns
    -------
    Declaration
        What it says.
    """
    path = Path(path)
    try:
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ExperimentFileError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise ExperimentFileError(f"{path} is a folder; name a TOML file.") from None
    except UnicodeDecodeError:
        raise ExperimentFileError(f"{path.name} is not a text file in UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise ExperimentFileError(f"{path.name} is not valid TOML: {error}.") from None
    try:
        return _declaration(facts, path)
    except ExperimentFileError as error:
        raise ExperimentFileError(f"{path.name}: {error}") from None


def _declaration(facts: dict[str, Any], path: Path) -> Declaration:
    _check_keys(facts, TOP_KEYS, "the file")
    if "folds" in facts and "test_share" in facts:
        raise ExperimentFileError("folds and test_share exclude each other: keep one of them.")
    name = _text(facts, "name", "the file", default=path.stem)
    share = facts.get("test_share")
    if share is not None and not (_is_number(share) and 0 < share < 1):
        raise ExperimentFileError(
            f"test_share must be a number between 0 and 1, such as 0.3; got {share!r}."
        )
    return Declaration(
        name=name,
        title=_text(facts, "title", "the file", default=name),
        datasets=_datasets(_tables(facts, "datasets"), path.parent),
        methods=_methods(_tables(facts, "methods")),
        seed=_whole(facts, "seed", 0, LARGEST_SEED, default=0),
        repeats=_whole(facts, "repeats", 1, default=1),
        folds=_whole(facts, "folds", 2, default=DEFAULT_FOLDS) if share is None else None,
        test_share=share,
        measure=_choice(facts.get("measure", "accuracy"), MEASURES, "measure"),
    )


def _datasets(tables: Sequence[dict[str, Any]], folder: Path) -> tuple[DatasetEntry, ...]:
    entries = [_dataset(facts, f"datasets[{i}]", folder) for i, facts in enumerate(tables, start=1)]
    _check_different((each.name for each in entries), "datasets", "name")
    return tuple(entries)


def _dataset(facts: dict[str, Any], where: str, folder: Path) -> DatasetEntry:
    _check_keys(facts, DATASET_KEYS, where)
    if "file" not in facts:
        for key in ("target", "drop", "source"):
            if key in facts:
                raise ExperimentFileError(f"{where}: {key} needs a file; a name has its own.")
        if "name" not in facts:
            raise ExperimentFileError(f"{where} needs a name, or a file and its target.")
        return DatasetEntry(_text(facts, "name", where))
    file = Path(_text(facts, "file", where))
    if "target" not in facts:
        raise ExperimentFileError(f"{where} has a file but no target: name the column to predict.")
    place = (folder / file.expanduser()).resolve()
    if not place.is_file():
        raise ExperimentFileError(f"{where}: there is no file {str(file)!r} (looked at {place}).")
    drop = facts.get("drop", [])
    if not isinstance(drop, list) or not all(isinstance(each, str) for each in drop):
        raise ExperimentFileError(f"{where}: drop must be a list of column names; got {drop!r}.")
    source = _text(facts, "source", where) if "source" in facts else None
    name = _text(facts, "name", where, default=file.stem)
    return DatasetEntry(name, str(place), _text(facts, "target", where), tuple(drop), source)


def _methods(tables: Sequence[dict[str, Any]]) -> tuple[MethodEntry, ...]:
    entries = [
        entry
        for i, facts in enumerate(tables, start=1)
        for entry in _spread(facts, f"methods[{i}]")
    ]
    _check_different((each.label for each in entries), "methods", "label")
    return tuple(entries)


def _spread(facts: dict[str, Any], where: str) -> list[MethodEntry]:
    """One entry per point of the grid: a list of values is tried one by one."""
    _check_keys(facts, METHOD_KEYS, where)
    if "name" not in facts:
        raise ExperimentFileError(f"{where} needs a name, one of: {', '.join(METHODS)}.")
    name = _choice(facts["name"], METHODS, f"{where}: name")
    params = facts.get("params", {})
    if not isinstance(params, dict):
        raise ExperimentFileError(f"{where}: params must be a table; got {params!r}.")
    for key, value in params.items():
        if value == []:
            raise ExperimentFileError(f"{where}: params.{key} is an empty list: nothing to try.")
        try:
            plain_values({key: value})
        except (TypeError, ValueError):
            raise ExperimentFileError(
                f"{where}: params.{key} is {value!r}; it must be text, a finite number, true or "
                "false, or a list of these."
            ) from None
    label = _text(facts, "label", where, default=METHODS[name].label)
    grid = {key: value if isinstance(value, list) else [value] for key, value in params.items()}
    varied = [key for key, values in grid.items() if len(values) > 1]
    points = [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]
    return [MethodEntry(name, _point_label(label, point, varied), point) for point in points]


def _point_label(label: str, point: Mapping[str, Any], varied: Sequence[str]) -> str:
    shown = ", ".join(f"{key}={point[key]}" for key in varied)
    return f"{label} ({shown})" if shown else label


def _tables(facts: dict[str, Any], key: str) -> list[dict[str, Any]]:
    tables = facts.get(key)
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ExperimentFileError(f"{key} must be given as one or more tables, headed [[{key}]].")
    if not tables:
        raise ExperimentFileError(f"{key} is empty: at least one [[{key}]] is needed.")
    return tables


def _check_keys(facts: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in facts:
        if key not in known:
            raise ExperimentFileError(
                f"{where} has an unknown key {key!r}.{suggestion(key, known)} Known are: "
                f"{', '.join(known)}."
            )


def _check_different(names: Iterable[str], key: str, what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ExperimentFileError(
                f"{key}: the {what} {name!r} occurs twice; give each a {what} of its own."
            )
        seen.add(name)


def _choice(value: Any, known: Iterable[str], where: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise ExperimentFileError(
            f"{where} is {value!r}.{suggestion(str(value), known)} It must be one of: "
            f"{', '.join(known)}."
        )
    return value


def _text(facts: dict[str, Any], key: str, where: str, *, default: str | None = None) -> str:
    value = facts.get(key, default)
    if not isinstance(value, str) or not value.strip():
        raise ExperimentFileError(f"{where}: {key} must be text; got {value!r}.")
    return value


def _whole(
    facts: dict[str, Any], key: str, least: int, most: int | None = None, *, default: int
) -> int:
    value = facts.get(key, default)
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if not fits or (most is not None and value > most):
        above = "" if most is None else f" and at most {most}"
        raise ExperimentFileError(
            f"{key} must be a whole number of at least {least}{above}; got {value!r}."
        )
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
