"""One pass of Inner K-means over a block of rows: assign by votes, add up for the centres.

Centres are of shape (n_clusters, n_features). A block's carry is of dtype ``ROW_STATE``.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block
from ensemblage.kernels import (
    Draws,
    Votes,
    agreeing_views,
    bounded_view_votes,
    cluster_sums,
    instance_votes,
    own_distances,
    view_votes,
)

Array = NDArray[Any]
Crowd: TypeAlias = Array | Draws
"""The voters of a pass: views that all rows share, (n_views, n_features), or how rows draw them."""

ROW_STATE = np.dtype([("label", np.int32), ("bound", np.float64)])


class PassStatistics(NamedTuple):
    """What a pass adds up over the rows."""

    sums: NDArray[np.float64]  # (n_clusters, n_features): weighted sums of each cluster's rows
    totals: NDArray[np.float64]  # (n_clusters,): each cluster's weight
    n_changed: int  # rows that changed cluster
    n_evaluated: int  # rows whose distances were computed


class Labelling(NamedTuple):
    """Rows with nothing left to learn."""

    labels: NDArray[np.int32]
    agreement: NDArray[np.float64]  # share of the views that vote for the row's cluster
    inertia: float  # weighted sum of squared distances to the own centre, all features


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


def label_pass(block: Block, centers: Array, deciding: Array, views: Array) -> Labelling:
    """Label rows by the deciding views, ties to the lowest index; ask all views if they agree."""
    labels, counts = view_votes(block.rows, centers, deciding)
    if deciding is not views:
        counts = agreeing_views(block.rows, centers, views, labels)
    inertia = own_distances(block.rows, centers, labels) @ block.weights
    return Labelling(labels, counts / len(views), float(inertia))


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
    sums, totals = cluster_sums(block.rows, block.weights, labels, n_clusters)
    n_changed = int(np.count_nonzero(labels != before["label"]))
    return after, PassStatistics(sums, totals, n_changed, n_evaluated)
