"""The loop of Inner K-means: passes, new centres, and the two schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block, BlockSource
from ensemblage.inner._kmeans_passes import (
    Crowd,
    Offers,
    PassStatistics,
    assign_pass,
    bounded_pass,
    farthest_rows,
)
from ensemblage.kernels import center_drift

Array = NDArray[Any]

ANNEALED_PASSES = 30
AVERAGED_PASSES = 15


class Pass(NamedTuple):
    """Where a pass leaves the run."""

    centers: Array
    shift: float  # sum of the squared moves of the centres
    n_changed: int  # rows that changed cluster
    n_evaluated: int  # rows whose distances were computed


class Run(NamedTuple):
    """The outcome of one start."""

    centers: Array
    n_iter: int  # passes made
    n_evaluated: int  # rows evaluated in all passes together
    converged: bool  # whether the last loop came to rest, rather than to its limit


class Voters(NamedTuple):
    """Who votes in each pass."""

    crowd_of: Callable[[int], Crowd]  # from the number of the pass
    prune: bool  # skip rows that cannot change: exact, with the same shared views in each pass


def passes(source: BlockSource, centers: Array, voters: Voters) -> Iterator[Pass]:
    """Assign and update, without end (Algorithm 6, lines 4 to 14)."""
    drift = np.zeros(len(centers))
    for index in count():
        crowd: Any = voters.crowd_of(index)
        kernel, state = (bounded_pass, (drift,)) if voters.prune else (assign_pass, ())
        statistics = source.advance_total(kernel, centers, crowd, index == 0, *state)
        moved = _next_centers(source, centers, statistics)
        if voters.prune:
            drift = center_drift(centers, moved, crowd)
        shift = float(np.square(moved.astype(np.float64) - centers).sum())
        centers = moved
        yield Pass(centers, shift, statistics.n_changed, statistics.n_evaluated)


def run_until_rest(
    source: BlockSource,
    centers: Array,
    voters: Voters,
    max_iter: int,
    tol: float,
    step: Callable[[], bool],
) -> Run:
    """Pass after pass until no row changes, the centres rest, or the limit (Algorithm 6, line 15).

    The centres rest when the sum of their squared moves is at most ``tol``. ``step`` is called
    after each pass, and true to stop.
    """
    n_evaluated = 0
    for index, done in enumerate(passes(source, centers, voters), start=1):
        n_evaluated += done.n_evaluated
        rests = done.n_changed == 0 or done.shift <= tol
        if step() or rests or index == max_iter:
            return Run(done.centers, index, n_evaluated, rests)
    raise AssertionError("passes never end by themselves")


def anneal(
    source: BlockSource, centers: Array, voters: Voters, n_passes: int, step: Callable[[], bool]
) -> Run:
    """Stir the centres by voting passes; give their mean over the last 15 of them."""
    trail: list[Array] = []
    n_evaluated = 0
    for done in islice(passes(source, centers, voters), n_passes):
        n_evaluated += done.n_evaluated
        trail.append(done.centers)
        if step():
            break
    last = trail[-AVERAGED_PASSES:] or [centers]
    mean = np.mean(last, axis=0, dtype=np.float64).astype(centers.dtype)
    return Run(mean, len(trail), n_evaluated, False)


def spread(source: BlockSource) -> float:
    """Mean over features of the weighted variance, the yardstick of ``tol``."""
    total, sums = source.total(_moments)
    (squares,) = source.total(_squares, sums / total)
    return float(squares.mean() / total)


def _moments(block: Block) -> tuple[float, Array]:
    return float(block.weights.sum()), block.weights @ block.rows.astype(np.float64)


def _squares(block: Block, mean: Array) -> tuple[Array]:
    return (block.weights @ np.square(block.rows - mean),)


def _next_centers(source: BlockSource, centers: Array, statistics: PassStatistics) -> Array:
    """Means of the clusters; an empty one moves to the row farthest from its own centre."""
    sums, totals = statistics.sums.copy(), statistics.totals.copy()
    empty = np.flatnonzero(totals <= 0)
    if len(empty):
        _refill(source, centers, sums, totals, empty)
    moved = centers.copy()
    filled = totals > 0
    moved[filled] = sums[filled] / totals[filled, None]
    return moved


def _refill(source: BlockSource, centers: Array, sums: Array, totals: Array, empty: Array) -> None:
    """Give each empty cluster one of the farthest rows whose cluster has other rows as well."""
    # one row of each other cluster may be its only one, and is not to be had
    n_offers = len(empty) + len(centers)
    parts = zip(*source.map(farthest_rows, centers, n_offers), strict=True)
    offers = Offers(*(np.concatenate(part) for part in parts))
    candidates = iter(np.argsort(-offers.distances, kind="stable"))
    for cluster in empty:
        for chosen in candidates:
            label, weight = offers.labels[chosen], offers.weights[chosen]
            if offers.distances[chosen] > 0 and totals[label] > weight:
                sums[label] -= weight * offers.rows[chosen]
                totals[label] -= weight
                sums[cluster], totals[cluster] = weight * offers.rows[chosen], weight
                break
