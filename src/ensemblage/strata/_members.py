"""One member on one stratum: which rows it learns from, how it is fitted, what it says."""

from __future__ import annotations

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from ensemblage.fusion import as_columns
from ensemblage.strata._frames import take_rows


def weight_parameter(estimator) -> str | None:
    """Name under which ``fit`` takes row weights.

    Parameters
    ----------
    estimator : estimator
        Perhaps a pipeline, whose last step counts.

    Returns
    -------
    str or None
        None if it takes none.
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return inner and f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def hard_rows(membership, weights) -> np.ndarray:
    """Rows that a stratum holds: the strongest, up to the stratum's size.

    Parameters
    ----------
    membership : ndarray of shape (n_samples,)
        Memberships in one stratum.
    weights : ndarray of shape (n_samples,)
        Row weights.

    Returns
    -------
    ndarray of int
        Sorted row numbers, at least one; only rows with weight and membership.
    """
    rows = np.flatnonzero((membership > 0) & (weights > 0))
    falling = rows[np.argsort(-membership[rows], kind="stable")]
    size = membership[rows] @ weights[rows]
    held = np.cumsum(weights[falling])
    # a row is in if more than half of it fits
    count = np.count_nonzero(held - 0.5 * weights[falling] < size)
    return np.sort(falling[: max(count, 1)])


def soft_rows(membership, weights) -> np.ndarray:
    """Rows that have any part in a stratum.

    Parameters
    ----------
    membership : ndarray of shape (n_samples,)
        Memberships in one stratum.
    weights : ndarray of shape (n_samples,)
        Row weights.

    Returns
    -------
    ndarray of int
        Sorted row numbers.
    """
    return np.flatnonzero(membership * weights > 0)


def fit_member(blueprint, X, y, rows, weights, seeds):
    """Fit a fresh member on some rows.

    Parameters
    ----------
    blueprint : Blueprint
        Of the member.
    X : array-like or frame of shape (n_samples, n_features)
        All rows.
    y : ndarray of shape (n_samples,)
        Class numbers.
    rows : ndarray of int
        The member's rows.
    weights : ndarray of shape (n_samples,) or None
        Weights to pass on, of all rows.
    seeds : list of int
        For the member.

    Returns
    -------
    classifier
        Fitted; a constant one if the rows are all of one class, and the best one of a search.
    """
    y = y[rows]
    if (y == y[0]).all():
        return DummyClassifier(strategy="prior").fit(np.zeros((len(rows), 1)), y)
    member = blueprint.build(seeds)
    passed = {} if weights is None else {weight_parameter(member): weights[rows]}
    member.fit(take_rows(X, rows), y, **passed)
    # what a search went through is not needed any more, nor could it be saved
    return getattr(member, "best_estimator_", member)


def member_outputs(member, X, n_classes: int, response: str) -> np.ndarray:
    """Ask a member about rows; answer with one column per class.

    Parameters
    ----------
    member : classifier
        Fitted on class numbers, perhaps not all of them.
    X : array-like or frame of shape (n_samples, n_features)
        Rows.
    n_classes : int
        Number of classes of the whole problem.
    response : {"predict_proba", "decision_function", "predict"}
        What to ask for.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Classes that the member never saw have probability zero, or a decision value one below
        its lowest.
    """
    if isinstance(member, DummyClassifier):
        known = member.predict_proba(X)
        known = known if response == "predict_proba" else 2 * known - 1
        lowest = 0.0 if response == "predict_proba" else -1.0
    elif response == "predict":
        return 2 * np.eye(n_classes)[member.predict(X)] - 1
    elif response == "predict_proba":
        known, lowest = member.predict_proba(X), 0.0
    else:
        known = as_columns(member.decision_function(X))
        lowest = known.min(axis=1, keepdims=True) - 1
    if np.array_equal(member.classes_, np.arange(n_classes)):
        return np.asarray(known, dtype=float)
    outputs = np.broadcast_to(np.asarray(lowest, dtype=float), (len(known), n_classes)).copy()
    outputs[:, member.classes_] = known
    return outputs


def held_out_outputs(blueprint, X, y, rows, weights, seeds, test, n_classes, response):
    """Ask a member about held-out rows that it was not fitted on.

    Parameters
    ----------
    blueprint : Blueprint
        Of the member.
    X : array-like or frame of shape (n_samples, n_features)
        All rows.
    y : ndarray of shape (n_samples,)
        Class numbers.
    rows : ndarray of int
        The member's rows.
    weights : ndarray of shape (n_samples,) or None
        Weights to pass on, of all rows.
    seeds : list of int
        For the member.
    test : ndarray of int
        Held-out rows, none of which is in ``rows``.
    n_classes : int
        Number of classes of the whole problem.
    response : {"predict_proba", "decision_function", "predict"}
        What to ask for.

    Returns
    -------
    ndarray of shape (len(test), n_classes)
    """
    member = fit_member(blueprint, X, y, rows, weights, seeds)
    return member_outputs(member, take_rows(X, test), n_classes, response)
