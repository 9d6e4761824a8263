"""Compiled kernels of Inner K-means: votes, distances, sums."""

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
"""Upper bound on the non-overlapping terms of an expansion of float64 values."""
CHUNK_ELEMENTS = 65536
"""Elements of a chunk's distances and squares, so that they fit in the L2 cache."""
LANES = 16
"""Rows per SIMD vector; the rows of a chunk are a multiple of it."""
MIN_CHUNK_ROWS = 64
"""Fewest rows of a chunk; shorter loops are dominated by overhead."""
MAX_CHUNK_ROWS = 1024
"""Most rows of a chunk."""
MIN_MARGIN = 1e-11
"""Relative margin of bounds for the rounding of many small shifts."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Increment of the state of SplitMix64."""
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
"""First multiplier of SplitMix64."""
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
"""Second multiplier of SplitMix64."""
S11 = np.uint64(11)
S27 = np.uint64(27)
S30 = np.uint64(30)
S31 = np.uint64(31)
"""Shifts of SplitMix64, in bits."""


class ClusterSums(NamedTuple):
    """Weighted sums of each cluster's rows, in double-double arithmetic."""

    sums: Array  # (n_clusters, n_features), rounded
    sums_lost: Array  # rounding error
    totals: Array  # (n_clusters,): weights, rounded
    totals_lost: Array


def cluster_sums(rows: Array, weights: Array, labels: Array, n_clusters: int) -> ClusterSums:
    """Sum each cluster's rows and weights in double-double arithmetic."""
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
    """Mean of each cluster with a positive total weight, rounded once; zeros for the others."""
    totals = np.where(found.totals > 0, found.totals, 1.0)[:, None]
    totals_lost = np.where(found.totals > 0, found.totals_lost, 0.0)[:, None]
    mean = np.where(found.totals[:, None] > 0, found.sums, 0.0) / totals
    # remainder of the sum after mean * totals
    product, lost = two_product.python(mean, totals)
    rest = (found.sums - product) - lost + found.sums_lost - mean * totals_lost
    return np.asarray(np.where(found.totals[:, None] > 0, mean + rest / totals, 0.0))


def move_row(found: ClusterSums, row: Array, weight: float, label: int, target: int) -> None:
    """Move a row from the sums of its cluster to those of an empty one, in place."""
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
    """Add rows, with their weights as the last column, in place."""
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
    """Return the rounded sum and its rounding error."""
    total = a + b
    taken = total - a
    return total, (a - (total - taken)) + (b - taken)


