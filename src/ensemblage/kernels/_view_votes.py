"""Rows assigned to centres by the votes of many feature views (Inner Ensembles, Algorithm 6)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

Array = NDArray[Any]

CHUNK_ELEMENTS = 65536


class Votes(NamedTuple):
    """The outcome of one assignment pass.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,), int32
        The centre with the most votes.
    counts : ndarray of shape (n_rows,), int32
        How many views voted for it.
    """

    labels: NDArray[np.int32]
    counts: NDArray[np.int32]


class BoundedVotes(NamedTuple):
    """The outcome of one assignment pass that skips rows which cannot change.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,), int32
        The centre with the most votes.
    bounds : ndarray of shape (n_rows,), float64
        How far centres may move, in total, before the row must be looked at again.
    n_evaluated : int
        Rows whose distances were computed.
    """

    labels: NDArray[np.int32]
    bounds: NDArray[np.float64]
    n_evaluated: int


def view_votes(
    rows: Array, centers: Array, views: Array, incumbents: NDArray[np.int32] | None = None
) -> Votes:
    r"""Let each view vote for its nearest centre; the most votes win.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        C-contiguous float32 or float64.
    centers : ndarray of shape (n_clusters, n_features)
        Same dtype, C-contiguous.
    views : ndarray of shape (n_views, n_features)
        Feature weights, :math:`w_{ej} \ge 0`: how often view e drew feature j.
    incumbents : ndarray of shape (n_rows,), default=None
        Each row's present centre, which keeps the row when votes tie. Without one, or where
        it is -1, the lowest index wins a tie.

    Returns
    -------
    Votes
        Labels and the number of votes behind them.

    Notes
    -----
    View e votes for :math:`\arg\min_k \sum_j w_{ej} (x_j - \mu_{kj})^2`, the lowest index on
    equal distances (Algorithm 6, lines 6-11). Values and distances that differ by no more
    than rounding count as equal, so that the order in which a machine adds does not decide,
    and a view of constant features votes for the lowest index. The squared differences of a
    chunk of rows are formed once and multiplied by :math:`W^\top` in one matrix product that
    stays in cache, so nothing of size rows x views x centres is ever held.
    """
    labels = np.full(len(rows), -1, np.int32) if incumbents is None else incumbents.copy()
    counts = _run(rows, centers, views, np.arange(len(rows)), labels, np.empty(0))
    return Votes(labels, counts)


def agreeing_views(
    rows: Array, centers: Array, views: Array, labels: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Count the views that vote for a given label of each row.

    Parameters
    ----------
    rows, centers, views : ndarray
        As for :func:`view_votes`.
    labels : ndarray of shape (n_rows,), int32
        The labels asked about.

    Returns
    -------
    ndarray of shape (n_rows,), int32
        Votes for these labels, whoever won.
    """
    return _run(rows, centers, views, np.arange(len(rows)), labels.copy(), np.empty(0), False)


def bounded_view_votes(
    rows: Array,
    centers: Array,
    views: Array,
    labels: NDArray[np.int32],
    bounds: NDArray[np.float64],
) -> BoundedVotes:
    r"""Vote as :func:`view_votes` with incumbents, on the rows whose bound has run out.

    Parameters
    ----------
    rows, centers, views : ndarray
        As for :func:`view_votes`; the views must be those of the earlier passes.
    labels : ndarray of shape (n_rows,), int32
        Present centres, -1 where a row has none yet.
    bounds : ndarray of shape (n_rows,)
        What is left of each row's bound; rows with a positive one keep their label.

    Returns
    -------
    BoundedVotes
        Labels, fresh bounds for the rows evaluated, and their number.

    Notes
    -----
    :math:`\sqrt{D_e}` is a seminorm distance. A fresh bound is the
    :math:`\lceil E/2 \rceil`-th largest over views of
    :math:`\min_{k \ne own} \sqrt{D_e(k)} - \sqrt{D_e(own)}`, less a margin for rounding: while
    the centres have moved by less, half of the views still vote for the incumbent, and a tie
    is the incumbent's. See :func:`center_drift` for what a move costs.
    """
    labels, bounds = labels.copy(), bounds.copy()
    active = np.flatnonzero((bounds <= 0) | (labels < 0))
    _run(rows, centers, views, active, labels, bounds)
    return BoundedVotes(labels, bounds, len(active))


