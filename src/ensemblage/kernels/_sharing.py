"""The fast path of the E-step: shares of the strata in each row.

The inner loops run over rows and hold no branch and no call, and so become vector instructions.
Sums and copies are loops as well: NumPy's own would be compiled for each kernel that names them.
Affinities, densities and shares are of shape (n_strata, n_rows).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._exponential import add_exponentials, logarithms

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]

LOWEST = -1e30
"""Stands for the log of zero, so that differences of affinities stay finite."""
CHUNK = 512
"""Rows at a time: with 20 strata, what one chunk needs stays in the second-level cache."""
NEGLIGIBLE = -85.0
"""A responsibility below e^-85 counts as none: just above what a float32 can hold."""


@compiled(error_model="numpy")
def share_rows(
    log_density: Floats, affinity: Floats, weights: Doubles, pivots: Doubles, log_shares: Doubles
) -> tuple[Floats, Floats, float]:
    r"""Responsibilities of one block under capped memberships.

    Memberships are :math:`\log\tau_{ij} = \min(0, g_j + (v_{ij} - p_j))`, of affinities
    :math:`v_{ij}` that are the log responsibilities of the pass before, pivots :math:`p_j` and log
    shares :math:`g_j`; or they are in ``log_density`` already, and ``affinity`` has no rows.

    Gives :math:`\log\upsilon_{ij}` (eq. 7), never below ``LOWEST`` and in the place of
    ``log_density``; :math:`w_i \upsilon_{ij}`; and :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}`.
    Arithmetic is in the dtype of ``log_density``; pivots are split in two, so that differences to
    them keep their digits.
    """
    n_rows, real = log_density.shape[1], log_density.dtype
    near, rest = np.empty(pivots.size, dtype=real), np.empty(pivots.size, dtype=real)
    for j in range(pivots.size):
        near[j] = pivots[j]
        rest[j] = log_shares[j] - (pivots[j] - near[j])
    shares, likelihood = np.empty_like(log_density), 0.0
    top, sums = np.empty(CHUNK, dtype=real), np.empty(CHUNK, dtype=real)
    logs = np.empty(CHUNK, dtype=real)
    for start in range(0, n_rows, CHUNK):
        stop = min(start + CHUNK, n_rows)
        _largest_of(log_density, affinity, near, rest, start, top[: stop - start])
        for i in range(stop - start):
            sums[i] = 0.0
        for j in range(len(log_density)):
            line, part = log_density[j, start:stop], shares[j, start:stop]
            add_exponentials(line, top, NEGLIGIBLE, part, sums)
        logarithms(sums[: stop - start], logs)
        for i in range(stop - start):
            likelihood += weights[start + i] * (np.float64(top[i]) + logs[i])
        for i in range(stop - start):
            sums[i] = weights[start + i] / sums[i]
        _normalise(log_density, start, top[: stop - start], logs, shares, sums)
    return log_density, shares, likelihood


@compiled(inline="always")
def _largest_of(
    log_density: Floats, affinity: Floats, near: Floats, rest: Floats, start: int, top: Floats
) -> None:
    """Add the log memberships, if they are not in yet, and find each row's largest sum."""
    zero, stop = log_density.dtype.type(0.0), start + top.size
    for i in range(top.size):
        top[i] = -np.inf
    for j in range(len(log_density)):
        line = log_density[j, start:stop]
        if affinity.shape[1] > 0:
            before, pivot, share = affinity[j, start:stop], near[j], rest[j]
            for i in range(top.size):
                line[i] += min(zero, (before[i] - pivot) + share)
                top[i] = max(top[i], line[i])
        else:
            for i in range(top.size):
                top[i] = max(top[i], line[i])


@compiled(inline="always")
def _normalise(
    log_density: Floats, start: int, top: Floats, logs: Floats, shares: Floats, scales: Floats
) -> None:
    zero, lowest = log_density.dtype.type(0.0), log_density.dtype.type(LOWEST)
    stop = start + top.size
    for j in range(len(log_density)):
        line, part = log_density[j, start:stop], shares[j, start:stop]
        for i in range(top.size):
            part[i] *= scales[i]
            line[i] = min(zero, max(lowest, (line[i] - top[i]) - logs[i]))
