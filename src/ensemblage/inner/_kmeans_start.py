"""Where Inner K-means starts: rows drawn from blocks, at random or spread out (k-means++)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from ensemblage.blocks import Block, BlockSource, MemoryBlocks
from ensemblage.kernels import own_distances
from ensemblage.parallel import read_weights

Array = NDArray[Any]

SMALLEST_WEIGHT = 1e-100
START_ROWS, ROWS_PER_CLUSTER = 100_000, 100
"""Rows far apart are sought among so many, or so many for each cluster, drawn by the seed."""


def positive_weights(sample_weight: Any, X: Array) -> NDArray[np.float64]:
    """Check row weights, in float64; only those beyond all reason are scaled, as inertia is."""
    weights: NDArray[np.float64] = _check_sample_weight(sample_weight, X, dtype=np.float64)
    usual = SMALLEST_WEIGHT < weights.max(initial=0) < 1 / SMALLEST_WEIGHT and weights.min() >= 0
    return weights if usual else read_weights(sample_weight, X)


def start_centers(
    source: BlockSource, n_clusters: int, init: Any, X: Array | None, seed: int
) -> Array:
    """First centres as ``init`` says; a callable one is given the rows, so they must be here."""
    n_features = source.shape[1]
    if isinstance(init, str):
        draw = spread_rows if init == "k-means++" else random_rows
        centers = draw(source, n_clusters, np.random.default_rng(seed))
    elif callable(init):
        if X is None:
            raise ValueError(
                f"init={init!r} needs rows in memory: take 'k-means++', 'random' or an "
                "array of centres for rows on disk or on a cluster."
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
    """Draw distinct rows, in proportion to their weights."""
    weights = source.weights
    if np.count_nonzero(weights) < n_clusters:
        weights = np.ones(len(weights))  # zero weights would leave too few rows to start from
    share = weights / weights.sum()
    chosen = rng.choice(len(weights), size=n_clusters, replace=False, p=share)
    found = np.concatenate(list(source.map(_pick, np.sort(chosen))))
    return found[np.argsort(np.argsort(chosen))]


def spread_rows(source: BlockSource, n_clusters: int, rng: np.random.Generator) -> Array:
    r"""Draw rows far apart, by greedy k-means++.

    Each next centre is the best of :math:`2 + \lfloor \log K \rfloor` rows drawn in proportion
    to weight times squared distance to the nearest centre so far, where the best lowers the
    weighted sum of these distances most. A draw picks the block by the blocks' sums and the
    row inside each block by the same uniform number, so one pass serves all draws. Of many rows,
    some are drawn first: two passes over all of them for each centre took a third of a fit.
    """
    n_trials = 2 + int(np.log(n_clusters))
    source = _some_rows(source, max(START_ROWS, ROWS_PER_CLUSTER * n_clusters), rng)
    centers = _draw(source, _weighted_candidates, rng, 1)
    while len(centers) < n_clusters:
        step = centers[-1:], len(centers) == 1
        candidates = _draw(source, _spread_candidates, rng, n_trials, *step)
        costs = source.total(_candidate_costs, candidates)
        centers = np.concatenate([centers, candidates[[int(np.argmin(costs[0]))]]])
    return centers


def _some_rows(source: BlockSource, most: int, rng: np.random.Generator) -> BlockSource:
    """Draw rows with some weight, or leave all where they are if there are no more."""
    weights = source.weights
    n_eligible = np.count_nonzero(weights)
    if n_eligible <= most:
        return source
    chosen = np.sort(rng.choice(n_eligible, most, replace=False))
    if n_eligible < len(weights):
        chosen = np.flatnonzero(weights)[chosen]
    rows = np.concatenate(list(source.map(_pick, chosen)))
    return MemoryBlocks(rows, np.ascontiguousarray(weights[chosen]))


def _draw(
    source: BlockSource, kernel: Any, rng: np.random.Generator, n_draws: int, *state: Any
) -> Array:
    """Draw rows: the kernel offers one per block and draw, and the block's mass."""
    inside, between = rng.random(n_draws), rng.random(n_draws)
    run = source.advance if state else source.map
    offers = list(run(kernel, inside, *state))
    masses = np.cumsum([mass for mass, _ in offers])
    chosen = np.searchsorted(masses, between * masses[-1], side="right")
    chosen = np.minimum(chosen, len(offers) - 1)
    return np.stack([offers[block][1][draw] for draw, block in enumerate(chosen)])


def _pick(block: Block, indices: Array) -> Array:
    """Rows by their numbers, which rise."""
    first, last = np.searchsorted(indices, [block.start, block.start + len(block.rows)])
    return np.asarray(block.rows[indices[first:last] - block.start])


def _weighted_candidates(block: Block, inside: Array) -> tuple[float, Array]:
    return _offer(block.rows, block.weights, inside)


def _spread_candidates(
    block: Block, inside: Array, latest: Array, fresh: bool
) -> tuple[Array, tuple[float, Array]]:
    nearest = own_distances(block.rows, latest, np.zeros(len(block.rows), np.int32))
    if not fresh:
        nearest = np.minimum(nearest, block.carry)
    return nearest, _offer(block.rows, nearest * block.weights, inside)


def _candidate_costs(block: Block, candidates: Array) -> tuple[Array]:
    costs = np.empty(len(candidates))
    for index in range(len(candidates)):
        candidate = candidates[index : index + 1]
        distances = own_distances(block.rows, candidate, np.zeros(len(block.rows), np.int32))
        costs[index] = np.minimum(distances, block.carry) @ block.weights
    return (costs,)


def _offer(rows: Array, masses: Array, inside: Array) -> tuple[float, Array]:
    """Rows drawn in proportion to their masses, and the sum of the masses."""
    cumulated = np.cumsum(masses)
    places = np.searchsorted(cumulated, inside * cumulated[-1], side="right")
    return float(cumulated[-1]), rows[np.minimum(places, len(rows) - 1)]
