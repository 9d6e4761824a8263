"""Memberships of new rows, given what each stratum charges for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

Floats = NDArray[np.floating]


EXACT = -40.0
"""What is smaller than this, in logs, changes no float64 it is added to."""


@compiled
def priced_memberships(
    log_density: Floats, log_scales: NDArray[np.float64]
) -> tuple[Floats, NDArray[np.float64]]:
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
    one fraction, where :math:`r_j = Z`. Walking the strata by falling :math:`r_j` finds it.
    """
    n_strata, n_rows = log_density.shape
    memberships = np.zeros((n_rows, n_strata), dtype=log_density.dtype)
    log_sums = np.empty(n_rows)
    for i in range(n_rows):
        log_ratio = log_scales + log_density[:, i]
        log_sum = -np.inf
        for _ in range(n_strata):
            j = np.argmax(log_ratio)
            if log_ratio[j] <= log_sum:
                break
            low, high = log_sum, float(log_density[j, i])
            if low > high:
                low, high = high, low
            grown = high + np.log1p(np.exp(low - high)) if low - high > EXACT else high
            if grown > log_ratio[j]:
                # c_j (1 - Z / r_j), in logs because c_j alone may overflow
                left = np.log1p(-np.exp(log_sum - log_ratio[j]))
                memberships[i, j] = np.exp(min(0.0, log_scales[j] + left))
                log_sum = log_ratio[j]
                break
            memberships[i, j] = 1.0
            log_sum = grown
            log_ratio[j] = -np.inf
        log_sums[i] = log_sum
    return memberships, log_sums


@compiled
def sizes_at_prices(
    log_density: Floats,
    memberships: Floats,
    log_sums: NDArray[np.float64],
    weights: NDArray[np.float64],
    log_scales: NDArray[np.float64],
    reach: NDArray[np.float64],
    n_bins: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
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
