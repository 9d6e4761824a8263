"""The rows that a pool learns from, and the folds that all of its members share."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from ensemblage.parallel import Fold, make_folds
from ensemblage.pool._pool_targets import PoolTarget

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MOST_HELD_OUT = 10_000


class PoolRows(NamedTuple):
    """Validated rows; ``y`` are class numbers, or numbers as the ``target`` is.

    ``weights`` are None where none were given.

    ``grouped`` tells that rows belong together, so that no copy of a group may be on both sides of
    a fold, and none of a row's kin may have been seen by what speaks of it. ``numbers`` are the
    rows' positions in what the user gave. ``table`` are the same rows with words as words; None
    where ``X`` is all that there is.
    """

    X: Any
    y: NDArray[Any]
    target: PoolTarget
    weights: Array | None
    folds: list[Fold]
    grouped: bool = False
    numbers: Indices | None = None
    table: Any = None

    def weights_at(self, rows: Indices) -> Array | None:
        """Give the weights of some rows; None where none were given."""
        return None if self.weights is None else self.weights[rows]

    @property
    def n_outputs(self) -> int:
        """Numbers that a member says of a row: one per class, or mean and variance."""
        return self.target.n_outputs

    @property
    def labels(self) -> Indices:
        """What folds and draws keep the shares of: classes, or tenths of numbers."""
        return self.target.labels(self.y)

    @property
    def prior(self) -> Array:
        """What is said of a row of which nothing is known, (n_outputs,)."""
        return self.target.prior(self.y, self.weights)

    @property
    def held_out(self) -> Indices:
        """Rows that are in the test part of a fold, sorted."""
        return np.unique(np.concatenate([fold.test for fold in self.folds]))

    @property
    def all_held_out(self) -> bool:
        """Whether several folds test every row once, as an ensemble's own outputs need it."""
        tested = np.concatenate([fold.test for fold in self.folds])
        return len(self.folds) > 1 and np.array_equal(np.sort(tested), np.arange(len(self.y)))


def shared_folds(y: Indices, cv: Any, seed: int, groups: Any = None) -> list[Fold]:
    """Make the folds that a user's ``cv`` asks for.

    A class may have fewer rows than there are folds: it is missing from some of them then.
    """
    if not isinstance(cv, Integral):
        splits = check_cv(cv, y, classifier=True).split(np.zeros(len(y)), y, groups)
        return [Fold(np.asarray(train), np.asarray(test)) for train, test in splits]
    n_folds = int(min(int(cv), max(2, np.bincount(y).max())))
    return make_folds(y, n_folds, seed, groups)


def one_hold_out(y: Indices, seed: int, groups: Any = None) -> list[Fold]:
    """Hold a tenth of the rows out once, or as many as will do to learn a fusion from."""
    tenth = make_folds(y, 10, seed, groups)[0].test
    test = thin(tenth, y, MOST_HELD_OUT, seed)
    return [Fold(np.setdiff1d(np.arange(len(y)), tenth if groups is not None else test), test)]


def thin(rows: Indices, y: Indices, limit: int | None, seed: int) -> Indices:
    """Draw so many of some rows, sorted, with the classes' shares; two or more of each class."""
    if limit is None or len(rows) <= limit:
        return rows
    order = np.random.default_rng(seed).permutation(len(rows))
    labels = y[rows[order]]
    # a row's rank among those of its class, as a share of that class
    ranks = np.empty(len(rows))
    counts = np.bincount(labels)
    for label in np.flatnonzero(counts):
        own = np.flatnonzero(labels == label)
        ranks[own] = np.where(np.arange(len(own)) < 2, -1.0, np.arange(len(own)) / len(own))
    kept = np.argsort(ranks, kind="stable")[:limit]
    return np.sort(rows[order[kept]])
