"""What a fitted pool remembers of rows that its members had not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ensemblage.fusion import Fusion
from ensemblage.parallel import deal_folds
from ensemblage.pool._pool_rows import Array, Indices, PoolRows, thin
from ensemblage.pool._pool_targets import PoolClasses, PoolNumbers, PoolTarget, mean_loss
from ensemblage.pool._pooling import Verdict
from ensemblage.strata import fused_outputs

MOST_KEPT = 20_000
N_FOLDS = 5


@dataclass(frozen=True)
class HeldOutRecord:
    """Outputs of all members that were tried, and of the pool, on rows that they had not seen.

    Parameters
    ----------
    names, places : tuple of str
        Of the members.
    outputs : ndarray of shape (n_members, n_rows, n_outputs)
        What they said: probabilities of the classes, or decision values of those that have none; of
        a number, its mean and its variance.
    pooled : ndarray of shape (n_rows, n_outputs)
        What pools said that had not seen the row either.
    y : ndarray of shape (n_rows,)
        Class numbers, or the numbers themselves.
    rows : ndarray of shape (n_rows,)
        Their positions among the rows of ``fit``; 20,000 at most are kept.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    """

    names: tuple[str, ...]
    places: tuple[str, ...]
    outputs: NDArray[Any]
    pooled: NDArray[Any]
    y: NDArray[Any]
    rows: Indices
    weights: Array | None

    @property
    def target(self) -> PoolTarget:
        """What is predicted: numbers, if ``y`` is of floats."""
        if self.y.dtype.kind == "f":
            return PoolNumbers(float(self.y.std()))
        return PoolClasses(np.arange(self.outputs.shape[2]))


def keep_held_out(verdict: Verdict, pooled: Array, rows: PoolRows) -> HeldOutRecord:
    """Keep what is known, of 20,000 rows at most."""
    kept = thin(np.arange(len(verdict.known)), rows.labels[verdict.known], MOST_KEPT, 0)
    numbers = verdict.known[kept]
    return HeldOutRecord(
        tuple(each.recipe.name for each in verdict.candidates),
        tuple(each.recipe.place for each in verdict.candidates),
        verdict.outputs[:, kept].astype(rows.target.kept_as),
        pooled[kept].astype(rows.target.kept_as),
        rows.y[numbers],
        numbers if rows.numbers is None else rows.numbers[numbers],
        rows.weights_at(numbers),
    )


def fused_again(record: HeldOutRecord, fusion: Fusion, members: Any) -> Array:
    """Give what a pool of some members says of each row, fused as rows of other folds teach."""
    outputs = record.outputs[np.asarray(members, dtype=int)].astype(float)
    y, weights = record.y, record.weights
    folds = deal_folds(record.target.labels(y), N_FOLDS, np.random.default_rng(0))
    fused = fused_outputs(clone(fusion), outputs, y, folds, sample_weight=weights)
    lacking = np.isnan(fused).any(axis=1)
    if lacking.any():
        fitted = clone(fusion).fit(outputs, y, sample_weight=weights)
        fused[lacking] = fitted.combine(outputs[:, lacking])
    return fused


def row_losses(record: HeldOutRecord, fusion: Fusion, members: Any) -> Array:
    """Log loss of each row in such a pool."""
    return record.target.row_losses(fused_again(record, fusion, members), record.y)


def weighted_mean(record: HeldOutRecord, values: Array) -> float:
    """Average over the rows, by their weights."""
    return mean_loss(values, record.weights)
