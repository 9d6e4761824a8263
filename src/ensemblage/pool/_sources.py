"""The source-aware pool."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    PROBABILITY_FLOOR,
    UNKNOWN_SOURCE,
    Fold,
    deal_folds,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    num_samples,
    run_tasks,
    set_module,
    take_rows,
)
from ensemblage.evaluation import source_thresholds, weighted_threshold
from ensemblage.fusion import Fusion, SourcedClassifierMixin, member_outputs
from ensemblage.pool._boosting import FIVE, Boosting, has_lightgbm
from ensemblage.pool._compact_members import Forest
from ensemblage.pool._fit import (
    Candidate,
    Clock,
    Failure,
    FittedPool,
    Learned,
    PoolPlan,
    cross_fitted,
    describe_pool,
    folds_of_known,
    learn_pool,
    try_part,
)
from ensemblage.pool._leaderboard import HeldOutRecord, Leaderboard
from ensemblage.pool._member_spec import Attempt, OutOfBag, PoolRows, Recipe, fit_fresh
from ensemblage.pool._row_explanation import PoolDecision, hear
from ensemblage.sources import (
    PartialPoolingClassifier,
    add_intercepts,
    choose_intercept_penalty,
    class_source_pairs,
    encode_sources,
    fit_intercepts,
    lookup_sources,
    source_folds,
    split_fitted_column,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]
PLACE = "sources"


def check_coverage(coverage: Any) -> None:
    """Refuse what is no share of rows."""
    if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ValueError(f"coverage={coverage!r} is no share: use a number between 0 and 1.")


def reach(record: HeldOutRecord, coverage: float) -> float:
    """Give how many standard deviations an interval of a number reaches.

    Infinity does not help anyone: where rows are too few, it is the largest that was seen.
    """
    mean, variance = record.pooled.T
    scores = np.abs(record.y - mean) / np.sqrt(variance)
    weights = np.ones(len(scores)) if record.weights is None else record.weights
    found = weighted_threshold(scores, weights / weights.mean(), coverage, 1.0)
    return found if np.isfinite(found) else float(scores.max())


def held_out_scores(proba: NDArray[np.floating[Any]], y: NDArray[np.intp]) -> Doubles:
    """Give what a model left to the other classes, for rows that it had not seen."""
    return np.asarray(1 - proba[np.arange(len(y)), y], dtype=float)


def new_source_threshold(
    scores: Doubles, sources: NDArray[np.int64], weights: Doubles, coverage: float
) -> float:
    """Give the threshold for a new source: of scores with the source left out, each as heavy."""
    totals = np.bincount(sources, weights)
    return weighted_threshold(scores, weights / totals[sources], coverage, 0.0)


def in_set(proba: Doubles, thresholds: Doubles) -> NDArray[np.bool_]:
    """Tell which classes are in each row's set: the most probable, and all up to its threshold."""
    inside = 1 - proba <= thresholds[:, None]
    inside[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return np.asarray(inside)


N_TREES = 200
N_FOLDS = 5


@set_module("ensemblage.pool")
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

    def predict_proba(self, X: Any) -> Doubles:
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

    def _check_fitted(self) -> None:
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
            estimator__common_penalty=found.common_penalty_,
            estimator__deviation_penalty=found.deviation_penalty_,
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


MOST_GROUPS = 5
"""More sources than these are left out in groups."""


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class LeftOutScores:
    """Scores of rows whose source was left out, and its number; see ``_conformal``."""

    scores: Doubles
    sources: Integers
    weights: Doubles

    def _check_fitted(self) -> None:
        """Refuse scores that are no shares."""
        expect_array(self, "scores", (None,), low=-1e-6, high=1 + 1e-6)
        expect_array(self, "sources", (len(self.scores),), "integer", low=0)
        expect_array(self, "weights", (len(self.scores),), low=0)


def leave_sources_out(
    learned: Learned, rows: PoolRows, codes: Integers, n_jobs: int | None
) -> LeftOutScores | None:
    """Fit the members that count without each group of sources; None where that is not possible.

    The fusion stays as it is: choosing by new sources is no better than by ordinary folds.
    """
    folds = source_folds(codes, MOST_GROUPS)
    chosen = [learned.verdict.candidates[k] for k in learned.verdict.counting]
    tasks = [_task(each, rows, fold) for each in chosen for fold in folds]
    tried = run_tasks(try_part, tasks, n_jobs)
    if not folds or any(isinstance(each, Failure) for each in tried):
        return None
    outputs, said = np.empty((len(chosen), len(rows.y), rows.n_outputs)), iter(tried)
    for own in outputs:
        for fold in folds:
            own[fold.test] = next(said).outputs[0]
    known = np.flatnonzero(codes >= 0)
    proba = learned.fusion.combine(outputs[:, known])
    weights = np.ones(len(known)) if rows.weights is None else rows.weights[known]
    return LeftOutScores(held_out_scores(proba, rows.y[known]), codes[known], weights)


def _task(candidate: Candidate, rows: PoolRows, fold: Fold) -> tuple[Recipe, PoolRows, Fold, int]:
    """Ask for one fit of a member as it was chosen."""
    recipe, seed, held = candidate
    alone = Recipe(
        recipe.name, recipe.place, (recipe.build(held.chosen),), most_rows=recipe.most_rows
    )
    return alone, recipe.view(rows), fold, seed


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class KnownSources:
    r"""What answers rows whose source is known.

    Parameters
    ----------
    names : ndarray of shape (n_sources,)
        The sources, sorted.
    pool : FittedPool
        Members that are told the source, and their fusion.
    offsets : ndarray of shape (n_sources, n_classes)
        What is added to the pool's log probabilities of each source's rows.
    ridge : float
        How strongly offsets are drawn to zero; infinite where they do not help.
    codes : ndarray of shape (n_rows,)
        Numbers of the sources of the rows of ``pool.held_out``.
    left_out : LeftOutScores or None
        How improbable the true class is to a pool that has not met the source, for prediction
        sets of new sources; None where there is one source only, or a ``time_budget``.

    Notes
    -----
    A source's offsets minimise its held-out log loss plus :math:`\nu \|b_s\|^2`, with
    :math:`\nu` of 1, 4, 16 or infinity by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.pool import EnsemblageClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, site = rng.normal(size=(120, 2)), np.arange(120) % 2
    >>> y = X[:, 0] * (2 * site - 1) + 0.3 * rng.normal(size=120) > 0
    >>> model = EnsemblageClassifier(["logistic"], cv=2, random_state=0)
    >>> model.fit(X, y, sources=site).known_sources_.names
    array([0, 1])
    >>> bool(model.known_sources_.leaderboard[0].accuracy > 0.8)
    True
    """

    names: NDArray[Any]
    pool: FittedPool
    offsets: Doubles
    ridge: float
    codes: Integers
    left_out: LeftOutScores | None = None

    @property
    def _columns_added(self) -> int:
        """Count the columns by which members are told the source."""
        return len(self.names)

    @property
    def leaderboard(self) -> Leaderboard:
        """What this pool and its members are worth on rows that they have not seen."""
        return self.pool.leaderboard

    @property
    def note(self) -> str:
        """Tell which rows this pool answers, and how well."""
        best = self.leaderboard[0]
        return (
            f"Rows of the {len(self.names)} known sources are answered by another pool, which "
            f"knows them: log loss {best.log_loss:.4f}, accuracy {best.accuracy:.3f} "
            "(known_sources_.leaderboard)."
        )

    def _check_fitted(self) -> None:
        """Refuse offsets of other sources or classes."""
        expect_fitted(self, {"names": "labels (*)"})
        of_left_out = self.left_out is None or isinstance(self.left_out, LeftOutScores)
        expect(of_left_out, "left_out is none")
        expect(isinstance(self.pool, FittedPool), "pool is none")
        n_classes = int(self.pool.held_out.outputs.shape[2])
        expect_array(self, "offsets", (len(self.names), n_classes))
        expect(self.ridge > 0, "ridge is not positive")
        counts = {len(self.pool.names), len(self.pool.estimators), len(self.pool.responses)}
        expect(len(counts) == 1, "its members differ in number")
        high = len(self.names) - 1
        expect_array(self, "codes", (len(self.pool.held_out.y),), "integer", low=0, high=high)


def ask_told(known: KnownSources, X: Doubles, codes: Integers) -> Doubles:
    """Ask the members about rows of known sources, (n_members, n_samples, n_classes)."""
    told = tell_sources(X, codes, len(known.names))
    asked = zip(known.pool.estimators, known.pool.responses, strict=True)
    n_classes = known.offsets.shape[1]
    return np.stack([member_outputs(each, told, n_classes, by) for each, by in asked])


def answer_told(known: KnownSources, X: Doubles, codes: Integers) -> Doubles:
    """Give probabilities of rows of known sources, (n_samples, n_classes)."""
    return shift(known.pool.fusion.combine(ask_told(known, X, codes)), codes, known.offsets)


def explain_told(known: KnownSources, row: Doubles, code: int, classes: Any) -> PoolDecision:
    """Take the answer about one row of a source apart."""
    outputs, pool = ask_told(known, row, np.array([code])), known.pool
    decision = hear(pool.names, outputs, pool.fusion, classes, known.offsets[code])
    return replace(decision, source=known.names.tolist()[code])


def name_sources(
    told: Any, X: Any, rows: PoolRows, recipes: Sequence[Recipe], fusion: Fusion
) -> tuple[NDArray[Any], Integers]:
    """Give sources of the rows that are left numbers; refuse a pool without probabilities."""
    if not fusion.returns_probabilities(all(each.response == "predict_proba" for each in recipes)):
        raise ValueError(
            f"sources were given, but fusion={fusion!r} gives no probabilities with these "
            "members. Use fusion='log_linear', or members with predict_proba."
        )
    names, codes = encode_sources(told, X, allow_missing=True)
    return names, codes if rows.numbers is None else codes[rows.numbers]


def tell_sources(X: Doubles, codes: Integers, n_sources: int) -> Doubles:
    """Put a column per source behind the others, one for its own rows and else zero."""
    return np.column_stack([X, np.eye(n_sources, dtype=X.dtype)[codes]])


def shift(proba: Doubles, codes: Integers, offsets: Doubles) -> Doubles:
    """Add the sources' offsets to log probabilities."""
    return np.asarray(
        np.exp(add_intercepts(np.log(np.maximum(proba, PROBABILITY_FLOOR)), codes, offsets))
    )


def deal_by_source(rows: PoolRows, codes: Integers, cv: Any, seed: int) -> PoolRows:
    """Let folds keep the shares of sources and classes, where they are ours to make."""
    if rows.grouped or len(rows.folds) == 1 or not isinstance(cv, Integral):
        return rows
    pairs = class_source_pairs(codes, rows.y)
    folds = deal_folds(pairs, min(int(cv), len(pairs)), np.random.default_rng(seed))
    return rows._replace(folds=folds)


def sources_plan(plan: PoolPlan, clock: Clock | None, seed: int, n_sources: int) -> PoolPlan:
    """Plan the pool of known sources like the other."""
    recipes = source_recipes(n_sources)
    seeds = draw_seeds(seed, len(recipes))
    return plan._replace(recipes=recipes, seeds=seeds, clock=clock)


def fit_known_sources(
    plan: PoolPlan, rows: PoolRows, names: NDArray[Any], all_codes: Integers, without: Learned
) -> KnownSources:
    """Fit a pool to the rows whose source is known, and learn what each source adds.

    ``without`` is the pool that does not know sources.
    """
    known = np.flatnonzero(all_codes != UNKNOWN_SOURCE)
    codes, n_sources = all_codes[known], len(names)
    told = _only(rows, known)._replace(X=tell_sources(rows.X[known], codes, n_sources))
    learned = learn_pool(plan, told)
    fused = cross_fitted(plan.fusion, learned.verdict, told)
    heard = learned.verdict.known
    folds = folds_of_known(heard, told)
    log_proba, own, y = np.log(np.maximum(fused, PROBABILITY_FLOOR)), codes[heard], told.y[heard]
    weights = np.ones(len(own)) if told.weights is None else told.weights[heard]
    ridge = choose_intercept_penalty(log_proba, y, own, weights, n_sources, folds)
    pooled = np.empty_like(fused)
    for train, test in folds:
        elsewhere = fit_intercepts(
            log_proba[train], y[train], own[train], weights[train], n_sources, ridge
        )
        pooled[test] = np.exp(add_intercepts(log_proba[test], own[test], elsewhere))
    offsets = fit_intercepts(log_proba, y, own, weights, n_sources, ridge)
    pool = describe_pool(learned, told, pooled)
    given = np.arange(len(rows.y)) if rows.numbers is None else rows.numbers
    rows_heard = all_codes[np.searchsorted(given, pool.held_out.rows)]
    left_out = None
    if plan.clock is None:
        left_out = leave_sources_out(without, rows, all_codes, plan.n_jobs)
    return KnownSources(names, pool, offsets, ridge, rows_heard, left_out)


def _only(rows: PoolRows, kept: Indices) -> PoolRows:
    """Leave the other rows out, of the folds too."""
    places = np.full(len(rows.y), -1)
    places[kept] = np.arange(len(kept))
    folds = [Fold(*(places[side][places[side] >= 0] for side in fold)) for fold in rows.folds]
    return rows._replace(
        X=rows.X[kept],
        y=rows.y[kept],
        weights=rows.weights_at(kept),
        folds=[fold for fold in folds if len(fold.test) and len(fold.train)],
        numbers=kept if rows.numbers is None else rows.numbers[kept],
        table=None,
    )


class SourceAnswersMixin(SourcedClassifierMixin):
    """Give each row the answer of the pool that knows most of it.

    A class that uses it has ``known_sources_`` and ``source_column_`` if it was fitted with
    sources.
    """

    known_sources_: KnownSources
    source_column_: str | None
    held_out_: HeldOutRecord

    def _scores(self, X: Any, sources: Any = None) -> Doubles:
        return self._answer(*self._look_up(X, sources))

    def _answer(self, X: Any, codes: Integers) -> Doubles:
        """Ask the pool that knows the source, or the one that needs none, row by row."""
        if (codes == UNKNOWN_SOURCE).all():
            return self._scores_without(X)
        X = X if hasattr(X, "shape") else np.asarray(X)
        scores = np.empty((len(codes), len(self.classes_)))
        known, unknown = (
            np.flatnonzero(codes != UNKNOWN_SOURCE),
            np.flatnonzero(codes == UNKNOWN_SOURCE),
        )
        rows = self._numbers(take_rows(X, known))
        scores[known] = answer_told(self.known_sources_, rows, codes[known])
        if len(unknown):
            scores[unknown] = self._scores_without(take_rows(X, unknown))
        return scores

    def _look_up(self, X: Any, sources: Any) -> tuple[Any, Integers]:
        """Give rows without a column of sources, and numbers of these."""
        check_is_fitted(self)
        known = getattr(self, "known_sources_", None)
        if known is None:
            if sources is not None:
                raise ValueError(
                    "sources were given, but the pool was fitted without: pass "
                    "fit(..., sources=...), or leave them out."
                )
            return X, np.full(num_samples(X), UNKNOWN_SOURCE, dtype=np.int64)
        X, sources = split_fitted_column(X, sources, self.source_column_)
        return X, lookup_sources(sources, known.names, num_samples(X))

    def _scores_without(self, X: Any) -> Doubles:
        """Fuse what members say that do not know the source, (n_samples, n_classes)."""
        raise NotImplementedError  # look: ok

    def _numbers(self, X: Any) -> Doubles:
        """Give rows as numbers, encoded where need be."""
        raise NotImplementedError  # look: ok

    @available_if(lambda self: self._returns_probabilities())
    def predict_set(
        self, X: Any, sources: Any = None, *, coverage: float = 0.9
    ) -> NDArray[np.bool_]:
        r"""Give for each row the classes that it may well have.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,) or str, default=None
            As in ``predict_proba``.
        coverage : float, default=0.9
            Share of rows whose set is to hold their class.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            True for classes in the set; the most probable always is.

        Notes
        -----
        A class is in the set if :math:`1 - p` is at most the quantile of :math:`1 - p(y)` on
        training rows that the pool had not seen. Each known source has its own quantile, in which
        all other sources count as 20 rows; that of rows whose source is new or missing is of rows
        whose source had been left out, all sources alike. The coverage is that of rows like those
        of training; of a new source it may be less.
        """
        check_coverage(coverage)
        X, codes = self._look_up(X, sources)
        known = getattr(self, "known_sources_", None)
        proba = self._answer(X, codes)
        thresholds = np.full(len(codes), self._new_threshold(coverage))
        if known is not None and (codes != UNKNOWN_SOURCE).any():
            record = known.pool.held_out
            scores = held_out_scores(record.pooled, record.y)
            weights = np.ones(len(record.y)) if record.weights is None else record.weights
            own = source_thresholds(scores, known.codes, weights, len(known.names), coverage)
            thresholds = np.where(codes != UNKNOWN_SOURCE, own[codes], thresholds)
        return in_set(proba, thresholds)

    def _new_threshold(self, coverage: float) -> float:
        """Give the threshold of rows whose source is not known."""
        known, record = getattr(self, "known_sources_", None), self.held_out_
        if known is not None and known.left_out is not None:
            left = known.left_out
            return new_source_threshold(left.scores, left.sources, left.weights, coverage)
        weights = np.ones(len(record.y)) if record.weights is None else record.weights
        scores = held_out_scores(record.pooled, record.y)
        return weighted_threshold(scores, weights / weights.mean(), coverage, 1.0)
