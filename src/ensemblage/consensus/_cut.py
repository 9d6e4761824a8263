"""Where to cut a dendrogram: at a number of clusters, or at the largest lifetime."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components

from ensemblage.consensus._co_association import condensed_distances
from ensemblage.consensus._partitions import Partitions
from ensemblage.consensus._pieces import sample_rows

LIFETIME_ROWS = 2000
LEAST_SHARE = 0.02


def cut_by_order(merges: NDArray[Any], n_clusters: int) -> NDArray[np.int32]:
    """Undo the last of SciPy's merges until ``n_clusters`` are left.

    Cutting at a height cannot tell merges of equal height apart; the order can.
    """
    n_rows = len(merges) + 1
    kept = merges[: n_rows - n_clusters, :2].astype(np.int64)
    joined = n_rows + np.arange(len(kept))
    ends = np.concatenate([kept[:, 0], kept[:, 1]]), np.concatenate([joined, joined])
    size = n_rows + len(kept)
    graph = sparse.coo_array((np.ones(2 * len(kept), np.int8), ends), shape=(size, size))
    labels = connected_components(graph, directed=False)[1][:n_rows]
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int32)


def largest_lifetime(merges: NDArray[Any], least_rows: int = 1) -> int:
    """Find the number of clusters that stays the same over the longest range of heights.

    Only clusters of so many rows count, and only heights at which most rows are in such ones. The
    range of a single cluster ends at height 1, the largest distance that two rows can have; at
    equal lifetimes the fewest clusters are chosen.
    """
    n_rows = len(merges) + 1
    heights = np.concatenate([[0.0], np.maximum.accumulate(merges[:, 2]), [1.0]])
    lifetimes = np.zeros(n_rows + 1)
    sizes = np.concatenate([np.ones(n_rows), merges[:, 3]])
    n_large, covered = (n_rows, n_rows) if least_rows <= 1 else (0, 0)
    for step in range(n_rows):
        if step:
            parts = sizes[merges[step - 1, :2].astype(np.int64)]
            large = parts[parts >= least_rows]
            whole = merges[step - 1, 3]
            n_large += int(whole >= least_rows) - len(large)
            covered += int(whole if whole >= least_rows else 0) - int(large.sum())
        if 2 * covered > n_rows:
            lifetimes[n_large] += max(heights[step + 1] - heights[step], 0.0)
    return max(1, int(np.argmax(lifetimes)))


def count_clusters(partitions: Partitions, seed: int) -> int:
    """Choose the number of clusters by the largest lifetime of average linkage.

    Of more than ``LIFETIME_ROWS`` rows a random sample is looked at. Clusters with less than
    ``LEAST_SHARE`` of the rows do not count.
    """
    sampled = sample_rows(partitions, LIFETIME_ROWS, seed)
    n_rows = sampled.shape[1]
    if n_rows == 1:
        return 1
    merges = linkage(condensed_distances(sampled), "average")
    return largest_lifetime(merges, max(2, round(LEAST_SHARE * n_rows)))
