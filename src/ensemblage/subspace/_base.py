"""What the classifier and the selector share: parameters and the sequential fit."""

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

from ensemblage.messages import expect, expect_array
from ensemblage.parallel import CallbackSupportMixin, draw_seeds, fit_progress, read_weights
from ensemblage.subspace._co_selection import co_selection
from ensemblage.subspace._member import Indices, Member, Rows, as_rows, standardise
from ensemblage.subspace._sequence import fit_sequence
from ensemblage.subspace._settings import Settings
from ensemblage.subspace._strength import choose_strength
from ensemblage.tables import EncodeMixin

FLIP_PROBABILITIES = {"paper": 0.01, "lbfgs": 0.05}


SUBSPACE_DOCS = """
solver : {"lbfgs", "paper"}, default="lbfgs"
    With "lbfgs" each member's coefficients are converged, and its mask is annealed. "paper"
    is Algorithm 1 to the letter, which stops after few steps.
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
coefs_ : ndarray of shape (n_estimators_, n_classes, n_features)
    Coefficients on standardised features. Those outside the mask are not used; they keep the
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
    return Encoded(encoder.classes_, encoder.transform(y))


class JointSubspaceBase(EncodeMixin, CallbackSupportMixin, BaseEstimator):
    """Parameters and preparation that the joint-subspace estimators share."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "solver": [StrOptions({"lbfgs", "paper"})],
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
        X, y = self._training_rows(X, y, dtype=[np.float64, np.float32])
        self.classes_, labels = encode_classes(y)
        weights = read_weights(sample_weight, X)
        scaling = standardise(X, weights)
        self.mean_, self.scale_ = scaling
        rows = as_rows(X, labels, len(self.classes_), scaling, weights)
        random_state = check_random_state(self.random_state)
        rng = np.random.default_rng(draw_seeds(random_state, 1)[0])
        return Prepared(rows, self._settings(rows, rng), random_state, rng)

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
        n_outputs = self.coefs_.shape[1]
        expect(n_outputs == len(self.classes_), "coefs_ is not of the classes")
        expect_array(self, "coefs_", (members, n_outputs, d))
        expect_array(self, "intercepts_", (members, n_outputs))
        expect_array(self, "supports_", (members, d), "truth")
        expect_array(self, "mean_", (d,))
        expect_array(self, "scale_", (d,), low=0)

    def _store(self, members: list[Member]) -> None:
        self.coefs_ = np.array([member.coef for member in members])
        self.intercepts_ = np.array([member.intercept for member in members])
        self.supports_ = np.array([member.support for member in members])
        self.accuracy_path_ = [member.accuracy_path for member in members]
        self.n_iter_ = max(member.n_iter for member in members)
        self.co_selection_ = co_selection(self.supports_)
        self.n_estimators_ = len(members)
