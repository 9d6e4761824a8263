"""Passes of Inner K-means over blocks of rows: initial centres, votes, updates, labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import draw_seeds
from ensemblage.blocks import Block, BlockSource, MemoryBlocks
from ensemblage.inner._inner_ensemble import draw_feature_views, sample_views
from ensemblage.inner._kmeans_kernels import (
    ClusterSums,
    Draws,
    add_cluster_sums,
    agreeing_centers,
    agreeing_views,
    bounded_view_votes,
    center_drift,
    center_votes,
    cluster_means,
    cluster_sums,
    instance_votes,
    move_row,
    own_distances,
    view_votes,
)

Array = NDArray[Any]
PassViews: TypeAlias = Array | Draws
"""Views of a pass: shared by all rows, (n_views, n_features), or drawn per row by ``Draws``; or the
centres of each view, (n_views, n_clusters, n_features)."""
ViewsOfPartition: TypeAlias = Callable[[Array, bool], Array]
"""Views that depend on the centres, and on whether rows have no label yet."""

START_ROWS = 100_000
"""Size of the random sample of rows on which k-means++ runs."""
ROWS_PER_CLUSTER = 100
"""Rows of that sample per cluster, where that is more."""
MIN_DIFFICULTY = 0.1
"""Added to the difficulty of each item in weighted views, so that no weight is near zero."""
LARGEST_SCALE = 10
"""Views of a sampler are scaled if their largest weight is beyond two to this power."""
ROW_LABEL = np.dtype([("label", np.int32), ("vote", np.float64)])
"""Result per row: its cluster, and the fraction of the views that vote for it."""
ROW_STATE = np.dtype([("label", np.int32), ("bound", np.float64)])
"""State per row between passes: its cluster, and the centre movement its label tolerates."""


def start_centers(
    source: BlockSource, n_clusters: int, init: Any, X: Array | None, seed: int
) -> Array:
    """Compute initial centres by ``init``; a callable needs the rows in memory."""
    n_features = source.shape[1]
    if isinstance(init, str):
        draw = distant_rows if init == "k-means++" else random_rows
        centers = draw(source, n_clusters, np.random.default_rng(seed))
    elif callable(init):
        if X is None:
            raise ValueError(
                f"init={init!r} needs rows in memory: for rows on disk or on a Dask cluster, use "
                "'k-means++', 'random' or an array of centres."
            )
        centers = init(X, n_clusters, random_state=np.random.RandomState(seed))
    else:
        centers = init
    centers = np.array(centers, dtype=source.dtype, order="C")
    if centers.shape != (n_clusters, n_features) or not np.isfinite(centers).all():
        raise ValueError(
            f"init gives centres of shape {centers.shape}, expected finite values of shape "
            f"(n_clusters, n_features) = {(n_clusters, n_features)}."
        )
    return centers


def random_rows(source: BlockSource, n_clusters: int, rng: np.random.Generator) -> Array:
    """Draw rows without replacement, with probability proportional to their weights."""
    weights = source.weights
    if np.count_nonzero(weights) < n_clusters:
        weights = np.ones(len(weights))  # too few rows with a positive weight
    share = weights / weights.sum()
    chosen = rng.choice(len(weights), size=n_clusters, replace=False, p=share)
    found = np.concatenate(list(source.map(_pick, np.sort(chosen))))
    return found[np.argsort(np.argsort(chosen))]


def distant_rows(source: BlockSource, n_clusters: int, rng: np.random.Generator) -> Array:
    r"""Choose initial centres by greedy k-means++.

    Each centre is the best of :math:`2 + \lfloor \log K \rfloor` rows drawn with probability
    proportional to weight times squared distance to the nearest centre so far; the best reduces
    the weighted sum of these distances most. Each block proposes one row per draw, and the blocks'
    sums choose among these, so one pass serves all draws. With many rows, a random sample is
    drawn first: two passes over all rows for each centre took a third of a fit.
    """
    n_trials = 2 + int(np.log(n_clusters))
    n_rows, weights = max(START_ROWS, ROWS_PER_CLUSTER * n_clusters), source.weights
    n_eligible = np.count_nonzero(weights)
    if n_eligible > n_rows:
        chosen = np.sort(rng.choice(n_eligible, n_rows, replace=False))
        if n_eligible < len(weights):
            chosen = np.flatnonzero(weights)[chosen]
        rows = np.concatenate(list(source.map(_pick, chosen)))
        source = MemoryBlocks(rows, np.ascontiguousarray(weights[chosen]))
    centers = _draw(source, _weighted_candidates, rng, 1)
    while len(centers) < n_clusters:
        step = centers[-1:], len(centers) == 1
        candidates = _draw(source, _distant_candidates, rng, n_trials, *step)
        costs = source.reduce(_candidate_costs, candidates)
        centers = np.concatenate([centers, candidates[[int(np.argmin(costs[0]))]]])
    return centers


def _draw(
    source: BlockSource, kernel: Any, rng: np.random.Generator, n_draws: int, *state: Any
) -> Array:
    """Draw rows: the kernel returns one row per block and draw, and the block's total weight."""
    inside, between = rng.random(n_draws), rng.random(n_draws)
    run = source.map_with_state if state else source.map
    found = list(run(kernel, inside, *state))
    totals = np.cumsum([total for total, _ in found])
    chosen = np.searchsorted(totals, between * totals[-1], side="right")
    chosen = np.minimum(chosen, len(found) - 1)
    return np.stack([found[block][1][draw] for draw, block in enumerate(chosen)])


