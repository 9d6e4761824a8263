"""A row's way through a tree: its share on each side, and what each split adds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.inner._fitted_tree import FittedTree
from ensemblage.inner._tree_reading import TreeWords, asked
from ensemblage.kernels import views_right

Floats = NDArray[np.float64]


class TreeStep(NamedTuple):  # numpydoc ignore=PR01
    """A split on a row's way.

    Attributes
    ----------
    node : int
        Number of the node.
    column : str
        What is compared.
    question : str
        What is asked of it, as in ``to_text``.
    value : float
        The row's value; NaN if it is missing.
    threshold, low, high : float
        Median, least and greatest of the crowd's thresholds.
    share : float
        How much of the row comes here.
    left : float
        How much of that goes left, to the values at or below the threshold.
    yes : float
        For how much of it the answer is yes: what goes left, or, where a category is asked for,
        what goes right.
    contribution : ndarray of shape (n_columns,)
        What the split adds to the prediction: to each class's probability, or to the number.
    """

    node: int
    column: str
    question: str
    value: float
    threshold: float
    low: float
    high: float
    share: float
    left: float
    yes: float
    contribution: Floats


class TreePath(NamedTuple):  # numpydoc ignore=PR01
    """A row's way through a tree.

    Attributes
    ----------
    start : ndarray of shape (n_columns,)
        What the root says of every row.
    steps : list of TreeStep
        The splits on the way, parents first.
    leaves : dict of int to float
        The row's share in each leaf that it touches.
    prediction : ndarray of shape (n_columns,)
        The start and all contributions together.
    """

    start: Floats
    steps: list[TreeStep]
    leaves: dict[int, float]
    prediction: Floats


def follow_row(tree: FittedTree, row: NDArray[np.float32], words: TreeWords) -> TreePath:
    """Follow one row down both sides of each split."""
    n_views, values = tree.thresholds.shape[1], tree.values
    shares, steps = {0: 1.0}, []
    for node in range(len(tree.left)):
        if tree.left[node] < 0 or node not in shares:
            continue
        feature, thresholds = int(tree.feature[node]), tree.thresholds[node]
        x = float(row[feature])
        right = views_right(thresholds, x, bool(tree.missing_left[node])) / n_views
        split = asked(tree, node, words)
        contribution = np.zeros(values.shape[1])
        for child, part in ((int(tree.left[node]), 1 - right), (int(tree.right[node]), right)):
            if part > 0:
                shares[child] = shares[node] * part
                contribution += shares[child] * (values[child] - values[node])
        steps.append(
            TreeStep(
                node, words.columns[feature], split.question, x,
                float(thresholds[n_views // 2]), float(thresholds[0]), float(thresholds[-1]),
                shares[node], 1 - right, 1 - right if split.yes == tree.left[node] else right,
                contribution,
            )
        )  # fmt: skip
    leaves = {node: share for node, share in shares.items() if tree.left[node] < 0}
    total = values[0] + sum((step.contribution for step in steps), np.zeros(values.shape[1]))
    return TreePath(values[0], steps, leaves, total)
