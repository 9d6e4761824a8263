"""Kernels of joint subspaces: masked linear models under several losses, the gated mixture."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import compiled

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
RowLoss = Callable[[Floats, Indices], tuple[Floats, Floats]]

# Rows per chunk, for vectorised inner loops.
CHUNK = 512
# Rows up to which the first part of a step is left to NumPy.
MAX_NUMPY_ROWS = 4096
# Smoothing of the multi-class hinge loss: it exceeds the hinge by at most this times log J.
HINGE_SMOOTHING = 0.25
# A fit with a smaller fraction of residual variance counts as perfect.
MIN_RESIDUAL_VARIANCE = 1e-12
# Smallest ridge penalty of the normal equations, relative to their mean diagonal.
MIN_RIDGE = 1e-11


class StepBuffers(NamedTuple):
    """Buffers shared by the steps of one fit; a step writes its results into them."""

    logits: Floats  # (2 * n_classes, n_rows): after the step, of both candidates
    residuals: Floats  # (2 * n_classes, n_rows): scratch
    change: Floats  # (2 * n_classes, n_rows): scratch
    coef_step: Floats  # (2 * n_classes, n_features)
    intercept_step: NDArray[np.float64]  # (2 * n_classes,)
    scores: NDArray[np.float64]  # (2,): weighted accuracies, or another objective's scores
    values: Floats  # (CHUNK,): scratch
    classes: NDArray[np.int64]  # (CHUNK,): scratch


class MixtureParameters(NamedTuple):
    """Parameters of members and gate; masked entries of ``coef`` are zero."""

    coef: Floats  # (n_members, n_classes, n_features)
    intercept: Floats  # (n_members, n_classes)
    gate_coef: Floats  # (n_members, n_features)
    gate_intercept: Floats  # (n_members,)


def step_buffers(n_classes: int, features: Floats) -> StepBuffers:
    """Allocate the buffers of ``candidate_step``, in the dtype of the features."""
    n_features, n_rows = features.shape
    logits, residuals, change = (
        np.empty((2 * n_classes, n_rows), features.dtype) for _ in range(3)
    )
    coef_step = np.empty((2 * n_classes, n_features), features.dtype)
    values, classes = np.empty(CHUNK, features.dtype), np.empty(CHUNK, np.int64)
    return StepBuffers(
        logits, residuals, change, coef_step, np.empty(2 * n_classes), np.empty(2), values, classes
    )


def softmax_loss(
    features: Floats, labels: Indices, weights: Floats, parameters: Floats, decay: float
) -> tuple[float, Floats]:
    r"""Loss of one classifier (eq. 9, negated, with a ridge penalty) and its gradient.

    The loss is :math:`-\sum_m w_m \log p(y_m \mid x_m) + \frac{\rho}{2} \|\theta\|^2`, with
    :math:`\rho` the decay. ``features`` are those in the mask, of shape (n_features, n_rows);
    parameters and gradient are of shape (n_classes, n_features + 1), with the unpenalised
    intercepts in the last column.
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
    gradient = np.empty_like(parameters)
    gradient[:, :-1] = logits @ features.T + decay * coef
    gradient[:, -1] = logits.sum(axis=1)
    return loss, gradient


def hinge_rows(logits: Floats, labels: Indices) -> tuple[Floats, Floats]:
    r"""Smoothed multi-class hinge loss of each row, and its derivatives in the logits.

    :math:`\gamma \log \sum_j e^{(a_j - a_y + [j \ne y]) / \gamma}` is at least the hinge
    :math:`\max_j (a_j - a_y + [j \ne y])`, and at most :math:`\gamma \log J` more. Logits and
    derivatives are (n_classes, n_rows); so in the next two.
    """
    rows = np.arange(labels.size)
    margins = logits - logits[labels, rows] + 1
    margins[labels, rows] = 0
    margins /= HINGE_SMOOTHING
    log_shares = log_softmax(margins, axis=0)
    slopes = np.exp(log_shares)
    slopes[labels, rows] -= 1
    return -HINGE_SMOOTHING * log_shares[labels, rows], slopes


