"""Folds for outputs on rows that a member has not seen."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv


def make_folds(cv, X, y, classes, seed: int, groups=None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split the rows.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        A number means shuffled, stratified folds, which keep groups together if there are any.
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Class numbers.
    classes : ndarray of shape (n_classes,)
        Their names, for messages.
    seed : int
        For the shuffle.
    groups : ndarray of shape (n_samples,), default=None
        Rows of one group are never on both sides, if the splitter minds groups.

    Returns
    -------
    list of (train, test)
        Row numbers; splitters that leave rows out of all test parts will do.
    """
    if not isinstance(cv, Integral):
        return list(check_cv(cv, y, classifier=True).split(X, y, groups))
    rows = np.zeros(len(y))
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ValueError(
                f"groups holds {n_groups} group; folds that keep groups together need two or more."
            )
        splitter = StratifiedGroupKFold(min(int(cv), n_groups), shuffle=True, random_state=seed)
    else:
        splitter = StratifiedKFold(_n_splits(cv, y, classes), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # a class with a single row is in no training fold once, which members can bear
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(rows, y, groups))


def _n_splits(cv, y, classes) -> int:
    counts = np.bincount(y)
    n_splits = max(2, min(int(cv), int(counts.min())))
    if n_splits < cv:
        warnings.warn(
            f"Class {classes[counts.argmin()]!r} has {counts.min()} rows, fewer than cv={cv} "
            f"folds: using {n_splits} folds.",
            UserWarning,
            stacklevel=5,
        )
    return n_splits
