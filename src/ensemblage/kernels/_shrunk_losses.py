r"""Losses of one soft tree on new rows, for all prunings and strengths of shrinkage together.

With :math:`m_t` a row's membership in node :math:`t`, :math:`\mu_t` the node's mean and
:math:`N_t` the weight of the rows in it, hierarchical shrinkage of strength :math:`\lambda` says

.. math:: f = \mu_0 + \sum_t m_t \frac{\mu_t - \mu_{p(t)}}{1 + \lambda / N_{p(t)}}

over the nodes :math:`t` below the root whose parent :math:`p(t)` is not pruned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._crowd_cuts import RowTargets
from ensemblage.kernels._soft_tree import LEAF, Reached, SoftTree, make_room, reach

LEAST = np.finfo(np.float64).eps
"""No probability counts as less."""

Floats = NDArray[np.float64]


class ShrunkPaths(NamedTuple):
    """What each node adds to its parent's mean, before and by shrinkage, and from which step on.

    ``changes`` has the shape (n_nodes, n_columns), with the root's mean in its place; ``factors``
    (n_nodes, n_strengths); ``steps`` (n_nodes,): at step 0 the tree is its root alone.
    """

    changes: Floats
    factors: Floats
    steps: NDArray[np.int64]
    n_steps: int


def node_means(tree: SoftTree, sums: Floats, is_class: bool) -> tuple[Floats, Floats]:
    """Means (n_nodes, n_columns) and weights (n_nodes,) of nodes; an empty one has its parent's."""
    weights = sums.sum(axis=1) if is_class else sums[:, 0]
    totals = sums if is_class else sums[:, 1:]
    means = totals / np.where(weights > 0, weights, 1.0)[:, None]
    if (weights <= 0).any():
        for node in np.flatnonzero(tree.left != LEAF):
            for child in (tree.left[node], tree.right[node]):
                if weights[child] <= 0:
                    means[child] = means[node]
    return means, weights


def shrinkage_factors(weights: Floats, parents: NDArray[np.int64], strengths: Floats) -> Floats:
    r"""Factors :math:`1 / (1 + \lambda / N_{p(t)})`, of shape (n_nodes, n_strengths)."""
    above = np.maximum(weights[np.maximum(parents, 0)], np.finfo(np.float64).tiny)
    return above[:, None] / (above[:, None] + strengths)


@compiled
def loss_of(prediction: float, target: float, is_class: bool) -> float:
    """Log loss of a class's probability, or squared error of a number."""
    if is_class:
        return float(-np.log(max(prediction, LEAST)))
    return (prediction - target) ** 2


@compiled
def sort_by_step(reached: Reached, found: int, steps: NDArray[np.int64]) -> None:
    """Put the nodes that a row reaches into the order of their steps, by insertion."""
    nodes, shares = reached
    for j in range(1, found):
        node, share, place = nodes[j], shares[j], j
        while place > 0 and steps[nodes[place - 1]] > steps[node]:
            nodes[place], shares[place] = nodes[place - 1], shares[place - 1]
            place -= 1
        nodes[place], shares[place] = node, share


@compiled
def shrunk_losses(  # noqa: C901  rows, strengths, nodes
    tree: SoftTree, X: NDArray[np.float32], targets: RowTargets, paths: ShrunkPaths
) -> Floats:
    """Weighted sums of the rows' losses: (n_steps, n_strengths); none for rows of no weight."""
    n_strengths, is_class = paths.factors.shape[1], targets.n_classes > 0
    jumps = np.zeros((paths.n_steps, n_strengths))
    reached = make_room(tree)
    for i in range(len(X)):
        if targets.weights[i] == 0.0:
            continue
        found = reach(tree, X[i], reached)
        column = targets.codes[i] if is_class else 0
        sort_by_step(reached, found, paths.steps)
        for s in range(n_strengths):
            prediction, loss = paths.changes[0, column], 0.0
            for j in range(found):
                node, share = reached.nodes[j], reached.shares[j]
                step = paths.steps[node]
                if step >= paths.n_steps:
                    break
                if node > 0:
                    prediction += share * paths.changes[node, column] * paths.factors[node, s]
                last = j + 1 == found or paths.steps[reached.nodes[j + 1]] > step
                if last:
                    new = loss_of(prediction, targets.numbers[i], is_class)
                    jumps[step, s] += targets.weights[i] * (new - loss)
                    loss = new
    for step in range(1, paths.n_steps):
        jumps[step] += jumps[step - 1]
    return jumps
