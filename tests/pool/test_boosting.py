import pickle
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from ensemblage._core import DamagedStateError, Fold
from ensemblage.pool import Boosting, LightGBMClassifier, LightGBMRegressor, _boosting
from ensemblage.pool._boosting import (
    SETTINGS_GRID,
    _staged_predictions,
    as_probabilities,
    check_text,
    pack_text,
)
from ensemblage.pool._compact_members import sum_leaf_values
from ensemblage.pool._member_spec import FoldPredictions, fit_clone, log_loss

LIBRARIES = ["lightgbm", "sklearn"]
N_ROUNDS = (5, 10, 40)


def boosting(library, settings=SETTINGS_GRID[:2]):
    if library == "lightgbm":
        pytest.importorskip("lightgbm")
    return Boosting("boosting", "standard", settings, library=library, n_rounds=N_ROUNDS)


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_setting_is_evaluated_at_each_stage(rows, library):
    recipe = boosting(library)
    fold = rows.folds[0]
    outputs = recipe.fit_predict_fold(rows, fold, 0).outputs
    assert outputs.shape == (2 * 3, len(fold.test), 3)
    np.testing.assert_allclose(outputs.sum(axis=2), 1)
    plain = fit_clone(recipe.build(4), rows, fold.train, 0)
    np.testing.assert_allclose(outputs[4], plain.predict_proba(rows.X[fold.test]))


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_best_pair_of_settings_and_rounds_is_refitted(rows, library):
    recipe = boosting(library)
    tuned = recipe.select_candidate(
        rows, [recipe.fit_predict_fold(rows, fold, 0) for fold in rows.folds], 0
    )
    model = recipe.refit(rows, tuned)
    rounds = model.n_rounds if library == "lightgbm" else model.max_iter
    assert rounds == N_ROUNDS[tuned.chosen % 3]
    assert (model.predict(rows.X) == rows.y).mean() > 0.7


@pytest.mark.parametrize("library", LIBRARIES)
def test_more_rounds_than_there_are_repeat_the_last_outputs(rows, library):
    model = fit_clone(boosting(library).build(1), rows, np.arange(150), 0)
    staged_outputs = getattr(model, "staged_outputs", partial(_staged_predictions, model))
    staged = staged_outputs(rows.X, [5, 10, 99])
    np.testing.assert_array_equal(staged[1], staged[2])
    np.testing.assert_allclose(staged[1], model.predict_proba(rows.X))
    assert (staged[0] != staged[1]).any()


@pytest.mark.parametrize("library", LIBRARIES)
def test_early_stopping_on_the_test_rows(rows, library, monkeypatch):
    monkeypatch.setattr(_boosting, "MAX_STALLED_ROUNDS", 3)
    long = Boosting(
        "boosting", "standard", SETTINGS_GRID[3:4], library=library, n_rounds=(5, 150, 300)
    )
    noise = rows._replace(X=np.random.default_rng(0).normal(size=(150, 4)))
    outputs = long.fit_predict_fold(noise, rows.folds[0], 0).outputs
    np.testing.assert_array_equal(outputs[1], outputs[2])


def test_the_refit_share_follows_the_rounds(rows):
    recipe = replace(boosting("sklearn", SETTINGS_GRID[3:4]), n_rounds=(5, 10))
    attempts = [
        recipe.fit_predict_fold(rows, fold, 0)._replace(rounds=(50,)) for fold in rows.folds
    ]
    tuned = recipe.select_candidate(rows, attempts, 0)
    assert tuned.refit_share == {0: 0.1, 1: 0.2}[tuned.chosen]


@pytest.mark.parametrize("library", LIBRARIES)
def test_rounds_after_the_best_are_evaluated_uncalibrated(rows, library, monkeypatch):
    monkeypatch.setattr(_boosting, "MAX_STALLED_ROUNDS", 30)
    eager = SETTINGS_GRID[3]._replace(learning_rate=0.5)
    recipe = replace(boosting(library, (eager,)), n_rounds=(10, 20, 30, 300))
    noise = rows._replace(X=np.random.default_rng(0).normal(size=(150, 4)))
    fold = rows.folds[0]
    attempt = recipe.fit_predict_fold(noise, fold, 0)
    assert 30 <= attempt.rounds[0] < 60
    plain = fit_clone(recipe.build(2), noise, fold.train, 0)
    np.testing.assert_allclose(attempt.outputs[2], plain.predict_proba(noise.X[fold.test]))
    losses = [log_loss(each, rows.y[fold.test]) for each in attempt.outputs]
    assert losses[0] < losses[1] < losses[2]


