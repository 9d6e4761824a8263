"""Members that use a known source, and the forms of the rows that they take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import Fold, expect, set_module
from ensemblage.pool._boosting import (
    SETTINGS_GRID,
    Boosting,
    installed_library,
)
from ensemblage.pool._compact_members import CompactForestClassifier, CompactForestRegressor
from ensemblage.pool._member_spec import (
    BLIND,
    BY_SOURCE,
    CODED,
    COLUMN,
    FoldPredictions,
    MemberSpec,
    OutOfBag,
    TrainingData,
    fit_clone,
)
from ensemblage.sources import (
    PartialPoolingClassifier,
    PartialPoolingRegressor,
)

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

GROUP = "sources"
"""Group of source-aware members."""
BLIND_POOL = "source-blind"
"""Name of the member that passes on the source-blind pool's outputs."""
COLUMN_POOL = "source-as-column"
"""Name of the member that passes on the outputs of the pool with the source as a column."""
MAX_COLUMN_SOURCES = 100
"""Sources, with the outer ones, that are indicator columns at most."""
N_TREES = 100
N_FOLDS = 5
MEAN_PRIOR_ROWS = 5.0
"""Rows for which the overall mean counts in a column's mean at a source."""


class SourceIndex(NamedTuple):
    """Sources by code: of one level, or pairs of an outer source and an inner one.

    Codes from ``n_sources`` on are of outer sources: of rows whose inner source is unknown.
    ``outer`` is the outer source of each pair, empty for one level.
    """

    n_sources: int
    outer: Integers

    @classmethod
    def of(cls, names: NDArray[Any]) -> SourceIndex:
        if names.ndim == 1:
            return cls(len(names), np.zeros(0, dtype=np.int64))
        return cls(len(names), np.unique(names[:, 0], return_inverse=True)[1])

    @property
    def n_codes(self) -> int:
        return self.n_sources + (int(self.outer.max()) + 1 if len(self.outer) else 0)

    @property
    def n_levels(self) -> int:
        return 2 if len(self.outer) else 1

    def outer_codes(self, codes: Integers) -> Integers:
        """Return the codes of the outer sources of some codes."""
        own = np.concatenate([self.outer, np.arange(self.n_codes - self.n_sources)])
        return np.asarray(self.n_sources + own[codes])

    def columns(self, codes: Integers) -> Doubles:
        """Return a column of codes for each level; NaN for an inner source that is unknown."""
        pairs = np.where(codes < self.n_sources, codes, np.nan)
        if self.n_levels == 1:
            return pairs[:, None]
        return np.column_stack([self.outer_codes(codes) - self.n_sources, pairs])

    def indicators(self, codes: Integers) -> Doubles:
        """Return an indicator column for each code, of outer sources too."""
        columns = np.eye(self.n_codes)[codes]
        if self.n_levels == 2:
            columns += np.eye(self.n_codes)[self.outer_codes(codes)]
        return np.minimum(columns, 1.0)

    def column_means(self, X: Any, codes: Integers, weights: Doubles | None) -> Doubles:
        """Return the columns' means at each code, shrunk towards those of the level above."""
        weights = np.ones(len(codes)) if weights is None else weights
        weighted = np.asarray(X, dtype=float) * weights[:, None]
        overall = weighted.sum(axis=0) / weights.sum()
        means = np.empty((self.n_codes, weighted.shape[1]))

        def shrunk(at: Integers, first: int, last: int, prior: Doubles) -> None:
            sums = np.stack([np.bincount(at, each, last) for each in weighted.T], axis=1)
            counts = np.bincount(at, weights, last)[first:, None]
            means[first:last] = (sums[first:] + MEAN_PRIOR_ROWS * prior) / (
                counts + MEAN_PRIOR_ROWS
            )

        if self.n_levels == 1:
            shrunk(codes, 0, self.n_sources, overall)
        else:
            shrunk(self.outer_codes(codes), self.n_sources, self.n_codes, overall)
            shrunk(codes, 0, self.n_sources, means[self.n_sources + self.outer])
        return means


def source_forms(
    X: Any,
    codes: Integers,
    index: SourceIndex,
    means: Doubles,
    blind: Doubles,
    column: Doubles | None = None,
) -> dict[str, Any]:
    """Return the forms of rows that members read.

    ``blind`` are the source-blind pool's outputs, ``column`` those of the pool with the source as a
    column, if there is one.
    """
    levels = index.columns(codes)
    forms = {
        CODED: np.column_stack([X, levels]),
        BY_SOURCE: np.column_stack([X, means[codes], levels]),
        BLIND: blind,
    }
    return forms if column is None else forms | {COLUMN: column}


