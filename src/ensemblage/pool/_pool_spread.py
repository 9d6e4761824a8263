"""How far a pool's numbers are off, on rows that neither members nor fusion had seen."""

from __future__ import annotations

import numpy as np

from ensemblage.pool._pool_rows import Array

BORROWED = 20.0
"""That the spread told is right counts as much as so many rows."""


def spread_factor(fused: Array, y: Array, weights: Array | None) -> float:
    r"""Learn what variances, beside means in (n_rows, 2), are to be multiplied by.

    The mean of :math:`(y - \mu)^2 / s^2`, drawn towards one; a row of mean weight counts as one.
    """
    gap = y - fused[:, 0]
    found = float(np.average(gap * (gap / fused[:, 1]), weights=weights))
    return (len(y) * found + BORROWED) / (len(y) + BORROWED)


def widened(fused: Array, factor: float) -> Array:
    """Multiply the variances."""
    return np.column_stack([fused[:, 0], fused[:, 1] * factor])
