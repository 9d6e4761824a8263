r"""What each source adds to the log probabilities of a pool, no more than its rows tell.

Source s has an offset per class, :math:`b_s`, that minimises

.. math:: -\sum_{m \in s} w_m \log \mathrm{softmax}(\log p_m + b_s)_{y_m} + \nu \|b_s\|^2 .
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from ensemblage.parallel import Fold

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Indices = NDArray[np.intp]

RIDGES = (1.0, 4.0, 16.0, float("inf"))
r"""Pulls :math:`\nu` towards no offsets to choose from; infinity leaves none."""
SMALLEST = 1e-12


class Spoken(NamedTuple):
    """Log probabilities of rows, (n_rows, n_classes), their classes, sources and weights."""

    log_proba: Array
    y: Indices
    sources: Codes
    weights: Array

    def take(self, rows: Indices) -> Spoken:
        """Give some of the rows."""
        return Spoken(self.log_proba[rows], self.y[rows], self.sources[rows], self.weights[rows])

    def shifted(self, offsets: Array) -> Array:
        """Give log probabilities with their sources' offsets."""
        return np.asarray(log_softmax(self.log_proba + offsets[self.sources], axis=1))

    def loss(self, offsets: Array) -> float:
        """Give the log loss, summed."""
        log_p = self.shifted(offsets)
        return float(-self.weights @ log_p[np.arange(len(self.y)), self.y])


def spoken(proba: Array, y: Indices, sources: Codes, weights: Array | None) -> Spoken:
    """Take logs of probabilities, none below 1e-12; rows without weights count the same."""
    given = np.ones(len(y)) if weights is None else weights
    return Spoken(np.log(np.maximum(proba, SMALLEST)), y, sources, given)


def fit_offsets(rows: Spoken, n_sources: int, ridge: float) -> Array:
    """Find all sources' offsets, (n_sources, n_classes); those of a source add up to zero."""
    shape = (n_sources, rows.log_proba.shape[1])
    if not np.isfinite(ridge):
        return np.zeros(shape)
    each = np.arange(len(rows.y))

    def loss(values: Array) -> tuple[float, Array]:
        offsets = values.reshape(shape)
        log_p = rows.shifted(offsets)
        gap = np.exp(log_p)
        gap[each, rows.y] -= 1
        gap *= rows.weights[:, None]
        slope = np.stack([np.bincount(rows.sources, column, n_sources) for column in gap.T], axis=1)
        value = -rows.weights @ log_p[each, rows.y] + ridge * float(values @ values)
        return float(value), (slope + 2 * ridge * offsets).ravel()

    options: Any = {"ftol": 1e-14, "gtol": 1e-8}
    best = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(best.x.reshape(shape))


def choose_ridge(rows: Spoken, n_sources: int, folds: Sequence[Fold]) -> float:
    """Take the pull with the least loss on rows that offsets have not seen; of equals the most."""
    losses = {
        ridge: sum(
            rows.take(fold.test).loss(fit_offsets(rows.take(fold.train), n_sources, ridge))
            for fold in folds
        )
        for ridge in reversed(RIDGES)
    }
    return min(losses, key=losses.__getitem__)
