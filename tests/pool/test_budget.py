import re
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from ensemblage.pool import EnsemblageClassifier, _budget, _ensemblage_classifier
from ensemblage.pool._boosting import FIVE, Boosting
from ensemblage.pool._budget import (
    Clock,
    Cost,
    Limits,
    expected_cost,
    hold_out_in_time,
    plan,
)
from ensemblage.pool._held_out import LeftOut
from ensemblage.pool._members import resolve_pool
from ensemblage.pool._out_of_bag import OutOfBag
from ensemblage.pool._pool_rows import one_hold_out
from ensemblage.pool._recipe import Recipe
from pool.test_held_out import BROKEN

NAIVE = Recipe("nb", "given", (GaussianNB(), GaussianNB()), fixed=0)


class Sleeps(GaussianNB):
    """Takes a millisecond for each row."""

    def fit(self, X, y, sample_weight=None):
        time.sleep(0.001 * len(X))
        return super().fit(X, y, sample_weight)


class Still(Clock):
    """A clock that stands still."""

    def left(self):
        return self.seconds


class Spent(Clock):
    """A clock whose time is up at the second look."""

    looks = 0

    def left(self):
        self.looks += 1
        return self.seconds if self.looks == 1 else -self.seconds


SLEEPS = Recipe("sleeps", "given", (Sleeps(),), fixed=0)
PLENTY = Limits(Still(1000.0), None)


def test_what_is_set_aside_is_not_left():
    clock = Clock(100.0)
    assert 87 < clock.left() <= 88
    clock.set_aside(50.0)
    assert 37 < clock.left() <= 38


def test_costs_by_hand(rows):
    # three folds of 100 rows of 150, two candidates of which one is fitted again
    assert expected_cost(NAIVE, rows, 0.01, 1) == pytest.approx(Cost(3.0, 0.75))
    assert expected_cost(NAIVE, rows, 0.01, 2) == pytest.approx(Cost(2.0, 0.75))
    assert expected_cost(NAIVE.limited(50), rows, 0.01, 1) == pytest.approx(Cost(1.5, 0.25))
    steep = Recipe("steep", "given", (GaussianNB(),), growth=2.0, fixed=50)
    assert expected_cost(steep, rows, 1e-4, 1) == pytest.approx(Cost(3 * 2.25, 4.0))
    forest = OutOfBag("forest", "anchor", (GaussianNB(),), fixed=0)
    assert expected_cost(forest, rows, 0.01, 1) == pytest.approx(Cost(1.5, 0.0))


def test_with_time_to_spare_all_rows_are_learned(rows):
    recipe, cost = plan(NAIVE, rows, 0, PLENTY)
    assert recipe is NAIVE
    assert 0 < sum(cost) < 100


def test_a_member_learns_as_many_rows_as_time_allows(rows, monkeypatch):
    monkeypatch.setattr(_budget, "FEWEST_ROWS", 1)
    monkeypatch.setattr(_budget, "PILOT_ROWS", 20)
    recipe, cost = plan(SLEEPS, rows, 0, Limits(Still(0.3), None))
    assert recipe.most_rows in {75, 37, 18, 9, 4, 2}
    assert sum(cost) < 0.3


def test_a_member_without_time_is_left_out_with_its_reason(rows):
    left_out = plan(SLEEPS, rows, 0, Limits(Still(0.3), None))
    assert isinstance(left_out, LeftOut)
    assert left_out.name == "sleeps"
    assert re.fullmatch(r"it needs about \d\.\d s, and 0\.3 s are left", left_out.reason)
    assert plan(NAIVE, rows, 0, Limits(Clock(1e-9), None)).reason == "the time was up"
    assert plan(BROKEN, rows, 0, PLENTY).reason.startswith("it could not be fitted (RuntimeError")


def test_in_no_time_there_is_one_member_still(rows):
    recipes = resolve_pool(["forest", "logistic"])
    found, left_out = hold_out_in_time(recipes, rows, [1, 2], Limits(Clock(1e-9), None))
    assert [each.recipe.name for each in found] == ["logistic"]
    assert [each.name for each in left_out] == ["forest"]


def test_members_come_by_value_and_are_given_in_their_own_order(rows):
    recipes = [*resolve_pool(["logistic", "svm"]), BROKEN]
    found, left_out = hold_out_in_time(recipes, rows, [1, 2, 3], PLENTY)
    assert [each.recipe.name for each in found] == ["logistic", "svm"]
    assert [each.name for each in left_out] == ["broken"]
    assert _budget._by_value(recipes, rows) == [2, 1, 0]


def boosting(engine):
    if engine == "lightgbm":
        pytest.importorskip("lightgbm")
    return Boosting("boosting", "anchor", FIVE, engine=engine)


@pytest.mark.parametrize("engine", ["lightgbm", "sklearn"])
def test_boosting_of_many_rows_is_grown_first_and_fitted_again(rows, engine, monkeypatch):
    monkeypatch.setattr(_budget, "MANY_ROWS", 100)
    once = rows._replace(folds=one_hold_out(rows.y, 0))
    recipes = [NAIVE, boosting(engine)]
    assert _budget._by_value(recipes, once) == [1, 0]
    found, _ = hold_out_in_time(recipes, once, [1, 2], PLENTY)
    assert found[1].held.model is None
    assert len(found[1].recipe.candidates) == 1


def test_boosting_that_used_up_its_time_is_kept_as_it_has_grown(rows, monkeypatch):
    monkeypatch.setattr(_budget, "MANY_ROWS", 100)
    once = rows._replace(folds=one_hold_out(rows.y, 0))
    found, _ = hold_out_in_time([boosting("lightgbm")], once, [1], Limits(Spent(3.0), None))
    recipe, seed, held = found[0]
    model = recipe.refit(once, held, seed)
    assert model is held.model
    assert model.n_rounds == recipe.stages[held.chosen]
    test = once.folds[0].test
    np.testing.assert_allclose(model.predict_proba(rows.X[test]), held.outputs[test])


def test_growth_ends_when_its_seconds_are_up(rows):
    once = rows._replace(folds=one_hold_out(rows.y, 0))
    short = boosting("lightgbm").in_time(1e-9, 1)
    model = short.attempt(once, once.folds[0], 0).model
    assert model.booster_.current_iteration() <= 2


def test_a_tenth_is_held_out_once(rows):
    train, test = one_hold_out(rows.y, 0)[0]
    assert len(test) == 15
    np.testing.assert_array_equal(np.sort([*train, *test]), np.arange(150))
    groups = np.arange(150) // 5
    train, test = one_hold_out(rows.y, 0, groups)[0]
    assert not set(groups[train]) & set(groups[test])


def test_a_pool_in_time(clouds, monkeypatch):
    X, y = clouds
    X, y = np.tile(X, (4, 1)), np.tile(y, 4)
    model = EnsemblageClassifier([Sleeps(), GaussianNB()], time_budget=1.0, cv=2, random_state=0)
    with pytest.warns(UserWarning, match="Sleeps is left out: it needs about"):
        model.fit(X, y)
    assert model.member_names_ == ["GaussianNB"]
    monkeypatch.setattr(_ensemblage_classifier, "MANY_ROWS", 100)
    many = clone(model).set_params(pool=[GaussianNB()], time_budget=60).fit(X, y)
    assert many.leaderboard_[0].rows == 600
