import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from ensemblage.inner import (
    bin_sums,
    bins_of,
    candidate_cuts,
    predict_soft,
    pruning_alphas,
)
from ensemblage.inner._tree_kernels import (
    ENTROPY,
    GINI,
    POISSON,
    SQUARED,
    count_draws,
    cut_gains,
    leaf_memberships,
    node_means,
    node_sums,
    parents_of,
    rows_of_side,
    shrinkage_factors,
    shrunk_losses,
    views_right,
)
from inner.trees import MISSING, drawn_rows, grown, stump, targets
from reference.inner_tree import cuts_in_window, impurity, memberships, predict, weakest_links

CRITERIA = {"gini": GINI, "entropy": ENTROPY, "squared_error": SQUARED, "poisson": POISSON}


X = np.array([[0.0], [1.0], [1.5], [5.0], [np.nan]], dtype=np.float32)
STRENGTHS = np.array([0.0, 3.0])


def float32(*values):
    return np.array(values, dtype=np.float32)


def test_cuts_by_hand():
    x = float32(1, 2, 2, 4, 8, 9, np.nan, 10)
    # seven known rows, four of them below 5: ranks 4 +- 1.75 are those of 4 | 8 and 8 | 9
    cuts, own = candidate_cuts(x, np.ones(8), own=5.0, window=0.25)
    assert cuts.tolist() == [3.0, 5.0, 8.5]
    assert own == 1


def test_no_window_leaves_the_trees_own_cut():
    cuts, _ = candidate_cuts(float32(1, 2, 3), np.ones(3), own=1.5, window=0.0)
    assert cuts.tolist() == [1.5]


def test_values_that_scikit_learn_treats_as_equal_are_not_separated():
    cuts, _ = candidate_cuts(float32(0, 1e-8, 1, 2), np.ones(4), own=0.5, window=1.0)
    assert cuts.tolist() == [0.5, 1.5]


@pytest.mark.parametrize("x", [[], [np.nan, np.nan], [3.0]])
def test_no_cut_of_a_constant_or_missing_column(x):
    cuts, _ = candidate_cuts(float32(*x), np.ones(len(x)), own=2.0, window=0.5)
    assert cuts.tolist() == [2.0]


@given(st.integers(0, 10_000))
def test_many_cuts_are_thinned_to_a_byte(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=2000).astype(np.float32)
    own = float(rng.choice(x[x < x.max()]))
    cuts, place = candidate_cuts(x, rng.gamma(1.0, size=2000), own, window=0.4)
    assert len(cuts) <= 255
    assert (np.diff(cuts) > 0).all()
    assert cuts[place] == own


