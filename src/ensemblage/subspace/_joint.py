"""Joint feature-subset ensembles: classifier and regressor."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    CallbackSupportMixin,
    DocLinkMixin,
    Fold,
    Interval,
    StrOptions,
    as_numbers,
    deal_folds,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    expect_values,
    fit_context,
    fit_progress,
    guarded_fit,
    read_weights,
    refuse_overflow,
    run_tasks,
    set_module,
    warn_user,
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
from ensemblage.subspace._co_selection import co_selection
from ensemblage.subspace._objectives import (
    CLASS_LOSSES,
    SOFTMAX,
    SQUARED,
    FeatureBasis,
    Member,
    Objective,
    Rows,
    Settings,
    as_features,
    as_rows,
    expand_basis,
    member_logits,
    member_outputs,
    outputs_of,
    standardise,
)
from ensemblage.subspace._search import (
    GATE_STRENGTHS,
    MAX_MEMBERS,
    N_FOLDS,
    Plan,
    best_plan,
    choose_strength,
    development_folds,
    fit_sequence,
    mean_scores,
    next_row_weights,
    plan_scores,
    random_gate_start,
    refit_with_gate,
    row_codes,
    rows_with_codes,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
Rng = np.random.Generator
Seeds = list[int]

# Absolute target values between this and its inverse have finite squares, also in float32.
MIN_TARGET = 1e-18
# Smallest variance of a member's density, as a fraction of the target's variance.
MIN_VARIANCE = 1e-9
# Number of classes from which a long fit is announced.
MANY_CLASSES = 100
# Seconds of a fit per member, row and class, on one core.
SECONDS_PER_OUTPUT = 2e-6
# Seconds from which a fit to many classes is announced.
LONG_FIT = 20.0
# Values of flip_probability="auto" by solver.
FLIP_PROBABILITIES = {"paper": 0.01, "lbfgs": 0.05}
# Fusions available by name.
FUSIONS = {"product", "mean", "vote", "stacking", "local"}
# Fields of the fusion context that the classifier provides.
OFFERED = frozenset({"X"})

POSITIVE_INTEGER = Interval(Integral, 1, None, closed="left")

SUBSPACE_DOCS = """
basis : {"linear", "quadratic", "spline"}, default="linear"
    Basis expansion of the features. "quadratic" adds squares and pairwise products of the
    features in the mask, for interactions and nonmonotonic effects; "spline" adds a linear spline
    of six pieces. A mask includes or excludes a feature with all of its basis columns.
solver : {"lbfgs", "paper"}, default="lbfgs"
    With "lbfgs" each member's coefficients are fitted to convergence and its mask by annealing.
    "paper" is Algorithm 1 exactly, which stops after few steps.
flip_probability : float or "auto", default="auto"
    Probability of flipping a feature in a proposal, in [0, 1]. At 0 every member uses all
    features. "auto" is 0.05, and 0.01 with ``solver="paper"``.
size_penalty : float or "auto", default="auto"
    Gain in weighted accuracy needed to keep a feature, per unit of mean row weight. "auto"
    corresponds to four rows. Not used by ``solver="paper"``.
learning_rate : float or "auto", default="auto"
    Step size of ``solver="paper"``; "auto" is four divided by the largest eigenvalue of the
    features' covariance.
patience : int, default=50
    Stop a member's annealing after this many proposals without improvement.
max_iter : int, default=500
    Most proposals per member.
tol : float, default=1e-4
    With ``solver="paper"``, stop at the first gain in weighted accuracy below this. For classes
    it may be negative: a member then continues after a step that loses no more than its size, up
    to ``max_iter`` steps. With "lbfgs" the tolerance on the gradient for convergence of the
    coefficients, at least 0.
member_weights : array-like of shape (n_estimators,), default=None
    Weight of each member in the product; by default equal.
n_jobs : int, default=None
    Number of folds and development splits processed in parallel; members are fitted
    sequentially.