def brier_rows(logits: Floats, labels: Indices) -> tuple[Floats, Floats]:
    r"""Half of the squared error of each row's probabilities, :math:`\sum_j (p_j - [j = y])^2`."""
    proba = np.exp(log_softmax(logits, axis=0))
    errors = proba.copy()
    errors[labels, np.arange(labels.size)] -= 1
    return 0.5 * (errors**2).sum(axis=0), proba * (errors - (proba * errors).sum(axis=0))


def focal_rows(logits: Floats, labels: Indices) -> tuple[Floats, Floats]:
    r"""Focal loss of each row, :math:`-(1 - p_y)^2 \log p_y`."""
    rows = np.arange(labels.size)
    log_proba = log_softmax(logits, axis=0)
    true = log_proba[labels, rows]
    missing = -np.expm1(true)
    slopes = np.exp(log_proba)
    slopes[labels, rows] -= 1
    return -(missing**2) * true, (missing**2 - 2 * missing * np.exp(true) * true) * slopes


def linear_loss(
    features: Floats,
    labels: Indices,
    weights: Floats,
    parameters: Floats,
    decay: float,
    *,
    row_loss: RowLoss,
) -> tuple[float, Floats]:
    """As :func:`softmax_loss`, with another loss of the rows."""
    coef = parameters[:, :-1]
    losses, slopes = row_loss(coef @ features + parameters[:, -1:], labels)
    loss = float(weights @ losses) + 0.5 * decay * float((coef**2).sum())
    slopes *= weights
    gradient = np.column_stack([slopes @ features.T + decay * coef, slopes.sum(axis=1)])
    return loss, gradient


def candidate_step(
    features: Floats,
    labels: Indices,
    weights: Floats,
    coef: Floats,
    mask: Mask,
    logits: Floats,
    flipped: Indices,
    rate: float,
    decay: float,
    buffers: StepBuffers,
    *,
    row_loss: RowLoss | None = None,
) -> None:
    r"""Take a gradient step under the current and under the proposed mask (lines 8 to 13).

    Features are (n_features, n_rows), standardised; weights are :math:`w_{km} / M`, so that sums
    over rows are the paper's means. ``coef`` is (n_classes, n_features), masked ones included, and
    ``logits`` is (n_classes, n_rows), under the mask (eq. 6). The proposal differs from the mask in
    the features ``flipped``. The rate :math:`\eta` is the step size; the decay is the strength of
    a ridge penalty, 0 in the paper. The results are written into the buffers: steps, logits after
    the steps, accuracies. The gradient is that of eq. 9, or of another loss of the rows, which is
    invariant to adding a constant to a row's logits.

    Both candidates share one product :math:`R X` and one product :math:`G X^T` with
    :math:`2J` rows each, so the data are read twice per step, not six times.
    """
    given = features, logits, coef, mask, flipped, buffers.logits, buffers.residuals
    if logits.shape[1] <= MAX_NUMPY_ROWS:
        stack_few_candidates(*given)
    else:
        stack_candidates(*given, buffers.values)
    if row_loss is None:
        np.exp(buffers.residuals, out=buffers.residuals)
        weighted_residuals(
            buffers.residuals, labels, weights, buffers.intercept_step, buffers.values
        )
    else:
        for candidate in np.split(buffers.residuals, 2):  # views
            candidate[:] = -weights * row_loss(candidate, labels)[1]
        np.sum(buffers.residuals, axis=1, out=buffers.intercept_step)
    np.dot(buffers.residuals, features.T, out=buffers.coef_step)
    step_coefficients(buffers.coef_step, buffers.intercept_step, coef, mask, flipped, rate, decay)
    np.dot(buffers.coef_step, features, out=buffers.change)
    move_logits(
        buffers.logits, buffers.change, buffers.intercept_step, labels, weights, buffers.scores,
        buffers.values, buffers.classes,
    )  # fmt: skip


# On a few hundred rows a step takes 20 microseconds: the compiled kernels take plain arrays, as
# unpacking a named tuple costs Numba a microsecond.


