"""An experiment: cells and their results."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from ensemblage._core import listed, set_module
from ensemblage.datasets import DataSummary
from ensemblage.studies._documents import ResultRow, ResultTable

# What tells apart cells that take equally long.
PLACES = frozenset({"repeat", "fold", "seed", "start"})
ENOUGH = 0.1
"""Nothing is told before this share of the work is done: it would be a guess."""


class Cost(NamedTuple):
    """What a cell is expected to cost: like others of its kind; before one is done, the prior.

    Priors need no unit; only how they compare matters.
    """

    kind: str
    prior: float = 1.0


def usual_cost(params: Mapping[str, object]) -> Cost:
    """Take cells for alike that differ in repeat, fold or seed only."""
    own = {name: value for name, value in params.items() if name not in PLACES}
    return Cost(json.dumps(own, sort_keys=True, default=str))


class TimeLeft:
    """Adds up what waiting cells are expected to take, on so many workers.

    Parameters
    ----------
    costs : mapping of str to Cost
        Of each cell that is to be computed, by its key.
    width : int or None
        How many are computed at a time; None if that is not known, and then nothing is told.
    clock : callable, default=None
        Tells the time in seconds, so that cells at work count with what is left of them; without
        one they count whole.
    """

    def __init__(
        self,
        costs: Mapping[str, Cost],
        width: int | None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._waiting = dict(costs)
        self._width = width
        self._clock = clock
        self._begun: dict[str, float] = {}
        self._begin()
        self._seconds: dict[str, list[float]] = {}
        self._spent = 0.0
        self._expected = 0.0

    def add(self, key: str, seconds: float) -> None:
        """Note how long a cell took."""
        cost = self._waiting.pop(key)
        self._begun.pop(key, None)
        self._begin()
        self._seconds.setdefault(cost.kind, []).append(seconds)
        self._spent += seconds
        self._expected += cost.prior

    def left(self) -> float | None:
        """Give the seconds left, None while too little is known."""
        # a guess for kinds not seen yet: priors, in the measure of those that were
        scale = self._spent / self._expected if self._expected else 0.0
        means = {kind: sum(times) / len(times) for kind, times in self._seconds.items()}
        each = [
            max(0.0, means.get(cost.kind, scale * cost.prior) - self._worked_on(key))
            for key, cost in self._waiting.items()
        ]
        total = sum(each)
        if not self._width or not self._expected or self._spent < ENOUGH * (self._spent + total):
            return None
        # the last workers end no earlier than the longest cell
        return max(total / self._width, max(each, default=0.0))

    def _begin(self) -> None:
        """Note when the next cells begin: they are computed in their order, so many at a time."""
        if self._clock is not None and self._width:
            for key in islice(self._waiting, self._width):
                self._begun.setdefault(key, self._clock())

    def _worked_on(self, key: str) -> float:
        begun = self._begun.get(key)
        return 0.0 if begun is None or self._clock is None else self._clock() - begun


Plain: TypeAlias = str | int | float | bool | list["Plain"] | dict[str, "Plain"] | None
"""What JSON can hold."""


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Cell:
    """One thing to compute: the same key means the same values, wherever it runs.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    params : mapping of str to a plain value
        What distinguishes the cell: dataset, method, its parameters, repeat, the user's seed.
    version : int
        Of the method and its protocol: a change that alters values raises it.
    data : str
        Hash of the dataset's content; empty where the parameters determine the data.
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
    """What became of a cell.

    Parameters
    ----------
    cell : Cell
        The cell.
    values : mapping of str to a plain value
        What it computed; empty if it failed.
    seconds : float
        How long that took.
    error : str
        The error's type and text; empty if there was none.
    """

    cell: Cell
    values: Mapping[str, Plain]
    seconds: float
    error: str = ""


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Experiment:
    """Cells to compute and what to make of them.

    Parameters
    ----------
    name, title : str
        What it is called, and what it shows.
    cells : sequence of Cell
        In the order in which to compute them: first what makes a useful table early.
    compute : callable
        ``compute(cell, data_dir)`` gives the cell's values, a dict of plain values. A
        module-level function, since it runs in other processes.
    summarise : callable
        ``summarise(results)`` makes the tables (one or more) of whatever results there
        are so far.
    data_dir : str or None
        A folder of CSV files, see :func:`ensemblage.datasets.load_dataset`; where the data lies
        does not change what a cell gives.
    data : tuple of DataSummary
        What the datasets hold, where that is known.
    cost : callable or None
        ``cost(params)`` of a cell tells which others take as long, to expect the time left; None
        takes those for alike that differ in repeat, fold or seed only.
    """

    name: str
    title: str
    cells: Sequence[Cell]
    compute: Callable[[Cell, str | None], Mapping[str, Any]]
    summarise: Callable[[Sequence[CellResult]], Sequence[ResultTable]]
    data_dir: str | None = None
    data: tuple[DataSummary, ...] = ()
    cost: Callable[[Mapping[str, Any]], Cost] | None = None


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
