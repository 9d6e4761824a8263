"""Parquet in blocks: record batches, each read as the whole file would be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ensemblage.datasets._parquet import (
    ALWAYS_FINE,
    arrow,
    bytes_in_memory,
    damaged,
    is_date,
    is_number,
    table_from_arrow,
)
from ensemblage.datasets._reading_options import Request
from ensemblage.datasets._table import DATE, Table

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
