"""Parquet files: whole, by batches, the target alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import free_memory, listing, require
from ensemblage.datasets._dataset import MANY, check_task, read_target
from ensemblage.datasets._layout import distinct_names
from ensemblage.datasets._options import Request
from ensemblage.datasets._table import (
    CATEGORICAL,
    DATE,
    MISSING_TOKENS,
    NUMERIC,
    NUMERIC_OR_LABEL,
    PLURALS,
    AsWritten,
    Table,
    column_from_texts,
)
from ensemblage.datasets._value_types import read_dates
from ensemblage.evaluation import CLASSIFICATION, Task

Array = NDArray[Any]


# Bytes of a value in memory, while it is read and after; a word is an object.
NUMBER_BYTES = 24
WORD_BYTES = 100
# A file of equal values can be tiny and fill the memory.
LARGEST_RATIO = 500
ALWAYS_FINE = 256 * 2**20


def arrow(module: str) -> Any:
    """Import a module of pyarrow, or say how to get it."""
    return require(module, "Reading Parquet", extra="all", otherwise="Or save the data as CSV.")


def read_parquet(path: Path, request: Request) -> Table:
    """Read a Parquet file: numbers, dates and truth values as stored, texts as words."""
    try:
        with arrow("pyarrow.parquet").ParquetFile(path) as file:
            _check_size(file, path)
            stored = file.read()
    except (arrow("pyarrow").ArrowException, OSError) as error:
        raise damaged(path) from error
    if not stored.num_rows or not stored.num_columns:
        raise ValueError(f"{path.name} has no rows.")
    return table_from_arrow(stored, request)


def damaged(path: Path) -> ValueError:
    """Say that a file cannot be read."""
    return ValueError(f"{path.name} is not a Parquet file, or it is damaged: copy it again.")


def table_from_arrow(stored: Any, request: Request) -> Table:
    """Make a table of what is stored: the whole file, or a part."""
    names = distinct_names([n or f"column_{j + 1}" for j, n in enumerate(stored.column_names)])
    kinds = [
        _stored_kind(column, request.kinds.get(name))
        for name, column in zip(names, stored.columns, strict=True)
    ]
    columns = [_column(*each) for each in zip(names, stored.columns, kinds, strict=True)]
    categories = {
        name: declared
        for name, column, kind in zip(names, stored.columns, kinds, strict=True)
        if kind in {None, CATEGORICAL} and (declared := _declared(column))
    }
    written = {
        name: AsWritten(_column(name, column, CATEGORICAL))
        for name, column, kind in zip(names, stored.columns, kinds, strict=True)
        if kind == NUMERIC and request.kinds.get(name) == NUMERIC_OR_LABEL
    }
    return Table(tuple(names), tuple(columns), categories, written=written)


def _stored_kind(stored: Any, kind: str | None) -> str | None:
    """Tell what a target is that may be numbers or words; any other kind stays."""
    if kind != NUMERIC_OR_LABEL:
        return kind
    return NUMERIC if is_number(stored.type) else CATEGORICAL


def _check_size(file: Any, path: Path) -> None:
    """Refuse a table that would fill the memory, by what the file says of itself."""
    most = max(ALWAYS_FINE, min(LARGEST_RATIO * path.stat().st_size, free_memory()))
    if bytes_in_memory(file) > most:
        size = file.metadata
        raise ValueError(
            f"{path.name} has {size.num_rows} rows and {size.num_columns} columns, too many for "
            "the memory or for a file of its size: read a part of it."
        )


def bytes_in_memory(file: Any) -> int:
    """Estimate what a file takes as a table."""
    row = sum(NUMBER_BYTES if is_number(k) else WORD_BYTES for k in file.schema_arrow.types)
    return int(row * file.metadata.num_rows)


def parquet_bytes(path: Path) -> int:
    """Estimate what the file of a path takes as a table."""
    with arrow("pyarrow.parquet").ParquetFile(path) as file:
        return bytes_in_memory(file)


def _column(name: str, stored: Any, kind: str | None) -> Array:
    types = arrow("pyarrow.types")
    if types.is_nested(stored.type):
        raise ValueError(f"Column {name!r} holds {stored.type}; flat columns are needed.")
    if is_number(stored.type) and kind in {None, NUMERIC}:
        column = np.asarray(stored.cast("float64", safe=False).to_numpy(), dtype=np.float64)
        if np.isinf(column).any():
            raise ValueError(f"Column {name!r} holds infinity: replace it or leave the row out.")
        return column
    if is_date(stored.type) and kind in {None, DATE}:
        moments = arrow("pyarrow").timestamp("ms", getattr(stored.type, "tz", None))
        return np.asarray(stored.cast(moments, safe=False).to_numpy(), dtype="datetime64[ms]")
    gaps = MISSING_TOKENS if not types.is_dictionary(stored.type) else frozenset({""})
    if kind in {None, CATEGORICAL} and (
        types.is_string(stored.type) or types.is_dictionary(stored.type)
    ):
        return _words(stored, gaps)
    texts = [_text(value, gaps) for value in stored.to_pylist()]
    return _from_texts(name, texts, CATEGORICAL if kind is None else kind)


def _text(value: Any, gaps: Collection[str]) -> str | None:
    """Write a value as text without surrounding blanks; None for a gap."""
    text = None if value is None else str(value).strip()
    return None if text in gaps else text


def _words(stored: Any, gaps: Collection[str]) -> Array:
    """Read words by their codes: each different one is looked at once."""
    parts = [np.zeros(0, dtype=object)]
    for chunk in stored.chunks:
        coded = chunk.dictionary_encode()
        words = [*(_text(word, gaps) for word in coded.dictionary.to_pylist()), None]
        codes = coded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
        parts.append(np.array(words, dtype=object)[codes])
    return np.concatenate(parts)


def _from_texts(name: str, texts: list[str | None], kind: str) -> Array:
    if kind == DATE:
        known = list(dict.fromkeys(text for text in texts if text is not None))
        dates = read_dates(known) if known else None
        if dates is not None:
            found = dict(zip(known, dates.moments, strict=True))
            gap = np.datetime64("NaT")
            return np.array([gap if x is None else found[x] for x in texts], dtype="datetime64[ms]")
    try:
        return column_from_texts(texts, kind)
    except ValueError as error:
        raise ValueError(f"Column {name!r} {error}; {PLURALS[kind]} are expected in it.") from None


def _declared(stored: Any) -> tuple[str, ...]:
    """Give the categories of a column that was stored with them, also those that never occur."""
    if not arrow("pyarrow.types").is_dictionary(stored.type) or not stored.num_chunks:
        return ()
    words = stored.unify_dictionaries().chunk(0).dictionary.to_pylist()
    return tuple(dict.fromkeys(str(word).strip() for word in words if word not in {None, ""}))


def is_number(kind: Any) -> bool:
    """Whether a type of Arrow is of numbers."""
    types = arrow("pyarrow.types")
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        or types.is_null(kind)
    )  # fmt: skip


def is_date(kind: Any) -> bool:
    """Whether a type of Arrow is of dates or moments."""
    types = arrow("pyarrow.types")
    return bool(types.is_date(kind) or types.is_timestamp(kind))


BUFFER = 2**20


class ParquetBlocks(NamedTuple):
    """A Parquet file whose columns can be read without knowing the other rows."""

    path: Path
    request: Request
    n_rows: int
    n_columns: int

    def tables(self, n_rows: int) -> Iterator[Table]:
        """Read the file as tables of so many rows."""
        make = arrow("pyarrow").Table.from_batches
        with opened_parquet(self.path) as file:
            for batch in _guarded(file.iter_batches(n_rows, use_threads=False), self.path):
                if batch.num_rows:
                    yield table_from_arrow(make([batch]), self.request)


def survey_parquet(path: Path, request: Request, *, always: bool) -> ParquetBlocks | None:
    """Look at a file's own description; None if it is small or texts have to become dates."""
    with opened_parquet(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
        small = bytes_in_memory(file) <= ALWAYS_FINE and not always
    # whether day or month comes first in a text, all of them decide
    dated = any(
        request.kinds.get(name) == DATE and not (is_date(kind) or is_number(kind))
        for name, kind in zip(schema.names, schema.types, strict=True)
    )
    if small or dated or not rows or not schema.names:
        return None
    return ParquetBlocks(path, request, rows, len(schema.names))


@contextmanager
def opened_parquet(path: Path) -> Iterator[Any]:
    """Open a file whose columns are read a piece at a time, however large its row groups are."""
    parquet, errors = arrow("pyarrow.parquet"), (arrow("pyarrow").ArrowException, OSError)
    try:
        file = parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
    except errors as error:
        raise damaged(path) from error
    with file:
        yield file


def _guarded(batches: Iterator[Any], path: Path) -> Iterator[Any]:
    try:
        yield from batches
    except (arrow("pyarrow").ArrowException, OSError) as error:
        raise damaged(path) from error


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
    table = table_from_arrow(stored, Request(target, {target: NUMERIC_OR_LABEL}))
    found = read_target(table, target, task)
    if found.task is CLASSIFICATION:
        classes, values = np.unique(found.values, return_inverse=True)
        each = np.full(len(found.known), -1, dtype=np.int32)
    else:
        classes, values, each = np.array([]), found.values, np.full(len(found.known), np.nan)
    each[found.known] = values
    return FileTarget(each[places], tuple(classes.tolist()), found.task, found.reason)
