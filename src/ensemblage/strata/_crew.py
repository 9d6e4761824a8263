"""The members of an ensemble: their jobs, their fits, and what they say of rows they never saw."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensemblage.parallel import Blueprint, draw_seeds, run_tasks, spread_seeds
from ensemblage.strata._members import (
    fit_member,
    hard_rows,
    held_out_outputs,
    member_outputs,
    soft_rows,
    weight_parameter,
)

RESPONSES = ("predict_proba", "decision_function", "predict")


class Job(NamedTuple):
    """What one member is asked to do.

    Attributes
    ----------
    blueprint : Blueprint
        Of the member.
    rows : ndarray of int
        The rows it learns from.
    weights : ndarray of shape (n_samples,) or None
        Weights of all rows, to be passed to its ``fit``.
    stratum : int or None
        Number of its stratum; None for an anchor.
    """

    blueprint: Blueprint
    rows: np.ndarray
    weights: np.ndarray | None
    stratum: int | None = None

    @property
    def estimator(self) -> Any:  # numpydoc ignore=RT01
        """The member, not fitted."""
        return self.blueprint.estimator

    @property
    def response(self) -> str:  # numpydoc ignore=RT01
        """Name of the method that the member is asked for."""
        return response_of(self.estimator)


def response_of(estimator) -> str:
    """Name the best of an estimator's methods to ask for.

    Parameters
    ----------
    estimator : classifier
        Fitted or not.

    Returns
    -------
    {"predict_proba", "decision_function", "predict"}
        The first that it has.
    """
    return next(name for name in RESPONSES if hasattr(estimator, name))


def require_weights(estimator, reason: str) -> None:
    """Refuse a member that cannot take row weights.

    Parameters
    ----------
    estimator : classifier
        A member or an anchor.
    reason : str
        Why it must.
    """
    if weight_parameter(estimator) is None:
        raise ValueError(
            f"{reason} needs members that take sample_weight; {type(estimator).__name__}.fit does "
            "not. Choose another estimator, or membership='hard' without sample_weight."
        )


def strata_jobs(estimators, memberships, weights, *, soft: bool, weighted: bool) -> list[Job]:
    """Give each stratum to a member of each kind.

    Parameters
    ----------
    estimators : list of classifiers
        Kinds of member.
    memberships : ndarray of shape (n_samples, n_strata)
        Memberships of the rows.
    weights : ndarray of shape (n_samples,)
        Row weights.
    soft : bool
        Pass memberships as weights, instead of taking the strongest rows.
    weighted : bool
        Whether the row weights are to be passed on.

    Returns
    -------
    list of Job
        One per kind and stratum, kind by kind.
    """
    if soft or weighted:
        for estimator in estimators:
            require_weights(estimator, "membership='soft'" if soft else "sample_weight")
    shares = []
    for stratum, membership in enumerate(memberships.T):
        rows = (soft_rows if soft else hard_rows)(membership, weights)
        passed = membership * weights if soft else weights if weighted else None
        shares.append((rows, passed, stratum))
    return [Job(each, *share) for each in map(Blueprint, estimators) for share in shares]


def anchor_jobs(anchors, weights, *, weighted: bool) -> list[Job]:
    """Give all rows to each anchor.

    Parameters
    ----------
    anchors : list of classifiers
        Not fitted.
    weights : ndarray of shape (n_samples,)
        Row weights.
    weighted : bool
        Whether they are to be passed on.

    Returns
    -------
    list of Job
        One per anchor.
    """
    jobs = []
    for anchor in anchors:
        if weighted:
            require_weights(anchor, "sample_weight")
        passed = weights if weighted else None
        jobs.append(Job(Blueprint(anchor), np.flatnonzero(weights > 0), passed))
    return jobs


def fit_crew(jobs: list[Job], X, y, seed: int, n_jobs) -> list:
    """Fit the members.

    Parameters
    ----------
    jobs : list of Job
        Their jobs.
    X : array-like or frame of shape (n_samples, n_features)
        All rows.
    y : ndarray of shape (n_samples,)
        Class numbers.
    seed : int
        Their seeds derive from it.
    n_jobs : int or None
        As in joblib.

    Returns
    -------
    list of classifiers
        Fitted, in the order of the jobs.
    """
    tasks = [
        (job.blueprint, X, y, job.rows, job.weights, own)
        for job, own in zip(jobs, _member_seeds(jobs, seed), strict=True)
    ]
    return run_tasks(fit_member, tasks, n_jobs)


def crew_outputs(members: list, responses: list[str], X, n_classes: int) -> np.ndarray:
    """Ask fitted members.

    Parameters
    ----------
    members : list of classifiers
        Fitted.
    responses : list of {"predict_proba", "decision_function", "predict"}
        What each is asked for.
    X : array-like or frame of shape (n_samples, n_features)
        Rows.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_members, n_samples, n_classes)
        One row of outputs per member and sample.
    """
    pairs = zip(members, responses, strict=True)
    return np.stack([member_outputs(member, X, n_classes, name) for member, name in pairs])


def held_out_crew(jobs: list[Job], X, y, folds, n_classes: int, seed: int, n_jobs) -> np.ndarray:
    """Ask members about rows that they were not fitted on.

    Parameters
    ----------
    jobs : list of Job
        Their jobs; the rows of each are those of the job in the training part of a fold.
    X : array-like or frame of shape (n_samples, n_features)
        All rows.
    y : ndarray of shape (n_samples,)
        Class numbers.
    folds : list of (train, test)
        Row numbers.
    n_classes : int
        Number of classes.
    seed : int
        The members' seeds derive from it.
    n_jobs : int or None
        As in joblib.

    Returns
    -------
    ndarray of shape (n_members, n_samples, n_classes)
        NaN for rows in no test part; the last fold counts for rows in several.
    """
    seeds = iter(_member_seeds(jobs * len(folds), seed))
    responses = [job.response for job in jobs]
    tasks = []
    for train, test in folds:
        in_training = np.bincount(train, minlength=len(y)) > 0
        for job, response in zip(jobs, responses, strict=True):
            kept = job.rows[in_training[job.rows]]
            # a stratum without a row in this fold: its member learns the whole fold instead
            kept = kept if len(kept) > 0 else train
            given = (job.blueprint, X, y, kept, job.weights, next(seeds))
            tasks.append((*given, test, n_classes, response))
    outputs = np.full((len(jobs), len(y), n_classes), np.nan)
    for i, part in enumerate(run_tasks(held_out_outputs, tasks, n_jobs)):
        outputs[i % len(jobs), folds[i // len(jobs)][1]] = part
    return outputs


def _member_seeds(jobs: list[Job], seed: int) -> list[list[int]]:
    return spread_seeds(draw_seeds(seed, len(jobs)), [job.blueprint.n_seeds for job in jobs])
