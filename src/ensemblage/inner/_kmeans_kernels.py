"""Compiled parts of Inner K-means: votes of views and instances, distances, sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import compiled, multiply_in_parts

Array = NDArray[Any]
Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]

SPLITTER = 2.0**27 + 1
"""Splits a float64 into halves whose products are exact (Veltkamp)."""
MAX_PARTS = 64
"""The exponents of all finite numbers have room for fewer numbers that do not overlap."""
CHUNK_ELEMENTS = 65536
"""Elements of a chunk's distances and squares, so that they stay in the second-level cache."""
LANES = 16
"""Rows that the widest vectors hold; a chunk is a multiple of them."""
MIN_CHUNK_ROWS = 64
"""Shorter loops spend their time on starting."""
MAX_CHUNK_ROWS = 1024
"""Rows of a chunk at most."""
MIN_MARGIN = 1e-11
"""Relative margin of bounds for the rounding of many small moves."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Increment of SplitMix64's states."""
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Its multipliers."""
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
"""Its shifts."""


class ClusterSums(NamedTuple):
    """Weighted sums of each cluster's rows, each as two numbers that add up to it."""

    sums: Array  # (n_clusters, n_features), rounded
    sums_lost: Array  # what the rounding lost
    totals: Array  # (n_clusters,): weights, rounded
    totals_lost: Array


def cluster_sums(rows: Array, weights: Array, labels: Array, n_clusters: int) -> ClusterSums:
    """Add up each cluster's rows and weights to twice the digits of float64."""
    shape = (n_clusters, rows.shape[1] + 1)
    sums, lost = np.zeros(shape), np.zeros(shape)
    _add_rows(rows, weights, labels, sums, lost)
    return ClusterSums(sums[:, :-1], lost[:, :-1], sums[:, -1], lost[:, -1])


def add_cluster_sums(one: ClusterSums, other: ClusterSums) -> ClusterSums:
    """Add the sums of two blocks of rows."""
    sums, sums_lost = _add(one.sums, one.sums_lost, other.sums, other.sums_lost)
    totals, totals_lost = _add(one.totals, one.totals_lost, other.totals, other.totals_lost)
    return ClusterSums(sums, sums_lost, totals, totals_lost)


def cluster_means(found: ClusterSums) -> Array:
    """Mean of each cluster with a positive total, rounded once; others are zeros."""
    totals = np.where(found.totals > 0, found.totals, 1.0)[:, None]
    totals_lost = np.where(found.totals > 0, found.totals_lost, 0.0)[:, None]
    mean = np.where(found.totals[:, None] > 0, found.sums, 0.0) / totals
    # what mean * totals misses of the sum
    product, lost = two_product.python(mean, totals)
    rest = (found.sums - product) - lost + found.sums_lost - mean * totals_lost
    return np.asarray(np.where(found.totals[:, None] > 0, mean + rest / totals, 0.0))


def move_row(found: ClusterSums, row: Array, weight: float, label: int, target: int) -> None:
    """Take a row out of the sums of its cluster, in place, and make it all of an empty one."""
    alone = cluster_sums(row[None], np.array([weight]), np.array([target]), len(found.sums))
    for whole, lost, part, part_lost in ((*found[:2], *alone[:2]), (*found[2:], *alone[2:])):
        left = _add(whole[label], lost[label], -part[target], -part_lost[target])
        whole[label], lost[label] = left
        whole[target], lost[target] = part[target], part_lost[target]


def _add(one: Array, one_lost: Array, other: Array, other_lost: Array) -> tuple[Array, Array]:
    total, lost = two_sum.python(one, other)
    whole: tuple[Array, Array] = two_sum.python(total, lost + (one_lost + other_lost))
    return whole


@compiled
def _add_rows(rows: Array, weights: Array, labels: Array, sums: Array, lost: Array) -> None:
    """Add rows, and their weights as a last column, in place."""
    n_features = rows.shape[1]
    for i in range(len(rows)):
        weight, label = weights[i], labels[i]
        for j in range(n_features):
            value, less = np.float64(rows[i, j]), 0.0
            if weight != 1:
                value, less = two_product(weight, value)
            sums[label, j], rounded = two_sum(sums[label, j], value)
            lost[label, j] += rounded + less
        sums[label, n_features], rounded = two_sum(sums[label, n_features], weight)
        lost[label, n_features] += rounded


