"""Rows as an ordered sequence of blocks; sums are merged in one order, whatever holds the rows."""

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

BLOCK_ROWS = 8000
# Blocks whose statistics are merged before they travel.
GROUP_BLOCKS = 16


@set_module("ensemblage.blocks")
class Block(NamedTuple):
    """Consecutive rows, their weights, and the state that the last pass left with them.

    Parameters
    ----------
    start : int
        Number of rows before this block.
    rows : ndarray of shape (n_block, n_features)
        The rows.
    weights : ndarray of shape (n_block,)
        One weight per row, in float64.
    state : ndarray or None
        State that belongs to these rows and travels with them, such as their memberships.
    """

    start: int
    rows: Array
    weights: Doubles
    state: Any = None


def state_only(kernel: F) -> F:
    """Mark a kernel that uses states and weights only, so that rows need not be read."""
    kernel.state_only = True  # type: ignore[attr-defined]
    return kernel


def add_fields(left: T, right: T) -> T:
    """Add two partial statistics, tuples of arrays or numbers, field by field."""
    sums = [a + b for a, b in zip(left, right, strict=True)]  # type: ignore[call-overload]
    make: Any = getattr(type(left), "_make", tuple)
    merged: T = make(sums)
    return merged


def reduce_groups(partials: Iterable[T], combine: Callable[[T, T], T]) -> Iterator[T]:
    """Merge each sixteen partials, from first to last."""
    rest = iter(partials)
    while group := list(islice(rest, GROUP_BLOCKS)):
        yield reduce(combine, group)


def merge(partials: Iterable[T], combine: Callable[[T, T], T] = add_fields) -> T:
    """Merge partial statistics of blocks from first to last, sixteen at a time.

    The groups are part of the result's last bits, so they are the same wherever the rows are:
    a worker that holds some adds them up, and only the sums travel.
    """
    return reduce(combine, reduce_groups(partials, combine))


@set_module("ensemblage.blocks")
class BlockSource(ABC):
    """An ordered sequence of row blocks.

    A kernel is a module-level function of a :class:`Block` and further arguments; it never writes
    into the block. Results come back in the order of the rows and are merged in that order, so a
    fit depends on the block size but not on who computed which block, or when.

    Parameters
    ----------
    shape : tuple of int
        Number of rows and of columns.
    dtype : dtype
        Of the rows in a block, float32 or float64.
    weights : ndarray of shape (n_rows,), default=None
        Row weights; ones if not given.
    block_rows : int, default=8000
        Rows per block.
    feature_names : list of str, default=None
        Names of the columns, where they have some.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns.
    dtype : dtype
        Of the rows in a block.
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
        """Weight of each row, of shape (n_rows,); ones that were not given take no memory."""
        if self._weights is None:
            return np.broadcast_to(np.float64(1.0), self.shape[:1])
        return self._weights

    @property
    def placeholder(self) -> Array:  # numpydoc ignore=RT01
        """Zeros of the rows' shape and dtype that take no memory, for checks of lengths."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def begin(self, weights: Doubles | None = None) -> Self:
        """Give the same rows to a fit, without the state of earlier ones.

        Parameters
        ----------
        weights : ndarray of shape (n_rows,), default=None
            Row weights; those of the source if not given.

        Returns
        -------
        BlockSource
            A context manager: values of each row are kept at its end if the fit succeeds.
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
        """Tell where a row is, for a message.

        Parameters
        ----------
        row : int
            Its index.

        Returns
        -------
        str
            Such as ``row 7 of rows.npy``.
        """
        return f"row {row}"

    @abstractmethod
    def reset(self) -> None:
        """Drop the states of all blocks."""

    @abstractmethod
    def map(self, kernel: Callable[..., T], *args: Any) -> Iterable[T]:
        """Give ``kernel(block, *args)`` for each block, in order.

        Parameters
        ----------
        kernel : callable
            Takes a block and the arguments.
        *args : object
            The same for each block.

        Returns
        -------
        iterable
            One result per block.
        """

    @abstractmethod
    def map_with_state(self, kernel: Callable[..., tuple[Array, T]], *args: Any) -> Iterable[T]:
        """Run a kernel that returns ``(state, result)``; keep the states, give the results.

        Parameters
        ----------
        kernel : callable
            Takes a block and the arguments; its first result replaces the block's state.
        *args : object
            The same for each block.

        Returns
        -------
        iterable
            One result per block. A block's state is replaced when its result is reached, so
            exhaust it.
        """

    def reduce(
        self, kernel: Callable[..., T], *args: Any, combine: Callable[[T, T], T] = add_fields
    ) -> T:
        """Merge the results of a kernel.

        Parameters
        ----------
        kernel : callable
            Takes a block and the arguments.
        *args : object
            The same for each block.
        combine : callable
            Merges two partials; by default adds them field by field.

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
        """Run a kernel that returns ``(state, result)``; keep the states, merge the results.

        Parameters
        ----------
        kernel : callable
            Takes a block and the arguments; its first result replaces the block's state.
        *args : object
            The same for each block.
        combine : callable
            Merges two partials; by default adds them field by field.

        Returns
        -------
        object
            The merged statistics.
        """
        return merge(self.map_with_state(kernel, *args), combine)

    @abstractmethod
    def collect(self, kernel: Callable[..., tuple[Array, T]], *args: Any) -> tuple[Any, T]:
        """Run a kernel that returns ``(values of the rows, partial)``; merge the partials.

        Parameters
        ----------
        kernel : callable
            Takes a block and the arguments; its first result has one entry per row.
        *args : object
            The same for each block.

        Returns
        -------
        values : ndarray or None
            Those of all rows; None where they are kept elsewhere, or nowhere.
        total : object
            The merged partials.
        """

    @abstractmethod
    def select(self, indices: NDArray[np.intp]) -> BlockSource:
        """Give some rows as a source of their own, in blocks of the same size.

        Parameters
        ----------
        indices : ndarray of int
            Indices of the rows, rising.

        Returns
        -------
        BlockSource
            These rows with their weights, without states; values collected from it go to their
            places.
        """


class LocalBlocks(BlockSource):
    """A source whose blocks pass through this process; subclasses read them."""

    _first = 0
    _states: MutableSequence[Array | None]

    @abstractmethod
    def _read(self) -> Iterator[Array]:
        """Give the rows of each block in order, contiguous and in the source's dtype."""

    @abstractmethod
    def _keep(self, start: int, values: Array) -> None:
        """Keep values of the rows from ``start`` on."""

    def _kept(self) -> Array | None:
        """Give the values of all rows, if they are in memory."""
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
        # ones of their own: products with a stride of zero take another way, to other bits
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
    """Fetch rows by their indices, which must rise."""
    return np.concatenate(list(source.map(_pick, indices)))


def _pick(block: Block, indices: NDArray[np.intp]) -> Floats:
    local = indices - block.start
    picked: Floats = block.rows[local[(local >= 0) & (local < len(block.rows))]]
    return picked


@set_module("ensemblage.blocks")
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
        return MemoryBlocks(self._rows[indices], weights, block_rows=self.block_rows)


def is_dask(X: Any) -> bool:
    """Tell a Dask collection without an import of Dask."""
    return hasattr(X, "__dask_keys__")


def is_source(X: Any) -> bool:
    """Tell what :func:`open_blocks` takes from an array: paths, Dask collections, sources."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(each, str | os.PathLike) for each in X)
    return isinstance(X, BlockSource | str | os.PathLike) or is_dask(X)
