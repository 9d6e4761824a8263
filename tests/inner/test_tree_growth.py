from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier

from ensemblage._core import DamagedStateError, Fold, draw_seeds
from ensemblage.inner import (
    FoldPlan,
    GrowthRule,
    InnerEnsemble,
    NodeValues,
    TreeRecipe,
    TreeRows,
    alpha_grid,
    bins_of,
    candidate_cuts,
    draw_bootstraps,
    learn_tree,
    predict_soft,
    pruned,
)
from ensemblage.inner._tree_growth import (
    CRITERIA,
    Choice,
    Crowd,
    FittedTree,
    ThresholdMeasure,
    fold_losses,
    grow_structure,
    harden,
    place_thresholds,
    shrunk_values,
)
from ensemblage.inner._tree_kernels import GINI, CutRule
from inner.trees import GAPS, drawn_rows, grown, stump, targets
from reference.inner_tree import place


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return TreeRows(X.astype(np.float32), targets(y, n_classes=2))


@pytest.mark.parametrize("alpha", [0.0, 0.004, 0.01, 0.1, 1.0])
def test_pruning_is_scikit_learns(rows, alpha):
    structure = grow_structure(rows, GrowthRule("gini", None, 1), seed=3)
    ours = pruned(structure, alpha)
    theirs = DecisionTreeClassifier(random_state=3, ccp_alpha=alpha).fit(rows.X, rows.y).tree_
    assert (ours.left >= 0).sum() == (theirs.children_left >= 0).sum()
    # which row ends where: values that tell the leaves apart
    numbers = np.arange(float(len(ours.left)))[:, None]
    leaves = predict_soft(ours, rows.X, numbers).ravel()
    pairs = set(zip(leaves, theirs.apply(rows.X), strict=True))
    assert len(pairs) == theirs.n_leaves


def test_limits_hold(rows):
    structure = grow_structure(rows, GrowthRule("entropy", 5, 20), seed=0)
    assert (structure.tree.left < 0).sum() == 5
    assert (structure.tree.thresholds[structure.tree.left < 0] == 0).all()


def test_numbers_are_grown_too():
    X, y = load_diabetes(return_X_y=True)
    rows = TreeRows(X.astype(np.float32), targets(y))
    structure = grow_structure(rows, GrowthRule("squared_error", 4, 1), seed=0)
    assert (structure.tree.left >= 0).sum() == 3
    assert structure.strengths[0] == structure.strengths.max() > 0


def test_some_of_the_rows(rows):
    some = rows.at(np.array([2, 5]))
    assert some.X.tolist() == rows.X[[2, 5]].tolist()
    assert some.y.tolist() == rows.y[[2, 5]].tolist()


def test_rows_of_a_fold_are_those_that_keep_their_weight(rows):
    places = np.arange(0, 569, 3)
    fold = rows.only(places)
    assert fold.X is rows.X
    assert fold.counted.tolist() == places.tolist()
    rule = GrowthRule("gini", 12, 2)
    ours, copied = (grow_structure(each, rule, 4) for each in (fold, rows.at(places)))
    for field, other in zip(ours.tree, copied.tree, strict=True):
        assert field.tolist() == other.tolist()
    assert ours.strengths.tolist() == copied.strengths.tolist()


@pytest.fixture
def tree():
    values = np.array([[0.5, 0.5], [0.8, 0.2], [0.2, 0.8]])
    return FittedTree.make(stump([1.0, 2.0, 4.0]), NodeValues(values, np.array([10.0, 5.0, 5.0])))


def test_what_it_says(tree):
    X = np.array([[0.0], [1.5], [9.0]], dtype=np.float32)
    np.testing.assert_allclose(tree.predict(X)[:, 0], [0.8, 2 / 3 * 0.8 + 1 / 3 * 0.2, 0.2])
    assert tree.leaf_memberships(X).leaves.tolist() == [1, 1, 2, 2]
    assert tree.is_leaf.tolist() == [False, True, True]
    assert tree.depths.tolist() == [0, 1, 1]
    assert tree.importances(2).tolist() == [1, 0]
    assert tree.harden().predict(X)[:, 0].tolist() == [0.8, 0.8, 0.2]
    tree._check_fitted()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"left": np.array([1, -1])}, "shape"),
        ({"left": np.array([0, -1, -1])}, "not one parent"),
        ({"left": np.array([2, -1, -1])}, "not one parent"),
        ({"left": np.array([7, -1, -1])}, "not one parent"),
        ({"left": np.array([-1, -1, -1])}, "not whole"),
        ({"left": np.array([1.0, -1, -1])}, "no array of integer"),
        ({"right": np.array([-5, -1, -1])}, "below"),
        ({"feature": np.array([-1, -1, -1])}, "not whole"),
        ({"missing_left": np.array([0, 0, 0])}, "truth"),
        ({"thresholds": np.array([[2.0, 1.0], [0, 0], [0, 0]])}, "ascend"),
        ({"thresholds": np.array([[np.nan, 1.0], [0, 0], [0, 0]])}, "finite"),
        ({"thresholds": np.zeros((3, 0))}, "no nodes"),
        ({"values": np.zeros((2, 2))}, "shape"),
        ({"weights": np.array([1.0, -1.0, 0.0])}, "below"),
    ],
)
def test_forged_nodes_are_refused(tree, changes, what):
    with pytest.raises(DamagedStateError, match=what):
        replace(tree, **changes)._check_fitted()


