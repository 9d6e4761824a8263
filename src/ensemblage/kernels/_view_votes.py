r"""Rows assigned to centres by the votes of many feature views (Inner Ensembles, Algorithm 6).

View e votes for :math:`\arg\min_k D_e(k)`, :math:`D_e(k) = \sum_j w_{ej} (x_j - \mu_{kj})^2`, with
:math:`w_{ej} \ge 0` how often it drew feature j; the lowest index on equal distances (lines 6 to
11). Distances that differ by no more than rounding are compared once more, exactly, so that neither
the order in which a machine adds nor the block that a row is in ever decides. The squared
differences of a chunk of rows are formed once and multiplied by :math:`W` in one product of
matrices that stays in cache, so nothing of size rows x views x centres is ever held. The rows come
last in it: loops over them hold no branch, and so become vector instructions.

Rows (n_rows, n_features) and centres (n_clusters, n_features) are C-contiguous and both float32 or
both float64; views are of shape (n_views, n_features).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._exact_distances import nearest_exactly
from ensemblage.kernels._small_products import multiply_in_parts

Array = NDArray[Any]
Labels = NDArray[np.int32]
Bounds = NDArray[np.float64]

CHUNK_ELEMENTS = 65536
LANES = 16
"""Rows that the widest vectors hold; a chunk is a multiple of them."""
FEWEST_ROWS, MOST_ROWS = 64, 1024
"""Of a chunk: shorter loops spend their time on starting."""
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
    weights: Array  # (n_views, n_features): the views
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
    weights = np.ascontiguousarray(views, dtype=rows.dtype)
    ballot = Ballot(rows, centers, weights, slack_of(rows, n_features))
    chunk = _chunk(centers, views)
    squares = np.zeros((n_features, n_clusters, chunk), rows.dtype)
    distances = np.zeros((len(views), n_clusters, chunk), rows.dtype)
    factors, products = squares.reshape(n_features, -1), distances.reshape(len(views), -1)
    for start in range(0, len(active), chunk):
        here = active[start : start + chunk]
        # the product always has the same shape, so that a row's sums do not depend on its block
        _squares(rows, centers, here, squares)
        multiply_in_parts(weights, factors, out=products)
        _count(ballot, distances, here, labels, counts, elect)
        if len(bounds):
            _bound(distances, ballot.slack, here, labels, bounds)
    return counts


def _chunk(centers: Array, views: Array) -> int:
    """Rows per matrix product: where it can be, all of it stays in the second-level cache."""
    n_clusters, n_features = centers.shape
    rows = CHUNK_ELEMENTS // (n_clusters * (len(views) + n_features))
    return int(np.clip(rows - rows % LANES, FEWEST_ROWS, MOST_ROWS))


@compiled
def winner(tally: Labels, incumbent: int) -> int:
    """Elect the incumbent while nobody has more votes, else the first with the most."""
    if incumbent < 0 or tally[incumbent] < tally.max():
        return int(np.argmax(tally))
    return incumbent


@compiled
def _squares(rows: Array, centers: Array, active: Array, squares: Array) -> None:
    """Squared differences of the active rows to each centre, (n_features, n_clusters, n_places)."""
    n_clusters, n_features = centers.shape
    column = np.empty(len(active), rows.dtype)
    for j in range(n_features):
        for place in range(len(active)):
            column[place] = rows[active[place], j]
        for k in range(n_clusters):
            line, center = squares[j, k], centers[k, j]
            for place in range(len(active)):
                gap = column[place] - center
                line[place] = gap * gap


@compiled
def _count(
    ballot: Ballot, distances: Array, active: Array, labels: Labels, counts: Labels, elect: bool
) -> None:
    """Let the views vote on the active rows; write the winners, if asked for, and their votes.

    Distances are of shape (n_views, n_clusters, n_places), the active rows first.
    """
    n_views, n_clusters, n_places = distances.shape
    nearest, second = np.empty(n_places, distances.dtype), np.empty(n_places, distances.dtype)
    choice, tallies = np.empty(n_places, np.int32), np.zeros((n_places, n_clusters), np.int32)
    grow = distances.dtype.type(1 + ballot.slack)
    for e in range(n_views):
        _vote(distances[e], nearest, second, choice)
        close = 0
        for place in range(len(active)):
            close += second[place] <= nearest[place] * grow
        for place in range(len(active) if close else 0):
            limit = nearest[place] * grow
            if second[place] <= limit:
                row, column = ballot.rows[active[place]], distances[e, :, place]
                choice[place] = nearest_exactly(
                    row, ballot.centers, ballot.weights[e], column, limit
                )
        for place in range(len(active)):
            tallies[place, choice[place]] += 1
    for place in range(len(active)):
        row = active[place]
        if elect:
            labels[row] = winner(tallies[place], labels[row])
        counts[row] = tallies[place, labels[row]]


@compiled(inline="always")
def _vote(distances: Array, nearest: Array, second: Array, choice: Labels) -> None:
    """Find the nearest centre in a view, how near it is, and how near the next one."""
    n_clusters, n_places = distances.shape
    for place in range(n_places):
        nearest[place], second[place], choice[place] = distances[0, place], np.inf, 0
    for k in range(1, n_clusters):
        line = distances[k]
        # both branches written out, so that the compiler makes vector selects of them
        for place in range(n_places):
            here = line[place]
            closer = here < nearest[place]
            farther = nearest[place] if closer else here
            nearest[place] = here if closer else nearest[place]
            second[place] = min(second[place], farther)
            choice[place] = k if closer else choice[place]


@compiled
def _bound(distances: Array, slack: float, active: Array, labels: Labels, bounds: Bounds) -> None:
    """Write how far centres may move before half of a row's views can have changed their vote."""
    n_views, n_clusters, n_places = distances.shape
    # what the subtraction of many small moves rounds away is smaller by far
    margin = max(slack, LEAST_MARGIN)
    nearest, here = np.empty(n_places, distances.dtype), np.empty(n_places, distances.dtype)
    own, gaps = labels[active], np.empty((n_places, n_views))
    far = distances.dtype.type(np.inf)
    for e in range(n_views):
        nearest[:], here[:] = far, 0
        for k in range(n_clusters):
            line = distances[e, k]
            for place in range(len(active)):
                distance, mine = line[place], own[place] == k
                here[place] = distance if mine else here[place]
                nearest[place] = min(nearest[place], far if mine else distance)
        for place in range(len(active)):
            room = np.sqrt(nearest[place]) * (1 - margin)
            gaps[place, e] = room - np.sqrt(here[place]) * (1 + margin)
    for place in range(len(active)):
        bounds[active[place]] = _ranked(gaps[place], n_views // 2)


@compiled(inline="always")
def _ranked(values: Bounds, rank: int) -> float:
    """Give the value that has so many before it in rising order (Hoare's Find); they are moved."""
    low, high = 0, values.size - 1
    while low < high:
        pivot, i, j = values[rank], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        low, high = i if j < rank else low, j if rank < i else high
    return float(values[rank])
