"""Memberships of one stratum of given size (HISS, eq. 8), by the kernels."""

import numpy as np

from ensemblage.strata._hiss_kernels import Caps, cap_for_size, log_memberships


def capped_memberships(affinity, size, weights=None):
    """Memberships min(1, c v) that add up to ``size``; affinities are logs."""
    weights = np.ones(len(affinity)) if weights is None else weights
    pivot, log_share = cap_for_size(affinity, weights, size)
    caps = Caps(np.array([pivot]), np.array([log_share]))
    return np.exp(log_memberships(affinity[None, :], caps)[0])
