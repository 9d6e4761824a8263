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
from ensemblage.pool import PoolClasses, PoolRows, Recipe, shared_folds, thin
from ensemblage.pool._compact_members import Forest
from ensemblage.pool._member_spec import OutOfBag, OwnFolds, fit_fresh, held_out_loss
from ensemblage.pool._targets import log_loss
from ensemblage.strata import HISS, StrataEnsembleClassifier


def test_folds_hold_each_row_out_once():
    y = np.arange(30) % 3
    folds = shared_folds(y, 5, 0)
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([f.test for f in folds])), np.arange(30))


def test_a_class_of_two_rows_does_not_cost_folds():
    y = np.array([0] * 20 + [1] * 20 + [2] * 2)
    assert len(shared_folds(y, 5, 0)) == 5


def test_few_rows_have_few_folds():
    assert len(shared_folds(np.array([0, 0, 1]), 5, 0)) == 2


def test_groups_stay_together():
    groups = np.arange(40) // 4
    for train, test in shared_folds(np.arange(40) % 2, 5, 0, groups):
        assert not set(groups[train]) & set(groups[test])


def test_a_splitter_is_asked():
    folds = shared_folds(np.arange(12) % 2, KFold(4), 0)
    assert [fold.test.tolist() for fold in folds] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


@pytest.mark.parametrize(
    ("tests", "whole"),
    [([[0, 1], [2, 3]], True), ([[0, 1, 2, 3]], False), ([[0, 1], [2]], False)],
)
def test_only_folds_that_test_every_row_once_let_an_ensemble_judge_itself(tests, whole):
    folds = [Fold(np.array([0]), np.array(test)) for test in tests]
    rows = PoolRows(np.eye(4), np.array([0, 1, 0, 1]), PoolClasses(np.arange(2)), None, folds)
    assert rows.all_held_out is whole
    assert rows.held_out.tolist() == sorted({row for test in tests for row in test})


def test_rows_are_thinned_with_the_shares_of_the_classes():
    y = np.repeat([0, 1, 2], [600, 300, 3])
    drawn = thin(np.arange(903), y, 90, seed=0)
    assert np.bincount(y[drawn]).tolist() == [59, 29, 2]
    assert thin(drawn, y, None, seed=0) is drawn
    assert thin(drawn, y, 90, seed=0) is drawn


@given(st.integers(6, 60), st.integers(0, 50))
def test_a_thinned_sample_is_one(limit, seed):
    y = np.random.default_rng(seed).integers(0, 3, 60)
    rows = np.arange(0, 60, 1)
    drawn = thin(rows, y, limit, seed)
    assert len(drawn) == limit
    assert (np.diff(drawn) > 0).all()
    few = np.bincount(y, minlength=3) >= 2
    assert (np.bincount(y[drawn], minlength=3)[few] >= 2).all()
    np.testing.assert_array_equal(drawn, thin(rows, y, limit, seed))


def attempts(recipe, rows):
    return [recipe.attempt(rows, part, 0) for part in recipe.parts(rows)]


def test_held_out_outputs_are_of_models_that_have_not_seen_the_row(rows):
    recipe = Recipe("nb", "given", (GaussianNB(),))
    held = recipe.choose(rows, attempts(recipe, rows))
    for train, test in rows.folds:
        expected = GaussianNB().fit(rows.X[train], rows.y[train]).predict_proba(rows.X[test])
        np.testing.assert_array_equal(held.outputs[test], expected)


def test_the_best_candidate_is_chosen_and_fitted_to_all_rows(rows):
    recipe = Recipe("two", "given", (KNeighborsClassifier(1), GaussianNB()))
    held = recipe.choose(rows, attempts(recipe, rows))
    model = recipe.refit(rows, held, 0)
    assert held.chosen == 1
    assert isinstance(model, GaussianNB)
    assert model.class_count_.sum() == len(rows.y)


def test_decision_values_are_judged_once_they_are_calibrated(rows):
    recipe = Recipe("svm", "given", (SVC(C=1e-3), SVC(C=1.0)))
    held = recipe.choose(rows, attempts(recipe, rows))
    assert recipe.response == "decision_function"
    assert held.chosen == 1
    assert held_out_loss(held.outputs, rows) < np.log(3)


def test_a_member_learns_no_more_rows_than_it_may(rows):
    recipe = Recipe("nb", "given", (GaussianNB(),)).limited(30)
    model = recipe.refit(rows, recipe.choose(rows, attempts(recipe, rows)), 0)
    assert model.class_count_.sum() == 30
    assert not recipe.sees_all(rows)
    assert recipe.limited(50).most_rows == 30


