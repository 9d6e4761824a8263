"""Ranges and categories seen in training, and rows outside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ensemblage._core import count, listing

Columns = NDArray[Any] | Sequence[NDArray[Any]]
Doubles = NDArray[np.float64]


# More words than this in a column are not kept: they are names, not categories.
MOST_WORDS = 10_000
# A row is far if it is beyond a column's range by half of it, or twice as far from the middle as
# any training row: in one column of symmetric values these are the same.
MARGIN, TIMES = 0.5, 2.0
# What is within this share of the limits is so by any rounding.
SURELY = 1 - 1e-6
# Of a normal distribution: the interquartile range in standard deviations.
QUARTILES_APART = 1.349
LARGEST = 1e100
SHOWN = 5


class Reach(Struct, frozen=True):
    """Where the training rows lie in a column of numbers that varies."""

    low: float
    high: float
    centre: float
    scale: float

    @classmethod
    def of(cls, values: Doubles) -> Reach | None:
        """Measure the numbers of a column; None if they do not vary."""
        values = values[~np.isnan(values)]
        if values.size == 0 or values.min() == values.max():
            return None
        low, first, centre, third, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
        spread = (third - first) / QUARTILES_APART
        return cls(low, high, centre, spread if spread > 0 else (high / 4 - low / 4))


class Familiar(Struct, frozen=True):
    """What a model has seen: the reach of numbers and the words, each by column.

    ``radius`` is the largest distance of a training row from the middle, in scales of the columns.
    """

    reaches: tuple[Reach | None, ...]
    words: tuple[tuple[str, ...] | None, ...]
    radius: float

    @classmethod
    def of(cls, X: NDArray[Any], kinds: Sequence[str]) -> Familiar:
        """Look at training rows, columns of the kinds given."""
        reaches = tuple(
            None if kind == "word" else Reach.of(X[:, j].astype(np.float64))
            for j, kind in enumerate(kinds)
        )
        words = tuple(_words(X[:, j]) if kind == "word" else None for j, kind in enumerate(kinds))
        z = _standardised(X.T, reaches)
        return cls(reaches, words, float(np.sqrt((z**2).sum(axis=1)).max(initial=0.0)))


class FarRows(NamedTuple):
    """Numbers of rows, and for each the column in which it is furthest out."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]


def unfamiliar(familiar: Familiar, X: NDArray[Any], names: Sequence[str]) -> Iterator[str]:
    """Say in sentences what a model has not seen in training: words, and rows far from all."""
    met = Strangers(familiar, names)
    met.add(X.T)
    return met.sentences()


class Strangers:
    """What a model has not seen in training, gathered over the blocks of new rows."""

    def __init__(self, familiar: Familiar, names: Sequence[str]) -> None:
        self._familiar, self._names = familiar, names
        self._known = [None if words is None else set(words) for words in familiar.words]
        self._words = [Counter[str]() for _ in names]
        self._n_rows = self._n_far = 0
        self._far: list[int] = []
        self._columns = np.zeros(len(names), dtype=np.int64)

    def add(self, columns: Columns) -> None:
        """Look at the next rows."""
        for known, met, column in zip(self._known, self._words, columns, strict=True):
            if known and not known.issuperset(set(column) - {None}):
                count_words(met, (repr(word) for word in _present(column) if word not in known))
        far = far_rows(self._familiar, columns)
        self._far += (far.rows[: SHOWN - len(self._far)] + self._n_rows).tolist()
        self._columns += np.bincount(far.columns, minlength=len(self._columns))
        self._n_far += len(far.rows)
        self._n_rows += len(columns[0])

    def sentences(self) -> Iterator[str]:
        """Say what was met."""
        for name, new in zip(self._names, self._words, strict=True):
            if new:
                yield f"Not seen in training in the column {name!r}: {counted_words(new)}."
        if self._n_far:
            column = self._names[int(self._columns.argmax())]
            rows = listing(self._far, SHOWN, self._n_far)
            yield (
                f"Far from all training rows, most of all in the column {column!r}: {self._n_far} "
                f"of {count(self._n_rows, 'row')} (counted from 0: {rows}). What is predicted "
                "there is a guess."
            )


