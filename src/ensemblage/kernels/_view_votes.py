r"""Rows assigned to centres by the votes of many feature views (Inner Ensembles, Algorithm 6).

View e votes for :math:`\arg\min_k D_e(k)`, :math:`D_e(k) = \sum_j w_{ej} (x_j - \mu_{kj})^2`, with
:math:`w_{ej} \ge 0` how often it drew feature j; the lowest index on equal distances (lines 6 to
11). Distances that differ by no more than rounding are compared once more, exactly, so that neither
the order in which a machine adds nor the block that a row is in ever decides. The squared
differences of a chunk of rows are formed once and multiplied by :math:`W^\top` in one product of
matrices that stays in cache, so nothing of size rows x views x centres is ever held.

Rows (n_rows, n_features) and centres (n_clusters, n_features) are C-contiguous and both float32 or
both float64; views are of shape (n_views, n_features).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._exact_distances import nearest_exactly

Array = NDArray[Any]
Labels = NDArray[np.int32]
Bounds = NDArray[np.float64]

CHUNK_ELEMENTS = 65536
LEAST_MARGIN = 1e-11


class Votes(NamedTuple):
    """The outcome of one assignment pass."""

    labels: Labels  # the centre with the most votes
    counts: Labels  # how many views voted for it


class BoundedVotes(NamedTuple):
    """The outcome of one assignment pass that skips rows which cannot change."""

    labels: Labels
    bounds: Bounds  # how far centres may move, in total, before a row must be looked at again
    n_evaluated: int  # rows whose distances were computed


class Ballot(NamedTuple):
    """What votes are about."""

    rows: Array  # (n_rows, n_features)
    centers: Array  # (n_clusters, n_features)
    weights: Array  # (n_features, n_views): the views, on the last axis
    slack: float  # distances that differ by no more, relatively, are compared exactly


def slack_of(rows: Array, n_terms: int) -> float:
    """Bound the relative rounding of two sums of so many products, none of them negative."""
    return float((n_terms + 8) * np.finfo(rows.dtype).eps)


def view_votes(
    rows: Array, centers: Array, views: Array, incumbents: Labels | None = None
) -> Votes:
    """Let each view vote for its nearest centre; the most votes win.

    When votes tie, the incumbent keeps the row; without one, or where it is -1, the lowest index
    wins.
    """
    labels = np.full(len(rows), -1, np.int32) if incumbents is None else incumbents.copy()
    counts = _run(rows, centers, views, np.arange(len(rows)), labels, np.empty(0))
    return Votes(labels, counts)


def agreeing_views(rows: Array, centers: Array, views: Array, labels: Labels) -> Labels:
    """Count the views that vote for a given label of each row, whoever won."""
    return _run(rows, centers, views, np.arange(len(rows)), labels.copy(), np.empty(0), False)


def bounded_view_votes(
    rows: Array, centers: Array, views: Array, labels: Labels, bounds: Bounds
) -> BoundedVotes:
    r"""Vote as ``view_votes`` with incumbents, on the rows whose bound has run out.

    Rows with a positive bound keep their label. The views must be those of the earlier passes;
    a label of -1 is none yet.

    :math:`\sqrt{D_e}` is a seminorm distance. A fresh bound is the
    :math:`\lceil E/2 \rceil`-th largest over views of
    :math:`\min_{k \ne own} \sqrt{D_e(k)} - \sqrt{D_e(own)}`, less a margin for rounding: while
    the centres have moved by less, half of the views still vote for the incumbent, and a tie
    is the incumbent's. See ``center_drift`` for what a move costs.
    """
    labels, bounds = labels.copy(), bounds.copy()
    active = np.flatnonzero((bounds <= 0) | (labels < 0))
    _run(rows, centers, views, active, labels, bounds)
    return BoundedVotes(labels, bounds, len(active))


def center_drift(before: Array, after: Array, views: Array) -> NDArray[np.float64]:
    r"""Give what a move of the centres costs the bound of a row, by its own centre.

    It is :math:`\max_e (\delta_{own,e} + \max_{k \ne own} \delta_{ke})`, where
    :math:`\delta_{ke} = \lVert \mu'_k - \mu_k \rVert_{w_e}`.
    """
    squares = np.square(after.astype(np.float64) - before)
    moved = np.sqrt(squares @ views.T.astype(np.float64)) * (1 + 1e-9)
    if len(moved) == 1:
        return np.asarray(moved.max(axis=1))
    farthest, every_view = moved.argmax(axis=0), np.arange(len(views))
    others = np.tile(moved[farthest, every_view], (len(moved), 1))
    others[farthest, every_view] = np.partition(moved, -2, axis=0)[-2]
    return np.asarray((moved + others).max(axis=1))


def _run(
    rows: Array,
    centers: Array,
    views: Array,
    active: Array,
    labels: Labels,
    bounds: Bounds,
    elect: bool = True,
) -> Labels:
    """Vote into ``labels`` and ``bounds``; give the number of votes behind each label."""
    n_clusters, n_features = centers.shape
    counts = np.zeros(len(rows), np.int32)
    weights = np.ascontiguousarray(views.T, dtype=rows.dtype)
    ballot = Ballot(rows, centers, weights, slack_of(rows, n_features))
    chunk = _chunk(centers, views)
    squares = np.zeros((chunk * n_clusters, n_features), rows.dtype)
    products = np.zeros((chunk * n_clusters, len(views)), rows.dtype)
    distances = products.reshape(chunk, n_clusters, len(views))
    for start in range(0, len(active), chunk):
        here = active[start : start + chunk]
        # the product always has the same shape, so that a row's sums do not depend on its block
        _squares(rows, centers, here, squares)
        np.matmul(squares, weights, out=products)
        _count(ballot, distances, here, labels, counts, elect)
        if len(bounds):
            _bound(distances, ballot.slack, here, labels, bounds)
    return counts


def _chunk(centers: Array, views: Array) -> int:
    """Rows per matrix product: squares and distances together stay in the second-level cache."""
    n_clusters, n_features = centers.shape
    return int(np.clip(CHUNK_ELEMENTS // (n_clusters * (len(views) + n_features)), 1, 1024))


@compiled
def winner(tally: Labels, incumbent: int) -> int:
    """Elect the incumbent while nobody has more votes, else the first with the most."""
    if incumbent < 0 or tally[incumbent] < tally.max():
        return int(np.argmax(tally))
    return incumbent


@compiled
def _squares(rows: Array, centers: Array, active: Array, squares: Array) -> None:
    """Squared differences of the active rows to each centre, one line per row and centre."""
    n_clusters, n_features = centers.shape
    for place in range(len(active)):
        row = rows[active[place]]
        for k in range(n_clusters):
            for j in range(n_features):
                gap = row[j] - centers[k, j]
                squares[place * n_clusters + k, j] = gap * gap


@compiled
def _count(
    ballot: Ballot, distances: Array, active: Array, labels: Labels, counts: Labels, elect: bool
) -> None:
    """Let the views vote on the active rows; write the winners, if asked for, and their votes.

    Distances are of shape (n_places, n_clusters, n_views), the active rows first.
    """
    _, n_clusters, n_views = distances.shape
    nearest, second = np.zeros(n_views, distances.dtype), np.zeros(n_views, distances.dtype)
    choice = np.zeros(n_views, np.int32)
    tally = np.zeros(n_clusters, np.int32)
    grow = distances.dtype.type(1 + ballot.slack)
    for place in range(len(active)):
        for e in range(n_views):
            nearest[e], second[e], choice[e] = distances[place, 0, e], np.inf, 0
        for k in range(1, n_clusters):
            # both branches written out, so that the compiler makes vector selects of them
            for e in range(n_views):
                here = distances[place, k, e]
                closer = here < nearest[e]
                farther = nearest[e] if closer else here
                nearest[e] = here if closer else nearest[e]
                second[e] = min(second[e], farther)
                choice[e] = k if closer else choice[e]
        tally[:] = 0
        row = active[place]
        for e in range(n_views):
            limit = nearest[e] * grow
            if second[e] <= limit:
                view, column = ballot.weights[:, e], distances[place, :, e]
                choice[e] = nearest_exactly(ballot.rows[row], ballot.centers, view, column, limit)
            tally[choice[e]] += 1
        if elect:
            labels[row] = winner(tally, labels[row])
        counts[row] = tally[labels[row]]


@compiled
def _bound(distances: Array, slack: float, active: Array, labels: Labels, bounds: Bounds) -> None:
    """Write how far centres may move before half of a row's views can have changed their vote."""
    _, n_clusters, n_views = distances.shape
    # what the subtraction of many small moves rounds away is smaller by far
    margin = max(slack, LEAST_MARGIN)
    nearest = np.zeros(n_views, distances.dtype)
    gaps = np.zeros(n_views)
    for place in range(len(active)):
        own = labels[active[place]]
        nearest[:] = np.inf
        for k in range(n_clusters):
            for e in range(n_views):
                other = np.inf if k == own else distances[place, k, e]
                nearest[e] = min(nearest[e], other)
        for e in range(n_views):
            here = np.sqrt(distances[place, own, e])
            gaps[e] = np.sqrt(nearest[e]) * (1 - margin) - here * (1 + margin)
        bounds[active[place]] = np.sort(gaps)[n_views // 2]
