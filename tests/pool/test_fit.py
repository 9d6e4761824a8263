import re
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from ensemblage.fusion import LogLinearPool, Mean, Stacking
from ensemblage.pool import (
    Boosting,
    Candidate,
    EnsemblageClassifier,
    Recipe,
    Verdict,
    cross_fitted,
    fuse,
    hold_out_members,
    make_fusion,
    refit_member,
    resolve_pool,
)
from ensemblage.pool import _ensemblage as _ensemblage_classifier
from ensemblage.pool import _fit as _budget
from ensemblage.pool._boosting import FIVE
from ensemblage.pool._fit import (
    Clock,
    Cost,
    Failure,
    LeftOut,
    Limits,
    PoolPlan,
    describe_pool,
    expected_cost,
    fit_counting,
    hold_out_in_time,
    learn_pool,
    plan,
    standings,
    try_part,
)
from ensemblage.pool._member_spec import HeldOut, OutOfBag, one_hold_out
from ensemblage.pool._targets import log_loss


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


def candidate(name, outputs, estimator=None):
    return Candidate(Recipe(name, "given", (estimator or GaussianNB(),)), 0, HeldOut(outputs, 0, 1))


@pytest.fixture
def candidates(rows):
    """One that knows the class in nine of ten rows, and one that says the same of all."""
    rng = np.random.default_rng(0)
    said = np.where(rng.uniform(size=150) < 0.9, rows.y, rng.integers(0, 3, 150))
    knows = 0.7 * np.eye(3)[said] + 0.1
    return [candidate("knows", knows), candidate("guesses", np.full((150, 3), 1 / 3))]


def test_the_pool_has_biases_unless_rows_belong_together():
    assert make_fusion("log_linear", grouped=False).bias_penalty == 10.0
    assert make_fusion("log_linear", grouped=True).bias_penalty is None
    assert isinstance(make_fusion("stacking", grouped=False), Stacking)
    assert isinstance(make_fusion(Mean(), grouped=False), Mean)


def test_the_fusion_learns_who_knows(rows, candidates):
    verdict = fuse(candidates, rows, make_fusion("log_linear", grouped=False))
    assert verdict.outputs.shape == (2, 150, 3)
    assert verdict.fusion.member_weights(2)[0] > 0.99
    assert [each.recipe.name for each in verdict.without([0])] == ["guesses"]


def test_only_those_who_count_are_fitted_to_all_rows(rows, candidates):
    fusion = LogLinearPool().fit(np.stack([each.held.outputs for each in candidates]), rows.y)
    fusion.weights_ = np.array([0.0, 1.0])
    verdict = Verdict(candidates, fusion, np.zeros((2, 150, 3)), np.arange(150))
    members, failed = fit_counting(verdict, rows, None)
    assert [each.name for each in members] == ["guesses"]
    assert not failed
    assert members[0].model.class_count_.sum() == 150
    verdict = verdict._replace(fusion=Mean())
    assert verdict.counting.tolist() == [0, 1]


def test_the_pool_is_judged_by_fusions_that_have_not_seen_the_row(rows, candidates):
    fusion = make_fusion("log_linear", grouped=False)
    verdict = fuse(candidates, rows, fusion)
    pooled = cross_fitted(fusion, verdict, rows)
    train, test = rows.folds[0]
    expected = fusion.fit(verdict.outputs[:, train], rows.y[train]).combine(
        verdict.outputs[:, test]
    )
    np.testing.assert_array_equal(pooled[test], expected)


def test_one_fold_is_dealt_out_for_the_fusion(rows, candidates):
    alone = rows._replace(folds=rows.folds[:1])
    fusion = make_fusion("log_linear", grouped=False)
    verdict = fuse(candidates, alone, fusion)
    assert verdict.known.tolist() == rows.folds[0].test.tolist()
    pooled = cross_fitted(fusion, verdict, alone)
    assert pooled.shape == (len(verdict.known), 3)
    assert np.isfinite(pooled).all()


def test_lines_of_the_leaderboard(rows, candidates):
    verdict = fuse(candidates, rows, make_fusion("log_linear", grouped=False))
    members, _ = fit_counting(verdict, rows, None)
    pooled = np.full((150, 3), 1 / 3)
    pool, best, worst = standings(verdict, members, rows, pooled)
    assert (pool.member, best.member, worst.member) == ("pool", "knows", "guesses")
    assert pool.log_loss == pytest.approx(np.log(3))
    assert best.accuracy == (candidates[0].held.outputs.argmax(axis=1) == rows.y).mean()
    assert worst.log_loss == pytest.approx(log_loss(np.full((150, 3), 1 / 3), rows.y), abs=1e-3)
    assert best.weight + worst.weight == pytest.approx(1)
    assert best.fit_seconds >= 1
    assert best.rows == 150


def plan_fitted_pool(pool, clock=None):
    recipes = resolve_pool(pool)
    fusion = make_fusion("log_linear", grouped=False)
    return PoolPlan(recipes, range(len(recipes)), fusion, clock, None)


def test_members_that_count_are_kept_and_others_have_a_sentence(rows):
    given = plan_fitted_pool([GaussianNB(), Fails(), "logistic"])
    learned = learn_pool(given, rows)
    pool = describe_pool(learned, rows, cross_fitted(given.fusion, learned.verdict, rows))
    assert pool.names == ["GaussianNB", "logistic"]
    assert pool.responses == ["predict_proba"] * 2
    assert len(pool.fusion.weights_) == len(pool.estimators) == 2
    assert pool.leaderboard.left_out[0].startswith("Fails is left out: it could not be fitted")
    assert pool.held_out.names == ("GaussianNB", "logistic")
    assert pool.leaderboard[0].log_loss < np.log(3)


def test_nobody_is_left(rows):
    with pytest.raises(ValueError, match=r"No member of the pool could be fitted. Fails: it could"):
        learn_pool(plan_fitted_pool([Fails()]), rows)


def test_with_a_clock_members_are_tried_in_time(rows):
    learned = learn_pool(plan_fitted_pool([GaussianNB(), "logistic"], Clock(30.0)), rows)
    assert len(learned.members) == 2
