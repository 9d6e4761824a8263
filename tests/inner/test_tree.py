from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage._core import DamagedStateError, draw_seeds
from ensemblage.inner import (
    BaseInnerTree,
    InnerTreeClassifier,
    InnerTreeRegressor,
    TreeNames,
    as_text,
    outline,
)
from ensemblage.inner._tree import as_dot, distinct_texts, follow_row
from ensemblage.inner._tree_growth import FittedTree
from inner.trees import stump

VALUES = np.array([[0.5, 0.5], [0.998, 0.002], [0.25, 0.75]])
WEIGHTS = np.array([90.0, 5.5, 84.5])
NAMES = TreeNames(['petal "width"'], ["a", "b"])


ROWS = np.random.default_rng(0).normal(size=(60, 3))
AWKWARD = {
    "constant columns": np.ones((60, 3)),
    "one column": ROWS[:, :1],
    "two rows": ROWS[:2],
    "three rows": ROWS[:3],
    "a column all missing": np.column_stack([ROWS, np.full(60, np.nan)]),
    "nothing known": np.full((60, 2), np.nan),
    "float32": ROWS.astype(np.float32),
    "as large as can be": ROWS * 1e37,
    "too small to tell apart": ROWS * 1e-300,
    "copies": np.repeat(ROWS[:4], 15, axis=0),
}
DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": "bootstraps and folds are drawn among rows"
}


def test_a_path_by_hand():
    values = np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    tree = FittedTree(*stump([1.0, 2.0, 3.0, 4.0]), values, np.ones(3))
    path = follow_row(tree, np.array([1.5], dtype=np.float32), TreeNames(["age"], ["a", "b"]))
    (step,) = path.steps
    assert step[:10] == (0, "age", "age <= 3", 1.5, 3.0, 1.0, 4.0, 1.0, 0.75, 0.75)
    np.testing.assert_allclose(step.contribution, [0.2, -0.2])  # 3/4 of .4 up, 1/4 of .4 down
    assert path.leaves == {1: 0.75, 2: 0.25}
    np.testing.assert_allclose(path.prediction, [0.7, 0.3])


@pytest.mark.parametrize(
    ("estimator", "load"),
    [
        (InnerTreeClassifier(random_state=0), load_iris),
        (InnerTreeRegressor(random_state=0), load_diabetes),
    ],
)
def test_contributions_add_up_to_the_prediction(estimator, load):
    X, y = load(return_X_y=True)
    tree = estimator.fit(X, y)
    predicted = (
        tree.predict_proba(X) if hasattr(tree, "predict_proba") else tree.predict(X)[:, None]
    )
    for i in range(0, len(X), 10):
        path = tree.explain(X[i])
        np.testing.assert_allclose(path.prediction, predicted[i], rtol=1e-12)
        assert sum(path.leaves.values()) == pytest.approx(1.0)


def test_a_category_is_on_the_right_side():
    values = np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    tree = FittedTree(*stump([0.5, 0.5]), values, np.ones(3))
    names = TreeNames(["thal = normal"], ["a", "b"], ["normal"])
    (step,) = follow_row(tree, np.array([1.0], dtype=np.float32), names).steps
    assert (step.condition, step.left, step.yes) == ("thal is normal", 0.0, 1.0)


def test_one_row_at_a_time():
    X, y = load_iris(return_X_y=True)
    tree = InnerTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="`x` has 2 rows"):
        tree.explain(X[:2])


def test_text_by_hand():
    tree = FittedTree(*stump([2.3, 2.45, 2.6]), VALUES, WEIGHTS)
    assert as_text(tree, NAMES).splitlines() == [
        'petal "width" <= 2.45 (views: 2.3 to 2.6)   [90 rows]',
        "├─ yes: a 100%   [5.5 rows]",
        "└─ no: b 75%, a 25%   [84 rows]",
    ]


def test_text_of_a_regression_tree_with_hard_thresholds():
    tree = FittedTree(*stump([2.45]), np.array([[0.0], [12345.6], [2.0]]), WEIGHTS)
    lines = as_text(tree, TreeNames(["age"], [])).splitlines()
    assert lines[:2] == ["age <= 2.45   [90 rows]", "├─ yes: 12346   [5.5 rows]"]


def test_thresholds_have_enough_digits_to_differ():
    assert distinct_texts(1.00001, 1.0, 1.00002) == ("1.00001", "1", "1.00002")
    assert distinct_texts(2.0, 2.0, 2.0) == ("2", "2", "2")


