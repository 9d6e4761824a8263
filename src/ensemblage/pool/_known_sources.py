"""A pool of members that know where rows come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.fusion import Fusion, member_outputs
from ensemblage.messages import expect, expect_array, expect_fitted
from ensemblage.parallel import Fold, deal_folds, draw_seeds
from ensemblage.pool._budget import Clock
from ensemblage.pool._fitted_pool import FittedPool, Learned, PoolPlan, describe_pool, learn_pool
from ensemblage.pool._leaderboard import Leaderboard
from ensemblage.pool._new_sources import LeftOutScores, leave_sources_out
from ensemblage.pool._pool_rows import Array, Indices, PoolRows
from ensemblage.pool._pooling import cross_fitted, folds_of_known
from ensemblage.pool._recipe import Recipe
from ensemblage.pool._source_members import source_recipes
from ensemblage.pool._source_offsets import Codes, choose_ridge, fit_offsets, spoken
from ensemblage.pool._voices import PoolDecision, hear
from ensemblage.strata import UNKNOWN, SourceCodes, number_sources, source_classes


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
    offsets: Array
    ridge: float
    codes: Codes
    left_out: LeftOutScores | None = None

    @property
    def __columns_added__(self) -> int:
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

    def __check_state__(self) -> None:
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


def ask_told(known: KnownSources, X: Array, codes: Codes) -> Array:
    """Ask the members about rows of known sources, (n_members, n_samples, n_classes)."""
    told = tell_sources(X, codes, len(known.names))
    asked = zip(known.pool.estimators, known.pool.responses, strict=True)
    n_classes = known.offsets.shape[1]
    return np.stack([member_outputs(each, told, n_classes, by) for each, by in asked])


def answer_told(known: KnownSources, X: Array, codes: Codes) -> Array:
    """Give probabilities of rows of known sources, (n_samples, n_classes)."""
    return shift(known.pool.fusion.combine(ask_told(known, X, codes)), codes, known.offsets)


def explain_told(known: KnownSources, row: Array, code: int, classes: Any) -> PoolDecision:
    """Take the answer about one row of a source apart."""
    outputs, pool = ask_told(known, row, np.array([code])), known.pool
    decision = hear(pool.names, outputs, pool.fusion, classes, known.offsets[code])
    return replace(decision, source=known.names.tolist()[code])


def name_sources(
    told: Any, X: Any, rows: PoolRows, recipes: Sequence[Recipe], fusion: Fusion
) -> SourceCodes:
    """Give sources of the rows that are left numbers; refuse a pool without probabilities."""
    if not fusion.gives_probabilities(all(each.response == "predict_proba" for each in recipes)):
        raise ValueError(
            f"sources were given, but fusion={fusion!r} gives no probabilities with these "
            "members. Use fusion='logpool', or members with predict_proba."
        )
    names, codes = number_sources(told, X, gaps=True)
    return SourceCodes(names, codes if rows.numbers is None else codes[rows.numbers])


def tell_sources(X: Array, codes: Codes, n_sources: int) -> Array:
    """Put a column per source behind the others, one for its own rows and else zero."""
    return np.column_stack([X, np.eye(n_sources, dtype=X.dtype)[codes]])


def shift(proba: Array, codes: Codes, offsets: Array) -> Array:
    """Add the sources' offsets to log probabilities."""
    nobody = np.zeros(len(codes), dtype=np.intp)
    return np.asarray(np.exp(spoken(proba, nobody, codes, None).shifted(offsets)))


def deal_by_source(rows: PoolRows, codes: Codes, cv: Any, seed: int) -> PoolRows:
    """Let folds keep the shares of sources and classes, where they are ours to make."""
    if rows.grouped or len(rows.folds) == 1 or not isinstance(cv, Integral):
        return rows
    pairs = source_classes(codes, rows.y)
    folds = deal_folds(pairs, min(int(cv), len(pairs)), np.random.default_rng(seed))
    return rows._replace(folds=folds)


def sources_plan(plan: PoolPlan, clock: Clock | None, seed: int, n_sources: int) -> PoolPlan:
    """Plan the pool of known sources like the other."""
    recipes = source_recipes(n_sources)
    seeds = draw_seeds(seed, len(recipes))
    return plan._replace(recipes=recipes, seeds=seeds, clock=clock)


def fit_known_sources(
    plan: PoolPlan, rows: PoolRows, sources: SourceCodes, without: Learned
) -> KnownSources:
    """Fit a pool to the rows whose source is known, and learn what each source adds.

    ``without`` is the pool that does not know sources.
    """
    known = np.flatnonzero(sources.codes != UNKNOWN)
    codes = sources.codes[known]
    told = _only(rows, known)._replace(X=tell_sources(rows.X[known], codes, len(sources.names)))
    learned = learn_pool(plan, told)
    fused = cross_fitted(plan.fusion, learned.verdict, told)
    heard = learned.verdict.known
    folds = folds_of_known(heard, told)
    said = spoken(fused, told.y[heard], codes[heard], told.weights_at(heard))
    ridge = choose_ridge(said, len(sources.names), folds)
    pooled = np.empty_like(fused)
    for train, test in folds:
        elsewhere = fit_offsets(said.take(train), len(sources.names), ridge)
        pooled[test] = np.exp(said.take(test).shifted(elsewhere))
    offsets = fit_offsets(said, len(sources.names), ridge)
    pool = describe_pool(learned, told, pooled)
    given = np.arange(len(rows.y)) if rows.numbers is None else rows.numbers
    rows_heard = sources.codes[np.searchsorted(given, pool.held_out.rows)]
    left_out = None
    if plan.clock is None:
        left_out = leave_sources_out(without, rows, sources.codes, plan.n_jobs)
    return KnownSources(sources.names, pool, offsets, ridge, rows_heard, left_out)


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
