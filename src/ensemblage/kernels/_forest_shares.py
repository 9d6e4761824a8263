"""Mean of the leaves that a row reaches in many trees, which stand in a few arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

Floats = NDArray[np.float32]


class PackedTrees(NamedTuple):
    """Trees one after the other; a node below zero is a leaf, ``-1 - leaf`` of all trees' leaves.

    ``roots`` are (n_trees,), ``features`` and ``thresholds`` of the inner nodes (n_nodes,), their
    ``children`` (n_nodes, 2), ``leaves`` (n_leaves, n_classes). A row goes to the second child
    whose feature is above the threshold.
    """

    roots: NDArray[np.int32]
    features: NDArray[np.int32]
    thresholds: Floats
    children: NDArray[np.int32]
    leaves: Floats


def forest_shares(trees: PackedTrees, rows: Floats) -> NDArray[np.float64]:
    """Average each row's leaves over the trees, (n_rows, n_classes)."""
    totals = np.zeros((len(rows), trees.leaves.shape[1]))
    if len(rows):
        _add_leaves(trees, rows, totals)
    totals /= len(trees.roots)
    return totals


@compiled
def _add_leaves(trees: PackedTrees, rows: Floats, totals: NDArray[Any]) -> None:  # noqa: C901  four at once
    """Add each tree's leaf, in place; four rows walk side by side, as each waits for memory."""
    roots, features, thresholds, children, leaves = trees
    last, n_classes = len(rows) - 1, totals.shape[1]
    for tree in range(len(roots)):
        for i in range(0, len(rows), 4):
            j, k, m = min(i + 1, last), min(i + 2, last), min(i + 3, last)
            a = b = c = d = roots[tree]
            while a >= 0 or b >= 0 or c >= 0 or d >= 0:
                if a >= 0:
                    a = children[a, int(rows[i, features[a]] > thresholds[a])]
                if b >= 0:
                    b = children[b, int(rows[j, features[b]] > thresholds[b])]
                if c >= 0:
                    c = children[c, int(rows[k, features[c]] > thresholds[c])]
                if d >= 0:
                    d = children[d, int(rows[m, features[d]] > thresholds[d])]
            for label in range(n_classes):
                totals[i, label] += leaves[-1 - a, label]
                if j > i:
                    totals[j, label] += leaves[-1 - b, label]
                if k > j:
                    totals[k, label] += leaves[-1 - c, label]
                if m > k:
                    totals[m, label] += leaves[-1 - d, label]
