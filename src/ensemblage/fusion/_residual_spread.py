"""How far members' predictions of numbers are off, on rows that they have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.fusion._base import Array, FusionContext
from ensemblage.kernels import Normals

BORROWED = 20.0
"""What is known of all rows counts as much as so many rows of a stratum."""
SMALLEST = 1e-12
"""A residual is never so small that less than this share of the variance said is left."""


def as_normals(outputs: Any) -> Normals:
    """Read means and variances of shape (n_members, n_rows) from members' outputs."""
    outputs = np.asarray(outputs, dtype=float)
    return Normals(outputs[..., 0], outputs[..., 1])


def as_outputs(normals: Normals) -> Array:
    """Lay means and variances side by side, on the last axis."""
    return np.stack(normals, axis=-1)


def squared_residuals(members: Normals, y: Array) -> Array:
    """Squared residuals in units of the variances that members said, (n_members, n_rows)."""
    gap = y - members.mean
    return np.asarray(gap * (gap / members.variance))


def spread_factors(squares: Array, weights: Array, strata: NDArray[np.intp] | None) -> Array:
    """Learn what variances are to be multiplied by, (n_members, n_strata + 1).

    The last column is of all rows, and each stratum's is drawn towards it as by ``BORROWED`` rows.
    """
    whole = squares @ weights / weights.sum()
    if strata is None:
        return np.asarray(np.maximum(whole[:, None], SMALLEST))
    inside = np.eye(int(strata.max()) + 1)[strata] * weights[:, None]
    # weights are relative to the mean, so that a row counts as one
    unit = weights.mean()
    own = (squares @ inside / unit + BORROWED * whole[:, None]) / (
        inside.sum(axis=0) / unit + BORROWED
    )
    return np.asarray(np.maximum(np.column_stack([own, whole]), SMALLEST))


def calibrated(members: Normals, factors: Array, context: FusionContext) -> Normals:
    """Multiply the members' variances by the factors of each row's stratum."""
    last = factors.shape[1] - 1
    if last == 0:
        return members._replace(variance=members.variance * factors)
    # a stratum without a row to learn from is as all rows are
    strata = np.minimum(np.asarray(context.strata), last)
    return members._replace(variance=members.variance * factors[:, strata])