def test_stages_that_most_folds_have_not_reached_are_not_chosen(rows):
    recipe = boosting("sklearn")  # two settings, at 5, 10 and 40 rounds
    informative = 0.6 * np.eye(3)[rows.y] + 0.4 / 3
    losing = np.full((3, 150, 3), 1 / 3)
    growing = np.stack([losing[0], 0.3 * losing[0] + 0.7 * informative, informative])
    outputs = np.concatenate([losing, growing])
    attempts = [
        FoldPredictions(outputs[:, fold.test], 0.0, None, (40, reached))
        for fold, reached in zip(rows.folds, [10, 10, 40], strict=True)
    ]
    assert recipe.select_candidate(rows, attempts, 0).chosen == 4
    attempts = [each._replace(rounds=(40, 40)) for each in attempts]
    assert recipe.select_candidate(rows, attempts, 0).chosen == 5
    attempts = [each._replace(rounds=(1, 1)) for each in attempts]
    assert recipe.select_candidate(rows, attempts, 0).chosen in {0, 3}


@pytest.mark.parametrize("library", LIBRARIES)
def test_classes_missing_from_a_fold(rows, library):
    test = rows.folds[0].test
    two = Fold(np.flatnonzero(rows.y != 1), test)
    outputs = boosting(library).fit_predict_fold(rows, two, 0).outputs
    assert (outputs[:, :, 1] == 0).all()
    alone = Fold(np.flatnonzero(rows.y == 1), test)
    one = boosting(library).fit_predict_fold(rows, alone, 0).outputs
    assert (one[:, :, 1] == 1).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_weights_count_in_training_and_test_rows(rows, library):
    weighted = rows._replace(weights=np.where(rows.y == 0, 9.0, 1.0))
    plain, heavy = (
        boosting(library).fit_predict_fold(each, rows.folds[0], 0) for each in (rows, weighted)
    )
    assert heavy.outputs[2, :, 0].mean() > plain.outputs[2, :, 0].mean() + 0.05


@pytest.fixture
def fitted(rows):
    pytest.importorskip("lightgbm")
    return LightGBMClassifier(10, max_leaf_nodes=4, random_state=0).fit(rows.X, rows.y)


def test_probabilities_are_those_of_lightgbm(fitted, rows):
    np.testing.assert_allclose(fitted.predict_proba(rows.X), fitted.booster_.predict(rows.X))
    assert (fitted.predict(rows.X) == rows.y).mean() > 0.7


def test_two_classes_and_labels_that_are_not_consecutive(rows):
    pytest.importorskip("lightgbm")
    y = np.where(rows.y == 2, 7, 3)
    model = LightGBMClassifier(10, max_leaf_nodes=4).fit(rows.X, y)
    assert model.classes_.tolist() == [3, 7]
    np.testing.assert_allclose(model.predict_proba(rows.X)[:, 1], model.booster_.predict(rows.X))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("smallest", [2, 1000])  # the latter: trees of one leaf
def test_packed_trees_add_up_to_the_bits_of_lightgbm(rows, n_classes, smallest):
    pytest.importorskip("lightgbm")
    model = LightGBMClassifier(20, min_samples_leaf=smallest).fit(rows.X, rows.y % n_classes)
    trees = pack_text(model.booster_.model_to_string())
    assert (trees.roots >= 0).all() == (smallest == 2)
    new = np.concatenate([rows.X, 9 * rows.X, np.where(rows.X > 0, np.inf, -1e-40)])
    found = sum_leaf_values(trees, new, 1 if n_classes == 2 else 3)
    expected = model.booster_.predict(new, raw_score=True)
    np.testing.assert_array_equal(found, expected.reshape(found.shape))


