"""Votes by views that are drawn anew for each row (Inner Ensembles, Algorithm 6, literally).

A row's stream of random numbers starts from its own values and the seed. The views therefore do
not depend on the order of the rows or on the blocks they come in, and equal rows are treated
alike. The generator is SplitMix64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._exact_distances import nearest_exactly
from ensemblage.kernels._view_votes import Ballot, Labels, Votes, slack_of, winner

Array = NDArray[Any]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)


class Draws(NamedTuple):
    """How voters draw their features."""

    n_views: int  # voters per row, the paper's E
    n_draws: int  # features that each voter draws, s = max(1, round(S d))
    replace: bool  # whether a voter may draw a feature twice
    seed: int | np.uint64  # of the pass


def instance_votes(
    rows: Array, centers: Array, draws: Draws, incumbents: Labels | None = None
) -> Votes:
    """Let each row's own views vote for its nearest centre; the most votes win.

    Arrays, and what happens to ties, are as in ``view_votes``.
    """
    labels = np.full(len(rows), -1, np.int32) if incumbents is None else incumbents.copy()
    counts = np.zeros(len(rows), np.int32)
    seeded = draws._replace(seed=np.uint64(draws.seed))
    view = np.zeros((rows.shape[1], 1), rows.dtype)  # the one that is voting
    ballot = Ballot(rows, centers, view, slack_of(rows, draws.n_draws))
    _vote_by_instance(ballot, seeded, labels, counts)
    return Votes(labels, counts)


@compiled
def _vote_by_instance(ballot: Ballot, draws: Draws, labels: Labels, counts: Labels) -> None:
    """Vote on every row, in place."""
    rows, centers = ballot.rows, ballot.centers
    n_clusters, n_features = centers.shape
    squares = np.zeros((n_features, n_clusters), rows.dtype)
    tally = np.zeros(n_clusters, np.int32)
    for i in range(len(rows)):
        for j in range(n_features):
            for k in range(n_clusters):
                gap = rows[i, j] - centers[k, j]
                squares[j, k] = gap * gap
        _draw_and_count(ballot, i, squares, draws, tally)
        labels[i] = winner(tally, labels[i])
        counts[i] = tally[labels[i]]


@compiled
def _draw_and_count(
    ballot: Ballot, index: int, squares: Array, draws: Draws, tally: Labels
) -> None:
    """Count the views of one row that vote for each centre."""
    n_features, n_clusters = squares.shape
    distances, deck = np.zeros(n_clusters, squares.dtype), np.arange(n_features)
    drawn = np.zeros(draws.n_draws, np.intp)
    state = _first_state(ballot.rows[index], draws.seed)
    tally[:] = 0
    for _ in range(draws.n_views):
        distances[:] = 0
        for draw in range(draws.n_draws):
            state += GOLDEN
            share = _uniform(state)
            if draws.replace:
                feature = int(share * n_features)
            else:
                swap = draw + int(share * (n_features - draw))
                feature = deck[swap]
                deck[swap], deck[draw] = deck[draw], feature
            drawn[draw] = feature
            for k in range(n_clusters):
                distances[k] += squares[feature, k]
        tally[_nearest(ballot, index, distances, drawn)] += 1


@compiled
def _nearest(ballot: Ballot, index: int, distances: Array, drawn: Array) -> int:
    """Find the centre that a view of the drawn features votes for."""
    best = np.argmin(distances)
    limit = distances[best] * distances.dtype.type(1 + ballot.slack)
    if np.count_nonzero(distances <= limit) == 1:
        return int(best)
    view = ballot.weights[:, 0]
    view[:] = 0
    for feature in drawn:
        view[feature] += 1
    exact: int = nearest_exactly(ballot.rows[index], ballot.centers, view, distances, limit)
    return exact


@compiled
def _first_state(row: Array, seed: Any) -> Any:
    """Where a row's stream begins."""
    state, bits = seed, np.empty(row.size)
    for j in range(row.size):
        bits[j] = row[j] + 0.0  # turns -0.0 into 0.0: equal rows draw alike
    for word in bits.view(np.uint64):
        state = (state ^ word) * FIRST_FACTOR + GOLDEN
        state ^= state >> S31
    return state


@compiled
def _uniform(state: np.uint64) -> float:
    """SplitMix64's number between zero and one of a state."""
    mixed = (state ^ (state >> S30)) * FIRST_FACTOR
    mixed = (mixed ^ (mixed >> S27)) * SECOND_FACTOR
    mixed ^= mixed >> S31
    share: float = (mixed >> S11) * 2.0**-53
    return share
