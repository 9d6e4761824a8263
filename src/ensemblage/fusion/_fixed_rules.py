"""Fusions that learn nothing: the mean of the members' outputs, and their vote."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensemblage.fusion._base import NOTHING_KNOWN, Array, Fusion, FusionContext


def mean_rule(outputs: Any, weights: Any = None) -> Array:
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


def vote_rule(outputs: Any, weights: Any = None) -> Array:
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

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        return mean_rule(outputs)


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

    def combine(self, outputs: Array, context: FusionContext = NOTHING_KNOWN) -> Array:
        return vote_rule(outputs)

    def gives_probabilities(self, from_probabilities: bool) -> bool:
        return True