def test_splits_by_categories_and_of_missing_values_are_left_to_lightgbm(rows):
    pytest.importorskip("lightgbm")
    X, missing = rows.X.copy(), rows.X.copy()
    X[:, 0], missing[::3, 0] = np.arange(len(X)) % 3, np.nan
    by_category = LightGBMClassifier(5, categorical=(0,)).fit(X, X[:, 0].astype(int))
    of_missing = LightGBMClassifier(5).fit(missing, np.isnan(missing[:, 0]).astype(int))
    for model, table in [(by_category, X), (of_missing, missing)]:
        assert pack_text(model.booster_.model_to_string()) is None
        assert (model.predict(table) == model.predict(table.astype(object))).all()
    plain = LightGBMClassifier(5).fit(rows.X, rows.y)
    np.testing.assert_allclose(plain.predict_proba(missing), plain.booster_.predict(missing))
    with pytest.raises(Exception, match="number of features"):
        plain.predict_proba(rows.X[:, :3])


def test_any_number_of_threads_gives_the_same_bits(fitted, rows):
    two = LightGBMClassifier(10, max_leaf_nodes=4, random_state=0, n_jobs=2).fit(rows.X, rows.y)
    np.testing.assert_array_equal(two.predict_proba(rows.X), fitted.predict_proba(rows.X))


def test_it_is_stored_as_text(fitted, rows):
    assert isinstance(fitted.__getstate__()["text"], str)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(rows.X), fitted.predict_proba(rows.X))
    assert "text" not in LightGBMClassifier().__getstate__()


@pytest.mark.parametrize(
    ("pattern", "forged"),
    [
        (r"split_feature=\d+", "split_feature=99"),
        (r"split_feature=\d+", "split_feature=-1"),
        (r"left_child=-?\d+", "left_child=0"),
        (r"right_child=-?\d+", "right_child=-99"),
        (r"num_leaves=\d+", "num_leaves=2"),
        (r"num_cat=0", "num_cat=1"),
        (r"decision_type=\d+", "decision_type=1"),
        (r"max_feature_idx=\d+", "max_feature_idx=40"),
    ],
)
def test_forged_trees_are_refused(fitted, pattern, forged):
    text = fitted.booster_.model_to_string()
    check_text(text, 4)
    with pytest.raises(DamagedStateError):
        check_text(re.sub(pattern, forged, text, count=1), 4)


def test_scores_become_probabilities_without_overflow():
    np.testing.assert_allclose(as_probabilities([0.0, np.log(3)]), [[0.5, 0.5], [0.25, 0.75]])
    assert as_probabilities([[1000.0, 0.0, 0.0]]).tolist() == [[1.0, 0.0, 0.0]]


def test_targets_far_from_zero_keep_their_precision(rows):
    pytest.importorskip("lightgbm")
    y = 1e9 + rows.X[:, 0]
    model = LightGBMRegressor(30, max_leaf_nodes=4, min_samples_leaf=5).fit(rows.X, y)
    near = LightGBMRegressor(30, max_leaf_nodes=4, min_samples_leaf=5).fit(rows.X, rows.X[:, 0])
    np.testing.assert_allclose(model.predict(rows.X) - 1e9, near.predict(rows.X), atol=1e-4)
    assert model.score(rows.X, y) > 0.9


def test_stages_and_truncation_of_regression(rows):
    pytest.importorskip("lightgbm")
    y = rows.X[:, 0]
    model = LightGBMRegressor(20, max_leaf_nodes=4, min_samples_leaf=5).fit(rows.X, y)
    staged = model.staged_outputs(rows.X, [5, 20, 99])
    np.testing.assert_allclose(staged[0], model.truncate(5).predict(rows.X))
    np.testing.assert_allclose(staged[1], model.predict(rows.X))
    np.testing.assert_array_equal(staged[1], staged[2])
    again = LightGBMRegressor()
    again.__setstate__(model.__getstate__())
    np.testing.assert_array_equal(again.predict(rows.X), model.predict(rows.X))
    again.scale_ = 0.0
    with pytest.raises(DamagedStateError, match="mean_ or scale_"):
        again._check_fitted()
