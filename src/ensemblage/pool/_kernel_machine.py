"""scikit-learn's support vector machine on scaled columns, asked by a product of matrices."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from ensemblage.messages import expect, expect_array
from ensemblage.pool._forest import centre_and_scale

Array = NDArray[np.float64]

MOST_ENTRIES = 4_000_000
"""Of the matrix of rows and support vectors at one time."""


class SupportVectors(BaseEstimator):
    """A support vector machine with an RBF kernel on standardised columns."""

    def __init__(self, C: float = 1.0, *, gamma: Any = "scale") -> None:
        self.C = C
        self.gamma = gamma

    def _find(self, machine: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """Fit a machine of scikit-learn, and keep its vectors."""
        scaler = StandardScaler().fit(X, sample_weight=sample_weight)
        machine.fit(scaler.transform(X), y, sample_weight=sample_weight)
        self.n_features_in_ = machine.n_features_in_
        self.means_, self.scales_ = scaler.mean_, scaler.scale_
        self.width_ = float(machine._gamma)  # noqa: SLF001  what "scale" has come to
        self.vectors_ = machine.support_vectors_
        return machine

    def _sums(self, X: Any) -> Array:
        """Add up what the vectors say of rows, (n_samples, n_intercepts)."""
        check_is_fitted(self)
        rows = (np.asarray(X, dtype=np.float64) - self.means_) / self.scales_
        most = max(1, MOST_ENTRIES // max(1, len(self.vectors_)))
        return np.concatenate([self._near(rows[part]) for part in gen_batches(len(rows), most)])

    def _near(self, rows: Array) -> Array:
        """Add up what the vectors say of some standardised rows, by how near they are."""
        near = 2 * rows @ self.vectors_.T
        near -= (self.vectors_**2).sum(axis=1)
        near -= (rows**2).sum(axis=1)[:, None]
        near *= self.width_
        np.minimum(near, 0, out=near)  # distances below zero are rounding
        return np.asarray(np.exp(near, out=near) @ self.weights_ + self.intercepts_)

    def _check_vectors(self, n_sums: int) -> None:
        """Refuse arrays that do not belong together."""
        n_features = self.n_features_in_
        for name in ("means_", "scales_"):
            expect_array(self, name, [n_features])
        expect(bool((self.scales_ > 0).all()), "scales_ are not above zero")
        expect_array(self, "vectors_", [None, n_features])
        expect_array(self, "weights_", [len(self.vectors_), n_sums])
        expect_array(self, "intercepts_", [n_sums])
        expect(0 <= self.width_ < np.inf, "width_ is no width")


class KernelMachine(ClassifierMixin, SupportVectors):
    """A support vector machine of classes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the support vectors."""
        machine = self._find(SVC(C=self.C, gamma=self.gamma), X, y, sample_weight)
        self.classes_ = machine.classes_
        self.weights_ = pairwise_weights(machine)
        self.intercepts_ = machine.intercept_
        return self

    def decision_function(self, X: Any) -> Array:
        """Give decision values: (n_samples,) for two classes, else (n_samples, n_classes)."""
        pairs = self._sums(X)
        if len(self.classes_) == 2:
            return np.asarray(pairs[:, 0])
        return np.asarray(_ovr_decision_function(pairs < 0, -pairs, len(self.classes_)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Give classes."""
        values = self.decision_function(X)
        numbers = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[numbers])

    def __check_state__(self) -> None:
        """Refuse arrays that do not belong together."""
        n_classes = len(self.classes_)
        self._check_vectors(n_classes * (n_classes - 1) // 2)


class KernelMachineRegressor(RegressorMixin, SupportVectors):
    """A support vector machine of numbers, which it learns standardised."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the support vectors."""
        mean, scale = centre_and_scale(y, sample_weight)
        standard = (y - mean) / scale
        machine = self._find(SVR(C=self.C, gamma=self.gamma), X, standard, sample_weight)
        self.weights_ = scale * machine.dual_coef_.T
        self.intercepts_ = mean + scale * machine.intercept_
        return self

    def predict(self, X: Any) -> Array:
        """Give numbers."""
        return np.asarray(self._sums(X)[:, 0])

    def __check_state__(self) -> None:
        """Refuse arrays that do not belong together."""
        self._check_vectors(1)


def pairwise_weights(machine: SVC) -> Array:
    """Write out what each support vector counts in each pair of classes, (n_vectors, n_pairs).

    scikit-learn keeps them packed: a vector's coefficients are in the order of the other classes.
    """
    n_classes = len(machine.classes_)
    coefficients = machine.dual_coef_
    if n_classes == 2:
        return np.asarray(coefficients.T)
    ends = np.append(0, np.cumsum(machine.n_support_))
    own = [slice(*each) for each in pairwise(ends)]
    pairs = list(combinations(range(n_classes), 2))
    weights = np.zeros((coefficients.shape[1], len(pairs)))
    for k, (first, second) in enumerate(pairs):
        weights[own[first], k] = coefficients[second - 1, own[first]]
        weights[own[second], k] = coefficients[first, own[second]]
    return weights
