"""Where the rows live: an ordered sequence of blocks, and two ways to run a kernel on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
T = TypeVar("T")

BLOCK_ROWS = 8192


class Block(NamedTuple):
    """Consecutive rows, their weights, and what the last pass left with them.

    Parameters
    ----------
    start : int
        Number of rows before this block.
    rows : ndarray of shape (n_block, n_features)
        The rows themselves.
    weights : ndarray of shape (n_block,)
        One weight per row, in float64.
    carry : ndarray or None
        State that belongs to these rows and travels with them, such as their memberships.
    """

    start: int
    rows: Array
    weights: NDArray[np.float64]
    carry: Any = None


def add_fields(left: T, right: T) -> T:
    """Add two partial statistics, tuples of arrays or numbers, field by field.

    Parameters
    ----------
    left, right : tuple
        Partial statistics of the same type.

    Returns
    -------
    tuple
        The sums, in the type of ``left``.
    """
    sums = [a + b for a, b in zip(left, right, strict=True)]  # type: ignore[call-overload]
    make: Any = getattr(type(left), "_make", tuple)
    merged: T = make(sums)
    return merged


class BlockSource(ABC):
    """An ordered sequence of row blocks.

    A kernel is a module-level function of a :class:`Block` and any further state; it never
    writes into the block. Results come back in the order of the rows and are merged in that
    order (:func:`merge`), so a fit depends on the block size but not on who computed which block,
    or when.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns.
    """

    shape: tuple[int, int]

    @abstractmethod
    def map(self, kernel: Callable[..., T], *state: Any) -> Iterable[T]:
        """Give ``kernel(block, *state)`` for each block, in order.

        Parameters
        ----------
        kernel : callable
            Takes a block and the state.
        *state : object
            The same for each block.

        Returns
        -------
        iterable
            One result per block.
        """

    @abstractmethod
    def advance(self, kernel: Callable[..., tuple[Array, T]], *state: Any) -> Iterable[T]:
        """Run a kernel that returns ``(carry, result)``; keep the carry, give the results.

        Parameters
        ----------
        kernel : callable
            Takes a block and the state; its first result replaces the block's carry.
        *state : object
            The same for each block.

        Returns
        -------
        iterable
            One result per block. A block's carry is replaced when its result is reached,
            so exhaust it.
        """


def merge(partials: Iterable[T], combine: Callable[[T, T], T] = add_fields) -> T:
    """Combine partial statistics from first to last.

    Parameters
    ----------
    partials : iterable
        One partial per block, in order.
    combine : callable
        Merges two partials; by default adds them field by field.

    Returns
    -------
    object
        The merged statistics.
    """
    return reduce(combine, partials)
