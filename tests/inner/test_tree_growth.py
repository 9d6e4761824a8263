from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier

from ensemblage._core import DamagedStateError, Fold, draw_seeds
from ensemblage.inner import (
    InnerEnsemble,
    TreeRows,
    TreeSettings,
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
    FittedTree,
    ThresholdMeasure,
    fold_losses,
    harden,
    shrunk_values,
    thresholds_of_views,
)
from ensemblage.inner._tree_kernels import GINI
from inner.trees import MISSING, drawn_rows, grown, stump, targets
from reference.inner_tree import place

KINDS = ["gini", "entropy", "squared_error", "poisson"]
SETTINGS = TreeSettings("gini", 8, 1, n_views=5, window=0.25)


def growing(criterion, max_leaf_nodes, min_samples_leaf=1):
    return TreeSettings(criterion, max_leaf_nodes, min_samples_leaf, n_views=1, window=0.0)


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return TreeRows(X.astype(np.float32), targets(y, n_classes=2))


@pytest.mark.parametrize("alpha", [0.0, 0.004, 0.01, 0.1, 1.0])
def test_pruning_is_scikit_learns(rows, alpha):
    ours = pruned(*growing("gini", None).grow(rows, seed=3), alpha)
    theirs = DecisionTreeClassifier(random_state=3, ccp_alpha=alpha).fit(rows.X, rows.y).tree_
    assert (ours.left >= 0).sum() == (theirs.children_left >= 0).sum()
    # which row ends where: a value of its own for each leaf
    indices = np.arange(float(len(ours.left)))[:, None]
    leaves = predict_soft(ours, rows.X, indices).ravel()
    pairs = set(zip(leaves, theirs.apply(rows.X), strict=True))
    assert len(pairs) == theirs.n_leaves


def test_limits_hold(rows):
    tree, _ = growing("entropy", 5, 20).grow(rows, seed=0)
    assert (tree.left < 0).sum() == 5
    assert (tree.thresholds[tree.left < 0] == 0).all()


def test_regression_trees_are_grown():
    X, y = load_diabetes(return_X_y=True)
    rows = TreeRows(X.astype(np.float32), targets(y))
    tree, ccp_alphas = growing("squared_error", 4).grow(rows, seed=0)
    assert (tree.left >= 0).sum() == 3
    assert ccp_alphas[0] == ccp_alphas.max() > 0


def test_take_selects_rows(rows):
    some = rows.take(np.array([2, 5]))
    assert some.X.tolist() == rows.X[[2, 5]].tolist()
    assert some.y.tolist() == rows.y[[2, 5]].tolist()


def test_rows_of_a_fold_are_those_that_keep_their_weight(rows):
    places = np.arange(0, 569, 3)
    fold = rows.only(places)
    assert fold.X is rows.X
    assert fold.counted.tolist() == places.tolist()
    settings = growing("gini", 12, 2)
    ours, copied = (settings.grow(each, 4) for each in (fold, rows.take(places)))
    for field, other in zip((*ours[0], ours[1]), (*copied[0], copied[1]), strict=True):
        assert field.tolist() == other.tolist()


@pytest.fixture
def tree():
    values = np.array([[0.5, 0.5], [0.8, 0.2], [0.2, 0.8]])
    return FittedTree(*stump([1.0, 2.0, 4.0]), values, np.array([10.0, 5.0, 5.0]))


