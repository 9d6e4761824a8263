"""Product of the members' probabilities, with importances (joint feature subsets, eq. 10)."""

from __future__ import annotations

import numpy as np

from ensemblage.fusion._fusion import Fusion


def product_rule(outputs, weights=None):
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
    logs = np.log(np.maximum(outputs, np.finfo(float).tiny))
    if weights is None:
        fused = logs.mean(axis=0)
    else:
        fused = np.einsum("kij,ik->ij", logs, _per_row(weights, outputs))
    fused = np.exp(fused - fused.max(axis=1, keepdims=True))
    return fused / fused.sum(axis=1, keepdims=True)


def _per_row(weights, outputs):
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
        Importance of each member; equal if not given.

    See Also
    --------
    product_rule : The rule itself.

    Examples
    --------
    >>> import numpy as np
    >>> Product().combine(np.array([[[0.9, 0.1]], [[0.5, 0.5]]])).round(2)
    array([[0.75, 0.25]])
    """

    def __init__(self, weights=None):
        self.weights = weights

    def combine(self, outputs, affinity=None):
        """Multiply the members' probabilities.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' probabilities.
        affinity : ndarray of shape (n_samples, n_members), default=None
            Logarithms of importances per row, which multiply ``weights``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        if affinity is None:
            return product_rule(outputs, self.weights)
        equal = np.full(len(outputs), 1.0 / len(outputs))
        weights = equal if self.weights is None else np.asarray(self.weights, dtype=float)
        return product_rule(outputs, np.exp(affinity) * weights)