random_state : int, RandomState instance or None, default=None
    Determines initial coefficients, proposals and splits.
classes_ : ndarray of shape (n_classes,)
    Class labels.
basis_ : FeatureBasis
    The fitted basis expansion; with ``basis="linear"``, the identity.
coefs_ : ndarray of shape (n_estimators_, n_classes, n_columns)
    Coefficients on standardised columns. Those outside the mask are not used; they keep their
    last value before their feature was excluded.
intercepts_ : ndarray of shape (n_estimators_, n_classes)
    Intercepts, which are never masked.
supports_ : ndarray of bool of shape (n_estimators_, n_features)
    Masks.
co_selection_ : ndarray of shape (n_features, n_features)
    Fraction of the members that use both features (eq. 12).
score_path_ : list of ndarray
    Per member, the weighted accuracy (eq. 7) at the start and after each iteration; for a numeric
    target the weighted log-likelihood, up to constants.
n_iter_ : int
    Largest number of iterations of a member.
n_estimators_ : int
    Number of members.
C_ : float
    Inverse strength of the ridge penalty.
target_mean_, target_scale_ : float
    Mean and standard deviation used to standardise a numeric target.
mean_, scale_ : ndarray of shape (n_features,)
    Mean and standard deviation used to standardise the features.
n_features_in_ : int
    Number of columns seen in ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, if all of them are strings.
