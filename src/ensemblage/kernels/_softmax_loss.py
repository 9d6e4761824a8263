"""Weighted loss of a softmax classifier, and its slope."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]


def softmax_loss(
    features: Floats,
    labels: NDArray[np.intp],
    weights: Floats,
    parameters: Floats,
    decay: float,
) -> tuple[float, Floats]:
    r"""Loss of one classifier (eq. 9, negated, with a ridge penalty) and its slope.

    Parameters
    ----------
    features : ndarray of shape (n_features, n_rows)
        The features that the mask lets through.
    labels : ndarray of shape (n_rows,)
        Class indices.
    weights : ndarray of shape (n_rows,)
        Row weights.
    parameters : ndarray of shape (n_classes, n_features + 1)
        Coefficients, the intercepts in the last column.
    decay : float
        Strength of the ridge penalty on the coefficients; the intercepts go free.

    Returns
    -------
    loss : float
        :math:`-\sum_m w_m \log p(y_m \mid x_m) + \frac{\rho}{2} \|\theta\|^2`.
    slope : ndarray of shape (n_classes, n_features + 1)
        Its derivatives.
    """
    coef = parameters[:, :-1]
    rows = np.arange(labels.size)
    logits = coef @ features
    logits += parameters[:, -1:]
    logits -= logits.max(axis=0)
    true = logits[labels, rows]
    np.exp(logits, out=logits)
    total = logits.sum(axis=0)
    loss = float(weights @ (np.log(total) - true)) + 0.5 * decay * float((coef**2).sum())
    logits *= weights / total
    logits[labels, rows] -= weights
    slope = np.empty_like(parameters)
    slope[:, :-1] = logits @ features.T + decay * coef
    slope[:, -1] = logits.sum(axis=1)
    return loss, slope
