"""Parquet files that a cluster's workers read themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks._dask_rows import DaskBlocks
from ensemblage.blocks._parquet_rows import ParquetBlocks, copy_rows, open_parquet
from ensemblage.blocks._source import Array, BlockSource


class Stored(NamedTuple):
    """What a worker needs to know of files to read some of their rows."""

    paths: list[Path]
    names: list[str]
    dtype: np.dtype[Any]


class ParquetParts(DaskBlocks):
    """Rows of Parquet files that all workers of the current cluster can read, by their places.

    A worker reads the row groups in which its part lies; if it is lost, another one does.
    """

    def __init__(self, path: Any, columns: Sequence[str] | None = None) -> None:
        files = ParquetBlocks(path, columns)
        names = files.feature_names or []
        BlockSource.__init__(self, files.shape, files.dtype, None, files.block_rows, names)
        self._connect()
        stored = Stored([each.resolve() for each in files.paths], names, files.dtype)
        starts = self._cut()
        stops = [*starts[1:], self.shape[0]]
        self._hold(self._client.map(read_part, starts, stops, stored=stored, pure=False))

    def transformed(self, change: Callable[[Array], Array]) -> ParquetParts:
        """Give other rows in the place of these, as many and in the same dtype."""
        other = self.begin()
        other._hold(self._client.map(change, self._parts, pure=False))  # noqa: SLF001  a copy
        return other

    def select(self, indices: NDArray[np.intp]) -> DaskBlocks:
        raise TypeError("Some rows of files on a cluster: open them as a Dask dataframe.")


def read_part(start: int, stop: int, stored: Stored) -> Array:
    """Read the rows from one number to another, where they are to be."""
    rows = np.empty((stop - start, len(stored.names)), stored.dtype)
    before = 0
    for path in stored.paths:
        with open_parquet(path) as file:
            for group in range(file.num_row_groups):
                after = before + file.metadata.row_group(group).num_rows
                first, last = max(start, before), min(stop, after)
                if first < last:
                    table = file.read_row_group(group, columns=stored.names, use_threads=False)
                    own = table.select(stored.names).slice(first - before, last - first)
                    _fill(rows[first - start : last - start], own)
                before = after
    return rows


def _fill(rows: Array, table: Any) -> None:
    filled = 0
    for batch in table.to_batches():
        copy_rows(batch, rows[filled : filled + batch.num_rows])
        filled += batch.num_rows
