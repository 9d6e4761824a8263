"""Joint feature-subset ensembles: classifier, regressor and selector."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    CallbackSupportMixin,
    DocLinkMixin,
    Fold,
    as_numbers,
    deal_folds,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    expect_values,
    fit_progress,
    guarded_fit,
    read_weights,
    refuse_overflow,
    run_tasks,
    set_module,
    with_callbacks,
    with_shared,
)
from ensemblage.datasets import ENCODE_CONSTRAINT, ENCODE_DOCS, EncodeMixin
from ensemblage.fusion import (
    FusedClassifierMixin,
    Fusion,
    FusionContext,
    Normals,
    SoftmaxGate,
    normal_product,
    resolve_fusion,
)
from ensemblage.subspace._co_selection import (
    binary_co_selection,
    co_selection,
    coefficient_sizes,
    contribution_sizes,
    group_sizes,
    power_mean_scores,
)
from ensemblage.subspace._objectives import (
    CLASSES,
    NUMBERS,
    FeatureBasis,
    Member,
    Objective,
    Rows,
    Scaling,
    Settings,
    as_features,
    as_rows,
    correlated_groups,
    member_logits,
    member_outputs,
    outputs_of,
    standardise,
    units_of,
)
from ensemblage.subspace._search import (
    GATE_STRENGTHS,
    MAX_MEMBERS,
    N_FOLDS,
    Plan,
    Search,
    best_plan,
    choose_strength,
    development_folds,
    fit_sequence,
    gate_of,
    loosely_gated,
    mean_scores,
    member_weights,
    plan_scores,
    refit_with_gate,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


# Squares of such numbers, or of the largest, still are numbers, in single precision too.
SMALLEST_NUMBER = 1e-18
FLIP_PROBABILITIES = {"paper": 0.01, "lbfgs": 0.05}

SUBSPACE_DOCS = """
solver : {"lbfgs", "paper"}, default="lbfgs"
    With "lbfgs" each member's coefficients are converged, and its mask is annealed. "paper"
    is Algorithm 1 to the letter, which stops after few steps.
basis : {"linear", "quadratic", "spline"}, default="linear"
    What members see of a feature. "quadratic" adds its square and its products with the other
    features of the mask, so that bands and interactions are found; "spline" a curve of six
    straight pieces. A mask flips a feature with all that is made of it.
size_penalty : float or "auto", default="auto"
    Weighted accuracy that a feature must add to be kept, per unit of mean row weight. "auto"
    is the accuracy that four rows make. Not used by ``solver="paper"``.
learning_rate : float or "auto", default="auto"
    Step of ``solver="paper"``; "auto" is four over the largest eigenvalue of the features'
    covariance.
patience : int, default=50
    Stop a member's annealing after so many proposals without a new best.
tol : float, default=1e-4
    With ``solver="paper"``, stop at the first gain in weighted accuracy below this; else the
    largest slope at which coefficients count as converged.
classes_ : ndarray of shape (n_classes,)
    Class labels.
basis_ : FeatureBasis
    What makes the columns that members see; with ``basis="linear"`` these are the features.
coefs_ : ndarray of shape (n_estimators_, n_classes, n_columns)
    Coefficients on standardised columns. Those outside the mask are not used; they keep the
    value that they had when their feature left.
intercepts_ : ndarray of shape (n_estimators_, n_classes)
    Intercepts, which no mask touches.
supports_ : ndarray of bool of shape (n_estimators_, n_features)
    Masks.
co_selection_ : ndarray of shape (n_features, n_features)
    Share of the members that use both features (eq. 12).
accuracy_path_ : list of ndarray
    Per member, the weighted accuracy (eq. 7) at the start and after each iteration.
n_iter_ : int
    Iterations of the member that took the most.
n_estimators_ : int
    Number of members.
C_ : float
    Inverse strength of the ridge penalty.
mean_, scale_ : ndarray of shape (n_features,)
    What the features are standardised with.
n_features_in_ : int
    Number of columns seen in ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where they all have one.
"""


class Encoded(NamedTuple):
    """Sorted classes, and each row's index among them."""

    classes: NDArray[Any]
    labels: Indices


class Targets(NamedTuple):
    """What the members learn, as the solvers want it."""

    values: NDArray[Any]  # (n_rows,), class indices, or numbers of mean zero and variance one
    n_outputs: int
    objective: Objective


