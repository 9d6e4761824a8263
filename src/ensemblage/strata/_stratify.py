"""Use a stratifier, or a pipeline that ends in one."""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import Pipeline

from ensemblage.strata._members import weight_parameter


def fit_strata(stratifier, X, sample_weight=None):
    """Fit a stratifier and check what it gives.

    Parameters
    ----------
    stratifier : stratifier or Pipeline
        Fitted in place.
    X : array-like or frame of shape (n_samples, n_features)
        Rows.
    sample_weight : ndarray of shape (n_samples,), default=None
        Row weights.

    Returns
    -------
    ndarray of shape (n_samples, n_strata)
        Memberships of the rows.
    """
    passed = {}
    if sample_weight is not None:
        name = weight_parameter(stratifier)
        if name is None:
            raise ValueError(
                f"sample_weight was given, but {type(stratifier).__name__}.fit takes none. "
                "Leave sample_weight out, or use a stratifier that takes it."
            )
        passed[name] = sample_weight
    stratifier.fit(X, **passed)
    last = stratifier[-1] if isinstance(stratifier, Pipeline) else stratifier
    memberships = getattr(last, "memberships_", None)
    if memberships is None:
        raise TypeError(
            f"stratifier={last!r} sets no memberships_. Use HISS, MixtureStrata, BootstrapStrata "
            "or another estimator under the same contract."
        )
    return np.asarray(memberships)


def strata_affinity(stratifier, X):
    """Log affinity of rows to strata.

    Parameters
    ----------
    stratifier : stratifier or Pipeline
        Fitted.
    X : array-like or frame of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_samples, n_strata)
    """
    if isinstance(stratifier, Pipeline):
        return stratifier[-1].log_affinity(stratifier[:-1].transform(X))
    return stratifier.log_affinity(X)
