"""The columns of a Parquet file to learn from in blocks, and the one to predict, read alone."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets._parquet import arrow, damaged, is_number, table_from_arrow
from ensemblage.datasets._reading_options import Request
from ensemblage.datasets._table import EITHER, Table
from ensemblage.datasets._targets import MANY, check_task, read_target
from ensemblage.datasets.streams._parquet_stream import opened_parquet
from ensemblage.messages import CLASSIFICATION, Task, listing


class FileTarget(NamedTuple):
    """What is to be predicted of each row of a file, and why it is taken for that.

    Classes are numbers among ``classes``, -1 where missing; numbers are NaN where missing.
    """

    values: NDArray[Any]
    classes: tuple[str, ...]
    task: Task
    reason: str

    @property
    def known(self) -> NDArray[np.bool_]:
        """Rows that have a value."""
        return self.values >= 0 if self.classes else ~np.isnan(self.values)


def number_columns(path: str | PathLike[str], target: str, drop: Sequence[str] = ()) -> list[str]:
    """Name the columns to learn from, or say which of them are no numbers."""
    with opened_parquet(Path(path)) as file:
        kinds = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
    columns = Table(tuple(kinds), ())
    if target not in kinds:
        read_target(columns, target)  # says what there is
    for name in (name for name in drop if name not in kinds):
        columns.column(name)  # says so, too
    names = [name for name in kinds if name != target and name not in drop]
    if not names:
        raise ValueError(f"There is no column beside the target {target!r} to learn from.")
    others = [f"{name!r} ({kinds[name]})" for name in names if not is_number(kinds[name])]
    if others:
        raise ValueError(
            f"{Path(path).name} is read in blocks, which takes columns of numbers; these are "
            f"none: {listing(others)}. Leave them out by `drop`, make numbers of them, or read "
            "some of the rows into memory by `draw`."
        )
    return names


def read_parquet_target(
    path: str | PathLike[str], target: str, task: str | None = None
) -> FileTarget:
    """Read a target as a table of the whole file would have it; only different values are texts."""
    check_task(task)
    column = _read_column(Path(path), target)
    declared = arrow("pyarrow.types").is_dictionary(column.type)
    column = column.cast(column.type.value_type) if declared else column
    different = column.unique()
    many = len(different) > MANY + 1
    if is_number(column.type) and not declared and many and task != CLASSIFICATION.name:
        numbers = np.asarray(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
        found = read_target(Table((target,), (numbers,)), target, task)
        return FileTarget(numbers, (), found.task, found.reason)
    places = arrow("pyarrow.compute").index_in(column, value_set=different).to_numpy()
    different = different.dictionary_encode() if declared else different
    return _of_different(different, places, target, task)


def _read_column(path: Path, name: str) -> Any:
    with opened_parquet(path) as file:
        try:
            return file.read(columns=[name], use_threads=False).column(0)
        except (arrow("pyarrow").ArrowException, OSError) as error:
            raise damaged(path) from error


def _of_different(
    different: Any, places: NDArray[Any], target: str, task: str | None
) -> FileTarget:
    """Judge the different values, each taken twice, since what occurs once is hardly a class."""
    pa = arrow("pyarrow")
    stored = pa.table({target: pa.chunked_array([different, different])})
    table = table_from_arrow(stored, Request(target, {target: EITHER}))
    found = read_target(table, target, task)
    if found.task is CLASSIFICATION:
        classes, values = np.unique(found.values, return_inverse=True)
        each = np.full(len(found.known), -1, dtype=np.int32)
    else:
        classes, values, each = np.array([]), found.values, np.full(len(found.known), np.nan)
    each[found.known] = values
    return FileTarget(each[places], tuple(classes.tolist()), found.task, found.reason)
