"""Fixed rules: member outputs in, one output out."""

from __future__ import annotations

import numpy as np


def mean_rule(outputs, weights=None):
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
    return np.average(np.asarray(outputs), axis=0, weights=weights)


def vote_rule(outputs, weights=None):
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
    return np.average(choices, axis=0, weights=weights)
