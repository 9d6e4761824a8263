"""Splits and pruning by an ensemble, weighted views, boosting and samplers, in inner trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limit
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.inner import (
    InnerEnsemble,
    InnerTreeClassifier,
    InnerTreeRegressor,
    TreeRows,
    TreeSettings,
    ViewSampler,
    predict_soft,
    pruned,
    rows_at_splits,
)
from ensemblage.inner._tree_decisions import (
    PruningMeasure,
    SplitMeasure,
    SplitSearch,
    candidate_at,
    candidate_splits,
    side_losses,
    splits_kept_by_views,
    weigh_by_residual,
)
from ensemblage.inner._tree_growth import CRITERIA
from ensemblage.inner._tree_kernels import GINI
from ensemblage.persistence import load, save
from inner.trees import drawn_rows, grown, stump, targets
from reference import inner_boosting, inner_tree

COMBINED = ["mean", "median", "vote", "boosting"]
KINDS = ["gini", "entropy", "squared_error", "poisson"]
SAMPLER = ViewSampler(4, 0.6, random_state=0)
OPTIONS = {
    "splits": {"split": "ensemble"},
    "pruning": {"prune": "ensemble"},
    "both, weighted": {"split": "ensemble", "prune": "ensemble", "views": "weighted"},
    "weighted": {"views": "weighted"},
    "boosted": {"split": "ensemble", "combine": "boosting", "n_views": 3},
    "boosted pruning": {"prune": "ensemble", "combine": "boosting"},
    "voted": {"split": "ensemble", "prune": "ensemble", "combine": "vote"},
    "sampled": {"sampler": SAMPLER},
    "sampled splits": {"sampler": SAMPLER, "split": "ensemble", "prune": "ensemble"},
}
DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": "bootstraps and folds are drawn among rows"
}


def bootstraps(seed, n_rows, n_views=4):
    rng = np.random.default_rng(seed)
    return np.stack([np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
                     for _ in range(n_views)])  # fmt: skip


def random_rows(seed, criterion, n_rows=24):
    """Draw continuous columns, one with missing values, and a target; weights differ."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)).astype(np.float32)
    y = X[:, 2] + rng.normal(size=n_rows)
    X[rng.random(n_rows) < 0.2, 2] = np.nan
    classes = 3 if criterion in KINDS[:2] else 0
    y = np.digitize(y, [-0.5, 0.5]) if classes else y - y.min() + 0.1 * (criterion == "poisson")
    return TreeRows(X, targets(y, rng.uniform(0.5, 2, n_rows), classes))


def target_of(rows):
    return rows.y.tolist(), rows.targets.weights, rows.targets.n_classes


def test_gains_and_a_choice_by_hand():
    # the Gini impurity of 2 + 2 rows is 2; the middle cut leaves 0, the others 4/3
    rows = TreeRows(np.arange(4.0, dtype=np.float32)[:, None], targets([0, 0, 1, 1], n_classes=2))
    (column,) = candidate_splits(rows, GINI, 1)
    assert column.cuts.tolist() == [0.5, 1.5, 2.5]
    measure = SplitMeasure(rows.targets, GINI)
    np.testing.assert_allclose(measure([column], np.ones(4)), [2 / 3, 2, 2 / 3])
    # of rows 0, 1, 1, 3 it is 4 - 10/4 = 3/2; the first cut leaves 3 - 5/3 = 4/3, the others 0
    views = np.array([[1, 1, 1, 1], [1, 2, 0, 1]], dtype=np.uint8)
    np.testing.assert_allclose(measure([column], views[1]), [1 / 6, 3 / 2, 3 / 2])
    found = SplitSearch(GINI, 1, "mean", weighted=False).best(rows, views.T)
    assert found[1:] == (0, 1.5, True)
    assert found.gain == pytest.approx(7 / 4)
    assert SplitSearch(GINI, 1, "vote", weighted=False).best(rows, views.T) == found
    assert SplitSearch(GINI, 3, "mean", weighted=False).best(rows, views.T).feature == -1


