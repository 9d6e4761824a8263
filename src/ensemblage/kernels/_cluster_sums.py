"""Weighted sums of rows by cluster, and distances to their own centre."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

Array = NDArray[Any]


@compiled
def cluster_sums(rows: Array, weights: Array, labels: Array, n_clusters: int) -> tuple[Any, Any]:
    """Weighted sums (n_clusters, n_features) and total weights of each cluster's rows, in float64.

    Sums are compensated, so that the mean of equal values is that value but for one rounding.
    """
    sums = np.zeros((n_clusters, rows.shape[1]))
    lost = np.zeros((n_clusters, rows.shape[1]))
    totals = np.zeros(n_clusters)
    for i in range(len(rows)):
        label = labels[i]
        totals[label] += weights[i]
        for j in range(rows.shape[1]):
            # what rounding takes from one sum is given to the next (Kahan)
            value = weights[i] * rows[i, j] - lost[label, j]
            total = sums[label, j] + value
            lost[label, j] = (total - sums[label, j]) - value
            sums[label, j] = total
    return sums, totals


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
