import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from ensemblage._core import DamagedStateError
from ensemblage.persistence import load, save
from ensemblage.pool import EnsemblageClassifier, _compact_members
from ensemblage.pool._compact_members import (
    CompactForestClassifier,
    CompactForestRegressor,
    CompactSVC,
    CompactSVR,
    PackedTrees,
    _add_leaves,
    as_float32_thresholds,
    mean_leaf_values,
)
from reference.forest_shares import shares

# the first tree asks for the second feature, then for the first; the second is a leaf
BY_HAND = PackedTrees(
    np.array([0, -4], np.int32),
    np.array([1, 0], np.int32),
    np.array([0.5, 2.0], np.float32),
    np.array([[-1, 1], [-2, -3]], np.int32),
    np.array([[1, 0], [0, 1], [0.5, 0.5], [0.25, 0.75]], np.float32),
)


def drawn(seed, n_trees, n_classes):
    """Trees in which children come after their parent, of three features."""
    rng = np.random.default_rng(seed)
    roots, children, n_leaves = [], [], 0
    for _ in range(n_trees):
        size, ends = int(rng.integers(0, 6)), [(roots, len(roots))]
        roots.append(None)
        for _ in range(size):
            holder, side = ends.pop(int(rng.integers(len(ends))))
            holder[side] = len(children)
            children.append([None, None])
            ends += [(children[-1], 0), (children[-1], 1)]
        for holder, side in ends:
            n_leaves += 1
            holder[side] = -n_leaves
    n_nodes = len(children)
    leaves = rng.dirichlet(np.ones(n_classes), n_leaves).astype(np.float32)
    return PackedTrees(
        np.array(roots, np.int32),
        rng.integers(0, 3, n_nodes).astype(np.int32),
        rng.normal(size=n_nodes).astype(np.float32),
        np.array(children, np.int32).reshape(-1, 2),
        leaves,
    )


def test_by_hand():
    rows = np.array([[0, 0.5], [2, 1], [3, 1]], np.float32)
    expected = [[0.625, 0.375], [0.125, 0.875], [0.375, 0.625]]
    assert mean_leaf_values(BY_HAND, rows).tolist() == expected


def test_no_rows():
    assert mean_leaf_values(BY_HAND, np.empty((0, 2), np.float32)).shape == (0, 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(0, 9))
def test_equals_the_slow_traversal_and_adds_up_to_one(seed, n_trees, n_rows):
    trees = drawn(seed, n_trees, 3)
    rows = np.random.default_rng(seed + 1).normal(size=(n_rows, 3)).astype(np.float32)
    found = mean_leaf_values(trees, rows)
    np.testing.assert_allclose(found, np.reshape(shares(trees, rows), (n_rows, 3)), atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    plain = np.zeros((n_rows, 3))
    buffers = np.empty((4, n_rows + 1), np.uint64)
    columns = np.ascontiguousarray(rows.T, dtype=float)
    _add_leaves.python(*trees, columns, plain, *buffers, np.empty(n_rows + 1, np.int64))
    np.testing.assert_array_equal(plain / n_trees, found)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.permutations(range(7)))
def test_the_order_of_rows_does_not_matter(seed, order):
    trees = drawn(seed, 4, 2)
    rows = np.random.default_rng(seed).normal(size=(7, 3)).astype(np.float32)
    np.testing.assert_array_equal(
        mean_leaf_values(trees, rows[order]), mean_leaf_values(trees, rows)[order]
    )


KINDS = {False: RandomForestClassifier, True: ExtraTreesClassifier}


NUMBER_KINDS = {False: RandomForestRegressor, True: ExtraTreesRegressor}


@pytest.mark.parametrize("extra", [False, True])
def test_predictions_equal_those_of_scikit_learns_forest(rows, extra):
    weights = np.random.default_rng(0).uniform(0.5, 2, len(rows.y))
    own = CompactForestClassifier(30, extra_trees=extra, oob_score=True, random_state=1).fit(
        rows.X, rows.y, weights
    )
    theirs = KINDS[extra](30, bootstrap=True, oob_score=True, random_state=1)
    theirs.fit(rows.X, rows.y, weights)
    np.testing.assert_allclose(own.predict_proba(rows.X), theirs.predict_proba(rows.X), atol=1e-6)
    np.testing.assert_array_equal(own.predict(rows.X), theirs.predict(rows.X))
    np.testing.assert_array_equal(own.oob_predictions_, theirs.oob_decision_function_)


