"""The ensemble of jointly learned feature subsets."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions

from ensemblage.fusion import (
    FusedClassifierMixin,
    Fusion,
    FusionContext,
    SoftmaxGate,
    resolve_fusion,
)
from ensemblage.messages import expect, with_shared
from ensemblage.parallel import (
    Fold,
    deal_folds,
    draw_seeds,
    guarded_fit,
    run_tasks,
    with_callbacks,
)
from ensemblage.subspace._base import SUBSPACE_DOCS, JointSubspaceBase, Prepared
from ensemblage.subspace._development import (
    GATE_STRENGTHS,
    MAX_MEMBERS,
    Plan,
    Search,
    best_plan,
    development_folds,
    mean_scores,
    plan_scores,
)
from ensemblage.subspace._gated_refit import gate_of, loosely_gated, refit_with_gate
from ensemblage.subspace._member import (
    Array,
    Floats,
    Member,
    Rows,
    member_outputs,
    outputs_of,
)
from ensemblage.subspace._sequence import fit_sequence, member_weights
from ensemblage.subspace._settings import Settings
from ensemblage.subspace._strength import N_FOLDS
from ensemblage.tables import ENCODE_CONSTRAINT, ENCODE_DOCS

FUSIONS = {"product", "mean", "vote", "stacking", "local"}
OFFERED = frozenset({"X"})


def _outputs_elsewhere(rows: Rows, fold: Fold, seeds: list[int], settings: Settings) -> Array:
    """Fit members to the rows of a fold; give their outputs on the held-out ones."""
    members = list(fit_sequence(rows.take(fold.train), seeds, settings))
    return member_outputs(rows.features[:, fold.test], members)


@with_shared(SUBSPACE_DOCS + ENCODE_DOCS)
class JointSubspaceClassifier(FusedClassifierMixin, JointSubspaceBase):
    r"""Ensemble of softmax classifiers, each on features chosen while it learns.

    Members are fitted one after another. Each starts with all features, flips some in and out
    while it climbs, and keeps what serves the rows that the earlier members get wrong.

    Parameters
    ----------
    n_estimators : int or "auto", default=10
        Number of members. With "auto" it is chosen on a development split, and may be 1.
    {solver, basis}
    flip_probability : float or "auto", default="auto"
        Probability of flipping a feature in a proposal, in [0, 1]. At 0 every member uses all
        features. "auto" is 0.05, and 0.01 with ``solver="paper"``.
    {size_penalty}
    C : float or "auto", default=1.0
        Inverse strength of the ridge penalty, as in scikit-learn's logistic regression. "auto"
        takes the best power of ten for a single classifier, by cross-validation, and for a gate
        the best of 0.3, 3, 30 and 300 on the development split. ``solver="paper"`` fits members
        without a penalty.
    fusion : {"product", "mean", "vote", "stacking", "local", "auto"} or Fusion, default="product"
        How members' outputs become one. "stacking" and "local" learn from outputs on rows that
        the members have not seen, in five folds. "auto" takes the product or the refined gate,
        whichever is better on the development split.
    refine : {"gate"}, default=None
        With "gate", members and a softmax gate are refitted together after the sequential pass,
        and the gate takes the place of ``fusion``.
    importance : array-like of shape (n_estimators,), default=None
        Importance of each member in the product; equal if not given.
    {learning_rate, patience}
    max_iter : int, default=500
        At most so many proposals per member.
    {tol}
    {encode}
    n_jobs : int, default=None
        Folds and development splits in parallel; the members themselves are sequential.
    random_state : int, RandomState instance or None, default=None
        For the start, the proposals and the splits.

    Attributes
    ----------
    {classes_, coefs_, intercepts_, supports_, co_selection_, accuracy_path_}
    {n_iter_, n_estimators_}
    fusion_ : Fusion
        The fitted fusion; where members were refitted with a gate, a
        :class:`~ensemblage.fusion.SoftmaxGate` on standardised features.
    development_scores_ : dict
        Accuracy on the development split of each ensemble tried; only if one was chosen there.
    {encoder_, basis_, C_, mean_, scale_, n_features_in_, feature_names_in_}

    See Also
    --------
    JointSubspaceSelector : The same members, as a feature selector.

    Notes
    -----
    Member :math:`k` maximises its weighted accuracy (eq. 7) over coefficients and mask,

    .. math:: A_k = \frac{1}{M} \sum_m w_{km} [f_k(x_m) = y_m], \qquad
        w_{km} = 1 - \frac{1}{k-1} \sum_{k' < k} p_{k'}(y_m \mid x_m) \quad (8),

    with the weighted log-likelihood (eq. 9) in its place where a slope is needed. Members are
    linear; so their product is one linear classifier again, and a tuned logistic regression is
    its match. What can go beyond is the gate.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ensemblage.subspace import JointSubspaceClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> ensemble = JointSubspaceClassifier(n_estimators=3, random_state=0).fit(X, y)
    >>> ensemble.supports_.shape
    (3, 13)
    >>> ensemble.score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **JointSubspaceBase._parameter_constraints,  # noqa: SLF001
        "n_estimators": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "fusion": [StrOptions({*FUSIONS, "auto"}), Fusion],
        "refine": [StrOptions({"gate"}), None],
        "importance": ["array-like", None],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_estimators: Any = 10,
        *,
        solver: str = "lbfgs",
        basis: str = "linear",
        flip_probability: Any = "auto",
        size_penalty: Any = "auto",
        C: Any = 1.0,
        fusion: Any = "product",
        refine: str | None = None,
        importance: Any = None,
        learning_rate: Any = "auto",
        patience: int = 50,
        max_iter: int = 500,
        tol: float = 1e-4,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.solver = solver
        self.basis = basis
        self.flip_probability = flip_probability
        self.size_penalty = size_penalty
        self.C = C
        self.fusion = fusion
        self.refine = refine
        self.importance = importance
        self.learning_rate = learning_rate
        self.patience = patience
        self.max_iter = max_iter
        self.tol = tol
        self.encode = encode
        self.n_jobs = n_jobs
        self.random_state = random_state

    @guarded_fit
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members, then what fuses them.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            Rows: numbers, and with ``encode`` also words, dates and gaps.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._check_importance()
        fusion = self._resolve_fusion()
        prepared = self._prepare(X, y, sample_weight)
        most = MAX_MEMBERS if self.n_estimators == "auto" else self.n_estimators
        seeds = draw_seeds(prepared.random_state, most)
        plan = self._plan(prepared, seeds)
        seeds = seeds[: plan.n_members]
        members = self._fit_members(prepared.rows, prepared.settings, seeds)
        self._store(members)
        self.accuracy_path_ = [member.accuracy_path for member in members]
        if plan.gate is None:
            self.fusion_ = self._fit_fusion(fusion, prepared, seeds)
        else:
            self.fusion_ = self._refit_with_gate(prepared.rows, members, plan.gate, seeds[0])
        return self

    def _check_importance(self) -> None:
        if self.importance is None:
            return
        if self.fusion != "product" or self.refine is not None:
            raise ValueError(
                f"importance was given with fusion={self.fusion!r} and refine={self.refine!r}; it "
                "applies to fusion='product' with refine=None. Leave it out, or change those."
            )
        shape = np.shape(self.importance)
        if shape != (self.n_estimators,):
            raise ValueError(
                f"importance has shape {shape}; expected ({self.n_estimators},), one per member."
            )

    def _resolve_fusion(self) -> Fusion:
        """Give the fusion of members that are not refitted with a gate, or refuse it at once."""
        asked = "product" if self.fusion == "auto" else self.fusion
        fusion: Fusion = clone(resolve_fusion(asked, offered=OFFERED, importance=self.importance))
        return fusion

    def _search(self) -> Search:
        """Which ensembles to try: those that the parameters leave open."""
        product = self.refine is None
        if product and self.fusion != "auto":
            gates: tuple[float, ...] = ()
        elif product or self.C == "auto":
            gates = GATE_STRENGTHS
        else:
            gates = (float(self.C),)
        return Search(self.n_estimators == "auto", product, gates)

    def _plan(self, prepared: Prepared, seeds: list[int]) -> Plan:
        """Size and gate: as asked for, or the best on development splits."""
        search = self._search()
        only = search.only_plan(len(seeds))
        if only is not None:
            return only
        rows = prepared.rows
        folds = development_folds(rows.targets, prepared.rng)
        tasks = [(rows, fold, seeds, prepared.settings, search) for fold in folds]
        means = mean_scores(run_tasks(plan_scores, tasks, self.n_jobs))
        self.development_scores_ = {plan.name(): mean for plan, mean in means.items()}
        return best_plan(means)

    def _refit_with_gate(self, rows: Rows, members: list[Member], C: float, seed: int) -> Fusion:
        """Refit the members together with a gate; store them, and give the gate."""
        start, decay = loosely_gated(members, seed), 1.0 / (C * rows.total)
        supports = self._column_supports()
        mixture = refit_with_gate(rows, start, supports, decay)
        self.coefs_ = np.where(supports[:, None, :], mixture.coef, self.coefs_)
        self.intercepts_ = mixture.intercept
        return gate_of(mixture)

    def _fit_fusion(self, fusion: Fusion, prepared: Prepared, seeds: list[int]) -> Fusion:
        """Fit a fusion that learns on outputs for rows that the members have not seen."""
        if not fusion.learns:
            return fusion
        rows = prepared.rows
        outputs = self._unseen_outputs(prepared, seeds[: self.n_estimators_])
        weights = rows.weights.astype(float) * rows.total
        context = FusionContext(X=rows.features.T)
        return fusion.fit(outputs, rows.targets, context, sample_weight=weights)

    def _unseen_outputs(self, prepared: Prepared, seeds: list[int]) -> Array:
        """Each row's outputs by members of an ensemble fitted to the other folds."""
        rows = prepared.rows
        folds = deal_folds(rows.targets, N_FOLDS, prepared.rng)
        tasks = [(rows, fold, seeds, prepared.settings) for fold in folds]
        outputs = np.empty((len(seeds), rows.targets.size, rows.n_outputs))
        parts = run_tasks(_outputs_elsewhere, tasks, self.n_jobs)
        for fold, part in zip(folds, parts, strict=True):
            outputs[:, fold.test] = part
        return outputs

    def _member_outputs(self, columns: Floats) -> Array:
        seen = self._column_supports()[:, None, :]
        return outputs_of(columns, self.coefs_ * seen, self.intercepts_)

    def member_outputs(self, X: Any) -> Array:
        """Probabilities of each member.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_members, n_samples, n_classes)
            Before fusion.
        """
        return self._member_outputs(self._columns(X))

    def row_weights(self, X: Any, y: Any) -> Array:
        """Weights with which each member would learn these rows (eq. 8).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, all of them known from ``fit``.

        Returns
        -------
        ndarray of shape (n_members, n_samples)
            For the training rows, and if nothing was refined, the weights used in ``fit``, before
            ``sample_weight``.
        """
        outputs = self.member_outputs(X)
        labels = np.searchsorted(self.classes_, y)
        true = outputs[:, np.arange(len(labels)), labels]
        before = np.cumsum(true, axis=0) - true
        return np.array([member_weights(total, k) for k, total in enumerate(before)])

    def __check_state__(self) -> None:
        """Refuse members and a fusion that no fit makes."""
        super().__check_state__()
        if isinstance(self.fusion_, SoftmaxGate):
            shape = (self.n_estimators_, self.basis_.n_columns())
            expect(np.shape(self.fusion_.coef) == shape, "fusion_ is of other members")

    def _scores(self, X: Any) -> Array:
        columns = self._columns(X)
        return self.fusion_.combine(self._member_outputs(columns), FusionContext(X=columns.T))

    def _gives_probabilities(self) -> bool:
        return True
