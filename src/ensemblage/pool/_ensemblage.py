"""The pool: members of all three kinds of diversity, tuned, fused and fitted again."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ensemblage._core import (
    UNKNOWN_SOURCE,
    DocLinkMixin,
    Fold,
    HasMethods,
    Interval,
    StrOptions,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    fit_context,
    guarded_fit,
    read_weights,
    set_module,
    short_weights,
    take_rows,
    warn_user,
    with_shared,
)
from ensemblage.datasets import ENCODE_CONSTRAINT, ENCODE_DOCS, EncodeMixin, TableEncoder
from ensemblage.fusion import RESPONSE_METHODS, Fusion, LogLinearPool
from ensemblage.pool._distillation import Distilled, Soft, distil, make_readable
from ensemblage.pool._fit import (
    MANY_ROWS,
    Clock,
    FittedPool,
    PoolPlan,
    cross_fitted,
    describe_pool,
    learn_pool,
    make_fusion,
)
from ensemblage.pool._leaderboard import (
    Contributions,
    HeldOutRecord,
    Leaderboard,
    PrunedPool,
    frontier,
    fuse_again,
    fused_again,
    leave_places_out,
)
from ensemblage.pool._member_spec import NUMBERS, TABLE, PoolRows, one_hold_out, shared_folds
from ensemblage.pool._members import NUMBER_POOLS, POOLS, resolve_pool
from ensemblage.pool._row_explanation import NumberDecision, PoolDecision, hear, hear_number
from ensemblage.pool._sources import (
    KnownSources,
    SourceAnswersMixin,
    check_coverage,
    deal_by_source,
    explain_told,
    fit_known_sources,
    name_sources,
    reach,
    sources_plan,
)
from ensemblage.pool._targets import (
    LevelSpread,
    PoolClasses,
    PoolNumbers,
    PoolTarget,
    learn_level_spread,
)
from ensemblage.sources import split_source_column

Doubles = NDArray[np.float64]


NUMBER_RESPONSES = ("predict", "predict_std")
"""What regressors are asked for."""


def check_pool(pool: Any, n_classes: int | None) -> None:
    """Refuse members, what they are asked, or a fusion that do not belong together.

    The number of classes is None for a pool of numbers.
    """
    n_members = len(pool.estimators_)
    expect(n_members > 0, "it has no members")
    for name in ("member_names_", "responses_", "views_"):
        expect(len(getattr(pool, name)) == n_members, f"{name} has another length")
    expect_fitted(pool, {"member_names_": "words (members)"}, members=n_members)
    expect(isinstance(pool.leaderboard_, Leaderboard), "leaderboard_ is none")
    known = NUMBER_RESPONSES if n_classes is None else RESPONSE_METHODS
    expect(set(pool.responses_) <= set(known), "responses_ are not known")
    expect(set(pool.views_) <= {NUMBERS, TABLE}, "views_ are not known")
    if isinstance(pool.fusion_, LogLinearPool):
        known_classes = None if pool.fusion_.numeric_ else len(pool.fusion_.class_prior_)
        lengths = (len(pool.fusion_.weights_), known_classes)
        expect(lengths == (n_members, n_classes), "fusion_ is of another pool")
    _check_record(pool.held_out_, n_classes)


def _check_record(record: HeldOutRecord, n_classes: int | None) -> None:
    """Refuse arrays of other lengths: classes of rows are indices of their probabilities."""
    n_members, n_rows = len(record.names), len(record.y)
    expect(len(record.places) == n_members, "places has another length")
    if n_classes is None:
        expect_array(record, "outputs", [n_members, n_rows, 2])
        expect_array(record, "pooled", [n_rows, 2])
        expect_array(record, "y", [n_rows])
        variances = np.append(record.outputs[:, :, 1], record.pooled[:, 1])
        expect(bool((variances > 0).all()), "a variance is not above zero")
    else:
        expect_array(record, "outputs", [n_members, n_rows, n_classes])
        expect_array(record, "pooled", [n_rows, n_classes], low=0, high=1 + 1e-6)
        expect_array(record, "y", [n_rows], "integer", low=0, high=n_classes - 1)
    expect_array(record, "rows", [n_rows], "integer", low=0)
    if record.weights is not None:
        expect_array(record, "weights", [n_rows], low=0)


# one layout in memory, so that a frame and an array of the same numbers give the same bits
ARRAYS = {"dtype": [np.float64, np.float32], "order": "C"}


class PoolMixin(EncodeMixin):
    """Reads rows, keeps and asks members, and tells what a pool is made of."""

    member_names_: list[str]
    estimators_: list[Any]
    responses_: list[str]
    views_: list[str]
    fusion_: Fusion
    leaderboard_: Leaderboard
    held_out_: HeldOutRecord
    cv: Any

    _shows_table: ClassVar[bool] = True

    def _read_target(self, y: Any) -> tuple[NDArray[Any], PoolTarget]:
        """Validate what is to be predicted; give it as numbers, and what it is."""
        raise NotImplementedError  # look: ok

    def _target(self) -> PoolTarget:
        """Give what was read in ``fit``."""
        raise NotImplementedError  # look: ok

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any, fold_seed: int) -> PoolRows:
        """Validate what ``fit`` was given, drop rows without weight, and make the folds."""
        given = X if hasattr(X, "shape") else np.array(X, dtype=object)
        X, y = self._training_rows(X, y, sample_weight, **ARRAYS, ensure_min_samples=2)
        table = given if isinstance(getattr(self, "encoder_", None), TableEncoder) else None
        check_consistent_length(X, groups)
        weights, numbers = None, np.arange(len(y))
        if sample_weight is not None:
            weights = short_weights(read_weights(sample_weight, X))
            present = weights > 0
            X, y, weights = X[present], y[present], weights[present]
            numbers = np.flatnonzero(present)
            table = None if table is None else take_rows(table, numbers)
            groups = None if groups is None else np.asarray(groups)[present]
        y, target = self._read_target(y)
        rows = PoolRows(X, y, target, weights, [], groups is not None, numbers, table)
        return rows._replace(folds=self._folds(rows, fold_seed, groups))

    def _folds(self, rows: PoolRows, seed: int, groups: Any) -> list[Fold]:
        """Make the folds that all members share."""
        return shared_folds(rows.labels, self.cv, seed, groups)

    def _store(self, pool: FittedPool) -> None:
        """Keep the members that have a say, and what is known of all; warn of those left out."""
        self.member_names_, self.estimators_ = pool.names, pool.estimators
        self.responses_, self.views_, self.fusion_ = pool.responses, pool.views, pool.fusion
        self.leaderboard_, self.held_out_ = pool.leaderboard, pool.held_out
        if pool.leaderboard.left_out:
            warn_user(" ".join(pool.leaderboard.left_out))

    def _ask(self, X: Any) -> Doubles:
        """Ask the members about rows, (n_members, n_samples, n_outputs)."""
        check_is_fitted(self)
        given = X if hasattr(X, "shape") else np.array(X, dtype=object)
        seen, target = {NUMBERS: self._new_rows(X, **ARRAYS), TABLE: given}, self._target()
        asked = zip(self.estimators_, self.responses_, self.views_, strict=True)
        return np.stack([target.outputs(each, seen[sees], by) for each, by, sees in asked])

    def contributions(self) -> Contributions:
        """Tell what the pool would lose without each place of diversity.

        Returns
        -------
        Contributions
            Log loss without each place, on rows that the pool has not seen. Only the fusion is
            fitted again. It is of members that do not know sources.
        """
        check_is_fitted(self)
        return leave_places_out(self.held_out_, self._unfitted_fusion())

    def _unfitted_fusion(self) -> Fusion:
        """Give the fusion with the options that it was fitted with."""
        fusion: Fusion = clone(self.fusion_)
        return fusion

    def frontier(self) -> list[PrunedPool]:
        """List ever smaller pools: how long each takes to predict, and at what loss.

        Returns
        -------
        list of PrunedPool
            From all members that count to one; each time the member goes that costs the least
            loss per second saved.
        """
        check_is_fitted(self)
        seconds = {
            each.member: each.predict_seconds
            for each in self.leaderboard_[1:]
            if each.member in self.member_names_
        }
        return frontier(self.held_out_, seconds, self._unfitted_fusion())

    def prune(self, max_latency: float) -> Self:
        """Give a pool that predicts faster; this one stays as it is, and so does that of sources.

        Parameters
        ----------
        max_latency : float
            Seconds for 100 rows, as ``frontier`` has them.

        Returns
        -------
        object
            Fitted, of the largest pool of ``frontier`` that is fast enough; the fusion is fitted
            again for its members.
        """
        points = self.frontier()
        fast = [each for each in points if each.latency <= max_latency]
        if not fast:
            least = min(each.latency for each in points)
            raise ValueError(
                f"max_latency={max_latency!r} is less than the {least:.2g} s for 100 rows that the "
                "fastest of the pools takes. Allow more; frontier() lists what each costs."
            )
        kept = [k for k, name in enumerate(self.member_names_) if name in fast[0].members]
        pruned = copy(self)
        for name in ("member_names_", "estimators_", "responses_", "views_"):
            setattr(pruned, name, [getattr(self, name)[k] for k in kept])
        pruned.fusion_ = fuse_again(self.held_out_, pruned.member_names_, self._unfitted_fusion())
        return pruned


@set_module("ensemblage.pool")
@with_shared(ENCODE_DOCS)
class EnsemblageClassifier(PoolMixin, SourceAnswersMixin, DocLinkMixin, BaseEstimator):
    r"""A pool of members from all three places of diversity, which need no tuning by hand.

    Members of the usual kinds and of this library are tuned on shared folds. What they say of
    rows that they have not seen teaches a fusion how much to listen to each; those who count are
    then fitted to all rows.

    Parameters
    ----------
    pool : {"lean", "full", "ours", "anchors"} or list, default="lean"
        The members. ``"anchors"`` are a support vector machine, logistic regression, two forests
        and boosting; ``"lean"`` adds the inner network and the joint subspaces, ``"full"`` the
        strata too; ``"ours"`` are these three alone. A list holds names of members, classifiers,
        or pairs of a name and a classifier.
    fusion : {"log_linear", "stacking"} or Fusion, default="log_linear"
        How members' outputs become one. ``"log_linear"`` is
        :class:`~ensemblage.fusion.LogLinearPool` with
        class biases, a temperature and a floor.
    cv : int, splitter or iterable, default=5
        The folds on which all members are tuned and held out.
    time_budget : float, default=None
        Seconds that ``fit`` may take; None for as long as it takes. Members are then tried by
        what they are worth per second, on as many rows as time allows. Beyond 10,000 rows, rows
        are held out once instead of in folds, and boosting is grown to its end before all others.
    {encode}
    n_jobs : int, default=None
        Fits at the same time, through joblib.
    random_state : int, RandomState instance or None, default=None
        For the folds and the members.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimators_ : list of classifiers
        Fitted members that have a say; they know classes by their number.
    member_names_ : list of str
        Their names.
    responses_ : list of {"predict_proba", "decision_function", "predict"}
        What each is asked for.
    views_ : list of {"numbers", "table"}
        What each sees: the table itself, or the numbers that were made of it.
    fusion_ : Fusion
        Fitted, for these members.
    leaderboard_ : Leaderboard
        What the pool and each member are worth on rows that they have not seen.
    held_out_ : HeldOutRecord
        What they said of these rows.
    known_sources_ : KnownSources
        What answers rows of known sources; only after a fit with ``sources``. All else here is of
        the pool that does not know them.
    source_column_ : str or None
        Name of the column of ``fit`` that told the sources; only after such a fit.
    {encoder_}
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    EnsemblageRegressor : The same of numbers.
    ensemblage.fusion.LogLinearPool : The fusion.
    ensemblage.strata.StrataEnsembleClassifier : Diversity in the rows alone.
    ensemblage.subspace.JointSubspaceClassifier : Diversity in the columns alone.
    ensemblage.inner.InnerBayesNetClassifier : Diversity in the decisions alone.

    Notes
    -----
    The pool is eq. 10 of the joint-subset paper with learned importances,
    :math:`p(c|x) \propto \exp \frac1T (b_c + \sum_k i_k \log p_k(c|x))`. Forests are judged out of
    bag and strata by their own folds, of which only the gate is fitted again; where rows belong to
    ``groups``, forests are judged by the folds too, and there are no biases :math:`b_c`.

    With ``sources``, folds keep the shares of sources and classes. The pool of known sources has
    partial pooling, boosting and a forest, all told the source; what it says of a source's rows
    is shifted by offsets that are drawn to zero (:class:`KnownSources`). Sources of a few rows or
    of one class need no care: they borrow from the others. A row of ``fit`` whose source is
    missing is learned by the other pool only.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ensemblage.pool import EnsemblageClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = EnsemblageClassifier(["logistic", "forest"], random_state=0).fit(X, y)
    >>> bool(model.leaderboard_[0].accuracy > 0.95)
    True
    """

    # what keeps folds apart outside keeps members apart inside, without being asked for
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True, "sources": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "pool": [StrOptions(set(POOLS)), list, tuple],
        "fusion": [StrOptions({"log_linear", "stacking"}), HasMethods(["fit", "combine"])],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
        "time_budget": [Interval(Real, 0, None, closed="neither"), None],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        pool: Any = "lean",
        *,
        fusion: Any = "log_linear",
        cv: Any = 5,
        time_budget: float | None = None,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.pool = pool
        self.fusion = fusion
        self.cv = cv
        self.time_budget = time_budget
        self.encode = encode
        self.n_jobs = n_jobs
        self.random_state = random_state

    # prefer_skip_nested_validation=False: members validate their own parameters
    @guarded_fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, sources: Any = None
    ) -> Self:
        """Tune the members on shared folds, learn to fuse them, and fit those who count.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: numbers, and with ``encode`` also words, dates and gaps. Members, a
            user's own too, see the numbers that are made of them.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; rows with weight zero are as good as absent.
        groups : array-like of shape (n_samples,), default=None
            Rows that belong together: no member speaks in training about a row whose group it
            has seen.
        sources : array-like of shape (n_samples,) or str, default=None
            Where each row comes from, or the column of X that tells; members do not see this
            column. A second pool is then fitted to rows whose source is not missing, of members
            that know it.

        Returns
        -------
        self : object
            Fitted pool.
        """
        recipes = resolve_pool(self.pool, weighted=sample_weight is not None)
        fusion = make_fusion(self.fusion, grouped=groups is not None)
        clock = self._clock(halved=sources is not None)
        fold_seed, *seeds, source_seed = draw_seeds(self.random_state, 2 + len(recipes))
        X, told = split_source_column(X, sources)
        rows = self._read(X, y, sample_weight, groups, fold_seed)
        named = None if told is None else name_sources(told, X, rows, recipes, fusion)
        if named is not None:
            rows = deal_by_source(rows, named[1], self.cv, fold_seed)
        plan = PoolPlan(recipes, seeds, fusion, clock, self.n_jobs)
        learned = learn_pool(plan, rows)
        self._store(describe_pool(learned, rows, cross_fitted(fusion, learned.verdict, rows)))
        self.__dict__.pop("known_sources_", None)
        if named is not None:
            self.source_column_ = sources if isinstance(sources, str) else None
            plan = sources_plan(plan, self._clock(halved=True), source_seed, len(named[0]))
            self.known_sources_ = fit_known_sources(plan, rows, *named, learned)
            self.leaderboard_ = replace(self.leaderboard_, note=self.known_sources_.note)
        return self

    def _clock(self, *, halved: bool) -> Clock | None:
        """Start a clock, if there is a budget; the pools with and without sources halve it."""
        return None if self.time_budget is None else Clock(self.time_budget / (1 + halved))

    def _read_target(self, y: Any) -> tuple[NDArray[np.intp], PoolClasses]:
        check_classification_targets(y)
        self.classes_, y = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            named = "".join(f", {each!r}" for each in self.classes_.tolist())
            raise ValueError(f"y holds one class only{named}; a classifier needs at least two.")
        return y, PoolClasses(self.classes_)

    def _folds(self, rows: PoolRows, seed: int, groups: Any) -> list[Fold]:
        timed = self.time_budget is not None and isinstance(self.cv, Integral)
        if timed and len(rows.y) > MANY_ROWS:
            return one_hold_out(rows.y, seed, groups)
        return super()._folds(rows, seed, groups)

    def _check_fitted(self) -> None:
        """Refuse attributes that do not belong together."""
        check_pool(self, len(self.classes_))
        known = vars(self).get("known_sources_")
        expect(known is None or isinstance(known, KnownSources), "known_sources_ are none")

    def _returns_probabilities(self) -> bool:
        if hasattr(self, "responses_"):
            responses, fusion = self.responses_, self.fusion_
        else:
            responses = [each.response for each in resolve_pool(self.pool)]
            fusion = make_fusion(self.fusion, grouped=False)
        probable = all(name == "predict_proba" for name in responses)
        return bool(fusion.returns_probabilities(probable))

    def _target(self) -> PoolClasses:
        return PoolClasses(self.classes_)

    def _scores_without(self, X: Any) -> Doubles:
        return np.asarray(self.fusion_.combine(self._ask(X)))

    def _numbers(self, X: Any) -> Doubles:
        return np.asarray(self._new_rows(X, **ARRAYS))

    def explain_row(self, x: Any, source: Any = None) -> PoolDecision:
        """Tell who said what of one row, and what it meant for the answer.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a frame with one row
            The row.
        source : object, default=None
            Where it comes from; the pool of known sources is asked if it knows it.

        Returns
        -------
        PoolDecision
            The answer, and each member's probabilities, weight and push; prints as a table.
        """
        row = x if hasattr(x, "columns") else np.asarray(x).reshape(1, -1)
        row, codes = self._look_up(row, None if source is None else [source])
        if codes[0] == UNKNOWN_SOURCE:
            return hear(self.member_names_, self._ask(row), self.fusion_, self.classes_)
        told = self._numbers(row)
        return explain_told(self.known_sources_, told, int(codes[0]), self.classes_)

    def distill(
        self,
        X: Any,
        y: Any = None,
        *,
        kind: str = "tree",
        max_leaves: int = 16,
        training: bool = False,
    ) -> Distilled:
        """Fit one readable model to what the pool says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; they need no classes.
        y : array-like of shape (n_samples,), default=None
            Their classes, to judge the model by.
        kind : {"tree", "network", "logistic"}, default="tree"
            A decision tree, a Bayesian network, or logistic regression.
        max_leaves : int, default=16
            Leaves of the tree at most.
        training : bool, default=False
            Whether X are the rows of ``fit``, in their order: then the model learns what the pool
            said of each when it had not seen it.

        Returns
        -------
        Distilled
            The model, its fidelity to the pool, and its own score.
        """
        check_is_fitted(self)
        model = make_readable(kind, max_leaves, encoded=hasattr(self, "encoder_"))
        if training:
            known = self.held_out_.rows
            targets = self.held_out_.pooled.astype(float)
            X, y = take_rows(X, known), None if y is None else np.asarray(y)[known]
        else:
            targets = self.predict_proba(X)
        X, _ = self._look_up(X, None)
        numbers = None if y is None else np.searchsorted(self.classes_, y)
        return distil(model, X, Soft(targets, self.classes_), numbers)


@set_module("ensemblage.pool")
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
    fusion : {"log_linear", "mean", "stacking"} or Fusion, default="log_linear"
        How members' densities become one. ``"log_linear"`` is
        :class:`~ensemblage.fusion.LogLinearPool`.
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
    ensemblage.fusion.LogLinearPool : The fusion.
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
        "fusion": [StrOptions({"log_linear", "mean", "stacking"}), HasMethods(["fit", "combine"])],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        pool: Any = "lean",
        *,
        fusion: Any = "log_linear",
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
    @fit_context(prefer_skip_nested_validation=False)
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

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Doubles:
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

    def _fused(self, X: Any) -> Doubles:
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
        return PoolNumbers.read(y, np.ones(len(y)))

    def _target(self) -> PoolNumbers:
        return PoolNumbers(self.target_scale_)

    def _check_fitted(self) -> None:
        """Refuse attributes that do not belong together."""
        check_pool(self, None)
        expect(bool(np.isfinite(self.target_mean_)), "target_mean_ is not finite")
        expect(bool(0 < self.target_scale_ < np.inf), "target_scale_ is not above zero")
        expect(len(self.spread_levels_) == 2, "spread_levels_ are not two")
        expect(self._spread().is_sound, "the spread is not above zero and finite")
