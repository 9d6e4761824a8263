"""Parquet through pyarrow, which is an extra."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from ensemblage.datasets._date_texts import read_dates
from ensemblage.datasets._free_memory import free_memory
from ensemblage.datasets._reading_options import Request
from ensemblage.datasets._row_layout import distinct_names
from ensemblage.datasets._table import (
    DATE,
    EITHER,
    MISSING,
    NUMBER,
    WORD,
    AsWritten,
    Column,
    Table,
    column_from_texts,
)
from ensemblage.messages import require

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
        if kind in {None, WORD} and (declared := _declared(column))
    }
    written = {
        name: AsWritten(_column(name, column, WORD))
        for name, column, kind in zip(names, stored.columns, kinds, strict=True)
        if kind == NUMBER and request.kinds.get(name) == EITHER
    }
    return Table(tuple(names), tuple(columns), categories, written=written)


def _stored_kind(stored: Any, kind: str | None) -> str | None:
    """Tell what a target is that may be numbers or words; any other kind stays."""
    if kind != EITHER:
        return kind
    return NUMBER if is_number(stored.type) else WORD


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


def _column(name: str, stored: Any, kind: str | None) -> Column:
    types = arrow("pyarrow.types")
    if types.is_nested(stored.type):
        raise ValueError(f"Column {name!r} holds {stored.type}; flat columns are needed.")
    if is_number(stored.type) and kind in {None, NUMBER}:
        column = np.asarray(stored.cast("float64", safe=False).to_numpy(), dtype=np.float64)
        if np.isinf(column).any():
            raise ValueError(f"Column {name!r} holds infinity: replace it or leave the row out.")
        return column
    if is_date(stored.type) and kind in {None, DATE}:
        moments = arrow("pyarrow").timestamp("ms", getattr(stored.type, "tz", None))
        return np.asarray(stored.cast(moments, safe=False).to_numpy(), dtype="datetime64[ms]")
    gaps = MISSING if not types.is_dictionary(stored.type) else frozenset({""})
    if kind in {None, WORD} and (types.is_string(stored.type) or types.is_dictionary(stored.type)):
        return _words(stored, gaps)
    texts = [_text(value, gaps) for value in stored.to_pylist()]
    return _from_texts(name, texts, WORD if kind is None else kind)


def _text(value: Any, gaps: Collection[str]) -> str | None:
    """Write a value as text without surrounding blanks; None for a gap."""
    text = None if value is None else str(value).strip()
    return None if text in gaps else text


def _words(stored: Any, gaps: Collection[str]) -> Column:
    """Read words by their codes: each different one is looked at once."""
    parts = [np.zeros(0, dtype=object)]
    for chunk in stored.chunks:
        coded = chunk.dictionary_encode()
        words = [*(_text(word, gaps) for word in coded.dictionary.to_pylist()), None]
        codes = coded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
        parts.append(np.array(words, dtype=object)[codes])
    return np.concatenate(parts)


def _from_texts(name: str, texts: list[str | None], kind: str) -> Column:
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
        raise ValueError(f"Column {name!r} {error}; {kind}s are expected in it.") from None


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
