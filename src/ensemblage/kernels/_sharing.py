"""The fast path of the E-step: shares of the strata in each row, and a histogram of them.

The inner loops run over rows and hold no branch and no call, and so become vector instructions.
Sums and copies are loops as well: NumPy's own would be compiled for each kernel that names them.
Affinities, densities and shares are of shape (n_strata, n_rows).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._exponential import exponentials, logarithms

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]

LOWEST = -1e30
"""Stands for the log of zero, so that differences of affinities stay finite."""
N_BINS = 256
"""Bins per stratum between the one for all lower and the one for all higher affinities."""
CHUNK = 256
"""Rows at a time: with 20 strata, what one chunk needs stays in the first-level cache."""
NEGLIGIBLE = -85.0
"""A responsibility below e^-85 counts as none: just above what a float32 can hold."""
DEEP = -40.0
"""Bins this low take their masses from exponentials: responsibilities end too near to them."""


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
        if affinity.shape[1] > 0:
            _add_memberships(log_density, affinity, near, rest, start, stop)
        _add_exponentials(log_density, start, stop, top, shares, sums)
        logarithms(sums[: stop - start], logs)
        for i in range(stop - start):
            likelihood += weights[start + i] * (np.float64(top[i]) + logs[i])
        for i in range(stop - start):
            sums[i] = weights[start + i] / sums[i]
        _normalise(log_density, start, stop, logs, shares, sums)
    return log_density, shares, likelihood


@compiled(inline="always")
def _add_memberships(
    log_density: Floats, affinity: Floats, near: Floats, rest: Floats, start: int, stop: int
) -> None:
    zero = log_density.dtype.type(0.0)
    for j in range(len(log_density)):
        line, before = log_density[j, start:stop], affinity[j, start:stop]
        pivot, share = near[j], rest[j]
        for i in range(stop - start):
            line[i] += min(zero, (before[i] - pivot) + share)


@compiled(inline="always")
def _add_exponentials(
    log_density: Floats, start: int, stop: int, top: Floats, shares: Floats, sums: Floats
) -> None:
    """Take each row's largest value from its densities, and add up the exponentials."""
    for i in range(stop - start):
        top[i], sums[i] = -np.inf, 0.0
    for j in range(len(log_density)):
        line = log_density[j, start:stop]
        for i in range(stop - start):
            top[i] = max(top[i], line[i])
    for j in range(len(log_density)):
        line, part = log_density[j, start:stop], shares[j, start:stop]
        for i in range(stop - start):
            line[i] -= top[i]
        exponentials(line, NEGLIGIBLE, part)
        for i in range(stop - start):
            sums[i] += part[i]


@compiled(inline="always")
def _normalise(
    log_density: Floats, start: int, stop: int, log_sums: Floats, shares: Floats, scales: Floats
) -> None:
    zero, lowest = log_density.dtype.type(0.0), log_density.dtype.type(LOWEST)
    for j in range(len(log_density)):
        line, part = log_density[j, start:stop], shares[j, start:stop]
        for i in range(stop - start):
            part[i] *= scales[i]
            line[i] = min(zero, max(lowest, line[i] - log_sums[i]))


@compiled
def bin_shares(
    affinity: Floats, shares: Floats, weights: Doubles, lower: Doubles, width: Doubles
) -> tuple[Doubles, Doubles]:
    """Histogram of log responsibilities whose exponentials, times weights, are known already.

    Bins start at ``lower`` and are ``width`` wide, by stratum; both are empty for no histogram. The
    counts and masses, of shape (n_strata, N_BINS + 2), are those of ``bin_masses``, but for
    rounding in the first bin and the last: rows that are clearly outside are added up in vectors,
    without a bin.
    """
    n_strata, n_rows = lower.size, affinity.shape[1]
    counts, masses = np.zeros((n_strata, N_BINS + 2)), np.zeros((n_strata, N_BINS + 2))
    scales, slack = np.empty(N_BINS + 2), 2.0**-20 if affinity.itemsize == 4 else 2.0**-49
    inside, bins = np.empty(n_rows + 1, dtype=np.int32), np.empty(n_rows, dtype=np.int32)
    near, total = np.empty(CHUNK, dtype=np.uint8), _sum_of(weights)
    below, above = np.empty(CHUNK, dtype=shares.dtype), np.empty(CHUNK)
    for j in range(n_strata):
        first, step = lower[j], width[j]
        deep, reach = first < DEEP, slack * (abs(first) + N_BINS * step)
        # below a deep range shares have vanished: rows that still matter are looked at one by one
        low = first - reach + (DEEP if deep else 0.0)
        high = first + N_BINS * step + reach
        for b in range(N_BINS + 2):
            scales[b] = np.exp(min(-2 * DEEP, -(first + b * step)))
        n_inside = _part_rows(
            affinity[j], shares[j], weights, (low, high), (below, above, near), inside
        )
        _bins_of(affinity[j], inside, n_inside, first, 1.0 / step, bins)
        for k in range(n_inside):
            i, b = inside[k], bins[k]
            counts[j, b] += weights[i]
            if affinity[j, i] > 2 * DEEP:
                masses[j, b] += shares[j, i] * scales[b]
            else:
                drop = affinity[j, i] - first - b * step
                masses[j, b] += weights[i] * np.exp(min(0.0, drop))
        counts[j, N_BINS + 1] += _sum_of(above)
        counts[j, 0] = total - _sum_of(counts[j, 1:])
        if not deep:
            masses[j, 0] += _sum_of(below) * scales[0]
        masses[j, N_BINS + 1] = 0.0
    return counts, masses


@compiled(inline="always")
def _sum_of(values: Floats) -> np.floating[Any]:
    """Add values up in their order and dtype."""
    total = values.dtype.type(0.0)
    for value in values:
        total += value
    return total


@compiled(inline="always")
def _part_rows(
    values: Floats,
    shares: Floats,
    weights: Doubles,
    limits: tuple[float, float],
    sums: tuple[Floats, Doubles, NDArray[np.uint8]],
    inside: NDArray[np.int32],
) -> np.int64:
    """Add up the shares below the limits and the weights above, and list the rows between.

    The sums are of every CHUNK-th row; of the third part of ``sums`` nothing is kept.
    """
    below, above, near = sums
    floor, ceiling = values.dtype.type(limits[0]), values.dtype.type(limits[1])
    zero, n_inside = shares.dtype.type(0.0), np.uint64(0)
    for i in range(CHUNK):
        below[i], above[i] = zero, 0.0
    for start in range(0, values.size, CHUNK):
        n = min(CHUNK, values.size - start)
        line, part = values[start : start + n], shares[start : start + n]
        weight = weights[start : start + n]
        for i in range(n):
            below[i] += part[i] if line[i] < floor else zero
        for i in range(n):
            above[i] += weight[i] if line[i] >= ceiling else 0.0
        for i in range(n):
            near[i] = (line[i] >= floor) & (line[i] < ceiling)
        for i in range(n):
            inside[n_inside] = start + i
            n_inside += np.uint64(near[i])
    return np.int64(n_inside)


@compiled(inline="always")
def _bins_of(
    values: Floats,
    rows: NDArray[np.int32],
    n_rows: int | np.int64,
    first: float,
    inverse: float,
    bins: NDArray[np.int32],
) -> None:
    """Find the bins of the first ``n_rows`` of the rows listed."""
    for k in range(n_rows):
        place = max(-1.0, np.floor((values[rows[k]] - first) * inverse))
        bins[k] = np.int32(min(float(N_BINS), place)) + np.int32(1)