def test_predictions_sizes_and_importances(tree):
    X = np.array([[0.0], [1.5], [9.0]], dtype=np.float32)
    np.testing.assert_allclose(tree.predict(X)[:, 0], [0.8, 2 / 3 * 0.8 + 1 / 3 * 0.2, 0.2])
    assert tree.leaf_memberships(X)[1].tolist() == [1, 1, 2, 2]
    assert tree.is_leaf.tolist() == [False, True, True]
    assert tree.depths.tolist() == [0, 1, 1]
    assert tree.importances(2).tolist() == [1, 0]
    assert tree.harden().predict(X)[:, 0].tolist() == [0.8, 0.8, 0.2]
    tree._check_fitted()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"left": np.array([1, -1])}, "shape"),
        ({"left": np.array([0, -1, -1])}, "exactly one parent"),
        ({"left": np.array([2, -1, -1])}, "exactly one parent"),
        ({"left": np.array([7, -1, -1])}, "exactly one parent"),
        ({"left": np.array([-1, -1, -1])}, "incomplete"),
        ({"left": np.array([1.0, -1, -1])}, "no array of integer"),
        ({"right": np.array([-5, -1, -1])}, "below"),
        ({"feature": np.array([-1, -1, -1])}, "incomplete"),
        ({"missing_left": np.array([0, 0, 0])}, "truth"),
        ({"thresholds": np.array([[2.0, 1.0], [0, 0], [0, 0]])}, "not sorted"),
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


def test_an_uninformative_table_gives_a_root_with_its_alpha():
    X, _, rng = drawn_rows(0, n_rows=100)
    y = rng.integers(0, 2, size=100)
    rows = TreeRows(X, targets(y, n_classes=2))
    settings = TreeSettings("gini", 8, 1, 3, 0.25)
    tree, alpha, _, loss = learn_tree(rows, settings, (1.0,), cv=5, random_state=0)
    assert len(tree.left) == 1
    assert tree.values[0].tolist() == (np.bincount(y) / 100).tolist()
    assert 0 < alpha < 1
    assert loss == pytest.approx(np.log(2), abs=0.1)


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
    soft = thresholds_of_views(tree, rows, counts, 0.25, CRITERIA[criterion], min_rows)
    slow = place(listed, X.astype(float), y, weights, counts.T, 0.25, 3, criterion, min_rows)
    assert soft.thresholds[tree.left >= 0].tolist() == slow


