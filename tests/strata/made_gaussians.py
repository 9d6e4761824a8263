"""Gaussians for tests of what is computed from them."""

import numpy as np

from ensemblage.strata._gaussian_kernels import make_gaussians

KINDS = ["spherical", "diag", "tied", "full"]


def some_gaussians(rng, kind, n_strata=3, n_features=2):
    means = rng.normal(size=(n_strata, n_features))
    factors = rng.normal(size=(n_strata, n_features, n_features))
    full = factors @ factors.transpose(0, 2, 1) + 0.5 * np.eye(n_features)
    covariances = {
        "spherical": full[:, 0, 0],
        "diag": full.diagonal(axis1=1, axis2=2),
        "tied": full[0],
        "full": full,
    }[kind]
    return make_gaussians(means, covariances, kind)
