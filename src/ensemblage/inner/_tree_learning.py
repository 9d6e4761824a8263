"""From rows to a fitted tree: grow, choose by folds, prune, soften, shrink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ensemblage.inner._fitted_tree import FittedTree
from ensemblage.inner._tree_choice import (
    Choice,
    Chosen,
    FoldPlan,
    TreeRecipe,
    alpha_grid,
    choose,
    shrunk_values,
)
from ensemblage.inner._tree_structure import TreeRows, pruned
from ensemblage.parallel import draw_seeds


class Learned(NamedTuple):
    """A tree, and what was chosen for it; a root alone has the alpha that made it one."""

    tree: FittedTree
    chosen: Chosen


def learn_tree(
    rows: TreeRows, recipe: TreeRecipe, strengths: Sequence[float], plan: FoldPlan
) -> Learned:
    """Learn a tree; growth, folds and views have seeds of their own."""
    grow_seed, fold_seed, view_seed = draw_seeds(plan.seed, 3)
    structure = recipe.grow(rows, grow_seed)
    choice = Choice(alpha_grid(structure), np.array(strengths, dtype=np.float64))
    chosen = choose(rows, recipe, choice, plan._replace(seed=fold_seed))
    tree = recipe.soften(pruned(structure, chosen.alpha), rows, view_seed)
    values = shrunk_values(tree, recipe.means(tree, rows), chosen.strength)
    alpha = min(chosen.alpha, float(structure.strengths[0]))
    return Learned(FittedTree.make(tree, values), chosen._replace(alpha=alpha))