@compiled
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return the rounded product and its rounding error."""
    product = a * b
    wide = SPLITTER * a
    a_high = wide - (wide - a)
    wide = SPLITTER * b
    b_high = wide - (wide - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def add_exactly(parts: Array, n_parts: int, value: float) -> int:
    """Add a value to the expansion ``parts[:n_parts]``, in place; return its new length."""
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
def _add_square(parts: Array, n_parts: int, weight: float, high: float, low: float) -> int:
    """Add ``weight * (high + low)**2``."""
    n_parts = _add_product(parts, n_parts, weight, high, high)
    if low != 0:
        n_parts = _add_product(parts, n_parts, 2 * weight, high, low)
        n_parts = _add_product(parts, n_parts, weight, low, low)
    return n_parts


@compiled
def compare_distances(row: Array, one: Array, other: Array, view: Array) -> float:
    r"""Return a value with the exact sign of :math:`D_e(one) - D_e(other)`.

    Row, centres and view (how often it drew each feature) are of shape (n_features,).
    """
    parts, n_parts = np.zeros(MAX_PARTS), 0
    for j in range(len(row)):
        if view[j] > 0:
            value = np.float64(row[j])
            high, low = two_sum(value, -np.float64(one[j]))
            other_high, other_low = two_sum(value, -np.float64(other[j]))
            same = high == other_high and low == other_low
            if not (same or (high == -other_high and low == -other_low)):
                weight = np.float64(view[j])
                n_parts = _add_square(parts, n_parts, weight, high, low)
                n_parts = _add_square(parts, n_parts, -weight, other_high, other_low)
    return parts[n_parts - 1] if n_parts else 0.0


@compiled
def nearest_exactly(row: Array, centers: Array, view: Array, distances: Array, limit: float) -> int:
    """Index of the nearest centre among rounded distances up to ``limit``; ties to the lowest."""
    best = -1
    for k in range(len(centers)):
        if distances[k] > limit:
            continue
        if best < 0 or compare_distances(row, centers[k], centers[best], view) < 0:
            best = k
    return best


class VoteInputs(NamedTuple):
    """Arrays and tolerance of a vote."""

    rows: Array  # (n_rows, n_features)
    centers: Array  # (n_clusters, n_features)
    weights: Array  # (n_views, n_features): the views
    slack: float  # distances within this relative difference are compared exactly


def rounding_slack(rows: Array, n_terms: int) -> float:
    """Bound the relative rounding error of two sums of ``n_terms`` non-negative products."""
    return float((n_terms + 8) * np.finfo(rows.dtype).eps)


def view_votes(
    rows: Array, centers: Array, views: Array, incumbents: Codes | None = None
) -> tuple[Codes, Codes]:
    """Assign rows to the centre that most views are nearest to; return labels and vote counts.

    On ties a row keeps its incumbent label; without one, or where it is -1, the lowest index wins.
    """
    labels = np.full(len(rows), -1, np.int32) if incumbents is None else incumbents.copy()
    counts = _run(rows, centers, views, np.arange(len(rows)), labels, np.empty(0))
    return labels, counts


def agreeing_views(rows: Array, centers: Array, views: Array, labels: Codes) -> Codes:
    """Count the views that vote for the given label of each row."""
    return _run(rows, centers, views, np.arange(len(rows)), labels.copy(), np.empty(0), False)


def center_votes(
    rows: Array, view_centers: Array, incumbents: Codes | None = None
) -> tuple[Codes, Codes]:
    """Assign rows as ``view_votes`` does, by views that have centres of their own.

    The centres are of shape (n_views, n_clusters, n_features); all features count equally.
    """
    tallies, every_row = _center_tallies(rows, view_centers), np.arange(len(rows))
    labels, most = tallies.argmax(axis=1).astype(np.int32), tallies.max(axis=1)
    if incumbents is not None:
        keeps = (incumbents >= 0) & (tallies[every_row, incumbents] == most)
        labels[keeps] = incumbents[keeps]
    return labels, most


def agreeing_centers(rows: Array, view_centers: Array, labels: Codes) -> Codes:
    """Count the views with centres of their own that vote for the given label of each row."""
    votes: Codes = _center_tallies(rows, view_centers)[np.arange(len(rows)), labels]
    return votes


def _center_tallies(rows: Array, view_centers: Array) -> Codes:
    """Votes of the views for each centre: (n_rows, n_clusters)."""
    tallies = np.zeros((len(rows), view_centers.shape[1]), np.int32)
    all_features = np.ones((1, rows.shape[1]))
    for centers in view_centers:
        nearest, _ = view_votes(rows, np.ascontiguousarray(centers), all_features)
        tallies[np.arange(len(rows)), nearest] += 1
    return tallies


def bounded_view_votes(
    rows: Array, centers: Array, views: Array, labels: Codes, bounds: Doubles
) -> tuple[Codes, Doubles, int]:
    r"""Vote as ``view_votes`` with incumbents, on the rows whose bound is not positive.

    Returns labels, bounds (total movement of the centres that a label tolerates) and the number of
    rows whose distances were computed. Rows with a positive bound keep their label. The views must
    be those of the earlier passes; -1 means no label yet.

    :math:`\sqrt{D_e}` is a seminorm distance. A new bound is the
    :math:`\lceil E/2 \rceil`-th largest over views of
    :math:`\min_{k \ne own} \sqrt{D_e(k)} - \sqrt{D_e(own)}`, less a margin for rounding: while
    the centres have moved by less, half of the views still vote for the incumbent, which wins
    ties. ``center_drift`` gives the decrease of the bounds.
    """
    labels, bounds = labels.copy(), bounds.copy()
    active = np.flatnonzero((bounds <= 0) | (labels < 0))
    _run(rows, centers, views, active, labels, bounds)
    return labels, bounds, len(active)


def center_drift(before: Array, after: Array, views: Array) -> NDArray[np.float64]:
    r"""Decrease of the bound of a row by a shift of the centres, by the row's own centre.

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
    """Write ``labels`` and ``bounds``; return the number of votes for each label."""
    n_clusters, n_features = centers.shape
    counts = np.zeros(len(rows), np.int32)
    weights = np.ascontiguousarray(views, dtype=rows.dtype)
    inputs = VoteInputs(rows, centers, weights, rounding_slack(rows, n_features))
    # rows per matrix product, so that it fits in the L2 cache where possible
    chunk = CHUNK_ELEMENTS // (n_clusters * (len(views) + n_features))
    chunk = int(np.clip(chunk - chunk % LANES, MIN_CHUNK_ROWS, MAX_CHUNK_ROWS))
    squares = np.zeros((n_features, n_clusters, chunk), rows.dtype)
    distances = np.zeros((len(views), n_clusters, chunk), rows.dtype)
    factors, products = squares.reshape(n_features, -1), distances.reshape(len(views), -1)
    for start in range(0, len(active), chunk):
        here = active[start : start + chunk]
        # the product has a fixed shape, so that a row's sums do not depend on its block
        _squares(rows, centers, here, squares)
        multiply_in_parts(weights, factors, out=products)
        _count(inputs, distances, here, labels, counts, assign)
        if len(bounds):
            _bound(distances, inputs.slack, here, labels, bounds)
    return counts


