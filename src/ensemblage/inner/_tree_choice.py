r"""How far a tree is pruned and how strongly it is shrunk: both by the same folds.

Each fold grows one tree; its losses for all :math:`\alpha \times \lambda` come from one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
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


class NodeValues(NamedTuple):
    """Values (n_nodes, n_columns) of nodes, and the weight of the rows in them."""

    values: Floats
    weights: Floats


@dataclass(frozen=True)
class TreeRecipe:
    """What all trees of a fit have in common: how they are grown, softened and filled."""

    growth: GrowthRule
    n_views: int
    window: float
    crisp: bool

    def grow(self, rows: TreeRows, seed: int) -> Structure:
        """Grow CART."""
        return grow_structure(rows, self.growth, seed)

    def soften(self, tree: SoftTree, rows: TreeRows, seed: int) -> SoftTree:
        """Let a crowd of bootstraps place the thresholds; their medians, if it is to be crisp."""
        if self.window == 0:
            return tree
        counts = draw_bootstraps(len(rows.counted), draw_seeds(seed, self.n_views))
        rule = CutRule(CRITERIA[self.growth.criterion], self.growth.min_samples_leaf)
        soft = place_thresholds(tree, rows, Crowd(counts, self.window, rule))
        return crisp(soft) if self.crisp else soft

    def means(self, tree: SoftTree, rows: TreeRows) -> NodeValues:
        """Average the rows in each node, by their memberships."""
        sums = node_sums(tree, rows.X, rows.targets)
        return NodeValues(*node_means(tree, sums, rows.targets.n_classes > 0))


class FoldPlan(NamedTuple):
    """How many folds there are to be at most, which rows stay together, and who computes them."""

    n_folds: int
    groups: NDArray[Any] | None
    seed: Any
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


def alpha_grid(structure: Structure) -> Floats:
    r"""Alphas between those at which the tree changes: :math:`\sqrt{\alpha_k \alpha_{k+1}}`.

    They fall, from the root alone, at infinity, to the whole tree, at 0.
    """
    changes = np.unique(np.append(0.0, structure.strengths[structure.tree.left >= 0]))
    between = np.sqrt(changes[:-1] * changes[1:])
    return np.append(between, np.inf)[::-1]


def crisp(tree: SoftTree) -> SoftTree:
    """Keep the median of each node's thresholds: the way that at least half of the views go."""
    middle = tree.thresholds.shape[1] // 2
    return tree._replace(thresholds=tree.thresholds[:, middle : middle + 1])


def fold_losses(
    rows: TreeRows, fold: Fold, recipe: TreeRecipe, choice: Choice, seed: int
) -> Floats:
    """Losses on a fold's test rows of the tree grown on the others: (n_alphas, n_strengths)."""
    grow_seed, view_seed = draw_seeds(seed, 2)
    train, test = rows.only(fold.train), rows.only(fold.test)
    structure = recipe.grow(train, grow_seed)
    tree = recipe.soften(structure.tree, train, view_seed)
    paths = shrunk_paths(tree, recipe.means(tree, train), choice, structure.strengths)
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


def shrunk_paths(
    tree: SoftTree, found: NodeValues, choice: Choice, strengths: Floats
) -> ShrunkPaths:
    """Tell what each node adds under each strength, and at which alpha it appears."""
    means, weights = found
    parents = parents_of(tree.left, tree.right)
    changes = means - means[np.maximum(parents, 0)]
    changes[0] = means[0]
    # a node is there where alpha is below its parent's strength
    steps = np.searchsorted(-choice.alphas, -strengths[np.maximum(parents, 0)], side="right")
    steps[0] = 0
    factors = shrinkage_factors(weights, parents, choice.strengths)
    return ShrunkPaths(changes, factors, steps.astype(np.int64), len(choice.alphas))


def shrunk_values(tree: SoftTree, found: NodeValues, strength: float) -> NodeValues:
    """Draw the means of all nodes towards their parents'."""
    means, weights = found
    parents = parents_of(tree.left, tree.right)
    factors = shrinkage_factors(weights, parents, np.array([strength]))
    values = means.copy()
    for node in range(1, len(values)):  # parents come first
        if factors[node, 0] < 1.0:
            change = means[node] - means[parents[node]]
            values[node] = values[parents[node]] + factors[node, 0] * change
    return NodeValues(values, weights)
