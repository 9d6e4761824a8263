"""One pass of Inner K-means over a block of rows: assign by votes, add up for the centres."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block
from ensemblage.inner._feature_views import Crowd
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

ROW_STATE = np.dtype([("label", np.int32), ("bound", np.float64)])


class PassStatistics(NamedTuple):
    """What a pass adds up over the rows.

    Attributes
    ----------
    sums : ndarray of shape (n_clusters, n_features)
        Weighted sums of each cluster's rows.
    totals : ndarray of shape (n_clusters,)
        Each cluster's weight.
    n_changed : int
        Rows that changed cluster.
    n_evaluated : int
        Rows whose distances were computed.
    """

    sums: NDArray[np.float64]
    totals: NDArray[np.float64]
    n_changed: int
    n_evaluated: int


def assign_pass(
    block: Block, centers: Array, crowd: Crowd, fresh: bool
) -> tuple[Array, PassStatistics]:
    """Assign every row of a block by vote; ties stay where they are.

    Parameters
    ----------
    block : Block
        Rows, with labels from the last pass as carry.
    centers : ndarray of shape (n_clusters, n_features)
        Present centres.
    crowd : Crowd
        The voters.
    fresh : bool
        Whether this is a run's first pass, so that the carry means nothing.

    Returns
    -------
    carry : ndarray of dtype ``ROW_STATE``
        New labels.
    statistics : PassStatistics
        Sums for the new centres.
    """
    before = _state(block, fresh)
    labels = elect(block.rows, centers, crowd, before["label"]).labels
    return _finish(block, before, labels, np.zeros(len(labels)), len(labels), len(centers))


def bounded_pass(
    block: Block, centers: Array, crowd: Crowd, fresh: bool, drift: Array
) -> tuple[Array, PassStatistics]:
    """Assign as :func:`assign_pass`, skipping rows that cannot change.

    Parameters
    ----------
    block : Block
        Rows, with labels and bounds from the last pass as carry.
    centers : ndarray of shape (n_clusters, n_features)
        Present centres.
    crowd : Crowd
        The voters, the same in every pass of a run.
    fresh : bool
        Whether this is a run's first pass.
    drift : ndarray of shape (n_clusters,)
        What the last move of the centres costs the bounds, by cluster.

    Returns
    -------
    carry : ndarray of dtype ``ROW_STATE``
        New labels and bounds.
    statistics : PassStatistics
        Sums for the new centres.
    """
    before = _state(block, fresh)
    bounds = before["bound"] - drift[before["label"]]
    votes = bounded_view_votes(block.rows, centers, crowd.views, before["label"], bounds)
    return _finish(block, before, votes.labels, votes.bounds, votes.n_evaluated, len(centers))


def elect(rows: Array, centers: Array, crowd: Crowd, incumbents: Array | None = None) -> Votes:
    """Let a crowd vote.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The data.
    centers : ndarray of shape (n_clusters, n_features)
        What is voted for.
    crowd : Crowd
        The voters.
    incumbents : ndarray of shape (n_rows,), default=None
        Present labels, which win ties.

    Returns
    -------
    Votes
        Labels and votes.
    """
    if crowd.views is not None:
        return view_votes(rows, centers, crowd.views, incumbents)
    return instance_votes(rows, centers, Draws(*crowd[:4]), incumbents)


def label_pass(
    block: Block, centers: Array, deciding: Array, views: Array
) -> tuple[Array, Array, float]:
    """Label the rows of a block with nothing left to learn.

    Parameters
    ----------
    block : Block
        The rows.
    centers : ndarray of shape (n_clusters, n_features)
        Final centres.
    deciding : ndarray of shape (n_deciding, n_features)
        The views that decide, ties to the lowest index.
    views : ndarray of shape (n_views, n_features)
        The views that are asked whether they agree.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
        Cluster of each row.
    agreement : ndarray of shape (n_rows,)
        Share of the views that vote for this cluster.
    inertia : float
        Weighted sum of squared distances to the own centre, all features.
    """
    labels, counts = view_votes(block.rows, centers, deciding)
    if deciding is not views:
        counts = agreeing_views(block.rows, centers, views, labels)
    inertia = own_distances(block.rows, centers, labels) @ block.weights
    return labels, counts / len(views), float(inertia)


def farthest_rows(block: Block, centers: Array, n_rows: int) -> tuple[Array, ...]:
    """Find the rows farthest from their own centres, to restart empty clusters.

    Parameters
    ----------
    block : Block
        Rows, with their labels as carry.
    centers : ndarray of shape (n_clusters, n_features)
        The centres that the labels came from.
    n_rows : int
        How many.

    Returns
    -------
    distances, rows, labels, weights : ndarray
        Of at most ``n_rows`` rows with positive weight, farthest first.
    """
    labels = _state(block, fresh=False)["label"]
    distances = own_distances(block.rows, centers, labels)
    distances[block.weights <= 0] = 0.0
    chosen = np.argsort(-distances, kind="stable")[:n_rows]
    return distances[chosen], block.rows[chosen], labels[chosen], block.weights[chosen]


def _state(block: Block, fresh: bool) -> Array:
    if fresh or block.carry is None:
        return np.full(len(block.rows), np.array((-1, 0.0), ROW_STATE))
    return block.carry


def _finish(
    block: Block, before: Array, labels: Array, bounds: Array, n_evaluated: int, n_clusters: int
) -> tuple[Array, PassStatistics]:
    after = np.empty(len(labels), ROW_STATE)
    after["label"], after["bound"] = labels, bounds
    sums, totals = cluster_sums(block.rows, block.weights, labels, n_clusters)
    n_changed = int(np.count_nonzero(labels != before["label"]))
    return after, PassStatistics(sums, totals, n_changed, n_evaluated)
