"""Who votes when: the two schedules of Inner K-means."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import BlockSource
from ensemblage.inner._inner_ensemble import draw_feature_views
from ensemblage.inner._kmeans_loop import Run, Voters, passes, run_until_rest
from ensemblage.kernels import Draws
from ensemblage.parallel import draw_seeds

Array = NDArray[Any]

ANNEALED_PASSES = 20
FINAL_VIEWS = 4
"""Voters at the end of the annealed schedule, for each of those before."""


class Schedule(NamedTuple):
    """How one start of many goes on."""

    paper: bool  # Algorithm 6, rather than annealed
    resample: str
    max_iter: int
    tol: float  # the centres rest when the sum of their squared moves is no more


class Start(NamedTuple):
    """What one start of many begins with."""

    centers: Array
    voters: Voters
    views: Array  # those that judge rows at the end


def draw_voters(
    n_features: int, draws: Draws, schedule: Schedule
) -> tuple[Voters, NDArray[np.float64]]:
    """Give the voters of each pass, and the views that judge rows at the end."""
    *seeds, last = draw_seeds(draws.seed, schedule.max_iter + 1)
    n_final = draws.n_views if schedule.paper else FINAL_VIEWS * draws.n_views
    final = draw_feature_views(n_features, draws._replace(n_views=n_final, seed=last))
    if schedule.resample == "fit":
        shared = draw_feature_views(n_features, draws)
        return Voters(lambda _: shared, prune=True), shared if schedule.paper else final

    def draws_of(index: int) -> Draws:
        return draws._replace(seed=seeds[index])

    if schedule.resample == "instance":
        return Voters(draws_of, prune=False), final
    return Voters(lambda index: draw_feature_views(n_features, draws_of(index)), False), final


def run_paper(
    source: BlockSource, start: Start, schedule: Schedule, step: Callable[[], bool]
) -> Run:
    """Run Algorithm 6."""
    # centres under ever new views do not rest; Algorithm 6 asks for unchanged labels
    limit = schedule.tol if schedule.resample == "fit" else -1.0
    return run_until_rest(source, start.centers, start.voters, schedule.max_iter, limit, step)


def run_annealed(
    source: BlockSource,
    start: Start,
    deciding: Array,
    schedule: Schedule,
    step: Callable[[], bool],
) -> Run:
    """Stir the centres, average them, and let the deciding views alone bring them to rest."""
    n_votes = min(ANNEALED_PASSES, schedule.max_iter // 2)
    stirred = anneal(source, start.centers, start.voters, n_votes, step)
    last = Voters(lambda _: deciding, prune=True)
    n_left = schedule.max_iter - stirred.n_iter
    run = run_until_rest(source, stirred.centers, last, n_left, schedule.tol, step)
    evaluated = run.n_evaluated + stirred.n_evaluated
    return run._replace(n_iter=run.n_iter + stirred.n_iter, n_evaluated=evaluated)


def anneal(
    source: BlockSource, centers: Array, voters: Voters, n_passes: int, step: Callable[[], bool]
) -> Run:
    """Stir the centres by voting passes; give their mean over the later half of these.

    A pass that changes no row is the last.
    """
    trail: list[Array] = []
    n_evaluated = 0
    for done in islice(passes(source, centers, voters), n_passes):
        n_evaluated += done.n_evaluated
        trail.append(done.centers)
        if step() or done.n_changed == 0:
            break
    last = trail[len(trail) // 2 :] or [centers]
    mean = np.mean(last, axis=0, dtype=np.float64).astype(centers.dtype)
    return Run(mean, len(trail), n_evaluated, False)
