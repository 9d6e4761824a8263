"""All three places of diversity at once."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ensemblage.fusion import take_rows
from ensemblage.messages import DocLinkMixin, expect, with_shared
from ensemblage.parallel import Fold, draw_seeds, guarded_fit
from ensemblage.pool._budget import MANY_ROWS, Clock
from ensemblage.pool._distilling import Distilled, Soft, distil, make_readable
from ensemblage.pool._fitted_pool import PoolPlan, describe_pool, learn_pool
from ensemblage.pool._known_sources import (
    KnownSources,
    deal_by_source,
    explain_told,
    fit_known_sources,
    name_sources,
    sources_plan,
)
from ensemblage.pool._members import POOLS, resolve_pool
from ensemblage.pool._pool_base import ARRAYS, PoolMixin
from ensemblage.pool._pool_rows import Array, PoolRows, one_hold_out
from ensemblage.pool._pool_state import check_pool
from ensemblage.pool._pool_targets import PoolClasses
from ensemblage.pool._pooling import cross_fitted, make_fusion
from ensemblage.pool._source_answers import SourceAnswersMixin
from ensemblage.pool._source_column import part_sources
from ensemblage.pool._voices import PoolDecision, hear
from ensemblage.strata import UNKNOWN
from ensemblage.tables import ENCODE_CONSTRAINT, ENCODE_DOCS


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
    EnsemblageRegressor : The same of numbers.
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

    # what keeps folds apart outside keeps members apart inside, without being asked for
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True, "sources": True}

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
    @guarded_fit
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

    def __check_state__(self) -> None:
        """Refuse attributes that do not belong together."""
        check_pool(self, len(self.classes_))
        known = vars(self).get("known_sources_")
        expect(known is None or isinstance(known, KnownSources), "known_sources_ are none")

    def _gives_probabilities(self) -> bool:
        if hasattr(self, "responses_"):
            responses, fusion = self.responses_, self.fusion_
        else:
            responses = [each.response for each in resolve_pool(self.pool)]
            fusion = make_fusion(self.fusion, grouped=False)
        probable = all(name == "predict_proba" for name in responses)
        return bool(fusion.gives_probabilities(probable))

    def _target(self) -> PoolClasses:
        return PoolClasses(self.classes_)

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