"""


def encode_classes(y: Any) -> tuple[NDArray[Any], Indices]:
    """Sorted classes, at least two, and the class index of each row."""
    check_classification_targets(y)
    encoder = LabelEncoder().fit(y)
    if len(encoder.classes_) < 2:
        only = encoder.classes_.tolist()[0]
        raise ValueError(
            f"y has only one class, {only!r}; a classifier needs at least two classes. Check how "
            "the rows were selected."
        )
    return encoder.classes_, encoder.transform(y).astype(np.intp)


class BaseJointSubspace(EncodeMixin, CallbackSupportMixin, DocLinkMixin, BaseEstimator):
    """Base class: members fitted in sequence; subclasses combine or rank them."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_estimators": [POSITIVE_INTEGER],
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "basis": [StrOptions({"linear", "quadratic", "spline"})],
        "solver": [StrOptions({"lbfgs", "paper"})],
        "flip_probability": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "size_penalty": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "patience": [POSITIVE_INTEGER],
        "max_iter": [POSITIVE_INTEGER],
        "tol": [Interval(Real, None, None, closed="neither")],
        "random_state": ["random_state"],
    }

    @guarded_fit
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members in sequence, then combine them.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            Training data; columns of any type if there is a parameter ``encode``.
        y : array-like of shape (n_samples,)
            Labels of two or more classes, or a numeric target.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights, which multiply the members' row weights (eq. 8). A weight of two is a
            repeated row, and of zero an absent one. Weights of a mean below one, as those of
            boosting, are scaled to a mean of one.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._refuse_negative_tolerance()
        self._resolve_combination()  # raises on invalid parameters before fitting
        rows = self._prepare(X, y, sample_weight)
        random_state = check_random_state(self.random_state)
        rng = np.random.default_rng(draw_seeds(random_state, 1)[0])
        most = MAX_MEMBERS if self.n_estimators == "auto" else self.n_estimators
        seeds = draw_seeds(random_state, most)
        groups = self._group_features(rows)
        kind = self._choose_basis(rows, groups, seeds)
        self.basis_, rows = expand_basis(rows, kind, groups)
        settings = self._settings(rows, rng)
        seconds = SECONDS_PER_OUTPUT * most * len(rows.targets) * rows.n_outputs
        if rows.n_outputs >= MANY_CLASSES and seconds >= LONG_FIT:
            warn_user(
                f"y has {rows.n_outputs} classes: the fit takes about {seconds:.0f} s or more, in "
                "proportion to rows, classes and members. Use fewer rows or members to save time."
            )
        plan = self._choose_plan(rows, settings, seeds, rng)
        members: list[Member] = []
        with fit_progress(self, "member", plan.n_members) as step:
            for member in fit_sequence(rows, seeds[: plan.n_members], settings):
                members.append(member)
                if step():  # a callback stops early
                    break
        self._store(members)
        self._combine(plan, rows, settings, seeds[: len(members)], rng)
        return self

    def _objective(self) -> Objective:
        return SOFTMAX

    def _refuse_negative_tolerance(self) -> None:
        classes = self._objective() is not SQUARED
        if self.tol < 0 and not (self.solver == "paper" and classes):
            target = "classes" if classes else "a numeric target"
            raise ValueError(
                f"tol={self.tol!r} with solver={self.solver!r} and {target}; expected 0 or more. "
                "A negative value is a threshold on the gain in weighted accuracy: use it with "
                "solver='paper' and classes."
            )

    def _resolve_combination(self) -> Any:
        """Resolve the parameters of ``_combine``, or raise."""

    def _choose_plan(self, rows: Rows, settings: Settings, seeds: Seeds, rng: Rng) -> Plan:
        return Plan(len(seeds), None)

    @abstractmethod
    def _combine(self, plan: Plan, rows: Rows, settings: Settings, seeds: Seeds, rng: Rng) -> None:
        """Fit the combination or the ranking of the members."""

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Validate and standardise."""
        objective = self._objective()
        numeric = {"y_numeric": True} if objective is SQUARED else {}
        X, y = self._training_rows(X, y, sample_weight, dtype=[np.float64, np.float32], **numeric)
        refuse_overflow(X)
        for name in ("classes_", "target_mean_", "target_scale_"):  # from a fit with another loss
            self.__dict__.pop(name, None)
        weights = read_weights(sample_weight, X)
        targets: NDArray[Any] = y
        if objective is not SQUARED:
            self.classes_, targets = encode_classes(y)
        present = weights > 0
        if not present.all():  # as if the others were absent
            X, targets = X[present], targets[present]
            weights = read_weights(np.asarray(sample_weight)[present], X)
        if objective is SQUARED:
            targets, n_outputs = self._standardise_target(targets, weights), 1
        else:
            n_outputs = len(self.classes_)
        scaling = self.mean_, self.scale_ = standardise(X, weights)
        return as_rows(X, targets, n_outputs, scaling, weights)._replace(objective=objective)

    def _standardise_target(self, y: NDArray[Any], weights: Doubles) -> Doubles:
        values = as_numbers(y)
        largest = float(np.abs(values).max())
        if largest and not MIN_TARGET < largest < 1 / MIN_TARGET:
            raise ValueError(
                f"y has absolute values up to {largest:g}, whose squares over- or underflow. "
                "Rescale y."
            )
        self.target_mean_ = float(np.average(values, weights=weights))
        deviation = float(np.sqrt(np.average((values - self.target_mean_) ** 2, weights=weights)))
        self.target_scale_ = deviation if deviation > 1e-12 * largest else 1.0
        return (values - self.target_mean_) / self.target_scale_

    def _group_features(self, rows: Rows) -> Indices | None:
        """Group index of each feature; None if features are flipped individually."""
        return None

    def _choose_basis(self, rows: Rows, groups: Indices | None, seeds: Seeds) -> str:
        return str(self.basis)

    def _settings(self, rows: Rows, rng: Rng) -> Settings:
        paper = self.solver == "paper"
        self.C_ = choose_strength(rows, rng) if self.C == "auto" and not paper else self.C
        return self._settings_at(np.inf if paper else float(self.C_))

    def _settings_at(self, C: float) -> Settings:
        flip = self.flip_probability
        return Settings(
            self.solver,
            FLIP_PROBABILITIES[self.solver] if flip == "auto" else float(flip),
            self.size_penalty,
            self.learning_rate,
            C,
            self.patience,
            self.tol,
            self.max_iter,
        )

    def _store(self, members: list[Member]) -> None:
        self.coefs_ = np.array([member.coef for member in members])
        self.intercepts_ = np.array([member.intercept for member in members])
        if self._objective() is SQUARED:
            scale = self.target_scale_
            self.coefs_ = self.coefs_[:, 0] * self.coefs_.dtype.type(scale)
            self.intercepts_ = self.intercepts_[:, 0].astype(float) * scale + self.target_mean_
        # the first columns are the features
        d = self.basis_.n_features_
        self.supports_ = np.array([member.support[:d] for member in members])
        self.n_iter_ = max(member.n_iter for member in members)
        self.score_path_ = [member.score_path for member in members]
        self.co_selection_ = co_selection(self.supports_)
        self.n_estimators_ = len(members)

    def _columns(self, X: Any) -> Floats:
        """Validate new rows; return their basis columns, (n_columns, n_rows)."""
        check_is_fitted(self)
        X = self._new_rows(X, dtype=[np.float64, np.float32])
        refuse_overflow(X)
        X = X.astype(self.coefs_.dtype, copy=False)
        return self.basis_.expand(as_features(X, self.mean_, self.scale_))

    def _column_supports(self) -> Mask:
        """Masks of basis columns, (n_estimators_, n_columns)."""
        return self.basis_.seen_columns(self.supports_)

    def _check_fitted(self) -> None:
        members, d = self.n_estimators_, self._encoded_width()
        outputs = (len(self.classes_),) if hasattr(self, "classes_") else ()
        expect(isinstance(self.basis_, FeatureBasis), "basis_ is not a FeatureBasis")
        expect(self.basis_.n_features_ == d, "basis_ has another number of features")
        expect_array(self, "coefs_", (members, *outputs, self.basis_.n_columns()))
        expect_array(self, "intercepts_", (members, *outputs))
        expect_array(self, "supports_", (members, d), "truth")
        expect_array(self, "mean_", (d,))
        expect_array(self, "scale_", (d,), low=0)
        expect_fitted(
            self,
            {
                "n_iter_": "count",
                "co_selection_": "float (d, d) 0..1",
                "n_estimators_": "count",
                "score_path_": "list (members)",
            },
            d=d,
            members=members,
        )
        expect(
            float(self.C_) > 0 if self.C_ != "auto" else self.solver == "paper",
            "C_ is not positive",
        )
        for path in self.score_path_:
            expect_values(path, "score_path_")


def _outputs_out_of_fold(rows: Rows, fold: Fold, seeds: Seeds, settings: Settings) -> Doubles:
    """Fit members on a fold's training rows; return their outputs on its test rows."""
    members = list(fit_sequence(rows.take(fold.train), seeds, settings))
    return member_outputs(rows.features[:, fold.test], members)