class Prepared(NamedTuple):
    """What a fit starts from; both sources of chance go on where preparation left them."""

    rows: Rows
    settings: Settings
    random_state: np.random.RandomState
    rng: np.random.Generator


def encode_classes(y: Any) -> Encoded:
    """Find the classes, two at least."""
    check_classification_targets(y)
    encoder = LabelEncoder().fit(y)
    if len(encoder.classes_) < 2:
        only = encoder.classes_.tolist()[0]
        raise ValueError(
            f"y holds one class only, {only!r}; a classifier needs at least two classes. Check "
            "how the rows were chosen."
        )
    return Encoded(encoder.classes_, encoder.transform(y).astype(np.intp))


class JointSubspaceBase(EncodeMixin, CallbackSupportMixin, DocLinkMixin, BaseEstimator):
    """Parameters and preparation that the joint-subspace estimators share."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "solver": [StrOptions({"lbfgs", "paper"})],
        "basis": [StrOptions({"linear", "quadratic", "spline"})],
        "flip_probability": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "size_penalty": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Prepared:
        """Validate, standardise, and draw the seed of what is random."""
        numeric = {"y_numeric": True} if self._learns_numbers() else {}
        X, y = self._training_rows(X, y, sample_weight, dtype=[np.float64, np.float32], **numeric)
        refuse_overflow(X)
        encoded = None if numeric else encode_classes(y)
        weights = read_weights(sample_weight, X)
        targets = self._read_numbers(y, weights) if encoded is None else self._keep(encoded)
        scaling = standardise(X, weights)
        self.mean_, self.scale_ = scaling
        rows = as_rows(X, targets.values, targets.n_outputs, scaling, weights)
        rows = self._expand(rows._replace(objective=targets.objective))
        random_state = check_random_state(self.random_state)
        rng = np.random.default_rng(draw_seeds(random_state, 1)[0])
        return Prepared(rows, self._settings(rows, rng), random_state, rng)

    def _learns_numbers(self) -> bool:
        return False

    def _keep(self, encoded: Encoded) -> Targets:
        for name in ("y_mean_", "y_scale_"):
            self.__dict__.pop(name, None)
        self.classes_ = encoded.classes
        return Targets(encoded.labels, len(encoded.classes), CLASSES)

    def _read_numbers(self, y: NDArray[Any], weights: Doubles) -> Targets:
        """Standardise the numbers, which may be all equal."""
        self.__dict__.pop("classes_", None)
        numbers = as_numbers(y)
        largest = float(np.abs(numbers).max())
        if largest and not SMALLEST_NUMBER < largest < 1 / SMALLEST_NUMBER:
            raise ValueError(
                f"y holds numbers of up to {largest:g}; their squares are beyond what can be "
                "computed. Give them in another unit."
            )
        self.y_mean_ = float(np.average(numbers, weights=weights))
        spread = float(np.sqrt(np.average((numbers - self.y_mean_) ** 2, weights=weights)))
        self.y_scale_ = spread if spread > 1e-12 * largest else 1.0
        return Targets((numbers - self.y_mean_) / self.y_scale_, 1, NUMBERS)

    def _expand(self, rows: Rows) -> Rows:
        """Make the columns of the basis, and say what a mask flips."""
        groups = self._group_features(rows)
        self.basis_ = FeatureBasis(self.basis).fit(rows.features, rows.weights)
        return rows._replace(
            features=self.basis_.expand(rows.features), units=units_of(self.basis_.owners(), groups)
        )

    def _group_features(self, rows: Rows) -> Indices | None:
        """Tell each feature's group by its number; None where each is flipped by itself."""
        return None

    def _columns(self, X: Any) -> Floats:
        """Validate new rows; give what the members see of them, (n_columns, n_rows)."""
        check_is_fitted(self)
        X = self._new_rows(X, dtype=[np.float64, np.float32])
        refuse_overflow(X)
        X = X.astype(self.coefs_.dtype, copy=False)
        return self.basis_.expand(as_features(X, Scaling(self.mean_, self.scale_)))

    def _column_supports(self) -> Mask:
        """Masks of what the members see, (n_estimators_, n_columns)."""
        return self.basis_.seen_columns(self.supports_)

    def _settings(self, rows: Rows, rng: np.random.Generator) -> Settings:
        flip = self.flip_probability
        flip = FLIP_PROBABILITIES[self.solver] if flip == "auto" else float(flip)
        unused = self.solver == "paper"
        self.C_ = choose_strength(rows, rng) if self.C == "auto" and not unused else self.C
        strength = 1.0 if unused else float(self.C_)
        return Settings(
            self.solver, flip, self.size_penalty, self.learning_rate, strength, self.patience,
            self.tol, self.max_iter,
        )  # fmt: skip

    def _fit_members(self, rows: Rows, settings: Settings, seeds: Sequence[int]) -> list[Member]:
        """Fit the members in turn; a callback may end it early."""
        members = []
        with fit_progress(self, "member", len(seeds)) as step:
            for member in fit_sequence(rows, seeds, settings):
                members.append(member)
                if step():
                    break
        return members

    def _check_fitted(self) -> None:
        """Refuse members that no fit makes."""
        members, d = self.n_estimators_, self._encoded_width()
        outputs = (len(self.classes_),) if hasattr(self, "classes_") else ()
        expect(isinstance(self.basis_, FeatureBasis), "basis_ is no basis")
        expect(self.basis_.n_features_ == d, "basis_ is of other features")
        expect_array(self, "coefs_", (members, *outputs, self.basis_.n_columns()))
        expect_array(self, "intercepts_", (members, *outputs))
        expect_array(self, "supports_", (members, d), "truth")
        expect_array(self, "mean_", (d,))
        expect_array(self, "scale_", (d,), low=0)
        expect_fitted(
            self,
            {"n_iter_": "count", "co_selection_": "float (d, d) 0..1", "n_estimators_": "count"},
            d=d,
        )
        expect(float(self.C_) > 0 if self.C_ != "auto" else self.solver == "paper", "C_ is none")
        for name in {"accuracy_path_", "score_path_"} & set(vars(self)):
            expect_fitted(self, {name: "list (members)"}, members=members)
            for path in vars(self)[name]:
                expect_values(path, name)

    def _store(self, members: list[Member]) -> None:
        self.coefs_ = np.array([member.coef for member in members])
        self.intercepts_ = np.array([member.intercept for member in members])
        if self._learns_numbers():
            self.coefs_ = self.coefs_[:, 0] * self.coefs_.dtype.type(self.y_scale_)
            self.intercepts_ = self.intercepts_[:, 0].astype(float) * self.y_scale_ + self.y_mean_
        # the features themselves are the first columns
        d = self.basis_.n_features_
        self.supports_ = np.array([member.support[:d] for member in members])
        self.n_iter_ = max(member.n_iter for member in members)
        self.co_selection_ = co_selection(self.supports_)
        self.n_estimators_ = len(members)