def center_drift(before: Array, after: Array, views: Array) -> NDArray[np.float64]:
    r"""Give what a move of the centres costs the bound of a row, by its own centre.

    Parameters
    ----------
    before, after : ndarray of shape (n_clusters, n_features)
        Centres of two passes.
    views : ndarray of shape (n_views, n_features)
        Feature weights.

    Returns
    -------
    ndarray of shape (n_clusters,)
        :math:`\max_e (\delta_{own,e} + \max_{k \ne own} \delta_{ke})`, where
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
    labels: Array,
    bounds: Array,
    elect: bool = True,
) -> NDArray[np.int32]:
    """Vote into ``labels`` and ``bounds``; give the number of votes behind each label."""
    n_clusters, n_features = centers.shape
    counts = np.zeros(len(rows), np.int32)
    weights = np.ascontiguousarray(views.T, dtype=rows.dtype)
    chunk = _chunk(centers, views)
    squares = np.zeros((chunk * n_clusters, n_features), rows.dtype)
    distances = np.zeros((chunk * n_clusters, len(views)), rows.dtype)
    for start in range(0, len(active), chunk):
        here = active[start : start + chunk]
        # the product always has the same shape, so that a row's sums do not depend on its block
        _squares(rows, centers, here, squares)
        np.matmul(squares, weights, out=distances)
        _count(distances, n_clusters, n_features, here, labels, counts, elect)
        if len(bounds):
            _bound(rows, distances, weights.max(), here, labels, n_clusters, bounds)
    return counts


def _chunk(centers: Array, views: Array) -> int:
    """Rows per matrix product: squares and distances together stay in the second-level cache."""
    n_clusters, n_features = centers.shape
    return int(np.clip(CHUNK_ELEMENTS // (n_clusters * (len(views) + n_features)), 1, 1024))


@compiled
def _squares(rows: Array, centers: Array, active: Array, squares: Array) -> None:
    """Squared differences of the active rows to each centre, one line per row and centre."""
    n_clusters, n_features = centers.shape
    grain = rows.dtype.type(16 * (1.2e-7 if rows.itemsize == 4 else 2.3e-16))
    for place in range(len(active)):
        row = rows[active[place]]
        for k in range(n_clusters):
            for j in range(n_features):
                difference = row[j] - centers[k, j]
                # a mean of equal values is off by rounding: no view may decide on that
                close = abs(difference) <= grain * abs(row[j])
                squares[place * n_clusters + k, j] = 0 if close else difference * difference


@compiled
def _count(
    distances: Array,
    n_clusters: int,
    n_features: int,
    active: Array,
    labels: Array,
    counts: Array,
    elect: bool,
) -> None:
    """Let the views vote on the active rows; write the winners, if asked for, and their votes."""
    n_views = distances.shape[1]
    nearest = np.zeros(n_views, distances.dtype)
    choice = np.zeros(n_views, np.int32)
    tally = np.zeros(n_clusters, np.int32)
    # rounding of a sum, and of centres next to a row, which its difference magnifies
    narrow = distances.itemsize == 4
    slack = max((n_features + 8) * 1.2e-7, 5e-6) if narrow else max(n_features * 2.3e-16, 5e-11)
    shrink = distances.dtype.type(1 - 2 * slack)
    for place in range(len(active)):
        first = place * n_clusters
        for e in range(n_views):
            nearest[e] = distances[first, e] * shrink
            choice[e] = 0
        for k in range(1, n_clusters):
            # both branches written out, so that the compiler makes vector selects of them
            for e in range(n_views):
                closer = distances[first + k, e] < nearest[e]
                nearest[e] = distances[first + k, e] * shrink if closer else nearest[e]
                choice[e] = k if closer else choice[e]
        tally[:] = 0
        for e in range(n_views):
            tally[choice[e]] += 1
        row = active[place]
        if elect and (labels[row] < 0 or tally[labels[row]] < tally.max()):
            labels[row] = np.argmax(tally)
        counts[row] = tally[labels[row]]


@compiled
def _bound(
    rows: Array,
    distances: Array,
    heaviest: float,
    active: Array,
    labels: Array,
    n_clusters: int,
    bounds: Array,
) -> None:
    """Write how far centres may move before half of a row's views can have changed their vote."""
    n_features, n_views = rows.shape[1], distances.shape[1]
    narrow = rows.itemsize == 4
    epsilon = 1.2e-7 if narrow else 2.3e-16
    slack = max((n_features + 8) * 1.2e-7, 5e-6) if narrow else max(n_features * 2.3e-16, 5e-11)
    nearest = np.zeros(n_views, rows.dtype)
    gaps = np.zeros(n_views)
    for place in range(len(active)):
        first, own = place * n_clusters, labels[active[place]]
        nearest[:] = np.inf
        for k in range(n_clusters):
            for e in range(n_views):
                other = np.inf if k == own else distances[first + k, e]
                nearest[e] = min(nearest[e], other)
        for e in range(n_views):
            here = np.sqrt(distances[first + own, e])
            gaps[e] = np.sqrt(nearest[e]) * (1 - slack) - here * (1 + slack)
        row = rows[active[place]]
        grain = 64 * epsilon * np.sqrt(heaviest * np.sum(row * row))
        bounds[active[place]] = np.sort(gaps)[n_views // 2] - grain