def test_numbers_have_no_exponent():
    assert distinct_texts(59410.0, 40161.0, 59425.5) == ("59410", "40161", "59426")


def test_dot_escapes_names():
    text = as_dot(FittedTree(*stump([1.0, 2.0]), VALUES, WEIGHTS), NAMES)
    assert r'n0 [label="petal \"width\" <= 2 (views: 1 to 2)\n90 rows"];' in text
    assert 'n0 -> n1 [label="yes"];' in text
    assert text.count("ellipse") == 2


def test_splits_on_categories_show_their_names():
    """One is right of the threshold, and it is the answer yes."""
    tree = FittedTree(*stump([0.5, 0.5]), VALUES, WEIGHTS)
    names = TreeNames(["thal = normal"], ["a", "b"], ["normal"])
    assert as_text(tree, names).splitlines() == [
        "thal is normal   [90 rows]",
        "├─ yes: b 75%, a 25%   [84 rows]",
        "└─ no: a 100%   [5.5 rows]",
    ]
    assert 'n0 -> n2 [label="yes"];' in as_dot(tree, names)
    root, yes, _ = outline(tree, names)
    assert root.title == ("thal", " is normal")
    assert (yes.side, yes.shares) == ("yes", (0.25, 0.75))


def test_a_numeric_column_named_like_a_category_stays_numeric():
    tree = FittedTree(*stump([0.5, 0.5]), VALUES, WEIGHTS)
    assert as_text(tree, TreeNames(["thal = normal"], ["a", "b"])).startswith(
        "thal = normal <= 0.5"
    )


@pytest.mark.parametrize("kind", [InnerTreeClassifier, InnerTreeRegressor])
def test_both_trees_have_the_same_parameters_but_for_the_criterion(kind):
    shared, own = signature(BaseInnerTree).parameters, signature(kind).parameters
    assert list(shared) == list(own)
    other = [name for name in own if own[name].default != shared[name].default]
    assert other in ([], ["criterion"])
    assert set(own) == set(kind._parameter_constraints)
    assert all(f"{name} : " in kind.__doc__ for name in own)


@pytest.mark.parametrize(
    ("kind", "load"), [(InnerTreeClassifier, load_iris), (InnerTreeRegressor, load_diabetes)]
)
def test_a_notebook_shows_the_drawing_of_a_fitted_tree(kind, load):
    tree = kind(max_leaf_nodes=3, n_views=3, random_state=0)
    assert "ensemblage-tree" not in tree._repr_html_()
    tree.fit(*load(return_X_y=True))
    for html in (tree._repr_mimebundle_()["text/html"], tree._repr_html_()):
        assert html.endswith(tree.to_html())
        assert html.count("<style>.ensemblage-tree") == 1
    assert tree.to_html().count("<g>") == len(tree.tree_.left)


