"""The E-step: how much of each row each stratum answers for (HISS, eq. 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._capping import Bins, Caps
from ensemblage.kernels._gaussians import Gaussians, Kind, Moments, log_densities, moments
from ensemblage.kernels._sharing import bin_shares, share_rows

Floats = NDArray[np.floating]

NO_BINS = Bins(np.empty(0), np.empty(0))


def expectation(
    columns: Floats,
    weights: NDArray[np.float64],
    prior: Caps | Floats,
    gaussians: Gaussians,
    kind: Kind,
    affinity: Floats | None = None,
    bins: Bins = NO_BINS,
) -> tuple[Floats, Moments]:
    r"""Responsibilities of one block and the statistics that follow from them.

    ``columns`` are ``centred_columns``. The prior is memberships :math:`\tau_{ij}`: their logs, of
    shape (n_strata, n_rows) or (n_strata, 1), or the caps that turn affinities into them, which are
    the log responsibilities of the pass before. A histogram of the new log responsibilities is
    taken in the bins; by default there are none.

    Gives :math:`\log \upsilon_{ij} = \ell_{ij} - \log\sum_k e^{\ell_{ik}}` with
    :math:`\ell_{ij} = \log\tau_{ij} + \log p_j(x_i)`, strata first, and the statistics with
    :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}` as their log likelihood.
    """
    joint = log_densities(columns, gaussians, kind)
    if not isinstance(prior, Caps):
        joint += prior.astype(joint.dtype, copy=False)
        zeros = np.zeros(len(joint))
        prior, affinity = Caps(zeros, zeros), joint[:, :0].copy()
    carry, shares, likelihood = share_rows(joint, affinity, weights, *prior)
    histogram = bin_shares(carry, shares, weights, *bins)
    return carry, Moments(*moments(columns, shares, kind), likelihood, *histogram)