@compiled
def shift_rows(
    stacked: Floats, first: int, n_classes: int, shifted: Floats, largest: Floats
) -> None:
    """Subtract from each row of one candidate its maximum over classes."""
    n_rows = stacked.shape[1]
    for start in range(0, n_rows, CHUNK):
        n = CHUNK if start + CHUNK < n_rows else n_rows - start
        for m in range(n):
            largest[m] = stacked[first, start + m]
        for j in range(first + 1, first + n_classes):
            line = stacked[j, start : start + n]
            for m in range(n):
                largest[m] = max(largest[m], line[m])
        for j in range(first, first + n_classes):
            line, less = stacked[j, start : start + n], shifted[j, start : start + n]
            for m in range(n):
                less[m] = line[m] - largest[m]


@compiled
def stack_candidates(
    features: Floats,
    logits: Floats,
    coef: Floats,
    mask: Mask,
    flipped: Indices,
    stacked: Floats,
    shifted: Floats,
    largest: Floats,
) -> None:
    """Logits under both masks, and the same minus each row's maximum over classes.

    The proposed mask differs from the current one only in ``flipped``, so its logits are the
    current ones plus an update of rank ``len(flipped)``.
    """
    n_classes, n_rows = logits.shape
    for j in range(n_classes):
        for m in range(n_rows):  # assigning rows would take seconds to compile
            stacked[j, m] = stacked[n_classes + j, m] = logits[j, m]
        for f in flipped:
            signed = -coef[j, f] if mask[f] else coef[j, f]
            for m in range(n_rows):
                stacked[n_classes + j, m] += signed * features[f, m]
    for first in (0, n_classes):
        shift_rows(stacked, first, n_classes, shifted, largest)


def stack_few_candidates(
    features: Floats,
    logits: Floats,
    coef: Floats,
    mask: Mask,
    flipped: Indices,
    stacked: Floats,
    shifted: Floats,
) -> None:
    """Do the same by NumPy, to the same bits, so that a first fit of few rows need not compile."""
    candidates = stacked.reshape(2, *logits.shape)
    candidates[:] = logits
    for f in flipped.tolist():
        signed = -coef[:, f] if mask[f] else coef[:, f]
        candidates[1] += signed[:, None] * features[f]
    largest = candidates.max(axis=1, keepdims=True)
    np.subtract(candidates, largest, out=shifted.reshape(candidates.shape))


@compiled(error_model="numpy")
def weighted_residuals(
    residuals: Floats,
    labels: Indices,
    weights: Floats,
    totals: NDArray[np.float64],
    shares: Floats,
) -> None:
    r"""Turn exponentials into :math:`w_m([y_m = c_j] - p_j(x_m))`, the gradient of eq. 9, in place.

    ``totals``, of shape (2 * n_classes,), is filled with the sums over rows: the gradient in the
    intercepts. ``shares`` is a buffer.
    """
    n_stacked, n_rows = residuals.shape
    n_classes = n_stacked // 2
    for first in (0, n_classes):
        _negative_weighted_proba(residuals[first : first + n_classes], weights, shares)
        for m in range(n_rows):
            residuals[first + labels[m], m] += weights[m]
    for j in range(n_stacked):
        totals[j] = 0.0
    for m in range(n_rows):  # independent sums, for instruction-level parallelism
        for j in range(n_stacked):
            totals[j] += residuals[j, m]


@compiled(error_model="numpy")
def _negative_weighted_proba(exponentials: Floats, weights: Floats, shares: Floats) -> None:
    """Turn one candidate's exponentials into minus weighted class probabilities, in place."""
    n_classes, n_rows = exponentials.shape
    for start in range(0, n_rows, CHUNK):
        n = CHUNK if start + CHUNK < n_rows else n_rows - start
        for m in range(n):
            shares[m] = exponentials[0, start + m]
        for j in range(1, n_classes):
            line = exponentials[j, start : start + n]
            for m in range(n):
                shares[m] += line[m]
        weight = weights[start : start + n]
        for m in range(n):
            shares[m] = weight[m] / shares[m]
        for j in range(n_classes):
            line = exponentials[j, start : start + n]
            for m in range(n):
                line[m] *= -shares[m]


