"""HISS, eqs. 1, 2 and 7: densities and responsibilities, one row and one stratum at a time."""

import numpy as np


def covariance_of(covariances, j, kind, n_features):
    """Write any form of covariance as a full matrix."""
    if kind == "spherical":
        return covariances[j] * np.eye(n_features)
    if kind == "diag":
        return np.diag(covariances[j])
    return covariances if kind == "tied" else covariances[j]


def log_density(x, mean, covariance):
    """Log of eq. 2."""
    difference = x - mean
    distance = difference @ np.linalg.inv(covariance) @ difference
    return -0.5 * (distance + len(x) * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1])


def responsibilities(rows, tau, means, covariances, kind):
    """Eq. 7, and the log likelihood of eq. 1, by loops."""
    upsilon = np.empty_like(tau)
    likelihood = 0.0
    for i, x in enumerate(rows):
        joint = [
            tau[i, j] * np.exp(log_density(x, mean, covariance_of(covariances, j, kind, len(x))))
            for j, mean in enumerate(means)
        ]
        upsilon[i] = joint / np.sum(joint)
        likelihood += np.log(np.sum(joint))
    return upsilon, likelihood
