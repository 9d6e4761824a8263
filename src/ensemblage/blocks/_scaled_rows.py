"""Rows elsewhere than in memory, each column with mean zero and variance one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ensemblage.blocks._column_extent import column_extent
from ensemblage.blocks._file_rows import FileBlocks
from ensemblage.blocks._parquet_parts import ParquetParts
from ensemblage.blocks._source import Array, Block, BlockSource, Doubles


class Scaling(NamedTuple):
    """What to take from each column, and what to divide it by."""

    centre: Doubles
    spread: Doubles

    def apply(self, rows: Any) -> Any:
        """Scale rows, in their own dtype."""
        return (rows - self.centre.astype(rows.dtype)) / self.spread.astype(rows.dtype)

    def undo(self, rows: Array) -> Doubles:
        """Give the rows in their own units."""
        units: Doubles = rows * self.spread + self.centre
        return units


class ScaledBlocks(FileBlocks):
    """Rows in files, scaled as they are read."""

    def __init__(self, source: FileBlocks, scaling: Scaling) -> None:
        super().__init__(source.shape, source.dtype, None, source.block_rows, source.feature_names)
        self._source, self._scaling = source, scaling
        self._settle(source._beside)  # noqa: SLF001  of the same family

    def place(self, row: int) -> str:
        return self._source.place(row)

    def _read(self) -> Iterator[Array]:
        for rows in self._source._read():  # noqa: SLF001
            yield self._scaling.apply(rows)


def standardised(source: FileBlocks | ParquetParts) -> tuple[BlockSource, Scaling]:
    """Scale rows by mean and standard deviation, in two passes; a constant column stays so.

    A value that is missing is refused by its file, row and column.
    """
    column_extent(source)
    n_rows = source.shape[0]
    (sums,) = source.total(_sums)
    (squares,) = source.total(_squares, sums / n_rows)
    spread = np.sqrt(squares / n_rows)
    scaling = Scaling(sums / n_rows, np.where(spread > 0, spread, 1.0))
    if isinstance(source, ParquetParts):
        return source.transformed(scaling.apply), scaling
    return ScaledBlocks(source, scaling), scaling


def _sums(block: Block) -> tuple[Doubles]:
    return (block.rows.sum(axis=0, dtype=np.float64),)


def _squares(block: Block, mean: Doubles) -> tuple[Doubles]:
    return (np.square(block.rows - mean).sum(axis=0),)
