"""Parquet files: whole, by batches, the target alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import free_memory, listing, require
from ensemblage.datasets._dataset import MANY, Target, check_task, read_target
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

# Bytes of a value in memory, while it is read and after; a text is an object.
NUMBER_BYTES = 24
TEXT_BYTES = 100
# A file of equal values can be tiny and fill the memory.
LARGEST_RATIO = 500
# Bytes in memory that any file may take.
ALWAYS_FINE = 256 * 2**20
# Bytes of a column that are read at a time.
BUFFER = 2**20


def arrow(module: str) -> Any:
    """Import a module of pyarrow, or say how to get it."""
    return require(module, "Reading Parquet", extra="all", otherwise="Or save the data as CSV.")


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except (arrow("pyarrow").ArrowException, OSError) as error:
        raise ValueError(
            f"{path.name} is not a Parquet file, or it is damaged: copy it again."
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file whose columns are read a piece at a time, however large its row groups are."""
    with _damage_named(path):
        file = arrow("pyarrow.parquet").ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
    with file:
        yield file


def read_parquet(path: Path, request: Request) -> Table:
    """Read a Parquet file: numbers, dates and truth values as stored, texts as categories."""
    with _damage_named(path), arrow("pyarrow.parquet").ParquetFile(path) as file:
        # by what the file says of itself
        most = max(ALWAYS_FINE, min(LARGEST_RATIO * path.stat().st_size, free_memory()))
        if _bytes_in_memory(file) > most:
            raise ValueError(
                f"{path.name} has {file.metadata.num_rows} rows and {file.metadata.num_columns} "
                "columns, too many for the memory or for a file of its size: read a part of it."
            )
        stored = file.read()
    if not stored.num_rows or not stored.num_columns:
        raise ValueError(f"{path.name} has no rows.")
    return table_from_arrow(stored, request)


def _bytes_in_memory(file: Any) -> int:
    row = sum(NUMBER_BYTES if is_number(kind) else TEXT_BYTES for kind in file.schema_arrow.types)
    return int(row * file.metadata.num_rows)


def parquet_bytes(path: Path) -> int:
    """Estimate what a file takes as a table."""
    with arrow("pyarrow.parquet").ParquetFile(path) as file:
        return _bytes_in_memory(file)


def survey_parquet(path: Path, request: Request, *, always: bool) -> tuple[int, int] | None:
    """Give the shape of a file whose columns can be read without knowing the other rows.

    None if it is small, unless ``always``, or if texts have to become dates.
    """
    with _opened(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
        small = _bytes_in_memory(file) <= ALWAYS_FINE and not always
    # whether day or month comes first in a text, all of them decide
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
            with _damage_named(path):
                batch = next(batches, None)
            if batch is None:
                return
            if batch.num_rows:
                yield table_from_arrow(arrow("pyarrow").Table.from_batches([batch]), request)


def table_from_arrow(stored: Any, request: Request) -> Table:
    """Make a table of what is stored: the whole file, or a part."""
    names = distinct_names([n or f"column_{j + 1}" for j, n in enumerate(stored.column_names)])
    columns, categories, labels = [], {}, {}
    for name, column in zip(names, stored.columns, strict=True):
        kind = asked = request.kinds.get(name)
        if asked == NUMERIC_OR_LABEL:
            kind = NUMERIC if is_number(column.type) else CATEGORICAL
        columns.append(_column(name, column, kind))
        if kind in {None, CATEGORICAL} and (declared := _declared(column)):
            categories[name] = declared
        if kind == NUMERIC and asked == NUMERIC_OR_LABEL:
            labels[name] = _column(name, column, CATEGORICAL)
    written = Table(tuple(labels), tuple(labels.values())) if labels else None
    return Table(tuple(names), tuple(columns), categories, written=written)


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
    coded = types.is_dictionary(stored.type)
    missing = frozenset({""}) if coded else MISSING_TOKENS
    if kind in {None, CATEGORICAL} and (types.is_string(stored.type) or coded):
        return _categories(stored, missing)
    texts = [_text(value, missing) for value in stored.to_pylist()]
    return _from_texts(name, texts, CATEGORICAL if kind is None else kind)


def _text(value: Any, missing: Collection[str]) -> str | None:
    """Write a value as text without surrounding blanks; None for a missing one."""
    text = None if value is None else str(value).strip()
    return None if text in missing else text


def _categories(stored: Any, missing: Collection[str]) -> Array:
    """Read texts by their codes: each different one is looked at once."""
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
        raise ValueError(f"Column {name!r} {error}; {PLURALS[kind]} are expected in it.") from None


def _declared(stored: Any) -> tuple[str, ...]:
    """Give the categories of a column that was stored with them, also those that never occur."""
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
    """Name the columns to learn from, or say which of them are no numbers."""
    with _opened(Path(path)) as file:
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
            f"{Path(path).name} is read in blocks, which takes numeric columns; these are "
            f"none: {listing(others)}. Leave them out by `drop`, make numbers of them, or read "
            "some of the rows into memory by `draw`."
        )
    return names


def read_parquet_target(path: str | PathLike[str], target: str, task: str | None = None) -> Target:
    """Read a target as a table of the whole file would have it; only different values are texts."""
    check_task(task)
    path = Path(path)
    with _opened(path) as file, _damage_named(path):
        column = file.read(columns=[target], use_threads=False).column(0)
    declared = arrow("pyarrow.types").is_dictionary(column.type)
    column = column.cast(column.type.value_type) if declared else column
    different = column.unique()
    many = len(different) > MANY + 1
    if is_number(column.type) and not declared and many and task != CLASSIFICATION.name:
        numbers = np.asarray(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
        found = read_target(Table((target,), (numbers,)), target, task)
        return Target(numbers, ~np.isnan(numbers), found.task, found.reason)
    places = arrow("pyarrow.compute").index_in(column, value_set=different).to_numpy()
    different = different.dictionary_encode() if declared else different
    # each different value is taken twice, since what occurs once is hardly a class
    pa = arrow("pyarrow")
    stored = pa.table({target: pa.chunked_array([different, different])})
    table = table_from_arrow(stored, Request(target, {target: NUMERIC_OR_LABEL}))
    found = read_target(table, target, task)
    values, known = found.values, found.known[places]
    if found.task is not CLASSIFICATION:
        return Target(values[places], known, found.task, found.reason)
    classes, codes = np.unique(values[found.known], return_inverse=True)
    every = np.full(len(values), -1, dtype=np.int32)
    every[found.known] = codes
    return Target(every[places], known, found.task, found.reason, classes=tuple(classes.tolist()))