def test_losses_by_hand():
    sides = np.array([0, 0, 0, 1])
    by_class = side_losses(sides, targets([0, 0, 1, 1], n_classes=2), np.array([1, 1, 2, 0]))
    assert by_class.tolist() == [0.5, 0.5, 0.5, 1.0]  # nothing is known on the right
    by_mean = side_losses(sides, targets([0.0, 1.0, 5.0, 2.0]), np.ones(4))
    assert by_mean.tolist() == [2 / 3, 1 / 3, 1.0, 0.0]


def test_residuals_by_hand():
    # the views drew class 0 three times and class 1 once
    counts = np.array([[1, 1], [1, 0], [0, 1]], dtype=np.uint8)
    weighed = weigh_by_residual(targets([0, 0, 1], n_classes=2), counts)
    assert weighed.weights.tolist() == [0.25, 0.25, 0.75]
    weighed = weigh_by_residual(targets([1.0, 3.0, 3.0], [1, 2, 2]), counts)
    np.testing.assert_allclose(weighed.weights, [4 / 3, 4 / 3, 4 / 3])  # their mean is 7/3
    pure = targets([1, 1, 1], n_classes=2)
    assert weigh_by_residual(pure, counts) is pure
    assert (
        weigh_by_residual(targets([0.0, 1, 2]), np.zeros_like(counts)).weights.tolist() == [1] * 3
    )


