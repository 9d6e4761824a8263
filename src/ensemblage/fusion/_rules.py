"""Fixed rules: mean, vote, product."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import expect, set_module
from ensemblage.fusion._base import EMPTY_CONTEXT, Fusion, FusionContext
from ensemblage.fusion._normal import residual_variance, with_variance

Doubles = NDArray[np.float64]

TINY = np.finfo(float).tiny


def mean_rule(outputs: Any, weights: Any = None) -> Doubles:
    r"""Average of the members' outputs, :math:`\sum_k w_k f_k(x) / \sum_k w_k`."""
    return np.asarray(np.average(np.asarray(outputs), axis=0, weights=weights))


def vote_rule(outputs: Any, weights: Any = None) -> Doubles:
    """Share of the members that predict each class; ties go to the first class."""
    outputs = np.asarray(outputs)
    choices = np.eye(outputs.shape[2])[outputs.argmax(axis=2)]
    return np.asarray(np.average(choices, axis=0, weights=weights))


def product_rule(outputs: Any, weights: Any = None) -> Doubles:
    r"""Weighted geometric mean of the members' probabilities, normalised (eq. 10).

    With non-negative importances :math:`i_k(x)` of shape (n_members,) or (n_samples, n_members), it
    is :math:`\prod_k p_k(c_j \mid x)^{i_k(x)}` divided by its sum over the classes; by default they
    are :math:`1/K`, the paper's equal weighting :math:`g_{EW}`. If all importances are zero, the
    classes are equally likely. A one-hot importance selects one member per row, as the paper's
    oracle does.
    """
    outputs = np.asarray(outputs, dtype=float)
    logs = np.log(np.maximum(outputs, TINY))
    if weights is None:
        fused = logs.mean(axis=0)
    else:
        fused = np.einsum("kij,ik->ij", logs, _per_row(weights, outputs))
    fused = np.exp(fused - fused.max(axis=1, keepdims=True))
    return np.asarray(fused / fused.sum(axis=1, keepdims=True))


def _per_row(weights: Any, outputs: Doubles) -> Doubles:
    n_members, n_samples, _ = outputs.shape
    weights = np.asarray(weights, dtype=float)
    if weights.shape not in {(n_members,), (n_samples, n_members)}:
        raise ValueError(
            f"weights has shape {weights.shape}; expected ({n_members},), one per member, or "
            f"({n_samples}, {n_members}), one per row and member."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("weights must be finite and non-negative.")
    return np.broadcast_to(weights, (n_samples, n_members))


def _shares(weights: Doubles) -> Doubles:
    return np.asarray(weights / np.maximum(weights.sum(axis=-1, keepdims=True), TINY))


@set_module("ensemblage.fusion")
class Mean(Fusion):
    """Average of the members' outputs.

    Regression: the average of the predicted means, with the variance of its residuals.

    Attributes
    ----------
    variance_ : float
        Mean squared out-of-fold residual; regression only.

    Examples
    --------
    >>> import numpy as np
    >>> Mean().combine(np.array([[[0.9, 0.1]], [[0.5, 0.5]]]))
    array([[0.7, 0.3]])
    """

    def requires_fit(self, *, numeric: bool = False) -> bool:
        return numeric

    def _fit(self, outputs: Any, y: Any, context: FusionContext, weights: Doubles | None) -> None:
        if self.numeric_:
            fused = np.asarray(outputs)[:, :, 0].mean(axis=0)
            self.variance_ = residual_variance(fused - y, weights)

    def combine(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        if self.numeric_:
            return with_variance(np.asarray(outputs)[:, :, 0].mean(axis=0), self.variance_)
        return mean_rule(outputs)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self.numeric_:
            expect(bool(0 < self.variance_ < np.inf), "the variance is not above zero")


@set_module("ensemblage.fusion")
class Vote(Fusion):
    """Share of the members that predict each class, used as probability.

    Examples
    --------
    >>> import numpy as np
    >>> Vote().combine(np.array([[[0.9, 0.1]], [[0.6, 0.4]]]))
    array([[1., 0.]])
    """

    classes_only = True

    def combine(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        return vote_rule(outputs)

    def returns_probabilities(self, from_probabilities: bool) -> bool:
        return True


@set_module("ensemblage.fusion")
class Product(Fusion):
    r"""Product of the members' probabilities.

    Parameters
    ----------
    weights : array-like of shape (n_members,), default=None
        Importance of each member; by default equal. Affinities in the context are logarithms of
        importances per row, by which they are multiplied.

    Notes
    -----
    Equation 10 of the joint-subset paper: :math:`\prod_k p_k(c_j \mid x)^{i_k(x)}`, divided by
    its sum over the classes; by default :math:`i_k = 1/K`.

    Examples
    --------
    >>> import numpy as np
    >>> Product().combine(np.array([[[0.9, 0.1]], [[0.5, 0.5]]])).round(2)
    array([[0.75, 0.25]])
    """

    classes_only = True

    def __init__(self, weights: Any = None) -> None:
        self.weights = weights

    def combine(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        if context.affinity is None:
            return product_rule(outputs, self.weights)
        return product_rule(outputs, np.exp(context.affinity) * self._weights(len(outputs)))

    def row_weights(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        affinity = 0.0 if context.affinity is None else context.affinity
        each = np.exp(affinity) * self._weights(len(outputs))
        shape = (np.shape(outputs)[1], len(outputs))
        return np.broadcast_to(_shares(each), shape).copy()

    def member_weights(self, n_members: int) -> Doubles:
        return _shares(self._weights(n_members))

    def _weights(self, n_members: int) -> Doubles:
        equal = np.full(n_members, 1.0 / n_members)
        return equal if self.weights is None else np.asarray(self.weights, dtype=float)
