"""Fusions without parameters to learn: mean, vote, product."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import set_module
from ensemblage.fusion._base import NOTHING_KNOWN, Fusion, FusionContext

Doubles = NDArray[np.float64]


def mean_rule(outputs: Any, weights: Any = None) -> Doubles:
    r"""Average the members' outputs.

    Parameters
    ----------
    outputs : ndarray of shape (n_members, n_samples, n_classes)
        Probabilities or decision values.
    weights : array-like of shape (n_members,), default=None
        Importance of each member; equal if not given.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        :math:`\sum_k w_k f_k(x) / \sum_k w_k`.

    Examples
    --------
    >>> mean_rule([[[0.9, 0.1]], [[0.5, 0.5]]])
    array([[0.7, 0.3]])
    """
    return np.asarray(np.average(np.asarray(outputs), axis=0, weights=weights))


def vote_rule(outputs: Any, weights: Any = None) -> Doubles:
    r"""Share of the members that choose each class.

    Parameters
    ----------
    outputs : ndarray of shape (n_members, n_samples, n_classes)
        Probabilities or decision values; a member chooses the class where its own is largest,
        the first of equals.
    weights : array-like of shape (n_members,), default=None
        Importance of each member; equal if not given.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Shares that add up to one.

    Examples
    --------
    >>> vote_rule([[[0.9, 0.1]], [[0.4, 0.6]], [[0.2, 0.8]]]).round(2)
    array([[0.33, 0.67]])
    """
    outputs = np.asarray(outputs)
    choices = np.eye(outputs.shape[2])[outputs.argmax(axis=2)]
    return np.asarray(np.average(choices, axis=0, weights=weights))


@set_module("ensemblage.fusion")
class Mean(Fusion):
    """Average of the members' outputs.

    See Also
    --------
    mean_rule : The rule itself.

    Examples
    --------
    >>> import numpy as np
    >>> Mean().combine(np.array([[[0.9, 0.1]], [[0.5, 0.5]]]))
    array([[0.7, 0.3]])
    """

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        return mean_rule(outputs)


@set_module("ensemblage.fusion")
class Vote(Fusion):
    """Share of the members that choose each class; the shares count as probabilities.

    See Also
    --------
    vote_rule : The rule itself.

    Examples
    --------
    >>> import numpy as np
    >>> Vote().combine(np.array([[[0.9, 0.1]], [[0.6, 0.4]]]))
    array([[1., 0.]])
    """

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        return vote_rule(outputs)

    def gives_probabilities(self, from_probabilities: bool) -> bool:
        return True


TINY = np.finfo(float).tiny


def product_rule(outputs: Any, weights: Any = None) -> Doubles:
    r"""Weighted geometric mean of the members' probabilities, normalised.

    Parameters
    ----------
    outputs : array-like of shape (n_members, n_samples, n_classes)
        Probabilities.
    weights : array-like of shape (n_members,) or (n_samples, n_members), default=None
        Importances :math:`i_k(x)`, not negative; :math:`1/K` each if not given, the paper's
        equal weighting :math:`g_{EW}`.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        :math:`\prod_k p_k(c_j \mid x)^{i_k(x)}`, divided by its sum over the classes. Where all
        importances are zero, the classes are equally likely.

    Notes
    -----
    Computed as a sum of logarithms, in which a probability below the smallest float counts as
    that float. A one-hot importance picks one member per row, as the paper's oracle does.

    Examples
    --------
    >>> product_rule([[[0.9, 0.1]], [[0.5, 0.5]]]).round(2)
    array([[0.75, 0.25]])
    >>> product_rule([[[0.9, 0.1]], [[0.5, 0.5]]], weights=[0, 1])
    array([[0.5, 0.5]])
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
        raise ValueError("weights holds a negative or infinite importance; give finite ones >= 0.")
    return np.broadcast_to(weights, (n_samples, n_members))


@set_module("ensemblage.fusion")
class Product(Fusion):
    """Product of the members' probabilities.

    Parameters
    ----------
    weights : array-like of shape (n_members,), default=None
        Importance of each member; equal if not given. Where the context has affinities, these are
        logarithms of importances per row, which multiply them.

    See Also
    --------
    product_rule : The rule itself.

    Examples
    --------
    >>> import numpy as np
    >>> Product().combine(np.array([[[0.9, 0.1]], [[0.5, 0.5]]])).round(2)
    array([[0.75, 0.25]])
    """

    def __init__(self, weights: Any = None) -> None:
        self.weights = weights

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        if context.affinity is None:
            return product_rule(outputs, self.weights)
        return product_rule(outputs, np.exp(context.affinity) * self._weights(len(outputs)))

    def row_weights(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        affinity = 0.0 if context.affinity is None else context.affinity
        each = np.exp(affinity) * self._weights(len(outputs))
        shape = (np.shape(outputs)[1], len(outputs))
        return np.broadcast_to(_shares(each), shape).copy()

    def importance(self, n_members: int) -> Doubles:
        return _shares(self._weights(n_members))

    def _weights(self, n_members: int) -> Doubles:
        equal = np.full(n_members, 1.0 / n_members)
        return equal if self.weights is None else np.asarray(self.weights, dtype=float)


def _shares(weights: Doubles) -> Doubles:
    return np.asarray(weights / np.maximum(weights.sum(axis=-1, keepdims=True), TINY))
