"""A fitted tree as a value: what a file holds of it, and what it says of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.inner._tree_choice import NodeValues, crisp
from ensemblage.kernels import LEAF, Memberships, SoftTree, leaf_memberships, predict_softly
from ensemblage.messages import expect, expect_array

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def writable(array: Any) -> Any:
    """Copy an array that cannot be written, as those of memory-mapped files.

    Numba would compile every kernel once more for it.
    """
    return np.require(array, requirements=["C", "W"])


@dataclass(frozen=True, eq=False)
class FittedTree:
    """Nodes of a tree, the root first and children after their parent; arrays of length n_nodes.

    ``left``, ``right`` and ``feature`` are -1 at leaves. ``thresholds``, of shape (n_nodes,
    n_views), ascend in each node. ``values``, (n_nodes, n_columns), are the shrunk shares of the
    classes or the mean number, ``weights`` the weight of the training rows in each node.
    """

    left: Integers
    right: Integers
    feature: Integers
    missing_left: NDArray[np.bool_]
    thresholds: Floats
    values: Floats
    weights: Floats

    @classmethod
    def make(cls, tree: SoftTree, found: NodeValues) -> FittedTree:
        """Put nodes and their values together."""
        return cls(*tree, *found)

    @property
    def nodes(self) -> SoftTree:
        """The nodes, as kernels read them."""
        parts = (self.left, self.right, self.feature, self.missing_left, self.thresholds)
        return SoftTree(*map(writable, parts))

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return np.asarray(self.left == LEAF)

    @property
    def depths(self) -> Integers:
        """Number of splits above each node."""
        depths = np.zeros(len(self.left), dtype=np.int64)
        for node in np.flatnonzero(~self.is_leaf):  # parents come first
            depths[[self.left[node], self.right[node]]] = depths[node] + 1
        return depths

    def crisp(self) -> FittedTree:
        """Follow the medians of the thresholds, to the same leaves."""
        return replace(self, thresholds=crisp(self.nodes).thresholds)

    def predict(self, X: NDArray[np.float32]) -> Floats:
        """Average leaves by the rows' shares in them: (n_rows, n_columns)."""
        values: Floats = predict_softly(self.nodes, X, writable(self.values))
        return values

    def memberships(self, X: NDArray[np.float32]) -> Memberships:
        """Shares of rows in the leaves that they touch."""
        found: Memberships = leaf_memberships(self.nodes, X)
        return found

    def importances(self, n_features: int) -> Floats:
        r"""Share of each feature in what all splits explain.

        A split of :math:`t` into :math:`l, r` explains
        :math:`N_l |v_l|^2 + N_r |v_r|^2 - N_t |v_t|^2`, and no less than nothing.
        """
        explained = np.zeros(n_features)
        powers = self.weights * ((self.values - self.values[0]) ** 2).sum(axis=1)
        inner = ~self.is_leaf
        gains = powers[self.left[inner]] + powers[self.right[inner]] - powers[inner]
        np.add.at(explained, self.feature[inner], np.maximum(gains, 0.0))
        total = explained.sum()
        return explained / total if total > 0 else explained

    def __check_state__(self) -> None:
        """Refuse nodes that no fit makes, before compiled code follows them."""
        n_nodes = len(self.left)
        for name in ("left", "right", "feature"):
            expect_array(self, name, (n_nodes,), "integer", low=LEAF)
        expect_array(self, "missing_left", (n_nodes,), "truth")
        expect_array(self, "thresholds", (n_nodes, None))
        expect_array(self, "values", (n_nodes, None))
        expect_array(self, "weights", (n_nodes,), low=0)
        inner = np.flatnonzero(self.left != LEAF)
        expect(n_nodes > 0 and self.thresholds.shape[1] > 0, "the tree has no nodes")
        expect(bool((self.thresholds[:, 1:] >= self.thresholds[:, :-1]).all()),
               "thresholds do not ascend")  # fmt: skip
        for ends in (self.right, self.feature):
            expect(inner.tolist() == np.flatnonzero(ends != LEAF).tolist(), "a split is not whole")
        # a node that was reached twice would be written beyond the kernels' room
        children = np.concatenate([self.left[inner], self.right[inner]])
        expect(sorted(children.tolist()) == list(range(1, n_nodes)), "a node has not one parent")
        expect(bool((self.left[inner] > inner).all() and (self.right[inner] > inner).all()),
               "a node stands before its parent")  # fmt: skip
