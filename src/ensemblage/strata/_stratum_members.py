"""Members on strata: their jobs and fits, and what they say of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.fusion import FusionContext, take_rows
from ensemblage.parallel import (
    Blueprint,
    draw_seeds,
    fit_parameter,
    run_tasks,
    spread_seeds,
    threads_for,
)
from ensemblage.strata._strata_recipe import Recipe
from ensemblage.strata._strata_rows import Training
from ensemblage.strata._strata_targets import Target

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Job(NamedTuple):
    """What one member is asked to do.

    It learns ``rows``; ``weights``, those of all rows, are passed to its ``fit`` unless None. An
    anchor has no stratum.
    """

    response: str
    blueprint: Blueprint
    rows: Rows
    weights: Array | None
    stratum: int | None = None


def hard_rows(membership: Array, weights: Array) -> Rows:
    """Rows that a stratum holds, sorted: the strongest, up to its size, at least one."""
    rows = np.flatnonzero((membership > 0) & (weights > 0))
    falling = rows[np.argsort(-membership[rows], kind="stable")]
    size = membership[rows] @ weights[rows]
    held = np.cumsum(weights[falling])
    # a row is in if more than half of it fits
    count = np.count_nonzero(held - 0.5 * weights[falling] < size)
    return np.sort(falling[: max(count, 1)])


def plan_jobs(recipe: Recipe, memberships: Array, data: Training) -> list[Job]:
    """Give each stratum to a member of each kind, kind by kind, then all rows to each anchor."""
    weights, shares = data.weights, []
    for membership in memberships.T:
        if recipe.soft:
            passed = membership * weights
            shares.append((np.flatnonzero(passed > 0), passed))
        else:
            shares.append((hard_rows(membership, weights), data.sample_weight))
    jobs = [Job(*kind, *share, k) for kind in recipe.kinds for k, share in enumerate(shares)]
    present = np.flatnonzero(weights > 0)
    return jobs + [Job(*anchor, present, data.sample_weight) for anchor in recipe.anchors]


def fit_member(job: Job, X: Any, y: NDArray[Any], target: Target, seeds: list[int]) -> Any:
    """Fit a fresh member: a constant one where y does not vary, and the best one of a search."""
    y = y[job.rows]
    if (y == y[0]).all():
        return target.constant_member(y)
    member = job.blueprint.build(seeds)
    name = None if job.weights is None else fit_parameter(member, "sample_weight")
    passed = {} if job.weights is None or name is None else {name: job.weights[job.rows]}
    rows = take_rows(X, job.rows)
    with threads_for(rows):
        member.fit(rows, y, **passed)
    # what a search went through is not needed any more, nor could it be saved
    return getattr(member, "best_estimator_", member)


def fit_members(jobs: list[Job], data: Training, seed: int, n_jobs: int | None) -> list[Any]:
    """Fit the members, in the order of the jobs; their seeds derive from one."""
    seeds = _member_seeds(jobs, seed)
    rows = (data.X, data.y, data.target)
    tasks = [(job, *rows, own) for job, own in zip(jobs, seeds, strict=True)]
    return run_tasks(fit_member, tasks, n_jobs)


class Asked(NamedTuple):
    """Rows as they were read, what members say of them, and what else is known."""

    X: Any
    outputs: Array
    """Of shape (n_members, n_samples, n_outputs), anchors last."""
    context: FusionContext


def ask_members(members: list[Any], responses: list[str], X: Any, target: Target) -> Array:
    """Ask fitted members about rows, (n_members, n_samples, n_outputs)."""
    pairs = zip(members, responses, strict=True)
    return np.stack([target.ask(member, X, name) for member, name in pairs])


def ask_elsewhere(
    job: Job, X: Any, y: NDArray[Any], target: Target, seeds: list[int], test: Rows
) -> Array:
    """Fit a member and ask it about held-out rows, (len(test), n_outputs)."""
    member = fit_member(job, X, y, target, seeds)
    return target.ask(member, take_rows(X, test), job.response)


def held_out_outputs(
    jobs: list[Job], data: Training, seed: int, n_jobs: int | None, anchored: Array | None = None
) -> Array:
    """Ask members about rows that they were not fitted on, (n_members, n_samples, n_outputs).

    A row in no test part has NaN; of several the last fold counts. What anchors say may be known.
    """
    folds = data.folds or []
    n_asked = len(jobs) - (0 if anchored is None else len(anchored))
    seeds = iter(_member_seeds(jobs * len(folds), seed))
    tasks: list[tuple[Any, ...]] = []
    for train, test in folds:
        in_training = np.bincount(train, minlength=len(data.y)) > 0
        for job in jobs:
            kept = job.rows[in_training[job.rows]]
            # a stratum without a row in this fold: its member learns the whole fold instead
            kept = kept if len(kept) > 0 else train
            own = job._replace(rows=kept)
            tasks.append((own, data.X, data.y, data.target, next(seeds), test))
    outputs = np.full((len(jobs), len(data.y), data.target.n_outputs), np.nan)
    asked = [i for i in range(len(tasks)) if i % len(jobs) < n_asked]
    parts = run_tasks(ask_elsewhere, [tasks[i] for i in asked], n_jobs)
    for i, part in zip(asked, parts, strict=True):
        outputs[i % len(jobs), folds[i // len(jobs)].test] = part
    if anchored is not None:
        outputs[n_asked:] = anchored
    return outputs


def _member_seeds(jobs: list[Job], seed: int) -> list[list[int]]:
    if all(job.blueprint.n_seeds == 0 for job in jobs):
        return [[]] * len(jobs)
    return spread_seeds(draw_seeds(seed, len(jobs)), [job.blueprint.n_seeds for job in jobs])
