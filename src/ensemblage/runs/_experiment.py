"""An experiment declared as data: cells to compute, and the tables that their values become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ensemblage.runs._cell import Cell, CellResult
from ensemblage.runs._documents import ResultTable


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
