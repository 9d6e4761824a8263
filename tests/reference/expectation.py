"""HISS, eqs. 7 and 8, with whole arrays: the plain twin of the fused pass."""

import numpy as np
from scipy.special import logsumexp

LOG_ZERO = -1e30


def log_memberships(affinity, pivots, log_shares):
    """Eq. 8: min(1, c v) in logs, c by its pivot."""
    return np.minimum(0.0, affinity - pivots[:, None] + log_shares[:, None])


def shares_of_rows(log_density, log_prior, weights):
    """Eq. 7: log responsibilities, weighted responsibilities, and the log likelihood of eq. 5."""
    joint = log_density + log_prior
    row_likelihood = logsumexp(joint, axis=0)
    log_responsibilities = np.clip(joint - row_likelihood, LOG_ZERO, 0.0)
    return log_responsibilities, weights * np.exp(log_responsibilities), weights @ row_likelihood