def step_coefficients(
    coef_step: Floats,
    intercept_step: NDArray[np.float64],
    coef: Floats,
    mask: Mask,
    flipped: Indices,
    rate: float,
    decay: float,
) -> None:
    """Scale gradients to steps, in place; masked coefficients are fixed (lines 9 and 10)."""
    steps = coef_step.reshape(2, *coef.shape)
    steps[:] = rate * (steps - decay * coef.astype(np.float64))
    steps[0][:, ~mask] = 0.0
    proposed = mask.copy()
    proposed[flipped] ^= True
    steps[1][:, ~proposed] = 0.0
    intercept_step *= rate


@compiled
def move_logits(
    logits: Floats,
    change: Floats,
    intercept_step: NDArray[np.float64],
    labels: Indices,
    weights: Floats,
    accuracy: NDArray[np.float64],
    tops: Floats,
    best: NDArray[np.int64],
) -> None:
    """Add the steps to the logits, in place, and compute the weighted accuracies (eq. 7)."""
    n_stacked, n_rows = logits.shape
    n_classes = n_stacked // 2
    for j in range(n_stacked):
        for m in range(n_rows):
            logits[j, m] += change[j, m] + intercept_step[j]
    for candidate in range(2):
        accuracy[candidate] = _weight_of_correct(
            logits, candidate * n_classes, n_classes, labels, weights, tops, best
        )


@compiled(inline="always")
def _weight_of_correct(
    logits: Floats,
    first: int,
    n_classes: int,
    labels: Indices,
    weights: Floats,
    tops: Floats,
    best: NDArray[np.int64],
) -> float:
    """Total weight of correctly classified rows; ties go to the first class."""
    n_rows, right = logits.shape[1], 0.0
    for start in range(0, n_rows, CHUNK):
        n = CHUNK if start + CHUNK < n_rows else n_rows - start
        for m in range(n):
            tops[m], best[m] = logits[first, start + m], 0
        for j in range(1, n_classes):
            line = logits[first + j, start : start + n]
            for m in range(n):
                best[m] = j if line[m] > tops[m] else best[m]
            for m in range(n):
                tops[m] = max(tops[m], line[m])
        for m in range(n):
            right += weights[start + m] if best[m] == labels[start + m] else 0.0
    return right


def squared_loss(
    features: Floats, target: Floats, weights: Floats, parameters: Floats, decay: float
) -> tuple[float, Floats]:
    r"""Squared loss of one linear model, with a ridge penalty, and its gradient.

    The loss is :math:`\frac12 \sum_m w_m (y_m - f(x_m))^2 + \frac{\rho}{2} \|\theta\|^2`.
    Parameters and gradient are (1, n_features + 1), with the unpenalised intercept last.
    """
    coef = parameters[:, :-1]
    residuals = target - (coef @ features + parameters[:, -1:])[0]
    weighted = weights * residuals
    loss = 0.5 * float(weighted @ residuals) + 0.5 * decay * float((coef**2).sum())
    gradient = np.empty_like(parameters)
    gradient[0, :-1] = decay * coef[0] - features @ weighted
    gradient[0, -1] = -weighted.sum()
    return loss, gradient


def squared_optimum(
    features: Floats, target: NDArray[Any], weights: Floats, decay: float
) -> NDArray[np.float64]:
    """Parameters, (1, n_features + 1), that minimise :func:`squared_loss`.

    A penalty too small for collinear features is raised to the smallest that is not.
    """
    shares = weights.astype(float) / float(weights.sum())
    means, mean = features @ shares, float(target @ shares)
    centred = features - means[:, None]
    weighted = centred * weights
    normal = weighted @ centred.T
    least = MIN_RIDGE * max(float(np.trace(normal)) / len(normal), float(weights.sum()))
    normal[np.diag_indices_from(normal)] += max(decay, least)
    coef = np.linalg.solve(normal, weighted @ (target - mean))
    return np.append(coef, mean - coef @ means)[None]


