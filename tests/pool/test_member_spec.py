import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ensemblage._core import Fold
from ensemblage.pool import (
    TABLE,
    MemberSpec,
    PoolClassTarget,
    TrainingData,
    make_cv_folds,
    stratified_subsample,
)
from ensemblage.pool._compact_members import CompactForestClassifier
from ensemblage.pool._member_spec import ENCODED, InternalFolds, OutOfBag, fit_clone, log_loss
from ensemblage.strata import HISS, StrataEnsembleClassifier


def test_folds_test_each_row_once():
    y = np.arange(30) % 3
    folds = make_cv_folds(y, 5, 0)
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([f.test for f in folds])), np.arange(30))


def test_a_class_of_two_rows_does_not_reduce_the_folds():
    y = np.array([0] * 20 + [1] * 20 + [2] * 2)
    assert len(make_cv_folds(y, 5, 0)) == 5


def test_few_rows_have_few_folds():
    assert len(make_cv_folds(np.array([0, 0, 1]), 5, 0)) == 2


def test_groups_stay_together():
    groups = np.arange(40) // 4
    for train, test in make_cv_folds(np.arange(40) % 2, 5, 0, groups):
        assert not set(groups[train]) & set(groups[test])


def test_a_splitter_is_used():
    folds = make_cv_folds(np.arange(12) % 2, KFold(4), 0)
    assert [fold.test.tolist() for fold in folds] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


@pytest.mark.parametrize(
    ("tests", "whole"),
    [([[0, 1], [2, 3]], True), ([[0, 1, 2, 3]], False), ([[0, 1], [2]], False)],
)
def test_an_ensembles_own_cv_needs_folds_that_test_every_row_once(tests, whole):
    folds = [Fold(np.array([0]), np.array(test)) for test in tests]
    rows = TrainingData(
        np.eye(4), np.array([0, 1, 0, 1]), PoolClassTarget(np.arange(2)), None, folds
    )
    assert rows.every_row_tested_once is whole
    assert rows.tested.tolist() == sorted({row for test in tests for row in test})


def test_a_subsample_keeps_the_shares_of_the_classes():
    y = np.repeat([0, 1, 2], [600, 300, 3])
    drawn = stratified_subsample(np.arange(903), y, 90, seed=0)
    assert np.bincount(y[drawn]).tolist() == [59, 29, 2]
    assert stratified_subsample(drawn, y, None, seed=0) is drawn
    assert stratified_subsample(drawn, y, 90, seed=0) is drawn


@given(st.integers(6, 60), st.integers(0, 50))
def test_a_subsample_is_sorted_and_reproducible(limit, seed):
    y = np.random.default_rng(seed).integers(0, 3, 60)
    rows = np.arange(0, 60, 1)
    drawn = stratified_subsample(rows, y, limit, seed)
    assert len(drawn) == limit
    assert (np.diff(drawn) > 0).all()
    few = np.bincount(y, minlength=3) >= 2
    assert (np.bincount(y[drawn], minlength=3)[few] >= 2).all()
    np.testing.assert_array_equal(drawn, stratified_subsample(rows, y, limit, seed))


def tried(recipe, rows):
    return [recipe.fit_predict_fold(rows, part, 0) for part in recipe.parts(rows)]


def test_out_of_fold_outputs_are_of_models_that_have_not_seen_the_row(rows):
    recipe = MemberSpec("nb", "user", (GaussianNB(),))
    tuned = recipe.select_candidate(rows, tried(recipe, rows), 0)
    for train, test in rows.folds:
        expected = GaussianNB().fit(rows.X[train], rows.y[train]).predict_proba(rows.X[test])
        np.testing.assert_array_equal(tuned.outputs[test], expected)


def test_the_best_candidate_is_chosen_and_fitted_to_all_rows(rows):
    recipe = MemberSpec("two", "user", (KNeighborsClassifier(1), GaussianNB()))
    tuned = recipe.select_candidate(rows, tried(recipe, rows), 0)
    model = recipe.refit(rows, tuned)
    assert tuned.chosen == 1
    assert isinstance(model, GaussianNB)
    assert model.class_count_.sum() == len(rows.y)


def test_decision_values_are_evaluated_after_calibration(rows):
    recipe = MemberSpec("svm", "user", (SVC(C=1e-3), SVC(C=1.0)))
    tuned = recipe.select_candidate(rows, tried(recipe, rows), 0)
    assert recipe.response == "decision_function"
    assert tuned.chosen == 1
    assert recipe.loss(tuned.outputs, rows, rows.tested) < np.log(3)


def test_a_member_is_fitted_to_max_rows_at_most(rows):
    recipe = MemberSpec("nb", "user", (GaussianNB(),)).limited(30)
    model = recipe.refit(rows, recipe.select_candidate(rows, tried(recipe, rows), 0))
    assert model.class_count_.sum() == 30
    assert not recipe.uses_all_rows(rows)
    assert recipe.limited(50).max_rows == 30


