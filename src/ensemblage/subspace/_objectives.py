"""What a member climbs: the likelihood of classes, or of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels import (
    candidate_step,
    log_softmax,
    softmax_loss,
    squared_loss,
    squared_optimum,
    squared_score,
    squared_step,
)

Floats = NDArray[np.floating[Any]]


class Objective(NamedTuple):
    """One loss, as the solvers use it; outputs are (n_outputs, n_rows), before any softmax."""

    step: Callable[..., None]  # both candidates one step uphill
    loss: Callable[..., tuple[float, Floats]]  # what converged coefficients minimise, and its slope
    score: Callable[[Floats, NDArray[Any], Floats], float]  # what a mask must not lower
    credit: Callable[[Floats, NDArray[Any], Floats], Floats]  # of each row in eq. 8, from 0 to 1
    step_scale: float  # length of a stable step, times the largest eigenvalue
    optimum: Callable[..., Floats] | None  # where the loss is least, if that can be solved for


def weighted_accuracy(logits: Floats, labels: NDArray[Any], weights: Floats) -> float:
    """Weighted share of right rows (eq. 7); logits are (n_classes, n_rows)."""
    return float(weights[logits.argmax(axis=0) == labels].sum(dtype=float))


def _probability_of_truth(logits: Floats, labels: NDArray[Any], _weights: Floats) -> Floats:
    log_proba = log_softmax(logits, axis=0)
    return np.asarray(np.exp(log_proba[labels, np.arange(labels.size)]))


def _density_of_truth(predicted: Floats, numbers: NDArray[Any], weights: Floats) -> Floats:
    r"""Give the normal density of each number over its mode, :math:`e^{-r^2 / 2 s^2}`."""
    squared = (numbers - predicted[0]) ** 2
    variance = max(float(squared @ weights) / float(weights.sum()), 1e-12)
    return np.asarray(np.exp(-0.5 * squared / variance))


CLASSES = Objective(
    candidate_step, softmax_loss, weighted_accuracy, _probability_of_truth, 4.0, None
)
NUMBERS = Objective(
    squared_step, squared_loss, squared_score, _density_of_truth, 1.0, squared_optimum
)
