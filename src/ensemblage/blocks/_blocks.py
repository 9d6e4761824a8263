"""Rows as an ordered sequence of blocks, merged in the same order wherever the rows are."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, MutableSequence
from functools import reduce
from itertools import islice
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import set_module

Array = NDArray[Any]
Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]


T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# Rows per block.
BLOCK_ROWS = 8000
# Blocks whose statistics a worker merges before it sends them.
GROUP_BLOCKS = 16


@set_module("ensemblage.blocks")
class Block(NamedTuple):
    """Consecutive rows, their weights, and their state from the last pass.

    Parameters
    ----------
    start : int
        Number of rows before this block.
    rows : ndarray of shape (n_block, n_features)
        The rows.
    weights : ndarray of shape (n_block,)
        One weight per row, in float64.
    state : ndarray or None
        State of these rows, kept between passes, such as their memberships.
    """

    start: int
    rows: Array
    weights: Doubles
    state: Any = None


def state_only(kernel: F) -> F:
    """Mark a kernel that uses only states and weights, so that rows are not read."""
    kernel.state_only = True  # type: ignore[attr-defined]
    return kernel


def add_fields(left: T, right: T) -> T:
    """Add two partial statistics, tuples of arrays or scalars, field by field."""
    sums = [a + b for a, b in zip(left, right, strict=True)]  # type: ignore[call-overload]
    make: Any = getattr(type(left), "_make", tuple)
    merged: T = make(sums)
    return merged


def reduce_groups(partials: Iterable[T], combine: Callable[[T, T], T]) -> Iterator[T]:
    """Merge consecutive groups of sixteen partial statistics, in order."""
    rest = iter(partials)
    while group := list(islice(rest, GROUP_BLOCKS)):
        yield reduce(combine, group)


def merge(partials: Iterable[T], combine: Callable[[T, T], T] = add_fields) -> T:
    """Merge partial statistics of blocks in order, in groups of sixteen.

    The grouping affects the rounding of the result, so it is the same wherever the rows are. A
    Dask worker merges its groups and sends only the sums.
    """
    return reduce(combine, reduce_groups(partials, combine))


@set_module("ensemblage.blocks")
class BlockSource(ABC):
    """An ordered sequence of row blocks.

    A kernel is a module-level function of a :class:`Block` and further arguments; it must not
    modify the block. Results are returned and merged in the order of the rows, so a fit depends on
    the block size, but not on where or when a block is processed.

    Parameters
    ----------
    shape : tuple of int
        Number of rows and of columns.
    dtype : dtype
        Dtype of the rows in a block, float32 or float64.
    weights : ndarray of shape (n_rows,), default=None
        Row weights; by default ones.
    block_rows : int, default=8000
        Rows per block.
    feature_names : list of str, default=None
        Names of the columns, if there are any.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns.
    dtype : dtype
        Dtype of the rows in a block.
    block_rows : int
        Rows per block; the last may have fewer.
    feature_names : list of str or None
        Names of the columns.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: Any,
        weights: Doubles | None = None,
        block_rows: int = BLOCK_ROWS,
        feature_names: list[str] | None = None,
    ) -> None:
        if block_rows < 1:
            raise ValueError(f"block_rows={block_rows} must be at least 1.")
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.block_rows = block_rows
        self.feature_names = feature_names
        self._weights = weights

    @property
    def weights(self) -> Doubles:  # numpydoc ignore=RT01
        """Weight of each row, of shape (n_rows,); default weights of one take no memory."""
        if self._weights is None:
            return np.broadcast_to(np.float64(1.0), self.shape[:1])
        return self._weights

    @property
    def placeholder(self) -> Array:  # numpydoc ignore=RT01
        """Zeros with the shape and dtype of the rows that take no memory, for validation."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def begin(self, weights: Doubles | None = None) -> Self:
        """Return the same rows for a new fit, without states of earlier fits.

        Parameters
        ----------
        weights : ndarray of shape (n_rows,), default=None
            Row weights; by default those of the source.

        Returns
        -------
        BlockSource
            A context manager; on exit, values of the rows are written if the fit succeeded.
        """
        fresh = copy.copy(self)
        fresh._weights = self._weights if weights is None else weights  # noqa: SLF001
        fresh.reset()
        return fresh

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.reset()

    def describe_row(self, row: int) -> str:
        """Describe the location of a row, for messages.

        Parameters
        ----------
        row : int
            Index of the row.

        Returns
        -------
        str
            Such as ``row 7 of rows.npy``.
        """
        return f"row {row}"

    @abstractmethod
    def reset(self) -> None:
        """Remove the states of all blocks."""

    @abstractmethod
    def map(self, kernel: Callable[..., T], *args: Any) -> Iterable[T]:
        """Compute ``kernel(block, *args)`` for each block, in order.

        Parameters
        ----------
        kernel : callable
            Called with a block and the arguments.
        *args : object
            Further arguments, the same for each block.

        Returns
        -------
        iterable
            One result per block.
        """

    @abstractmethod
    def map_with_state(self, kernel: Callable[..., tuple[Array, T]], *args: Any) -> Iterable[T]:
        """Run a kernel that returns ``(state, result)``; store the states, return the results.

        Parameters
        ----------
        kernel : callable
            Called with a block and the arguments; its first result replaces the block's state.
        *args : object
            Further arguments, the same for each block.

        Returns
        -------
        iterable
            One result per block. A block's state is replaced when its result is consumed, so
            the iterable must be exhausted.
        """

    def reduce(
        self, kernel: Callable[..., T], *args: Any, combine: Callable[[T, T], T] = add_fields
    ) -> T:
        """Merge the results of a kernel.

        Parameters
        ----------
        kernel : callable
            Called with a block and the arguments.
        *args : object
            Further arguments, the same for each block.
        combine : callable
            Merges two partial statistics; by default adds them field by field.

        Returns
        -------
        object
            The merged statistics.
        """
        return merge(self.map(kernel, *args), combine)

    def reduce_with_state(
        self,
        kernel: Callable[..., tuple[Array, T]],
        *args: Any,
        combine: Callable[[T, T], T] = add_fields,
    ) -> T:
        """Run a kernel that returns ``(state, result)``; store the states, merge the results.

        Parameters
        ----------
        kernel : callable
            Called with a block and the arguments; its first result replaces the block's state.
        *args : object
            Further arguments, the same for each block.
        combine : callable
            Merges two partial statistics; by default adds them field by field.

        Returns
        -------
        object
            The merged statistics.
        """
        return merge(self.map_with_state(kernel, *args), combine)

    @abstractmethod
    def collect(self, kernel: Callable[..., tuple[Array, T]], *args: Any) -> tuple[Any, T]:
        """Run a kernel that returns ``(row values, partial statistics)``; merge the statistics.

        Parameters
        ----------
        kernel : callable
            Called with a block and the arguments; its first result has one entry per row.
        *args : object
            Further arguments, the same for each block.

        Returns
        -------
        values : ndarray or None
            Values of all rows; None if they are stored elsewhere or discarded.
        total : object
            The merged statistics.
        """

    @abstractmethod
    def select(self, indices: NDArray[np.intp]) -> BlockSource:
        """Select rows as a new source, in blocks of the same size.

        Parameters
        ----------
        indices : ndarray of int
            Indices of the rows, in increasing order.

        Returns
        -------
        BlockSource
            These rows with their weights, without states; values collected from it are written
            at the original indices.
        """


class LocalBlocks(BlockSource):
    """A source whose blocks are processed locally; subclasses read them."""

    _first = 0
    _states: MutableSequence[Array | None]

    @abstractmethod
    def _read(self) -> Iterator[Array]:
        """Yield the rows of each block in order, contiguous and in the source's dtype."""

    @abstractmethod
    def _keep(self, start: int, values: Array) -> None:
        """Store values of the rows from ``start`` on."""

    def _kept(self) -> Array | None:
        """Return the stored values of all rows, if they are in memory."""
        return None

    @property
    def _n_blocks(self) -> int:
        return -(-self.shape[0] // self.block_rows)

    def _blocks(self, kernel: Callable[..., Any]) -> Iterator[tuple[int, Block]]:
        blocks: Iterable[Array] = self._read()
        if getattr(kernel, "state_only", False):
            starts, size = range(0, self.shape[0], self.block_rows), self.block_rows
            blocks = (self.placeholder[start : start + size] for start in starts)
        start = 0
        for index, rows in enumerate(blocks):
            weights = self._weights_of(start, len(rows))
            yield index, Block(self._first + start, rows, weights, self._states[index])
            start += len(rows)

    def _weights_of(self, start: int, n_rows: int) -> Doubles:
        # a contiguous copy: products with a stride of zero round differently
        weights = self.weights[start : start + n_rows]
        return weights.copy() if self._weights is None else weights

    def map(self, kernel: Callable[..., T], *args: Any) -> Iterator[T]:
        for _, block in self._blocks(kernel):
            yield kernel(block, *args)

    def map_with_state(self, kernel: Callable[..., tuple[Array, T]], *args: Any) -> Iterator[T]:
        for index, block in self._blocks(kernel):
            self._states[index], result = kernel(block, *args)
            yield result

    def collect(self, kernel: Callable[..., tuple[Array, T]], *args: Any) -> tuple[Any, T]:
        def partials() -> Iterator[T]:
            start = 0
            for values, partial in self.map(kernel, *args):
                self._keep(start, values)
                start += len(values)
                yield partial

        total = merge(partials())
        return self._kept(), total


def pick_rows(source: BlockSource, indices: NDArray[np.intp]) -> Floats:
    """Return rows by their indices, which must be increasing."""
    return np.concatenate(list(source.map(_pick, indices)))


def _pick(block: Block, indices: NDArray[np.intp]) -> Floats:
    local = indices - block.start
    picked: Floats = block.rows[local[(local >= 0) & (local < len(block.rows))]]
    return picked


@set_module("ensemblage.blocks")
class MemoryBlocks(LocalBlocks):
    """Blocks of an array, in memory or memory-mapped.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The data; only slices of it are read.
    weights : ndarray of shape (n_rows,), default=None
        Row weights; by default ones.
    block_rows : int, default=8000
        Rows per block.
    first : int, default=0
        Number of rows before these, if they are part of a larger dataset.
    """

    def __init__(
        self,
        rows: Array,
        weights: Doubles | None = None,
        *,
        block_rows: int = BLOCK_ROWS,
        first: int = 0,
    ) -> None:
        super().__init__((rows.shape[0], rows.shape[1]), rows.dtype, weights, block_rows)
        self._rows = rows
        self._first = first
        self.reset()

    def reset(self) -> None:
        self._states = [None] * self._n_blocks
        self._values: Array | None = None

    def _read(self) -> Iterator[Array]:
        for start in range(0, self.shape[0], self.block_rows):
            # arrays from dataframes may be column-major, where sums round differently
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
        return MemoryBlocks(self._rows[indices], weights, block_rows=self.block_rows)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, without importing Dask."""
    return hasattr(X, "__dask_keys__")


def is_source(X: Any) -> bool:
    """Whether :func:`open_blocks` accepts X: a path, a Dask collection or a source."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(each, str | os.PathLike) for each in X)
    return isinstance(X, BlockSource | str | os.PathLike) or is_dask(X)
