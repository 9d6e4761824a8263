"""Rows that this process reads, block after block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, MutableSequence
from typing import Any, TypeVar

from ensemblage.blocks._source import Array, Block, BlockSource, Doubles, merge

T = TypeVar("T")


class LocalBlocks(BlockSource):
    """A source whose blocks pass through this process; a subclass reads them."""

    _first = 0
    _carries: MutableSequence[Array | None]

    @abstractmethod
    def _read(self) -> Iterator[Array]:
        """Give the rows of each block in order, contiguous and in the source's dtype."""

    @abstractmethod
    def _keep(self, start: int, values: Array) -> None:
        """Keep values of the rows from ``start`` on."""

    def _kept(self) -> Array | None:
        """Give what was kept of all rows, if it is in memory."""
        return None

    @property
    def _n_blocks(self) -> int:
        return -(-self.shape[0] // self.block_rows)

    def _blocks(self, kernel: Callable[..., Any]) -> Iterator[tuple[int, Block]]:
        start, unread = 0, getattr(kernel, "of_carries", False)
        for index, rows in enumerate(self._stand_ins() if unread else self._read()):
            weights = self._weights_of(start, len(rows))
            yield index, Block(self._first + start, rows, weights, self._carries[index])
            start += len(rows)

    def _stand_ins(self) -> Iterator[Array]:
        for start in range(0, self.shape[0], self.block_rows):
            yield self.stand_in[start : start + self.block_rows]

    def _weights_of(self, start: int, n_rows: int) -> Doubles:
        # ones of their own: products with a stride of zero take another way, to other bits
        weights = self.weights[start : start + n_rows]
        return weights.copy() if self._weights is None else weights

    def map(self, kernel: Callable[..., T], *state: Any) -> Iterator[T]:
        for _, block in self._blocks(kernel):
            yield kernel(block, *state)

    def advance(self, kernel: Callable[..., tuple[Array, T]], *state: Any) -> Iterator[T]:
        for index, block in self._blocks(kernel):
            self._carries[index], result = kernel(block, *state)
            yield result

    def collect(self, kernel: Callable[..., tuple[Array, T]], *state: Any) -> tuple[Any, T]:
        total = merge(self._keeping(kernel, *state))
        return self._kept(), total

    def _keeping(self, kernel: Callable[..., tuple[Array, T]], *state: Any) -> Iterator[T]:
        start = 0
        for values, partial in self.map(kernel, *state):
            self._keep(start, values)
            start += len(values)
            yield partial
