"""A file as tables of some rows each: large files in blocks, others whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from ensemblage.datasets._file_names import check_file
from ensemblage.datasets._files import called, naming_file, read_table
from ensemblage.datasets._reading_options import Reading, Request
from ensemblage.datasets._table import Table
from ensemblage.datasets.streams._parquet_stream import survey_parquet
from ensemblage.datasets.streams._text_stream import IrregularError, Progress, survey_text

LARGE = 64 * 2**20
"""A text file of so many bytes is read in blocks."""
MOST_ROWS, FEWEST_ROWS, VALUES = 65_536, 1024, 2**21
"""A block has so many rows, or fewer, so that it has no more than these values."""


class TableBlocks(NamedTuple):
    """Tables that follow each other in a file, what to know of how it is read, and its rows."""

    read: Callable[[], Iterator[Table]]
    n_rows: int
    notes: tuple[str, ...] = ()
    in_blocks: bool = False


def one_block(table: Table) -> TableBlocks:
    """Take a table that was read whole for a file of one block."""
    return TableBlocks(lambda: iter([table]), table.n_rows, table.notes)


def open_table(
    path: str | PathLike[str],
    *,
    kinds: Mapping[str, str] | None = None,
    reading: Reading | None = None,
    block_rows: int | None = None,
    progress: Progress | None = None,
) -> TableBlocks:
    """Open a file that ``read_table`` reads, in blocks if it is large.

    The tables have the values and notes that the whole would have: a text file is looked through
    first. One that takes the whole to be understood is read whole. ``block_rows`` asks for blocks
    of any file. ``progress`` is told how many megabytes were looked through.
    """
    request = Request(called(path), kinds or {}, reading or Reading())
    with naming_file(path):
        found = None if str(path) == "-" else _survey(Path(path), request, block_rows, progress)
    if found is not None:
        return found
    return one_block(read_table(path, kinds=kinds, reading=reading))


def _survey(
    path: Path, request: Request, block_rows: int | None, progress: Progress | None
) -> TableBlocks | None:
    kind, always = check_file(path), block_rows is not None
    if kind == "parquet":
        stored = survey_parquet(path, request, always=always)
        if stored is None:
            return None
        return _blocks(stored, path, block_rows or rows_per_block(stored.n_columns))
    if kind not in {"text", "tabs"} or not (always or path.stat().st_size >= LARGE):
        return None
    first = block_rows or MOST_ROWS
    try:
        looked = survey_text(path, request, first, tabs=kind == "tabs", progress=progress)
    except IrregularError:
        return None
    return _blocks(looked, path, block_rows or rows_per_block(len(looked.recipes)))


def _blocks(found: Any, path: Path, block_rows: int) -> TableBlocks:
    def read() -> Iterator[Table]:
        left = found.n_rows
        with naming_file(path):
            for table in found.tables(block_rows):
                left -= table.n_rows
                yield table
            if left:
                raise ValueError("The file changed while it was read: start again.")

    return TableBlocks(read, found.n_rows, getattr(found, "notes", ()), in_blocks=True)


def rows_per_block(n_columns: int) -> int:
    """Give the rows of a block, so that wide ones have fewer."""
    return max(FEWEST_ROWS, min(MOST_ROWS, VALUES // max(1, n_columns)))
