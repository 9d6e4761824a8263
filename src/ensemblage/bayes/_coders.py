"""From columns to codes: numbers cut into bins, categories numbered, gaps filled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.bayes._discretizer import bin_labels, bin_of, cut_column
from ensemblage.bayes._typed_columns import MISSING, Column, Training
from ensemblage.kernels import CLASS
from ensemblage.parallel import run_tasks


@dataclass(frozen=True, eq=False)
class Coder:
    """How one column becomes codes: by cut points, or by categories, whose order is the code.

    The mode is the code that stands in for a missing value.
    """

    cuts: NDArray[np.float64] | None = None
    categories: list[Any] | None = None
    mode: int = 0

    @property
    def labels(self) -> list[Any]:
        """What each code stands for: categories, or the ranges of bins."""
        if self.cuts is not None:
            return list(bin_labels(self.cuts))
        # a column without any value still is a node, of a single state
        return list(self.categories) if self.categories else ["missing"]

    @property
    def n_codes(self) -> int:
        """Number of labels."""
        return len(self.cuts) + 1 if self.cuts is not None else max(len(self.categories or []), 1)

    def code(self, column: Column) -> NDArray[np.int32]:
        """Code a column: ``MISSING`` for a gap, ``n_codes`` for an unseen category."""
        if self.cuts is not None:
            return bin_of(column.as_numbers(), self.cuts)
        codes = column.match(self.categories or [])
        return codes if self.categories else np.where(codes == MISSING, MISSING, self.n_codes)

    def masses(self, column: Column, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weight of the rows that have each code."""
        codes = self.code(column)
        known = (codes != MISSING) & (codes < self.n_codes)
        masses = np.bincount(codes[known], weights=weights[known], minlength=self.n_codes)
        return masses.astype(np.float64)


def learn_coders(
    training: Training, discretizer: str | None, n_jobs: int | None = None
) -> list[Coder]:
    """Learn bins, categories and modes; without a discretizer each number is a category."""
    columns, target, weights = training
    numeric = [j for j, c in enumerate(columns) if c.numbers is not None and discretizer]
    shared = (target.labels, weights, len(target.categories))
    tasks = [(columns[j].numbers, *shared) for j in numeric]
    cuts = dict(zip(numeric, run_tasks(cut_column, tasks, n_jobs), strict=True))
    coders = []
    for j, column in enumerate(columns):
        coder = Coder(cuts[j]) if j in cuts else Coder(categories=column.categories())
        coders.append(replace(coder, mode=int(coder.masses(column, weights).argmax())))
    return coders


def code_columns(columns: list[Column], coders: list[Coder]) -> NDArray[np.int32]:
    """Code all columns, of shape (n_nodes, n_rows); the class's place is left at zero."""
    codes = np.zeros((len(columns) + 1, columns[0].n_rows), dtype=np.int32)
    for row, column, coder in zip(codes[CLASS + 1 :], columns, coders, strict=True):
        row[:] = coder.code(column)
    return codes


def fill_missing(codes: NDArray[np.int32], coders: list[Coder]) -> NDArray[np.int32]:
    """Put each column's mode where a value is missing, in place."""
    for row, coder in zip(codes[CLASS + 1 :], coders, strict=True):
        row[row == MISSING] = coder.mode
    return codes