def test_loops_are_refused():
    nodes = np.array([3, 2, -1, -1, -1]), np.array([4, 1, -1, -1, -1])
    tree = FittedTree(
        *nodes, np.array([0, 0, -1, -1, -1]), np.zeros(5, bool), np.zeros((5, 1)),
        np.zeros((5, 1)), np.ones(5),
    )  # fmt: skip
    with pytest.raises(DamagedStateError, match="before its parent"):
        tree._check_fitted()


def test_what_cannot_be_learned_is_a_root_with_its_alpha():
    X, _, rng = drawn_rows(0, n_rows=100)
    y = rng.integers(0, 2, size=100)
    rows = TreeRows(X, targets(y, n_classes=2))
    recipe = TreeRecipe(GrowthRule("gini", 8, 1), 3, 0.25, hard_thresholds=False)
    tree, chosen = learn_tree(rows, recipe, (1.0,), FoldPlan(5, None, 0, None))
    assert len(tree.left) == 1
    assert tree.values[0].tolist() == (np.bincount(y) / 100).tolist()
    assert 0 < chosen.alpha < 1
    assert chosen.loss == pytest.approx(np.log(2), abs=0.1)


KINDS = ["gini", "entropy", "squared_error", "poisson"]


def n_classes(criterion):
    return 3 if criterion in {"gini", "entropy"} else 0


@pytest.mark.parametrize("criterion", KINDS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_thresholds_equal_the_slow_ones(criterion, seed):
    X, y, rng = drawn_rows(seed)
    y[0] = 1  # Poisson trees need something above zero
    weights = rng.gamma(2.0, size=len(y))  # so that no two cuts are equally good
    tree, listed, _ = grown(X, y, 5, criterion, weights)
    counts = draw_bootstraps(len(y), range(seed, seed + 4))
    rows = TreeRows(X, targets(y, weights, n_classes(criterion)))
    min_rows = 1 + seed % 3
    crowd = Crowd(counts, 0.25, CutRule(CRITERIA[criterion], min_rows))
    soft = place_thresholds(tree, rows, crowd)
    slow = place(listed, X.astype(float), y, weights, counts.T, 0.25, 3, criterion, min_rows)
    assert soft.thresholds[tree.left >= 0].tolist() == slow


@pytest.mark.parametrize("criterion", KINDS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_full_views_place_the_thresholds_of_the_tree(criterion, seed):
    X, y, rng = drawn_rows(seed, n_rows=120, missing=GAPS)
    y[0] = 1
    X += rng.normal(0, 0.3, size=X.shape).astype(np.float32)
    tree, _, _ = grown(X, y, 12, criterion)
    rows = TreeRows(X, targets(y, None, n_classes(criterion)))
    crowd = Crowd(np.ones((120, 3), dtype=np.uint8), 0.25, CutRule(CRITERIA[criterion], 1))
    soft = place_thresholds(tree, rows, crowd)
    assert (soft.thresholds == tree.thresholds).all()


def test_weights_are_copies():
    X, y, rng = drawn_rows(5)
    times = rng.integers(1, 4, size=len(y))
    every = np.repeat(np.arange(len(y)), times)
    tree, _, _ = grown(X[every], y[every], 6)
    views = rng.integers(0, 3, size=(len(y), 4)).astype(np.uint8)
    rule = CutRule(GINI, 1)
    weighted = TreeRows(X, targets(y, times, 3))
    copied = TreeRows(X[every], targets(y[every], n_classes=3))
    one = place_thresholds(tree, weighted, Crowd(views, 0.25, rule))
    other = place_thresholds(tree, copied, Crowd(views[every], 0.25, rule))
    assert one.thresholds.tolist() == other.thresholds.tolist()


def test_the_votes_of_an_inner_ensemble_are_the_roots_thresholds():
    X, y, _ = drawn_rows(1)
    tree, _, _ = grown(X, y, 2)
    rows = TreeRows(X, targets(y, n_classes=3))
    counts = draw_bootstraps(len(y), range(9))
    rule = CutRule(GINI, 1)
    own = float(tree.thresholds[0, 0])
    x = X[:, tree.feature[0]]
    cuts = candidate_cuts(x, np.ones(len(y)), own, 0.25)
    measure = ThresholdMeasure(bins_of(x, cuts.values, tree.missing_left[0]), rows.targets, rule)
    votes = InnerEnsemble(measure, lambda _: counts.T, "vote")(cuts)
    soft = place_thresholds(tree, rows, Crowd(counts, 0.25, rule))
    assert np.repeat(cuts.values, votes.astype(int)).tolist() == soft.thresholds[0].tolist()
    one = measure(cuts, counts[:, 0])
    assert one.tolist() == measure.score_views(cuts, counts.T)[0].tolist()


def test_bootstraps_have_as_many_draws_as_rows():
    counts = draw_bootstraps(50, [1, 2, 1])
    assert counts.sum(axis=0).tolist() == [50, 50, 50]
    assert counts[:, 0].tolist() == counts[:, 2].tolist() != counts[:, 1].tolist()


def test_a_split_on_missing_values_alone_stays():
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]], dtype=np.float32)
    y = np.array([0, 0, 0, 1, 1])
    tree, _, _ = grown(X, y, 2)
    assert tree.thresholds[0, 0] == np.inf
    rows = TreeRows(X, targets(y, n_classes=2))
    soft = place_thresholds(tree, rows, Crowd(draw_bootstraps(5, range(4)), 0.5, CutRule(GINI, 1)))
    assert (soft.thresholds[0] == np.inf).all()


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_rows_without_weight_are_not_there(criterion):
    X, y, rng = drawn_rows(3, n_rows=90)
    weights = rng.gamma(2.0, size=90)
    some = np.sort(rng.permutation(90)[:60])
    rows = TreeRows(X, targets(y, weights, n_classes(criterion)))
    tree, _, _ = grown(X[some], y[some], 8, criterion, weights[some])
    recipe = TreeRecipe(GrowthRule(criterion, 8, 1), 6, 0.25, hard_thresholds=False)
    fold, copied = rows.only(some), rows.at(some)
    softs = [recipe.soften(tree, each, 5) for each in (fold, copied)]
    assert softs[0].thresholds.tolist() == softs[1].thresholds.tolist()
    means = [recipe.means(softs[0], each) for each in (fold, copied)]
    assert means[0].values.tolist() == means[1].values.tolist()
    assert means[0].weights.tolist() == means[1].weights.tolist()


