"""The source-aware pool: its members, offsets, and leave-source-out scores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    PROBABILITY_FLOOR,
    UNKNOWN_SOURCE,
    Fold,
    count,
    deal_folds,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    run_tasks,
    set_module,
)
from ensemblage.evaluation import source_thresholds, weighted_threshold
from ensemblage.fusion import Fusion, member_outputs
from ensemblage.pool._boosting import SETTINGS_GRID, Boosting, installed_library
from ensemblage.pool._compact_members import CompactForestClassifier
from ensemblage.pool._fit import (
    Correction,
    FittedPool,
    MemberFailure,
    TimeBudget,
    fit_pool,
    try_fold,
)
from ensemblage.pool._leaderboard import Leaderboard, OutOfFold
from ensemblage.pool._member_spec import (
    FoldPredictions,
    MemberSpec,
    OutOfBag,
    TrainingData,
    TunedMember,
    fit_clone,
)
from ensemblage.pool._row_explanation import RowExplanation, explain_classification
from ensemblage.sources import (
    PartialPoolingClassifier,
    add_intercepts,
    choose_intercept_penalty,
    class_source_pairs,
    fit_intercepts,
    source_folds,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]

GROUP = "sources"
"""Group of source-aware members."""
N_TREES = 200
N_FOLDS = 5
MAX_LEFT_OUT_FOLDS = 5
"""Leave-source-out folds at most; with more sources, each fold leaves out several."""


def class_scores(proba: NDArray[np.floating[Any]], y: NDArray[np.intp]) -> Doubles:
    """Nonconformity scores of rows: one minus the probability of the true class."""
    return np.asarray(1 - proba[np.arange(len(y)), y], dtype=float)


def new_source_threshold(
    scores: Doubles, sources: Integers, weights: Doubles, coverage: float
) -> float:
    """Threshold for new sources, of leave-source-out scores; sources have equal weight."""
    totals = np.bincount(sources, weights)
    return weighted_threshold(scores, weights / totals[sources], coverage, 0.0)


def unknown_source_threshold(record: OutOfFold, coverage: float) -> float:
    """Threshold for rows without a source."""
    weights = np.ones(len(record.y)) if record.weights is None else record.weights
    scores = class_scores(record.pool_outputs, record.y)
    return weighted_threshold(scores, weights / weights.mean(), coverage, 1.0)


def interval_factor(record: OutOfFold, coverage: float) -> float:
    """Half width of an interval in standard deviations; with few rows, the largest residual."""
    mean, variance = record.pool_outputs.T
    scores = np.abs(record.y - mean) / np.sqrt(variance)
    weights = np.ones(len(scores)) if record.weights is None else record.weights
    found = weighted_threshold(scores, weights / weights.mean(), coverage, 1.0)
    return found if np.isfinite(found) else float(scores.max())


def prediction_sets(proba: Doubles, thresholds: Doubles) -> NDArray[np.bool_]:
    """Mark the most probable class, and all classes with a score within the threshold."""
    inside = 1 - proba <= thresholds[:, None]
    inside[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return np.asarray(inside)


@set_module("ensemblage.pool")
class SourceAwareClassifier(ClassifierMixin, BaseEstimator):
    """Pass the last columns, one indicator per source, to a classifier as ``sources``."""

    def __init__(self, estimator: Any, n_sources: int) -> None:
        self.estimator = estimator
        self.n_sources = n_sources

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        columns, sources = self._split_sources(X)
        fresh = clone(self.estimator)
        self.estimator_ = fresh.fit(columns, y, sample_weight=sample_weight, sources=sources)
        self.classes_, self.n_features_in_ = self.estimator_.classes_, X.shape[1]
        return self

    def predict_proba(self, X: Any) -> Doubles:
        check_is_fitted(self)
        columns, sources = self._split_sources(X)
        return np.asarray(self.estimator_.predict_proba(columns, sources=sources))

    def _split_sources(self, X: Any) -> tuple[Any, Indices]:
        width = X.shape[1] - self.n_sources
        return X[:, :width], X[:, width:].argmax(axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_fitted(self) -> None:
        width = self.estimator_.n_features_in_ + self.n_sources
        expect(self.n_features_in_ == width and self.n_sources > 0, "its columns differ")
        same = np.array_equal(self.classes_, self.estimator_.classes_)
        expect(same, "its classes differ")


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
        settled = clone(regression).set_params(
            estimator__common_penalty=found.common_penalty_,
            estimator__deviation_penalty=found.deviation_penalty_,
        )
        outputs = np.empty((1, len(data.y), data.n_outputs))
        for each in data.folds:
            again = replace(self, candidates=(settled,))
            outputs[:, each.test] = again.predict_held_out(data, each, seed)
        for estimator in (model.estimator, found):
            estimator.set_params(cv=N_FOLDS)  # do not store the folds
        return FoldPredictions(outputs, time.perf_counter() - start, model)


def source_aware_members(n_sources: int) -> list[MemberSpec]:
    """Return the members of the source-aware pool."""
    regression = SourceAwareClassifier(PartialPoolingClassifier(), n_sources)
    forest = CompactForestClassifier(N_TREES, min_samples_leaf=2)
    return [
        PenaltiesBySharedFolds("partial-pooling", GROUP, (regression,)),
        Boosting("boosting-by-source", GROUP, SETTINGS_GRID, library=installed_library()),
        OutOfBag("forest-by-source", GROUP, (forest,)),
    ]


def score_unseen_sources(
    pool: FittedPool,
    members: Sequence[TunedMember],
    data: TrainingData,
    codes: Integers,
    n_jobs: int | None,
) -> dict[str, NDArray[Any]] | None:
    """Refit the members on leave-source-out folds; return scores of the rows left out.

    None where that is not possible. The fusion is not refitted: a fusion chosen by
    leave-source-out validation is no better than one chosen by cross-validation.
    """
    folds = source_folds(codes, MAX_LEFT_OUT_FOLDS)
    tasks = []
    for each in members:
        spec = MemberSpec(
            each.spec.name,
            each.spec.group,
            (each.spec.build(each.chosen),),
            max_rows=each.spec.max_rows,
        )
        tasks += [(spec, each.spec.input_data(data), fold, each.seed) for fold in folds]
    tried = run_tasks(try_fold, tasks, n_jobs)
    if not folds or any(isinstance(each, MemberFailure) for each in tried):
        return None
    outputs, results = np.empty((len(members), len(data.y), data.n_outputs)), iter(tried)
    for own in outputs:
        for fold in folds:
            own[fold.test] = next(results).outputs[0]
    known = np.flatnonzero(codes >= 0)
    proba = pool.fusion.combine(outputs[:, known])
    weights = np.ones(len(known)) if data.weights is None else data.weights[known]
    return {
        "scores": class_scores(proba, data.y[known]),
        "sources": codes[known],
        "weights": weights,
    }


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class SourcePool:
    r"""The source-aware pool, which predicts rows of known sources.

    ``names`` are the sources, sorted; ``pool`` has the source-aware members and their fusion;
    ``offsets``, (n_sources, n_classes), are added to its log probabilities. ``offset_penalty``
    shrinks them towards zero, None where they do not help: a source's offsets minimise its
    out-of-fold log loss plus :math:`\nu \|b_s\|^2`, with :math:`\nu` of 1, 4, 16 or infinity
    chosen by cross-validation. ``codes`` are the sources of the rows of ``pool.out_of_fold``.
    ``unseen_source_scores`` are the leave-source-out nonconformity scores of rows, their sources
    and weights, for prediction sets of new sources; None where there is one source only, or a
    ``time_budget``.
    """

    names: NDArray[Any]
    pool: FittedPool
    offsets: Doubles
    offset_penalty: float | None
    codes: Integers
    unseen_source_scores: dict[str, NDArray[Any]] | None = None

    @property
    def _columns_added(self) -> int:
        """Columns that indicate the source."""
        return len(self.names)

    @property
    def leaderboard(self) -> Leaderboard:
        """Out-of-fold performance of this pool and its members."""
        return self.pool.leaderboard

    @property
    def note(self) -> str:
        best = self.leaderboard[0]
        return (
            f"Rows of the {count(len(self.names), 'known source')} are predicted by a source-aware "
            f"pool: out-of-fold log loss {best.log_loss:.4f} ± {best.log_loss_se:.4f}, accuracy "
            f"{best.score:.3f} ± {best.score_se:.3f} "
            "(source_pool_.leaderboard)."
        )

    def member_outputs(self, X: Doubles, codes: Integers) -> Doubles:
        """Return the members' outputs, (n_members, n_samples, n_classes)."""
        X = append_source_indicators(X, codes, len(self.names))
        members = zip(self.pool.estimators, self.pool.response_methods, strict=True)
        n_classes = self.offsets.shape[1]
        return np.stack([member_outputs(each, X, n_classes, by) for each, by in members])

    def predict_proba(self, X: Doubles, codes: Integers) -> Doubles:
        proba = self.pool.fusion.combine(self.member_outputs(X, codes))
        log_proba = np.log(np.maximum(proba, PROBABILITY_FLOOR))
        return np.asarray(np.exp(add_intercepts(log_proba, codes, self.offsets)))

    def explain_row(self, row: Doubles, code: int, classes: Any) -> RowExplanation:
        outputs, pool = self.member_outputs(row, np.array([code])), self.pool
        explained = explain_classification(
            pool.names, outputs, pool.fusion, classes, self.offsets[code]
        )
        return replace(explained, source=self.names.tolist()[code])

    def thresholds(self, coverage: float) -> Doubles:
        """Threshold of each source's prediction sets, (n_sources,)."""
        record = self.pool.out_of_fold
        weights = np.ones(len(record.y)) if record.weights is None else record.weights
        scores = class_scores(record.pool_outputs, record.y)
        return source_thresholds(scores, self.codes, weights, len(self.names), coverage)

    def _check_fitted(self) -> None:
        expect_fitted(self, {"names": "labels (*)"})
        expect(isinstance(self.pool, FittedPool), "pool is not a FittedPool")
        n_classes = int(self.pool.out_of_fold.outputs.shape[2])
        expect_array(self, "offsets", (len(self.names), n_classes))
        expect(
            self.offset_penalty is None or self.offset_penalty > 0, "its penalty is not positive"
        )
        counts = {len(self.pool.names), len(self.pool.estimators), len(self.pool.response_methods)}
        expect(len(counts) == 1, "its members differ in number")
        high = len(self.names) - 1
        expect_array(self, "codes", (len(self.pool.out_of_fold.y),), "integer", low=0, high=high)
        if self.unseen_source_scores is not None:
            _check_scores(self.unseen_source_scores)


