"""The loop of Inner K-means: passes over the rows, new centres, and rest.

A pass assigns the rows of each block by votes, and adds up for the centres. Centres are of shape
(n_clusters, n_features). A block's carry is of dtype ``ROW_STATE``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block, BlockSource
from ensemblage.kernels import (
    ClusterSums,
    Draws,
    Votes,
    add_cluster_sums,
    bounded_view_votes,
    center_drift,
    cluster_means,
    cluster_sums,
    instance_votes,
    move_row,
    own_distances,
    view_votes,
)

Array = NDArray[Any]
Crowd: TypeAlias = Array | Draws
"""The voters of a pass: views that all rows share, (n_views, n_features), or how rows draw them."""

ROW_STATE = np.dtype([("label", np.int32), ("bound", np.float64)])


class PassStatistics(NamedTuple):
    """What a pass adds up over the rows."""

    sums: ClusterSums  # weighted sums of each cluster's rows
    n_changed: int  # rows that changed cluster
    n_evaluated: int  # rows whose distances were computed


class Offers(NamedTuple):
    """Rows that an empty cluster may move to, farthest from their own centres first."""

    distances: NDArray[np.float64]
    rows: Array
    labels: NDArray[np.int32]
    weights: NDArray[np.float64]


def assign_pass(
    block: Block, centers: Array, crowd: Crowd, fresh: bool
) -> tuple[Array, PassStatistics]:
    """Assign every row of a block by vote; ties stay where they are. A fresh run has no carry."""
    before = _state(block, fresh)
    labels = elect(block.rows, centers, crowd, before["label"]).labels
    return _finish(block, before, labels, np.zeros(len(labels)), len(labels), len(centers))


def bounded_pass(
    block: Block, centers: Array, views: Array, fresh: bool, drift: Array
) -> tuple[Array, PassStatistics]:
    """Assign as :func:`assign_pass`, skipping rows that cannot change.

    The views are the same in every pass of a run; ``drift`` is what the last move of the centres
    costs the bounds, by cluster.
    """
    before = _state(block, fresh)
    bounds = before["bound"] - drift[before["label"]]
    votes = bounded_view_votes(block.rows, centers, views, before["label"], bounds)
    return _finish(block, before, votes.labels, votes.bounds, votes.n_evaluated, len(centers))


def elect(rows: Array, centers: Array, crowd: Crowd, incumbents: Array | None = None) -> Votes:
    """Let a crowd vote; incumbents win ties."""
    if isinstance(crowd, Draws):
        return instance_votes(rows, centers, crowd, incumbents)
    return view_votes(rows, centers, crowd, incumbents)


def farthest_rows(block: Block, centers: Array, n_rows: int) -> Offers:
    """Find at most ``n_rows`` rows of positive weight farthest from the centres of their labels."""
    labels = _state(block, fresh=False)["label"]
    distances = own_distances(block.rows, centers, labels)
    distances[block.weights <= 0] = 0.0
    chosen = np.argsort(-distances, kind="stable")[:n_rows]
    return Offers(distances[chosen], block.rows[chosen], labels[chosen], block.weights[chosen])


def _state(block: Block, fresh: bool) -> Array:
    if fresh or block.carry is None:
        return np.full(len(block.rows), np.array((-1, 0.0), ROW_STATE))
    return np.asarray(block.carry)


def _finish(
    block: Block, before: Array, labels: Array, bounds: Array, n_evaluated: int, n_clusters: int
) -> tuple[Array, PassStatistics]:
    after = np.empty(len(labels), ROW_STATE)
    after["label"], after["bound"] = labels, bounds
    sums = cluster_sums(block.rows, block.weights, labels, n_clusters)
    n_changed = int(np.count_nonzero(labels != before["label"]))
    return after, PassStatistics(sums, n_changed, n_evaluated)


def add_statistics(one: PassStatistics, other: PassStatistics) -> PassStatistics:
    """Add those of two blocks."""
    sums = add_cluster_sums(one.sums, other.sums)
    evaluated = one.n_evaluated + other.n_evaluated
    return PassStatistics(sums, one.n_changed + other.n_changed, evaluated)


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
        if index == 0:
            source.forget()
        call = kernel, centers, crowd, index == 0, *state
        statistics = source.advance_total(*call, combine=add_statistics)
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
    sums = ClusterSums(*(field.copy() for field in statistics.sums))
    empty = np.flatnonzero(sums.totals <= 0)
    if len(empty):
        _refill(source, centers, sums, empty)
    filled = sums.totals[:, None] > 0
    return np.where(filled, cluster_means(sums), centers).astype(centers.dtype)


def _refill(source: BlockSource, centers: Array, sums: ClusterSums, empty: Array) -> None:
    """Give each empty cluster one of the farthest rows whose cluster has other rows as well."""
    # one row of each other cluster may be its only one, and is not to be had
    n_offers = len(empty) + len(centers)
    parts = zip(*source.map(farthest_rows, centers, n_offers), strict=True)
    offers = Offers(*(np.concatenate(part) for part in parts))
    candidates = iter(np.argsort(-offers.distances, kind="stable"))
    for cluster in empty:
        for chosen in candidates:
            label, weight = offers.labels[chosen], offers.weights[chosen]
            if offers.distances[chosen] > 0 and sums.totals[label] > weight:
                move_row(sums, offers.rows[chosen], weight, label, cluster)
                break
