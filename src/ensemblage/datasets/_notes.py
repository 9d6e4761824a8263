"""What a reader of results should know about the rows: repeats, counters, near-numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets._table import NUMBER, Column, Table, is_missing, kind_of, parse_number

# With fewer rows, all values of a column may well differ by chance.
ENOUGH_ROWS = 20
NEARLY_ALL = 0.9


def table_notes(features: Table, y: Column) -> list[str]:
    """Say in one sentence per finding what looks odd about the rows."""
    notes = list(_row_notes(features, y))
    if features.n_rows >= ENOUGH_ROWS:
        for name, column in zip(features.names, features.columns, strict=True):
            notes.extend(_column_notes(name, column))
    return notes


def is_constant(column: Column) -> bool:
    """Whether all values are the same, missing ones included."""
    return bool(_codes(column).max(initial=0) == 0)


def _row_notes(features: Table, y: Column) -> Iterator[str]:
    codes = [np.unique(y, return_inverse=True)[1]]
    codes += [_codes(column) for column in features.columns]
    repeated = len(y) - len(np.unique(np.column_stack(codes), axis=0))
    if repeated:
        yield (
            f"{repeated} of the {len(y)} rows {'repeats' if repeated == 1 else 'repeat'} another "
            "row; copies that fall into training and test rows make scores look better than they "
            "are."
        )


def _codes(column: Column) -> NDArray[np.intp]:
    """Give each value a number, equal ones the same, missing ones included."""
    if kind_of(column) == NUMBER:
        return np.unique(column, return_inverse=True)[1]
    words = ["" if value is None else f"={value}" for value in column]
    return np.unique(words, return_inverse=True)[1]


def _column_notes(name: str, column: Column) -> Iterator[str]:
    if kind_of(column) == NUMBER:
        if np.array_equal(column - column[0], np.arange(len(column))):
            yield f"Column {name!r} only counts the rows: leave it out unless it means something."
        return
    words = column[~is_missing(column)].tolist()
    others = [word for word in words if np.isnan(parse_number(word))]
    if len(others) <= (1 - NEARLY_ALL) * len(words):
        yield f"Column {name!r} is read as words, because {others[0]!r} is not a number."
    elif len(set(words)) > NEARLY_ALL * len(words):
        yield f"Nearly every value of {name!r} is different: it looks like an identifier."
