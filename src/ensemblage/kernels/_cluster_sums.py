"""Weighted sums of rows by cluster, and distances to their own centre."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._exact_distances import two_product, two_sum

Array = NDArray[Any]


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
