"""Product of the members' probabilities, with importances (joint feature subsets, eq. 10)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext

TINY = np.finfo(float).tiny


def product_rule(outputs: Any, weights: Any = None) -> Array:
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


def _per_row(weights: Any, outputs: Array) -> Array:
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

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        if context.affinity is None:
            return product_rule(outputs, self.weights)
        return product_rule(outputs, np.exp(context.affinity) * self._weights(len(outputs)))

    def row_weights(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        affinity = 0.0 if context.affinity is None else context.affinity
        each = np.exp(affinity) * self._weights(len(outputs))
        shape = (np.shape(outputs)[1], len(outputs))
        return np.broadcast_to(_shares(each), shape).copy()

    def importance(self, n_members: int) -> Array:
        return _shares(self._weights(n_members))

    def _weights(self, n_members: int) -> Array:
        equal = np.full(n_members, 1.0 / n_members)
        return equal if self.weights is None else np.asarray(self.weights, dtype=float)


def _shares(weights: Array) -> Array:
    return np.asarray(weights / np.maximum(weights.sum(axis=-1, keepdims=True), TINY))