@set_module("ensemblage.subspace")
@with_shared(SUBSPACE_DOCS + ENCODE_DOCS)
class JointSubspaceClassifier(FusedClassifierMixin, BaseJointSubspace):
    r"""Ensemble of softmax classifiers, each on its own learned feature subset.

    Members are fitted sequentially. Each starts with all features, and optimises its coefficients
    and its feature mask jointly, with higher weights for rows that earlier members misclassify.

    Parameters
    ----------
    n_estimators : int or "auto", default=10
        Number of members. With "auto" it is chosen on a development split, and may be 1.
    loss : {"log_loss", "hinge", "squared", "focal"}, default="log_loss"
        Loss that each member's coefficients minimise; see Notes. A gate is refitted with log loss.
    C : float or "auto", default=1.0
        Inverse strength of the ridge penalty, as in scikit-learn's logistic regression. "auto"
        chooses the best power of ten for a single classifier by cross-validation, and for a gate
        the best of 0.3, 3, 30 and 300 on the development split. ``solver="paper"`` fits members
        without a penalty.
    {basis, solver, flip_probability, size_penalty, learning_rate, patience, max_iter, tol}
    fusion : {"product", "mean", "vote", "stacking", "local", "auto"} or Fusion, default="product"
        How member predictions are combined. "stacking" and "local" are fitted on out-of-fold
        predictions, in five folds. "auto" chooses the product or the refined gate on the
        development split.
    refine : {"gate"}, default=None
        With "gate", members and a softmax gate are refitted jointly after the sequential fit, and
        the gate replaces ``fusion``.
    {member_weights, encode, n_jobs, random_state}

    Attributes
    ----------
    {classes_, coefs_, intercepts_, supports_, co_selection_, score_path_}
    {n_iter_, n_estimators_}
    fusion_ : Fusion
        The fitted fusion; if members were refitted with a gate, a softmax gate on standardised
        features.
    development_scores_ : dict
        Accuracy of each candidate ensemble on the development split; only if one was chosen there.
    {encoder_, basis_, C_, mean_, scale_, n_features_in_, feature_names_in_}

    See Also
    --------
    JointSubspaceSelector : The same members, as a feature selector.

    Notes
    -----
    Member :math:`k` maximises its weighted accuracy (eq. 7) over coefficients and mask,

    .. math:: A_k = \frac{1}{M} \sum_m w_{km} [f_k(x_m) = y_m], \qquad
        w_{km} = 1 - \frac{1}{k-1} \sum_{k' < k} p_{k'}(y_m \mid x_m) \quad (8),

    with the weighted log-likelihood (eq. 9) as its differentiable surrogate, or another one. With
    logits :math:`a_j`, probabilities :math:`p_j = e^{a_j} / \sum_i e^{a_i}` and the true class
    :math:`y`, the loss of a row is

    - "log_loss": :math:`-\log p_y`;
    - "hinge": :math:`\gamma \log \sum_j e^{(a_j - a_y + [j \ne y]) / \gamma}` with
      :math:`\gamma = 1/4`, a smooth upper bound of the multi-class hinge loss
      :math:`\max_j (a_j - a_y + [j \ne y])`, at most :math:`\gamma \log J` above it;
    - "squared": :math:`\frac12 \sum_j (p_j - [j = y])^2`, half the Brier score;
    - "focal": :math:`-(1 - p_y)^2 \log p_y`.

    "squared" and "focal" are not convex; the fit starts from coefficients near zero. Probabilities
    are those of the softmax with any loss, also in eq. 8. Hinge and focal loss are not proper
    scores: they are minimised by probabilities that are too close to equal. Members are linear, so
    their product is a linear classifier, and a tuned logistic regression is as accurate. The gate
    can go beyond a linear classifier.

    Subsets are drawn by position: another order of columns gives other subsets, of similar
    accuracy.

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
        **BaseJointSubspace._parameter_constraints,  # noqa: SLF001
        "n_estimators": [POSITIVE_INTEGER, StrOptions({"auto"})],
        "loss": [StrOptions(set(CLASS_LOSSES))],
        "fusion": [StrOptions({*FUSIONS, "auto"}), Fusion],
        "refine": [StrOptions({"gate"}), None],
        "member_weights": ["array-like", None],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_estimators: Any = 10,
        *,
        loss: str = "log_loss",
        C: Any = 1.0,
        basis: str = "linear",
        solver: str = "lbfgs",
        flip_probability: Any = "auto",
        size_penalty: Any = "auto",
        learning_rate: Any = "auto",
        patience: int = 50,
        max_iter: int = 500,
        tol: float = 1e-4,
        fusion: Any = "product",
        refine: str | None = None,
        member_weights: Any = None,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.C = C
        self.basis = basis
        self.solver = solver
        self.flip_probability = flip_probability
        self.size_penalty = size_penalty
        self.learning_rate = learning_rate
        self.patience = patience
        self.max_iter = max_iter
        self.tol = tol
        self.fusion = fusion
        self.refine = refine
        self.member_weights = member_weights
        self.encode = encode
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _objective(self) -> Objective:
        return CLASS_LOSSES[self.loss]

    def _resolve_combination(self) -> Fusion:
        """Return the fusion of members that are not refitted with a gate."""
        if self.member_weights is not None:
            if self.fusion != "product" or self.refine is not None:
                raise ValueError(
                    f"member_weights was given with fusion={self.fusion!r} and "
                    f"refine={self.refine!r}; it applies to fusion='product' with refine=None. "
                    "Omit it, or change those."
                )
            shape = np.shape(self.member_weights)
            if shape != (self.n_estimators,):
                raise ValueError(
                    f"member_weights has shape {shape}; expected ({self.n_estimators},), one per "
                    "member."
                )
        name = "product" if self.fusion == "auto" else self.fusion
        fusion: Fusion = clone(
            resolve_fusion(name, offered=OFFERED, member_weights=self.member_weights)
        )
        return fusion

    def _choose_plan(self, rows: Rows, settings: Settings, seeds: Seeds, rng: Rng) -> Plan:
        """Size and gate: as given, or the best on development splits."""
        vary_size, product = self.n_estimators == "auto", self.refine is None
        gates: tuple[float, ...] = ()
        if self.fusion == "auto" or not product:
            gates = GATE_STRENGTHS if product or self.C == "auto" else (float(self.C),)
        if not vary_size and product + len(gates) == 1:
            return Plan(len(seeds), gates[0] if gates else None)
        tasks = [
            (rows, fold, seeds, settings, vary_size, product, gates)
            for fold in development_folds(rows.targets, rng)
        ]
        means = mean_scores(run_tasks(plan_scores, tasks, self.n_jobs))
        self.development_scores_ = {plan.name(): mean for plan, mean in means.items()}
        return best_plan(means)

    def _combine(self, plan: Plan, rows: Rows, settings: Settings, seeds: Seeds, rng: Rng) -> None:
        """Refit the members jointly with a gate, or fit the fusion on out-of-fold predictions."""
        self.fusion_ = self._resolve_combination()
        if plan.gate is not None:
            supports = self._column_supports()
            seen = supports[:, None, :]
            start = random_gate_start(self.coefs_ * seen, self.intercepts_, seeds[0])
            mixture = refit_with_gate(rows, start, supports, 1.0 / (plan.gate * rows.total))
            self.coefs_ = np.where(seen, mixture.coef, self.coefs_)
            self.intercepts_ = mixture.intercept
            self.fusion_ = SoftmaxGate.from_coefficients(mixture.gate_coef, mixture.gate_intercept)
        elif not self.fusion_.requires_fit():
            self.fusion_ = self.fusion_.fit(None, rows.targets)
        else:
            folds = deal_folds(rows.targets, N_FOLDS, rng)
            tasks = [(rows, fold, seeds, settings) for fold in folds]
            outputs = np.empty((len(seeds), rows.targets.size, rows.n_outputs))
            parts = run_tasks(_outputs_out_of_fold, tasks, self.n_jobs)
            for fold, part in zip(folds, parts, strict=True):
                outputs[:, fold.test] = part
            weights = rows.weights.astype(float) * rows.total
            context = FusionContext(X=rows.features.T)
            self.fusion_ = self.fusion_.fit(outputs, rows.targets, context, sample_weight=weights)

    def _member_outputs(self, columns: Floats) -> Doubles:
        seen = self._column_supports()[:, None, :]
        return outputs_of(columns, self.coefs_ * seen, self.intercepts_)

    def member_outputs(self, X: Any) -> Doubles:
        """Predict the probabilities of each member.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_members, n_samples, n_classes)
            Probabilities before fusion.
        """
        return self._member_outputs(self._columns(X))

    def row_weights(self, X: Any, y: Any) -> Doubles:
        """Compute the weight of each row for each member (eq. 8).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,)
            Class labels, all of them seen in ``fit``.

        Returns
        -------
        ndarray of shape (n_members, n_samples)
            For the training rows, and with ``refine=None``, the weights used in ``fit``, before
            ``sample_weight``.
        """
        outputs = self.member_outputs(X)
        labels = np.searchsorted(self.classes_, y)
        true = outputs[:, np.arange(len(labels)), labels]
        before = np.cumsum(true, axis=0) - true
        return np.array([next_row_weights(total, k) for k, total in enumerate(before)])

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if isinstance(self.fusion_, SoftmaxGate):
            shape = (self.n_estimators_, self.basis_.n_columns())
            expect(np.shape(self.fusion_.coef_) == shape, "fusion_ has another number of members")

    def _scores(self, X: Any) -> Doubles:
        columns = self._columns(X)
        return self.fusion_.combine(self._member_outputs(columns), FusionContext(X=columns.T))

    def _returns_probabilities(self) -> bool:
        return True


def _squared_errors_out_of_fold(
    rows: Rows, fold: Fold, seeds: Seeds, settings: Settings
) -> Doubles:
    """Fit members on a fold's training rows; return their mean squared errors on its test rows."""
    held = rows.take(fold.test)
    members = fit_sequence(rows.take(fold.train), seeds, settings)
    errors = [held.targets - member_logits(held.features, member)[0] for member in members]
    return np.array([float(held.weights @ error**2) for error in errors])