class BaseSourceAware(BaseEstimator):
    """Passes the last columns, the codes of each level, to an estimator as ``sources``."""

    def __init__(self, estimator: Any, n_levels: int = 1) -> None:
        self.estimator = estimator
        self.n_levels = n_levels

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        columns, sources = self._split_sources(X)
        fresh = clone(self.estimator)
        self.estimator_ = fresh.fit(columns, y, sample_weight=sample_weight, sources=sources)
        self.n_features_in_ = X.shape[1]
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    def _split_sources(self, X: Any) -> tuple[Any, Any]:
        width = X.shape[1] - self.n_levels
        levels = np.asarray(X[:, width:], dtype=float)
        return X[:, :width], levels[:, 0] if self.n_levels == 1 else levels

    def predict(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        columns, sources = self._split_sources(X)
        return np.asarray(self.estimator_.predict(columns, sources=sources))

    def _check_fitted(self) -> None:
        width = self.estimator_.n_features_in_ + self.n_levels
        expect(self.n_features_in_ == width and self.n_levels in {1, 2}, "its columns differ")


@set_module("ensemblage.pool")
class SourceAwareClassifier(ClassifierMixin, BaseSourceAware):
    """Pass the last columns, the codes of each level, to a classifier as ``sources``."""

    def predict_proba(self, X: Any) -> Doubles:
        check_is_fitted(self)
        columns, sources = self._split_sources(X)
        return np.asarray(self.estimator_.predict_proba(columns, sources=sources))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        same = np.array_equal(self.classes_, self.estimator_.classes_)
        expect(same, "its classes differ")


@set_module("ensemblage.pool")
class SourceAwareRegressor(RegressorMixin, BaseSourceAware):
    """Pass the last columns, the codes of each level, to a regressor as ``sources``."""


@set_module("ensemblage.pool")
class GivenProbabilities(ClassifierMixin, BaseEstimator):
    """Classifier whose columns are the probabilities of all classes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.n_features_in_ = X.shape[1]
        self.classes_ = np.arange(X.shape[1])
        return self

    def predict_proba(self, X: Any) -> Doubles:
        check_is_fitted(self)
        return np.asarray(X, dtype=float)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def _check_fitted(self) -> None:
        same = np.array_equal(self.classes_, np.arange(self.n_features_in_))
        expect(same, "its classes are not its columns")


@set_module("ensemblage.pool")
class GivenNormals(RegressorMixin, BaseEstimator):
    """Regressor whose columns are the mean and the variance of its prediction."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        check_is_fitted(self)
        mean, variance = np.asarray(X, dtype=float).T
        return (mean, np.sqrt(variance)) if return_std else mean

    def _check_fitted(self) -> None:
        expect(self.n_features_in_ == 2, "it has other columns than mean and variance")


class PenaltiesBySharedFolds(MemberSpec):
    """Partial pooling: penalties are chosen, and outputs predicted, on the shared folds."""

    def parts(self, data: TrainingData) -> Sequence[Fold | None]:
        return [None] if data.every_row_tested_once and self.uses_all_rows(data) else data.folds

    def fit_predict_fold(self, data: TrainingData, fold: Fold | None, seed: int) -> FoldPredictions:
        if fold is not None:
            return super().fit_predict_fold(data, fold, seed)
        start = time.perf_counter()
        (regression,) = self.candidates
        searching = clone(regression).set_params(estimator__cv=data.folds)
        model = fit_clone(searching, data, np.arange(len(data.y)), seed)
        found = model.estimator_
        penalties = [name for name in found.get_params() if name.endswith("_penalty")]
        settled = clone(regression).set_params(
            **{f"estimator__{name}": getattr(found, f"{name}_") for name in penalties}
        )
        outputs = np.empty((1, len(data.y), data.n_outputs))
        for each in data.folds:
            again = replace(self, candidates=(settled,))
            outputs[:, each.test] = again.predict_held_out(data, each, seed)
        for estimator in (model.estimator, found):
            estimator.set_params(cv=N_FOLDS)  # do not store the folds
        return FoldPredictions(outputs, time.perf_counter() - start, model)


def source_aware_members(
    index: SourceIndex, n_columns: int, *, numeric: bool, with_column: bool
) -> list[MemberSpec]:
    """Return the members of the source-aware pool, for rows of ``n_columns`` encoded columns.

    ``with_column`` tells whether there is a pool with the source as a column.
    """
    if numeric:
        pooled: Any = SourceAwareRegressor(PartialPoolingRegressor(), index.n_levels)
        forest: Any = CompactForestRegressor(N_TREES, min_samples_leaf=2)
        given: Any = GivenNormals()
    else:
        pooled = SourceAwareClassifier(PartialPoolingClassifier(), index.n_levels)
        forest = CompactForestClassifier(N_TREES, min_samples_leaf=2)
        given = GivenProbabilities()
    library = installed_library()
    codes = range(2 * n_columns, 2 * n_columns + index.n_levels)
    passed_on = [(BLIND_POOL, BLIND), (COLUMN_POOL, COLUMN)][: 1 + with_column]
    return [
        PenaltiesBySharedFolds("partial-pooling", GROUP, (pooled,), reads=CODED, numeric=numeric),
        Boosting(
            "boosting-by-source", GROUP, SETTINGS_GRID,
            reads=BY_SOURCE, numeric=numeric, library=library, categorical=tuple(codes),
        ),
        OutOfBag(
            "forest-by-source", GROUP, (forest,), reads=BY_SOURCE, numeric=numeric, optional=True
        ),
        *(MemberSpec(name, "all", (given,), reads=form, numeric=numeric)
          for name, form in passed_on),
    ]  # fmt: skip
