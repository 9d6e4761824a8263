"""Fewer rows per fit, for a quick look at many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.methods._registry import Method
from ensemblage.parallel import Fold

STEEP_ROWS = 2_000
MOST_ROWS = 20_000
TEST_ROWS = 10_000


def fewer_rows(fold: Fold, y: NDArray[Any], method: Method, seed: int) -> Fold:
    """Leave rows out where there are many; methods of equal limits keep equal rows."""
    limit = STEEP_ROWS if method.steep else MOST_ROWS
    return Fold(
        draw_by_class(fold.train, y, limit, seed), draw_by_class(fold.test, y, TEST_ROWS, seed)
    )


def draw_by_class(
    rows: NDArray[np.intp], y: NDArray[Any], limit: int, seed: int
) -> NDArray[np.intp]:
    """Draw rows, in order, such that classes keep their shares, and each at least one row."""
    if len(rows) <= limit:
        return rows
    mixed = np.random.default_rng(seed).permutation(rows)
    place = np.empty(len(mixed))
    for label in np.unique(y[mixed]):
        here = np.flatnonzero(y[mixed] == label)
        # the first row of each class comes first of all, the last ones last
        place[here] = np.arange(len(here)) / len(here)
    return np.sort(mixed[np.argsort(place, kind="stable")[:limit]])


def fewer_rows_notes(folds: Sequence[Fold], methods: Sequence[Method]) -> list[str]:
    """Say what was left out of the folds for the methods."""
    largest = max(len(fold.train) for fold in folds)
    notes = []
    slow = [method.label for method in methods if method.steep]
    if slow and largest > STEEP_ROWS:
        notes.append(
            f"To be quick, {', '.join(slow)} learned from {STEEP_ROWS} of {largest} training rows, "
            "as their time grows faster than the rows; they may be better on all, so compare "
            "without `quick` before ruling them out."
        )
    if len(slow) < len(methods) and largest > MOST_ROWS:
        notes.append(
            f"To be quick, every method learned from at most {MOST_ROWS} of {largest} training "
            "rows; without `quick` all are used."
        )
    if max(len(fold.test) for fold in folds) > TEST_ROWS:
        notes.append(f"To be quick, each fold was tested on {TEST_ROWS} rows.")
    return notes
