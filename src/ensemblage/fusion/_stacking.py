"""Stacking: a classifier that learns from the members' outputs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext


def stack_features(outputs: Any) -> Array:
    """Lay the members' outputs side by side.

    Parameters
    ----------
    outputs : ndarray of shape (n_members, n_samples, n_classes)
        Members' outputs.

    Returns
    -------
    ndarray of shape (n_samples, n_members * n_classes)
        With two classes only the second's output, (n_samples, n_members): the first follows
        from it.
    """
    outputs = np.asarray(outputs)
    if outputs.shape[2] == 2:
        return np.asarray(outputs[:, :, 1].T)
    return np.concatenate(list(outputs), axis=1)


def as_columns(decision: Array) -> Array:
    """Decision values with one column per class, also for two classes.

    Parameters
    ----------
    decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What ``decision_function`` gave.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        For two classes the pair (-d, d).
    """
    return np.column_stack([-decision, decision]) if decision.ndim == 1 else decision


class Stacking(Fusion):
    """A classifier on the members' outputs.

    Parameters
    ----------
    final_estimator : classifier, default=None
        With ``predict_proba`` or ``decision_function``; logistic regression if not given. A
        linear one on linear members' decision values is one linear classifier again.

    Attributes
    ----------
    final_estimator_ : classifier
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> outputs = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.6, 0.4], [0.4, 0.6]]])
    >>> Stacking().fit(outputs, np.array([0, 1])).combine(outputs).argmax(axis=1)
    array([0, 1])
    """

    learns = True

    def __init__(self, final_estimator: Any = None) -> None:
        self.final_estimator = final_estimator

    def _unfitted(self) -> Any:
        return LogisticRegression() if self.final_estimator is None else self.final_estimator

    def fit(
        self,
        outputs: Array | None,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Array | None = None,
    ) -> Self:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.final_estimator_ = clone(self._unfitted()).fit(stack_features(outputs), y, **weights)
        return self

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        features = stack_features(outputs)
        if hasattr(self.final_estimator_, "predict_proba"):
            return np.asarray(self.final_estimator_.predict_proba(features))
        return as_columns(self.final_estimator_.decision_function(features))

    def importance(self, n_members: int) -> Array | None:
        """Share of the absolute coefficients, where the classifier is linear.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        ndarray of shape (n_members,) or None
            None if the classifier has no coefficients.
        """
        coefficients = getattr(self.final_estimator_, "coef_", None)
        if coefficients is None:
            return None
        size = np.abs(coefficients).mean(axis=0).reshape(n_members, -1).sum(axis=1)
        return np.asarray(size / max(size.sum(), np.finfo(float).tiny))

    def gives_probabilities(self, from_probabilities: bool) -> bool:
        return hasattr(self._unfitted(), "predict_proba")