def test_rows_of_one_class_have_a_member_that_says_it(rows):
    member = fit_fresh(GaussianNB(), rows, np.flatnonzero(rows.y == 1), 0)
    assert isinstance(member, DummyClassifier)
    assert member.classes_.tolist() == [1]


def test_weights_reach_the_member_and_the_seed_too(rows):
    weighted = rows._replace(weights=np.where(rows.y == 0, 3.0, 1.0))
    every = np.arange(len(rows.y))
    model = fit_fresh(GaussianNB(), weighted, every, 0)
    assert model.class_count_[0] == 3 * (rows.y == 0).sum()
    assert fit_fresh(DecisionTreeClassifier(), rows, every, 5).random_state is not None


def test_log_loss_by_hand():
    probabilities = np.array([[0.5, 0.5], [0.8, 0.2]])
    assert log_loss(probabilities, np.array([0, 0])) == pytest.approx(-np.log(0.4) / 2)
    weighted = log_loss(probabilities, np.array([0, 1]), np.array([3.0, 1.0]))
    assert weighted == pytest.approx(-(3 * np.log(0.5) + np.log(0.2)) / 4)
    assert np.isfinite(log_loss(np.array([[1.0, 0.0]]), np.array([1])))


def test_a_fold_without_a_class_says_nothing_of_it(rows):
    lacking = rows.folds[0]._replace(train=np.flatnonzero(rows.y != 2))
    recipe = Recipe("lr", "given", (LogisticRegression(),))
    attempt = recipe.attempt(rows._replace(folds=[lacking]), lacking, 0)
    assert (attempt.outputs[0, :, 2] == 0).all()


def test_who_reads_tables_gets_words_as_words(rows):
    table = np.array([["a", 1.0]] * len(rows.y), dtype=object)
    both = rows._replace(table=table)
    plain, reader = (
        Recipe("nb", "given", (GaussianNB(),), reads_tables=reads) for reads in (False, True)
    )
    assert plain.view(both).X is rows.X
    assert reader.view(both).X is table
    assert plain.view(both).table is None
    assert [each.sees(both) for each in (plain, reader)] == ["numbers", "table"]
    assert reader.sees(rows) == "numbers"
    assert reader.view(rows).X is rows.X


FOREST = OutOfBag("forest", "anchor", (Forest(30),))


STRATA = OwnFolds("strata", "rows", (StrataEnsembleClassifier(HISS(3, 0.5)),))


def test_a_forest_is_judged_out_of_bag_and_fitted_once(rows):
    assert FOREST.parts(rows) == [None]
    attempt = FOREST.attempt(rows, None, 0)
    seed = attempt.model.random_state
    same = RandomForestClassifier(30, oob_score=True, random_state=seed).fit(rows.X, rows.y)
    np.testing.assert_array_equal(attempt.outputs[0], same.oob_decision_function_)
    held = FOREST.choose(rows, [attempt])
    assert FOREST.refit(rows, held, 0) is attempt.model


def test_a_row_that_every_tree_knows_has_the_classes_frequencies(rows):
    one_tree = OutOfBag("tree", "anchor", (Forest(1),))
    outputs = one_tree.attempt(rows, None, 0).outputs[0]
    prior = np.bincount(rows.y) / len(rows.y)
    assert (outputs == prior).all(axis=1).any()
    np.testing.assert_allclose(outputs.sum(axis=1), 1)


def test_groups_and_samples_are_judged_by_folds(rows):
    assert FOREST.parts(rows._replace(grouped=True)) == rows.folds
    assert FOREST.limited(50).parts(rows) == rows.folds
    assert FOREST.parts(rows._replace(folds=rows.folds[:1])) == rows.folds[:1]
    fold = rows.folds[0]
    assert FOREST.attempt(rows, fold, 0).outputs.shape == (1, len(fold.test), 3)


def test_strata_are_fitted_once_with_the_shared_folds(rows):
    assert STRATA.parts(rows) == [None]
    attempt = STRATA.attempt(rows, None, 0)
    assert attempt.outputs.shape == (1, 150, 3)
    np.testing.assert_allclose(attempt.outputs.sum(axis=2), 1)
    assert attempt.model.cv == 3
    assert STRATA.refit(rows, STRATA.choose(rows, [attempt]), 0) is attempt.model
    held_out = (attempt.outputs[0].argmax(axis=1) == rows.y).mean()
    assert 0.6 < held_out <= attempt.model.score(rows.X, rows.y)


def test_strata_of_a_sample_are_judged_by_folds(rows):
    limited = STRATA.limited(60)
    fold = limited.parts(rows)[0]
    assert limited.attempt(rows, fold, 0).outputs.shape == (1, len(fold.test), 3)
