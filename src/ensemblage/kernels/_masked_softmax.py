"""One step of Algorithm 1 for the current and the proposed feature mask together.

Arrays are stored with the class (or the feature) first and the rows last, so that every
inner loop runs over neighbouring numbers: ``features`` is (n_features, n_rows), logits are
(n_classes, n_rows), and the two candidates are stacked into (2 * n_classes, n_rows), the
current mask first.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

Floats: TypeAlias = NDArray[np.floating[Any]]
Mask: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.intp]

CHUNK = 512
"""Rows at a time, over which inner loops become vector instructions."""


class StepRows(NamedTuple):
    """The rows that a member learns from."""

    features: Floats  # (n_features, n_rows): standardised
    labels: Indices  # (n_rows,): class indices
    weights: Floats  # (n_rows,): w_km / M, so that sums over rows are the paper's means


class MaskedMember(NamedTuple):
    """Where both candidates start from."""

    coef: Floats  # (n_classes, n_features): masked ones included
    mask: Mask  # (n_features,)
    logits: Floats  # (n_classes, n_rows): under the mask (eq. 6)


class StepBuffers(NamedTuple):
    """Memory that the steps of one fit share, and where a step leaves its results."""

    logits: Floats  # (2 * n_classes, n_rows): after the step, of both candidates
    residuals: Floats  # (2 * n_classes, n_rows): scratch
    change: Floats  # (2 * n_classes, n_rows): scratch
    coef_step: Floats  # (2 * n_classes, n_features)
    intercept_step: NDArray[np.float64]  # (2 * n_classes,)
    accuracy: NDArray[np.float64]  # (2,)


def step_buffers(n_classes: int, features: Floats) -> StepBuffers:
    """Allocate what ``candidate_step`` works in, in the precision of the features."""
    n_features, n_rows = features.shape
    logits, residuals, change = (
        np.empty((2 * n_classes, n_rows), features.dtype) for _ in range(3)
    )
    coef_step = np.empty((2 * n_classes, n_features), features.dtype)
    return StepBuffers(
        logits, residuals, change, coef_step, np.empty(2 * n_classes), np.empty(2)
    )  # fmt: skip


def candidate_step(
    rows: StepRows,
    member: MaskedMember,
    flipped: Indices,
    rate: float,
    decay: float,
    buffers: StepBuffers,
) -> None:
    r"""Climb once under the current and once under the proposed mask (lines 8 to 13).

    The proposal differs from the member's mask in the features ``flipped``. The rate :math:`\eta`
    is the length of a step per unit of slope; the decay is the strength of a ridge penalty, and 0
    is the paper's objective. The results are in the buffers: steps, logits after them, accuracies.

    Both candidates share one product :math:`R X` and one product :math:`G X^T` with
    :math:`2J` rows each; the data are read twice per step, not six times.
    """
    features, labels, weights = rows
    coef, mask, logits = member
    stack_candidates(features, logits, coef, mask, flipped, buffers.logits, buffers.residuals)
    np.exp(buffers.residuals, out=buffers.residuals)
    weighted_residuals(buffers.residuals, labels, weights, buffers.intercept_step)
    np.dot(buffers.residuals, features.T, out=buffers.coef_step)
    step_coefficients(buffers.coef_step, buffers.intercept_step, coef, mask, flipped, rate, decay)
    np.dot(buffers.coef_step, features, out=buffers.change)
    move_logits(
        buffers.logits, buffers.change, buffers.intercept_step, labels, weights, buffers.accuracy
    )


# On a few hundred rows a step takes 20 microseconds: the compiled parts take bare arrays, because
# Numba needs a microsecond to look into a named tuple.


@compiled
def shift_rows(stacked: Floats, first: int, n_classes: int, shifted: Floats) -> None:
    """Subtract from each row of one candidate the largest of its classes."""
    n_rows = stacked.shape[1]
    largest = np.empty(min(CHUNK, n_rows), dtype=stacked.dtype)
    for start in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - start)
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
) -> None:
    """Logits under both masks, and the same less each row's largest over the candidate's classes.

    The proposed mask differs from the current one in ``flipped`` alone, so its logits are
    the current ones plus a change of rank ``len(flipped)``.
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
        shift_rows(stacked, first, n_classes, shifted)


@compiled(error_model="numpy")
def weighted_residuals(
    residuals: Floats, labels: Indices, weights: Floats, totals: NDArray[np.float64]
) -> None:
    r"""Turn exponentials into :math:`w_m([y_m = c_j] - p_j(x_m))`, the slope of eq. 9, in place.

    ``totals``, of shape (2 * n_classes,), is filled with the sums over rows: the slope in the
    intercepts.
    """
    n_stacked, n_rows = residuals.shape
    n_classes = n_stacked // 2
    for first in (0, n_classes):
        _take_shares(residuals[first : first + n_classes], weights)
        for m in range(n_rows):
            residuals[first + labels[m], m] += weights[m]
    for j in range(n_stacked):
        totals[j] = 0.0
    for m in range(n_rows):  # sums side by side: none waits for another
        for j in range(n_stacked):
            totals[j] += residuals[j, m]


@compiled(error_model="numpy")
def _take_shares(exponentials: Floats, weights: Floats) -> None:
    """Turn one candidate's exponentials into minus the classes' shares of the rows' weights."""
    n_classes, n_rows = exponentials.shape
    shares = np.empty(min(CHUNK, n_rows), dtype=exponentials.dtype)
    for start in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - start)
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


@compiled
def step_coefficients(
    coef_step: Floats,
    intercept_step: NDArray[np.float64],
    coef: Floats,
    mask: Mask,
    flipped: Indices,
    rate: float,
    decay: float,
) -> None:
    """Scale the slopes to steps, in place; a masked coefficient rests (lines 9 and 10)."""
    n_classes, n_features = coef.shape
    proposed = mask.copy()
    for f in flipped:
        proposed[f] = not proposed[f]
    for j in range(n_classes):
        for d in range(n_features):
            pull = decay * coef[j, d]
            coef_step[j, d] = rate * (coef_step[j, d] - pull) if mask[d] else 0.0
            other = n_classes + j
            coef_step[other, d] = rate * (coef_step[other, d] - pull) if proposed[d] else 0.0
    for j in range(2 * n_classes):
        intercept_step[j] *= rate


@compiled
def move_logits(
    logits: Floats,
    change: Floats,
    intercept_step: NDArray[np.float64],
    labels: Indices,
    weights: Floats,
    accuracy: NDArray[np.float64],
) -> None:
    """Add the steps to the logits, in place, and weigh the rows that are then right (eq. 7)."""
    n_stacked, n_rows = logits.shape
    n_classes = n_stacked // 2
    for j in range(n_stacked):
        for m in range(n_rows):
            logits[j, m] += change[j, m] + intercept_step[j]
    for candidate in range(2):
        accuracy[candidate] = _weight_of_right(
            logits, candidate * n_classes, n_classes, labels, weights
        )


@compiled(inline="always")
def _weight_of_right(
    logits: Floats, first: int, n_classes: int, labels: Indices, weights: Floats
) -> float:
    """Weight of the rows whose first highest logit is that of their class."""
    n_rows, right = logits.shape[1], 0.0
    tops = np.empty(min(CHUNK, n_rows), dtype=logits.dtype)
    best = np.empty(min(CHUNK, n_rows), dtype=np.int64)
    for start in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - start)
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
