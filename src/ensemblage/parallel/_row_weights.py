"""Weights of rows, as numbers of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

MOST_COPIES = 1e6
"""The mean weight up to which weights are taken for copies of rows."""
BITS = 32
"""So many of a weight tell rows apart; the rest depend on the unit in which weights are given."""


def read_weights(sample_weight: Any, rows: Any) -> NDArray[np.float64]:
    """Read row weights as numbers of copies; those that cannot be are scaled to a mean of one.

    Penalties, scores and smoothing compare counts with constants. A boosting algorithm's weights,
    which add up to one, would otherwise be a sample of one row; the smallest and the largest
    numbers would vanish or overflow.
    """
    weights: NDArray[np.float64] = _check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    present = np.count_nonzero(weights)
    if not present:  # scikit-learn itself refuses them from 1.9 on
        raise ValueError("Sample weights must contain at least one non-zero number.")
    relative = weights / weights.max()  # whose sum cannot overflow
    mean = weights.max() * (relative.sum() / present)
    return weights if 1 <= mean <= MOST_COPIES else relative * (present / relative.sum())


def short_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drop a weight's last bits: trees, whose splits are often ties, would go by them."""
    parts, powers = np.frexp(weights)
    short: NDArray[np.float64] = np.ldexp(np.round(np.ldexp(parts, BITS)), powers - BITS)
    return short
