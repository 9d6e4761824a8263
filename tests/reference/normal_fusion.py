"""Products and mixtures of normal densities by numerical integration, one row at a time."""

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm


def _moments(density, around):
    """Mean and variance of a density that need not integrate to one."""
    bounds = (min(around) - 60, max(around) + 60)
    options = {"points": sorted(set(around)), "limit": 400, "epsabs": 1e-13, "epsrel": 1e-11}
    total = quad(density, *bounds, **options)[0]
    mean = quad(lambda t: t * density(t), *bounds, **options)[0] / total
    return mean, quad(lambda t: (t - mean) ** 2 * density(t), *bounds, **options)[0] / total


def product_moments(members, importances):
    """Mean and variance of eq. 10, (n_rows, 2)."""
    found = []
    for means, variances in zip(members.mean.T, members.variance.T, strict=True):

        def density(t, means=means, variances=variances):
            parts = zip(means, variances, importances, strict=True)
            return np.prod([norm.pdf(t, m, np.sqrt(v)) ** i for m, v, i in parts])

        found.append(_moments(density, means.tolist()))
    return np.array(found)


def mixture_moments(members, weights):
    """Mean and variance of mixtures, (n_rows, 2)."""
    found = []
    rows = zip(members.mean.T, members.variance.T, weights, strict=True)
    for means, variances, shares in rows:

        def density(t, means=means, variances=variances, shares=shares):
            parts = zip(means, variances, shares, strict=True)
            return sum(g * norm.pdf(t, m, np.sqrt(v)) for m, v, g in parts)

        found.append(_moments(density, means.tolist()))
    return np.array(found)
