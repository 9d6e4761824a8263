"""Means over folds whose training sets overlap: their standard error, and a paired test.

The usual s / sqrt(J) is too small there. With J splits that test a share t of the rows each, the
corrected variance of the mean is (1 / J + t / (1 - t)) s² (Nadeau and Bengio, Inference for the
generalization error, Machine Learning 52, 2003). With k folds t is 1 / k, and t / (1 - t) is
1 / (k - 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Array = NDArray[np.float64]


def inflation(n_values: int, share: float) -> float:
    """Give what to multiply the variance of so many values with, each tested on that share."""
    return 1 / n_values + share / (1 - share)


def corrected_error(values: Sequence[float | None] | Array, share: float) -> float | None:
    """Estimate a mean's standard error, None for fewer than two values; a failed fold has none."""
    known = np.array(values, dtype=float)
    known = known[~np.isnan(known)]
    if len(known) < 2:
        return None
    return float(np.sqrt(inflation(len(known), share) * known.var(ddof=1)))


def corrected_pvalue(differences: Array, share: float) -> float:
    """Test paired differences, two-sided: the corrected resampled t-test; 1 if none differs."""
    gap, error = float(differences.mean()), corrected_error(differences, share)
    if not error:
        return 1.0 if gap == 0 else 0.0
    return float(2 * student.sf(abs(gap) / error, len(differences) - 1))
