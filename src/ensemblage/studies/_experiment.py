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
"""What JSON can hold."""


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Cell:
    """One thing to compute: the same key means the same values, wherever it runs.

    ``params`` tell it from other cells: dataset, method, its parameters, repeat, the user's seed. A
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
        """A seed of the cell's own, below 2**32."""
        return int(self.key[:8], 16)


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class CellResult:
    """What became of a cell: its values, or the type and text of an error, and how long it took."""

    cell: Cell
    values: Mapping[str, Plain]
    seconds: float
    error: str = ""


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Experiment:
    """Cells to compute, first what makes a useful table early, and what to make of them.

    ``compute(cell, data_dir)`` gives a cell's values, a dict of plain values; it is a module-level
    function, since it runs in other processes. ``summarise(results)`` makes tables of whatever
    results there are so far. Where the data lies does not change what a cell gives.
    ``cost(params)`` guesses how long a cell takes, to tell the time left; only how cells compare
    means something, and None takes all for alike.
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
    """Turn values into what JSON holds, NumPy's scalars and arrays into Python's; refuse the rest.

    NaN and infinity are refused too: None says that there is no number.
    """
    plain = _plain(values, "values")
    if not isinstance(plain, dict):
        raise TypeError(f"A cell must give a dict of values, got {type(values).__name__}.")
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
        raise ValueError(f"{where} is {value}; give a finite number, or None where there is none.")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(
        f"{where} is of type {type(value).__name__}; give text, numbers, booleans, None, or lists "
        "and dicts of these."
    )


def entry_notes(rows: Sequence[ResultRow]) -> list[str]:
    """Say each note once, and of which rows or entries it is."""
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
