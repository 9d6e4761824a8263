"""The fast path of the E-step: shares of the strata in each row, and a histogram of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

Floats = NDArray[np.floating]

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

# exp(x) = 2^k exp(r) with k = round(x / log 2) and |r| <= log(2) / 2. Adding ROUND leaves k in the
# last bits of a float; log 2 comes in two parts, the first short enough for k * LN2_HIGH to be
# exact; exp(r) is its Taylor series, up to r^13 / 13! in float64 and r^7 / 7! in float32.
LOG2_E, LOG2_E_32 = 1.4426950408889634, np.float32(1.4426950408889634)
ROUND, ROUND_32 = 6755399441055744.0, np.float32(12582912.0)
LN2_HIGH, LN2_HIGH_32 = 0.69314718036912382, np.float32(0.693359375)
LN2_LOW, LN2_LOW_32 = 1.9082149292705877e-10, np.float32(-2.12194440054690583e-4)
EXPONENT_BIT, EXPONENT_BIT_32 = 52, np.int32(23)
C2, C3, C4, C5 = 1 / 2, 1 / 6, 1 / 24, 1 / 120
C6, C7, C8, C9 = 1 / 720, 1 / 5040, 1 / 40320, 1 / 362880
C10, C11, C12, C13 = 1 / 3628800, 1 / 39916800, 1 / 479001600, 1 / 6227020800
S1, S2, S3, S4 = np.float32(1), np.float32(C2), np.float32(C3), np.float32(C4)
S5, S6, S7 = np.float32(C5), np.float32(C6), np.float32(C7)
NEGLIGIBLE_32, NONE_32 = np.float32(NEGLIGIBLE), np.float32(0)


@compiled
def share_rows(  # noqa: C901, PLR0912 -- plain loops; a compiled kernel calls no other
    log_density: Floats,
    affinity: Floats,
    weights: NDArray[np.float64],
    pivots: NDArray[np.float64],
    log_shares: NDArray[np.float64],
) -> tuple[Floats, Floats, float]:
    r"""Responsibilities of one block under capped memberships.

    Parameters
    ----------
    log_density : ndarray of shape (n_strata, n_rows)
        :math:`\log p_j(x_i)`, or with :math:`\log\tau_{ij}` already added. The log
        responsibilities take its place.
    affinity : ndarray of shape (n_strata, n_rows) or (n_strata, 0)
        Log responsibilities :math:`v_{ij}` of the pass before; none if memberships are in
        ``log_density``.
    weights : ndarray of shape (n_rows,)
        Row weights.
    pivots, log_shares : ndarray of shape (n_strata,)
        Caps: :math:`\log\tau_{ij} = \min(0, g_j + (v_{ij} - p_j))`.

    Returns
    -------
    log_responsibilities : ndarray of shape (n_strata, n_rows)
        :math:`\log\upsilon_{ij}` (eq. 7), never below ``LOWEST``; the array ``log_density``.
    shares : ndarray of shape (n_strata, n_rows)
        :math:`w_i \upsilon_{ij}`.
    log_likelihood : float
        :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}`.

    Notes
    -----
    Arithmetic is in the dtype of ``log_density``; pivots are split in two, so that differences to
    them keep their digits. The inner loops run over rows, hold no branch and no call, and so
    become vector instructions; that is why the exponential is written out. It is good to 4e-16
    in float64 and to 2e-7 in float32.
    """
    n_strata, n_rows = log_density.shape
    real = log_density.dtype
    narrow, capped = log_density.itemsize == 4, affinity.shape[1] > 0
    near = pivots.astype(real)
    rest = (log_shares - (pivots - near)).astype(real)
    limits = np.array([0.0, LOWEST]).astype(real)
    zero, lowest = limits[0], limits[1]
    shares, likelihood = np.empty_like(log_density), 0.0
    top, sums = np.empty(CHUNK, dtype=real), np.empty(CHUNK, dtype=real)
    for start in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - start)
        top[:], sums[:] = -np.inf, 0.0
        for j in range(n_strata):
            line = log_density[j, start : start + n]
            if capped:
                before, pivot, share = affinity[j, start : start + n], near[j], rest[j]
                for i in range(n):
                    line[i] += min(zero, (before[i] - pivot) + share)
            for i in range(n):
                top[i] = max(top[i], line[i])
        for j in range(n_strata):
            line, part = log_density[j, start : start + n], shares[j, start : start + n]
            for i in range(n):
                line[i] -= top[i]
            if narrow:
                for i in range(n):
                    x = max(NEGLIGIBLE_32, np.float32(line[i]))
                    t = x * LOG2_E_32 + ROUND_32
                    k = t - ROUND_32
                    r = x - k * LN2_HIGH_32 - k * LN2_LOW_32
                    p = S3 + r * (S4 + r * (S5 + r * (S6 + r * S7)))
                    p = S1 + r * (S1 + r * (S2 + r * p))
                    bits = np.float32(p).view(np.int32)
                    bits += np.float32(t).view(np.int32) << EXPONENT_BIT_32
                    part[i] = np.int32(bits).view(np.float32) if x > NEGLIGIBLE_32 else NONE_32
            else:
                for i in range(n):
                    y = max(NEGLIGIBLE, np.float64(line[i]))
                    u = y * LOG2_E + ROUND
                    h = u - ROUND
                    s = y - h * LN2_HIGH - h * LN2_LOW
                    q = C9 + s * (C10 + s * (C11 + s * (C12 + s * C13)))
                    q = C4 + s * (C5 + s * (C6 + s * (C7 + s * (C8 + s * q))))
                    q = 1.0 + s * (1.0 + s * (C2 + s * (C3 + s * q)))
                    wide = np.float64(q).view(np.int64)
                    wide += np.float64(u).view(np.int64) << EXPONENT_BIT
                    part[i] = np.int64(wide).view(np.float64) if y > NEGLIGIBLE else 0.0
            for i in range(n):
                sums[i] += part[i]
        for i in range(n):
            log_sum = np.log(sums[i])
            likelihood += weights[start + i] * (np.float64(top[i]) + log_sum)
            top[i], sums[i] = log_sum, weights[start + i] / sums[i]
        for j in range(n_strata):
            line, part = log_density[j, start : start + n], shares[j, start : start + n]
            for i in range(n):
                part[i] *= sums[i]
                line[i] = min(zero, max(lowest, line[i] - top[i]))
    return log_density, shares, likelihood


@compiled
def bin_shares(  # noqa: C901 -- as above
    affinity: Floats,
    shares: Floats,
    weights: NDArray[np.float64],
    lower: NDArray[np.float64],
    width: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Histogram of log responsibilities whose exponentials are known already.

    Parameters
    ----------
    affinity, shares : ndarray of shape (n_strata, n_rows)
        Log responsibilities and weighted responsibilities, from :func:`share_rows`.
    weights : ndarray of shape (n_rows,)
        Row weights.
    lower, width : ndarray of shape (n_strata,) or (0,)
        Where the bins of each stratum start, and how wide each is; empty for no histogram.

    Returns
    -------
    counts, masses : ndarray of shape (n_strata, N_BINS + 2)
        The same as :func:`~ensemblage.kernels.bin_masses` gives, but for rounding in the first
        bin and the last: rows that are clearly outside are added up in vectors, without a bin.
    """
    n_strata, n_rows = lower.size, affinity.shape[1]
    counts, masses = np.zeros((n_strata, N_BINS + 2)), np.zeros((n_strata, N_BINS + 2))
    total = weights.sum()
    slack, scales = 8 * np.finfo(affinity.dtype).eps, np.empty(N_BINS + 2)
    below, above = np.empty(CHUNK, dtype=shares.dtype), np.empty(CHUNK)
    limits, inside = np.empty(3, dtype=affinity.dtype), np.empty(n_rows + 1, dtype=np.int32)
    near, bins = np.empty(CHUNK, dtype=np.uint8), np.empty(n_rows, dtype=np.int32)
    for j in range(n_strata):
        first, step, inverse = lower[j], width[j], 1.0 / width[j]
        deep, reach = first < DEEP, slack * (abs(first) + N_BINS * step)
        # below a deep range shares have vanished: rows that still matter are looked at one by one
        limits[0] = first - reach + (DEEP if deep else 0.0)
        limits[1], limits[2] = first + N_BINS * step + reach, 0.0
        low, high, zero = limits[0], limits[1], limits[2]
        for b in range(N_BINS + 2):
            scales[b] = np.exp(min(-2 * DEEP, -(first + b * step)))
        below[:], above[:], n_inside = 0.0, 0.0, np.uint64(0)
        for start in range(0, n_rows, CHUNK):
            n = min(CHUNK, n_rows - start)
            line, part = affinity[j, start : start + n], shares[j, start : start + n]
            weight = weights[start : start + n]
            for i in range(n):
                below[i] += part[i] if line[i] < low else zero
            for i in range(n):
                above[i] += weight[i] if line[i] >= high else 0.0
            for i in range(n):
                near[i] = (line[i] >= low) & (line[i] < high)
            for i in range(n):
                inside[n_inside] = start + i
                n_inside += np.uint64(near[i])
        found, values = inside[:n_inside], affinity[j]
        for k in range(found.size):
            place = max(-1.0, np.floor((values[found[k]] - first) * inverse))
            bins[k] = np.int32(min(float(N_BINS), place)) + np.int32(1)
        for k in range(found.size):
            i, b = found[k], bins[k]
            counts[j, b] += weights[i]
            if values[i] > 2 * DEEP:
                masses[j, b] += shares[j, i] * scales[b]
            else:
                masses[j, b] += weights[i] * np.exp(min(0.0, values[i] - first - b * step))
        counts[j, N_BINS + 1] += above.sum()
        counts[j, 0] = total - counts[j, 1:].sum()
        if not deep:
            masses[j, 0] += below.sum() * scales[0]
        masses[j, N_BINS + 1] = 0.0
    return counts, masses
