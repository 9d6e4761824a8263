"""From columns to codes: numbers cut into bins, categories numbered, gaps filled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.bayes._columns import MISSING, Column, match_categories, observed_categories
from ensemblage.bayes._discretizer import bin_labels, bin_of, cut_column
from ensemblage.parallel import run_tasks


class Coder:
    """How one column becomes codes.

    Parameters
    ----------
    cuts : ndarray of shape (n_cuts,) or None
        Cut points of a numeric column.
    categories : list or None
        Categories of any other column; their order is the code.
    mode : int
        Code that stands in for a missing value.
    """

    def __init__(
        self, cuts: NDArray[np.float64] | None, categories: list[Any] | None, mode: int = 0
    ) -> None:
        self.cuts = cuts
        self.categories = categories
        self.mode = mode

    @property
    def labels(self) -> list[Any]:  # numpydoc ignore=RT01
        """What each code stands for: categories, or the ranges of bins."""
        if self.cuts is not None:
            return list(bin_labels(self.cuts))
        # a column without any value still is a node, of a single state
        return list(self.categories) if self.categories else ["missing"]

    def code(self, column: Column) -> NDArray[np.int32]:
        """Code a column.

        Parameters
        ----------
        column : Column
            As it was read.

        Returns
        -------
        ndarray of shape (n_rows,)
            -1 where missing, the number of labels for an unseen category.
        """
        if self.cuts is None:
            codes = match_categories(column, self.categories or [])
            return codes if self.categories else np.where(codes == MISSING, MISSING, 1)
        if column.numbers is None:
            column = column._replace(numbers=_as_numbers(column))
        assert column.numbers is not None  # noqa: S101
        return bin_of(column.numbers, self.cuts)


def _as_numbers(column: Column) -> NDArray[np.float64]:
    """Read a column without any number as numbers, if it holds gaps only."""
    codes = column.codes if column.codes is not None else None
    if codes is not None and (codes == MISSING).all():
        return np.full(len(codes), np.nan)
    if column.cells is not None and all(
        cell is None or isinstance(cell, bool) for cell in column.cells
    ):
        return np.array([np.nan if cell is None else float(cell) for cell in column.cells])
    raise ValueError(
        f"Column {column.name!r} held numbers when the network was fitted and now holds "
        "categories. Convert it to numbers, or fit again."
    )


def learn_coders(
    columns: list[Column],
    labels: NDArray[np.int64],
    n_classes: int,
    weights: NDArray[np.float64],
    discretizer: str | None,
    n_jobs: int | None = None,
) -> list[Coder]:
    """Learn bins, categories and modes of all columns.

    Parameters
    ----------
    columns : list of Column
        As they were read.
    labels : ndarray of shape (n_rows,)
        Class codes.
    n_classes : int
        Number of class codes.
    weights : ndarray of shape (n_rows,)
        Weight of each row.
    discretizer : {"mdlp", None}
        None takes each number as a category.
    n_jobs : int, default=None
        Columns cut at the same time.

    Returns
    -------
    list of Coder
        One per column.
    """
    numeric = [j for j, c in enumerate(columns) if c.numbers is not None and discretizer]
    tasks = [(columns[j].numbers, labels, weights, n_classes) for j in numeric]
    cuts = dict(zip(numeric, run_tasks(cut_column, tasks, n_jobs), strict=True))
    coders = []
    for j, column in enumerate(columns):
        coder = Coder(cuts[j], None) if j in cuts else Coder(None, _categories(column))
        codes = coder.code(column)
        seen = (codes != MISSING) & (codes < len(coder.labels))
        counts = np.bincount(codes[seen], weights=weights[seen], minlength=len(coder.labels))
        coder.mode = int(counts.argmax())
        coders.append(coder)
    return coders


def _categories(column: Column) -> list[Any]:
    if column.declared is not None:
        return list(column.declared)
    if column.numbers is not None:
        return [float(v) for v in np.unique(column.numbers[~np.isnan(column.numbers)])]
    return observed_categories(column.cells or [])


def code_columns(columns: list[Column], coders: list[Coder]) -> NDArray[np.int32]:
    """Code all columns; the class's place, the first row, is left at zero.

    Parameters
    ----------
    columns : list of Column
        As they were read.
    coders : list of Coder
        One per column.

    Returns
    -------
    ndarray of shape (n_columns + 1, n_rows)
        Codes, -1 where missing.
    """
    n_rows = _length(columns[0])
    codes = np.zeros((len(columns) + 1, n_rows), dtype=np.int32)
    for j, (column, coder) in enumerate(zip(columns, coders, strict=True)):
        codes[j + 1] = coder.code(column)
    return codes


def fill_missing(codes: NDArray[np.int32], coders: list[Coder]) -> NDArray[np.int32]:
    """Put each column's mode where a value is missing, in place.

    Parameters
    ----------
    codes : ndarray of shape (n_columns + 1, n_rows)
        Changed; the first row is the class's.
    coders : list of Coder
        One per column.

    Returns
    -------
    ndarray of shape (n_columns + 1, n_rows)
        The same array.
    """
    for row, coder in zip(codes[1:], coders, strict=True):
        row[row == MISSING] = coder.mode
    return codes


def _length(column: Column) -> int:
    values = next(v for v in (column.numbers, column.cells, column.codes) if v is not None)
    return len(values)
