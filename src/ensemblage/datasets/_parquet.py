"""Parquet through pyarrow, which is an extra."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ensemblage.datasets._table import MISSING, WORD, Column, Table, column_from_texts
from ensemblage.messages import require


def _arrow(module: str) -> Any:
    return require(module, "Reading Parquet", extra="all", otherwise="Or save the data as CSV.")


def read_parquet(path: Path, *, kinds: Mapping[str, str] | None = None) -> Table:
    """Read a Parquet file: numbers stay numbers; truth values, texts and dates become words."""
    parquet = _arrow("pyarrow.parquet")
    try:
        stored = parquet.read_table(path)
    except _arrow("pyarrow").ArrowInvalid as error:
        raise ValueError(f"{path.name} is not a Parquet file, or it is damaged.") from error
    if not stored.num_rows or not stored.num_columns:
        raise ValueError(f"{path.name} has no rows.")
    names = [name or f"column_{j + 1}" for j, name in enumerate(stored.column_names)]
    wanted = kinds or {}
    columns = [_column(name, stored.column(j), wanted.get(name)) for j, name in enumerate(names)]
    return Table(tuple(names), tuple(columns))


def _column(name: str, stored: Any, kind: str | None) -> Column:
    if _arrow("pyarrow.types").is_nested(stored.type):
        raise ValueError(f"Column {name!r} holds {stored.type}; flat columns are needed.")
    if _is_number(stored.type) and kind != WORD:
        column = np.array([np.nan if x is None else float(x) for x in stored.to_pylist()])
        if np.isinf(column).any():
            raise ValueError(f"Column {name!r} holds infinity: replace it or leave the row out.")
        return column.astype(np.float64)
    texts = [None if x is None or str(x) in MISSING else str(x).strip() for x in stored.to_pylist()]
    try:
        return column_from_texts(texts, WORD if kind is None else kind)
    except ValueError as error:
        raise ValueError(f"Column {name!r} {error}; numbers are expected in it.") from None


def _is_number(kind: Any) -> bool:
    types = _arrow("pyarrow.types")
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        or types.is_null(kind)
    )  # fmt: skip
