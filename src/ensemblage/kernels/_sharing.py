"""One fused pass over a block: shares of the strata in each row, and a histogram of them."""

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
UNDERFLOW = -708.0
"""Below this exponentials are taken as if they were here, at 3e-308."""

# exp(x) = 2^k exp(r) with k = round(x / log 2) and |r| <= log(2) / 2. Adding ROUND leaves k in the
# last bits of a float64; log 2 comes in two parts, the first short enough for k * LN2_HIGH to be
# exact; exp(r) is its Taylor series up to r^13 / 13!, to 1e-16.
LOG2_E = 1.4426950408889634
ROUND = 6755399441055744.0
LN2_HIGH = 0.69314718036912382
LN2_LOW = 1.9082149292705877e-10
EXPONENT_BIT = 52
C2, C3, C4, C5 = 1 / 2, 1 / 6, 1 / 24, 1 / 120
C6, C7, C8, C9 = 1 / 720, 1 / 5040, 1 / 40320, 1 / 362880
C10, C11, C12, C13 = 1 / 3628800, 1 / 39916800, 1 / 479001600, 1 / 6227020800


@compiled
def share_rows(  # noqa: C901, PLR0912, PLR0915 -- a compiled kernel cannot call another
    log_density: Floats,
    affinity: Floats,
    weights: NDArray[np.float64],
    pivots: NDArray[np.float64],
    log_shares: NDArray[np.float64],
    lower: NDArray[np.float64],
    width: NDArray[np.float64],
) -> tuple[Floats, Floats, NDArray[np.float64], NDArray[np.float64], float]:
    r"""Responsibilities of one block under capped memberships, and their histogram.

    Parameters
    ----------
    log_density : ndarray of shape (n_strata, n_rows)
        :math:`\log p_j(x_i)`, or with a constant :math:`\log\tau_j` already added.
    affinity : ndarray of shape (n_strata, n_rows) or (n_strata, 0)
        Log responsibilities :math:`v_{ij}` of the pass before; none if memberships are constant.
    weights : ndarray of shape (n_rows,)
        Row weights.
    pivots, log_shares : ndarray of shape (n_strata,)
        Caps: :math:`\log\tau_{ij} = \min(0, g_j + (v_{ij} - p_j))`.
    lower, width : ndarray of shape (n_strata,) or (0,)
        Where the bins of each stratum start, and how wide each is; empty for no histogram.

    Returns
    -------
    log_responsibilities : ndarray of shape (n_strata, n_rows)
        :math:`\log\upsilon_{ij}` (eq. 7), never below ``LOWEST``.
    shares : ndarray of shape (n_strata, n_rows)
        :math:`w_i \upsilon_{ij}`.
    counts, masses : ndarray of shape (n_strata, N_BINS + 2)
        As :func:`~ensemblage.kernels.bin_masses` gives them for the new log responsibilities.
    log_likelihood : float
        :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}`.

    Notes
    -----
    Arithmetic is in float64 whatever the dtype of the arrays. The inner loops run over rows, hold
    no branch and no call, and so become vector instructions; that is why the exponential is
    written out, twice, and good to 4e-16.
    """
    n_strata, n_rows = log_density.shape
    capped = affinity.shape[1] > 0
    carry = np.empty_like(log_density)
    shares = np.empty_like(log_density)
    counts = np.zeros((lower.size, N_BINS + 2))
    masses = np.zeros((lower.size, N_BINS + 2))
    likelihood = 0.0
    joint = np.empty((n_strata, CHUNK))
    top, sums = np.empty(CHUNK), np.empty(CHUNK)
    log_sums, scale = np.empty(CHUNK), np.empty(CHUNK)
    bins, mass = np.empty(CHUNK, dtype=np.int32), np.empty(CHUNK)
    for start in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - start)
        top[:] = -np.inf
        sums[:] = 0.0
        for j in range(n_strata):
            pivot, share = pivots[j], log_shares[j]
            density, before = log_density[j, start : start + n], affinity[j, start:]
            for i in range(n):
                joint[j, i] = density[i]
            if capped:
                for i in range(n):
                    joint[j, i] += min(0.0, before[i] - pivot + share)
            for i in range(n):
                top[i] = max(top[i], joint[j, i])
        for j in range(n_strata):
            part = shares[j, start : start + n]
            for i in range(n):
                joint[j, i] -= top[i]
                x = max(UNDERFLOW, joint[j, i])
                t = x * LOG2_E + ROUND
                k = t - ROUND
                r = x - k * LN2_HIGH - k * LN2_LOW
                p = C9 + r * (C10 + r * (C11 + r * (C12 + r * C13)))
                p = 1.0 + r * (1.0 + r * (C2 + r * (C3 + r * (C4 + r * (C5 + r * (C6 + r * (
                    C7 + r * (C8 + r * p))))))))  # fmt: skip
                bits = np.float64(p).view(np.int64)
                bits += np.float64(t).view(np.int64) << EXPONENT_BIT
                e = np.int64(bits).view(np.float64)
                sums[i] += e
                part[i] = e
        for i in range(n):
            log_sums[i] = np.log(sums[i])
            scale[i] = weights[start + i] / sums[i]
            likelihood += weights[start + i] * (top[i] + log_sums[i])
        for j in range(n_strata):
            part, new = shares[j, start : start + n], carry[j, start : start + n]
            for i in range(n):
                part[i] *= scale[i]
                new[i] = min(0.0, max(LOWEST, joint[j, i] - log_sums[i]))
            if j >= lower.size:
                continue
            first, step = lower[j], width[j]
            for i in range(n):
                offset = new[i] - first
                b = min(float(N_BINS), max(-1.0, np.floor(offset / step)))
                bins[i] = np.int32(b) + 1
                x = min(0.0, max(UNDERFLOW, offset - (b + 1.0) * step))
                t = x * LOG2_E + ROUND
                k = t - ROUND
                r = x - k * LN2_HIGH - k * LN2_LOW
                p = C9 + r * (C10 + r * (C11 + r * (C12 + r * C13)))
                p = 1.0 + r * (1.0 + r * (C2 + r * (C3 + r * (C4 + r * (C5 + r * (C6 + r * (
                    C7 + r * (C8 + r * p))))))))  # fmt: skip
                bits = np.float64(p).view(np.int64)
                bits += np.float64(t).view(np.int64) << EXPONENT_BIT
                mass[i] = np.int64(bits).view(np.float64)
            for i in range(n):
                counts[j, bins[i]] += weights[start + i]
                masses[j, bins[i]] += weights[start + i] * mass[i]
    masses[:, N_BINS + 1] = 0.0
    return carry, shares, counts, masses, likelihood