@pytest.fixture
def rows_tree_choice():
    X, y, _ = drawn_rows(4, n_rows=200)
    return TreeRows(X, targets(y, n_classes=3))


RECIPE = TreeRecipe(GrowthRule("gini", 8, 1), n_views=5, window=0.25, hard_thresholds=False)


def test_alphas_fall_from_the_root_to_the_whole_tree(rows_tree_choice):
    structure = grow_structure(rows_tree_choice, RECIPE.growth, 0)
    alphas = alpha_grid(structure)
    assert alphas[0] == np.inf
    assert alphas[-1] == 0
    assert (np.diff(alphas) < 0).all()
    sizes = [len(pruned(structure, alpha).left) for alpha in alphas]
    assert sizes[0] == 1
    assert (np.diff(sizes) > 0).all()


def test_losses_are_those_of_trees_pruned_and_shrunk_one_by_one(rows_tree_choice):
    fold = Fold(np.arange(0, 150), np.arange(150, 200))
    structure = grow_structure(rows_tree_choice, RECIPE.growth, 0)
    choice = Choice(alpha_grid(structure), np.array([10.0, 1.0]))
    losses = fold_losses(rows_tree_choice, fold, RECIPE, choice, seed=7)
    grow_seed, view_seed = draw_seeds(7, 2)
    train, test = rows_tree_choice.at(fold.train), rows_tree_choice.at(fold.test)
    own = grow_structure(train, RECIPE.growth, grow_seed)
    for a, alpha in enumerate(choice.alphas):
        # thresholds do not depend on what is pruned below
        soft = RECIPE.soften(pruned(own, alpha), train, view_seed)
        for s, strength in enumerate(choice.strengths):
            values = shrunk_values(soft, RECIPE.means(soft, train), strength).values
            told = predict_soft(soft, test.X, values)[np.arange(50), test.y]
            assert losses[a, s] == pytest.approx(-np.log(told).sum(), rel=1e-9)


def test_no_shrinkage_leaves_means_as_they_are(rows_tree_choice):
    tree = grow_structure(rows_tree_choice, RECIPE.growth, 0).tree
    values, weights = shrunk_values(tree, RECIPE.means(tree, rows_tree_choice), 0.0)
    leaf = int(np.flatnonzero(tree.left < 0)[0])
    shares = predict_soft(tree, rows_tree_choice.X, np.eye(len(weights)))[:, leaf] == 1
    expected = np.bincount(rows_tree_choice.y[shares], minlength=3) / shares.sum()
    assert values[leaf].tolist() == expected.tolist()
    assert weights[leaf] == shares.sum()


def test_the_median_is_the_way_of_half_of_the_views():
    assert harden(stump([1.0, 2.0, 3.0, 4.0])).thresholds[0].tolist() == [3.0]
    assert harden(stump([1.0, 2.0, 3.0])).thresholds[0].tolist() == [2.0]
