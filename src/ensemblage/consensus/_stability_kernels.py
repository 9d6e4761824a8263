"""Compiled pair counts over clusterings of subsamples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import compiled

Array = NDArray[Any]

# Most iterations of Lloyd's algorithm.
MAX_ITERATIONS = 50


def resampled_pairs(
    rows: Array, samples: Array, uniforms: Array, pairs: Array
) -> tuple[Array, Array]:
    """Cluster each subsample of rows by K-means, and count how often pairs of rows share a cluster.

    Rows are of shape (n_rows, n_features), float64; samples of shape (n_samples, n_sampled) are
    indices of rows; uniforms of shape (n_samples, n_starts, n_clusters, n_trials) are the random
    numbers of k-means++, and the initialisation with the lowest inertia is kept; pairs are of shape
    (n_pairs, 2). Returns, per pair, the number of clusterings that put both rows in one cluster and
    the number that sampled both.
    """
    counts = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    _count_pairs(rows, samples, uniforms, pairs, *counts)
    return counts


@compiled
def _count_pairs(
    rows: Array, samples: Array, uniforms: Array, pairs: Array, together: Array, sampled: Array
) -> None:
    """Count into ``together`` and ``sampled``."""
    n_sampled = samples.shape[1]
    labels, best_labels = np.empty(n_sampled, np.int64), np.empty(n_sampled, np.int64)
    whole = np.empty(len(rows), np.int64)
    for index in range(len(samples)):
        chosen = rows[samples[index]]
        best = np.inf
        for start in range(uniforms.shape[1]):
            inertia = plain_kmeans(chosen, uniforms[index, start], labels)
            if inertia < best:
                best = inertia
                for place in range(n_sampled):  # assigning arrays would take seconds to compile
                    best_labels[place] = labels[place]
        whole[:] = -1
        for place in range(n_sampled):
            whole[samples[index, place]] = best_labels[place]
        for pair in range(len(pairs)):
            one, other = whole[pairs[pair, 0]], whole[pairs[pair, 1]]
            if one >= 0 and other >= 0:
                sampled[pair] += 1
                together[pair] += one == other


@compiled
def plain_kmeans(rows: Array, uniforms: Array, labels: Array) -> float:
    """Cluster rows by k-means++ and Lloyd's algorithm, into ``labels``; return the inertia.

    Uniform random numbers, of shape (n_clusters, n_trials), choose the initial centres. A cluster
    that loses all of its rows keeps its centre.
    """
    centers = _draw_centers(rows, uniforms)
    labels[:] = -1
    inertia = 0.0
    for _ in range(MAX_ITERATIONS):
        inertia, n_changed = _assign(rows, centers, labels)
        if n_changed == 0:
            break
        _move(rows, labels, centers)
    return inertia


@compiled
def _draw_centers(rows: Array, uniforms: Array) -> Array:
    """Choose initial centres by greedy k-means++.

    Each centre is the best of several candidates drawn with probability proportional to the squared
    distance to the nearest centre so far; the best reduces the sum of these distances most.
    """
    n_clusters, n_trials = uniforms.shape
    centers = np.empty((n_clusters, rows.shape[1]))
    centers[0] = rows[int(uniforms[0, 0] * len(rows))]
    nearest = _nearer(rows, centers[0], np.full(len(rows), np.inf))
    for k in range(1, n_clusters):
        summed, least, best = np.cumsum(nearest), np.inf, nearest
        for trial in range(n_trials):
            place = np.searchsorted(summed, uniforms[k, trial] * summed[-1], side="right")
            candidate = rows[min(place, len(rows) - 1)]
            tried = _nearer(rows, candidate, nearest)
            if tried.sum() < least:
                least, best = tried.sum(), tried
                centers[k] = candidate
        nearest = best
    return centers


@compiled
def _nearer(rows: Array, center: Array, nearest: Array) -> Array:
    """Squared distances to the nearest centre after adding ``center``."""
    found = np.empty(len(rows))
    for i in range(len(rows)):
        found[i] = min(nearest[i], _squared(rows[i], center))
    return found


@compiled
def _assign(rows: Array, centers: Array, labels: Array) -> tuple[float, int]:
    """Assign rows to the nearest centre, ties to the lowest index; inertia and rows reassigned."""
    inertia, n_changed = 0.0, 0
    for i in range(len(rows)):
        best, nearest = np.inf, 0
        for k in range(len(centers)):
            distance = _squared(rows[i], centers[k])
            if distance < best:
                best, nearest = distance, k
        inertia += best
        n_changed += labels[i] != nearest
        labels[i] = nearest
    return inertia, n_changed


@compiled
def _move(rows: Array, labels: Array, centers: Array) -> None:
    """Set each centre to the mean of its rows."""
    sums, counts = np.zeros(centers.shape), np.zeros(len(centers))
    for i in range(len(rows)):
        counts[labels[i]] += 1
        for j in range(rows.shape[1]):
            sums[labels[i], j] += rows[i, j]
    for k in range(len(centers)):
        if counts[k] > 0:
            centers[k] = sums[k] / counts[k]


@compiled
def _squared(row: Array, center: Array) -> float:
    total = 0.0
    for j in range(len(row)):
        difference = row[j] - center[j]
        total += difference * difference
    return total