FUSIONS = {"product", "mean", "vote", "stacking", "local"}
OFFERED = frozenset({"X"})


def _outputs_elsewhere(rows: Rows, fold: Fold, seeds: list[int], settings: Settings) -> Doubles:
    """Fit members to the rows of a fold; give their outputs on the held-out ones."""
    members = list(fit_sequence(rows.take(fold.train), seeds, settings))
    return member_outputs(rows.features[:, fold.test], members)


@set_module("ensemblage.subspace")
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

    def _unseen_outputs(self, prepared: Prepared, seeds: list[int]) -> Doubles:
        """Each row's outputs by members of an ensemble fitted to the other folds."""
        rows = prepared.rows
        folds = deal_folds(rows.targets, N_FOLDS, prepared.rng)
        tasks = [(rows, fold, seeds, prepared.settings) for fold in folds]
        outputs = np.empty((len(seeds), rows.targets.size, rows.n_outputs))
        parts = run_tasks(_outputs_elsewhere, tasks, self.n_jobs)
        for fold, part in zip(folds, parts, strict=True):
            outputs[:, fold.test] = part
        return outputs

    def _member_outputs(self, columns: Floats) -> Doubles:
        seen = self._column_supports()[:, None, :]
        return outputs_of(columns, self.coefs_ * seen, self.intercepts_)

    def member_outputs(self, X: Any) -> Doubles:
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

    def row_weights(self, X: Any, y: Any) -> Doubles:
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

    def _check_fitted(self) -> None:
        """Refuse members and a fusion that no fit makes."""
        super()._check_fitted()
        if isinstance(self.fusion_, SoftmaxGate):
            shape = (self.n_estimators_, self.basis_.n_columns())
            expect(np.shape(self.fusion_.coef) == shape, "fusion_ is of other members")

    def _scores(self, X: Any) -> Doubles:
        columns = self._columns(X)
        return self.fusion_.combine(self._member_outputs(columns), FusionContext(X=columns.T))

    def _gives_probabilities(self) -> bool:
        return True


