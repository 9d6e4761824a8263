"""Ranges and categories of the training data, and new rows outside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ensemblage._core import count, listing
from ensemblage.datasets._table import CATEGORICAL

Columns = NDArray[Any] | Sequence[NDArray[Any]]
Doubles = NDArray[np.float64]

# Categories of a column are saved up to this number; more are taken to be identifiers.
MAX_CATEGORIES = 10_000
# A row is far if it exceeds a column's range by this fraction of the range, ...
MARGIN = 0.5
# ... or if its distance from the medians exceeds the largest of a training row by this factor; in
# a single symmetric column both limits are the same.
MAX_DISTANCE_RATIO = 2.0
# Rows within this fraction of the limits are near despite rounding.
SAFE_SHARE = 1 - 1e-6
# Interquartile range of a normal distribution, in standard deviations.
NORMAL_IQR = 1.349
# Distances are clipped to this, so that their squares stay finite.
LARGEST_DISTANCE = 1e100
# Categories and rows listed in a note.
N_LISTED = 5


class ColumnRange(Struct, frozen=True):
    """Range, median and scale of a numeric column in training."""

    low: float
    high: float
    centre: float
    scale: float

    @classmethod
    def of(cls, values: Doubles) -> ColumnRange | None:
        """Summarise a column; None if it is constant."""
        values = values[~np.isnan(values)]
        if values.size == 0 or values.min() == values.max():
            return None
        low, first, centre, third, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
        scale = (third - first) / NORMAL_IQR
        return cls(low, high, centre, scale if scale > 0 else (high / 4 - low / 4))


class TrainingRanges(Struct, frozen=True):
    """Ranges of numeric columns and categories of categorical columns in training.

    ``radius`` is the largest standardised distance of a training row from the medians.
    """

    ranges: tuple[ColumnRange | None, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    radius: float

    @classmethod
    def of(cls, X: NDArray[Any], kinds: Sequence[str]) -> TrainingRanges:
        ranges = tuple(
            None if kind == CATEGORICAL else ColumnRange.of(X[:, j].astype(np.float64))
            for j, kind in enumerate(kinds)
        )
        found = [
            tuple(sorted(set(_present(X[:, j])))) if kind == CATEGORICAL else ()
            for j, kind in enumerate(kinds)
        ]
        categories = tuple(each if 0 < len(each) <= MAX_CATEGORIES else None for each in found)
        z = _standardise(X.T, ranges)
        return cls(ranges, categories, float(np.sqrt((z**2).sum(axis=1)).max(initial=0.0)))


class UnseenValues:
    """Unseen categories and rows outside the training range, collected over blocks of rows."""

    def __init__(self, seen: TrainingRanges, names: Sequence[str]) -> None:
        self._seen, self._names = seen, names
        self._known = [None if each is None else set(each) for each in seen.categories]
        self._new = [Counter[str]() for _ in names]
        self._n_rows = self._n_far = 0
        self._far: list[int] = []
        self._columns = np.zeros(len(names), dtype=np.int64)

    def add(self, columns: Columns) -> None:
        for known, new, column in zip(self._known, self._new, columns, strict=True):
            if known and not known.issuperset(set(column) - {None}):
                count_categories(
                    new, (repr(each) for each in _present(column) if each not in known)
                )
        rows, furthest = far_rows(self._seen, columns)
        self._far += (rows[: N_LISTED - len(self._far)] + self._n_rows).tolist()
        self._columns += np.bincount(furthest, minlength=len(self._columns))
        self._n_far += len(rows)
        self._n_rows += len(columns[0])

    def sentences(self) -> Iterator[str]:
        for name, new in zip(self._names, self._new, strict=True):
            if new:
                yield f"Unseen categories in column {name!r}: {list_categories(new)}."
        if self._n_far:
            column = self._names[int(self._columns.argmax())]
            rows = listing(self._far, N_LISTED, self._n_far)
            yield (
                f"Outside the range of the training data, mostly in column {column!r}: "
                f"{self._n_far} of {count(self._n_rows, 'row')} (indices from 0: {rows}); "
                "predictions there extrapolate."
            )


def count_categories(counts: Counter[str], values: Iterable[str]) -> None:
    """Count categories; beyond the maximum, new ones are ignored."""
    if len(counts) < MAX_CATEGORIES:
        counts.update(values)
    else:
        counts.update(value for value in values if value in counts)


def list_categories(counts: Counter[str]) -> str:
    """Format categories with their number of rows."""
    found = [f"{value} ({count(n, 'row')})" for value, n in islice(counts.items(), N_LISTED)]
    at_least = " at least" if len(counts) >= MAX_CATEGORIES else ""
    return listing(found, N_LISTED, len(counts)) + at_least


def far_rows(seen: TrainingRanges, columns: Columns) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find rows that are far from every training row, and the column where each is farthest.

    A row is far if it exceeds a column's range by more than half of the range, or if it is more
    than twice as far from the medians as any training row: by the triangle inequality its distance
    from each training row then exceeds the radius. Rows in regions without training rows but
    within the range are not found.
    """
    candidates = np.flatnonzero(~_surely_near(seen, columns))
    if not any(seen.ranges) or not len(candidates):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    few = [column[candidates] for column in columns]
    z, beyond = np.abs(_standardise(few, seen.ranges)), _beyond(few, seen.ranges)
    outside = (beyond > MARGIN).any(axis=1)
    distant = np.sqrt((z**2).sum(axis=1)) > MAX_DISTANCE_RATIO * seen.radius
    rows = np.flatnonzero(outside | distant)
    furthest = np.where(outside, beyond.argmax(axis=1), z.argmax(axis=1))
    return candidates[rows], furthest[rows]


