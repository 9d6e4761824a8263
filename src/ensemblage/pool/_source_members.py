"""Members that are told where a row comes from, by a column per source behind the others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from ensemblage.messages import expect
from ensemblage.parallel import Fold
from ensemblage.pool._boosting import FIVE, Boosting, has_lightgbm
from ensemblage.pool._forest import Forest
from ensemblage.pool._out_of_bag import OutOfBag
from ensemblage.pool._pool_rows import Array, PoolRows
from ensemblage.pool._recipe import Attempt, Recipe, fit_fresh
from ensemblage.strata import PartialPoolingClassifier

PLACE = "sources"
N_TREES = 200
N_FOLDS = 5


class BySource(ClassifierMixin, BaseEstimator):
    """A classifier that takes ``sources``, for rows whose last columns stand for one each."""

    def __init__(self, estimator: Any, n_sources: int) -> None:
        self.estimator = estimator
        self.n_sources = n_sources

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier to the other columns and the sources."""
        columns, sources = self._parted(X)
        fresh = clone(self.estimator)
        self.estimator_ = fresh.fit(columns, y, sample_weight=sample_weight, sources=sources)
        self.classes_, self.n_features_in_ = self.estimator_.classes_, X.shape[1]
        return self

    def predict_proba(self, X: Any) -> Array:
        """Give probabilities, (n_samples, n_classes)."""
        check_is_fitted(self)
        columns, sources = self._parted(X)
        return np.asarray(self.estimator_.predict_proba(columns, sources=sources))

    def _parted(self, X: Any) -> tuple[Any, NDArray[np.intp]]:
        """Give the other columns, and numbers of sources."""
        width = X.shape[1] - self.n_sources
        return X[:, :width], X[:, width:].argmax(axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give classes."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def __check_state__(self) -> None:
        """Refuse a classifier of other columns or classes."""
        width = self.estimator_.n_features_in_ + self.n_sources
        expect(self.n_features_in_ == width and self.n_sources > 0, "its columns differ")
        same = np.array_equal(self.classes_, self.estimator_.classes_)
        expect(same, "its classes differ")


@dataclass(frozen=True)
class SharedPenalties(Recipe):
    """Partial pooling: penalties are chosen on the shared folds, which then hold rows out."""

    def parts(self, rows: PoolRows) -> Sequence[Fold | None]:
        """List all rows at once, or the folds."""
        return [None] if rows.all_held_out and self.sees_all(rows) else rows.folds

    def attempt(self, rows: PoolRows, part: Fold | None, seed: int) -> Attempt:
        """Fit to all rows with the shared folds, and again to each with the penalties found."""
        if part is not None:
            return super().attempt(rows, part, seed)
        start = time.perf_counter()
        (regression,) = self.candidates
        searching = clone(regression).set_params(estimator__cv=rows.folds)
        model = fit_fresh(searching, rows, np.arange(len(rows.y)), seed)
        found = model.estimator_
        settled = clone(regression).set_params(
            estimator__shared_penalty=found.shared_penalty_,
            estimator__own_penalty=found.own_penalty_,
        )
        outputs = np.empty((1, len(rows.y), rows.n_outputs))
        for fold in rows.folds:
            again = replace(self, candidates=(settled,))
            outputs[:, fold.test] = again.speak_elsewhere(rows, fold, seed)
        for each in (model.estimator, found):
            each.set_params(cv=N_FOLDS)  # folds need not be kept
        return Attempt(outputs, time.perf_counter() - start, model)


def source_recipes(n_sources: int) -> list[Recipe]:
    """Give the members of the pool of known sources."""
    regression = BySource(PartialPoolingClassifier(), n_sources)
    engine = "lightgbm" if has_lightgbm() else "sklearn"
    return [
        SharedPenalties("partial-pooling", PLACE, (regression,)),
        Boosting("boosting-by-source", PLACE, FIVE, engine=engine),
        OutOfBag("forest-by-source", PLACE, (Forest(N_TREES, min_leaf=2),)),
    ]
