"""The E-step: how much of each row each stratum answers for (HISS, eq. 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._gaussians import Gaussians, Kind, Moments, log_densities, moments

Floats = NDArray[np.floating]

LOWEST = -1e30
"""Stands for the log of zero, so that differences of affinities stay finite."""


def expectation(
    rows: Floats, weights: Floats, log_prior: Floats, gaussians: Gaussians, kind: Kind
) -> tuple[Floats, Moments]:
    r"""Responsibilities of one block and the statistics that follow from them.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Centred rows.
    weights : ndarray of shape (n_rows,)
        Row weights.
    log_prior : ndarray of shape (n_strata, n_rows) or (n_strata, 1)
        :math:`\log \tau_{ij}`: memberships, or a mixture's weights.
    gaussians : Gaussians
        One per stratum.
    kind : {"spherical", "diag", "tied", "full"}
        Form of the covariances.

    Returns
    -------
    log_responsibilities : ndarray of shape (n_strata, n_rows)
        :math:`\log \upsilon_{ij} = \ell_{ij} - \log\sum_k e^{\ell_{ik}}` with
        :math:`\ell_{ij} = \log\tau_{ij} + \log p_j(x_i)`.
    statistics : Moments
        With :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}` as its log likelihood.
    """
    joint = log_densities(rows, gaussians, kind)
    joint += log_prior.astype(joint.dtype, copy=False)
    top = joint.max(axis=0)
    shares = np.exp(joint - top)
    sums = shares.sum(axis=0)
    row_likelihood = top + np.log(sums)
    joint -= row_likelihood
    np.clip(joint, LOWEST, 0.0, out=joint)
    shares *= (weights / sums).astype(shares.dtype, copy=False)
    likelihood = float(weights @ row_likelihood)
    return joint, moments(rows, shares, kind, likelihood)