def _pick(block: Block, indices: Array) -> Array:
    """Rows of the block by their sorted global indices."""
    first, last = np.searchsorted(indices, [block.start, block.start + len(block.rows)])
    return np.asarray(block.rows[indices[first:last] - block.start])


def _weighted_candidates(block: Block, inside: Array) -> tuple[float, Array]:
    return _weighted_rows(block.rows, block.weights, inside)


def _distant_candidates(
    block: Block, inside: Array, latest: Array, fresh: bool
) -> tuple[Array, tuple[float, Array]]:
    nearest = own_distances(block.rows, latest, np.zeros(len(block.rows), np.int32))
    if not fresh:
        nearest = np.minimum(nearest, block.state)
    return nearest, _weighted_rows(block.rows, nearest * block.weights, inside)


def _candidate_costs(block: Block, candidates: Array) -> tuple[Array]:
    costs = np.empty(len(candidates))
    for index in range(len(candidates)):
        candidate = candidates[index : index + 1]
        distances = own_distances(block.rows, candidate, np.zeros(len(block.rows), np.int32))
        costs[index] = np.minimum(distances, block.state) @ block.weights
    return (costs,)


def _weighted_rows(rows: Array, weights: Array, inside: Array) -> tuple[float, Array]:
    """Sum of the weights, and rows drawn with probability proportional to them."""
    cumulated = np.cumsum(weights)
    places = np.searchsorted(cumulated, inside * cumulated[-1], side="right")
    return float(cumulated[-1]), rows[np.minimum(places, len(rows) - 1)]


class PassStatistics(NamedTuple):
    """Sums over the rows in one pass."""

    sums: ClusterSums  # weighted sums of each cluster's rows
    n_changed: int  # rows that changed cluster
    n_evaluated: int  # rows whose distances were computed


class Run(NamedTuple):
    """Result of one initialisation."""

    centers: Array
    n_iter: int  # number of passes
    n_evaluated: int  # rows evaluated, summed over passes
    converged: bool  # whether the last loop converged before max_iter


def assign_pass(
    block: Block, centers: Array, views: PassViews, fresh: bool
) -> tuple[Array, PassStatistics]:
    """Assign every row of a block by vote; on ties it keeps its label, unless ``fresh``."""
    before = _state(block, fresh)
    labels, _ = _votes(block.rows, centers, views, before["label"])
    return _finish(block, before, labels, np.zeros(len(labels)), len(labels), len(centers))


def _votes(
    rows: Array, centers: Array, views: PassViews, incumbents: Array | None = None
) -> tuple[Array, Array]:
    if isinstance(views, Draws):
        return instance_votes(rows, centers, views, incumbents)
    if views.ndim == 3:
        return center_votes(rows, views, incumbents)
    return view_votes(rows, centers, views, incumbents)


def bounded_pass(
    block: Block, centers: Array, views: Array, fresh: bool, drift: Array
) -> tuple[Array, PassStatistics]:
    """Assign as :func:`assign_pass`, skipping rows whose label cannot change.

    The views must be the same in every pass of a run; ``drift`` is the decrease of the bounds by
    the last update of the centres, by cluster.
    """
    before = _state(block, fresh)
    bounds = before["bound"] - drift[before["label"]]
    labels, bounds, n_evaluated = bounded_view_votes(
        block.rows, centers, views, before["label"], bounds
    )
    return _finish(block, before, labels, bounds, n_evaluated, len(centers))


