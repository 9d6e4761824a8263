"""Memberships of one stratum of given size (HISS, eq. 8), by the kernels."""

import numpy as np

from ensemblage.strata._hiss_kernels import SplitScales, capped_log_memberships
from ensemblage.strata._hiss_sizes import scale_for_size


def capped_memberships(log_resp, size, weights=None):
    """Memberships min(1, c v) that add up to ``size``, of log responsibilities."""
    weights = np.ones(len(log_resp)) if weights is None else weights
    pivot, offset = scale_for_size(log_resp, weights, size)
    scales = SplitScales(np.array([pivot]), np.array([offset]))
    return np.exp(capped_log_memberships(log_resp[None, :], scales)[0])