@parametrize_with_checks(
    [
        InnerTreeClassifier(n_views=5),
        InnerTreeClassifier(
            n_views=3, max_leaf_nodes=None, hard_thresholds=True, criterion="entropy"
        ),
        InnerTreeRegressor(n_views=5),
        InnerTreeRegressor(n_views=3, max_leaf_nodes=None, shrinkage=1.0),
    ],
    expected_failed_checks=lambda _: DRAWN,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("leaves", [16, None])
def test_without_window_and_shrinkage_it_is_scikit_learns_tree_bit_for_bit(leaves):
    X, y = load_breast_cancer(return_X_y=True)
    X[::7, 20] = np.nan
    ours = InnerTreeClassifier(window=0, shrinkage=0, max_leaf_nodes=leaves, random_state=3)
    ours.fit(X, y)
    assert ours.ccp_alpha_ > 0
    theirs = DecisionTreeClassifier(
        max_leaf_nodes=leaves, ccp_alpha=ours.ccp_alpha_, random_state=draw_seeds(3, 3)[0]
    ).fit(X, y)
    assert (ours.predict_proba(X) == theirs.predict_proba(X)).all()
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_regression_without_window_and_shrinkage_is_scikit_learns_tree():
    X, y = load_diabetes(return_X_y=True)  # whole numbers, so that sums have no rounding
    ours = InnerTreeRegressor(window=0, shrinkage=0, random_state=1).fit(X, y)
    theirs = DecisionTreeRegressor(
        max_leaf_nodes=16, ccp_alpha=ours.ccp_alpha_, random_state=draw_seeds(1, 3)[0]
    ).fit(X, y)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_views_make_thresholds_soft_and_medians_make_them_hard():
    X, y = load_iris(return_X_y=True)
    soft = InnerTreeClassifier(random_state=0).fit(X, y)
    inner = ~soft.tree_.is_leaf
    assert (np.ptp(soft.tree_.thresholds[inner], axis=1) > 0).any()
    assert soft.leaf_memberships(X).nnz > len(X)
    followed = soft.harden()
    assert followed.tree_.thresholds.shape[1] == 1
    assert followed.leaf_memberships(X).nnz == len(X)
    assert soft.tree_.thresholds.shape[1] == 30  # as it was
    assert (followed.predict(X) == soft.predict(X)).mean() > 0.95
    fitted = InnerTreeClassifier(hard_thresholds=True, random_state=0).fit(X, y)
    assert fitted.leaf_memberships(X).nnz == len(X)


def test_memberships_add_up_to_one_and_average_the_leaves():
    X, y = load_iris(return_X_y=True)
    tree = InnerTreeClassifier(random_state=0).fit(X, y)
    shares = tree.leaf_memberships(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    leaves = tree.tree_.values[tree.tree_.is_leaf]
    np.testing.assert_allclose(shares @ leaves, tree.predict_proba(X))
    np.testing.assert_allclose(tree.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", [InnerTreeClassifier, InnerTreeRegressor])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_jobs(kind):
    X, y = load_iris(return_X_y=True)
    one = kind(random_state=0, n_jobs=1).fit(X, y)
    two = kind(random_state=0, n_jobs=2).fit(X, y)
    assert one.tree_.thresholds.tobytes() == two.tree_.thresholds.tobytes()
    assert one.tree_.values.tobytes() == two.tree_.values.tobytes()
    assert one.cv_loss_ == two.cv_loss_


def test_rows_without_weight_are_ignored():
    X, y = load_iris(return_X_y=True)
    weights = np.ones(150)
    weights[::3] = 0
    kept = weights > 0
    one = InnerTreeClassifier(random_state=0).fit(X, y, sample_weight=weights)
    other = InnerTreeClassifier(random_state=0).fit(X[kept], y[kept])
    assert (one.predict_proba(X) == other.predict_proba(X)).all()
    with pytest.raises(ValueError, match="at least one non-zero"):
        one.fit(X, y, sample_weight=np.zeros(150))


def test_rows_of_a_group_stay_together():
    """Groups of copies: only folds that keep them together see that nothing can be learned."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(40, 3)), 5, axis=0), np.repeat(rng.integers(0, 2, 40), 5)
    groups = np.repeat(np.arange(40), 5)
    apart = InnerTreeClassifier(random_state=0).fit(X, y)
    together = InnerTreeClassifier(random_state=0).fit(X, y, groups=groups)
    assert together.get_n_leaves() < apart.get_n_leaves()
    assert together.cv_loss_ > apart.cv_loss_
    with pytest.raises(ValueError, match="at least two are required"):
        apart.fit(X, y, groups=np.zeros(200))


def test_missing_values_go_to_the_learned_side():
    X = np.r_[np.linspace(0, 1, 40), np.full(20, np.nan)][:, None]
    y = np.r_[np.zeros(20), np.ones(20), np.zeros(20)]
    tree = InnerTreeClassifier(random_state=0).fit(X, y)
    assert tree.predict([[np.nan], [0.1], [0.9]]).tolist() == [0, 0, 1]
    y[40:] = 1
    tree.fit(X, y)
    assert tree.predict([[np.nan], [0.1], [0.9]]).tolist() == [1, 0, 1]
    alone = InnerTreeClassifier(random_state=0).fit(X, np.isnan(X).ravel())
    assert alone.to_text().startswith("x0 is known")
    assert np.isfinite(alone.tree_.thresholds).all()


def test_columns_of_data_frames_are_named():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = load_iris(return_X_y=True, as_frame=True)
    plain = InnerTreeClassifier(random_state=0).fit(X.to_numpy(), y.to_numpy())
    for frame in (pandas.DataFrame(X), polars.DataFrame({name: X[name] for name in X})):
        tree = InnerTreeClassifier(random_state=0).fit(frame, y.to_numpy())
        assert tree.to_text().startswith("petal")
        assert (tree.predict_proba(frame) == plain.predict_proba(X.to_numpy())).all()
        assert tree.explain(frame[:1]).steps[0].column.startswith("petal")


def test_categories_are_one_hot_encoded_and_missing_values_stay():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {"age": rng.normal(50, 9, 200), "job": rng.choice(["cook", "smith"], 200)}
    )
    y = np.where((frame["job"] == "cook") & (frame["age"] > 50), "yes", "no")
    frame.loc[::9, "age"] = np.nan
    tree = InnerTreeClassifier(random_state=0).fit(frame, y)
    assert tree.encoder_.get_feature_names_out().tolist() == ["age", "job = cook", "job = smith"]
    assert tree.to_text().startswith("job is cook")
    assert tree.score(frame, y) > 0.9
    assert len(tree.feature_importances_) == 3
    assert tree.explain(frame[:1]).prediction.sum() == pytest.approx(1.0)


def test_one_row_per_class_leaves_no_folds():
    tree = InnerTreeClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert tree.cv_loss_ is None
    assert tree.predict([[0.0], [1.0]]).tolist() == ["a", "b"]


def test_poisson_trees_refuse_negative_targets():
    with pytest.raises(ValueError, match="its minimum is -1"):
        InnerTreeRegressor(criterion="poisson").fit([[0.0], [1.0]], [-1.0, 2.0])
    X, y = load_diabetes(return_X_y=True)
    assert InnerTreeRegressor(criterion="poisson", random_state=0).fit(X, y).score(X, y) > 0.3


def test_sizes_and_importances():
    X, y = load_breast_cancer(return_X_y=True)
    tree = InnerTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    assert 2 <= tree.get_n_leaves() <= 4
    assert 1 <= tree.get_depth() <= 3
    assert tree.feature_importances_.sum() == pytest.approx(1.0)
    used = np.unique(tree.tree_.feature[~tree.tree_.is_leaf])
    assert set(np.flatnonzero(tree.feature_importances_)) <= set(used)
    root = InnerTreeClassifier(random_state=0).fit(X, np.zeros(len(X)))
    assert root.get_depth() == 0
    assert root.feature_importances_.sum() == 0


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("leaves", [2, None, 10**6])
@pytest.mark.parametrize("kind", [InnerTreeClassifier, InnerTreeRegressor])
def test_degenerate_rows_have_finite_predictions(kind, leaves, name):
    X = AWKWARD[name]
    y = np.arange(len(X)) % 2 if kind is InnerTreeClassifier else np.sqrt(np.arange(len(X)))
    tree = kind(n_views=3, max_leaf_nodes=leaves, cv=2, random_state=0).fit(X, y)
    predicted = tree.predict_proba(X) if kind is InnerTreeClassifier else tree.predict(X)
    assert np.isfinite(predicted).all()
    assert np.isfinite(tree.tree_.thresholds).all()
    assert np.isfinite(tree.feature_importances_).all()
    n_different = len(np.unique(np.nan_to_num(X.astype(np.float32)), axis=0))
    assert 1 <= tree.get_n_leaves() <= min(leaves or len(X), n_different)
    assert tree.to_text().count("\n") + 1 == len(tree.tree_.left)


def test_one_class_is_certain():
    tree = InnerTreeClassifier(random_state=0).fit(ROWS, ["a"] * 60)
    assert tree.predict_proba(ROWS).tolist() == [[1.0]] * 60
    assert tree.to_text() == "a 100%   [60 rows]"


@pytest.mark.parametrize("huge", [1e39, 1e300])
def test_values_beyond_float32_have_the_side_of_the_largest(huge):
    tree = InnerTreeClassifier(n_views=3, random_state=0).fit(ROWS, ROWS[:, 0] > 0)
    expected = tree.predict_proba(np.sign(ROWS) * 1e30)
    np.testing.assert_array_equal(tree.predict_proba(ROWS * huge), expected)


UNITS = {
    "1e-6": lambda X: X * 1e-6,
    "1e-8": lambda X: X * 1e-8,
    "1e-300": lambda X: X * 1e-300,
    "1e8": lambda X: X * 1e8,
    "1e200": lambda X: X * 1e200,
    "far": lambda X: X + 1e9,
    "1e-8, far": lambda X: X * 1e-8 - 1.0,
}
CROSS = (ROWS[:, 0] > 0) ^ (ROWS[:, 1] > 0.3)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_columns_in_any_unit_give_the_same_tree_in_that_unit(unit):
    rows = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.1, np.nan, ROWS)
    plain = InnerTreeClassifier(random_state=0).fit(rows, CROSS)
    tree = InnerTreeClassifier(random_state=0).fit(unit(rows), CROSS)
    assert plain.score(rows, CROSS) > 0.9
    np.testing.assert_array_equal(tree.tree_.values, plain.tree_.values)
    np.testing.assert_allclose(tree.predict_proba(unit(rows)), plain.predict_proba(rows), rtol=1e-9)
    np.testing.assert_allclose(tree.cv_loss_, plain.cv_loss_, rtol=1e-9)
    inner = ~plain.tree_.is_leaf
    separates = np.array([plain.tree_.separates_missing(node) for node in np.flatnonzero(inner)])
    given = plain.tree_.thresholds[inner][~separates]
    np.testing.assert_allclose(
        tree.tree_.thresholds[inner][~separates], unit(given), rtol=1e-6, atol=1e-310
    )
    shown = tree.to_text().split("<= ")[1].split()[0].replace("\N{MINUS SIGN}", "-")
    assert np.isclose(float(shown), np.median(tree.tree_.thresholds[0]), rtol=0.01)
    step = tree.explain(unit(rows)[3]).steps[0]
    column = int(tree.tree_.feature[0])
    np.testing.assert_allclose(step.value, unit(rows)[3, column], rtol=1e-6)
    np.testing.assert_array_equal(tree.harden().predict(unit(rows)), plain.harden().predict(rows))


@pytest.mark.parametrize(
    "forged",
    [
        {"offsets": None},
        {"exponents": None},
        {"exponents": np.full(3, 2**40)},
        {"offsets": np.zeros(2)},
    ],
)
def test_units_of_a_damaged_file_are_refused(forged):
    tree = InnerTreeClassifier(random_state=0).fit(ROWS * 1e-8, CROSS)
    tree._check_fitted()
    tree.tree_ = replace(tree.tree_, **forged)
    with pytest.raises(DamagedStateError, match=r"offsets|exponents"):
        tree._check_fitted()


def test_a_split_of_missing_values_in_any_unit():
    rows = ROWS[:, :1].copy()
    rows[::2] = np.nan
    for unit in UNITS.values():
        tree = InnerTreeClassifier(random_state=0).fit(unit(rows), np.isnan(rows[:, 0]))
        assert " is known" in tree.to_text()
        assert tree.predict(unit(rows)).tolist() == np.isnan(rows[:, 0]).tolist()


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize("scale", [1e-100, 1e-10, 1e-7, 1e10])
def test_targets_in_any_unit_give_the_same_tree_in_that_unit(criterion, scale):
    target = np.where(CROSS, 5.0, 1.0) + ROWS[:, 2] ** 2
    # in small leaves rounding decides between equal splits
    settings = {"criterion": criterion, "min_samples_leaf": 8, "random_state": 0}
    plain = InnerTreeRegressor(**settings).fit(ROWS, target)
    tree = InnerTreeRegressor(**settings).fit(ROWS, target * scale)
    assert plain.get_n_leaves() > 2
    np.testing.assert_allclose(tree.predict(ROWS), scale * plain.predict(ROWS), rtol=1e-9)
    np.testing.assert_allclose(tree.cv_loss_, plain.cv_loss_ * scale**2, rtol=1e-9)
    alpha_unit = scale if criterion == "poisson" else scale**2
    np.testing.assert_allclose(tree.ccp_alpha_, plain.ccp_alpha_ * alpha_unit, rtol=1e-6)
    importances = tree.feature_importances_
    np.testing.assert_allclose(importances, plain.feature_importances_, rtol=1e-9)


@pytest.mark.parametrize("far", [1e6, 1e9, -1e9])
def test_a_target_far_from_zero(far):
    target = np.where(CROSS, 5.0, 1.0) + ROWS[:, 2] ** 2
    plain = InnerTreeRegressor(min_samples_leaf=8, random_state=0).fit(ROWS, target)
    tree = InnerTreeRegressor(min_samples_leaf=8, random_state=0).fit(ROWS, target + far)
    assert plain.get_n_leaves() > 2
    np.testing.assert_allclose(tree.predict(ROWS) - far, plain.predict(ROWS), atol=1e-5)


@pytest.mark.parametrize("scale", [1e150, 1e300])
def test_targets_whose_squares_overflow_are_refused(scale):
    with pytest.raises(ValueError, match=r"`y` has absolute values up to .* Divide"):
        InnerTreeRegressor().fit(ROWS, ROWS[:, 0] * scale)
    assert np.isfinite(InnerTreeRegressor().fit(ROWS, ROWS[:, 0] * 1e69).predict(ROWS)).all()
