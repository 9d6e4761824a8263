"""The E-step: how much of each row each stratum answers for (HISS, eq. 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._capping import Caps
from ensemblage.kernels._gaussians import Gaussians, Kind, Moments, log_densities, moments
from ensemblage.kernels._sharing import bin_shares, share_rows

Floats = NDArray[np.floating]

NONE = np.empty(0)


def expectation(
    columns: Floats,
    weights: NDArray[np.float64],
    prior: Caps | Floats,
    gaussians: Gaussians,
    kind: Kind,
    affinity: Floats | None = None,
    lower: NDArray[np.float64] = NONE,
    width: NDArray[np.float64] = NONE,
) -> tuple[Floats, Moments]:
    r"""Responsibilities of one block and the statistics that follow from them.

    Parameters
    ----------
    columns : ndarray
        From :func:`centred_columns`.
    weights : ndarray of shape (n_rows,)
        Row weights.
    prior : Caps or ndarray of shape (n_strata, n_rows) or (n_strata, 1)
        Memberships :math:`\tau_{ij}`: the caps that turn affinities into them, or their logs.
    gaussians : Gaussians
        One per stratum.
    kind : {"spherical", "diag", "tied", "full"}
        Form of the covariances.
    affinity : ndarray of shape (n_strata, n_rows), default=None
        Log responsibilities of the pass before, which caps need.
    lower, width : ndarray of shape (n_strata,)
        Bins of a histogram of the new log responsibilities; by default none is taken.

    Returns
    -------
    log_responsibilities : ndarray of shape (n_strata, n_rows)
        :math:`\log \upsilon_{ij} = \ell_{ij} - \log\sum_k e^{\ell_{ik}}` with
        :math:`\ell_{ij} = \log\tau_{ij} + \log p_j(x_i)`.
    statistics : Moments
        With :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}` as its log likelihood.
    """
    joint = log_densities(columns, gaussians, kind)
    if not isinstance(prior, Caps):
        joint += prior.astype(joint.dtype, copy=False)
        zeros = np.zeros(len(joint))
        prior, affinity = Caps(zeros, zeros), joint[:, :0].copy()
    carry, shares, likelihood = share_rows(joint, affinity, weights, *prior)
    histogram = bin_shares(carry, shares, weights, lower, width)
    return carry, Moments(*moments(columns, shares, kind), likelihood, *histogram)
