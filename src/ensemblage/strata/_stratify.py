"""Use a stratifier, or a pipeline that ends in one."""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


def final_step(stratifier):
    """Give the stratifier itself, also where a pipeline prepares its rows.

    Parameters
    ----------
    stratifier : stratifier or Pipeline
        Fitted or not.

    Returns
    -------
    stratifier
        The last step of a pipeline.
    """
    return stratifier[-1] if isinstance(stratifier, Pipeline) else stratifier


def fit_strata(stratifier, X, y=None, *, sample_weight=None, sources=None):
    """Fit a stratifier and check what it gives.

    Parameters
    ----------
    stratifier : stratifier or Pipeline
        Fitted in place.
    X : array-like or frame of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,), default=None
        Class numbers, for stratifiers that want them.
    sample_weight : ndarray of shape (n_samples,), default=None
        Row weights.
    sources : ndarray of shape (n_samples,), default=None
        Where each row comes from.

    Returns
    -------
    ndarray of shape (n_samples, n_strata)
        Memberships of the rows.
    """
    given = {"sample_weight": sample_weight, "sources": sources}
    passed = {}
    for name, value in given.items():
        if value is None:
            continue
        passed[_parameter(stratifier, name)] = value
    stratifier.fit(X, y, **passed)
    memberships = getattr(final_step(stratifier), "memberships_", None)
    if memberships is None:
        raise TypeError(
            f"stratifier={final_step(stratifier)!r} sets no memberships_. Use HISS, MixtureStrata, "
            "BootstrapStrata, SourceStrata or another estimator under the same contract."
        )
    return np.asarray(memberships)


def _parameter(stratifier, name: str) -> str:
    """Name under which ``fit`` takes a further argument."""
    last = final_step(stratifier)
    if not has_fit_parameter(last, name):
        raise ValueError(
            f"{name} was given, but {type(last).__name__}.fit takes none. "
            f"Leave {name} out, or use a stratifier that takes it."
        )
    return f"{stratifier.steps[-1][0]}__{name}" if isinstance(stratifier, Pipeline) else name


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
        Where a gate finds which members to listen to.
    """
    return _on_prepared_rows(stratifier, "log_affinity", X)


def strata_memberships(stratifier, X):
    """Memberships of new rows.

    Parameters
    ----------
    stratifier : stratifier or Pipeline
        Fitted.
    X : array-like or frame of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_samples, n_strata)
        Entries in [0, 1].
    """
    return np.asarray(_on_prepared_rows(stratifier, "transform", X))


def training_affinity(stratifier, X):
    """Log affinity of the training rows to strata, as honest as the stratifier can tell.

    Parameters
    ----------
    stratifier : stratifier or Pipeline
        Fitted.
    X : array-like or frame of shape (n_samples, n_features)
        The training rows.

    Returns
    -------
    ndarray of shape (n_samples, n_strata)
        ``training_log_affinity_`` of a stratifier that learned to tell strata apart and has it.
    """
    own = getattr(final_step(stratifier), "training_log_affinity_", None)
    return strata_affinity(stratifier, X) if own is None else own


def _on_prepared_rows(stratifier, method: str, X):
    if isinstance(stratifier, Pipeline):
        X = stratifier[:-1].transform(X)
    return getattr(final_step(stratifier), method)(X)
