import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from ensemblage.pool._held_out import Failure, hold_out_members, refit_member, try_part
from ensemblage.pool._members import resolve_pool
from ensemblage.pool._recipe import HeldOut, Recipe


class Fails(ClassifierMixin, BaseEstimator):
    """Cannot be fitted."""

    def fit(self, X, y):
        raise RuntimeError("no memory\nat all")

    def predict(self, X):
        return np.zeros(len(X))


BROKEN = Recipe("broken", "given", (Fails(),))


def test_an_error_is_a_result_with_its_first_line(rows):
    assert try_part(BROKEN, rows, rows.folds[0], 0) == Failure("RuntimeError: no memory")
    held = HeldOut(np.zeros((150, 3)), 0, 0.0)
    assert refit_member(BROKEN, rows, held, 0) == Failure("RuntimeError: no memory")


def test_those_that_fail_are_told_from_the_others(rows):
    recipes = [BROKEN, Recipe("nb", "given", (GaussianNB(),))]
    candidates, left_out = hold_out_members(recipes, rows, [1, 2], None)
    assert [each.recipe.name for each in candidates] == ["nb"]
    assert left_out == [("broken", "it could not be fitted (RuntimeError: no memory)")]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_worker_or_two(rows, n_jobs):
    recipes = resolve_pool(["logistic", "svm", RandomForestClassifier(5)])
    candidates, _ = hold_out_members(recipes, rows, [1, 2, 3], n_jobs)
    sums = [each.held.outputs.sum(axis=0) for each in candidates]
    expected, _ = hold_out_members(recipes, rows, [1, 2, 3], None)
    np.testing.assert_array_equal(sums, [each.held.outputs.sum(axis=0) for each in expected])
    assert all(each.held.seconds > 0 for each in candidates)
