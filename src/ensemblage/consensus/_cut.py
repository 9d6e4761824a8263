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

LIFETIME_ROWS = 2000


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


def largest_lifetime(merges: NDArray[Any]) -> int:
    """Find the number of clusters that stays the same over the longest range of heights.

    The range of a single cluster ends at height 1, the largest distance that two rows can have; at
    equal lifetimes the fewest clusters are chosen.
    """
    heights = np.append(np.maximum.accumulate(merges[:, 2]), 1.0)
    lifetimes = np.diff(np.maximum.accumulate(heights))[::-1]
    return int(np.argmax(lifetimes)) + 1 if len(lifetimes) else 1


def count_clusters(partitions: Partitions, seed: int) -> int:
    """Choose the number of clusters by the largest lifetime of average linkage.

    Of more than ``LIFETIME_ROWS`` rows a random sample is looked at.
    """
    n_rows = partitions.shape[1]
    if n_rows > LIFETIME_ROWS:
        rng = np.random.default_rng(seed)
        partitions = partitions[:, rng.choice(n_rows, LIFETIME_ROWS, replace=False)]
    return largest_lifetime(linkage(condensed_distances(partitions), "average"))
