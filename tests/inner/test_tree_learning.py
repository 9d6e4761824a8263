import numpy as np
import pytest

from ensemblage.inner._tree_choice import FoldPlan, TreeRecipe
from ensemblage.inner._tree_learning import learn_tree
from ensemblage.inner._tree_structure import GrowthRule, TreeRows
from kernels.trees import drawn_rows, targets


def test_what_cannot_be_learned_is_a_root_with_its_alpha():
    X, _, rng = drawn_rows(0, n_rows=100)
    y = rng.integers(0, 2, size=100)
    rows = TreeRows(X, targets(y, n_classes=2))
    recipe = TreeRecipe(GrowthRule("gini", 8, 1), 3, 0.25, crisp=False)
    tree, chosen = learn_tree(rows, recipe, (1.0,), FoldPlan(5, None, 0, None))
    assert len(tree.left) == 1
    assert tree.values[0].tolist() == (np.bincount(y) / 100).tolist()
    assert 0 < chosen.alpha < 1
    assert chosen.loss == pytest.approx(np.log(2), abs=0.1)
