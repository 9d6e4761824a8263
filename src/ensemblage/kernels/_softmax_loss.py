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

    The loss is :math:`-\sum_m w_m \log p(y_m \mid x_m) + \frac{\rho}{2} \|\theta\|^2`, with
    :math:`\rho` the decay. ``features`` are those that the mask lets through, of shape
    (n_features, n_rows); parameters and slope are of shape (n_classes, n_features + 1), with the
    intercepts, which no penalty touches, in the last column.
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
