"""What classifier, regressor and selector share: parameters and the sequential fit."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ensemblage.messages import DocLinkMixin, expect, expect_array, expect_fitted, expect_values
from ensemblage.parallel import (
    CallbackSupportMixin,
    as_numbers,
    draw_seeds,
    fit_progress,
    read_weights,
)
from ensemblage.subspace._basis import FeatureBasis
from ensemblage.subspace._co_selection import co_selection
from ensemblage.subspace._member import (
    Array,
    Floats,
    Indices,
    Mask,
    Member,
    Rows,
    Scaling,
    as_features,
    as_rows,
    standardise,
)
from ensemblage.subspace._objectives import CLASSES, NUMBERS, Objective
from ensemblage.subspace._sequence import fit_sequence
from ensemblage.subspace._settings import Settings
from ensemblage.subspace._strength import choose_strength
from ensemblage.subspace._units import units_of
from ensemblage.tables import EncodeMixin, refuse_overflow

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

    def _read_numbers(self, y: NDArray[Any], weights: Array) -> Targets:
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

    def __check_state__(self) -> None:
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