def squared_score(predicted: Floats, target: NDArray[Any], weights: Floats) -> float:
    r"""Profile log-likelihood, :math:`-\frac12 \bar w \log s^2`, up to constants.

    :math:`\bar w = \sum_m w_m` and :math:`s^2 = \sum_m w_m (y_m - f(x_m))^2 / \bar w`; predictions
    are (1, n_rows), and the target's variance is one.
    """
    total = float(weights.sum())
    squared = float(weights @ (target - predicted[0]) ** 2) / max(total, math.ulp(0.0))
    return -0.5 * total * math.log(max(squared, MIN_RESIDUAL_VARIANCE))


def squared_step(
    features: Floats,
    target: NDArray[Any],
    weights: Floats,
    coef: Floats,
    mask: Mask,
    predicted: Floats,
    flipped: Indices,
    rate: float,
    decay: float,
    buffers: StepBuffers,
) -> None:
    """As :func:`candidate_step`, under squared loss and with :func:`squared_score`."""
    masks = np.stack([mask, mask])
    masks[1, flipped] ^= True
    signs = np.where(mask[flipped], -1.0, 1.0).astype(coef.dtype)
    stacked, residuals, change, coef_step, intercept_step, scores, *_ = buffers
    stacked[:] = predicted
    stacked[1] += (coef[0, flipped] * signs) @ features[flipped]
    np.subtract(target, stacked, out=residuals)
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
        scores[candidate] = squared_score(stacked[candidate : candidate + 1], target, weights)


def log_softmax(logits: Floats, axis: int) -> Floats:
    """Log-softmax along one axis, without overflow."""
    shifted = logits - logits.max(axis=axis, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return result


def member_log_proba(features: Floats, coef: Floats, intercept: Floats) -> Floats:
    """Log probabilities of every member (eq. 5), of shape (n_members, n_classes, n_rows).

    Features are of shape (n_features, n_rows); coefficients are zero where masked.
    """
    n_members, n_classes, n_features = coef.shape
    logits = coef.reshape(-1, n_features) @ features + intercept.reshape(-1, 1)
    return log_softmax(logits.reshape(n_members, n_classes, -1), axis=1)


def mixture_loss(
    features: Floats, labels: Indices, weights: Floats, parameters: MixtureParameters, decay: float
) -> tuple[float, MixtureParameters]:
    r"""Loss of the gated mixture and its gradient, including masked parameters.

    The loss is :math:`-\sum_m w_m \log \sum_k g_k(x_m)\, p_k(y_m \mid x_m) + \frac{\rho}{2}
    \|\cdot\|^2`, with weights that sum to one and a decay :math:`\rho` on all coefficients but not
    the intercepts. Features are of shape (n_features, n_rows).
    """
    coef, intercept, gate_coef, gate_intercept = parameters
    log_proba = member_log_proba(features, coef, intercept)
    log_gate = log_softmax(gate_coef @ features + gate_intercept[:, None], axis=0)
    joint = log_gate + np.take_along_axis(log_proba, labels[None, None, :], axis=1)[:, 0]
    share = log_softmax(joint, axis=0)
    loss = -float(weights @ (joint[0] - share[0]))
    loss += 0.5 * decay * float((coef**2).sum() + (gate_coef**2).sum())

    np.exp(share, out=share)
    share *= weights
    residual = np.exp(log_proba) * share[:, None, :]
    residual[:, labels, np.arange(labels.size)] -= share
    gate_residual = np.exp(log_gate) * weights - share
    stacked = np.concatenate([residual.reshape(-1, labels.size), gate_residual]) @ features.T
    split = intercept.size
    gradient = MixtureParameters(
        stacked[:split].reshape(coef.shape) + decay * coef,
        residual.sum(axis=2),
        stacked[split:] + decay * gate_coef,
        gate_residual.sum(axis=1),
    )
    return loss, gradient
