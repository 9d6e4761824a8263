"""Intervals from residuals that were held out, by stratum where rows suffice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels import Scored, source_thresholds, weighted_threshold
from ensemblage.messages import expect_array
from ensemblage.parallel import final_step
from ensemblage.strata._given_source import own_outputs
from ensemblage.strata._strata_choice import Trial
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
    """Mean squared residual of each stratum's member on known rows in it; outputs are of these.

    A stratum's is drawn towards that of all as by ``BORROWED`` rows.
    """
    strata = own_strata(trial)[known]
    means = own_outputs(outputs, strata, trial.n_strata)[:, 0]
    squares = (data.y[known] - means) ** 2
    weights = data.weights[known] / data.weights[known].mean()
    whole = float(np.average(squares, weights=weights))
    sums = np.bincount(strata, weights * squares, trial.n_strata)
    sizes = np.bincount(strata, weights, trial.n_strata)
    least = np.finfo(float).tiny
    return np.asarray(np.maximum((sums + BORROWED * whole) / (sizes + BORROWED), least))


def own_strata(trial: Trial) -> Indices:
    """Give the stratum in which each training row is most: that of its source, if it is known."""
    memberships: Array = np.asarray(final_step(trial.stratifier).memberships_)
    return np.asarray(memberships.argmax(axis=1))


def score_held_out(
    fused: Array, known: Indices, strata: Indices, n_strata: int, data: Training
) -> HeldOutScores:
    """Score known rows by outputs that had not seen them; ``strata`` are of all rows."""
    kept = known[:: -(-len(known) // MOST_KEPT)]
    scores = np.abs(data.y[kept] - fused[kept, 0]) / np.sqrt(fused[kept, 1])
    return HeldOutScores(scores, strata[kept].astype(np.int64), data.weights[kept], n_strata)


def interval_factors(held_out: HeldOutScores, coverage: float) -> Array:
    """Give how many standard deviations an interval reaches, for each stratum."""
    rows = Scored(held_out.scores, held_out.strata, held_out.weights)
    found = source_thresholds(rows, held_out.n_strata, coverage)
    spare = float(rows.weights.mean())
    whole = weighted_threshold(rows.scores, rows.weights, coverage, spare)
    whole = whole if np.isfinite(whole) else float(rows.scores.max())
    return np.where(np.isfinite(found), found, whole)
