"""The source-aware pool: its fit, its offsets, prediction sets and intervals by source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import (
    UNKNOWN_SOURCE,
    Fold,
    count,
    deal_folds,
    draw_seeds,
    expect,
    expect_array,
    run_tasks,
    set_module,
    write_number,
)
from ensemblage.evaluation import PROBABILITY_FLOOR, source_thresholds, weighted_threshold
from ensemblage.fusion import Fusion
from ensemblage.pool._fit import (
    Correction,
    FittedPool,
    MemberFailure,
    PoolFit,
    TimeBudget,
    fit_pool,
    try_fold,
)
from ensemblage.pool._leaderboard import ACCURACY, Leaderboard, OutOfFold
from ensemblage.pool._member_spec import (
    MemberSpec,
    PoolClassTarget,
    PoolTarget,
    TrainingData,
    correct_variance,
    fit_growing_correction,
    is_valid_correction,
    mean_and_error,
    mean_loss,
)
from ensemblage.pool._row_explanation import (
    RowExplanation,
    explain_classification,
    explain_regression,
)
from ensemblage.pool._source_members import (
    BLIND_POOL,
    COLUMN_POOL,
    MAX_COLUMN_SOURCES,
    SourceIndex,
    source_aware_members,
    source_forms,
)
from ensemblage.sources import (
    add_intercepts,
    choose_intercept_penalty,
    expect_source_names,
    fit_intercepts,
    source_folds,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]

MAX_LEFT_OUT_FOLDS = 5
"""Leave-source-out folds at most; with more sources, each fold leaves out several."""
OFFSET_PENALTIES = (1.0, 4.0, 16.0, 64.0, float("inf"))
"""Penalties on a source's offset of a numeric target, in rows that count for no offset."""


def class_scores(proba: NDArray[np.floating[Any]], y: NDArray[np.intp]) -> Doubles:
    """Nonconformity scores of rows: one minus the probability of the true class."""
    return np.asarray(1 - proba[np.arange(len(y)), y], dtype=float)


def value_scores(outputs: Doubles, y: Doubles) -> Doubles:
    """Nonconformity scores of rows: absolute residuals in standard deviations."""
    return np.asarray(np.abs(y - outputs[:, 0]) / np.sqrt(outputs[:, 1]))


def new_source_threshold(
    scores: Doubles, sources: Integers, weights: Doubles, coverage: float
) -> float:
    """Threshold for new sources, of leave-source-out scores; sources have equal weight."""
    totals = np.bincount(sources, weights)
    return weighted_threshold(scores, weights / totals[sources], coverage, 0.0)


def unknown_source_threshold(record: OutOfFold, coverage: float) -> float:
    """Threshold for rows without a source; infinite if there are too few rows."""
    weights = np.ones(len(record.y)) if record.weights is None else record.weights
    scores = value_scores if record.numeric else class_scores
    found = scores(record.pool_outputs, record.y)
    return weighted_threshold(found, weights / weights.mean(), coverage, 1.0)


def interval_factor(record: OutOfFold, coverage: float) -> float:
    """Half width of an interval in standard deviations; with few rows, the largest residual."""
    found = unknown_source_threshold(record, coverage)
    if np.isfinite(found):
        return found
    return float(value_scores(record.pool_outputs, record.y).max())


