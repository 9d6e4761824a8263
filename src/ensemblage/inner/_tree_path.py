"""A row's way through a tree: its share on each side, and what each split adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.inner._fitted_tree import FittedTree
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
    value : float
        The row's value; NaN if it is missing.
    threshold, low, high : float
        Median, least and greatest of the crowd's thresholds.
    share : float
        How much of the row comes here.
    left : float
        How much of that goes left, to the values at or below the threshold.
    contribution : ndarray of shape (n_columns,)
        What the split adds to the prediction: to each class's probability, or to the number.
    """

    node: int
    column: str
    value: float
    threshold: float
    low: float
    high: float
    share: float
    left: float
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


def follow_row(tree: FittedTree, row: NDArray[np.float32], names: Sequence[str]) -> TreePath:
    """Follow one row down both sides of each split."""
    n_views, values = tree.thresholds.shape[1], tree.values
    shares, steps = {0: 1.0}, []
    for node in range(len(tree.left)):
        if tree.left[node] < 0 or node not in shares:
            continue
        feature, thresholds = int(tree.feature[node]), tree.thresholds[node]
        x = float(row[feature])
        right = views_right(thresholds, x, bool(tree.missing_left[node])) / n_views
        contribution = np.zeros(values.shape[1])
        for child, part in ((int(tree.left[node]), 1 - right), (int(tree.right[node]), right)):
            if part > 0:
                shares[child] = shares[node] * part
                contribution += shares[child] * (values[child] - values[node])
        steps.append(
            TreeStep(
                node, names[feature], x, float(thresholds[n_views // 2]), float(thresholds[0]),
                float(thresholds[-1]), shares[node], 1 - right, contribution,
            )
        )  # fmt: skip
    leaves = {node: share for node, share in shares.items() if tree.left[node] < 0}
    total = values[0] + sum((step.contribution for step in steps), np.zeros(values.shape[1]))
    return TreePath(values[0], steps, leaves, total)
