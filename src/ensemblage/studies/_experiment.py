"""An experiment: cells and their results."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from ensemblage._core import listed, set_module
from ensemblage.datasets import DataSummary
from ensemblage.studies._documents import ResultRow, ResultTable

Plain: TypeAlias = str | int | float | bool | list["Plain"] | dict[str, "Plain"] | None
"""Values that JSON can represent."""


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Cell:
    """One unit of computation; cells with the same key have the same values.

    ``params`` identify it within the experiment: dataset, method, its parameters, repeat, seed. A
    change of the method or its protocol that alters values raises ``version``. ``data`` is a hash
    of the dataset's content, empty where the parameters determine the data.
    """

    experiment: str
    params: Mapping[str, Plain]
    version: int = 1
    data: str = ""

    @cached_property
    def key(self) -> str:  # numpydoc ignore=RT01
        """SHA-256 of the cell's canonical JSON, in hexadecimal."""
        facts = [self.experiment, dict(self.params), self.version, self.data]
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def seed(self) -> int:  # numpydoc ignore=RT01
        """Random seed of the cell, below 2**32."""
        return int(self.key[:8], 16)


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class CellResult:
    """Result of a cell: its values, or the type and message of an error, and the seconds taken."""

    cell: Cell
    values: Mapping[str, Plain]
    seconds: float
    error: str = ""


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Experiment:
    """Cells to compute, in order, and a function that summarises their results.

    ``compute(cell, data_dir)`` returns a cell's values, a dict of plain values; it is a
    module-level function, since it runs in other processes. ``summarise(results)`` makes tables of
    the results so far. The location of the data does not change a cell's values.
    ``cost(params)`` is the relative cost of a cell, for the estimate of the time left; None: all
    cells cost the same.
    """

    name: str
    title: str
    cells: Sequence[Cell]
    compute: Callable[[Cell, str | None], Mapping[str, Any]]
    summarise: Callable[[Sequence[CellResult]], Sequence[ResultTable]]
    data_dir: str | None = None
    data: tuple[DataSummary, ...] = ()
    cost: Callable[[Mapping[str, Any]], float] | None = None


def plain_values(values: Mapping[str, Any]) -> dict[str, Plain]:
    """Convert NumPy scalars and arrays to Python values; refuse what JSON cannot represent.

    NaN and infinity are refused too: use None for a missing value.
    """
    plain = _plain(values, "values")
    if not isinstance(plain, dict):
        raise TypeError(f"A cell must return a dict of values, got {type(values).__name__}.")
    return plain


def _plain(value: Any, where: str) -> Plain:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"{where} has the key {name!r}; keys must be text.")
        return {name: _plain(each, f"{where}[{name!r}]") for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, f"{where}[{i}]") for i, each in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} is {value}; give a finite number, or None if it is missing.")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(
        f"{where} is of type {type(value).__name__}; give text, numbers, booleans, None, or lists "
        "and dicts of these."
    )


def entry_notes(rows: Sequence[ResultRow]) -> list[str]:
    """List the notes of the entries, each once, with the rows it applies to."""
    found: dict[str, list[ResultRow]] = {}
    for row in rows:
        if row.note:
            found.setdefault(row.note, []).append(row)
    return [f"{_of_which(entries, rows)}: {note}" for note, entries in found.items()]


def _of_which(entries: list[ResultRow], rows: Sequence[ResultRow]) -> str:
    if len(entries) == len(rows) > 1:
        return "All rows"
    sizes, noted = Counter(each.row for each in rows), Counter(each.row for each in entries)
    names = []
    for row, times in noted.items():
        if times == sizes[row]:
            names.append(row)
        else:
            names += [f"{row} ({entry.column})" for entry in entries if entry.row == row]
    return listed(names)