@set_module("ensemblage.subspace")
@with_shared(SUBSPACE_DOCS + ENCODE_DOCS)
class JointSubspaceRegressor(RegressorMixin, BaseJointSubspace):
    r"""Ensemble of linear regressors, each on its own learned feature subset.

    As :class:`JointSubspaceClassifier`, with squared loss. Each member predicts a normal density,
    and the ensemble predicts their product.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of members.
    C : float or "auto", default=1.0
        Inverse strength of the ridge penalty, on standardised features and target: scikit-learn's
        ``Ridge`` has ``alpha=1/C``. "auto" chooses the best power of ten for a single regressor
        on all features by cross-validation. ``solver="paper"`` fits members without a penalty.
    {basis, solver, flip_probability}
    size_penalty : float or "auto", default="auto"
        Gain in mean log-likelihood needed to keep a feature, per unit of mean row weight. "auto" is
        four divided by the number of rows, four times the penalty of AIC. Not used by
        ``solver="paper"``.
    {learning_rate, patience, max_iter, tol}
    {member_weights, encode, n_jobs, random_state}

    Attributes
    ----------
    coefs_ : ndarray of shape (n_estimators_, n_columns)
        Coefficients on standardised columns, in units of the target. Those outside the mask are
        not used.
    intercepts_ : ndarray of shape (n_estimators_,)
        Intercepts, which are never masked.
    variances_ : ndarray of shape (n_estimators_,)
        Variance of each member's density: the out-of-fold mean squared error of the member at the
        same position in the sequence, times 1 + 2 / n for n rows out of fold.
    member_weights_ : ndarray of shape (n_estimators_,)
        Weight of each member.
    {supports_, co_selection_, score_path_}
    {n_iter_, n_estimators_, target_mean_, target_scale_}
    {encoder_, basis_, C_, mean_, scale_, n_features_in_, feature_names_in_}

    See Also
    --------
    JointSubspaceClassifier : For classification.
    JointSubspaceSelector : With ``loss="squared_error"`` the same members, as a feature selector.

    Notes
    -----
    Member :math:`k` maximises the log-likelihood of its weighted rows in coefficients and mask,
    :math:`-\frac12 \bar w \log \bigl(\sum_m w_{km} r_{km}^2 / \bar w\bigr)` of residuals
    :math:`r_{km}` and :math:`\bar w = \sum_m w_{km}`, with weights as in eq. 8,

    .. math:: w_{km} = 1 - \frac{1}{k-1} \sum_{k' < k} e^{-r_{k'm}^2 / 2 s_{k'}^2},

    where the density divided by its mode replaces the probability of the true class. The product
    (eq. 10) of normal densities with weights :math:`i_k` is normal: its precision is
    :math:`\sum_k i_k / s_k^2`, and its mean is weighted by :math:`i_k / s_k^2`. Members are linear,
    and so is their product, like a ridge regression.

    Subsets are drawn by position: another order of columns gives other subsets, of similar
    accuracy.

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
        **BaseJointSubspace._parameter_constraints,  # noqa: SLF001
        "member_weights": ["array-like", None],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        C: Any = 1.0,
        basis: str = "linear",
        solver: str = "lbfgs",
        flip_probability: Any = "auto",
        size_penalty: Any = "auto",
        learning_rate: Any = "auto",
        patience: int = 50,
        max_iter: int = 500,
        tol: float = 1e-4,
        member_weights: Any = None,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.C = C
        self.basis = basis
        self.solver = solver
        self.flip_probability = flip_probability
        self.size_penalty = size_penalty
        self.learning_rate = learning_rate
        self.patience = patience
        self.max_iter = max_iter
        self.tol = tol
        self.member_weights = member_weights
        self.encode = encode
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _objective(self) -> Objective:
        return SQUARED

    def _resolve_combination(self) -> Doubles:
        if self.member_weights is None:
            return np.full(self.n_estimators, 1.0 / self.n_estimators)
        weights = np.asarray(self.member_weights, dtype=float)
        if weights.shape != (self.n_estimators,):
            raise ValueError(
                f"member_weights has shape {weights.shape}; expected ({self.n_estimators},), one "
                "per member."
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ValueError(
                f"member_weights={self.member_weights!r}; expected finite non-negative values, at "
                "least one of them positive."
            )
        return weights

    def _combine(self, plan: Plan, rows: Rows, settings: Settings, seeds: Seeds, rng: Rng) -> None:
        """Set the variances: out-of-fold mean squared errors on development splits.

        Weights are equivalent to repeated rows, so copies of a row must be in the same part of a
        split: distinct rows are split. Rows of zero weight are in neither part.
        """
        self.member_weights_ = self._resolve_combination()[: len(seeds)]
        codes = row_codes(rows)
        n_distinct = int(codes.max()) + 1
        if n_distinct == 1:
            self.variances_ = np.full(len(seeds), self.target_scale_**2)
            return
        folds = development_folds(np.zeros(n_distinct, dtype=np.intp), rng)
        tasks = [(rows, rows_with_codes(codes, fold), seeds, settings) for fold in folds]
        squares = np.mean(run_tasks(_squared_errors_out_of_fold, tasks, self.n_jobs), axis=0)
        # a variance estimated from n rows gives a t distribution, of variance n / (n - 2) or,
        # finite for any n, about 1 + 2 / n times the estimate
        squares *= 1 + 2 / len(np.unique(np.concatenate([fold.test for fold in folds])))
        self.variances_ = np.maximum(squares, MIN_VARIANCE) * self.target_scale_**2

    def member_outputs(self, X: Any) -> Doubles:
        """Predict the normal density of each member.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_members, n_samples, 2)
            Mean and variance, before fusion.
        """
        columns = self._columns(X)
        means = (self.coefs_ * self._column_supports()) @ columns + self.intercepts_[:, None]
        variances = np.broadcast_to(self.variances_[:, None], means.shape)
        return np.stack([means.astype(float), variances], axis=2)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the mean of the product of the members' densities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        return_std : bool, default=False
            Whether to return the standard deviation of the product.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,)
            Predictions.
        y_std : ndarray of shape (n_samples,)
            Standard deviations; only if ``return_std=True``.
        """
        members = Normals(*np.moveaxis(self.member_outputs(X), 2, 0))
        mean, variance = normal_product(members, self.member_weights_)
        return (mean, np.sqrt(variance)) if return_std else mean

    def _check_fitted(self) -> None:
        super()._check_fitted()
        expect_fitted(self, {"target_mean_": "number", "target_scale_": "number 0.."})
        expect_array(self, "variances_", (self.n_estimators_,), low=np.finfo(float).tiny)
        expect_array(self, "member_weights_", (self.n_estimators_,), low=0)
