"""All three places of diversity at once, for numbers."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ensemblage.messages import DocLinkMixin, expect, with_shared
from ensemblage.parallel import draw_seeds, guarded_fit
from ensemblage.pool._conformal import check_coverage, reach
from ensemblage.pool._fitted_pool import PoolPlan, describe_pool, learn_pool
from ensemblage.pool._held_out_record import fused_again
from ensemblage.pool._level_spread import LevelSpread, learn_level_spread
from ensemblage.pool._members import NUMBER_POOLS, resolve_pool
from ensemblage.pool._pool_base import PoolMixin
from ensemblage.pool._pool_rows import Array
from ensemblage.pool._pool_state import check_pool
from ensemblage.pool._pool_targets import PoolNumbers
from ensemblage.pool._pooling import cross_fitted, make_fusion
from ensemblage.pool._voices import NumberDecision, hear_number
from ensemblage.strata import read_numbers
from ensemblage.tables import ENCODE_CONSTRAINT, ENCODE_DOCS


@with_shared(ENCODE_DOCS)
class EnsemblageRegressor(PoolMixin, RegressorMixin, DocLinkMixin, BaseEstimator):
    r"""A pool of regressors of the usual kinds and of this library, which need no tuning by hand.

    Members are tuned on shared folds. What they say of rows that they have not seen tells how far
    each is off, and teaches a fusion how much to listen to each; those who count are then fitted to
    all rows.

    Parameters
    ----------
    pool : {"lean", "full", "anchors"} or list, default="lean"
        The members. ``"anchors"`` are ridge regression, a support vector machine, two forests and
        boosting; ``"lean"`` adds the crowd tree, ``"full"`` the strata too. A list holds names of
        members, regressors, or pairs of a name and a regressor.
    fusion : {"logpool", "mean", "stacking"} or Fusion, default="logpool"
        How members' densities become one. ``"logpool"`` is :class:`~ensemblage.fusion.DensityPool`.
    cv : int, splitter or iterable, default=5
        The folds on which all members are tuned and held out.
    {encode}
    n_jobs : int, default=None
        Fits at the same time, through joblib.
    random_state : int, RandomState instance or None, default=None
        For the folds and the members.

    Attributes
    ----------
    estimators_ : list of regressors
        Fitted members that have a say.
    member_names_ : list of str
        Their names.
    responses_ : list of {"predict", "predict_std"}
        What each is asked for; the second tells its spread, too.
    views_ : list of {"numbers", "table"}
        What each sees: the table itself, or the numbers that were made of it.
    fusion_ : Fusion
        Fitted, for these members.
    leaderboard_ : Leaderboard
        What the pool and each member are worth on rows that they have not seen.
    held_out_ : HeldOutRecord
        What they said of these rows.
    target_mean_, target_scale_ : float
        Mean and standard deviation of the target in training.
    spread_factor_, spread_floor_ : float
        By which the fused variance is multiplied, and what is added to it: as makes rows most
        likely that neither members nor fusion had seen.
    spread_growth_, spread_levels_ : float, tuple of float
        Log of how many times as large that variance is where the prediction is highest as where it
        is lowest, and these two predictions; 0 where no growth is clear.
    {encoder_}
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    EnsemblageClassifier : The same of classes; only it has a budget of seconds, known sources and
        distilling so far.
    ensemblage.fusion.DensityPool : The fusion.
    ensemblage.strata.StrataEnsembleRegressor : Diversity in the rows alone.
    ensemblage.inner.InnerTreeRegressor : Diversity in the decisions alone.

    Notes
    -----
    A member says a normal density: its prediction :math:`\mu_k`, and a variance :math:`s_k^2`
    learned from its residuals on rows that it has not seen. The pool is eq. 10 of the joint-subset
    paper, :math:`p(y|x) \propto \prod_k p_k(y|x)^{i_k}`, which is normal again: its precision is
    :math:`\sum_k i_k / s_k^2`, and its mean that of the members, weighted by their parts of the
    precision. Members whose ``predict`` tells no spread of its own are off by as much on all rows.
    Importances fit the rows that they were learned from a little too well, variances that differ
    from row to row may not hold, and large numbers are often known less exactly than small ones:
    by rows that neither members nor fusion had seen the variance becomes
    :math:`(a s^2 + b)\, e^{g t}`, where t, between 0 and 1, tells how high the prediction lies
    between the lowest one and the highest.

    Forests are judged out of bag and strata by their own folds, of which only the gate is fitted
    again; where rows belong to ``groups``, forests are judged by the folds too.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ensemblage.pool import EnsemblageRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = EnsemblageRegressor(["ridge", "svr"], random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(X, coverage=0.9).T
    >>> bool(0.87 < ((low <= y) & (y <= high)).mean() < 0.95)
    True
    """

    # what keeps folds apart outside keeps members apart inside, without being asked for
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "pool": [StrOptions(set(NUMBER_POOLS)), list, tuple],
        "fusion": [StrOptions({"logpool", "mean", "stacking"}), HasMethods(["fit", "combine"])],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        pool: Any = "lean",
        *,
        fusion: Any = "logpool",
        cv: Any = 5,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.pool = pool
        self.fusion = fusion
        self.cv = cv
        self.encode = encode
        self.n_jobs = n_jobs
        self.random_state = random_state

    # prefer_skip_nested_validation=False: members validate their own parameters
    @guarded_fit
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Tune the members on shared folds, learn to fuse them, and fit those who count.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numbers, and with ``encode`` also words, dates and gaps. Members, a
            user's own too, see the numbers that are made of them.
        y : array-like of shape (n_samples,)
            Numbers to predict.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; rows with weight zero are as good as absent.
        groups : array-like of shape (n_samples,), default=None
            Rows that belong together: no member speaks in training about a row whose group it
            has seen.

        Returns
        -------
        self : object
            Fitted pool.
        """
        recipes = resolve_pool(self.pool, weighted=sample_weight is not None, numbers=True)
        fusion = make_fusion(self.fusion, grouped=groups is not None, numbers=True)
        fold_seed, *seeds = draw_seeds(self.random_state, 1 + len(recipes))
        rows = self._read(X, y, sample_weight, groups, fold_seed)
        learned = learn_pool(PoolPlan(recipes, seeds, fusion, None, self.n_jobs), rows)
        self.target_mean_ = float(rows.prior[0])
        self.target_scale_ = float(np.sqrt(rows.prior[1]))
        pooled, known = cross_fitted(fusion, learned.verdict, rows), learned.verdict.known
        spread = learn_level_spread(pooled, rows.y[known], rows.weights_at(known))
        self._keep_spread(spread)
        self._store(describe_pool(learned, rows, spread.widen(pooled)))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict numbers, and how far they may be off.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Also give the standard deviation of what is predicted.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predictions.
        std : ndarray of shape (n_samples,)
            Only with ``return_std=True``.
        """
        mean, variance = self._fused(X).T
        return (mean, np.sqrt(variance)) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        r"""Give an interval that holds the truth for a share of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        coverage : float, default=0.9
            The share of rows whose truth is to be inside, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper bounds.

        Notes
        -----
        Conformal: the interval is :math:`\mu(x) \pm q\, s(x)`, with q such that a share of the
        residuals on rows that the pool had not seen, each in units of its :math:`s(x)`, is at most
        q. Where rows are too few for a coverage, q is the largest residual seen.
        """
        check_coverage(coverage)
        mean, variance = self._fused(X).T
        half = reach(self.held_out_, coverage) * np.sqrt(variance)
        return np.column_stack([mean - half, mean + half])

    def explain_row(self, x: Any) -> NumberDecision:
        """Tell who said what of one row, and what it meant for the answer.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a frame with one row
            The row.

        Returns
        -------
        NumberDecision
            The answer, and each member's number, spread, weight and push; prints as a table.
        """
        row = x if hasattr(x, "columns") else np.asarray(x).reshape(1, -1)
        outputs = self._ask(row)
        told = hear_number(self.member_names_, outputs, self.fusion_, self.target_mean_)
        widened = self._spread().widen(np.array([[told.prediction, told.spread**2]]))
        return replace(told, spread=float(np.sqrt(widened[0, 1])))

    def prune(self, max_latency: float) -> Self:
        pruned: Self = super().prune(max_latency)
        record = self.held_out_
        members = [record.names.index(name) for name in pruned.member_names_]
        fused = fused_again(record, self._unfitted_fusion(), members)
        pruned._keep_spread(learn_level_spread(fused, record.y, record.weights))
        return pruned

    prune.__doc__ = PoolMixin.prune.__doc__

    def _fused(self, X: Any) -> Array:
        """Fuse what members say of rows to means and variances, (n_samples, 2)."""
        outputs = self._ask(X)
        return self._spread().widen(self.fusion_.combine(outputs))

    def _keep_spread(self, spread: LevelSpread) -> None:
        self.spread_factor_, self.spread_floor_, self.spread_growth_, *levels = spread
        self.spread_levels_ = tuple(levels)

    def _spread(self) -> LevelSpread:
        sizes = self.spread_factor_, self.spread_floor_, self.spread_growth_
        return LevelSpread(*sizes, *self.spread_levels_)

    def _read_target(self, y: Any) -> tuple[NDArray[Any], PoolNumbers]:
        numbers, found = read_numbers(y, np.ones(len(y)))
        return numbers, PoolNumbers(found.scale)

    def _target(self) -> PoolNumbers:
        return PoolNumbers(self.target_scale_)

    def __check_state__(self) -> None:
        """Refuse attributes that do not belong together."""
        check_pool(self, None)
        expect(bool(np.isfinite(self.target_mean_)), "target_mean_ is not finite")
        expect(bool(0 < self.target_scale_ < np.inf), "target_scale_ is not above zero")
        expect(len(self.spread_levels_) == 2, "spread_levels_ are not two")
        expect(self._spread().is_sound, "the spread is not above zero and finite")
