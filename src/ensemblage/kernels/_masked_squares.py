"""Linear members under squared loss: their loss, their score, and one step of Algorithm 1.

Arrays are as for the softmax (``_masked_softmax``) with one output: features (n_features, n_rows),
predictions (1, n_rows), and both candidates stacked, the current mask first.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._masked_softmax import MaskedMember, StepBuffers, StepRows

Floats: TypeAlias = NDArray[np.floating[Any]]

# A fit with a smaller share of the numbers' variance left counts as perfect.
NOTHING_LEFT = 1e-12
# Weakest ridge penalty under which normal equations can be solved, beside their mean diagonal.
FAINTEST_RIDGE = 1e-11


def squared_loss(
    features: Floats, numbers: Floats, weights: Floats, parameters: Floats, decay: float
) -> tuple[float, Floats]:
    r"""Loss of one linear model (squared, with a ridge penalty) and its slope.

    The loss is :math:`\frac12 \sum_m w_m (y_m - f(x_m))^2 + \frac{\rho}{2} \|\theta\|^2`.
    Parameters and slope are (1, n_features + 1), the intercept last and without a penalty.
    """
    coef = parameters[:, :-1]
    residuals = numbers - (coef @ features + parameters[:, -1:])[0]
    weighted = weights * residuals
    loss = 0.5 * float(weighted @ residuals) + 0.5 * decay * float((coef**2).sum())
    slope = np.empty_like(parameters)
    slope[0, :-1] = decay * coef[0] - features @ weighted
    slope[0, -1] = -weighted.sum()
    return loss, slope


def squared_optimum(
    features: Floats, numbers: NDArray[Any], weights: Floats, decay: float
) -> NDArray[np.float64]:
    """Parameters, (1, n_features + 1), at which :func:`squared_loss` is least.

    A penalty too small to tell copies of a feature apart counts as the smallest that can.
    """
    shares = weights.astype(float) / float(weights.sum())
    means, mean = features @ shares, float(numbers @ shares)
    centred = features - means[:, None]
    weighted = centred * weights
    normal = weighted @ centred.T
    least = FAINTEST_RIDGE * max(float(np.trace(normal)) / len(normal), float(weights.sum()))
    normal[np.diag_indices_from(normal)] += max(decay, least)
    coef = np.linalg.solve(normal, weighted @ (numbers - mean))
    return np.append(coef, mean - coef @ means)[None]


def squared_score(predicted: Floats, numbers: NDArray[Any], weights: Floats) -> float:
    r"""Log-likelihood under the best variance: :math:`-\frac12 \bar w \log s^2`, but for constants.

    :math:`\bar w = \sum_m w_m` and :math:`s^2 = \sum_m w_m (y_m - f(x_m))^2 / \bar w`; predictions
    are (1, n_rows), and the numbers' variance is one.
    """
    total = float(weights.sum())
    squared = float(weights @ (numbers - predicted[0]) ** 2) / max(total, math.ulp(0.0))
    return -0.5 * total * math.log(max(squared, NOTHING_LEFT))


def squared_step(
    rows: StepRows,
    member: MaskedMember,
    flipped: NDArray[np.intp],
    rate: float,
    decay: float,
    buffers: StepBuffers,
) -> None:
    r"""Climb once under the current and once under the proposed mask, under squared loss.

    As :func:`candidate_step` does it for classes; ``rows.labels`` are the numbers, and the scores
    :func:`squared_score` stand where the accuracies do.
    """
    features, weights = rows.features, rows.weights
    numbers: NDArray[Any] = rows.labels
    coef, mask, predicted = member
    masks = np.stack([mask, mask])
    masks[1, flipped] ^= True
    signs = np.where(mask[flipped], -1.0, 1.0).astype(coef.dtype)
    stacked, residuals, change, coef_step, intercept_step, scores = buffers
    stacked[:] = predicted
    stacked[1] += (coef[0, flipped] * signs) @ features[flipped]
    np.subtract(numbers, stacked, out=residuals)
    residuals *= weights
    np.sum(residuals, axis=1, out=intercept_step)
    np.dot(residuals, features.T, out=coef_step)
    coef_step -= decay * coef
    coef_step *= rate * masks
    intercept_step *= rate
    np.dot(coef_step, features, out=change)
    stacked += change
    stacked += intercept_step[:, None]
    for candidate in range(2):
        scores[candidate] = squared_score(stacked[candidate : candidate + 1], numbers, weights)
