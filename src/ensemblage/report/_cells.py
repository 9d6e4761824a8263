"""Numbers as the cells of a table, and marks on the best of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ensemblage.report._page import Cell, Column

NOTHING = Cell("\N{EN DASH}")
"""Where there is no number."""
MINUS = "\N{MINUS SIGN}"
"""As wide as a plus, unlike a hyphen."""


def number_cell(value: float | None, digits: int, error: float | None = None) -> Cell:
    """Write a number, with its standard error in a quieter tone.

    Parameters
    ----------
    value : float or None
        The number.
    digits : int
        Digits after the point.
    error : float, default=None
        Its standard error.

    Returns
    -------
    Cell
        A dash where there is no number.
    """
    if value is None:
        return NOTHING
    quiet = "" if error is None else f"± {error:.{digits}f}"
    return Cell(f"{value:.{digits}f}".replace("-", MINUS), value, quiet)


def share_cell(value: float | None) -> Cell:
    """Write a share in per cent.

    Parameters
    ----------
    value : float or None
        Between 0 and 1.

    Returns
    -------
    Cell
        A dash where there is no number.
    """
    return NOTHING if value is None else Cell(f"{value:.1%}", value)


def mark_best(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> list[list[Cell]]:
    """Mark the best number of each column that has a direction; of equals as shown, all.

    Parameters
    ----------
    columns : sequence of Column
        The columns.
    rows : iterable of sequence of Cell
        The rows.

    Returns
    -------
    list of list of Cell
        The rows, marked.
    """
    marked = [list(row) for row in rows]
    for j, column in enumerate(columns):
        if column.greater_is_better is not None:
            cells = mark_best_of([row[j] for row in marked], column.greater_is_better)
            for row, cell in zip(marked, cells, strict=True):
                row[j] = cell
    return marked


def mark_best_of(cells: Sequence[Cell], greater_is_better: bool) -> list[Cell]:
    """Mark the best of some numbers; of equals as shown, all; none if all are equal.

    Parameters
    ----------
    cells : sequence of Cell
        The numbers.
    greater_is_better : bool
        Their direction.

    Returns
    -------
    list of Cell
        The cells, marked.
    """
    known = [cell for cell in cells if cell.value is not None]
    if len({cell.text for cell in known}) < 2:
        return list(cells)
    choose = max if greater_is_better else min
    best = choose(known, key=lambda cell: cell.value)
    return [replace(cell, best=cell.text == best.text) for cell in cells]
