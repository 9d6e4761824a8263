"""The column to predict: whether it holds classes or numbers, and why."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets._table import (
    DATE,
    NUMBER,
    WORD,
    Column,
    Table,
    is_missing,
    kind_of,
    parse_number,
)
from ensemblage.messages import CLASSIFICATION, REGRESSION, TASKS, Task, listing, suggestion

Numbers = NDArray[np.float64]

FEW = 5
"""Up to so many different numbers are classes, whatever they are."""
MANY = 20
"""More different numbers than these are no classes."""
NEARLY_ALL = 0.9
LARGEST = 1e70
"""Squares of such numbers, summed over all rows, are still finite, also times a weight."""
N_PARTS, PART_ROWS = 10, 20
"""Folds have numbers of every tenth; where rows are few, of fewer parts of so many rows."""


class TargetColumn(NamedTuple):
    """Classes as texts or numbers, the rows that have one, which of the two, and why."""

    values: Column
    known: NDArray[np.bool_]
    task: Task
    reason: str
    notes: tuple[str, ...] = ()


def check_task(name: str | None) -> None:
    """Refuse what is no task."""
    if name is not None and name not in TASKS:
        raise ValueError(
            f"`task`={name!r} is not known.{suggestion(name, TASKS)} It must be one of: "
            f"{', '.join(TASKS)}."
        )


def read_target(table: Table, target: str, asked: str | None = None) -> TargetColumn:
    """Take a column for classes or for numbers, as asked or else by what it holds."""
    check_task(asked)
    if target not in table.names:
        raise ValueError(
            f"There is no target column {target!r}.{suggestion(target, table.names)} "
            f"The columns are: {listing(table.names)}."
        )
    column, written = table.column(target), table.written.get(target)
    numbers = _numbers(column)
    task, reason = _task(table, target, numbers, asked)
    if task is CLASSIFICATION:
        found = _classes(column if written is None else written.words, task, reason)
        _check_classes(found.values, target)
        return found
    if numbers is None:
        raise ValueError(_no_number(column, target))
    known = ~np.isnan(numbers)
    _check_numbers(numbers[known], target)
    notes = () if written is None else written.notes
    return TargetColumn(numbers[known], known, task, reason, notes)


def fold_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Tell what folds and draws of rows keep balanced: classes, or the tenth of the numbers."""
    if y.dtype.kind != "f":
        return y
    n_parts = int(np.clip(len(y) // PART_ROWS, 1, N_PARTS))
    inner = np.quantile(y, np.linspace(0, 1, n_parts + 1)[1:-1])
    return np.searchsorted(np.unique(inner), y, side="right")


def column_texts(column: Column) -> list[str]:
    """Write a column's values, none of them missing: whole numbers without a point."""
    if kind_of(column) == NUMBER:
        return [f"{x:.0f}" if x.is_integer() else repr(x) for x in column.tolist()]
    if kind_of(column) == DATE:
        midnight = bool((column == column.astype("datetime64[D]")).all())
        return [str(day) for day in np.datetime_as_string(column, "D" if midnight else "s")]
    return [str(value) for value in column]


def _numbers(column: Column) -> Numbers | None:
    """Give the column as numbers, NaN for missing; None where it holds anything else."""
    if kind_of(column) != WORD:
        return column if kind_of(column) == NUMBER else None
    found = np.array([np.nan if text is None else parse_number(str(text)) for text in column])
    return None if (np.isnan(found) != is_missing(column)).any() else found


def _task(
    table: Table, target: str, numbers: Numbers | None, asked: str | None
) -> tuple[Task, str]:
    """Decide, with a sentence: words and few numbers are classes."""
    if asked is not None:
        task = TASKS[asked]
        return task, f"{target!r} is predicted as {task.targets}, as `task` asks."
    if target in table.categories:
        return CLASSIFICATION, f"{target!r} has declared categories: classes are predicted."
    if numbers is None:
        _refuse_spoilt(table.column(target), target)
        return CLASSIFICATION, f"{target!r} holds no numbers: classes are predicted."
    known = numbers[~np.isnan(numbers)]
    different = np.unique(known)
    holds = f"{target!r} holds {len(different)} different numbers"
    if are_classes(known, different):
        return CLASSIFICATION, f"{holds}, few enough for classes; for numbers set `task`."
    return REGRESSION, f"{holds}, so that numbers are predicted; for classes set `task`."


def are_classes(known: Numbers, different: Numbers) -> bool:
    """Take numbers for classes if they are few.

    That is five different ones at most, or twenty whole ones that occur twice or more on average.
    """
    if len(different) <= FEW:
        return True
    whole = bool((different == np.round(different)).all())
    return whole and len(different) <= min(MANY, len(known) / 2)


def _classes(column: Column, task: Task, reason: str) -> TargetColumn:
    known = ~is_missing(column)
    return TargetColumn(np.array(column_texts(column[known]), dtype=str), known, task, reason)


def _check_classes(y: Column, target: str) -> None:
    labels = np.unique(y)
    if len(labels) == 0:
        raise ValueError(f"The target column {target!r} has no values.")
    if len(labels) == 1:
        raise ValueError(
            f"The target column {target!r} has only one class, {str(labels[0])!r}: "
            "at least two are needed."
        )


def _check_numbers(y: Numbers, target: str) -> None:
    if len(y) == 0:
        raise ValueError(f"The target column {target!r} has no values.")
    if y.min() == y.max():
        raise ValueError(
            f"The target column {target!r} holds only one number, {y[0]:g}: there is nothing to "
            "predict."
        )
    largest = y[np.argmax(np.abs(y))]
    if not abs(largest) <= LARGEST:
        raise ValueError(
            f"The target column {target!r} holds {largest:g}; numbers beyond {LARGEST:g} cannot "
            "be squared and summed: correct them, or divide the column."
        )


def _refuse_spoilt(column: Column, target: str) -> None:
    """Refuse a column of many numbers in which a few values are none."""
    if kind_of(column) != WORD:
        return
    texts = [str(text) for text in column[~is_missing(column)]]
    others = [text for text in texts if np.isnan(parse_number(text))]
    if len(set(texts)) > MANY and 0 < len(others) <= (1 - NEARLY_ALL) * len(texts):
        raise ValueError(
            f"The target column {target!r} holds {len(texts) - len(others)} numbers and "
            f"{others[0]!r}, which is not a finite number: correct it or leave it empty, or ask "
            "for classes by `task`."
        )


def _no_number(column: Column, target: str) -> str:
    if kind_of(column) == DATE:
        return f"The target column {target!r} holds dates: count days from one of them first."
    known = [str(text) for text in column if text is not None]
    bad = next(text for text in known if np.isnan(parse_number(text)))
    return (
        f"The target column {target!r} holds {bad!r}, which is not a finite number, and `task` "
        "asks for numbers: correct it or leave it empty, or predict classes."
    )