@np.errstate(over="ignore")
def _surely_near(seen: TrainingRanges, columns: Columns) -> NDArray[np.bool_]:
    """Mark rows that are not far, in one pass over the values."""
    total, most = np.zeros(len(columns[0])), np.zeros(len(columns[0]))
    for column, limits in zip(columns, seen.ranges, strict=True):
        if limits is None:
            continue
        values = column.astype(np.float64)
        half = (MARGIN + 0.5) * (limits.high - limits.low)
        centred = np.abs(values - (limits.low / 2 + limits.high / 2)) / half
        np.fmax(most, centred, out=most)
        values /= limits.scale
        values -= limits.centre / limits.scale
        np.copyto(values, 0.0, where=np.isnan(values))
        total += np.square(values, out=values)
    return (most < SAFE_SHARE) & (total < SAFE_SHARE * (MAX_DISTANCE_RATIO * seen.radius) ** 2)


def _present(column: NDArray[Any]) -> list[str]:
    return [str(value) for value in column if value is not None]


def _standardise(columns: Columns, ranges: Sequence[ColumnRange | None]) -> Doubles:
    """Standardised distances from the medians, (n_rows, n_columns); zero for missing values."""
    z = np.zeros((len(columns[0]), len(columns)))
    for j, (column, limits) in enumerate(zip(columns, ranges, strict=True)):
        if limits is not None:
            values = column.astype(np.float64) / limits.scale - limits.centre / limits.scale
            values = np.nan_to_num(values, nan=0.0)
            z[:, j] = np.clip(values, -LARGEST_DISTANCE, LARGEST_DISTANCE)
    return z


def _beyond(columns: Columns, ranges: Sequence[ColumnRange | None]) -> Doubles:
    """Distances outside the range, as a fraction of the range, (n_rows, n_columns)."""
    beyond = np.zeros((len(columns[0]), len(columns)))
    for j, (column, limits) in enumerate(zip(columns, ranges, strict=True)):
        if limits is not None:
            values = column.astype(np.float64)
            outside = np.fmax(np.fmax(limits.low - values, values - limits.high), 0.0)
            beyond[:, j] = np.nan_to_num(outside / (limits.high - limits.low), nan=0.0)
    return beyond