@pytest.mark.parametrize("criterion", KINDS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_full_views_place_the_thresholds_of_the_tree(criterion, seed):
    X, y, rng = drawn_rows(seed, n_rows=120, missing=MISSING)
    y[0] = 1
    X += rng.normal(0, 0.3, size=X.shape).astype(np.float32)
    tree, _, _ = grown(X, y, 12, criterion)
    rows = TreeRows(X, targets(y, None, n_classes(criterion)))
    counts = np.ones((120, 3), dtype=np.uint8)
    soft = thresholds_of_views(tree, rows, counts, 0.25, CRITERIA[criterion], 1)
    assert (soft.thresholds == tree.thresholds).all()


def test_weights_are_copies():
    X, y, rng = drawn_rows(5)
    times = rng.integers(1, 4, size=len(y))
    every = np.repeat(np.arange(len(y)), times)
    tree, _, _ = grown(X[every], y[every], 6)
    views = rng.integers(0, 3, size=(len(y), 4)).astype(np.uint8)
    weighted = TreeRows(X, targets(y, times, 3))
    copied = TreeRows(X[every], targets(y[every], n_classes=3))
    one = thresholds_of_views(tree, weighted, views, 0.25, GINI, 1)
    other = thresholds_of_views(tree, copied, views[every], 0.25, GINI, 1)
    assert one.thresholds.tolist() == other.thresholds.tolist()


def test_an_inner_ensemble_chooses_the_roots_thresholds():
    X, y, _ = drawn_rows(1)
    tree, _, _ = grown(X, y, 2)
    rows = TreeRows(X, targets(y, n_classes=3))
    counts = draw_bootstraps(len(y), range(9))
    own = float(tree.thresholds[0, 0])
    x = X[:, tree.feature[0]]
    cuts = candidate_cuts(x, np.ones(len(y)), own, 0.25)
    bins = bins_of(x, cuts[0], tree.missing_left[0])
    measure = ThresholdMeasure(bins, rows.targets, GINI, 1)
    votes = InnerEnsemble(measure, lambda _: counts.T, "vote")(cuts)
    soft = thresholds_of_views(tree, rows, counts, 0.25, GINI, 1)
    assert np.repeat(cuts[0], votes.astype(int)).tolist() == soft.thresholds[0].tolist()
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
    soft = thresholds_of_views(tree, rows, draw_bootstraps(5, range(4)), 0.5, GINI, 1)
    assert (soft.thresholds[0] == np.inf).all()


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_rows_without_weight_are_ignored(criterion):
    X, y, rng = drawn_rows(3, n_rows=90)
    weights = rng.gamma(2.0, size=90)
    some = np.sort(rng.permutation(90)[:60])
    rows = TreeRows(X, targets(y, weights, n_classes(criterion)))
    tree, _, _ = grown(X[some], y[some], 8, criterion, weights[some])
    settings = TreeSettings(criterion, 8, 1, 6, 0.25)
    fold, copied = rows.only(some), rows.take(some)
    softs = [settings.place_thresholds(tree, each, 5) for each in (fold, copied)]
    assert softs[0].thresholds.tolist() == softs[1].thresholds.tolist()
    means = [settings.means(softs[0], each) for each in (fold, copied)]
    assert means[0][0].tolist() == means[1][0].tolist()
    assert means[0][1].tolist() == means[1][1].tolist()


@pytest.fixture
def drawn():
    X, y, _ = drawn_rows(4, n_rows=200)
    return TreeRows(X, targets(y, n_classes=3))


def test_alphas_fall_from_the_root_to_the_whole_tree(drawn):
    tree, ccp_alphas = SETTINGS.grow(drawn, 0)
    alphas = alpha_grid(tree, ccp_alphas)
    assert alphas[0] == np.inf
    assert alphas[-1] == 0
    assert (np.diff(alphas) < 0).all()
    sizes = [len(pruned(tree, ccp_alphas, alpha).left) for alpha in alphas]
    assert sizes[0] == 1
    assert (np.diff(sizes) > 0).all()


def test_losses_are_those_of_trees_pruned_and_shrunk_one_by_one(drawn):
    fold = Fold(np.arange(0, 150), np.arange(150, 200))
    alphas, strengths = alpha_grid(*SETTINGS.grow(drawn, 0)), np.array([10.0, 1.0])
    losses = fold_losses(drawn, fold, SETTINGS, alphas, strengths, seed=7)
    grow_seed, view_seed = draw_seeds(7, 2)
    train, test = drawn.take(fold.train), drawn.take(fold.test)
    own = SETTINGS.grow(train, grow_seed)
    for a, alpha in enumerate(alphas):
        # thresholds do not depend on what is pruned below
        soft = SETTINGS.place_thresholds(pruned(*own, alpha), train, view_seed)
        for s, strength in enumerate(strengths):
            values = shrunk_values(soft, *SETTINGS.means(soft, train), strength)
            found = predict_soft(soft, test.X, values)[np.arange(50), test.y]
            assert losses[a, s] == pytest.approx(-np.log(found).sum(), rel=1e-9)


def test_no_shrinkage_leaves_means_as_they_are(drawn):
    tree, _ = SETTINGS.grow(drawn, 0)
    means, weights = SETTINGS.means(tree, drawn)
    values = shrunk_values(tree, means, weights, 0.0)
    leaf = int(np.flatnonzero(tree.left < 0)[0])
    shares = predict_soft(tree, drawn.X, np.eye(len(weights)))[:, leaf] == 1
    expected = np.bincount(drawn.y[shares], minlength=3) / shares.sum()
    assert values[leaf].tolist() == expected.tolist()
    assert weights[leaf] == shares.sum()


def test_the_hard_threshold_is_the_median():
    assert harden(stump([1.0, 2.0, 3.0, 4.0])).thresholds[0].tolist() == [3.0]
    assert harden(stump([1.0, 2.0, 3.0])).thresholds[0].tolist() == [2.0]
