"""Intervals from residuals that were held out, by stratum where rows suffice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels import Scored, source_thresholds, weighted_threshold
from ensemblage.messages import expect_array
from ensemblage.strata._given_source import own_outputs
from ensemblage.strata._strata_choice import Trial, closest_strata
from ensemblage.strata._strata_rows import Training

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

BORROWED = 20.0
"""All rows count as much as so many of a stratum's own."""

MOST_KEPT = 20_000
"""So many residuals tell as much as more would."""


@dataclass(frozen=True)
class HeldOutScores:
    """Residuals of held-out rows in units of the spread told.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Absolute residuals over the standard deviations.
    strata : ndarray of shape (n_rows,)
        Number of the stratum that each row is closest to.
    weights : ndarray of shape (n_rows,)
        Row weights.
    n_strata : int
        Number of strata.
    """

    scores: Array
    strata: NDArray[np.int64]
    weights: Array
    n_strata: int

    def __check_state__(self) -> None:
        """Refuse residuals that no fit keeps."""
        n_rows = len(self.scores)
        expect_array(self, "scores", [n_rows], low=0)
        expect_array(self, "strata", [n_rows], "integer", low=0, high=self.n_strata - 1)
        expect_array(self, "weights", [n_rows], low=0)


def own_variances(outputs: Array, trial: Trial, known: Indices, data: Training) -> Array:
    """Mean squared residual of each stratum's member on known rows; outputs are of these.

    A stratum's is drawn towards that of all as by ``BORROWED`` rows.
    """
    strata = closest_strata(trial.stratifier, data.X, in_training=True)[known]
    means = own_outputs(outputs, strata, trial.n_strata)[:, 0]
    squares = (data.y[known] - means) ** 2
    weights = data.weights[known] / data.weights[known].mean()
    whole = float(np.average(squares, weights=weights))
    sums = np.bincount(strata, weights * squares, trial.n_strata)
    sizes = np.bincount(strata, weights, trial.n_strata)
    least = np.finfo(float).tiny
    return np.asarray(np.maximum((sums + BORROWED * whole) / (sizes + BORROWED), least))


def score_held_out(fused: Array, known: Indices, trial: Trial, data: Training) -> HeldOutScores:
    """Score known rows by fused outputs that had not seen them."""
    step = -(-len(known) // MOST_KEPT)
    kept = known[::step]
    scores = np.abs(data.y[kept] - fused[kept, 0]) / np.sqrt(fused[kept, 1])
    strata = closest_strata(trial.stratifier, data.X, in_training=True)[kept]
    return HeldOutScores(scores, strata.astype(np.int64), data.weights[kept], trial.n_strata)


def interval_factors(held_out: HeldOutScores, coverage: float) -> Array:
    """Give how many standard deviations an interval reaches, for each stratum."""
    rows = Scored(held_out.scores, held_out.strata, held_out.weights)
    found = source_thresholds(rows, held_out.n_strata, coverage)
    spare = float(rows.weights.mean())
    whole = weighted_threshold(rows.scores, rows.weights, coverage, spare)
    whole = whole if np.isfinite(whole) else float(rows.scores.max())
    return np.where(np.isfinite(found), found, whole)