@given(st.integers(0, 10_000), st.floats(0, 1))
@example(1040, 0.6666666666666616)
def test_cuts_equal_the_slow_ones(seed, window):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 12, size=30).astype(np.float32)
    x[rng.random(30) < 0.2] = np.nan
    weights = rng.integers(1, 4, size=30).astype(float)
    slow = cuts_in_window(x.tolist(), weights, 5.5, window)
    fast, _ = candidate_cuts(x, weights, 5.5, window)
    assert fast.tolist() == sorted([*slow, 5.5])


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_rows_of_one_weight_are_ranked_as_rows_of_any(seed, window):
    """Only the former are sorted without their places."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=600) * 10).round(seed % 4).astype(np.float32)
    x[rng.random(600) < 0.1] = np.nan
    x[0] = np.inf
    ones = candidate_cuts(x, np.ones(600), 1.5, window)
    twos = candidate_cuts(x, np.full(600, 2.0), 1.5, window)
    assert ones[1] == twos[1]
    assert ones[0].tolist() == twos[0].tolist()


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_bins_count_the_cuts_below(seed, n_cuts):
    rng = np.random.default_rng(seed)
    cuts = np.unique(rng.integers(-99, 99, size=n_cuts) / 2)
    x = float32(*rng.integers(-50, 50, size=40), -np.inf, np.inf)
    assert bins_of(x, cuts, True).tolist() == np.searchsorted(cuts, x).tolist()


def test_draws_are_counted_up_to_a_byte():
    drawn = np.array([1, 3, 1] + [2] * 300, dtype=np.uint32)
    for kernel in (count_draws, count_draws.python):
        counts = np.zeros(4, dtype=np.uint8)
        kernel(drawn, counts)
        assert counts.tolist() == [0, 2, 255, 1]


def test_bins_by_hand():
    cuts = np.array([1.0, 2.0])
    x = float32(0, 1, 1.5, 2, 3, np.nan)
    for kernel in (bins_of, bins_of.python):
        assert kernel(x, cuts, True).tolist() == [0, 0, 1, 1, 2, 0]
        assert kernel(x, cuts, False).tolist() == [0, 0, 1, 1, 2, 2]


def test_gains_by_hand():
    """Rows a a b b in four bins; the second view has drawn the third row only, thrice."""
    bins = np.array([0, 1, 2, 3], dtype=np.uint8)
    counts = np.array([[1, 0], [1, 0], [1, 3], [1, 0]], dtype=np.uint8)
    labels = targets([0, 0, 1, 1], n_classes=2)
    for sum_up, judge in ((bin_sums, cut_gains), (bin_sums.python, cut_gains.python)):
        sums = sum_up(bins, counts, labels, 4)
        assert sums[:, 0].tolist() == counts.tolist()
        assert sums[:, 2].tolist() == [[0, 0], [0, 0], [1, 3], [1, 0]]
        gains = judge(sums, 0, GINI, 1)
        # 1 + (1 + 4) / 3 of the own cut, against 2 + 2 of the pure one and 5 / 3 + 1
        np.testing.assert_allclose(gains[0], [0, 4 - 8 / 3, -np.inf])
        np.testing.assert_allclose(gains[1], [0, -np.inf, -np.inf])
        assert judge(sums, 0, GINI, 3)[0].tolist() == [0, -np.inf, -np.inf]


@pytest.mark.parametrize("criterion", CRITERIA)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_gains_are_what_the_impurity_falls_by(criterion, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=12)
    weights = rng.gamma(2.0, size=12)
    counts = rng.integers(0, 3, size=(12, 4)).astype(np.uint8)
    bins = rng.integers(0, 6, size=12).astype(np.uint8)
    n_classes = 0 if criterion in {"squared_error", "poisson"} else 3
    sums = bin_sums(bins, counts, targets(y, weights, n_classes), 6)
    gains = cut_gains(sums, 2, CRITERIA[criterion], 1)
    for e in range(4):
        drawn = weights * counts[:, e]

        def cost(cut, drawn=drawn):
            sides = np.flatnonzero(bins <= cut), np.flatnonzero(bins > cut)
            return sum(impurity(side, drawn, y, 3, criterion) for side in sides)

        for cut in range(5):
            if np.isfinite(gains[e, cut]):
                assert gains[e, cut] == pytest.approx(cost(2) - cost(cut), abs=1e-9)
            else:
                left = counts[bins <= cut, e].sum()
                empty = min(left, counts[:, e].sum() - left) == 0
                some = counts[:, e] * y
                zero = min(some[bins <= cut].sum(), some[bins > cut].sum()) == 0
                assert empty or (criterion == "poisson" and zero) or cost(cut) > cost(2) - 1e-9


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_a_row_drawn_twice_is_two_rows_and_a_weight_of_two(seed):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 5, size=20).astype(np.uint8)
    y = rng.integers(0, 2, size=20)
    times = rng.integers(1, 4, size=20)
    every = np.repeat(np.arange(20), times)
    ones = np.ones((len(every), 1), dtype=np.uint8)
    copies = cut_gains(bin_sums(bins[every], ones, targets(y[every], n_classes=2), 5), 1, GINI, 1)
    drawn = times[:, None].astype(np.uint8)
    counted = cut_gains(bin_sums(bins, drawn, targets(y, n_classes=2), 5), 1, GINI, 1)
    weighted = cut_gains(bin_sums(bins, ones[:20], targets(y, times, 2), 5), 1, GINI, 1)
    assert copies.tolist() == counted.tolist() == weighted.tolist()


def test_rows_go_where_their_views_send_them():
    bins = np.array([0, 1, 2], dtype=np.uint8)
    counts = np.array([[1, 0], [2, 1], [1, 1]], dtype=np.uint8)
    chosen = np.array([0, 1])  # the views differ on the middle row
    for kernel in (rows_of_side, rows_of_side.python):
        left, right = kernel(bins, counts, chosen, True), kernel(bins, counts, chosen, False)
        assert [each.tolist() for each in left] == [[0, 1], [[1, 0], [0, 1]]]
        assert [each.tolist() for each in right] == [[1, 2], [[2, 0], [1, 1]]]


@given(st.integers(0, 10_000))
def test_no_draw_is_lost_on_the_way(seed):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 5, size=30).astype(np.uint8)
    counts = rng.integers(0, 3, size=(30, 4)).astype(np.uint8)
    counts[:, 0] += counts.sum(axis=1) == 0
    chosen = rng.integers(0, 4, size=4)
    total = np.zeros_like(counts)
    for side in (True, False):
        places, kept = rows_of_side(bins, counts, chosen, side)
        total[places] += kept
    assert (total == counts).all()


def soft(tree, rng, n_views=5):
    """Spread the thresholds of a tree."""
    spread = rng.integers(-2, 3, size=(len(tree.left), n_views))
    return tree._replace(thresholds=np.sort(tree.thresholds + spread, axis=1))


def test_shares_by_hand():
    thresholds = np.array([1.0, 1.0, 2.0, 4.0])
    for kernel in (views_right, views_right.python):
        assert [kernel(thresholds, x, False) for x in (0.0, 1.0, 1.5, 3.0, 4.0, 5.0)] == [
            0, 0, 2, 3, 3, 4
        ]  # fmt: skip
        assert kernel(thresholds, np.nan, True) == 0
        assert kernel(thresholds, np.nan, False) == 4


def test_sums_predictions_and_memberships_by_hand():
    tree = stump([1.0, 1.0, 2.0, 4.0])
    y = targets([0, 0, 1, 1, 1], weights=[1, 1, 2, 1, 1], n_classes=2)
    for kernel in (node_sums, node_sums.python):
        assert kernel(tree, X, y).tolist() == [[2, 4], [2, 1], [0, 3]]
        as_numbers = kernel(tree, X, targets([0, 0, 1, 1, 1], weights=[1, 1, 2, 1, 1]))
        assert as_numbers.tolist() == [[6, 4], [3, 1], [3, 3]]
    values = np.array([[9.0], [0.0], [1.0]])
    for kernel in (predict_soft, predict_soft.python):
        assert kernel(tree, X, values).ravel().tolist() == [0, 0, 0.5, 1, 1]
    for kernel in (leaf_memberships, leaf_memberships.python):
        starts, leaves, shares = kernel(tree, X)
        assert starts.tolist() == [0, 1, 2, 4, 5, 6]
        assert leaves.tolist() == [1, 1, 1, 2, 2, 2]
        assert shares.tolist() == [1, 1, 0.5, 0.5, 1, 1]


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_memberships_equal_the_slow_ones_and_add_up_to_one(seed):
    rows, y, rng = drawn_rows(seed)
    tree, listed, _ = grown(rows, y, leaves=7)
    tree = soft(tree, rng)
    starts, leaves, shares = leaf_memberships(tree, rows)
    sums = node_sums(tree, rows, targets(y, n_classes=3))
    slow = np.array([memberships(listed, tree.thresholds, x) for x in rows.astype(float)])
    np.testing.assert_allclose(sums.sum(axis=1), slow.sum(axis=0), atol=1e-9)
    for i in range(len(rows)):
        own = slice(starts[i], starts[i + 1])
        assert shares[own].sum() == pytest.approx(1.0)
        assert len(set(leaves[own])) == len(leaves[own])
        np.testing.assert_allclose(shares[own], slow[i][leaves[own]], atol=1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_equal_thresholds_are_scikit_learns_tree(seed):
    rows, y, _ = drawn_rows(seed, missing=MISSING)
    tree, _, theirs = grown(rows, y, leaves=6)
    tree = tree._replace(thresholds=np.repeat(tree.thresholds, 4, axis=1))
    sums = node_sums(tree, rows, targets(y, n_classes=3))[:, np.unique(y)]
    values = sums / sums.sum(axis=1, keepdims=True)
    assert (values == theirs.value[:, 0]).all()
    assert (predict_soft(tree, rows, values) == theirs.predict(rows).reshape(len(rows), -1)).all()


def test_shrunk_losses_by_hand():
    """Of ten rows, six to four, the left leaf is 1 : 0; at strength 10 it moves half the way."""
    tree = stump([1.0, 2.0])
    changes = np.array([[0.6, 0.4], [0.4, -0.4], [-0.6, 0.6]])
    factors = shrinkage_factors(
        np.array([10.0, 6.0, 4.0]), parents_of(tree.left, tree.right), np.array([0.0, 10.0])
    )
    assert factors[1].tolist() == [1.0, 0.5]
    paths = changes, factors, np.array([0, 1, 1]), 2
    row = np.array([[1.5]], dtype=np.float32)
    for kernel in (shrunk_losses, shrunk_losses.python):
        losses = kernel(tree, row, targets([0], n_classes=2), *paths)
        expected = [[0.6, 0.6], [0.6 - 0.1, 0.6 - 0.05]]  # half of the row on each side
        np.testing.assert_allclose(losses, -np.log(expected))
        squared = kernel(tree, row, targets([1.0]), *paths)
        np.testing.assert_allclose(squared, (np.array(expected) - 1) ** 2)


def test_an_empty_node_has_its_parents_mean():
    means, weights = node_means(stump([1.0]), np.array([[1.0, 3.0], [1.0, 3.0], [0.0, 0.0]]), True)
    assert means.tolist() == [[0.25, 0.75]] * 3
    assert weights.tolist() == [4, 4, 0]


def test_the_log_loss_is_bounded():
    tree = stump([1.0])
    changes = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    paths = changes, np.ones((3, 1)), np.array([0, 1, 1]), 2
    row = np.array([[0.0]], dtype=np.float32)
    losses = shrunk_losses(tree, row, targets([1], n_classes=2), *paths)
    np.testing.assert_allclose(losses, -np.log(np.finfo(float).eps))


@pytest.mark.parametrize("n_classes", [0, 3])
@given(seed=st.integers(0, 10_000))
@example(seed=137)  # a node without rows
@settings(max_examples=20)
def test_equals_the_slow_walk_over_pruned_trees(n_classes, seed):
    X, y, rng = drawn_rows(seed)
    tree, listed, _ = grown(X, y, leaves=6)
    spread = rng.integers(-2, 3, size=(len(tree.left), 4))
    tree = tree._replace(thresholds=np.sort(tree.thresholds + spread, axis=1))
    rows = targets(y, rng.gamma(2.0, size=len(y)), n_classes)
    means, weights = node_means(tree, node_sums(tree, X, rows), n_classes > 0)
    parents = parents_of(tree.left, tree.right)
    changes = means - means[np.maximum(parents, 0)]
    changes[0] = means[0]
    # prune from the last node on: what is inner at step s has a number below s
    inner = np.flatnonzero(tree.left >= 0)
    steps = np.array([0, *(1 + np.searchsorted(inner, parents[1:]))])
    factors = shrinkage_factors(weights, parents, STRENGTHS)
    losses = shrunk_losses(tree, X, rows, changes, factors, steps, len(inner) + 1)
    for step in range(len(inner) + 1):
        pruned = set(inner[step:].tolist())
        for s, strength in enumerate(STRENGTHS):
            total = 0.0
            for x, label, weight in zip(X.astype(float), y, rows.weights, strict=True):
                shares = memberships(listed, tree.thresholds, x)
                predicted = predict(listed, means, weights, strength, pruned, shares)
                if n_classes:
                    total -= weight * np.log(max(predicted[label], np.finfo(float).eps))
                else:
                    total += weight * (predicted[0] - label) ** 2
            assert losses[step, s] == pytest.approx(total, rel=1e-9)


def costed(found):
    costs = found.impurity * found.weighted_n_node_samples / found.weighted_n_node_samples[0]
    return found.children_left, found.children_right, costs


def test_weakest_links_by_hand():
    """Node 2 saves .1 for one leaf; then the root saves .4 for one, as all below is gone."""
    left, right, costs = (
        np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1]),
        np.array([1.0, 0.2, 0.4, 0.1, 0.2]),
    )  # fmt: skip
    np.testing.assert_allclose(pruning_alphas(left, right, costs), [0.4, 0, 0.1, 0, 0])
    assert parents_of(left, right).tolist() == [-1, 0, 0, 2, 2]


def test_a_root_weaker_than_what_is_below_takes_it_along():
    left, right, costs = (
        np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1]),
        np.array([1.0, 0.5, 0.5, 0.0, 0.0]),
    )  # fmt: skip
    np.testing.assert_allclose(pruning_alphas(left, right, costs), [0.25, 0, 0.25, 0, 0])


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_equals_the_slow_search_and_never_falls_towards_the_root(seed):
    X, y, _ = drawn_rows(seed)
    _, listed, found = grown(X, y, leaves=9)
    left, right, costs = costed(found)
    alphas = pruning_alphas(left, right, costs)
    slow = weakest_links(listed, costs)
    np.testing.assert_allclose(alphas[list(slow)], list(slow.values()), atol=1e-12)
    parents = parents_of(left, right)
    assert (alphas[1:] <= alphas[parents[1:]]).all()


def test_the_alphas_are_scikit_learns():
    X, y = load_breast_cancer(return_X_y=True)
    grower = DecisionTreeClassifier(random_state=0)
    path = grower.cost_complexity_pruning_path(X, y).ccp_alphas
    ours = pruning_alphas(*costed(grower.fit(X, y).tree_))
    assert np.unique(ours.round(12)).tolist() == np.unique(path.round(12)).tolist()
