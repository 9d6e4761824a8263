"""Rows as a caller gives them: a dataset, or arrays and frames with what to predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets import Dataset, Table
from ensemblage.messages import count
from ensemblage.tables import Column, as_kind, read_columns

TARGET, SOURCE = "class", "source"
DAY = 86_400_000
"""Milliseconds of a day."""


def given_dataset(X: Any, y: Any, sources: Any = None, task: str | None = None) -> Dataset:
    """Take a dataset as it is; make one of rows, their target and where they come from."""
    if isinstance(X, Dataset):
        if y is not None or sources is not None or task not in {None, X.task.name}:
            raise TypeError(
                f"A Dataset has its own {X.task.targets} and sources: leave out `y`, `sources`, "
                "`groups` and `task`, and give methods by `methods`."
            )
        return X
    if y is None:
        raise TypeError("`y`, the class or number of each row, is needed unless `X` is a Dataset.")
    columns = _columns(X)
    target, source = (_unused(name, [each.name for each in columns]) for name in (TARGET, SOURCE))
    beside = [_one_column(y, target)]
    beside += [] if sources is None else [_one_column(sources, source)]
    for each in beside:
        if each.n_rows != columns[0].n_rows:
            raise ValueError(
                f"`X` has {count(columns[0].n_rows, 'row')}, but there is a {each.name} for "
                f"{each.n_rows}."
            )
    table = _table([*columns, *beside])
    return Dataset.from_table(
        table, target, name="the rows", source=None if sources is None else source, task=task
    )


def frame_table(frame: Any, kinds: Mapping[str | None, str]) -> Table:
    """Make a table of a frame, its columns of the kinds that are known."""
    columns = [as_kind(each, kinds.get(each.name)) for each in _columns(frame)]
    return _table(columns)


def _columns(X: Any) -> list[Column]:
    if hasattr(X, "columns"):
        return read_columns(X, [str(name) for name in X.columns])
    rows = np.asarray(X)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"`X` must have rows and columns, got an array of shape {rows.shape}.")
    return read_columns(rows, [f"x{j}" for j in range(rows.shape[1])])


def _one_column(values: Any, name: str) -> Column:
    flat = np.asarray(values)
    if flat.size != len(flat):
        raise ValueError(f"One {name} per row is needed, got an array of shape {flat.shape}.")
    return read_columns(flat.reshape(-1, 1), [name])[0]


def _table(columns: Sequence[Column]) -> Table:
    declared = {
        each.name: tuple(map(str, each.declared)) for each in columns if each.declared is not None
    }
    return Table(tuple(each.name for each in columns), tuple(map(_table_column, columns)), declared)


def _table_column(column: Column) -> NDArray[Any]:
    if column.dated:
        days = column.as_numbers()
        dates = np.full(len(days), np.datetime64("NaT", "ms"))
        known = ~np.isnan(days)
        dates[known] = np.round(days[known] * DAY).astype("datetime64[ms]")
        return dates
    if column.numbers is not None:
        return column.numbers
    words = np.empty(column.n_rows, dtype=object)
    words[:] = [None if value is None else str(value) for value in column.as_words().values or ()]
    return words


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