def _check_scores(scores: dict[str, NDArray[Any]]) -> None:
    expect(isinstance(scores, dict), "unseen_source_scores is not a dict")
    expect(set(scores) == {"scores", "sources", "weights"}, "unseen_source_scores lack an array")
    found = SimpleNamespace(**scores)
    expect_array(found, "scores", (None,), low=-1e-6, high=1 + 1e-6)
    expect_array(found, "sources", (len(found.scores),), "integer", low=0)
    expect_array(found, "weights", (len(found.scores),), low=0)


def append_source_indicators(X: Doubles, codes: Integers, n_sources: int) -> Doubles:
    """Append an indicator column per source."""
    return np.column_stack([X, np.eye(n_sources, dtype=X.dtype)[codes]])


def stratify_folds_by_source(
    data: TrainingData, codes: Integers, cv: Any, seed: int
) -> TrainingData:
    """Stratify folds by source and class, unless groups or a splitter define them."""
    if data.has_groups or len(data.folds) == 1 or not isinstance(cv, Integral):
        return data
    pairs = class_source_pairs(codes, data.y)
    folds = deal_folds(pairs, min(int(cv), len(pairs)), np.random.default_rng(seed))
    return data._replace(folds=folds)


def fit_source_pool(
    source_blind: FittedPool,
    members: Sequence[TunedMember],
    fusion: Fusion,
    data: TrainingData,
    names: NDArray[Any],
    all_codes: Integers,
    seed: int,
    *,
    budget: TimeBudget | None,
    n_jobs: int | None,
) -> SourcePool:
    """Fit a pool to the rows whose source is known, and the offsets of each source.

    ``source_blind`` is the other pool, and ``members`` its tuned members.
    """
    known = np.flatnonzero(all_codes != UNKNOWN_SOURCE)
    codes, n_sources = all_codes[known], len(names)
    aware = data.take(known)
    aware = aware._replace(X=append_source_indicators(aware.X, codes, n_sources))
    specs = source_aware_members(n_sources)
    tested = aware.tested

    def log_proba(fused: Doubles) -> Doubles:
        return np.asarray(np.log(np.maximum(fused, PROBABILITY_FLOOR)))

    def fit_offsets(fused: Doubles, rows: Indices, folds: list[Fold]) -> tuple[Doubles, float]:
        y, own, weights = aware.y[tested[rows]], codes[tested[rows]], aware.weights_at(tested[rows])
        known = log_proba(fused), y, own, np.ones(len(own)) if weights is None else weights
        penalty = choose_intercept_penalty(*known, n_sources, folds)
        return fit_intercepts(*known, n_sources, penalty), penalty

    def add_offsets(fitted: tuple[Doubles, float], fused: Doubles, rows: Indices) -> Doubles:
        return np.asarray(np.exp(add_intercepts(log_proba(fused), codes[tested[rows]], fitted[0])))

    pool, _, (offsets, penalty) = fit_pool(
        specs,
        draw_seeds(seed, len(specs)),
        fusion,
        aware,
        budget=budget,
        n_jobs=n_jobs,
        correction=Correction(fit_offsets, add_offsets),
    )
    given = np.arange(len(data.y)) if data.indices is None else data.indices
    row_codes = all_codes[np.searchsorted(given, pool.out_of_fold.indices)]
    scores = None
    if budget is None:
        scores = score_unseen_sources(source_blind, members, data, all_codes, n_jobs)
    penalty = penalty if np.isfinite(penalty) else None
    return SourcePool(names, pool, offsets, penalty, row_codes, scores)
