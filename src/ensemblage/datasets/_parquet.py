"""Parquet files, read whole, in batches, or the target only."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import free_memory, listing, require
from ensemblage.datasets._dataset import MAX_INTEGER_CLASSES, Target, check_task, read_target
from ensemblage.datasets._options import Request
from ensemblage.datasets._table import (
    CATEGORICAL,
    DATE,
    MISSING_TOKENS,
    NUMERIC,
    NUMERIC_OR_LABEL,
    PLURALS,
    Table,
    column_from_texts,
)
from ensemblage.datasets._text import distinct_names
from ensemblage.datasets._value_types import read_dates
from ensemblage.evaluation import CLASSIFICATION

Array = NDArray[Any]

# Bytes of a numeric value in memory while it is read.
NUMBER_BYTES = 24
# Bytes of a text value, which is an object.
TEXT_BYTES = 100
# Largest ratio of bytes in memory to file size; constant columns compress to almost nothing.
LARGEST_RATIO = 500
# Bytes in memory that are allowed for any file.
ALWAYS_FINE = 256 * 2**20
# Bytes of a column read at a time.
BUFFER_BYTES = 2**20


def arrow(module: str) -> Any:
    """Import a module of pyarrow, or raise with how to install it."""
    return require(module, "Reading Parquet", extra="all", otherwise="Or save the data as CSV.")


@contextmanager
def _refuse_damaged(path: Path) -> Iterator[None]:
    try:
        yield
    except (arrow("pyarrow").ArrowException, OSError) as error:
        raise ValueError(
            f"{path.name} is not a Parquet file, or it is damaged: copy it again."
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file for buffered reading, independent of the size of its row groups."""
    with _refuse_damaged(path):
        file = arrow("pyarrow.parquet").ParquetFile(
            path, buffer_size=BUFFER_BYTES, pre_buffer=False
        )
    with file:
        yield file


def read_parquet(path: Path, request: Request) -> Table:
    """Read a Parquet file; strings and Boolean values become categories."""
    with _refuse_damaged(path), arrow("pyarrow.parquet").ParquetFile(path) as file:
        # by the file's own metadata
        most = max(ALWAYS_FINE, min(LARGEST_RATIO * path.stat().st_size, free_memory()))
        if _bytes_in_memory(file) > most:
            raise ValueError(
                f"{path.name} has {file.metadata.num_rows} rows and {file.metadata.num_columns} "
                "columns, too many for the memory or for a file of its size: read part of it."
            )
        stored = file.read()
    if not stored.num_rows or not stored.num_columns:
        raise ValueError(f"{path.name} has no rows.")
    return table_from_arrow(stored, request)


def _bytes_in_memory(file: Any) -> int:
    row = sum(NUMBER_BYTES if is_number(kind) else TEXT_BYTES for kind in file.schema_arrow.types)
    return int(row * file.metadata.num_rows)


def parquet_bytes(path: Path) -> int:
    """Estimate the bytes of a file as a table in memory."""
    with arrow("pyarrow.parquet").ParquetFile(path) as file:
        return _bytes_in_memory(file)


