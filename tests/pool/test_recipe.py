import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ensemblage.pool._pool_targets import log_loss
from ensemblage.pool._recipe import Recipe, fit_fresh, held_out_loss


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
