"""Memberships of new rows, given what each stratum charges for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

Floats = NDArray[np.floating]


@compiled
def priced_memberships(log_density: Floats, log_scales: Floats) -> Floats:
    r"""Find the memberships that are best for each row at fixed prices, in closed form.

    Parameters
    ----------
    log_density : ndarray of shape (n_strata, n_rows)
        :math:`\log p_j(x_i)`.
    log_scales : ndarray of shape (n_strata,)
        :math:`\log c_j`; a stratum's price is :math:`\lambda_j = 1 / c_j`.

    Returns
    -------
    ndarray of shape (n_rows, n_strata)

    Notes
    -----
    For each row, :math:`\tau` maximises :math:`\log\sum_j \tau_j p_j - \sum_j \lambda_j \tau_j`
    over :math:`[0, 1]^K`. With :math:`r_j = c_j p_j` and :math:`Z = \sum_j \tau_j p_j`, the
    optimum has :math:`\tau_j = 1` where :math:`r_j > Z`, zero where :math:`r_j < Z`, and at most
    one fraction, where :math:`r_j = Z`. Walking the strata by falling :math:`r_j` finds it.
    """
    n_strata, n_rows = log_density.shape
    memberships = np.zeros((n_rows, n_strata), dtype=log_density.dtype)
    for i in range(n_rows):
        log_ratio = log_scales + log_density[:, i]
        log_sum = -np.inf
        for j in np.argsort(-log_ratio, kind="mergesort"):
            if log_ratio[j] <= log_sum:
                break
            top = max(log_sum, log_density[j, i])
            grown = top + np.log(np.exp(log_sum - top) + np.exp(log_density[j, i] - top))
            if grown > log_ratio[j]:
                # c_j (1 - Z / r_j), in logs because c_j alone may overflow
                left = np.log1p(-np.exp(log_sum - log_ratio[j]))
                memberships[i, j] = np.exp(min(0.0, log_scales[j] + left))
                break
            memberships[i, j] = 1.0
            log_sum = grown
    return memberships