@compiled
def winner(tally: Codes, incumbent: int) -> int:
    """Return the incumbent if no centre has more votes, else the first with the most."""
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
                difference = column[place] - center
                line[place] = difference * difference


@compiled
def _count(
    inputs: VoteInputs, distances: Array, active: Array, labels: Codes, counts: Codes, assign: bool
) -> None:
    """Count the votes on the active rows; write vote counts and, if ``assign``, labels.

    Distances are of shape (n_views, n_clusters, n_places), the active rows first.
    """
    n_views, n_clusters, n_places = distances.shape
    nearest, second = np.empty(n_places, distances.dtype), np.empty(n_places, distances.dtype)
    choice, tallies = np.empty(n_places, np.int32), np.zeros((n_places, n_clusters), np.int32)
    grow = distances.dtype.type(1 + inputs.slack)
    for e in range(n_views):
        _vote(distances[e], nearest, second, choice)
        close = 0
        for place in range(len(active)):
            close += second[place] <= nearest[place] * grow
        for place in range(len(active) if close else 0):
            limit = nearest[place] * grow
            if second[place] <= limit:
                row, column = inputs.rows[active[place]], distances[e, :, place]
                choice[place] = nearest_exactly(
                    row, inputs.centers, inputs.weights[e], column, limit
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
    """Nearest centre in a view, its distance, and the second smallest distance."""
    n_clusters, n_places = distances.shape
    for place in range(n_places):
        nearest[place], second[place], choice[place] = distances[0, place], np.inf, 0
    for k in range(1, n_clusters):
        line = distances[k]
        # both branches are explicit, so that the compiler vectorises them
        for place in range(n_places):
            here = line[place]
            closer = here < nearest[place]
            farther = nearest[place] if closer else here
            nearest[place] = here if closer else nearest[place]
            second[place] = min(second[place], farther)
            choice[place] = k if closer else choice[place]


@compiled
def _bound(distances: Array, slack: float, active: Array, labels: Codes, bounds: Doubles) -> None:
    """Write how far centres may move before half of a row's views can change their vote."""
    n_views, n_clusters, n_places = distances.shape
    # the rounding of many small subtractions is far smaller
    margin = max(slack, MIN_MARGIN)
    nearest, here = np.empty(n_places, distances.dtype), np.empty(n_places, distances.dtype)
    own, margins = labels[active], np.empty((n_places, n_views))
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
            other = np.sqrt(nearest[place]) * (1 - margin)
            margins[place, e] = other - np.sqrt(here[place]) * (1 + margin)
    for place in range(len(active)):
        bounds[active[place]] = _order_statistic(margins[place], n_views // 2)


@compiled(inline="always")
def _order_statistic(values: Doubles, rank: int) -> float:
    """Value of the given rank by quickselect (Hoare's Find); reorders ``values``."""
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
    """How views draw their features."""

    n_views: int  # views per row, the paper's E
    n_draws: int  # features drawn by each view, s = max(1, round(S d))
    replace: bool  # whether features are drawn with replacement
    seed: int | np.uint64  # of the pass


def instance_votes(
    rows: Array, centers: Array, draws: Draws, incumbents: Codes | None = None
) -> tuple[Codes, Codes]:
    """Assign rows as ``view_votes`` does, with views drawn for each row."""
    labels = np.full(len(rows), -1, np.int32) if incumbents is None else incumbents.copy()
    counts = np.zeros(len(rows), np.int32)
    seeded = draws._replace(seed=np.uint64(draws.seed))
    view = np.zeros((rows.shape[1], 1), rows.dtype)  # the current view
    inputs = VoteInputs(rows, centers, view, rounding_slack(rows, draws.n_draws))
    _vote_by_instance(inputs, seeded, labels, counts)
    return labels, counts


@compiled
def _vote_by_instance(inputs: VoteInputs, draws: Draws, labels: Codes, counts: Codes) -> None:
    """Assign every row, in place."""
    rows, centers = inputs.rows, inputs.centers
    n_clusters, n_features = centers.shape
    squares = np.zeros((n_features, n_clusters), rows.dtype)
    tally = np.zeros(n_clusters, np.int32)
    for i in range(len(rows)):
        for j in range(n_features):
            for k in range(n_clusters):
                difference = rows[i, j] - centers[k, j]
                squares[j, k] = difference * difference
        _draw_and_count(inputs, i, squares, draws, tally)
        labels[i] = winner(tally, labels[i])
        counts[i] = tally[labels[i]]


@compiled
def _draw_and_count(
    inputs: VoteInputs, index: int, squares: Array, draws: Draws, tally: Codes
) -> None:
    """Count the votes of one row's views for each centre."""
    n_features, n_clusters = squares.shape
    distances, order = np.zeros(n_clusters, squares.dtype), np.arange(n_features)
    drawn = np.zeros(draws.n_draws, np.intp)
    state = _first_state(inputs.rows[index], draws.seed)
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
                feature = order[swap]
                order[swap], order[draw] = order[draw], feature
            drawn[draw] = feature
            for k in range(n_clusters):
                distances[k] += squares[feature, k]
        tally[_nearest(inputs, index, distances, drawn)] += 1


@compiled
def _nearest(inputs: VoteInputs, index: int, distances: Array, drawn: Array) -> int:
    """Nearest centre over the drawn features."""
    best = np.argmin(distances)
    limit = distances[best] * distances.dtype.type(1 + inputs.slack)
    if np.count_nonzero(distances <= limit) == 1:
        return int(best)
    view = inputs.weights[:, 0]
    view[:] = 0
    for feature in drawn:
        view[feature] += 1
    exact: int = nearest_exactly(inputs.rows[index], inputs.centers, view, distances, limit)
    return exact


@compiled
def _first_state(row: Array, seed: Any) -> Any:
    """Compute the initial state of a row's random stream."""
    state, bits = seed, np.empty(row.size)
    for j in range(row.size):
        bits[j] = row[j] + 0.0  # turns -0.0 into 0.0, so that equal rows draw the same views
    for word in bits.view(np.uint64):
        state = (state ^ word) * FIRST_FACTOR + GOLDEN
        state ^= state >> S31
    return state


@compiled
def _uniform(state: np.uint64) -> float:
    """Uniform number in [0, 1) from a state of SplitMix64."""
    mixed = (state ^ (state >> S30)) * FIRST_FACTOR
    mixed = (mixed ^ (mixed >> S27)) * SECOND_FACTOR
    mixed ^= mixed >> S31
    share: float = (mixed >> S11) * 2.0**-53
    return share