@compiled
def own_distances(rows: Array, centers: Array, labels: Array) -> Any:
    """Squared Euclidean distance of each row to the centre of its own cluster, in float64."""
    distances = np.zeros(len(rows))
    for i in range(len(rows)):
        total = 0.0
        for j in range(rows.shape[1]):
            difference = np.float64(rows[i, j]) - np.float64(centers[labels[i], j])
            total += difference * difference
        distances[i] = total
    return distances


@compiled
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Give the rounded sum, and what the rounding lost."""
    total = a + b
    taken = total - a
    return total, (a - (total - taken)) + (b - taken)


@compiled
def two_product(a: float, b: float) -> tuple[float, float]:
    """Give the rounded product, and what the rounding lost."""
    product = a * b
    wide = SPLITTER * a
    a_high = wide - (wide - a)
    wide = SPLITTER * b
    b_high = wide - (wide - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def add_exactly(parts: Array, n_parts: int, value: float) -> int:
    """Add a number to the expansion ``parts[:n_parts]``, in place; give its new length."""
    kept = 0
    for i in range(n_parts):
        value, lost = two_sum(value, parts[i])
        if lost != 0:
            parts[kept] = lost
            kept += 1
    if value != 0:
        parts[kept] = value
        kept += 1
    return kept


@compiled
def _add_product(parts: Array, n_parts: int, factor: float, a: float, b: float) -> int:
    """Add ``factor * a * b``."""
    product, lost = two_product(a, b)
    for piece in (product, lost):
        high, low = two_product(factor, piece)
        n_parts = add_exactly(parts, n_parts, high)
        n_parts = add_exactly(parts, n_parts, low)
    return n_parts


@compiled
def _add_square(parts: Array, n_parts: int, weight: float, gap: float, rest: float) -> int:
    """Add ``weight * (gap + rest)**2``."""
    n_parts = _add_product(parts, n_parts, weight, gap, gap)
    if rest != 0:
        n_parts = _add_product(parts, n_parts, 2 * weight, gap, rest)
        n_parts = _add_product(parts, n_parts, weight, rest, rest)
    return n_parts


@compiled
def compare_distances(row: Array, one: Array, other: Array, view: Array) -> float:
    r"""Give a number with the sign of :math:`D_e(one) - D_e(other)`, zero only if they are equal.

    Row and centres are of shape (n_features,), as is the view: how often it drew each feature.
    """
    parts, n_parts = np.zeros(MAX_PARTS), 0
    for j in range(len(row)):
        if view[j] > 0:
            value = np.float64(row[j])
            gap, rest = two_sum(value, -np.float64(one[j]))
            other_gap, other_rest = two_sum(value, -np.float64(other[j]))
            same = gap == other_gap and rest == other_rest
            if not (same or (gap == -other_gap and rest == -other_rest)):
                weight = np.float64(view[j])
                n_parts = _add_square(parts, n_parts, weight, gap, rest)
                n_parts = _add_square(parts, n_parts, -weight, other_gap, other_rest)
    return parts[n_parts - 1] if n_parts else 0.0


@compiled
def nearest_exactly(row: Array, centers: Array, view: Array, distances: Array, limit: float) -> int:
    """Find the nearest of the centres whose rounded distance is within the limit, lowest first."""
    best = -1
    for k in range(len(centers)):
        if distances[k] > limit:
            continue
        if best < 0 or compare_distances(row, centers[k], centers[best], view) < 0:
            best = k
    return best


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
    rows: Array, centers: Array, views: Array, incumbents: Codes | None = None
) -> tuple[Codes, Codes]:
    """Let each view vote for its nearest centre; the most votes win: labels and their votes.

    When votes tie, the incumbent keeps the row; without one, or where it is -1, the lowest index
    wins.
    """
    labels = np.full(len(rows), -1, np.int32) if incumbents is None else incumbents.copy()
    counts = _run(rows, centers, views, np.arange(len(rows)), labels, np.empty(0))
    return labels, counts


def agreeing_views(rows: Array, centers: Array, views: Array, labels: Codes) -> Codes:
    """Count the views that vote for a given label of each row."""
    return _run(rows, centers, views, np.arange(len(rows)), labels.copy(), np.empty(0), False)


def bounded_view_votes(
    rows: Array, centers: Array, views: Array, labels: Codes, bounds: Doubles
) -> tuple[Codes, Doubles, int]:
    r"""Vote as ``view_votes`` with incumbents, on the rows whose bound has run out.

    Gives labels, bounds (how far centres may move, in total, before a row must be looked at again),
    and the number of rows whose distances were computed. Rows with a positive bound keep their
    label. The views must be those of the earlier passes; a label of -1 is none yet.

    :math:`\sqrt{D_e}` is a seminorm distance. A fresh bound is the
    :math:`\lceil E/2 \rceil`-th largest over views of
    :math:`\min_{k \ne own} \sqrt{D_e(k)} - \sqrt{D_e(own)}`, less a margin for rounding: while
    the centres have moved by less, half of the views still vote for the incumbent, and a tie
    is the incumbent's. See ``center_drift`` for what a move costs.
    """
    labels, bounds = labels.copy(), bounds.copy()
    active = np.flatnonzero((bounds <= 0) | (labels < 0))
    _run(rows, centers, views, active, labels, bounds)
    return labels, bounds, len(active)


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
    labels: Codes,
    bounds: Doubles,
    assign: bool = True,
) -> Codes:
    """Vote into ``labels`` and ``bounds``; give the number of votes behind each label."""
    n_clusters, n_features = centers.shape
    counts = np.zeros(len(rows), np.int32)
    weights = np.ascontiguousarray(views, dtype=rows.dtype)
    ballot = Ballot(rows, centers, weights, slack_of(rows, n_features))
    # rows per matrix product: where it can be, all of it stays in the second-level cache
    chunk = CHUNK_ELEMENTS // (n_clusters * (len(views) + n_features))
    chunk = int(np.clip(chunk - chunk % LANES, MIN_CHUNK_ROWS, MAX_CHUNK_ROWS))
    squares = np.zeros((n_features, n_clusters, chunk), rows.dtype)
    distances = np.zeros((len(views), n_clusters, chunk), rows.dtype)
    factors, products = squares.reshape(n_features, -1), distances.reshape(len(views), -1)
    for start in range(0, len(active), chunk):
        here = active[start : start + chunk]
        # the product always has the same shape, so that a row's sums do not depend on its block
        _squares(rows, centers, here, squares)
        multiply_in_parts(weights, factors, out=products)
        _count(ballot, distances, here, labels, counts, assign)
        if len(bounds):
            _bound(distances, ballot.slack, here, labels, bounds)
    return counts


@compiled
def winner(tally: Codes, incumbent: int) -> int:
    """Keep the incumbent while no centre has more votes, else take the first with the most."""
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
    ballot: Ballot, distances: Array, active: Array, labels: Codes, counts: Codes, assign: bool
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
        if assign:
            labels[row] = winner(tallies[place], labels[row])
        counts[row] = tallies[place, labels[row]]


@compiled(inline="always")
def _vote(distances: Array, nearest: Array, second: Array, choice: Codes) -> None:
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
def _bound(distances: Array, slack: float, active: Array, labels: Codes, bounds: Doubles) -> None:
    """Write how far centres may move before half of a row's views can have changed their vote."""
    n_views, n_clusters, n_places = distances.shape
    # what the subtraction of many small moves rounds away is smaller by far
    margin = max(slack, MIN_MARGIN)
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
def _ranked(values: Doubles, rank: int) -> float:
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