def test_values_on_a_threshold_go_to_the_same_side():
    # a threshold between two neighbours of four bytes has no number of four bytes of its own
    low = np.float32(1)
    high = np.nextafter(low, np.float32(2))
    between = (float(low) + float(high)) / 2
    assert as_float32_thresholds(np.array([between, 0.1, -0.1])).tolist() == [
        low,
        np.nextafter(np.float32(0.1), np.float32(0)),
        np.float32(-0.1),
    ]


def test_values_beyond_float32_are_predicted(rows):
    own = CompactForestClassifier(5, random_state=0).fit(rows.X, rows.y)
    far = np.full((2, 4), 1e300) * [[1], [-1]]
    near = np.full((2, 4), 1e30) * [[1], [-1]]
    np.testing.assert_array_equal(own.predict_proba(far), own.predict_proba(near))


def forged(model, name, index, value):
    array = getattr(model, name).copy()
    array[index] = value
    setattr(model, name, array)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("features_", 99, "features_"),
        ("children_", 10_000, "children_"),
        ("children_", 0, "children_ come before"),
        ("children_", -10_000, "children_"),
        ("roots_", 10_000, "roots_"),
        ("leaves_", 7.0, "leaves_"),
    ],
)
def test_forged_trees_are_refused(rows, name, value, message):
    own = CompactForestClassifier(3, random_state=0).fit(rows.X, rows.y)
    own._check_fitted()
    forged(own, name, 0, value)
    with pytest.raises(DamagedStateError, match=message):
        own._check_fitted()


def test_arrays_of_another_item_size_are_refused(rows):
    own = CompactForestClassifier(3, random_state=0).fit(rows.X, rows.y)
    own.children_ = own.children_.astype(np.int64)
    with pytest.raises(DamagedStateError, match="4-byte values"):
        own._check_fitted()


def test_a_forged_forest_in_a_model_file_is_refused(rows, tmp_path):
    model = EnsemblageClassifier(["forest"], cv=2, random_state=0).fit(rows.X, rows.y)
    path = tmp_path / "pool.skops"
    what = {"columns": list("abcd"), "kinds": ["numeric"] * 4, "target": "class", "details": {}}
    save(model, path, **what)
    np.testing.assert_array_equal(
        load(path).model.predict_proba(rows.X), model.predict_proba(rows.X)
    )
    forged(model.estimators_[0], "children_", 0, 10_000)
    save(model, path, **what)
    with pytest.raises(ValueError, match="children_"):
        load(path)


@pytest.mark.parametrize("extra", [False, True])
def test_regression_equals_scikit_learn(rows, extra):
    y = 8 + 4 * rows.X[:, 0]
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    own = CompactForestRegressor(30, extra_trees=extra, oob_score=True, random_state=1).fit(
        rows.X, y, weights
    )
    theirs = NUMBER_KINDS[extra](30, bootstrap=True, oob_score=True, random_state=1)
    assert own.mean_ == pytest.approx(np.average(y, weights=weights))
    theirs.fit(rows.X, (y - own.mean_) / own.scale_, weights)
    expected = own.mean_ + own.scale_ * theirs.predict(rows.X)
    np.testing.assert_allclose(own.predict(rows.X), expected, atol=1e-5)
    expected = own.mean_ + own.scale_ * theirs.oob_prediction_
    np.testing.assert_allclose(own.oob_predictions_, expected, atol=1e-5)


def test_a_row_in_every_bootstrap_is_predicted_as_the_mean(rows):
    y = 50 + rows.X[:, 0]
    own = CompactForestRegressor(1, oob_score=True, random_state=0).fit(rows.X, y)
    assert own.oob_predictions_.min() > 40
    assert (own.oob_predictions_ == own.mean_).sum() > len(y) / 2


@pytest.mark.parametrize("scale", [0.0, np.inf])
def test_a_forged_scale_is_refused(rows, scale):
    forged = CompactForestRegressor(2, random_state=0).fit(rows.X, rows.X[:, 0])
    forged.scale_ = scale
    with pytest.raises(DamagedStateError, match="mean_ or scale_"):
        forged._check_fitted()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("gamma", ["scale", 0.3])