def prediction_sets(proba: Doubles, thresholds: Doubles) -> NDArray[np.bool_]:
    """Mark the most probable class, and all classes with a score within the threshold."""
    inside = 1 - proba <= thresholds[:, None]
    inside[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return np.asarray(inside)


def score_unseen_sources(
    blind: PoolFit, data: TrainingData, codes: Integers, n_jobs: int | None
) -> dict[str, NDArray[Any]] | None:
    """Refit the members on leave-source-out folds; return scores of the rows left out.

    None where that is not possible. The fusion is not refitted: a fusion chosen by
    leave-source-out validation is no better than one chosen by cross-validation.
    """
    folds = source_folds(codes, MAX_LEFT_OUT_FOLDS)
    tasks = []
    for each in blind.members:
        spec = MemberSpec(
            each.spec.name,
            each.spec.group,
            (each.spec.build(each.chosen),),
            max_rows=each.spec.max_rows,
            numeric=each.spec.numeric,
        )
        tasks += [(spec, each.spec.input_data(data), fold, each.seed) for fold in folds]
    tried = run_tasks(try_fold, tasks, n_jobs)
    if not folds or any(isinstance(each, MemberFailure) for each in tried):
        return None
    outputs, results = np.empty((len(blind.members), len(data.y), data.n_outputs)), iter(tried)
    for own in outputs:
        for fold in folds:
            own[fold.test] = next(results).outputs[0]
    known = np.flatnonzero(codes >= 0)
    fused = blind.pool.fusion.combine(outputs[:, known])
    if data.target.is_classification:
        scores = class_scores(fused, data.y[known])
    else:
        scores = value_scores(correct_variance(fused, blind.correction), data.y[known])
    weights = np.ones(len(known)) if data.weights is None else data.weights[known]
    return {"scores": scores, "sources": codes[known], "weights": weights}


class Offsets(NamedTuple):
    """What is added to the log probabilities, or to the mean, at each code of a source.

    ``values`` are (n_codes, n_classes) or (n_codes, 1), shrunk towards zero, or towards the outer
    source's. ``variance`` is the correction of the variance after them, None for classes.
    """

    values: Doubles
    penalty: float
    variance: dict[str, float] | None = None

    def add(self, outputs: Doubles, codes: Integers) -> Doubles:
        """Add the offsets to fused outputs of rows."""
        if self.variance is None:
            return np.asarray(np.exp(add_intercepts(_log(outputs), codes, self.values)))
        moved = np.column_stack([outputs[:, 0] + self.values[codes, 0], outputs[:, 1]])
        return correct_variance(moved, self.variance)


def _log(proba: Doubles) -> Doubles:
    return np.asarray(np.log(np.maximum(proba, PROBABILITY_FLOOR)))


def fit_value_offsets(
    residuals: Doubles, codes: Integers, weights: Doubles, index: SourceIndex, penalty: float
) -> Doubles:
    r"""Fit the offset of each code to residuals by ridge regression, (n_codes, 1).

    It minimises :math:`\sum_m w_m (r_m - o_{g(m)} - i_{s(m)})^2 + \nu (\sum_g o_g^2 + \sum_s
    i_s^2)`, with outer offsets o only where sources are nested.
    """
    offsets = np.zeros((index.n_codes, 1))
    if not np.isfinite(penalty):
        return offsets
    n_sources, inner = index.n_sources, codes < index.n_sources
    sums = np.bincount(codes[inner], (weights * residuals)[inner], n_sources)
    totals = np.bincount(codes[inner], weights[inner], n_sources)
    if index.n_levels == 1:
        offsets[:, 0] = sums / (totals + penalty)
        return offsets
    # the share of a pair's rows that is left to its outer source, once its own offset is solved for
    left = penalty / (totals + penalty)
    outer = np.bincount(index.outer, left * sums) / (
        np.bincount(index.outer, left * totals) + penalty
    )
    own = (sums - totals * outer[index.outer]) / (totals + penalty)
    offsets[:, 0] = np.concatenate([outer[index.outer] + own, outer])
    return offsets


def class_correction(
    y: Indices, codes: Integers, weights: Doubles, index: SourceIndex
) -> Correction:
    """Offsets of the log probabilities, of the tested rows of known source."""
    levels = codes
    if index.n_levels == 2:
        levels = np.column_stack([codes, index.outer_codes(codes)])

    def fit(fused: Doubles, rows: Indices, folds: list[Fold]) -> Offsets:
        known = _log(fused), y[rows], levels[rows], weights[rows]
        penalty = choose_intercept_penalty(*known, index.n_codes, folds)
        values = fit_intercepts(*known, index.n_codes, penalty)
        if index.n_levels == 2:
            outer = values[index.n_sources :]
            values = np.concatenate([values[: index.n_sources] + outer[index.outer], outer])
        return Offsets(values, penalty)

    return Correction(fit, lambda fitted, fused, rows: fitted.add(fused, codes[rows]))


def value_correction(
    y: Doubles, codes: Integers, weights: Doubles, index: SourceIndex
) -> Correction:
    """Offsets of the mean, and the variance after them, of the tested rows of known source."""

    def cross_fitted(fused: Doubles, rows: Indices, folds: list[Fold], penalty: float) -> Doubles:
        residuals, added = y[rows] - fused[:, 0], np.zeros(len(rows))
        for train, test in folds:
            own = residuals[train], codes[rows[train]], weights[rows[train]]
            added[test] = fit_value_offsets(*own, index, penalty)[codes[rows[test]], 0]
        return np.column_stack([fused[:, 0] + added, fused[:, 1]])

    def fit(fused: Doubles, rows: Indices, folds: list[Fold]) -> Offsets:
        tried = {
            penalty: cross_fitted(fused, rows, folds, penalty)
            for penalty in reversed(OFFSET_PENALTIES)
        }
        losses = {
            penalty: mean_loss((y[rows] - moved[:, 0]) ** 2, weights[rows])
            for penalty, moved in tried.items()
        }
        penalty = min(losses, key=losses.__getitem__)  # of ties the largest
        own = y[rows] - fused[:, 0], codes[rows], weights[rows]
        values = fit_value_offsets(*own, index, penalty)
        variance = fit_growing_correction(tried[penalty], y[rows], weights[rows])
        return Offsets(values, penalty, variance)

    return Correction(fit, lambda fitted, fused, rows: fitted.add(fused, codes[rows]))


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class ColumnPool:
    """A pool with the source-blind one's members, and indicator columns of the sources.

    ``correction`` is that of a regressor's variance.
    """

    pool: FittedPool
    correction: dict[str, float] | None = None

    @classmethod
    def of(cls, fit: PoolFit) -> ColumnPool:
        return cls(fit.pool, fit.correction)

    def predict(self, X: Any, codes: Integers, index: SourceIndex, target: PoolTarget) -> Doubles:
        """Return the pool's outputs, (n_samples, n_outputs)."""
        rows, pool = np.column_stack([X, index.indicators(codes)]), self.pool
        members = zip(pool.estimators, pool.response_methods, strict=True)
        outputs = [target.outputs(each, rows, response) for each, response in members]
        fused = np.asarray(pool.fusion.combine(np.stack(outputs)))
        return fused if self.correction is None else correct_variance(fused, self.correction)

    def _check_fitted(self) -> None:
        expect(isinstance(self.pool, FittedPool), "pool is not a FittedPool")
        correction = self.correction
        expect(correction is None or is_valid_correction(correction), "correction is not valid")


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class SourcePool:
    r"""The source-aware pool, which predicts rows of known sources.

    ``names`` are the sources, sorted: labels, or of nested sources pairs of labels. ``pool`` has
    the source-aware members and their fusion; one of them is the source-blind pool. ``offsets``,
    (n_codes, n_classes) or (n_codes, 1), are added to its log probabilities or its mean, for each
    source, and behind them for each outer source of nested ones. ``offset_penalty`` shrinks them
    towards zero, None where they do not help: a source's offsets minimise its out-of-fold loss
    plus :math:`\nu \|b_s\|^2`, with :math:`\nu` chosen by cross-validation. ``variance_correction``
    is that of a regressor, after the offsets. ``means`` are the columns' means at each source,
    which members take. ``gain`` is the out-of-fold log loss, or mean squared error, of the
    source-blind pool, minus that of this one. Where it is below zero by more than its standard
    error, ``helps`` is False, and rows of known source are predicted by the source-blind pool too.

    ``codes`` are the sources of the scored rows, ``scores`` their out-of-fold nonconformity scores
    for prediction sets and intervals, and ``weights`` their weights. ``unseen_source_scores`` are
    the leave-source-out scores of rows, their sources and weights, for new sources; None where
    there is one source only, or a ``time_budget``. ``column_pool`` has the source as a column, if
    that is a member with a weight; with more than 100 sources, or a ``time_budget``, it is not.
    """

    names: NDArray[Any]
    pool: FittedPool
    offsets: Doubles
    offset_penalty: float | None
    means: Doubles
    helps: bool
    gain: float
    codes: Integers
    scores: Doubles
    weights: Doubles
    variance_correction: dict[str, float] | None = None
    unseen_source_scores: dict[str, NDArray[Any]] | None = None
    column_pool: ColumnPool | None = None

    @property
    def index(self) -> SourceIndex:
        return SourceIndex.of(self.names)

    @property
    def _columns_added(self) -> int:
        """Columns that members take besides those of the source-blind pool."""
        index = self.index
        return max(int(self.means.shape[1]) + index.n_levels, index.n_codes)

    @property
    def leaderboard(self) -> Leaderboard:
        """Out-of-fold performance of this pool and its members."""
        return self.pool.leaderboard

    @property
    def note(self) -> str:
        best, known = self.leaderboard[0], count(len(self.names), "known source")
        if not self.helps:
            measure = "log loss" if self.leaderboard.metric == ACCURACY else "mean squared error"
            above = write_number(-self.gain, 3)
            return (
                f"Knowing the source does not help: for the {known}, a source-aware pool has an "
                f"out-of-fold {measure} {above} above that of the source-blind pool, which "
                "therefore predicts all rows (source_pool_.leaderboard)."
            )
        score = f"accuracy {best.score:.3f} ± {best.score_se:.3f}"
        if self.leaderboard.metric != ACCURACY:
            score = f"RMSE {write_number(best.score)} ± {write_number(best.score_se, 2)}"
        return (
            f"Rows of the {known} are predicted by a source-aware "
            f"pool: out-of-fold log loss {best.log_loss:.4f} ± {best.log_loss_se:.4f}, {score} "
            "(source_pool_.leaderboard)."
        )

    def member_outputs(
        self, X: Any, codes: Integers, blind: Doubles, target: PoolTarget
    ) -> Doubles:
        """Return the members' outputs, (n_members, n_samples, n_outputs).

        ``blind`` are the source-blind pool's outputs of the same rows.
        """
        pool, column = self.pool, None
        if self.column_pool is not None:
            column = self.column_pool.predict(X, codes, self.index, target)
        forms = source_forms(X, codes, self.index, self.means, blind, column)
        members = zip(pool.estimators, pool.response_methods, pool.inputs, strict=True)
        return np.stack([target.outputs(each, forms[kind], by) for each, by, kind in members])

    def predict(self, X: Any, codes: Integers, blind: Doubles, target: PoolTarget) -> Doubles:
        """Return the pool's outputs of rows of known source, (n_samples, n_outputs)."""
        if not self.helps:
            return blind
        fused = self.pool.fusion.combine(self.member_outputs(X, codes, blind, target))
        return self._offsets.add(fused, codes)

    @property
    def _offsets(self) -> Offsets:
        return Offsets(self.offsets, self.offset_penalty or np.inf, self.variance_correction)

    def explain_row(
        self, row: Any, code: int, blind: Doubles, target: PoolTarget, prior: float
    ) -> RowExplanation:
        """Explain the prediction of one row; ``prior`` is the mean of a numeric target."""
        codes = np.array([code])
        outputs, pool = self.member_outputs(row, codes, blind, target), self.pool
        label = self.label(code)
        if isinstance(target, PoolClassTarget):
            explained = explain_classification(
                pool.names, outputs, pool.fusion, target.classes, self.offsets[code]
            )
            return replace(explained, source=label)
        explained = explain_regression(pool.names, outputs, pool.fusion, prior)
        offset = float(self.offsets[code, 0])
        mean, variance = self._offsets.add(pool.fusion.combine(outputs), codes)[0]
        return replace(
            explained,
            prediction=float(mean),
            baseline=prior + offset,
            std=float(np.sqrt(variance)),
            source=label,
        )

    def label(self, code: int) -> Any:
        """Return the name of a code: a label, a pair of labels, or that of an outer source."""
        if code < len(self.names):
            found = self.names.tolist()[code]
            return tuple(found) if isinstance(found, list) else found
        own = self.index.outer == code - len(self.names)
        return self.names[own].tolist()[0][0]

    def thresholds(self, coverage: float) -> Doubles:
        """Threshold of the scores at each code, (n_codes,); with few rows, the largest residual."""
        index = self.index
        own = source_thresholds(self.scores, self.codes, self.weights, index.n_sources, coverage)
        if index.n_levels == 2:
            outer = index.outer_codes(self.codes) - index.n_sources
            n_outer = index.n_codes - index.n_sources
            found = source_thresholds(self.scores, outer, self.weights, n_outer, coverage)
            own = np.concatenate([own, found])
        if self.variance_correction is None:
            return own
        return np.where(np.isfinite(own), own, self.scores.max())

    def _check_fitted(self) -> None:
        expect_source_names(self, "names")
        expect(isinstance(self.pool, FittedPool), "pool is not a FittedPool")
        expect(
            (COLUMN_POOL in self.pool.names) == isinstance(self.column_pool, ColumnPool),
            "column_pool is not that of a member",
        )
        index, numeric = self.index, self.variance_correction is not None
        n_outputs = int(self.pool.out_of_fold.outputs.shape[2])
        expect_array(self, "offsets", (index.n_codes, 1 if numeric else n_outputs))
        expect_array(self, "means", (index.n_codes, None))
        if self.variance_correction is not None:
            valid = is_valid_correction(self.variance_correction)
            expect(valid, "variance_correction is not valid")
        penalty = self.offset_penalty
        expect(penalty is None or penalty > 0, "its penalty is not positive")
        expect(isinstance(self.helps, bool) and np.isfinite(self.gain), "helps is not a flag")
        counts = {len(self.pool.names), len(self.pool.estimators), len(self.pool.response_methods)}
        expect(len(counts) == 1, "its members differ in number")
        n_rows, high = len(self.pool.out_of_fold.y), len(self.names) - 1
        expect_array(self, "codes", (n_rows,), "integer", low=0, high=high)
        highest = np.inf if numeric else 1 + 1e-6
        expect_array(self, "scores", (n_rows,), low=-1e-6, high=highest)
        expect_array(self, "weights", (n_rows,), low=0)
        if self.unseen_source_scores is not None:
            _check_scores(self.unseen_source_scores, highest)


def _check_scores(scores: dict[str, NDArray[Any]], highest: float) -> None:
    expect(isinstance(scores, dict), "unseen_source_scores is not a dict")
    expect(set(scores) == {"scores", "sources", "weights"}, "unseen_source_scores lack an array")
    found = SimpleNamespace(**scores)
    expect_array(found, "scores", (None,), low=-1e-6, high=highest)
    expect_array(found, "sources", (len(found.scores),), "integer", low=0)
    expect_array(found, "weights", (len(found.scores),), low=0)


def stratify_folds_by_source(
    data: TrainingData, codes: Integers, cv: Any, seed: int
) -> TrainingData:
    """Stratify folds by source, unless groups or a splitter define them.

    They are not stratified by class: a source's test rows would have the rate of its training
    rows, so that what is estimated from few rows of a source would seem exact.
    """
    if data.has_groups or len(data.folds) == 1 or not isinstance(cv, Integral):
        return data
    folds = deal_folds(codes, min(int(cv), len(codes)), np.random.default_rng(seed))
    return data._replace(folds=folds)


def with_times_of(board: Leaderboard, pools: dict[str, Leaderboard]) -> Leaderboard:
    """Give members that pass on another pool's outputs the times of that pool."""
    rows = [
        each
        if each.member not in pools
        else replace(
            each,
            fit_seconds=pools[each.member][0].fit_seconds,
            predict_seconds=each.predict_seconds and pools[each.member][0].predict_seconds,
        )
        for each in board[1:]
    ]
    pool = replace(
        board[0],
        fit_seconds=sum(each.fit_seconds for each in rows),
        predict_seconds=sum(each.predict_seconds or 0.0 for each in rows),
    )
    return replace(board, rows=(pool, *rows))


def fit_source_pool(
    blind: PoolFit,
    fusion: Fusion,
    data: TrainingData,
    names: NDArray[Any],
    all_codes: Integers,
    seed: int,
    *,
    budget: TimeBudget | None,
    n_jobs: int | None,
    fit_alike: Callable[[TrainingData], PoolFit],
) -> SourcePool:
    """Fit a pool to the rows whose source is known, and the offsets of each source.

    ``fit_alike`` fits the source-blind pool's members to other rows.
    """
    index, known = SourceIndex.of(names), np.flatnonzero(all_codes != UNKNOWN_SOURCE)
    aware, codes = data.take(known), all_codes[known]
    means = index.column_means(aware.X, codes, aware.weights)
    column = None
    if budget is None and index.n_codes <= MAX_COLUMN_SOURCES:
        with_columns = np.column_stack([aware.X, index.indicators(codes)])
        column = fit_alike(aware._replace(X=with_columns, forms={}))
    outputs = None if column is None else column.outputs
    forms = source_forms(aware.X, codes, index, means, blind.outputs[known], outputs)
    aware = aware._replace(forms=forms)
    numeric = not data.target.is_classification
    specs = source_aware_members(
        index, aware.X.shape[1], numeric=numeric, with_column=column is not None
    )
    tested = aware.tested
    weights = np.ones(len(known)) if aware.weights is None else aware.weights
    make_correction = value_correction if numeric else class_correction
    fit = fit_pool(
        specs,
        draw_seeds(seed, len(specs)),
        fusion,
        aware,
        budget=budget,
        n_jobs=n_jobs,
        correction=make_correction(aware.y[tested], codes[tested], weights[tested], index),
    )

    def losses(outputs: Doubles) -> Doubles:
        return np.asarray(aware.target.uncalibrated_losses(outputs[tested], aware.y[tested]))

    gains = losses(blind.outputs[known]) - losses(fit.outputs)
    gain, error = mean_and_error(gains, weights[tested], 1.0)
    helps = gain > -error
    # the rows whose outputs are kept, by their positions among the known ones
    given = np.arange(len(data.y)) if data.indices is None else data.indices
    kept = np.searchsorted(given[known], fit.pool.out_of_fold.indices)
    scores = value_scores if numeric else class_scores
    own = (fit.outputs if helps else blind.outputs[known])[kept]
    offsets: Offsets = fit.correction
    passed_on = {BLIND_POOL: blind.pool.leaderboard}
    if column is not None:
        passed_on[COLUMN_POOL] = column.pool.leaderboard
    return SourcePool(
        names,
        replace(fit.pool, leaderboard=with_times_of(fit.pool.leaderboard, passed_on)),
        offsets.values,
        offsets.penalty if np.isfinite(offsets.penalty) else None,
        means,
        bool(helps),
        gain,
        codes[kept],
        scores(own, aware.y[kept]),
        weights[kept],
        offsets.variance,
        None if budget is not None else score_unseen_sources(blind, data, all_codes, n_jobs),
        ColumnPool.of(column) if column is not None and COLUMN_POOL in fit.pool.names else None,
    )
