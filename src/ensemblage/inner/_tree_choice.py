r"""How far a tree is pruned and how strongly it is shrunk: both by the same folds.

Each fold grows one tree; its losses for all :math:`\alpha \times \lambda` come from one pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.inner._tree_crowd import Crowd, draw_bootstraps, place_thresholds
from ensemblage.inner._tree_structure import (
    CRITERIA,
    GrowthRule,
    Structure,
    TreeRows,
    grow_structure,
)
from ensemblage.kernels import (
    CutRule,
    RowTargets,
    ShrunkPaths,
    SoftTree,
    node_means,
    node_sums,
    parents_of,
    shrinkage_factors,
    shrunk_losses,
)
from ensemblage.parallel import Fold, draw_seeds, make_folds, run_tasks

Floats = NDArray[np.float64]

STRENGTHS = (100.0, 50.0, 25.0, 10.0, 1.0, 0.1)
"""Strengths of shrinkage to choose from: those of Agarwal et al. (2022)."""


class TreeRecipe(NamedTuple):
    """What all trees of a fit have in common."""

    growth: GrowthRule
    n_views: int
    window: float
    crisp: bool


class FoldPlan(NamedTuple):
    """How many folds there are to be at most, which rows stay together, and who computes them."""

    n_folds: int
    groups: NDArray[Any] | None
    seed: int
    n_jobs: int | None


class Chosen(NamedTuple):
    """An alpha and a strength, and their mean loss over the folds; None without folds."""

    alpha: float
    strength: float
    loss: float | None


class Choice(NamedTuple):
    """The grid of a fit: alphas from the root alone to the whole tree, and strengths."""

    alphas: Floats
    strengths: Floats


class NodeValues(NamedTuple):
    """Shrunk means (n_nodes, n_columns) of nodes, and the weight of the rows in them."""

    values: Floats
    weights: Floats


def alpha_grid(structure: Structure) -> Floats:
    r"""Alphas between those at which the tree changes: :math:`\sqrt{\alpha_k \alpha_{k+1}}`.

    They fall, from the root alone, at infinity, to the whole tree, at 0.
    """
    changes = np.unique(np.append(0.0, structure.strengths[structure.tree.left >= 0]))
    between = np.sqrt(changes[:-1] * changes[1:])
    return np.append(between, np.inf)[::-1]


def soften(tree: SoftTree, rows: TreeRows, recipe: TreeRecipe, seed: int) -> SoftTree:
    """Let a crowd of bootstraps place a tree's thresholds; their medians, if it is to be crisp."""
    counts = draw_bootstraps(len(rows.X), draw_seeds(seed, recipe.n_views))
    rule = CutRule(CRITERIA[recipe.growth.criterion], recipe.growth.min_samples_leaf)
    soft = place_thresholds(tree, rows, Crowd(counts, recipe.window, rule))
    return crisp(soft) if recipe.crisp else soft


def crisp(tree: SoftTree) -> SoftTree:
    """Keep the median of each node's thresholds: the way that at least half of the views go."""
    middle = tree.thresholds.shape[1] // 2
    return tree._replace(thresholds=tree.thresholds[:, middle : middle + 1])


def fold_losses(
    rows: TreeRows, fold: Fold, recipe: TreeRecipe, choice: Choice, seed: int
) -> Floats:
    """Losses on a fold's test rows of the tree grown on the others: (n_alphas, n_strengths)."""
    grow_seed, view_seed = draw_seeds(seed, 2)
    train, test = rows.at(fold.train), rows.at(fold.test)
    structure = grow_structure(train, recipe.growth, grow_seed)
    tree = soften(structure.tree, train, recipe, view_seed)
    paths = shrunk_paths(tree, train, choice, structure.strengths)
    losses: Floats = shrunk_losses(tree, test.X, test.targets, paths)
    return losses


def choose(rows: TreeRows, recipe: TreeRecipe, choice: Choice, plan: FoldPlan) -> Chosen:
    """Take the alpha and the strength of least loss; of equal ones the smaller tree.

    Where no class has two rows there are no folds: then it is the whole tree, middling shrunk.
    """
    labels = rows.y if rows.targets.n_classes else np.zeros(len(rows.y), dtype=np.int32)
    n_folds = min(plan.n_folds, int(np.bincount(labels).max()))
    if n_folds < 2:
        return Chosen(0.0, float(choice.strengths[len(choice.strengths) // 2]), None)
    fold_seed, *seeds = draw_seeds(plan.seed, 1 + n_folds)
    folds = make_folds(labels, n_folds, fold_seed, plan.groups)
    tasks = [(rows, fold, recipe, choice, seed) for fold, seed in zip(folds, seeds, strict=False)]
    losses = np.sum(run_tasks(fold_losses, tasks, plan.n_jobs), axis=0)
    a, s = np.unravel_index(np.argmin(losses), losses.shape)
    loss = float(losses[a, s] / rows.targets.weights.sum())
    return Chosen(float(choice.alphas[a]), float(choice.strengths[s]), loss)


def shrunk_paths(tree: SoftTree, rows: TreeRows, choice: Choice, strengths: Floats) -> ShrunkPaths:
    """Tell what each node adds under each strength, and at which alpha it appears."""
    means, weights = _means(tree, rows.X, rows.targets)
    parents = parents_of(tree.left, tree.right)
    changes = means - means[np.maximum(parents, 0)]
    changes[0] = means[0]
    # a node is there where alpha is below its parent's strength
    steps = np.searchsorted(-choice.alphas, -strengths[np.maximum(parents, 0)], side="right")
    steps[0] = 0
    factors = shrinkage_factors(weights, parents, choice.strengths)
    return ShrunkPaths(changes, factors, steps.astype(np.int64), len(choice.alphas))


def shrunk_values(tree: SoftTree, rows: TreeRows, strength: float) -> NodeValues:
    """Means of all nodes, each drawn towards its parent's."""
    means, weights = _means(tree, rows.X, rows.targets)
    parents = parents_of(tree.left, tree.right)
    factors = shrinkage_factors(weights, parents, np.array([strength]))
    values = means.copy()
    for node in range(1, len(values)):  # parents come first
        if factors[node, 0] < 1.0:
            change = means[node] - means[parents[node]]
            values[node] = values[parents[node]] + factors[node, 0] * change
    return NodeValues(values, weights)


def _means(tree: SoftTree, X: NDArray[np.float32], targets: RowTargets) -> tuple[Floats, Floats]:
    return node_means(tree, node_sums(tree, X, targets), targets.n_classes > 0)