def test_predictions_equal_those_of_scikit_learns_svm(rows, classes, gamma, monkeypatch):
    monkeypatch.setattr(_compact_members, "MAX_KERNEL_ENTRIES", 2_000)  # a few rows at a time
    kept = rows.y < classes
    X, y = 3 * rows.X[kept] + 1, rows.y[kept]
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    own = CompactSVC(10.0, gamma=gamma).fit(X, y, weights)
    theirs = make_pipeline(StandardScaler(), SVC(C=10.0, gamma=gamma))
    theirs.fit(X, y, standardscaler__sample_weight=weights, svc__sample_weight=weights)
    np.testing.assert_allclose(own.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(own.predict(X), theirs.predict(X))


def test_a_row_twice_and_a_weight_of_two_are_the_same(rows):
    twice = CompactSVC().fit(np.repeat(rows.X, 2, axis=0), np.repeat(rows.y, 2))
    weighted = CompactSVC().fit(rows.X, rows.y, np.full(len(rows.y), 2.0))
    np.testing.assert_allclose(
        twice.decision_function(rows.X), weighted.decision_function(rows.X), atol=1e-2
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("means_", np.zeros(3), r"means_ has shape \(3,\)"),
        ("scales_", np.zeros(4), "scales_ are not above zero"),
        ("vectors_", np.zeros((7, 9)), "vectors_"),
        ("weights_", np.zeros((7, 3)), "weights_"),
        ("intercepts_", np.full(3, np.nan), "intercepts_ holds values that are not finite"),
        ("gamma_", np.nan, "gamma_ is not a finite number"),
    ],
)
def test_forged_svms_are_refused(rows, name, value, message):
    own = CompactSVC().fit(rows.X, rows.y)
    own._check_fitted()
    setattr(own, name, value)
    with pytest.raises(DamagedStateError, match=message):
        own._check_fitted()


def test_svr_equals_scikit_learn_on_a_standardised_target(rows):
    y = 100 + 7 * np.sin(rows.X[:, 0])
    own = CompactSVR(10.0).fit(rows.X, y)
    theirs = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), SVR(C=10.0)), transformer=StandardScaler()
    ).fit(rows.X, y)
    np.testing.assert_allclose(own.predict(rows.X), theirs.predict(rows.X))
    assert own._check_fitted() is None


def test_targets_within_the_tube_need_no_support_vectors(rows):
    y = np.where(np.arange(len(rows.y)) == 0, 1.0, 0.0)
    with np.errstate(all="raise"):
        model = CompactSVR(1e-9).fit(rows.X, y)
    assert np.isfinite(model.predict(rows.X)).all()


def test_forged_weights_of_svr_are_refused(rows):
    forged = CompactSVR().fit(rows.X, rows.X[:, 0])
    forged.weights_ = forged.weights_[:-1]
    with pytest.raises(DamagedStateError):
        forged._check_fitted()


@pytest.mark.parametrize("extra_trees", [False, True], ids=["forest", "extra trees"])
@pytest.mark.parametrize(
    "unit",
    [lambda X: X * 1e-6, lambda X: X * 1e-8, lambda X: X * 1e200, lambda X: X + 1e9],
    ids=["1e-6", "1e-8", "1e200", "far"],
)
def test_columns_in_any_unit(unit, extra_trees, tmp_path):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(2, 200, 3))
    y, expected = X[:, 0] * X[:, 1] > 0, new[:, 0] * new[:, 1] > 0
    forest = CompactForestClassifier(30, extra_trees=extra_trees, random_state=0)
    plain = forest.fit(X, y).predict_proba(new)
    assert ((plain[:, 1] > 0.5) == expected).mean() > 0.85
    found = forest.fit(unit(X), y).predict_proba(unit(new))
    assert np.abs(found - plain).mean() < 0.01
    regressor = CompactForestRegressor(30, extra_trees=extra_trees, random_state=0)
    plain = regressor.fit(X, X[:, 0]).predict(new)
    np.testing.assert_allclose(regressor.fit(unit(X), X[:, 0]).predict(unit(new)), plain, atol=0.3)
    save(regressor, tmp_path / "forest.skops")
    again = load(tmp_path / "forest.skops").model.predict(unit(new))
    np.testing.assert_array_equal(again, regressor.predict(unit(new)))
