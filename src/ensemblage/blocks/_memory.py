"""Rows in memory, or memory-mapped: one array, read in slices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks._local_rows import LocalBlocks
from ensemblage.blocks._source import BLOCK_ROWS, Array, Doubles


class MemoryBlocks(LocalBlocks):
    """Blocks of an array that this process can index, in memory or memory-mapped.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The data; only slices of it are touched.
    weights : ndarray of shape (n_rows,), default=None
        Row weights; ones if not given.
    block_rows : int, default=8000
        Rows per block.
    first : int, default=0
        Number of rows before these, where they are a part of more.
    """

    def __init__(
        self,
        rows: Array,
        weights: Doubles | None = None,
        block_rows: int = BLOCK_ROWS,
        first: int = 0,
    ) -> None:
        super().__init__((rows.shape[0], rows.shape[1]), rows.dtype, weights, block_rows)
        self._rows = rows
        self._first = first
        self.forget()

    def forget(self) -> None:
        self._carries = [None] * self._n_blocks
        self._values: Array | None = None

    def _read(self) -> Iterator[Array]:
        for start in range(0, self.shape[0], self.block_rows):
            # the columns of a frame lie apart, and sums over them would have other bits
            yield np.ascontiguousarray(self._rows[start : start + self.block_rows])

    def _keep(self, start: int, values: Array) -> None:
        if start == 0:
            self._values = np.empty((self.shape[0], *values.shape[1:]), values.dtype)
        assert self._values is not None  # noqa: S101  the first block starts at 0
        self._values[start : start + len(values)] = values

    def _kept(self) -> Array | None:
        values, self._values = self._values, None
        return values

    def select(self, indices: NDArray[np.intp]) -> MemoryBlocks:
        weights = None if self._weights is None else self._weights[indices]
        return MemoryBlocks(self._rows[indices], weights, self.block_rows)
