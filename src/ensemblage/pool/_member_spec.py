"""Targets, training data with shared folds; candidates of a member, tuning and refit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import norm
from sklearn.base import clone
from sklearn.model_selection import check_cv

from ensemblage._core import Fold, deal_folds, fit_parameter, make_folds, set_seed, take_rows
from ensemblage.evaluation import PROBABILITY_FLOOR
from ensemblage.fusion import (
    Fusion,
    LogLinearPool,
    Normals,
    VarianceCorrection,
    common_response_method,
    fit_variance_correction,
    normal_log_density,
    regressor_response_method,
)
from ensemblage.strata import ClassTarget, NumericTarget, fit_with_out_of_fold

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_HOLDOUT_ROWS = 10_000
"""Test rows of the holdout set at most; enough to fit a fusion."""
ENCODED = "encoded"
"""Input of members that take encoded, numeric columns."""
TABLE = "table"
"""Input of members that take the table itself."""
CODED = "encoded, source"
"""Input of members that take the encoded columns and the source's code."""
BY_SOURCE = "encoded, source, means"
"""Input of members that also take the columns' means at the source."""
BLIND = "source-blind"
"""Input of the member that passes on the source-blind pool's outputs."""
COLUMN = "source as a column"
"""Input of the member that passes on the outputs of the pool with the source as a column."""
ARRAY_CHECKS: dict[str, Any] = {"dtype": [np.float64, np.float32], "order": "C"}
"""One memory layout, so that a frame and an array of the same values give the same bits."""
FORMS = frozenset({ENCODED, TABLE, CODED, BY_SOURCE, BLIND, COLUMN})
LOG_GROWTH_GRID = np.arange(-16, 17) / 2
"""Candidates of the log ratio of the variances at the highest and the lowest prediction."""
PRIOR_WEIGHT = 1e-3
"""Weight of the class frequencies in every member's probabilities."""
PRIOR_ROWS = 0.25
"""Rows that the class frequencies count for in every member's calibrated probabilities."""
TEMPERATURE_PENALTY = 1.0
"""Ridge penalty of log temperatures; without it one confident error costs tens of nats."""
FIXED_WEIGHT_PENALTY = 1e9
"""A penalty so large that the weight of a single member is one."""
N_HOLDOUT_PARTS = 5
"""Parts of one holdout set, each scored by choices on the others."""


def fit_growing_correction(fused: Doubles, y: Doubles, weights: Doubles | None) -> dict[str, float]:
    """Fit a variance correction to out-of-fold normal predictions; it may grow with the mean.

    The variance v becomes (factor v + offset) exp(log_growth t), where t is 0 at the prediction
    ``low`` and 1 at ``high``. There is no growth unless its gain exceeds its standard error.
    """
    weights = np.ones(len(y)) if weights is None else weights
    flat = fit_variance_correction(fused, y, weights)
    mean, variance = flat.apply(fused).T
    low, high = float(mean.min()), float(mean.max())
    squares, levels = (y - mean) ** 2 / variance, _levels(mean, low, high)
    shares = weights / weights.sum()
    growth = _significant_growth(squares, levels, shares)
    size = float(shares @ (squares * np.exp(-growth * levels))) if growth else 1.0
    return {
        "factor": size * flat.factor,
        "offset": size * flat.offset,
        "log_growth": growth,
        "low": low,
        "high": high,
    }


def correct_variance(fused: Doubles, correction: dict[str, float]) -> Doubles:
    """Apply a correction to means and variances, (n_rows, 2)."""
    flat = VarianceCorrection(correction["factor"], correction["offset"])
    mean, variance = flat.apply(fused).T
    levels = _levels(mean, correction["low"], correction["high"])
    return np.column_stack([mean, variance * np.exp(correction["log_growth"] * levels)])


def is_valid_correction(correction: dict[str, float]) -> bool:
    """Whether every corrected variance is finite and above zero."""
    if set(correction) != {"factor", "offset", "log_growth", "low", "high"}:
        return False
    sizes = (correction["factor"], correction["offset"])
    above = all(0 <= each < np.inf for each in sizes) and max(sizes) > 0
    finite = np.isfinite([correction["low"], correction["high"]]).all()
    return bool(above and finite and abs(correction["log_growth"]) <= LOG_GROWTH_GRID[-1])


