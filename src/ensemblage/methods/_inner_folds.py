"""Folds by which a method tunes its parameters, also where a class has hardly any rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold

from ensemblage.datasets import fold_labels
from ensemblage.parallel import Fold, deal_folds


class InnerFolds(BaseEstimator):
    """Stratified folds; classes of fewer rows than folds are dealt as far as they go.

    Numbers are stratified by the part of them that each is in.

    Where no fold would leave two classes to learn from, all rows are on both sides: tuning then
    decides nothing worth telling, but there is a model.
    """

    def __init__(self, n_splits: int, random_state: int) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Fold]:
        """Give the folds, as scikit-learn's splitters do."""
        labels = np.unique(fold_labels(np.asarray(y)), return_inverse=True)[1]
        if np.bincount(labels).min() >= self.n_splits:
            usual = StratifiedKFold(self.n_splits, shuffle=True, random_state=self.random_state)
            yield from (Fold(*parts) for parts in usual.split(np.zeros(len(labels)), labels))
            return
        rng = np.random.default_rng(self.random_state)
        folds = deal_folds(labels, self.n_splits, rng)
        useful = [fold for fold in folds if len(np.unique(labels[fold.train])) > 1]
        everything = np.arange(len(labels))
        yield from useful or [Fold(everything, everything)]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Count the folds."""
        return self.n_splits if y is None else len(list(self.split(X, y, groups)))
