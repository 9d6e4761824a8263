"""CatBoost's trees as arrays."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage._core import DamagedStateError
from ensemblage.persistence import load, save
from ensemblage.pool import CatBoostClassifier, CatBoostRegressor, EnsemblageClassifier
from ensemblage.pool._boosting import CATBOOST_SETTINGS, Boosting
from ensemblage.pool._catboost import Document, Feature, Features, Split, SymmetricTree
from ensemblage.pool._catboost import pack_symmetric_trees as pack
from ensemblage.pool._compact_members import sum_leaf_values

catboost = pytest.importorskip("catboost")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5))
TWO = (X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=200) > 1).astype(int)
THREE = TWO + (X[:, 2] > 0)


def catboosts_own(y, loss, depth):
    model = catboost.CatBoost({
        "loss_function": loss, "iterations": 40, "depth": depth, "learning_rate": 0.06,
        "boosting_type": "Plain", "border_count": 64, "random_seed": 3, "thread_count": 1,
        "verbose": False, "allow_writing_files": False,
    })  # fmt: skip
    return model.fit(X.astype(np.float32), y)


@pytest.mark.parametrize(("y", "loss", "depth"), [(TWO, "Logloss", 6), (THREE, "MultiClass", 4)])
def test_probabilities_are_catboosts(y, loss, depth):
    ours = CatBoostClassifier(40, random_state=3).fit(X, y)
    theirs = catboosts_own(y, loss, depth).predict(X.astype(np.float32), "Probability")
    np.testing.assert_allclose(ours.predict_proba(X), theirs, atol=1e-6)


def test_numbers_are_catboosts_in_any_unit():
    y = X[:, 0] ** 2 + X[:, 1]
    theirs = catboosts_own((y - y.mean()) / y.std(), "RMSE", 6).predict(X.astype(np.float32))
    for shift, scale in ((0.0, 1.0), (1e9, 1e-3), (0.0, 1e12)):
        ours = CatBoostRegressor(40, random_state=3).fit(X, shift + scale * y)
        found = (ours.predict(X) - shift) / scale
        np.testing.assert_allclose((found - y.mean()) / y.std(), theirs, atol=1e-3)


def test_leaves_are_numbered_by_the_bits_of_the_splits():
    """By hand: the first split is the lowest bit, columns are counted among the numeric ones."""
    tree = SymmetricTree([10.0, 11.0, 12.0, 13.0], [Split(0, 0.5), Split(1, 2.0)])
    features = Features([Feature(2), Feature(0)])
    packed, intercepts = pack(Document(features, [tree, SymmetricTree([5.0])], (2.0, [7.0])))
    rows = np.array([[0, 9, 0], [0, 9, 1], [3, 9, 0], [3, 9, 1], [2, 9, 0.5]], dtype=np.float32)
    found = sum_leaf_values(packed, rows)[:, 0]
    assert found.tolist() == [20 + 10, 22 + 10, 24 + 10, 26 + 10, 20 + 10]
    assert intercepts.tolist() == [7.0]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 4), st.integers(1, 3), st.integers(0, 99))
def test_packed_trees_are_the_slow_ones(depth, n_scores, seed):
    rng = np.random.default_rng(seed)
    trees = [
        SymmetricTree(
            rng.normal(size=(1 << depth) * n_scores).tolist(),
            [Split(int(rng.integers(3)), float(rng.normal())) for _ in range(depth)],
        )
        for _ in range(3)
    ]
    rows = rng.normal(size=(7, 3)).astype(np.float32)
    slow = np.zeros((7, n_scores))
    for tree in trees:
        leaves = np.reshape(tree.leaf_values, (-1, n_scores))
        for number, row in enumerate(rows):
            sides = [row[s.float_feature_index] > np.float32(s.border) for s in tree.splits]
            slow[number] += leaves[sum(int(side) << bit for bit, side in enumerate(sides))]
    document = Document(Features([Feature(j) for j in range(3)]), trees, (1.0, [0.0] * n_scores))
    np.testing.assert_allclose(sum_leaf_values(pack(document)[0], rows), slow, atol=1e-5)


def test_stages_and_fewer_rounds():
    model = CatBoostClassifier(30, random_state=0).fit(X, THREE)
    staged = model.staged_outputs(X, [10, 30, 99])
    np.testing.assert_array_equal(staged[1], model.predict_proba(X))
    np.testing.assert_array_equal(staged[2], staged[1])
    np.testing.assert_array_equal(model.truncate(10).predict_proba(X), staged[0])


def test_early_stopping_and_a_time_limit():
    noise = RNG.integers(0, 2, 200)
    held_out = (X[:80], noise[:80], None)
    stopped = CatBoostClassifier(2000).fit(X[80:], noise[80:], eval_set=held_out)
    assert stopped.n_rounds_ < 400
    timed = CatBoostClassifier(100_000).fit(X, TWO, max_seconds=0.2)
    assert 0 < timed.n_rounds_ < 100_000


def test_columns_that_do_not_vary_give_the_frequencies():
    ones = np.ones((20, 2))
    y = np.arange(20) % 4 == 0
    np.testing.assert_allclose(
        CatBoostClassifier().fit(ones, y).predict_proba(ones)[0], [0.75, 0.25]
    )
    three = np.repeat([0, 1, 2], [10, 5, 5])
    np.testing.assert_allclose(
        CatBoostClassifier().fit(ones, three).predict_proba(ones)[0], [0.5, 0.25, 0.25]
    )
    assert CatBoostRegressor().fit(ones, y.astype(float)).predict(ones)[0] == pytest.approx(0.25)


def test_a_member_chooses_its_rounds_by_folds(rows):
    member = Boosting(
        "catboost", "standard", (CATBOOST_SETTINGS,), library="catboost", n_rounds=(5, 20)
    )
    tried = [member.fit_predict_fold(rows, fold, 0) for fold in rows.folds]
    tuned = member.select_candidate(rows, tried, 0)
    model = member.refit(rows, tuned)
    assert model.n_rounds_ == (5, 20)[tuned.chosen]
    assert (model.predict(rows.X) == rows.y).mean() > 0.7


def test_a_saved_pool_predicts_without_catboost(tmp_path, monkeypatch):
    model = EnsemblageClassifier(["catboost"], cv=2, random_state=0).fit(X, TWO)
    save(model, tmp_path / "pool.skops")
    monkeypatch.setitem(sys.modules, "catboost", None)
    again = load(tmp_path / "pool.skops").model
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("roots_", lambda roots: roots + 10_000),
        ("features_", lambda features: features + 5),
        ("children_", lambda children: children - 10_000),
        ("intercepts_", lambda intercepts: np.append(intercepts, 0.0)),
    ],
)
def test_damaged_trees_are_refused(name, damage):
    model = CatBoostClassifier(5, random_state=0).fit(X, TWO)
    model._check_fitted()
    setattr(model, name, damage(getattr(model, name)))
    with pytest.raises(DamagedStateError):
        model._check_fitted()