def _significant_growth(squares: Doubles, levels: Doubles, shares: Doubles) -> float:
    """Return the log growth of least log loss; 0 where its gain is within a standard error."""
    sizes = np.array([shares @ (squares * np.exp(-g * levels)) for g in LOG_GROWTH_GRID])
    if not sizes.min() > 0:  # no residual
        return 0.0
    best = int(np.argmin(np.log(sizes) + LOG_GROWTH_GRID * (shares @ levels)))
    plain, size = sizes[len(LOG_GROWTH_GRID) // 2], sizes[best]
    growth = float(LOG_GROWTH_GRID[best])
    gains = squares / plain - squares * np.exp(-growth * levels) / size - growth * levels
    gains += np.log(plain / size)
    gain = float(shares @ gains)
    return growth if gain > np.sqrt(shares**2 @ (gains - gain) ** 2) else 0.0


def _levels(mean: Doubles, low: float, high: float) -> Doubles:
    if not high > low:
        return np.zeros(len(mean))
    # halves, so that the width of the widest range is finite
    return np.asarray(np.clip((mean / 2 - low / 2) / (high / 2 - low / 2), 0, 1))


class PoolClassTarget(ClassTarget):
    """Classes; outputs of members are probabilities, or decision values."""

    __slots__ = ()

    storage_dtype = np.float32

    def calibrator(self) -> Fusion:
        """Return a fusion that calibrates one member."""
        return LogLinearPool(
            weight_penalty=FIXED_WEIGHT_PENALTY,
            temperature_penalty=TEMPERATURE_PENALTY,
            prior_weight=PRIOR_WEIGHT,
            prior_rows=PRIOR_ROWS,
        )

    def prior_output(self, y: NDArray[np.intp], weights: Doubles | None) -> Doubles:
        """Return the class frequencies, (n_outputs,)."""
        counts = np.bincount(y, weights, minlength=self.n_outputs)
        return np.asarray(counts / counts.sum())

    def outputs_from_oob(self, predicted: Doubles, prior: Doubles) -> Doubles:
        """Convert out-of-bag predictions; a row in every bootstrap has none, and gets the prior."""
        outputs = np.nan_to_num(predicted)
        outputs[outputs.sum(axis=1) == 0] = prior
        return outputs

    def outputs_from_stages(self, staged: Doubles, classes: NDArray[np.intp]) -> Doubles:
        """Convert staged probabilities, (n_stages, n_samples, len(classes))."""
        outputs = np.zeros((*staged.shape[:2], self.n_outputs))
        outputs[:, :, classes] = staged
        return outputs

    def row_losses(self, outputs: Doubles, y: NDArray[np.intp]) -> Doubles:
        """Log loss of each row."""
        true = outputs[np.arange(len(y)), y]
        return np.asarray(-np.log(np.maximum(true, np.finfo(float).tiny)))

    uncalibrated_losses = row_losses

    def reported_losses(self, outputs: Doubles, y: NDArray[np.intp]) -> Doubles:
        """Log loss of each row, with the lower bound on probabilities of all reported scores."""
        return self.row_losses(np.maximum(outputs, PROBABILITY_FLOOR), y)

    def score(self, outputs: Doubles, y: NDArray[np.intp], weights: Doubles | None) -> float:
        """Accuracy."""
        return float(np.average(outputs.argmax(axis=1) == y, weights=weights))

    def scores_with_errors(
        self, outputs: Doubles, y: NDArray[np.intp], weights: Doubles | None, factor: float
    ) -> tuple[float, float, float, float]:
        """Log loss and accuracy, each followed by its standard error."""
        hits = (outputs.argmax(axis=1) == y).astype(float)
        losses = self.reported_losses(outputs, y)
        return *mean_and_error(losses, weights, factor), *mean_and_error(hits, weights, factor)


class PoolNumericTarget(NumericTarget):
    """A numeric target; outputs of members are a mean and a variance."""

    __slots__ = ()

    storage_dtype = np.float64

    def calibrator(self) -> Fusion:
        """Return a fusion that calibrates one member."""
        return LogLinearPool(weight_penalty=FIXED_WEIGHT_PENALTY)

    def prior_output(self, y: Doubles, weights: Doubles | None) -> Doubles:
        """Return the mean and variance of the target, (n_outputs,)."""
        return np.array([np.average(y, weights=weights), self.scale**2])

    def outputs_from_oob(self, predicted: Doubles, prior: Doubles) -> Doubles:
        """Add the target's variance to out-of-bag predictions."""
        return np.column_stack([predicted, np.full(len(predicted), prior[1])])

    def outputs_from_stages(self, staged: Doubles, classes: NDArray[Any]) -> Doubles:
        """Add the target's variance to staged predictions, (n_stages, n_samples)."""
        return np.stack([staged, np.full(staged.shape, self.scale**2)], axis=2)

    def row_losses(self, outputs: Doubles, y: Doubles) -> Doubles:
        """Negative log density of each row."""
        return -normal_log_density(Normals(outputs[:, 0], outputs[:, 1]), y)

    reported_losses = row_losses

    def uncalibrated_losses(self, outputs: Doubles, y: Doubles) -> Doubles:
        """Squared error of each row."""
        return self.losses(outputs, y)

    def score(self, outputs: Doubles, y: Doubles, weights: Doubles | None) -> float:
        """Root mean squared error."""
        return float(np.sqrt(np.average(self.losses(outputs, y), weights=weights)))

    def scores_with_errors(
        self, outputs: Doubles, y: Doubles, weights: Doubles | None, factor: float
    ) -> tuple[float, float, float, float]:
        """Log loss and root mean squared error, each followed by its standard error."""
        _, error = mean_and_error(self.losses(outputs, y), weights, factor)
        size = self.score(outputs, y, weights)
        # the error of a root: that of the square by its derivative
        size_error = error / (2 * size) if size > 0 else 0.0
        return *mean_and_error(self.reported_losses(outputs, y), weights, factor), size, size_error


PoolTarget: TypeAlias = PoolClassTarget | PoolNumericTarget


def mean_loss(losses: Doubles, weights: Doubles | None = None) -> float:
    """Weighted mean of the rows' losses."""
    return float(np.average(losses, weights=weights))


def mean_and_error(values: Doubles, weights: Doubles | None, factor: float) -> tuple[float, float]:
    """Weighted mean of the rows' values, and ``factor`` times its error of independent rows."""
    shares = np.ones(len(values)) if weights is None else weights
    shares = shares / shares.sum()
    mean = mean_loss(values, weights)
    return mean, factor * float(norm(shares * (values - mean)))  # does not overflow


def log_loss(probabilities: Doubles, y: NDArray[np.intp], weights: Doubles | None = None) -> float:
    """Weighted mean log loss of class probabilities."""
    target = PoolClassTarget(np.arange(probabilities.shape[1]))
    return mean_loss(target.row_losses(probabilities, y), weights)


class TrainingData(NamedTuple):
    """Validated rows; ``y`` are class codes or a numeric target, see ``target``.

    With ``has_groups`` no fold splits a group. ``indices`` are the rows' positions in the user's
    data, None for all. ``forms`` are the same rows in other forms, by name: ``TABLE`` before
    encoding, unless nothing was encoded. Data that ``is_large`` has one holdout set; few members
    are fitted to it, unless there is a time budget.
    """

    X: Any
    y: NDArray[Any]
    target: PoolTarget
    weights: Doubles | None
    folds: list[Fold]
    has_groups: bool = False
    indices: Indices | None = None
    forms: Mapping[str, Any] = MappingProxyType({})
    has_categories: bool = False
    is_large: bool = False

    def weights_at(self, rows: Indices) -> Doubles | None:
        return None if self.weights is None else self.weights[rows]

    @property
    def n_outputs(self) -> int:
        """Columns of a member's outputs: one per class, or mean and variance."""
        return self.target.n_outputs

    @property
    def labels(self) -> Indices:
        """Labels by which folds and subsamples are stratified: classes, or target quantiles."""
        return self.target.stratification_labels(self.y)

    @property
    def prior(self) -> Doubles:
        """Prediction without any member, (n_outputs,)."""
        return self.target.prior_output(self.y, self.weights)

    @property
    def tested(self) -> Indices:
        """Rows in the test part of a fold, sorted."""
        return np.unique(np.concatenate([fold.test for fold in self.folds]))

    @property
    def scoring_folds(self) -> list[Fold]:
        """Folds of positions in ``tested``; each is scored by choices on the others.

        They are the shared folds; one holdout set is split in five.
        """
        tested = self.tested
        if len(self.folds) == 1:
            return deal_folds(self.labels[tested], N_HOLDOUT_PARTS, np.random.default_rng(0))
        tests = [np.searchsorted(tested, fold.test) for fold in self.folds]
        return [Fold(np.setdiff1d(np.arange(len(tested)), test), test) for test in tests]

    @property
    def error_factor(self) -> float:
        """Factor of the standard error of independent rows, for the overlap of the folds.

        With shares t of test rows, J folds have the variance (1 / J + t / (1 - t)) s² instead of
        s² / J (Nadeau and Bengio, Machine Learning 52, 2003).
        """
        if len(self.folds) == 1:
            return 1.0
        n_train = np.mean([len(fold.train) for fold in self.folds])
        return float(np.sqrt(1 + len(self.tested) / n_train))

    @property
    def every_row_tested_once(self) -> bool:
        """Whether several folds test every row once, as outputs of an ensemble's own CV require."""
        tested = np.concatenate([fold.test for fold in self.folds])
        return len(self.folds) > 1 and np.array_equal(np.sort(tested), np.arange(len(self.y)))

    def take(self, kept: Indices) -> TrainingData:
        """Keep some rows, in the folds and in all forms."""
        new = np.full(len(self.y), -1)  # position of each row among the kept, -1 for the others
        new[kept] = np.arange(len(kept))
        folds = [Fold(*(new[side][new[side] >= 0] for side in fold)) for fold in self.folds]
        return self._replace(
            X=self.X[kept],
            y=self.y[kept],
            weights=self.weights_at(kept),
            folds=[fold for fold in folds if len(fold.test) and len(fold.train)],
            indices=kept if self.indices is None else self.indices[kept],
            forms={name: take_rows(rows, kept) for name, rows in self.forms.items()},
        )


def make_cv_folds(y: Indices, cv: Any, seed: int, groups: Any = None) -> list[Fold]:
    """Make the folds that all members share; a rare class may be missing from some."""
    if not isinstance(cv, Integral):
        splits = check_cv(cv, y, classifier=True).split(np.zeros(len(y)), y, groups)
        return [Fold(np.asarray(train), np.asarray(test)) for train, test in splits]
    n_folds = int(min(int(cv), max(2, np.bincount(y).max())))
    return make_folds(y, n_folds, seed, groups)


def holdout_fold(y: Indices, seed: int, groups: Any = None) -> list[Fold]:
    """Make one holdout set of a tenth of the rows, ``MAX_HOLDOUT_ROWS`` at most."""
    tenth = make_folds(y, 10, seed, groups)[0].test
    test = stratified_subsample(tenth, y, MAX_HOLDOUT_ROWS, seed)
    return [Fold(np.setdiff1d(np.arange(len(y)), tenth if groups is not None else test), test)]


def stratified_subsample(rows: Indices, y: Indices, limit: int | None, seed: int) -> Indices:
    """Draw a sorted, stratified subsample of some rows; two or more of each class."""
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


class FoldPredictions(NamedTuple):
    """Outputs of a member's candidates on the test rows of one fold, or on all rows.

    ``outputs`` are (n_candidates, n_test, n_outputs). ``model`` is fitted to all rows; only of
    members with out-of-bag or out-of-fold outputs of their own. ``rounds`` are the boosting rounds
    of each candidate.
    """

    outputs: Doubles
    seconds: float
    model: Any = None
    rounds: tuple[int, ...] = ()


class TunedMember(NamedTuple):
    """A tuned member, with its seed and its out-of-fold outputs.

    ``outputs`` are (n_samples, n_outputs), NaN for a row that no fold tests; ``chosen`` is the
    index of the candidate, ``refit_share`` the share of its ``seconds`` that a refit takes, and
    ``rounds`` those that boosting took to its end.
    ``fold_choices`` are the candidates chosen without each of the scoring folds, and
    ``fold_outputs`` their outputs.
    """

    spec: MemberSpec
    seed: int
    outputs: Doubles
    chosen: int
    seconds: float
    model: Any = None
    refit_share: float = 1.0
    rounds: int = 0
    fold_choices: tuple[int, ...] = ()
    fold_outputs: tuple[Doubles, ...] = ()

    def outputs_for(self, fold: int) -> Doubles:
        """Return the outputs by which a scoring fold is scored."""
        return self.fold_outputs[fold] if self.fold_outputs else self.outputs


@dataclass(frozen=True)
class MemberSpec:
    """A member: candidates that are cross-validated on the shared folds; the best is refitted.

    ``group`` is where its diversity is. A fit to n rows costs (n + ``cost_offset``) to the power of
    ``cost_exponent``. It is fitted to at most ``max_rows`` rows, drawn at random; with more columns
    than ``max_columns`` it is dropped; None for no limit. It takes the form ``reads`` of the rows,
    where they have it. With ``numeric`` it is a regressor. If it is ``optional``, it is fitted to
    large data in a time budget only; with ``for_categories`` also to data with categories.
    """

    name: str
    group: str
    candidates: tuple[Any, ...]
    cost_exponent: float = 1.0
    cost_offset: int = 1_000
    max_rows: int | None = None
    max_columns: int | None = None
    reads: str = ENCODED
    numeric: bool = False
    optional: bool = False
    for_categories: bool = False

    def relative_cost(self, n_rows: int) -> float:
        """Cost of a fit, up to a constant factor."""
        n_learned = min(n_rows, self.max_rows or n_rows)
        return float((n_learned + self.cost_offset) ** self.cost_exponent)

    def cheap_variant(self) -> tuple[Self, float]:
        """Return a cheaper spec of the same kind, and the ratio of the costs."""
        return replace(self, candidates=self.candidates[:1]), float(len(self.candidates))

    @property
    def response(self) -> str:
        """Method that returns the member's outputs."""
        if self.numeric:
            return regressor_response_method(self.candidates[0])
        return common_response_method(self.candidates)

    def limited(self, n_rows: int) -> Self:
        """Return a spec that is fitted to so many rows at most."""
        return replace(self, max_rows=min(n_rows, self.max_rows or n_rows))

    def with_one_candidate(self) -> Self:
        """Return a spec of the middle candidate, which is enough for many rows."""
        return replace(self, candidates=(self.candidates[len(self.candidates) // 2],))

    def uses_all_rows(self, data: TrainingData) -> bool:
        return self.max_rows is None or self.max_rows >= len(data.y)

    def too_wide(self, data: TrainingData) -> bool:
        n_columns = np.shape(self.input_data(data).X)[1]
        return self.max_columns is not None and n_columns > self.max_columns

    def input_kind(self, data: TrainingData) -> str:
        return self.reads if self.reads in data.forms else ENCODED

    def input_data(self, data: TrainingData) -> TrainingData:
        """Return the data in the form that the member takes."""
        return data._replace(X=data.forms.get(self.reads, data.X), forms={})

    def parts(self, data: TrainingData) -> Sequence[Fold | None]:
        """List the parallel tasks: folds; None stands for all rows at once."""
        return data.folds

    def fit_predict_fold(self, data: TrainingData, fold: Fold | None, seed: int) -> FoldPredictions:
        """Fit the candidates to a fold, and predict its test rows."""
        start = time.perf_counter()
        outputs = self.predict_held_out(data, self.limit_training_rows(data, fold, seed), seed)
        return FoldPredictions(outputs, time.perf_counter() - start)

    def limit_training_rows(self, data: TrainingData, fold: Fold | None, seed: int) -> Fold:
        """Restrict the training rows of a fold, or all rows, to ``max_rows``."""
        every = np.arange(len(data.y))
        train, test = fold or (every, every)
        return Fold(stratified_subsample(train, data.labels, self.max_rows, seed), test)

    def predict_held_out(self, data: TrainingData, fold: Fold, seed: int) -> Doubles:
        """Fit each candidate to a fold, and predict its test rows."""
        X = take_rows(data.X, fold.test)
        fitted = (fit_clone(each, data, fold.train, seed) for each in self.candidates)
        return np.stack([data.target.outputs(each, X, self.response) for each in fitted])

    def select_candidate(
        self, data: TrainingData, tried: Sequence[FoldPredictions], seed: int
    ) -> TunedMember:
        """Choose the candidate with the least out-of-fold loss; once more without each fold."""
        n_candidates, tested = len(tried[0].outputs), data.tested
        outputs = np.full((n_candidates, len(tested), data.n_outputs), np.nan)
        for part, each in zip(self.parts(data), tried, strict=True):
            at = slice(None) if part is None else np.searchsorted(tested, part.test)
            outputs[:, at] = each.outputs
        seconds = sum(each.seconds for each in tried)
        best = self.choose(outputs, data, tested, tried)
        choices = []
        for number, fold in enumerate(data.scoring_folds if n_candidates > 1 else ()):
            others = [each for k, each in enumerate(tried) if k != number or len(tried) == 1]
            choices.append(self.choose(outputs[:, fold.train], data, tested[fold.train], others))

        def of_all_rows(candidate: int) -> Doubles:
            found = np.full((len(data.y), data.n_outputs), np.nan)
            found[tested] = outputs[candidate]
            return found

        return TunedMember(
            self, seed, of_all_rows(best), best, seconds, tried[0].model,
            fold_choices=tuple(choices), fold_outputs=tuple(map(of_all_rows, choices)),
        )  # fmt: skip

    def choose(
        self, outputs: Doubles, data: TrainingData, rows: Indices, tried: Sequence[FoldPredictions]
    ) -> int:
        """Return the candidate with the least loss on some rows, whose outputs are given."""
        if len(outputs) == 1:
            return 0
        losses = [self.loss(each, data, rows) for each in outputs]
        return int(np.argmin(np.where(self.eligible(tried), losses, np.inf)))

    def eligible(self, tried: Sequence[FoldPredictions]) -> NDArray[np.bool_]:
        """Mark the candidates that may be chosen."""
        return np.ones(len(tried[0].outputs), dtype=bool)

    def loss(self, outputs: Doubles, data: TrainingData, rows: Indices) -> float:
        """Mean log loss on some rows, whose outputs are given, after calibration to them."""
        calibrated = calibrate_member(outputs, data, rows)
        return mean_loss(data.target.row_losses(calibrated, data.y[rows]), data.weights_at(rows))

    def build(self, chosen: int) -> Any:
        """Return the candidate of that index, unfitted."""
        return self.candidates[chosen]

    def refit(self, data: TrainingData, tuned: TunedMember) -> Any:
        """Fit the chosen candidate to all rows, unless it already is."""
        if tuned.model is not None:
            return tuned.model
        train = self.limit_training_rows(data, None, tuned.seed).train
        return fit_clone(self.build(tuned.chosen), data, train, tuned.seed)


def fit_clone(estimator: Any, data: TrainingData, train: Indices, seed: int, **passed: Any) -> Any:
    """Fit a copy to some rows; if their targets are all equal, a constant member."""
    y = data.y[train]
    if (y == y[0]).all():
        return data.target.constant_member(y)
    member = set_seed(clone(estimator), seed)
    weights = data.weights_at(train)
    if weights is not None:
        passed[fit_parameter(member, "sample_weight") or "sample_weight"] = weights
    return member.fit(take_rows(data.X, train), y, **passed)


def calibrate_member(outputs: Doubles, data: TrainingData, rows: Indices) -> Doubles:
    """Calibrate one member's outputs of some rows by a temperature, or their variance."""
    calibrator = data.target.calibrator()
    calibrator.fit(
        outputs[None],
        data.y[rows],
        numeric=not data.target.is_classification,
        sample_weight=data.weights_at(rows),
    )
    return calibrator.combine(outputs[None])


class OutOfBag(MemberSpec):
    """A forest, with out-of-bag outputs; with folds where groups would leak."""

    def cheap_variant(self) -> tuple[Self, float]:
        """Return a forest with a tenth of the trees."""
        (forest,) = self.candidates
        n_trees = max(1, forest.n_trees // 10)
        fewer = clone(forest).set_params(n_trees=n_trees)
        return replace(self, candidates=(fewer,)), forest.n_trees / n_trees

    def parts(self, data: TrainingData) -> Sequence[Fold | None]:
        out_of_bag = data.every_row_tested_once and self.uses_all_rows(data) and not data.has_groups
        return [None] if out_of_bag else data.folds

    def fit_predict_fold(self, data: TrainingData, fold: Fold | None, seed: int) -> FoldPredictions:
        if fold is not None:
            return super().fit_predict_fold(data, fold, seed)
        start = time.perf_counter()
        (forest,) = self.candidates
        scored = clone(forest).set_params(oob_score=True)
        model = fit_clone(scored, data, np.arange(len(data.y)), seed)
        outputs = data.target.outputs_from_oob(model.oob_predictions_, data.prior)
        del model.oob_predictions_
        return FoldPredictions(outputs[None], time.perf_counter() - start, model)


class InternalFolds(MemberSpec):
    """A strata ensemble: outputs of its own cross-validation, in which the gate is refitted."""

    def parts(self, data: TrainingData) -> Sequence[Fold | None]:
        return [None] if data.every_row_tested_once and self.uses_all_rows(data) else data.folds

    def fit_predict_fold(self, data: TrainingData, fold: Fold | None, seed: int) -> FoldPredictions:
        if fold is not None:
            return super().fit_predict_fold(data, fold, seed)
        start = time.perf_counter()
        (ensemble,) = self.candidates
        model = set_seed(clone(ensemble), seed).set_params(cv=data.folds)
        outputs = fit_with_out_of_fold(model, data.X, data.y, sample_weight=data.weights)
        model.set_params(cv=len(data.folds))  # do not store the folds
        unknown = np.isnan(outputs).any(axis=1)  # where a class is missing from the training rows
        outputs[unknown] = data.prior
        return FoldPredictions(outputs[None], time.perf_counter() - start, model)
