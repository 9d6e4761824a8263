"""Cross-validation folds with classes, groups or target values dealt evenly."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

Indices = NDArray[np.intp]


class Fold(NamedTuple):
    """Indices of the rows on either side."""

    train: Indices
    test: Indices


def make_folds(
    y: Any, n_folds: int, seed: int | np.random.RandomState, groups: Any = None
) -> list[Fold]:
    """Shuffled folds with the classes' shares; rows of one group are on one side.

    There are as many folds as groups if that is less. A class with fewer rows than folds is
    missing from some test parts; callers to whom that matters say so themselves.
    """
    splitter: Any = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ValueError(
                f"groups holds {n_groups} group; folds that keep groups together need two or more."
            )
        splitter = StratifiedGroupKFold(min(n_folds, n_groups), shuffle=True, random_state=seed)
    elif np.unique(y, return_counts=True)[1].max() < n_folds:
        raise ValueError(
            f"No class has {n_folds} rows, as {n_folds} folds need. Give more rows of each class, "
            "or ask for fewer folds."
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return [Fold(*parts) for parts in splitter.split(np.zeros(len(y)), y, groups)]


def deal_folds(labels: Indices, n_folds: int, rng: np.random.Generator) -> list[Fold]:
    """Deal the shuffled rows of each class to folds in turn: sizes differ by one at most.

    Unlike :func:`make_folds` this takes classes of any size.
    """
    order = rng.permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]
    fold_of_row = np.empty(labels.size, dtype=int)
    fold_of_row[order] = np.arange(labels.size) % n_folds
    folds = range(min(n_folds, labels.size))
    return [Fold(np.flatnonzero(fold_of_row != k), np.flatnonzero(fold_of_row == k)) for k in folds]
