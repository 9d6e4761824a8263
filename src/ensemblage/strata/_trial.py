"""One way to stratify the training rows, and how well members on its strata do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ensemblage.fusion import FusionContext
from ensemblage.strata._auto import fused_error
from ensemblage.strata._crew import Job, anchor_jobs, held_out_crew, strata_jobs
from ensemblage.strata._stratify import final_step, fit_strata, training_affinity


class Training(NamedTuple):
    """Validated training data.

    Attributes
    ----------
    X : ndarray or frame of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Class numbers.
    weights : ndarray of shape (n_samples,)
        Row weights; ones if none were given.
    weighted : bool
        Whether any were given.
    sources : ndarray of shape (n_samples,) or None
        Where the rows come from.
    folds : list of (train, test) or None
        Row numbers, where held-out outputs are needed.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray
    weighted: bool
    sources: np.ndarray | None
    folds: list | None

    @property
    def sample_weight(self):  # numpydoc ignore=RT01
        """Weights if any were given."""
        return self.weights if self.weighted else None


class Crew(NamedTuple):
    """Who is to learn the strata.

    Attributes
    ----------
    kinds : list of classifiers
        Kinds of member on each stratum.
    anchors : list of classifiers
        Members on all rows.
    soft : bool
        Whether memberships are passed as weights.
    """

    kinds: list
    anchors: list
    soft: bool


class Trial(NamedTuple):
    """Strata, and what members on them say of rows that they have not seen.

    Attributes
    ----------
    stratifier : stratifier
        Fitted.
    memberships : ndarray of shape (n_samples, n_strata)
        Of the training rows.
    jobs : list of Job
        The members' jobs, anchors last.
    outputs : ndarray of shape (n_members, n_samples, n_classes) or None
        Held-out outputs, where there are folds.
    context : FusionContext
        What the fusion needs to know of the rows.
    error : float
        Error of the fusion on held-out rows, if it was asked for.
    """

    stratifier: Any
    memberships: np.ndarray
    jobs: list[Job]
    outputs: np.ndarray | None
    context: FusionContext
    error: float


def try_strata(
    data: Training, stratifier, settings: dict, crew: Crew, fusion, *, judge, seed, n_jobs
) -> Trial:
    """Fit strata with some settings; ask members on them about rows they have not seen.

    Parameters
    ----------
    data : Training
        The training rows.
    stratifier : stratifier
        Cloned; its seeds are kept.
    settings : dict
        Parameters of the stratifier.
    crew : Crew
        The members.
    fusion : Fusion
        Not fitted.
    judge : bool
        Whether the error is wanted.
    seed : int
        For the held-out members.
    n_jobs : int or None
        As in joblib.

    Returns
    -------
    Trial
    """
    stratifier = clone(stratifier)
    final_step(stratifier).set_params(**settings)
    memberships = fit_strata(
        stratifier, data.X, data.y, sample_weight=data.sample_weight, sources=data.sources
    )
    jobs = strata_jobs(
        crew.kinds, memberships, data.weights, soft=crew.soft, weighted=data.weighted
    )
    jobs += anchor_jobs(crew.anchors, data.weights, weighted=data.weighted)
    context = FusionContext(
        affinity=training_affinity(stratifier, data.X) if "affinity" in fusion.needs else None,
        X=data.X if "X" in fusion.needs else None,
    )
    outputs, error = None, 0.0
    if data.folds is not None:
        n_classes = int(data.y.max()) + 1
        outputs = held_out_crew(jobs, data.X, data.y, data.folds, n_classes, seed, n_jobs)
    if judge:
        error = fused_error(
            fusion, outputs, data.y, data.folds, context, sample_weight=data.sample_weight
        )  # fmt: skip
    return Trial(stratifier, memberships, jobs, outputs, context, error)