def test_rows_of_one_class_have_a_constant_member(rows):
    member = fit_clone(GaussianNB(), rows, np.flatnonzero(rows.y == 1), 0)
    assert isinstance(member, DummyClassifier)
    assert member.classes_.tolist() == [1]


def test_weights_and_seed_reach_the_member(rows):
    weighted = rows._replace(weights=np.where(rows.y == 0, 3.0, 1.0))
    every = np.arange(len(rows.y))
    model = fit_clone(GaussianNB(), weighted, every, 0)
    assert model.class_count_[0] == 3 * (rows.y == 0).sum()
    assert fit_clone(DecisionTreeClassifier(), rows, every, 5).random_state is not None


def test_log_loss_by_hand():
    probabilities = np.array([[0.5, 0.5], [0.8, 0.2]])
    assert log_loss(probabilities, np.array([0, 0])) == pytest.approx(-np.log(0.4) / 2)
    weighted = log_loss(probabilities, np.array([0, 1]), np.array([3.0, 1.0]))
    assert weighted == pytest.approx(-(3 * np.log(0.5) + np.log(0.2)) / 4)
    assert np.isfinite(log_loss(np.array([[1.0, 0.0]]), np.array([1])))


def test_a_fold_without_a_class_gives_it_probability_zero(rows):
    lacking = rows.folds[0]._replace(train=np.flatnonzero(rows.y != 2))
    recipe = MemberSpec("lr", "user", (LogisticRegression(),))
    attempt = recipe.fit_predict_fold(rows._replace(folds=[lacking]), lacking, 0)
    assert (attempt.outputs[0, :, 2] == 0).all()


def test_a_member_that_reads_tables_gets_categories(rows):
    table = np.array([["a", 1.0]] * len(rows.y), dtype=object)
    both = rows._replace(forms={TABLE: table})
    plain, reader = (
        MemberSpec("nb", "user", (GaussianNB(),), reads=reads) for reads in (ENCODED, TABLE)
    )
    assert plain.input_data(both).X is rows.X
    assert reader.input_data(both).X is table
    assert plain.input_data(both).forms == {}
    assert [each.input_kind(both) for each in (plain, reader)] == ["encoded", "table"]
    assert reader.input_kind(rows) == "encoded"
    assert reader.input_data(rows).X is rows.X


FOREST = OutOfBag("forest", "standard", (CompactForestClassifier(30),))


STRATA = InternalFolds("strata", "rows", (StrataEnsembleClassifier(HISS(3, 0.5)),))


def test_a_forest_is_evaluated_out_of_bag_and_fitted_once(rows):
    assert FOREST.parts(rows) == [None]
    attempt = FOREST.fit_predict_fold(rows, None, 0)
    seed = attempt.model.random_state
    same = RandomForestClassifier(30, oob_score=True, random_state=seed).fit(rows.X, rows.y)
    np.testing.assert_array_equal(attempt.outputs[0], same.oob_decision_function_)
    tuned = FOREST.select_candidate(rows, [attempt], 0)
    assert FOREST.refit(rows, tuned) is attempt.model


def test_a_row_in_every_bootstrap_has_the_class_frequencies(rows):
    one_tree = OutOfBag("tree", "standard", (CompactForestClassifier(1),))
    outputs = one_tree.fit_predict_fold(rows, None, 0).outputs[0]
    prior = np.bincount(rows.y) / len(rows.y)
    assert (outputs == prior).all(axis=1).any()
    np.testing.assert_allclose(outputs.sum(axis=1), 1)


def test_groups_and_subsamples_are_evaluated_by_folds(rows):
    assert FOREST.parts(rows._replace(has_groups=True)) == rows.folds
    assert FOREST.limited(50).parts(rows) == rows.folds
    assert FOREST.parts(rows._replace(folds=rows.folds[:1])) == rows.folds[:1]
    fold = rows.folds[0]
    assert FOREST.fit_predict_fold(rows, fold, 0).outputs.shape == (1, len(fold.test), 3)


def test_strata_are_fitted_once_with_the_shared_folds(rows):
    assert STRATA.parts(rows) == [None]
    attempt = STRATA.fit_predict_fold(rows, None, 0)
    assert attempt.outputs.shape == (1, 150, 3)
    np.testing.assert_allclose(attempt.outputs.sum(axis=2), 1)
    assert attempt.model.cv == 3
    assert STRATA.refit(rows, STRATA.select_candidate(rows, [attempt], 0)) is attempt.model
    held_out = (attempt.outputs[0].argmax(axis=1) == rows.y).mean()
    assert 0.6 < held_out <= attempt.model.score(rows.X, rows.y)


def test_strata_of_a_subsample_are_evaluated_by_folds(rows):
    limited = STRATA.limited(60)
    fold = limited.parts(rows)[0]
    assert limited.fit_predict_fold(rows, fold, 0).outputs.shape == (1, len(fold.test), 3)
