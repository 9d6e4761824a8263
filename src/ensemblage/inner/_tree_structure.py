"""The structure of a tree, grown by scikit-learn's own builder, and what is left of it pruned."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemblage.kernels import (
    ENTROPY,
    GINI,
    POISSON,
    SQUARED,
    CostedTree,
    RowTargets,
    SoftTree,
    link_strengths,
)

CRITERIA = {
    "gini": GINI,
    "entropy": ENTROPY,
    "log_loss": ENTROPY,
    "squared_error": SQUARED,
    "poisson": POISSON,
}
"""What scikit-learn calls what the kernels score by."""

LARGEST = float(np.finfo(np.float32).max)
"""The threshold of a node that tells missing values from all others; rows are float32."""


class TreeRows(NamedTuple):
    """Rows as trees read them, float32 in C order, with their weights and targets.

    Rows of no weight are not there: the rows of a fold are all rows, the others without weight,
    so that no fold copies them.
    """

    X: NDArray[np.float32]
    targets: RowTargets

    @property
    def y(self) -> NDArray[Any]:
        """Classes as codes, or numbers."""
        return self.targets.codes if self.targets.n_classes else self.targets.numbers

    @property
    def counted(self) -> NDArray[np.intp]:
        """Places of the rows that have weight."""
        return np.flatnonzero(self.targets.weights)

    def only(self, rows: NDArray[np.intp]) -> TreeRows:
        """Take the weight of all other rows."""
        weights = np.zeros(len(self.targets.weights))
        weights[rows] = self.targets.weights[rows]
        return self._replace(targets=self.targets._replace(weights=weights))

    def at(self, rows: NDArray[np.intp]) -> TreeRows:
        """Copy some of the rows."""
        weights, codes, numbers, n_classes = self.targets
        return TreeRows(
            self.X[rows], RowTargets(weights[rows], codes[rows], numbers[rows], n_classes)
        )


class GrowthRule(NamedTuple):
    """How a structure is grown; ``max_leaves`` None has no limit."""

    criterion: str
    max_leaves: int | None
    min_samples_leaf: int


class Structure(NamedTuple):
    r"""A tree with one threshold per node, and the :math:`\alpha` at which each node is pruned."""

    tree: SoftTree
    strengths: NDArray[np.float64]


def grow_structure(rows: TreeRows, rule: GrowthRule, seed: int) -> Structure:
    """Grow CART on the rows that have weight."""
    grower = DecisionTreeClassifier if rows.targets.n_classes else DecisionTreeRegressor
    estimator = grower(
        criterion=rule.criterion,
        max_leaf_nodes=rule.max_leaves,
        min_samples_leaf=rule.min_samples_leaf,
        random_state=seed,
    )
    weights = rows.targets.weights
    unweighted = bool((weights == 1.0).all())
    grown = estimator.fit(rows.X, rows.y, sample_weight=None if unweighted else weights).tree_
    left, right = grown.children_left.astype(np.int64), grown.children_right.astype(np.int64)
    costs = grown.impurity * grown.weighted_n_node_samples / grown.weighted_n_node_samples[0]
    tree = SoftTree(
        left,
        right,
        np.where(left < 0, -1, grown.feature).astype(np.int64),
        grown.missing_go_to_left.astype(np.bool_),
        np.where(left < 0, 0.0, np.minimum(grown.threshold, LARGEST))[:, None],
    )
    return Structure(tree, link_strengths(CostedTree(left, right, costs)))


def pruned(structure: Structure, alpha: float) -> SoftTree:
    """Collapse all nodes whose strength is no more than alpha, and number the rest anew."""
    tree, strengths = structure
    split = (tree.left >= 0) & (strengths > alpha)
    kept = np.zeros(len(split), dtype=bool)
    kept[0] = True
    for node in np.flatnonzero(split):  # parents come first
        kept[[tree.left[node], tree.right[node]]] = kept[node]
    split &= kept
    numbers = np.append(np.cumsum(kept) - 1, -1)  # the last for -1
    return SoftTree(
        numbers[np.where(split, tree.left, -1)][kept],
        numbers[np.where(split, tree.right, -1)][kept],
        np.where(split, tree.feature, -1)[kept],
        (tree.missing_left & split)[kept],
        np.where(split[:, None], tree.thresholds, 0.0)[kept],
    )