def count_words(met: Counter[str], words: Iterable[str]) -> None:
    """Count words; new ones only as long as there is room for them."""
    if len(met) < MOST_WORDS:
        met.update(words)
    else:
        met.update(word for word in words if word in met)


def counted_words(met: Counter[str]) -> str:
    """Write words, as they were counted, with the number of their rows."""
    found = [f"{word} ({count(rows, 'row')})" for word, rows in islice(met.items(), SHOWN)]
    at_least = " at least" if len(met) >= MOST_WORDS else ""
    return listing(found, SHOWN, len(met)) + at_least


def far_rows(familiar: Familiar, columns: Columns) -> FarRows:
    """Find rows that are certainly far from every training row.

    A row that is beyond a column's range by half of it is so far from each training row in that
    column alone. A row twice as far from the middle as any training row is, by the triangle
    inequality, as far from each as the farthest of them is from the middle. Rows in a gap between
    training rows are not found.
    """
    if not any(familiar.reaches):
        return FarRows(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
    near = _surely_near(familiar, columns)
    if near.all():
        return FarRows(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
    doubtful = np.flatnonzero(~near)
    few = [column[doubtful] for column in columns]
    z, beyond = np.abs(_standardised(few, familiar.reaches)), _beyond(few, familiar.reaches)
    outside = (beyond > MARGIN).any(axis=1)
    distant = np.sqrt((z**2).sum(axis=1)) > TIMES * familiar.radius
    rows = np.flatnonzero(outside | distant)
    furthest = np.where(outside, beyond.argmax(axis=1), z.argmax(axis=1))
    return FarRows(doubtful[rows], furthest[rows])


@np.errstate(over="ignore")
def _surely_near(familiar: Familiar, columns: Columns) -> NDArray[np.bool_]:
    """Tell rows that are not far, by little more than one look at each number."""
    total, most = np.zeros(len(columns[0])), np.zeros(len(columns[0]))
    for column, reach in zip(columns, familiar.reaches, strict=True):
        if reach is None:
            continue
        values = column.astype(np.float64)
        half = (MARGIN + 0.5) * (reach.high - reach.low)
        centred = np.abs(values - (reach.low / 2 + reach.high / 2)) / half
        np.fmax(most, centred, out=most)
        values /= reach.scale
        values -= reach.centre / reach.scale
        np.copyto(values, 0.0, where=np.isnan(values))
        total += np.square(values, out=values)
    return (most < SURELY) & (total < SURELY * (TIMES * familiar.radius) ** 2)


def _words(column: NDArray[Any]) -> tuple[str, ...] | None:
    words = sorted(set(_present(column)))
    return tuple(words) if 0 < len(words) <= MOST_WORDS else None


def _present(column: NDArray[Any]) -> list[str]:
    return [str(word) for word in column if word is not None]


def _standardised(columns: Columns, reaches: Sequence[Reach | None]) -> Doubles:
    """Distances from the middle in each column, (n_rows, n_columns); zero where is no number."""
    z = np.zeros((len(columns[0]), len(columns)))
    for j, (column, reach) in enumerate(zip(columns, reaches, strict=True)):
        if reach is not None:
            values = column.astype(np.float64) / reach.scale - reach.centre / reach.scale
            z[:, j] = np.clip(np.nan_to_num(values, nan=0.0), -LARGEST, LARGEST)
    return z


def _beyond(columns: Columns, reaches: Sequence[Reach | None]) -> Doubles:
    """How far values are outside of their column's range, in ranges, (n_rows, n_columns)."""
    beyond = np.zeros((len(columns[0]), len(columns)))
    for j, (column, reach) in enumerate(zip(columns, reaches, strict=True)):
        if reach is not None:
            values = column.astype(np.float64)
            outside = np.fmax(np.fmax(reach.low - values, values - reach.high), 0.0)
            beyond[:, j] = np.nan_to_num(outside / (reach.high - reach.low), nan=0.0)
    return beyond