def test_pruning_scores_by_hand():
    # the view has rows 0 and 2; with the split both sides say 2/3, without it both classes 1/2
    measure = PruningMeasure(targets([0, 0, 1, 1], n_classes=2), np.array([0, 0, 1, 1]))
    view = np.array([1.0, 0.0, 1.0, 0.0])
    np.testing.assert_allclose(measure(None, view), 2 * np.log([1 / 2, 2 / 3]))
    numeric = PruningMeasure(targets([0.0, 1.0, 4.0, 6.0]), np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(numeric(None, view), [-1 - 16, -1 - 4])


@pytest.mark.parametrize("combine", COMBINED)
@pytest.mark.parametrize("criterion", KINDS)
@given(seed=st.integers(0, 10_000))
@limit(max_examples=6)
def test_scores_of_splits_equal_the_slow_ones(criterion, combine, seed):
    rows, views = random_rows(seed, criterion), bootstraps(seed, 24)
    if combine in {"vote", "boosting"}:  # two columns may divide the drawn rows in the same way
        rows = rows._replace(X=rows.X[:, 2:])
    y, weights, classes = target_of(rows)
    candidates = candidate_splits(rows, CRITERIA[criterion], 3)
    slow = inner_tree.splits(rows.X, 3)
    if criterion == "poisson":  # no side without a target
        slow = [each for each in slow if min(sum(y[i] for i in side) for side in each[2]) > 0]
    places = [candidate_at(candidates, k) for k in range(sum(len(c.cuts) for c in candidates))]
    assert [(c.feature, c.cuts[k]) for c, k in places] == [each[:2] for each in slow]

    def score(view):
        own = weights * np.array(view)
        return inner_tree.split_gains(slow, own, y, classes, criterion)

    def losses(best, view):
        return inner_tree.predicted_losses(slow[best][2], weights * np.array(view), y, classes)

    alone = [score(view) for view in views]
    expected = {
        "mean": lambda: np.mean(alone, axis=0),
        "median": lambda: np.median(alone, axis=0),
        "vote": lambda: np.bincount([int(np.argmax(np.round(s, 9))) for s in alone],
                                    minlength=len(slow)),
        "boosting": lambda: inner_boosting.boosted(score, losses, views.tolist()),
    }[combine]()  # fmt: skip
    measure = SplitMeasure(rows.targets, CRITERIA[criterion])
    ensemble = InnerEnsemble(measure, lambda _: views.astype(np.uint8), combine)
    np.testing.assert_allclose(ensemble(candidates), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@given(seed=st.integers(0, 10_000))
@limit(max_examples=20)
def test_residuals_and_pruning_scores_equal_the_slow_ones(criterion, seed):
    rows, views = random_rows(seed, criterion), bootstraps(seed, 24)
    y, weights, classes = target_of(rows)
    weighed = weigh_by_residual(rows.targets, views.T)
    own = weights * inner_tree.residuals(weights, y, classes, views)
    np.testing.assert_allclose(weighed.weights, own)
    left = rows.X[:, 0] <= 0
    sides = [np.flatnonzero(left).tolist(), np.flatnonzero(~left).tolist()]
    measure = PruningMeasure(rows.targets, (~left).astype(np.intp))
    for drawn in views:
        expected = [inner_tree.out_of_view_score(each, weights, y, classes, drawn)
                    for each in ([range(24)], sides)]  # fmt: skip
        np.testing.assert_allclose(measure(None, drawn), expected)


@pytest.mark.parametrize("combine", COMBINED)
@pytest.mark.parametrize("criterion", KINDS)
@given(seed=st.integers(0, 10_000))
@limit(max_examples=6)
def test_a_single_view_of_all_rows_grows_scikit_learns_tree(criterion, combine, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    classes = 3 if criterion in KINDS[:2] else 0
    y = X[:, 0] + rng.normal(size=60)
    y = np.digitize(y, [-0.5, 0.5]) if classes else np.exp(y)
    weights = rng.uniform(0.5, 2, 60)  # no two partitions are equally good
    rows = TreeRows(X, targets(y, weights, classes))
    own = TreeSettings(criterion, 6, 2, 1, 0.0, split="ensemble", combine=combine,
                       drawn=np.ones((60, 1), dtype=np.uint8))  # fmt: skip
    tree, alphas = own.grow(rows, 0)
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    middle = float(np.median(alphas[tree.left >= 0]))
    for alpha in (0.0, middle * (1 + 1e-9)):  # between alphas that rounding moves
        theirs = kind(criterion=criterion, max_leaf_nodes=6, min_samples_leaf=2, random_state=0,
                      ccp_alpha=alpha).fit(X, y, weights)  # fmt: skip
        kept = pruned(tree, alphas, alpha)
        assert (kept.left < 0).sum() == theirs.get_n_leaves()
        leaves = predict_soft(kept, X, np.arange(float(len(kept.left)))[:, None]).ravel()
        assert len(set(zip(leaves, theirs.apply(X), strict=True))) == theirs.get_n_leaves()


@given(seed=st.integers(0, 10_000), combine=st.sampled_from(COMBINED), weighted=st.booleans())
@limit(max_examples=20)
def test_the_splits_that_stay_hang_together(seed, combine, weighted):
    X, y, _ = drawn_rows(seed, missing=0.0)
    rows, views = TreeRows(X, targets(y, n_classes=3)), bootstraps(seed, 40).T.astype(np.uint8)
    tree, _, _ = grown(X, y, 8)
    kept = splits_kept_by_views(tree, rows, views, combine, weighted)
    for node in np.flatnonzero(tree.left >= 0):
        children = [tree.left[node], tree.right[node]]
        assert kept[node] or not kept[children].any()
    assert not kept[tree.left < 0].any()
    alone = splits_kept_by_views(tree, rows, np.ones((40, 2), dtype=np.uint8), combine, weighted)
    assert not alone.any()  # no row is left to judge by


def test_views_keep_splits_that_lower_the_out_of_view_loss():
    X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    rows = TreeRows(X, targets((X[:, 1] > 0.3).astype(int), n_classes=2))
    views = bootstraps(0, 200, 15).T.astype(np.uint8)
    informative = stump([0.3])._replace(feature=np.array([1, -1, -1]))
    for combine in COMBINED:
        assert splits_kept_by_views(informative, rows, views, combine, weighted=False)[0]
        assert not splits_kept_by_views(stump([0.0]), rows, views, combine, weighted=False).any()


def test_rows_at_splits():
    X, y, _ = drawn_rows(0, missing=0.0)
    tree, _, found = grown(X, y, 5)
    sizes = {node: len(here) for node, here in rows_at_splits(tree, TreeRows(X, targets(y)))}
    assert sizes == {t: found.n_node_samples[t] for t in np.flatnonzero(tree.left >= 0)}


FEW = {"n_views": 3, "cv": 2, "max_leaf_nodes": 6}


@parametrize_with_checks(
    [
        InnerTreeClassifier(split="ensemble", prune="ensemble", views="weighted", **FEW),
        InnerTreeClassifier(split="ensemble", combine="boosting", sampler=SAMPLER, **FEW),
        InnerTreeRegressor(split="ensemble", prune="ensemble", combine="vote", **FEW),
        InnerTreeRegressor(prune="ensemble", combine="boosting", views="weighted", **FEW),
    ],
    expected_failed_checks=lambda _: DRAWN,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [InnerTreeClassifier(**{"n_views": 3, **each}) for each in OPTIONS.values()]
    + [InnerTreeRegressor(**{"n_views": 3, **each}) for each in OPTIONS.values()],
    expected_failed_checks=lambda _: DRAWN,
)
def test_scikit_learns_checks_of_each_option(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(
    ("kind", "data"), [(InnerTreeClassifier, load_iris), (InnerTreeRegressor, load_diabetes)]
)
def test_equal_bits_for_any_number_of_jobs_and_from_a_file(kind, data, name, tmp_path):
    X, y = data(return_X_y=True)
    X, y = X[::3], y[::3]
    settings = {"max_leaf_nodes": 4, "n_views": 4, "cv": 2, "random_state": 0}
    tree = kind(**{**settings, **OPTIONS[name]}).fit(X, y)
    again = kind(**{**settings, **OPTIONS[name]}, n_jobs=2).fit(X, y)
    for field in ("thresholds", "values", "weights"):
        assert getattr(tree.tree_, field).tobytes() == getattr(again.tree_, field).tobytes()
    assert tree.cv_loss_ == again.cv_loss_
    assert (tree.ccp_alpha_ is None) == (tree.prune == "ensemble")
    assert 2 <= tree.get_n_leaves() <= 4
    save(tree, tmp_path / "tree.skops")
    assert load(tmp_path / "tree.skops").model.predict(X).tolist() == tree.predict(X).tolist()


def test_views_of_a_sampler():
    X, y = load_iris(return_X_y=True)
    called = []

    def halves(n_rows):
        called.append(n_rows)
        return np.stack([np.arange(n_rows) % 2, 1 - np.arange(n_rows) % 2]) / 4

    weights = np.ones(150)
    weights[:10] = 0
    tree = InnerTreeClassifier(sampler=halves, random_state=0).fit(X, y, sample_weight=weights)
    assert called == [140]
    assert tree.tree_.thresholds.shape[1] == 2
    scaled = InnerTreeClassifier(sampler=lambda n: 8 * halves(n), random_state=0)
    scaled.fit(X, y, sample_weight=weights)
    assert (scaled.tree_.thresholds == tree.tree_.thresholds).all()  # only proportions count
    bits = InnerTreeClassifier(sampler=lambda n: np.ones((1, n)), split="ensemble", window=0,
                               shrinkage=0, max_leaf_nodes=3, random_state=0).fit(X, y)  # fmt: skip
    cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    assert (bits.predict_proba(X) == cart.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"combine": "boosting"}, ValueError, "combine='boosting' .* Set split='ensemble'"),
        ({"combine": "loudest", "split": "ensemble"}, ValueError, "'combine' parameter"),
        ({"views": "heavy"}, ValueError, "'views' parameter"),
        ({"split": "best"}, ValueError, "'split' parameter"),
        ({"prune": "no"}, ValueError, "'prune' parameter"),
        ({"sampler": 3}, ValueError, "'sampler' parameter"),
        ({"sampler": lambda n: np.ones((2, n + 1))}, ValueError, r"shape \(n_views, 150\)"),
        ({"sampler": lambda n: np.full((2, n), np.nan)}, ValueError, "finite"),
        ({"sampler": lambda n: -np.ones((2, n))}, ValueError, "not negative"),
        ({"sampler": lambda n: np.eye(2, n, -1)}, ValueError, "view 0 of 2 has none"),
        ({"sampler": lambda _: [["a"]]}, TypeError, "array of numbers"),
        ({"sampler": lambda n: np.ones((2, n)), "prune": "ensemble"}, ValueError, "rows outside"),
    ],
)
def test_bad_options_are_named(options, error, problem):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=problem):
        InnerTreeClassifier(**options).fit(X, y)
