"""Folds for outputs on rows that a member has not seen."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv


def make_folds(cv, X, y, classes, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split the rows.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        A number means shuffled, stratified folds.
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Class numbers.
    classes : ndarray of shape (n_classes,)
        Their names, for messages.
    seed : int
        For the shuffle.

    Returns
    -------
    list of (train, test)
        Row numbers.
    """
    if not isinstance(cv, Integral):
        return list(check_cv(cv, y, classifier=True).split(X, y))
    counts = np.bincount(y)
    n_splits = max(2, min(int(cv), int(counts.min())))
    if n_splits < cv:
        warnings.warn(
            f"Class {classes[counts.argmin()]!r} has {counts.min()} rows, fewer than cv={cv} "
            f"folds: using {n_splits} folds.",
            UserWarning,
            stacklevel=4,
        )
    splitter = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # a class with a single row is in no training fold once, which members can bear
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(np.zeros(len(y)), y))
