"""Memberships of new rows, given what each stratum charges for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._sharing import (
    C2,
    C3,
    C4,
    C5,
    C6,
    C7,
    C8,
    C9,
    C10,
    C11,
    C12,
    C13,
    EXPONENT_BIT,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    ROUND,
)

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]

EXACT = -40.0
"""What is smaller than this, in logs, changes no float64 it is added to."""
ROUNDING = 1e-9
"""Strata this close to a bound, in logs, are looked at one by one."""
NOTHING = 1e-300
CHUNK = 64
"""Rows at a time: what one chunk needs stays in the first-level cache."""


def priced_memberships(log_density: Floats, log_scales: Doubles) -> tuple[Floats, Doubles]:
    r"""Find the memberships that are best for each row at fixed prices, in closed form.

    Parameters
    ----------
    log_density : ndarray of shape (n_strata, n_rows)
        :math:`\log p_j(x_i)`.
    log_scales : ndarray of shape (n_strata,)
        :math:`\log c_j`; a stratum's price is :math:`\lambda_j = 1 / c_j`.

    Returns
    -------
    memberships : ndarray of shape (n_rows, n_strata)
        In the dtype of ``log_density``.
    log_sums : ndarray of shape (n_rows,)
        :math:`\log Z_i`, see the notes.

    Notes
    -----
    For each row, :math:`\tau` maximises :math:`\log\sum_j \tau_j p_j - \sum_j \lambda_j \tau_j`
    over :math:`[0, 1]^K`. With :math:`r_j = c_j p_j` and :math:`Z = \sum_j \tau_j p_j`, the
    optimum has :math:`\tau_j = 1` where :math:`r_j > Z`, zero where :math:`r_j < Z`, and at most
    one fraction, where :math:`r_j = Z`. Walking the strata by falling :math:`r_j` finds it; bounds
    on :math:`Z` settle most strata before.
    """
    memberships, *bounds = bound_memberships(log_density, log_scales)
    return memberships, settle_memberships(log_density, log_scales, memberships, *bounds)


@compiled
def bound_memberships(  # noqa: C901, PLR0912 -- plain loops; a compiled kernel calls no other
    log_density: Floats, log_scales: Doubles
) -> tuple[Floats, Doubles, Doubles, Doubles, NDArray[np.uint8]]:
    r"""Settle the memberships that bounds on :math:`Z` settle.

    Parameters
    ----------
    log_density, log_scales : ndarray
        As for :func:`priced_memberships`.

    Returns
    -------
    memberships : ndarray of shape (n_rows, n_strata)
        One where that is sure, else zero.
    base : ndarray of shape (n_rows,)
        :math:`b = \max_j \log\min(p_j, r_j)`.
    high : ndarray of shape (n_rows,)
        An upper bound on :math:`\log Z`, less the base.
    low : ndarray of shape (n_rows,)
        :math:`\sum_j p_j e^{-b}` over the sure strata.
    unsure : ndarray of shape (n_rows,)
        Whether other strata may have a part in the row.

    Notes
    -----
    A stratum has :math:`Z \ge p_j` if it is full and :math:`Z \ge r_j` if not, so
    :math:`Z \ge \max_j \min(p_j, r_j)`. What it adds to :math:`Z` is at most both :math:`p_j` and
    :math:`Z`, and nothing if :math:`r_j < Z`, so :math:`Z \le \sum_j \min(p_j, r_j)`. Strata whose
    :math:`r_j` is above that are full, and what they add up to is a lower bound again.
    Loops run over rows and hold no branch and no call, as in :func:`share_rows`.
    """
    n_strata, n_rows = log_density.shape
    memberships = np.empty((n_rows, n_strata), dtype=log_density.dtype)
    base, high, low = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    unsure, discounts = np.empty(n_rows, dtype=np.uint8), np.minimum(log_scales, 0.0)
    parts, bottom, top = np.empty((n_strata, CHUNK)), np.empty(CHUNK), np.empty(CHUNK)
    sums, least = np.empty(CHUNK), np.empty(CHUNK)
    sure, doubt = np.empty(CHUNK, dtype=np.uint8), np.empty(CHUNK, dtype=np.uint8)
    for start in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - start)
        bottom[:], top[:], sums[:], doubt[:] = -np.inf, 0.0, 0.0, 0
        for j in range(n_strata):
            line, discount = log_density[j, start : start + n], discounts[j]
            for i in range(n):
                bottom[i] = max(bottom[i], line[i] + discount)
        for j in range(n_strata):
            line, discount, part = log_density[j, start : start + n], discounts[j], parts[j]
            for i in range(n):
                y = max(EXACT, line[i] + discount - bottom[i])
                u = y * LOG2_E + ROUND
                h = u - ROUND
                s = y - h * LN2_HIGH - h * LN2_LOW
                q = C9 + s * (C10 + s * (C11 + s * (C12 + s * C13)))
                q = C4 + s * (C5 + s * (C6 + s * (C7 + s * (C8 + s * q))))
                q = 1.0 + s * (1.0 + s * (C2 + s * (C3 + s * q)))
                bits = np.float64(q).view(np.int64)
                bits += np.float64(u).view(np.int64) << EXPONENT_BIT
                part[i] = np.int64(bits).view(np.float64) if y > EXACT else 0.0
            for i in range(n):
                top[i] += part[i]
        for i in range(n):
            top[i] = np.log(top[i]) + ROUNDING
        for j in range(n_strata):
            line, scale, part = log_density[j, start : start + n], log_scales[j], parts[j]
            for i in range(n):
                sure[i] = line[i] - bottom[i] + scale > top[i]
            for i in range(n):
                # a sure stratum has r_j > p_j: its part is p_j
                sums[i] += part[i] if sure[i] else 0.0
            for i in range(n):
                memberships[start + i, j] = sure[i]
        for i in range(n):
            least[i] = max(0.0, np.log(max(sums[i], NOTHING))) - ROUNDING
        for j in range(n_strata):
            line, scale = log_density[j, start : start + n], log_scales[j]
            for i in range(n):
                ratio = line[i] - bottom[i] + scale
                doubt[i] |= (ratio <= top[i]) & (ratio >= least[i])
        for i in range(n):
            base[start + i], high[start + i] = bottom[i], top[i]
            low[start + i], unsure[start + i] = sums[i], doubt[i]
    return memberships, base, high, low, unsure


@compiled
def settle_memberships(
    log_density: Floats,
    log_scales: Doubles,
    memberships: Floats,
    base: Doubles,
    high: Doubles,
    low: Doubles,
    unsure: NDArray[np.uint8],
) -> Doubles:
    r"""Walk the strata that are not settled, by falling :math:`r_j`.

    Parameters
    ----------
    log_density, log_scales : ndarray
        As for :func:`priced_memberships`.
    memberships, base, high, low, unsure : ndarray
        From :func:`bound_memberships`; the memberships are completed in place.

    Returns
    -------
    ndarray of shape (n_rows,)
        :math:`\log Z_i`.
    """
    n_strata, n_rows = log_density.shape
    log_sums, left = np.empty(n_rows), np.empty(n_strata)
    for i in range(n_rows):
        total, log_sums[i] = low[i], base[i] + np.log(max(low[i], NOTHING))
        if not unsure[i]:
            continue
        for j in range(n_strata):
            ratio = log_density[j, i] - base[i] + log_scales[j]
            left[j] = ratio if ratio <= high[i] else -np.inf
        for _ in range(n_strata):
            k = np.argmax(left)
            ratio = np.exp(left[k])
            if ratio <= total:
                break
            grown = total + np.exp(log_density[k, i] - base[i])
            if grown > ratio:
                # c_j (1 - Z / r_j), in logs because c_j alone may overflow
                rest = log_scales[k] + np.log1p(-total / ratio)
                memberships[i, k] = np.exp(min(0.0, rest))
                log_sums[i] = log_density[k, i] + log_scales[k]
                break
            memberships[i, k], total, left[k] = 1.0, grown, -np.inf
            log_sums[i] = base[i] + np.log(total)
    return log_sums


@compiled
def sizes_at_prices(
    log_density: Floats,
    memberships: Floats,
    log_sums: Doubles,
    weights: Doubles,
    log_scales: Doubles,
    reach: Doubles,
    n_bins: int,
) -> tuple[Doubles, Doubles, Doubles]:
    r"""Sizes of the strata, and how they would change if their prices did.

    Parameters
    ----------
    log_density : ndarray of shape (n_strata, n_rows)
        :math:`\log p_j(x_i)`.
    memberships, log_sums : ndarray
        From :func:`priced_memberships`.
    weights : ndarray of shape (n_rows,)
        Row weights.
    log_scales : ndarray of shape (n_strata,)
        :math:`\log c_j`.
    reach : ndarray of shape (n_strata,)
        How far around :math:`\log c_j` to look.
    n_bins : int
        Number of bins on each side.

    Returns
    -------
    sizes : ndarray of shape (n_strata,)
        :math:`\sum_i w_i \tau_{ij}`.
    fractions : ndarray of shape (n_strata,)
        Weight of the rows with a fraction; :math:`\tau_{ij}` grows with :math:`c_j` one to one.
    turns : ndarray of shape (n_strata, 2 * n_bins)
        Weight of the rows whose membership turns in each bin of :math:`\log c_j`.

    Notes
    -----
    A row turns from 0 to 1 where :math:`r_j = Z`: at :math:`\log c_j = \log Z - \log p_j`.
    """
    n_strata, n_rows = log_density.shape
    sizes, fractions = np.zeros(n_strata), np.zeros(n_strata)
    turns = np.zeros((n_strata, 2 * n_bins))
    for j in range(n_strata):
        inverse = n_bins / reach[j]
        for i in range(n_rows):
            tau = memberships[i, j]
            sizes[j] += weights[i] * tau
            if 0.0 < tau < 1.0:
                fractions[j] += weights[i]
                continue
            distance = (log_sums[i] - log_density[j, i] - log_scales[j]) * inverse
            if -n_bins <= distance < n_bins:
                # rounding may put a turn on the wrong side of the price it is next to
                k = int(np.floor(distance)) + n_bins
                turns[j, min(k, n_bins - 1) if tau > 0.5 else max(k, n_bins)] += weights[i]
    return sizes, fractions, turns
