"""Rows in memory, or memory-mapped: one array, read in slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks._source import BLOCK_ROWS, Array, Block, BlockSource

T = TypeVar("T")


class MemoryBlocks(BlockSource):
    """Blocks of an array that this process can index, in memory or memory-mapped.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The data; only slices of it are touched.
    weights : ndarray of shape (n_rows,), default=None
        Row weights; ones if not given.
    block_rows : int, default=8192
        Rows per block.
    """

    def __init__(
        self,
        rows: Array,
        weights: NDArray[np.float64] | None = None,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        self.shape = rows.shape[0], rows.shape[1]
        self._rows = rows
        self._weights = np.ones(len(rows)) if weights is None else weights
        self._starts = range(0, len(rows), block_rows)
        self._block_rows = block_rows
        self._carries: list[Array | None] = [None] * len(self._starts)

    def _block(self, index: int) -> Block:
        part = slice(self._starts[index], self._starts[index] + self._block_rows)
        return Block(part.start, self._rows[part], self._weights[part], self._carries[index])

    def map(self, kernel: Callable[..., T], *state: Any) -> Iterator[T]:
        """Give ``kernel(block, *state)`` for each block, in order.

        Parameters
        ----------
        kernel : callable
            Takes a block and the state.
        *state : object
            The same for each block.

        Yields
        ------
        object
            One result per block.
        """
        for index in range(len(self._starts)):
            yield kernel(self._block(index), *state)

    def advance(self, kernel: Callable[..., tuple[Array, T]], *state: Any) -> Iterator[T]:
        """Run a kernel that returns ``(carry, result)``; keep the carry, give the results.

        Parameters
        ----------
        kernel : callable
            Takes a block and the state; its first result replaces the block's carry.
        *state : object
            The same for each block.

        Yields
        ------
        object
            One result per block.
        """
        for index in range(len(self._starts)):
            self._carries[index], result = kernel(self._block(index), *state)
            yield result
