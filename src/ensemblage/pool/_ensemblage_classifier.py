"""All three places of diversity at once."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from ensemblage.fusion import Fusion, member_outputs, take_rows
from ensemblage.messages import with_shared
from ensemblage.parallel import all_or_nothing, draw_seeds, read_weights
from ensemblage.pool._budget import MANY_ROWS, Clock
from ensemblage.pool._contributions import Contributions, leave_places_out
from ensemblage.pool._distilling import Distilled, Soft, distil, make_readable
from ensemblage.pool._fitted_pool import FittedPool, PoolPlan, describe_pool, learn_pool
from ensemblage.pool._known_sources import (
    deal_by_source,
    explain_told,
    fit_known_sources,
    name_sources,
    sources_plan,
)
from ensemblage.pool._leaderboard import Leaderboard
from ensemblage.pool._members import POOLS, resolve_pool
from ensemblage.pool._pool_rows import Array, PoolRows, one_hold_out, shared_folds
from ensemblage.pool._pool_state import check_pool
from ensemblage.pool._pooling import cross_fitted, make_fusion
from ensemblage.pool._pruning import PrunedPool, frontier, fuse_again
from ensemblage.pool._recipe import NUMBERS, TABLE
from ensemblage.pool._source_answers import SourceAnswersMixin
from ensemblage.pool._source_column import part_sources
from ensemblage.pool._voices import PoolDecision, hear
from ensemblage.strata import UNKNOWN
from ensemblage.tables import ENCODE_CONSTRAINT, ENCODE_DOCS, EncodeMixin, TableEncoder

# one layout in memory, so that a frame and an array of the same numbers give the same bits
ARRAYS = {"dtype": [np.float64, np.float32], "order": "C"}


@with_shared(ENCODE_DOCS)
class EnsemblageClassifier(EncodeMixin, SourceAnswersMixin, BaseEstimator):
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
    fusion : {"logpool", "stacking"} or Fusion, default="logpool"
        How members' outputs become one. ``"logpool"`` is :class:`~ensemblage.fusion.LogPool` with
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
    ensemblage.fusion.LogPool : The fusion.
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

    leaderboard_: Leaderboard

    # what keeps folds apart outside keeps members apart inside, without being asked for
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True, "sources": True}

    _shows_table = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "pool": [StrOptions(set(POOLS)), list, tuple],
        "fusion": [StrOptions({"logpool", "stacking"}), HasMethods(["fit", "combine"])],
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
        fusion: Any = "logpool",
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
    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=False)
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
        X, told = part_sources(X, sources)
        rows = self._read(X, y, sample_weight, groups, fold_seed)
        named = None if told is None else name_sources(told, X, rows, recipes, fusion)
        if named is not None:
            rows = deal_by_source(rows, named.codes, self.cv, fold_seed)
        plan = PoolPlan(recipes, seeds, fusion, clock, self.n_jobs)
        learned = learn_pool(plan, rows)
        self._store(describe_pool(learned, rows, cross_fitted(fusion, learned.verdict, rows)))
        self.__dict__.pop("known_sources_", None)
        if named is not None:
            self.source_column_ = sources if isinstance(sources, str) else None
            plan = sources_plan(plan, self._clock(halved=True), source_seed, len(named.names))
            self.known_sources_ = fit_known_sources(plan, rows, named, learned)
            self.leaderboard_ = replace(self.leaderboard_, note=self.known_sources_.note)
        return self

    def _clock(self, *, halved: bool) -> Clock | None:
        """Start a clock, if there is a budget; the pools with and without sources halve it."""
        return None if self.time_budget is None else Clock(self.time_budget / (1 + halved))

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any, fold_seed: int) -> PoolRows:
        """Validate what ``fit`` was given, drop rows without weight, and make the folds."""
        given = X if hasattr(X, "shape") else np.array(X, dtype=object)
        X, y = self._training_rows(X, y, **ARRAYS, ensure_min_samples=2)
        table = given if isinstance(getattr(self, "encoder_", None), TableEncoder) else None
        check_classification_targets(y)
        check_consistent_length(X, groups)
        weights, numbers = None, np.arange(len(y))
        if sample_weight is not None:
            weights = read_weights(sample_weight, X)
            present = weights > 0
            X, y, weights = X[present], y[present], weights[present]
            numbers = np.flatnonzero(present)
            table = None if table is None else take_rows(table, numbers)
            groups = None if groups is None else np.asarray(groups)[present]
        self.classes_, y = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            named = "".join(f", {each!r}" for each in self.classes_.tolist())
            raise ValueError(f"y holds one class only{named}; a classifier needs at least two.")
        once = self.time_budget is not None and isinstance(self.cv, Integral) and len(y) > MANY_ROWS
        folds = (
            one_hold_out(y, fold_seed, groups)
            if once
            else shared_folds(y, self.cv, fold_seed, groups)
        )
        grouped = groups is not None
        return PoolRows(X, y, len(self.classes_), weights, folds, grouped, numbers, table)

    def _store(self, pool: FittedPool) -> None:
        """Keep the members that have a say, and what is known of all; warn of those left out."""
        self.member_names_, self.estimators_ = pool.names, pool.estimators
        self.responses_, self.views_, self.fusion_ = pool.responses, pool.views, pool.fusion
        self.leaderboard_, self.held_out_ = pool.leaderboard, pool.held_out
        if pool.leaderboard.left_out:
            warnings.warn(" ".join(pool.leaderboard.left_out), UserWarning, stacklevel=5)

    def __check_state__(self) -> None:
        """Refuse attributes that do not belong together."""
        check_pool(self)

    def _gives_probabilities(self) -> bool:
        if hasattr(self, "responses_"):
            responses, fusion = self.responses_, self.fusion_
        else:
            responses = [each.response for each in resolve_pool(self.pool)]
            fusion = make_fusion(self.fusion, grouped=False)
        probable = all(name == "predict_proba" for name in responses)
        return bool(fusion.gives_probabilities(probable))

    def _ask(self, X: Any) -> Array:
        """Ask the members about rows, (n_members, n_samples, n_classes)."""
        check_is_fitted(self)
        given = X if hasattr(X, "shape") else np.array(X, dtype=object)
        seen = {NUMBERS: self._new_rows(X, **ARRAYS), TABLE: given}
        asked = zip(self.estimators_, self.responses_, self.views_, strict=True)
        return np.stack(
            [member_outputs(each, seen[sees], len(self.classes_), by) for each, by, sees in asked]
        )

    def _scores_without(self, X: Any) -> Array:
        return np.asarray(self.fusion_.combine(self._ask(X)))

    def _numbers(self, X: Any) -> Array:
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
        if codes[0] == UNKNOWN:
            return hear(self.member_names_, self._ask(row), self.fusion_, self.classes_)
        told = self._numbers(row)
        return explain_told(self.known_sources_, told, int(codes[0]), self.classes_)

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

    def prune(self, max_latency: float) -> EnsemblageClassifier:
        """Give a pool that predicts faster; this one stays as it is, and so does that of sources.

        Parameters
        ----------
        max_latency : float
            Seconds for 100 rows, as ``frontier`` has them.

        Returns
        -------
        EnsemblageClassifier
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