def survey_parquet(path: Path, request: Request, *, always: bool) -> tuple[int, int] | None:
    """Return the shape of a file that can be read in batches.

    None if it is small, unless ``always``, or if dates have to be parsed from text.
    """
    with _opened(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
        small = _bytes_in_memory(file) <= ALWAYS_FINE and not always
    # the order of day and month is inferred from all rows
    dated = any(
        request.kinds.get(name) == DATE and not (is_date(kind) or is_number(kind))
        for name, kind in zip(schema.names, schema.types, strict=True)
    )
    if small or dated or not rows or not schema.names:
        return None
    return rows, len(schema.names)


def parquet_batches(path: Path, request: Request, n_rows: int) -> Iterator[Table]:
    with _opened(path) as file:
        batches = file.iter_batches(n_rows, use_threads=False)
        while True:
            with _refuse_damaged(path):
                batch = next(batches, None)
            if batch is None:
                return
            if batch.num_rows:
                yield table_from_arrow(arrow("pyarrow").Table.from_batches([batch]), request)


def table_from_arrow(stored: Any, request: Request) -> Table:
    """Convert an Arrow table."""
    names = distinct_names([n or f"column_{j + 1}" for j, n in enumerate(stored.column_names)])
    columns, categories, labels = [], {}, {}
    for name, column in zip(names, stored.columns, strict=True):
        kind = requested = request.kinds.get(name)
        if requested == NUMERIC_OR_LABEL:
            kind = NUMERIC if is_number(column.type) else CATEGORICAL
        columns.append(_column(name, column, kind))
        if kind in {None, CATEGORICAL} and (declared := _declared(column)):
            categories[name] = declared
        if kind == NUMERIC and requested == NUMERIC_OR_LABEL:
            labels[name] = _column(name, column, CATEGORICAL)
    written = Table(tuple(labels), tuple(labels.values())) if labels else None
    return Table(tuple(names), tuple(columns), categories, written=written)


def _column(name: str, stored: Any, kind: str | None) -> Array:
    types = arrow("pyarrow.types")
    if types.is_nested(stored.type):
        raise ValueError(
            f"Column {name!r} has the nested type {stored.type}: expand it into flat columns."
        )
    if is_number(stored.type) and kind in {None, NUMERIC}:
        column = np.asarray(stored.cast("float64", safe=False).to_numpy(), dtype=np.float64)
        if np.isinf(column).any():
            raise ValueError(f"Column {name!r} contains infinity: replace it, or drop the row.")
        return column
    if is_date(stored.type) and kind in {None, DATE}:
        moments = arrow("pyarrow").timestamp("ms", getattr(stored.type, "tz", None))
        return np.asarray(stored.cast(moments, safe=False).to_numpy(), dtype="datetime64[ms]")
    coded = types.is_dictionary(stored.type)
    missing = frozenset({""}) if coded else MISSING_TOKENS
    if kind in {None, CATEGORICAL} and (types.is_string(stored.type) or coded):
        return _categories(stored, missing)
    texts = [_text(value, missing) for value in stored.to_pylist()]
    return _from_texts(name, texts, CATEGORICAL if kind is None else kind)


def _text(value: Any, missing: Collection[str]) -> str | None:
    """Format a value as stripped text; None for a missing value."""
    text = None if value is None else str(value).strip()
    return None if text in missing else text


def _categories(stored: Any, missing: Collection[str]) -> Array:
    """Read strings by dictionary code: each unique string is converted once."""
    parts = [np.zeros(0, dtype=object)]
    for chunk in stored.chunks:
        coded = chunk.dictionary_encode()
        texts = [*(_text(each, missing) for each in coded.dictionary.to_pylist()), None]
        codes = coded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
        parts.append(np.array(texts, dtype=object)[codes])
    return np.concatenate(parts)


def _from_texts(name: str, texts: list[str | None], kind: str) -> Array:
    if kind == DATE:
        known = list(dict.fromkeys(text for text in texts if text is not None))
        dates = read_dates(known) if known else None
        if dates is not None:
            found: dict[str | None, Any] = dict(zip(known, dates[0], strict=True))
            found[None] = np.datetime64("NaT")
            return np.array([found[text] for text in texts], dtype="datetime64[ms]")
    try:
        return column_from_texts(texts, kind)
    except ValueError as error:
        raise ValueError(f"Column {name!r} {error}; expected {PLURALS[kind]}.") from None


def _declared(stored: Any) -> tuple[str, ...]:
    """Return the categories of a dictionary column, including those that do not occur."""
    if not arrow("pyarrow.types").is_dictionary(stored.type) or not stored.num_chunks:
        return ()
    texts = stored.unify_dictionaries().chunk(0).dictionary.to_pylist()
    return tuple(dict.fromkeys(str(text).strip() for text in texts if text not in {None, ""}))


def is_number(kind: Any) -> bool:
    types = arrow("pyarrow.types")
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        or types.is_null(kind)
    )  # fmt: skip


def is_date(kind: Any) -> bool:
    types = arrow("pyarrow.types")
    return bool(types.is_date(kind) or types.is_timestamp(kind))


def numeric_columns(path: str | PathLike[str], target: str, drop: Sequence[str] = ()) -> list[str]:
    """Return the feature names; columns that are not numeric are an error."""
    with _opened(Path(path)) as file:
        kinds = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
    columns = Table(tuple(kinds), ())
    if target not in kinds:
        read_target(columns, target)  # raises an error
    for name in (name for name in drop if name not in kinds):
        columns.column(name)  # raises an error
    names = [name for name in kinds if name != target and name not in drop]
    if not names:
        raise ValueError(f"There are no features: the only column is the target {target!r}.")
    others = [f"{name!r} ({kinds[name]})" for name in names if not is_number(kinds[name])]
    if others:
        raise ValueError(
            f"{Path(path).name} is read in blocks, which requires numeric columns; these are not "
            f"numeric: {listing(others)}. Drop them with `drop`, convert them to numbers, or read "
            "a sample of the rows with `draw`."
        )
    return names


def read_parquet_target(path: str | PathLike[str], target: str, task: str | None = None) -> Target:
    """Read the target column only, as ``read_target`` would of the whole file."""
    check_task(task)
    path = Path(path)
    with _opened(path) as file, _refuse_damaged(path):
        column = file.read(columns=[target], use_threads=False).column(0)
    declared = arrow("pyarrow.types").is_dictionary(column.type)
    column = column.cast(column.type.value_type) if declared else column
    distinct = column.unique()
    many = len(distinct) > MAX_INTEGER_CLASSES + 1
    if is_number(column.type) and not declared and many and task != CLASSIFICATION.name:
        numbers = np.asarray(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
        found = read_target(Table((target,), (numbers,)), target, task)
        return Target(numbers, ~np.isnan(numbers), found.task, found.reason)
    positions = arrow("pyarrow.compute").index_in(column, value_set=distinct).to_numpy()
    distinct = distinct.dictionary_encode() if declared else distinct
    # each distinct value occurs twice, as the rule for classes expects
    pa = arrow("pyarrow")
    stored = pa.table({target: pa.chunked_array([distinct, distinct])})
    table = table_from_arrow(stored, Request(target, {target: NUMERIC_OR_LABEL}))
    found = read_target(table, target, task)
    values, known = found.values, found.known[positions]
    if found.task is not CLASSIFICATION:
        return Target(values[positions], known, found.task, found.reason)
    classes, codes = np.unique(values[found.known], return_inverse=True)
    every = np.full(len(values), -1, dtype=np.int32)
    every[found.known] = codes
    return Target(
        every[positions], known, found.task, found.reason, classes=tuple(classes.tolist())
    )
