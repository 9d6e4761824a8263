"""Votes by views that are drawn anew for each row (Inner Ensembles, Algorithm 6, literally)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._view_votes import Votes

Array = NDArray[Any]


def instance_votes(
    rows: Array,
    centers: Array,
    n_views: int,
    n_draws: int,
    replace: bool,
    seed: int,
    incumbents: NDArray[np.int32] | None = None,
) -> Votes:
    """Let each row's own views vote for its nearest centre; the most votes win.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        C-contiguous float32 or float64.
    centers : ndarray of shape (n_clusters, n_features)
        Same dtype, C-contiguous.
    n_views : int
        Views per row.
    n_draws : int
        Features per view.
    replace : bool
        Whether a view may draw a feature more than once.
    seed : int
        Seed of the pass.
    incumbents : ndarray of shape (n_rows,), default=None
        Each row's present centre, which keeps the row when votes tie.

    Returns
    -------
    Votes
        Labels and the number of votes behind them.

    Notes
    -----
    A row's stream of random numbers starts from its own values and the seed. The views
    therefore do not depend on the order of the rows or on the blocks they come in, and equal
    rows are treated alike. The generator is SplitMix64.
    """
    labels = np.full(len(rows), -1, np.int32) if incumbents is None else incumbents.copy()
    counts = np.zeros(len(rows), np.int32)
    _vote_by_instance(
        rows, centers, n_views, n_draws, replace, np.uint64(seed), labels, counts
    )  # fmt: skip
    return Votes(labels, counts)


@compiled
def _vote_by_instance(  # noqa: C901  one loop nest; compiled kernels cannot call each other
    rows: Array,
    centers: Array,
    n_views: int,
    n_draws: int,
    replace: bool,
    seed: Any,
    labels: Array,
    counts: Array,
) -> None:
    """Vote on every row, in place."""
    n_clusters, n_features = centers.shape
    squares = np.zeros((n_features, n_clusters), rows.dtype)
    distances = np.zeros(n_clusters, rows.dtype)
    tally = np.zeros(n_clusters, np.int32)
    deck = np.arange(n_features)
    # as for shared views: no view may decide on a difference that is only rounding
    grain = rows.dtype.type(16 * (1.2e-7 if rows.itemsize == 4 else 2.3e-16))
    bits = np.zeros(n_features)
    golden, one, two = (
        np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB),
    )  # fmt: skip
    s27, s30, s31, s11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
    for i in range(len(rows)):
        for j in range(n_features):
            bits[j] = rows[i, j] + 0.0  # turns -0.0 into 0.0: equal rows draw alike
            deck[j] = j
            for k in range(n_clusters):
                difference = rows[i, j] - centers[k, j]
                close = abs(difference) <= grain * abs(rows[i, j])
                squares[j, k] = 0 if close else difference * difference
        state = seed
        for word in bits.view(np.uint64):
            state = (state ^ word) * one + golden
            state ^= state >> s31
        tally[:] = 0
        for _ in range(n_views):
            distances[:] = 0
            for draw in range(n_draws):
                state += golden
                mixed = (state ^ (state >> s30)) * one
                mixed = (mixed ^ (mixed >> s27)) * two
                mixed ^= mixed >> s31
                share = (mixed >> s11) * 2.0**-53
                if replace:
                    feature = int(share * n_features)
                else:
                    swap = draw + int(share * (n_features - draw))
                    feature = deck[swap]
                    deck[swap] = deck[draw]
                    deck[draw] = feature
                for k in range(n_clusters):
                    distances[k] += squares[feature, k]
            tally[np.argmin(distances)] += 1
        winner = labels[i]
        if winner < 0 or tally[winner] < tally.max():
            winner = np.argmax(tally)
        labels[i] = winner
        counts[i] = tally[winner]
