import numpy as np
import pytest

from ensemblage.inner._tree_choice import (
    Choice,
    TreeRecipe,
    alpha_grid,
    crisp,
    fold_losses,
    shrunk_values,
)
from ensemblage.inner._tree_structure import GrowthRule, TreeRows, grow_structure, pruned
from ensemblage.kernels import predict_softly
from ensemblage.parallel import Fold, draw_seeds
from kernels.trees import drawn_rows, stump, targets


@pytest.fixture
def rows():
    X, y, _ = drawn_rows(4, n_rows=200)
    return TreeRows(X, targets(y, n_classes=3))


RECIPE = TreeRecipe(GrowthRule("gini", 8, 1), n_views=5, window=0.25, crisp=False)


def test_alphas_fall_from_the_root_to_the_whole_tree(rows):
    structure = grow_structure(rows, RECIPE.growth, 0)
    alphas = alpha_grid(structure)
    assert alphas[0] == np.inf
    assert alphas[-1] == 0
    assert (np.diff(alphas) < 0).all()
    sizes = [len(pruned(structure, alpha).left) for alpha in alphas]
    assert sizes[0] == 1
    assert (np.diff(sizes) > 0).all()


def test_losses_are_those_of_trees_pruned_and_shrunk_one_by_one(rows):
    fold = Fold(np.arange(0, 150), np.arange(150, 200))
    structure = grow_structure(rows, RECIPE.growth, 0)
    choice = Choice(alpha_grid(structure), np.array([10.0, 1.0]))
    losses = fold_losses(rows, fold, RECIPE, choice, seed=7)
    grow_seed, view_seed = draw_seeds(7, 2)
    train, test = rows.at(fold.train), rows.at(fold.test)
    own = grow_structure(train, RECIPE.growth, grow_seed)
    for a, alpha in enumerate(choice.alphas):
        # thresholds do not depend on what is pruned below
        soft = RECIPE.soften(pruned(own, alpha), train, view_seed)
        for s, strength in enumerate(choice.strengths):
            values = shrunk_values(soft, RECIPE.means(soft, train), strength).values
            told = predict_softly(soft, test.X, values)[np.arange(50), test.y]
            assert losses[a, s] == pytest.approx(-np.log(told).sum(), rel=1e-9)


def test_no_shrinkage_leaves_means_as_they_are(rows):
    tree = grow_structure(rows, RECIPE.growth, 0).tree
    values, weights = shrunk_values(tree, RECIPE.means(tree, rows), 0.0)
    leaf = int(np.flatnonzero(tree.left < 0)[0])
    shares = predict_softly(tree, rows.X, np.eye(len(weights)))[:, leaf] == 1
    expected = np.bincount(rows.y[shares], minlength=3) / shares.sum()
    assert values[leaf].tolist() == expected.tolist()
    assert weights[leaf] == shares.sum()


def test_the_median_is_the_way_of_half_of_the_views():
    assert crisp(stump([1.0, 2.0, 3.0, 4.0])).thresholds[0].tolist() == [3.0]
    assert crisp(stump([1.0, 2.0, 3.0])).thresholds[0].tolist() == [2.0]