def _state(block: Block, fresh: bool) -> Array:
    if fresh or block.state is None:
        return np.full(len(block.rows), np.array((-1, 0.0), ROW_STATE))
    return np.asarray(block.state)


def _finish(
    block: Block, before: Array, labels: Array, bounds: Array, n_evaluated: int, n_clusters: int
) -> tuple[Array, PassStatistics]:
    after = np.empty(len(labels), ROW_STATE)
    after["label"], after["bound"] = labels, bounds
    sums = cluster_sums(block.rows, block.weights, labels, n_clusters)
    n_changed = int(np.count_nonzero(labels != before["label"]))
    return after, PassStatistics(sums, n_changed, n_evaluated)


def add_statistics(one: PassStatistics, other: PassStatistics) -> PassStatistics:
    """Add the statistics of two blocks."""
    sums = add_cluster_sums(one.sums, other.sums)
    evaluated = one.n_evaluated + other.n_evaluated
    return PassStatistics(sums, one.n_changed + other.n_changed, evaluated)


def farthest_rows(block: Block, centers: Array, n_rows: int) -> tuple[Array, Array, Array, Array]:
    """Find at most ``n_rows`` rows of positive weight farthest from their own centres.

    Returns distances, rows, labels and weights, the farthest first.
    """
    labels = _state(block, fresh=False)["label"]
    distances = own_distances(block.rows, centers, labels)
    distances[block.weights <= 0] = 0.0
    chosen = np.argsort(-distances, kind="stable")[:n_rows]
    return distances[chosen], block.rows[chosen], labels[chosen], block.weights[chosen]


def _next_centers(source: BlockSource, centers: Array, statistics: PassStatistics) -> Array:
    """Means of the clusters; an empty cluster is moved to the row farthest from its own centre.

    Only rows whose cluster has further rows qualify.
    """
    sums = ClusterSums(*(field.copy() for field in statistics.sums))
    empty = np.flatnonzero(sums.totals <= 0)
    if len(empty):
        # up to one row per other cluster may be its only one and does not qualify
        n_rows = len(empty) + len(centers)
        parts = zip(*source.map(farthest_rows, centers, n_rows), strict=True)
        distances, rows, labels, weights = (np.concatenate(part) for part in parts)
        candidates = iter(np.argsort(-distances, kind="stable"))
        for cluster in empty.tolist():
            for row in candidates:
                if distances[row] > 0 and sums.totals[labels[row]] > weights[row]:
                    move_row(sums, rows[row], weights[row], labels[row], cluster)
                    break
    filled = sums.totals[:, None] > 0
    return np.where(filled, cluster_means(sums), centers).astype(centers.dtype)


def passes(
    source: BlockSource, centers: Array, views_of: Callable[[int], Any], prune: bool
) -> Iterator[tuple[Array, float, int, int]]:
    """Iterate assignment and update indefinitely (Algorithm 6, lines 4 to 14).

    ``views_of`` maps the index of a pass to its views, which may be a function of the partition so
    far (``ViewsOfPartition``); ``prune`` skips rows whose label cannot
    change, which is exact if all passes share the same views. Each pass yields the centres, the
    sum of their squared shifts, and the numbers of rows that changed cluster and were evaluated.
    """
    drift = np.zeros(len(centers))
    for index in count():
        views: Any = views_of(index)
        kernel, state = (bounded_pass, (drift,)) if prune else (assign_pass, ())
        if index == 0:
            source.reset()
        views = settle_views(views, centers, index == 0)
        call = kernel, centers, views, index == 0, *state
        statistics = source.reduce_with_state(*call, combine=add_statistics)
        moved = _next_centers(source, centers, statistics)
        if prune:
            drift = center_drift(centers, moved, views)
        shift = float(np.square(moved.astype(np.float64) - centers).sum())
        centers = moved
        yield centers, shift, statistics.n_changed, statistics.n_evaluated


def run_until_converged(
    source: BlockSource,
    centers: Array,
    views_of: Callable[[int], Any],
    prune: bool,
    max_iter: int,
    tol: float,
    step: Callable[[], bool],
) -> Run:
    """Iterate passes to convergence or ``max_iter`` (Algorithm 6, line 15).

    Converged: no row changes cluster, or the sum of the squared shifts of the centres is at most
    ``tol``. ``step`` is called after each pass, and returns True to stop.
    """
    total = 0
    for index, done in enumerate(passes(source, centers, views_of, prune), start=1):
        centers, shift, n_changed, n_evaluated = done
        total += n_evaluated
        converged = n_changed == 0 or shift <= tol
        if step() or converged or index == max_iter:
            return Run(centers, index, total, converged)
    raise AssertionError("passes is an infinite iterator")


