"""Exact distribution of rank sums over few datasets."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

SUMS_AT_ONCE = 1_000_000


def exact_rank_pvalue(ranks: Array) -> float:
    """Chance that rank sums spread at least as much, all orders of each row being as likely.

    Ranks are (n_datasets, n_methods); equal scores share their mean rank, and their orders count
    once. Rank sums count but for their order, so that one order of the first dataset stands for
    all, and sums that are reached in several ways are kept once, with their chance.
    """
    # mean ranks of ties are halves: doubled, they are whole
    doubled = np.rint(2 * ranks).astype(np.int64)
    observed = int((doubled.sum(axis=0) ** 2).sum())
    sums, chances = np.sort(doubled[:1], axis=1), np.ones(1)
    for row in doubled[1:-1]:
        sums, chances = _added(sums, chances, _orders(row))
    last, beyond = _orders(doubled[-1]), 0.0
    for part in np.array_split(np.arange(len(sums)), 1 + len(sums) * len(last) // SUMS_AT_ONCE):
        spread = ((sums[part, None] + last) ** 2).sum(axis=2)
        beyond += float((spread >= observed).mean(axis=1) @ chances[part])
    return min(1.0, beyond)


def _orders(row: Whole) -> Whole:
    """Give all different orders of a row, (n_orders, n_methods)."""
    return np.array(sorted(set(permutations(row.tolist()))), dtype=np.int64)


def _added(sums: Whole, chances: Array, orders: Whole) -> tuple[Whole, Array]:
    """Give sums and chances after one more dataset, sums sorted within."""
    every = np.sort((sums[:, None] + orders).reshape(-1, sums.shape[1]), axis=1)
    # the sums as digits of one number, which is quicker to sort than rows are
    keys = every @ (every.max() + 1) ** np.arange(sums.shape[1])
    _, where, numbers = np.unique(keys, return_index=True, return_inverse=True)
    weights = np.repeat(chances / len(orders), len(orders))
    return every[where], np.bincount(numbers.ravel(), weights).astype(np.float64)
