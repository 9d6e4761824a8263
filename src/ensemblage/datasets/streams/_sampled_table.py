"""Some rows of a file that is too large to hold, drawn by a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets._file_names import is_parquet
from ensemblage.datasets._files import read_table
from ensemblage.datasets._reading_options import Reading
from ensemblage.datasets._table import Table
from ensemblage.datasets.streams._table_blocks import open_table


class RowDraw(NamedTuple):
    """How many rows to take of a file that is read in blocks, and by which seed.

    Of a file that is read whole they are taken only if ``of_any`` asks for it.
    """

    most: int
    seed: int
    of_any: bool = False

    def rows(self, n_rows: int) -> NDArray[np.intp]:
        """Draw rows by their numbers, which rise."""
        rng = np.random.default_rng(self.seed)
        return np.sort(rng.choice(n_rows, self.most, replace=False, shuffle=False))

    def sentence(self, n_rows: int) -> str:
        """Say what was done."""
        return (
            f"The file has {n_rows} rows, of which {self.most} were drawn by the seed {self.seed}."
        )


def sample_table(
    path: str | PathLike[str],
    draw: RowDraw,
    *,
    kinds: Mapping[str, str] | None = None,
    reading: Reading | None = None,
) -> Table:
    """Read a file; of a large Parquet file only some rows, each as likely, in their order."""
    # of text, blocks do not keep how a target's numbers are written, and 01 may be a label
    if not is_parquet(path):
        return _drawn_whole(read_table(path, kinds=kinds, reading=reading), draw)
    blocks = open_table(path, kinds=kinds, reading=reading)
    if not blocks.in_blocks or blocks.n_rows <= draw.most:
        return _drawn_whole(join_tables(list(blocks.read()), blocks.notes), draw)
    chosen = draw.rows(blocks.n_rows)
    parts, start = [], 0
    for table in blocks.read():
        first, last = np.searchsorted(chosen, [start, start + table.n_rows])
        parts.append(_rows_of(table, chosen[first:last] - start))
        start += table.n_rows
    return join_tables(parts, (*blocks.notes, draw.sentence(blocks.n_rows)))


def _drawn_whole(table: Table, draw: RowDraw) -> Table:
    """Take some rows of a table that is in memory, if that is asked for."""
    if not draw.of_any or table.n_rows <= draw.most:
        return table
    some = _rows_of(table, draw.rows(table.n_rows))
    return replace(some, notes=(*table.notes, draw.sentence(table.n_rows)))


def join_tables(parts: list[Table], notes: tuple[str, ...]) -> Table:
    """Put tables of the same columns one below the other."""
    if len(parts) == 1:
        return replace(parts[0], notes=notes)
    columns = tuple(map(np.concatenate, zip(*(each.columns for each in parts), strict=True)))
    written = {
        name: own._replace(words=np.concatenate([each.written[name].words for each in parts]))
        for name, own in parts[0].written.items()
    }
    return replace(parts[0], columns=columns, written=written, notes=notes)


def _rows_of(table: Table, rows: NDArray[np.intp]) -> Table:
    written = {name: own._replace(words=own.words[rows]) for name, own in table.written.items()}
    return replace(table.take(rows), written=written)
