r"""A decision tree with several thresholds per node, so that a row may go both ways in part.

The share of a row that goes left at a node is the share of thresholds at or above its value; a
missing value goes the way that the tree has learned. The row's *membership* in a node is the
product of the shares on the way there, and the memberships in all leaves add up to one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._crowd_cuts import RowTargets

LEAF = -1
"""In the place of a leaf's children and feature."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rows = NDArray[np.float32]


class SoftTree(NamedTuple):
    """Nodes with their children after them, the root first.

    ``thresholds`` has the shape (n_nodes, n_views), ascending in each node; the other arrays
    (n_nodes,). Children and feature of a leaf are -1.
    """

    left: Integers
    right: Integers
    feature: Integers
    missing_left: NDArray[np.bool_]
    thresholds: Floats


class Reached(NamedTuple):
    """Room for the nodes that a row reaches, and its memberships in them."""

    nodes: Integers
    shares: Floats


class Memberships(NamedTuple):
    """Row i is in the leaves ``leaves[starts[i]:starts[i + 1]]`` by the shares beside them."""

    starts: Integers
    leaves: Integers
    shares: Floats


@compiled
def views_right(thresholds: Floats, x: float, missing_left: bool) -> int:
    """Count the thresholds below a value."""
    if np.isnan(x):
        return 0 if missing_left else len(thresholds)
    if x <= thresholds[0]:
        return 0
    if x > thresholds[-1]:
        return len(thresholds)
    return int(np.searchsorted(thresholds, x))


@compiled
def reach(tree: SoftTree, row: Rows, reached: Reached) -> int:
    """Write down the nodes that a row reaches, parents first, and give their number."""
    n_views = tree.thresholds.shape[1]
    reached.nodes[0], reached.shares[0] = 0, 1.0
    done, found = 0, 1
    while done < found:
        node, share = reached.nodes[done], reached.shares[done]
        done += 1
        if tree.left[node] == LEAF:
            continue
        x = np.float64(row[tree.feature[node]])
        right = views_right(tree.thresholds[node], x, tree.missing_left[node])
        if right < n_views:
            reached.nodes[found] = tree.left[node]
            reached.shares[found] = share * ((n_views - right) / n_views)
            found += 1
        if right > 0:
            reached.nodes[found] = tree.right[node]
            reached.shares[found] = share * (right / n_views)
            found += 1
    return found


@compiled
def make_room(tree: SoftTree) -> Reached:
    """Make room for all nodes of a tree."""
    n_nodes = len(tree.left)
    return Reached(np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes))


@compiled
def node_sums(tree: SoftTree, X: Rows, targets: RowTargets) -> Floats:
    """Sum up the rows in each node by their memberships: (n_nodes, n_classes) weights.

    For numbers, two columns: weights, and weights times numbers. Rows of no weight are passed over.
    """
    n_classes = targets.n_classes
    sums = np.zeros((len(tree.left), n_classes or 2))
    reached = make_room(tree)
    for i in range(len(X)):
        if targets.weights[i] == 0.0:
            continue
        for j in range(reach(tree, X[i], reached)):
            node, weight = reached.nodes[j], reached.shares[j] * targets.weights[i]
            sums[node, targets.codes[i] if n_classes else 0] += weight
            if not n_classes:
                sums[node, 1] += weight * targets.numbers[i]
    return sums


@compiled
def predict_softly(tree: SoftTree, X: Rows, values: Floats) -> Floats:
    """Average the leaves' values, (n_nodes, n_columns), by each row's memberships."""
    out = np.zeros((len(X), values.shape[1]))
    reached = make_room(tree)
    for i in range(len(X)):
        for j in range(reach(tree, X[i], reached)):
            node = reached.nodes[j]
            if tree.left[node] == LEAF:
                for k in range(values.shape[1]):
                    out[i, k] += reached.shares[j] * values[node, k]
    return out


@compiled
def leaf_memberships(tree: SoftTree, X: Rows) -> Memberships:
    """Memberships of rows in the leaves that they touch; leaves are numbered as nodes."""
    reached = make_room(tree)
    starts = np.zeros(len(X) + 1, dtype=np.int64)
    for i in range(len(X)):
        starts[i + 1] = starts[i]
        for j in range(reach(tree, X[i], reached)):
            starts[i + 1] += tree.left[reached.nodes[j]] == LEAF
    leaves, shares = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    for i in range(len(X)):
        place = starts[i]
        for j in range(reach(tree, X[i], reached)):
            if tree.left[reached.nodes[j]] == LEAF:
                leaves[place], shares[place] = reached.nodes[j], reached.shares[j]
                place += 1
    return Memberships(starts, leaves, shares)