class Draws(NamedTuple):
    """How voters draw their features."""

    n_views: int  # voters per row, the paper's E
    n_draws: int  # features that each voter draws, s = max(1, round(S d))
    replace: bool  # whether a voter may draw a feature twice
    seed: int | np.uint64  # of the pass


def instance_votes(
    rows: Array, centers: Array, draws: Draws, incumbents: Codes | None = None
) -> tuple[Codes, Codes]:
    """Let each row's own views vote for its nearest centre; the most votes win.

    Arrays, and what happens to ties, are as in ``view_votes``.
    """
    labels = np.full(len(rows), -1, np.int32) if incumbents is None else incumbents.copy()
    counts = np.zeros(len(rows), np.int32)
    seeded = draws._replace(seed=np.uint64(draws.seed))
    view = np.zeros((rows.shape[1], 1), rows.dtype)  # the one that is voting
    ballot = Ballot(rows, centers, view, slack_of(rows, draws.n_draws))
    _vote_by_instance(ballot, seeded, labels, counts)
    return labels, counts


@compiled
def _vote_by_instance(ballot: Ballot, draws: Draws, labels: Codes, counts: Codes) -> None:
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
def _draw_and_count(ballot: Ballot, index: int, squares: Array, draws: Draws, tally: Codes) -> None:
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
