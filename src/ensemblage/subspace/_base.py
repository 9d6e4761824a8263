"""What the classifier and the selector share: parameters and the sequential fit."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from ensemblage.parallel import CallbackSupportMixin, draw_seeds
from ensemblage.subspace._co_selection import co_selection
from ensemblage.subspace._member import as_rows, standardise
from ensemblage.subspace._sequence import Settings
from ensemblage.subspace._strength import choose_strength

FLIP_PROBABILITIES = {"paper": 0.01, "lbfgs": 0.05}


def encode_classes(y):
    """Classes and their indices, two classes at least.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        Sorted.
    labels : ndarray of shape (n_samples,)
        Class indices.
    """
    check_classification_targets(y)
    encoder = LabelEncoder().fit(y)
    if len(encoder.classes_) < 2:
        only = encoder.classes_.tolist()[0]
        raise ValueError(
            f"y holds one class only, {only!r}; a classifier needs at least two classes. Check "
            "how the rows were chosen."
        )
    return encoder.classes_, encoder.transform(y)


class JointSubspaceBase(CallbackSupportMixin, BaseEstimator):
    """Parameters and preparation that the joint-subspace estimators share."""

    _parameter_constraints: dict = {  # noqa: RUF012
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

    def _prepare(self, X, y, sample_weight):
        """Validate, standardise, and draw what is random: gives rows, settings, a generator."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        self.classes_, labels = encode_classes(y)
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )  # fmt: skip
        self.mean_, self.scale_ = standardise(X, weights)
        rows = as_rows(X, labels, len(self.classes_), self.mean_, self.scale_, weights)
        random_state = check_random_state(self.random_state)
        rng = np.random.default_rng(draw_seeds(random_state, 1)[0])
        return rows, self._settings(rows, rng), random_state, rng

    def _settings(self, rows, rng):
        flip = self.flip_probability
        flip = FLIP_PROBABILITIES[self.solver] if flip == "auto" else float(flip)
        unused = self.solver == "paper"
        self.C_ = choose_strength(rows, rng) if self.C == "auto" and not unused else self.C
        strength = 1.0 if unused else float(self.C_)
        return Settings(
            self.solver, flip, self.size_penalty, self.learning_rate, strength, self.patience,
            self.tol, self.max_iter,
        )  # fmt: skip

    def _store(self, members):
        self.coefs_ = np.array([member.coef for member in members])
        self.intercepts_ = np.array([member.intercept for member in members])
        self.supports_ = np.array([member.support for member in members])
        self.accuracy_path_ = [member.accuracy_path for member in members]
        self.n_iter_ = max(member.n_iter for member in members)
        self.co_selection_ = co_selection(self.supports_)
        self.n_estimators_ = len(members)