def anneal(
    source: BlockSource,
    centers: Array,
    views_of: Callable[[int], Any],
    prune: bool,
    n_passes: int,
    step: Callable[[], bool],
) -> Run:
    """Update the centres by voting passes, and average them over the later half of the passes.

    Stops after a pass that changes no row.
    """
    history: list[Array] = []
    total = 0
    for moved, _, n_changed, n_evaluated in islice(
        passes(source, centers, views_of, prune), n_passes
    ):
        total += n_evaluated
        history.append(moved)
        if step() or n_changed == 0:
            break
    last = history[len(history) // 2 :] or [centers]
    mean = np.mean(last, axis=0, dtype=np.float64).astype(centers.dtype)
    return Run(mean, len(history), total, False)


def draw_pass_views(
    n_items: int,
    draws: Draws,
    resample: str,
    max_iter: int,
    n_final: int,
    sampler: Callable[[int], Any] | None = None,
) -> tuple[Callable[[int], Any], Array]:
    """Return a function from pass index to views of features or rows, and the final views."""
    *seeds, last = draw_seeds(draws.seed, max_iter + 1)
    draw = partial(draw_item_views, n_items, sampler)
    final = draw(draws._replace(n_views=n_final, seed=last))
    if resample == "fit":
        shared = draw(draws)
        return lambda _: shared, final if n_final != draws.n_views else shared
    if resample == "instance":
        return lambda index: draws._replace(seed=seeds[index]), final
    return lambda index: draw(draws._replace(seed=seeds[index])), final


def draw_item_views(n_items: int, sampler: Callable[[int], Any] | None, draws: Draws) -> Array:
    """Draw views, by the sampler if there is one; its extreme weights are scaled, exactly."""
    if sampler is None:
        return draw_feature_views(n_items, draws)
    views = sample_views(sampler, n_items)
    exponents = np.frexp(views.max(axis=1))[1]
    exponents[np.abs(exponents) <= LARGEST_SCALE] = 0
    return np.asarray(np.ldexp(views, -exponents[:, None]))


def refine_views(
    source: BlockSource, views: Any, of_rows: bool, weighted: bool
) -> Array | ViewsOfPartition:
    """Make views that depend on the partition, if they are of rows or weighted."""
    if not (of_rows or weighted):
        return views  # type: ignore[no-any-return]
    return partial(views_of_partition, source, views, of_rows, weighted)


def settle_views(views: Any, centers: Array, fresh: bool) -> Any:
    """Compute views that depend on the partition; others stay as they are."""
    return views(centers, fresh) if callable(views) else views


def views_of_partition(
    source: BlockSource, views: Array, of_rows: bool, weighted: bool, centers: Array, fresh: bool
) -> Array:
    """Weight views by the partition so far; give the centres of views of the rows.

    Without a partition (``fresh``) the weights are those drawn, and the centres the initial ones.
    """
    if fresh:
        return centers[None] if of_rows else views
    if weighted:
        difficulty = row_difficulty if of_rows else feature_difficulty
        weights = MIN_DIFFICULTY + difficulty(source, centers)
        views = views * (weights / weights.mean())
    return view_centers(source, centers, views) if of_rows else views


def row_difficulty(source: BlockSource, centers: Array) -> Array:
    """Divide squared distances to the own centre by those to the nearest other: (n_rows,)."""
    return np.concatenate(list(source.map(_distance_ratios, centers)))


def _distance_ratios(block: Block, centers: Array) -> Array:
    labels, every_row = _state(block, fresh=False)["label"], np.arange(len(block.rows))
    distances = np.stack(
        [own_distances(block.rows, centers, np.full_like(labels, k)) for k in range(len(centers))]
    )
    own = distances[labels, every_row]
    distances[labels, every_row] = np.inf
    other = distances.min(axis=0)
    # a row at both centres is as undecided as one halfway
    return np.where(other > 0, np.minimum(own / np.where(other > 0, other, 1.0), 1.0), 1.0)


def feature_difficulty(source: BlockSource, centers: Array) -> Array:
    """Compute the share of each feature's variance that is not between clusters: (n_features,)."""
    mean = cluster_means(source.reduce(_residual_sums, None, combine=add_cluster_sums))
    total, within = (
        found.sums[0] + found.sums_lost[0]
        for found in (
            source.reduce(_residual_sums, each, combine=add_cluster_sums)
            for each in (mean, centers)
        )
    )
    varies = total > 0
    return np.where(varies, np.minimum(within / np.where(varies, total, 1.0), 1.0), 0.0)


def _residual_sums(block: Block, centers: Array | None) -> ClusterSums:
    """Sum the squared differences to the own centre; without centres, sum the rows."""
    nothing = np.zeros(len(block.rows), np.int32)
    values = block.rows
    if centers is not None:
        labels = nothing if len(centers) == 1 else _state(block, fresh=False)["label"]
        values = np.square(block.rows - centers[labels].astype(np.float64))
    return cluster_sums(values, block.weights, nothing, 1)


def view_centers(source: BlockSource, centers: Array, views: Array) -> Array:
    """Means of each cluster's rows in each view of the rows; without rows, the given centre."""
    sums = source.reduce(_view_sums, len(centers), views, combine=_add_view_sums)
    found = [
        np.where(each.totals[:, None] > 0, cluster_means(each), centers).astype(centers.dtype)
        for each in sums
    ]
    return np.stack(found)


def _view_sums(block: Block, n_clusters: int, views: Array) -> list[ClusterSums]:
    labels = _state(block, fresh=False)["label"]
    here = views[:, block.start : block.start + len(block.rows)]
    return [cluster_sums(block.rows, block.weights * view, labels, n_clusters) for view in here]


def _add_view_sums(one: list[ClusterSums], other: list[ClusterSums]) -> list[ClusterSums]:
    return [add_cluster_sums(*pair) for pair in zip(one, other, strict=True)]


def mean_variance(source: BlockSource) -> float:
    """Mean over features of the weighted variance, the unit of ``tol``."""
    total, sums = source.reduce(_moments)
    (squares,) = source.reduce(_squares, sums / total)
    return float(squares.mean() / total)


def _moments(block: Block) -> tuple[float, Array]:
    return float(block.weights.sum()), block.weights @ block.rows.astype(np.float64)


def _squares(block: Block, mean: Array) -> tuple[Array]:
    return (block.weights @ np.square(block.rows - mean),)


def update_by_batch(centers: Array, weights: Array, sums: ClusterSums) -> tuple[Array, Array]:
    r"""Update centres by the means of a batch, as in mini-batch K-means.

    :math:`\mu_k \leftarrow \mu_k + \frac{w_k}{N_k} (\bar x_k - \mu_k)` with the batch's weight
    :math:`w_k` and mean in cluster k, and :math:`N_k` the total weight so far, including the batch.
    """
    total = weights + sums.totals
    share = sums.totals / np.where(total > 0, total, 1.0)
    means = np.where(sums.totals[:, None] > 0, cluster_means(sums), centers)
    moved = centers + share[:, None] * (means - centers)
    return moved.astype(centers.dtype), total


def label_rows(
    block: Block, centers: Array, deciding: Array, views: Array
) -> tuple[Array, tuple[float, Array, Array]]:
    """Label rows by the deciding views, ties to the lowest index; count the views that agree.

    Returns an array of dtype ``ROW_LABEL``, and the result of :func:`cluster_totals`.
    """
    labels, counts = _votes(block.rows, centers, deciding)
    if deciding is not views:
        if views.ndim == 3:
            counts = agreeing_centers(block.rows, views, labels)
        else:
            counts = agreeing_views(block.rows, centers, views, labels)
    values = np.empty(len(labels), ROW_LABEL)
    values["label"], values["vote"] = labels, counts / len(views)
    return values, _totals(block, centers, labels)


def cluster_totals(block: Block, centers: Array, deciding: Array) -> tuple[float, Array, Array]:
    """Inertia, and number and weight of each cluster's rows, by the deciding views."""
    labels, _ = _votes(block.rows, centers, deciding)
    return _totals(block, centers, labels)


def _totals(block: Block, centers: Array, labels: Array) -> tuple[float, Array, Array]:
    inertia = float(own_distances(block.rows, centers, labels) @ block.weights)
    counts = np.bincount(labels, minlength=len(centers))
    return inertia, counts, np.bincount(labels, block.weights, len(centers))
