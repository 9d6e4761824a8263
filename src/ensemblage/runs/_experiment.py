"""An experiment declared as data: cells to compute, and the table that their values become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ensemblage.runs._cell import Cell, CellResult


@dataclass(frozen=True)
class ResultRow:
    """One entry of a result table: what the paper printed, and what we measured.

    Parameters
    ----------
    row, column : str
        Where it stands: usually a dataset and a method.
    paper : float or None
        The paper's value; None if it gives none.
    ours : float or None
        Our mean; None if every repeat failed or none has run yet.
    standard_error : float or None
        Of our mean; None with fewer than two repeats.
    repeats : int
        How many values the mean is of.
    failures : int
        Repeats that failed.
    note : str
        Why the two differ, or why they cannot be compared; one sentence.
    comparable : bool
        Whether the difference means anything: false for a stand-in for the paper's data.
    is_mean : bool
        Whether it stands in a row of means over other rows, which is no dataset to rank on.
    """

    row: str
    column: str
    paper: float | None
    ours: float | None
    standard_error: float | None
    repeats: int
    failures: int = 0
    note: str = ""
    comparable: bool = True
    is_mean: bool = False

    @property
    def difference(self) -> float | None:  # numpydoc ignore=RT01
        """Ours less the paper's, where both are there and can be compared."""
        if self.paper is None or self.ours is None or not self.comparable:
            return None
        return self.ours - self.paper


@dataclass(frozen=True)
class ResultTable:
    """An experiment's outcome, ready to be printed or drawn.

    Parameters
    ----------
    name, title : str
        The experiment.
    measure : str
        What the numbers are, with their unit: "classification error", "accuracy (%)".
    rows : sequence of ResultRow
        The entries, in the order in which they should be read.
    summary : sequence of str
        What the table shows, in plain sentences, made from its numbers.
    notes : sequence of str
        Known deviations from the paper, and what cannot be had.
    greater_is_better : bool or None
        Direction of the measure; None if it has none.
    """

    name: str
    title: str
    measure: str
    rows: Sequence[ResultRow]
    summary: Sequence[str] = ()
    notes: Sequence[str] = ()
    greater_is_better: bool | None = None


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
    """

    name: str
    title: str
    cells: Sequence[Cell]
    compute: Callable[[Cell, str | None], Mapping[str, Any]]
    summarise: Callable[[Sequence[CellResult]], Sequence[ResultTable]]
    data_dir: str | None = None
