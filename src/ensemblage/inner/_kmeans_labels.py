"""Labels of rows by centres and views that no longer change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block, BlockSource
from ensemblage.inner._kmeans_loop import Run
from ensemblage.kernels import (
    ClusterSums,
    agreeing_views,
    cluster_sums,
    own_distances,
    view_votes,
)

Array = NDArray[Any]

ROW_LABEL = np.dtype([("label", np.int32), ("vote", np.float64)])
"""What is found for each row: its cluster, and the share of the views that vote for it."""


class Labelling(NamedTuple):
    """Rows with nothing left to learn."""

    labels: NDArray[np.int32]
    agreement: NDArray[np.float64]  # share of the views that vote for the row's cluster
    inertia: float  # weighted sum of squared distances to the own centre, all features


class Clustered(NamedTuple):
    """What labels come to; blocks add up."""

    inertia: float
    counts: NDArray[np.int64]  # rows of each cluster
    weights: NDArray[np.float64]  # and their weight


class Fit(NamedTuple):
    """What one start of many came to."""

    run: Run
    views: Array
    deciding: Array  # views that label rows


def label_pass(block: Block, centers: Array, deciding: Array, views: Array) -> Labelling:
    """Label rows by the deciding views, ties to the lowest index; ask all views if they agree."""
    labels, counts = view_votes(block.rows, centers, deciding)
    if deciding is not views:
        counts = agreeing_views(block.rows, centers, views, labels)
    inertia = own_distances(block.rows, centers, labels) @ block.weights
    return Labelling(labels, counts / len(views), float(inertia))


def label_rows(
    block: Block, centers: Array, deciding: Array, views: Array
) -> tuple[Array, Clustered]:
    """Label rows as :func:`label_pass` does, and count them; values are of dtype ``ROW_LABEL``."""
    labels, agreement, inertia = label_pass(block, centers, deciding, views)
    values = np.empty(len(labels), ROW_LABEL)
    values["label"], values["vote"] = labels, agreement
    return values, _add_up(block, labels, inertia, len(centers))


def clustered(block: Block, centers: Array, deciding: Array) -> Clustered:
    """Add up what the labels of a block come to, by the deciding views alone."""
    labels, _ = view_votes(block.rows, centers, deciding)
    inertia = own_distances(block.rows, centers, labels) @ block.weights
    return _add_up(block, labels, float(inertia), len(centers))


def _add_up(block: Block, labels: Array, inertia: float, n_clusters: int) -> Clustered:
    counts = np.bincount(labels, minlength=n_clusters)
    weights: Any = np.bincount(labels, block.weights, n_clusters)
    return Clustered(inertia, counts, weights)


def label_all(source: BlockSource, fit: Fit) -> tuple[Any, Clustered]:
    """Label all rows; values of dtype ``ROW_LABEL``, or None where the source keeps them."""
    return source.collect(label_rows, fit.run.centers, fit.deciding, fit.views)


def labelled_blocks(model: Any, source: BlockSource) -> Iterator[tuple[Array, ClusterSums]]:
    """Label the rows of a fitted model's source block by block, and add up each cluster's rows."""
    deciding = model._deciding(model.views_)  # noqa: SLF001
    yield from source.map(_label_and_add, model.cluster_centers_, deciding, model.views_)


def _label_and_add(
    block: Block, centers: Array, deciding: Array, views: Array
) -> tuple[Array, ClusterSums]:
    values, _ = label_rows(block, centers, deciding, views)
    return values, cluster_sums(block.rows, block.weights, values["label"].copy(), len(centers))


def inertia_of(source: BlockSource, fit: Fit) -> float:
    """Add up the squared distances of all rows to their centres."""
    return source.total(clustered, fit.run.centers, fit.deciding).inertia