# Share of the numbers' variance that a member leaves at least, so that no density is a spike.
LEAST_VARIANCE = 1e-9


def _squares_elsewhere(rows: Rows, fold: Fold, seeds: list[int], settings: Settings) -> Doubles:
    """Fit members to the rows of a fold; give their mean squared errors on the others."""
    held = rows.take(fold.test)
    members = fit_sequence(rows.take(fold.train), seeds, settings)
    errors = [held.targets - member_logits(held.features, member)[0] for member in members]
    return np.array([float(held.weights @ error**2) for error in errors])


def _distinct_rows(rows: Rows) -> Indices:
    """Give equal rows one number, from 0 on, and rows without weight -1.

    Copies of a row must not be on both sides of a split, and weights are numbers of copies.
    """
    told = rows.weights > 0
    table = np.column_stack([rows.features.T[told], rows.targets[told]])
    numbers = np.full(told.size, -1, dtype=np.intp)
    numbers[told] = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    return numbers


@set_module("ensemblage.subspace")
@with_shared(SUBSPACE_DOCS + ENCODE_DOCS)
class JointSubspaceRegressor(RegressorMixin, JointSubspaceBase):
    r"""Ensemble of linear regressors, each on features chosen while it learns.

    As :class:`JointSubspaceClassifier`, with squared loss. Each member speaks a normal density, and
    the ensemble speaks their product.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of members.
    {solver, basis}
    flip_probability : float or "auto", default="auto"
        Probability of flipping a feature in a proposal, in [0, 1]. At 0 every member uses all
        features. "auto" is 0.05, and 0.01 with ``solver="paper"``.
    size_penalty : float or "auto", default="auto"
        Mean log-likelihood that a feature must add to be kept, per unit of mean row weight. "auto"
        is four over the number of rows, four times the price of Akaike's criterion. Not used by
        ``solver="paper"``.
    C : float or "auto", default=1.0
        Inverse strength of the ridge penalty, on standardised features and numbers: scikit-learn's
        ``Ridge`` has ``alpha=1/C``. "auto" takes the best power of ten for a single regressor on
        all features, by cross-validation. ``solver="paper"`` fits members without a penalty.
    importance : array-like of shape (n_estimators,), default=None
        Importance of each member in the product; equal if not given.
    {learning_rate, patience}
    max_iter : int, default=500
        At most so many proposals per member.
    {tol}
    {encode}
    n_jobs : int, default=None
        Development splits in parallel; the members themselves are sequential.
    random_state : int, RandomState instance or None, default=None
        For the start, the proposals and the splits.

    Attributes
    ----------
    coefs_ : ndarray of shape (n_estimators_, n_columns)
        Coefficients on standardised columns, in units of the numbers. Those outside the mask are
        not used.
    intercepts_ : ndarray of shape (n_estimators_,)
        Intercepts, which no mask touches.
    variances_ : ndarray of shape (n_estimators_,)
        Variance of each member's density: the mean squared error of the member of its number in
        ensembles fitted without some of the rows, on those rows.
    importance_ : ndarray of shape (n_estimators_,)
        Importance of each member.
    {supports_, co_selection_}
    score_path_ : list of ndarray
        Per member, the weighted log-likelihood at the start and after each iteration, but for
        constants.
    {n_iter_, n_estimators_}
    y_mean_, y_scale_ : float
        What the numbers are standardised with while members learn.
    {encoder_, basis_, C_, mean_, scale_, n_features_in_, feature_names_in_}

    See Also
    --------
    JointSubspaceClassifier : For classes.
    JointSubspaceSelector : With ``loss="squared_error"`` the same members, as a feature selector.

    Notes
    -----
    Member :math:`k` climbs in coefficients and mask on the log-likelihood of its weighted rows,
    :math:`-\frac12 \bar w \log \bigl(\sum_m w_{km} r_{km}^2 / \bar w\bigr)` of residuals
    :math:`r_{km}` and :math:`\bar w = \sum_m w_{km}`, with weights as in eq. 8,

    .. math:: w_{km} = 1 - \frac{1}{k-1} \sum_{k' < k} e^{-r_{k'm}^2 / 2 s_{k'}^2},

    where a density over its mode stands for the probability of the true class. The product (eq. 10)
    of normal densities with importances :math:`i_k` is normal: its precision is
    :math:`\sum_k i_k / s_k^2`, and its mean is weighted by :math:`i_k / s_k^2`. Members are linear,
    and so is their product, as a ridge regression is.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ensemblage.subspace import JointSubspaceRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ensemble = JointSubspaceRegressor(n_estimators=3, random_state=0).fit(X, y)
    >>> mean, deviation = ensemble.predict(X[:2], return_std=True)
    >>> mean.shape, bool((deviation > 40).all())
    ((2,), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **JointSubspaceBase._parameter_constraints,  # noqa: SLF001
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "importance": ["array-like", None],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        solver: str = "lbfgs",
        basis: str = "linear",
        flip_probability: Any = "auto",
        size_penalty: Any = "auto",
        C: Any = 1.0,
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
        """Fit the members, and measure their errors on rows held back.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            Rows: numbers, and with ``encode`` also words, dates and gaps.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        importance = self._read_importance()
        prepared = self._prepare(X, y, sample_weight)
        seeds = draw_seeds(prepared.random_state, self.n_estimators)
        members = self._fit_members(prepared.rows, prepared.settings, seeds)
        self._store(members)
        self.score_path_ = [member.accuracy_path for member in members]
        self.importance_ = importance[: self.n_estimators_]
        self.variances_ = self._held_out_variances(prepared, seeds[: self.n_estimators_])
        return self

    def _read_importance(self) -> Doubles:
        if self.importance is None:
            return np.full(self.n_estimators, 1.0 / self.n_estimators)
        importance = np.asarray(self.importance, dtype=float)
        if importance.shape != (self.n_estimators,):
            raise ValueError(
                f"importance has shape {importance.shape}; expected ({self.n_estimators},), one "
                "per member."
            )
        if not np.isfinite(importance).all() or (importance < 0).any() or not importance.any():
            raise ValueError(
                f"importance={self.importance!r}; expected finite numbers, none below zero and at "
                "least one above."
            )
        return importance

    def _held_out_variances(self, prepared: Prepared, seeds: list[int]) -> Doubles:
        """Mean squared errors of members of the same numbers on development splits."""
        rows = prepared.rows
        numbers = _distinct_rows(rows)
        if numbers.max() == 0:
            return np.full(len(seeds), self.y_scale_**2)
        folds = development_folds(np.zeros(numbers.max() + 1, dtype=np.intp), prepared.rng)
        parts = [Fold(*(np.flatnonzero(np.isin(numbers, part)) for part in fold)) for fold in folds]
        tasks = [(rows, fold, seeds, prepared.settings) for fold in parts]
        squares = np.mean(run_tasks(_squares_elsewhere, tasks, self.n_jobs), axis=0)
        return np.asarray(np.maximum(squares, LEAST_VARIANCE) * self.y_scale_**2)

    def _learns_numbers(self) -> bool:
        return True

    def _member_outputs(self, columns: Floats) -> Doubles:
        means = (self.coefs_ * self._column_supports()) @ columns + self.intercepts_[:, None]
        variances = np.broadcast_to(self.variances_[:, None], means.shape)
        return np.stack([means.astype(float), variances], axis=2)

    def member_outputs(self, X: Any) -> Doubles:
        """Density of each member.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_members, n_samples, 2)
            Mean and variance, before fusion.
        """
        check_is_fitted(self)
        return self._member_outputs(self._columns(X))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the product of the members' densities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Whether to give the product's standard deviation too.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,)
            Predictions.
        y_std : ndarray of shape (n_samples,)
            Standard deviations; only if asked for.
        """
        members = Normals(*np.moveaxis(self.member_outputs(X), 2, 0))
        mean, variance = normal_product(members, self.importance_)
        return (mean, np.sqrt(variance)) if return_std else mean

    def _check_fitted(self) -> None:
        """Refuse members that no fit makes."""
        super()._check_fitted()
        expect_fitted(self, {"y_mean_": "number", "y_scale_": "number 0.."})
        expect_array(self, "variances_", (self.n_estimators_,), low=np.finfo(float).tiny)
        expect_array(self, "importance_", (self.n_estimators_,), low=0)


# The curves of a basis have many ways to be strong by chance, so strength counts less there.
FITTED = {
    "frequencies_": "float (d) 0..1",
    "scores_": "float (d)",
    "ranking_": "integer (d) 1..",
    "support_": "truth (d)",
    "groups_": "integer (d) 0..<d",
}
POWERS = {"linear": 8.0, "quadratic": 2.0, "spline": 2.0}


def _ranks(scores: Doubles, reserve: Doubles, rng: np.random.Generator) -> NDArray[np.int_]:
    """Rank by score, then by reserve, then by lot: never by column order. 1 is best."""
    order = np.lexsort((rng.permutation(scores.size), -reserve, -scores))
    ranks = np.empty(scores.size, dtype=int)
    ranks[order] = np.arange(1, scores.size + 1)
    return ranks


@set_module("ensemblage.subspace")
@with_shared(SUBSPACE_DOCS)
class JointSubspaceSelector(SelectorMixin, JointSubspaceBase):
    r"""Select the features that jointly learned members use, often and strongly.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many to select; a float in (0, 1) is a share. None selects the features that more
        than half of the members use, and at least one.
    n_estimators : int, default=20
        Number of members.
    loss : {"log_loss", "squared_error"}, default="log_loss"
        "log_loss" for classes, "squared_error" for numbers.
    {solver, basis}
    group_correlation : float or None, default=0.95
        Features whose correlation is at least this, up to its sign, are a group: a mask flips
        them together at the price of one, and they share their score. None leaves each alone.
    flip_probability : float or "auto", default=0.1
        Probability of flipping a feature in a proposal.
    {size_penalty}
    C : float or "auto", default=1.0
        Inverse strength of the ridge penalty.
    {learning_rate, patience}
    max_iter : int, default=1000
        At most so many proposals per member.
    {tol}
    random_state : int, RandomState instance or None, default=None
        For the start, the proposals, and ties.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Frequency and size of the coefficients in one; see Notes.
    ranking_ : ndarray of shape (n_features,)
        1 is best. Equal scores are ranked by the coefficients of members that dropped the
        feature, then by lot, never by the order of the columns.
    frequencies_ : ndarray of shape (n_features,)
        Share of the members that use each feature.
    {co_selection_}
    groups_ : ndarray of shape (n_features,)
        Number of each feature's group; see ``group_correlation``.
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    {classes_, coefs_, intercepts_, supports_, accuracy_path_}
    y_mean_, y_scale_ : float
        What numbers are standardised with, in place of ``classes_``.
    {n_iter_, n_estimators_, basis_, C_, mean_, scale_, n_features_in_, feature_names_in_}

    See Also
    --------
    JointSubspaceClassifier : The same members, as a classifier.

    Notes
    -----
    The score of feature :math:`d` is the power mean over members

    .. math:: s_d = \left(\frac{1}{K} \sum_k \lambda_{kd} |\theta_{kd}|^r\right)^{1/r}, \quad r = 8.

    At :math:`r = 1` it is frequency times mean size. Later members learn the rows that the first
    ones miss, where features matter that the first ones drop; a larger power lets these count.
    With another basis than "linear", :math:`|\theta_{kd}|` is the spread over the rows of all that
    the feature adds to the member's output, and :math:`r = 2`. The size of a group is the sum over
    its features.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets".

    Examples
    --------
    >>> from ensemblage.datasets import make_quarter_circle
    >>> from ensemblage.subspace import JointSubspaceSelector
    >>> X, y = make_quarter_circle(100, n_dummies=6, random_state=0)
    >>> selector = JointSubspaceSelector(2, n_estimators=10, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **JointSubspaceBase._parameter_constraints,  # noqa: SLF001
        "n_features_to_select": [
            Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither"), None
        ],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions({"log_loss", "squared_error"})],
        "group_correlation": [Interval(Real, 0, 1, closed="right"), None],
    }  # fmt: skip

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        n_estimators: int = 20,
        loss: str = "log_loss",
        solver: str = "lbfgs",
        basis: str = "linear",
        group_correlation: float | None = 0.95,
        flip_probability: Any = 0.1,
        size_penalty: Any = "auto",
        C: Any = 1.0,
        learning_rate: Any = "auto",
        patience: int = 50,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_estimators = n_estimators
        self.loss = loss
        self.solver = solver
        self.basis = basis
        self.group_correlation = group_correlation
        self.flip_probability = flip_probability
        self.size_penalty = size_penalty
        self.C = C
        self.learning_rate = learning_rate
        self.patience = patience
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @guarded_fit
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members and rank the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        prepared = self._prepare(X, y, sample_weight)
        seeds = draw_seeds(prepared.random_state, self.n_estimators)
        members = self._fit_members(prepared.rows, prepared.settings, seeds)
        self._store(members)
        self.accuracy_path_ = [member.accuracy_path for member in members]
        self.frequencies_ = np.diag(self.co_selection_).copy()
        power = POWERS[self.basis]
        sizes = group_sizes(self._sizes(prepared.rows, masked=True), self.groups_)
        self.scores_ = power_mean_scores(sizes, self.supports_, power)
        dropped = self._sizes(prepared.rows, masked=False)
        reserve = power_mean_scores(dropped, np.ones_like(self.supports_), power)
        self.ranking_ = _ranks(self.scores_, reserve, prepared.rng)
        self.support_ = self.ranking_ <= self._n_selected()
        return self

    def _sizes(self, rows: Rows, *, masked: bool) -> Doubles:
        """How strongly each member uses each feature; unmasked, also those that it dropped."""
        owners = self.basis_.owners()
        if owners is None:
            return coefficient_sizes(self.coefs_)
        seen = self._column_supports().reshape(len(self.coefs_), *[1] * (self.coefs_.ndim - 2), -1)
        return contribution_sizes(self.coefs_ * seen if masked else self.coefs_, rows, owners)

    def _learns_numbers(self) -> bool:
        return bool(self.loss == "squared_error")

    def _group_features(self, rows: Rows) -> Indices | None:
        alone = np.arange(len(rows.features))
        self.groups_ = alone
        if self.group_correlation is not None:
            self.groups_ = correlated_groups(
                rows.features, rows.weights, float(self.group_correlation)
            )
        return None if (self.groups_ == alone).all() else self.groups_

    def _n_selected(self) -> int:
        wanted, n_features = self.n_features_to_select, self.n_features_in_
        if wanted is None:
            return max(1, int((self.frequencies_ > 0.5).sum()))
        if isinstance(wanted, Integral):
            if wanted > n_features:
                raise ValueError(
                    f"n_features_to_select={wanted}, but X has {n_features} features; give a "
                    "smaller number, or a share between 0 and 1."
                )
            return int(wanted)
        return max(1, int(wanted * n_features))

    def co_selection_binary(
        self,
        *,
        cross_threshold: float | None = None,
        individual_threshold: float | None = None,
        top_pairs: int | None = None,
        top_features: int | None = None,
    ) -> Mask:
        """Most frequent features and pairs (eq. 13).

        Parameters
        ----------
        cross_threshold : float, default=None
            A pair is marked above this share of members; one half if nothing is given.
        individual_threshold : float, default=None
            A feature is marked above this share of members; one half if nothing is given.
        top_pairs : int, default=None
            Instead of ``cross_threshold``: mark so many pairs, and their equals.
        top_features : int, default=None
            Instead of ``individual_threshold``: mark so many features, and their equals.

        Returns
        -------
        ndarray of bool of shape (n_features, n_features)
            Pairs off the diagonal, features on it.
        """
        check_is_fitted(self)
        return binary_co_selection(
            self.co_selection_, cross_threshold=cross_threshold,
            individual_threshold=individual_threshold, top_pairs=top_pairs,
            top_features=top_features,
        )  # fmt: skip

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def _check_fitted(self) -> None:
        """Refuse members and ranks that no fit makes."""
        super()._check_fitted()
        expect_fitted(self, FITTED, d=self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
