import re
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from ensemblage.fusion import Mean, Stacking
from ensemblage.pool import (
    Boosting,
    EnsemblageClassifier,
    MemberSpec,
    TunedMember,
    _fit,
    cross_validate_members,
    fit_fusion,
    fit_lasting_fusion,
    make_fusion,
    refit_member,
    resolve_members,
)
from ensemblage.pool._boosting import SETTINGS_GRID
from ensemblage.pool._fit import (
    MemberFailure,
    TimeBudget,
    cross_validate_in_time,
    expected_seconds,
    fit_pool,
    leaderboard_rows,
    n_fitted_rows,
    order_by_value,
    out_of_fold_outputs,
    plan_member,
    stack_tested,
    try_fold,
)
from ensemblage.pool._member_spec import FoldPredictions, OutOfBag, holdout_fold, log_loss


class Fails(ClassifierMixin, BaseEstimator):
    """Cannot be fitted."""

    def fit(self, X, y):
        raise RuntimeError("no memory\nat all")

    def predict(self, X):
        return np.zeros(len(X))


BROKEN = MemberSpec("broken", "user", (Fails(),))


def test_an_error_is_a_result_with_its_first_line(rows):
    failed = try_fold(BROKEN, rows, rows.folds[0], 0)
    assert failed == ("broken", "it could not be fitted (RuntimeError: no memory)")
    failed = refit_member(TunedMember(BROKEN, 0, np.zeros((150, 3)), 0, 0.0), rows)
    assert failed == ("broken", "it could not be fitted to all rows (RuntimeError: no memory)")


def test_failures_are_returned_separately(rows):
    specs = [BROKEN, MemberSpec("nb", "user", (GaussianNB(),))]
    members, failures = cross_validate_members(specs, rows, [1, 2], None)
    assert [each.spec.name for each in members] == ["nb"]
    assert failures == [("broken", "it could not be fitted (RuntimeError: no memory)")]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_worker_or_two(rows, n_jobs):
    specs = resolve_members(["logistic", "svm", RandomForestClassifier(5)])
    members, _ = cross_validate_members(specs, rows, [1, 2, 3], n_jobs)
    sums = [each.outputs.sum(axis=0) for each in members]
    expected, _ = cross_validate_members(specs, rows, [1, 2, 3], None)
    np.testing.assert_array_equal(sums, [each.outputs.sum(axis=0) for each in expected])
    assert all(each.seconds > 0 for each in members)


NAIVE = MemberSpec("nb", "user", (GaussianNB(), GaussianNB()), cost_offset=0)


class Sleeps(GaussianNB):
    """Takes a millisecond for each row."""

    def fit(self, X, y, sample_weight=None):
        time.sleep(0.001 * len(X))
        return super().fit(X, y, sample_weight)


class Still(TimeBudget):
    """A budget of which nothing is spent."""

    def remaining(self):
        return self.seconds


class Spent(TimeBudget):
    """A budget that is spent at the second look."""

    looks = 0

    def remaining(self):
        self.looks += 1
        return self.seconds if self.looks == 1 else -self.seconds


SLEEPS = MemberSpec("sleeps", "user", (Sleeps(),), cost_offset=0)
PLENTY = Still(1000.0)


def test_reserved_seconds_do_not_remain():
    budget = TimeBudget(100.0)
    assert 87 < budget.remaining() <= 88
    budget.reserve(50.0)
    assert 37 < budget.remaining() <= 38


def test_costs_by_hand(rows):
    # three folds of 100 rows of 150, two candidates of which one is fitted again
    assert expected_seconds(NAIVE, rows, 0.01, 1) == pytest.approx((3.0, 0.75))
    assert expected_seconds(NAIVE, rows, 0.01, 2) == pytest.approx((2.0, 0.75))
    assert expected_seconds(NAIVE.limited(50), rows, 0.01, 1) == pytest.approx((1.5, 0.25))
    steep = MemberSpec("steep", "user", (GaussianNB(),), cost_exponent=2.0, cost_offset=50)
    assert expected_seconds(steep, rows, 1e-4, 1) == pytest.approx((3 * 2.25, 4.0))
    forest = OutOfBag("forest", "standard", (GaussianNB(),), cost_offset=0)
    assert expected_seconds(forest, rows, 0.01, 1) == pytest.approx((1.5, 0.0))


def test_with_enough_time_all_rows_are_used(rows):
    spec, *seconds = plan_member(NAIVE, rows, 0, PLENTY)
    assert spec is NAIVE
    assert 0 < sum(seconds) < 100


def test_a_member_is_fitted_to_as_many_rows_as_time_allows(rows, monkeypatch):
    monkeypatch.setattr(_fit, "MIN_ROWS", 1)
    monkeypatch.setattr(_fit, "PILOT_ROWS", 20)
    spec, *seconds = plan_member(SLEEPS, rows, 0, Still(0.3))
    assert spec.max_rows in {75, 37, 18, 9, 4, 2}
    assert sum(seconds) < 0.3


def test_a_member_without_time_is_left_out_with_its_reason(rows):
    failure = plan_member(SLEEPS, rows, 0, Still(0.3))
    assert isinstance(failure, MemberFailure)
    assert failure.name == "sleeps"
    assert re.fullmatch(r"it needs about \d\.\d s, and 0\.3 s remain", failure.reason)
    assert plan_member(NAIVE, rows, 0, TimeBudget(1e-9)).reason == "the time budget was used up"
    assert plan_member(BROKEN, rows, 0, PLENTY).reason.startswith(
        "it could not be fitted (RuntimeError"
    )


def test_without_time_one_member_is_fitted(rows):
    recipes = resolve_members(["forest", "logistic"])
    found, left_out = cross_validate_in_time(recipes, rows, [1, 2], TimeBudget(1e-9))
    assert [each.spec.name for each in found] == ["logistic"]
    assert [each.name for each in left_out] == ["forest"]


def test_members_are_tried_by_value_and_returned_in_their_order(rows):
    recipes = [*resolve_members(["logistic", "svm"]), BROKEN]
    found, left_out = cross_validate_in_time(recipes, rows, [1, 2, 3], PLENTY)
    assert [each.spec.name for each in found] == ["logistic", "svm"]
    assert [each.name for each in left_out] == ["broken"]
    assert order_by_value(recipes, rows) == [2, 1, 0]


def boosting(library):
    if library == "lightgbm":
        pytest.importorskip("lightgbm")
    return Boosting("boosting", "standard", SETTINGS_GRID, library=library)


@pytest.mark.parametrize("library", ["lightgbm", "sklearn"])
def test_boosting_of_many_rows_is_first_and_refitted(rows, library):
    once = rows._replace(folds=holdout_fold(rows.y, 0), is_large=True)
    recipes = [NAIVE, boosting(library)]
    assert order_by_value(recipes, once) == [1, 0]
    found, _ = cross_validate_in_time(recipes, once, [1, 2], PLENTY)
    assert found[1].model is None
    assert len(found[1].spec.candidates) == 1


def test_boosting_that_used_up_its_time_is_not_refitted(rows):
    once = rows._replace(folds=holdout_fold(rows.y, 0), is_large=True)
    found, _ = cross_validate_in_time([boosting("lightgbm")], once, [1], Spent(3.0))
    (tuned_member,) = found
    spec = tuned_member.spec
    model = spec.refit(once, tuned_member)
    assert model is tuned_member.model
    assert model.n_rounds == spec.n_rounds[tuned_member.chosen]
    assert n_fitted_rows(tuned_member, once) == 135
    test = once.folds[0].test
    np.testing.assert_allclose(model.predict_proba(rows.X[test]), tuned_member.outputs[test])


def test_boosting_stops_at_its_time_limit(rows):
    once = rows._replace(folds=holdout_fold(rows.y, 0))
    short = boosting("lightgbm").to_the_end(1, seconds=1e-9)
    model = short.fit_predict_fold(once, once.folds[0], 0).model
    assert model.booster_.current_iteration() <= 2


def test_a_tenth_is_held_out_once(rows):
    train, test = holdout_fold(rows.y, 0)[0]
    assert len(test) == 15
    np.testing.assert_array_equal(np.sort([*train, *test]), np.arange(150))
    groups = np.arange(150) // 5
    train, test = holdout_fold(rows.y, 0, groups)[0]
    assert not set(groups[train]) & set(groups[test])


def test_a_pool_in_time(clouds):
    X, y = clouds
    X, y = np.tile(X, (4, 1)), np.tile(y, 4)
    model = EnsemblageClassifier([Sleeps(), GaussianNB()], time_budget=1.0, cv=2, random_state=0)
    with pytest.warns(UserWarning, match="Sleeps is left out: it needs about"):
        model.fit(X, y)
    assert model.member_names_ == ["GaussianNB"]


def tuned(name, outputs):
    return TunedMember(MemberSpec(name, "user", (GaussianNB(),)), 0, outputs, 0, 1)


@pytest.fixture
def members(rows):
    """An accurate member, right on about nine rows in ten, and an uninformative one."""
    rng = np.random.default_rng(0)
    predicted = np.where(rng.uniform(size=150) < 0.9, rows.y, rng.integers(0, 3, 150))
    accurate = 0.7 * np.eye(3)[predicted] + 0.1
    return [tuned("accurate", accurate), tuned("uninformative", np.full((150, 3), 1 / 3))]


def test_the_pool_has_biases_unless_there_are_groups():
    assert make_fusion("log_linear", has_groups=False).bias_penalty == 10.0
    assert make_fusion("log_linear", has_groups=True).bias_penalty is None
    assert isinstance(make_fusion("stacking", has_groups=False), Stacking)
    assert isinstance(make_fusion(Mean(), has_groups=False), Mean)


def test_the_fusion_weights_informative_members(rows, members):
    fitted = fit_fusion(make_fusion("log_linear", has_groups=False), members, rows)
    assert stack_tested(members, rows).shape == (2, 150, 3)
    assert fitted.member_weights(2)[0] > 0.99


def test_members_of_little_weight_are_left_out(rows, members):
    fusion, kept, weights = fit_lasting_fusion(
        make_fusion("log_linear", has_groups=False), members, rows
    )
    assert kept.tolist() == [0]
    assert weights.tolist() == [1, 0]
    assert fusion.weights_.shape == (1,)


def test_a_mean_keeps_all_members(rows, members):
    _, kept, weights = fit_lasting_fusion(Mean(), members, rows)
    assert kept.tolist() == [0, 1]
    assert weights is None or weights.tolist() == [0.5, 0.5]


def test_the_pool_is_evaluated_by_a_cross_fitted_fusion(rows, members):
    fusion = make_fusion("log_linear", has_groups=False)
    pooled = out_of_fold_outputs(fusion, members, rows)
    train, test = rows.folds[0]
    outputs = stack_tested(members, rows)
    expected = fusion.fit(outputs[:, train], rows.y[train]).combine(outputs[:, test])
    np.testing.assert_array_equal(pooled[test], expected)


def tuned_by_folds(rows, seed):
    """Return a tuned member of three candidates, of made-up out-of-fold outputs."""
    rng = np.random.default_rng(seed)
    shown = np.where(rng.uniform(size=150) < 0.5, rows.y, rng.integers(0, 3, 150))
    proba = 0.3 * np.eye(3)[shown] + rng.dirichlet([2, 2, 2], (3, 150))
    proba /= proba.sum(axis=2, keepdims=True)
    spec = MemberSpec(f"made-{seed}", "user", (GaussianNB(),) * 3)
    tried = [FoldPredictions(proba[:, fold.test], 0.0) for fold in rows.folds]
    return spec, tried, proba


def tell_literally(made, rows):
    """Score each fold by choices on the other folds, step by step."""
    told = [np.empty((150, 3)) for _ in range(len(made) + 1)]
    for _, test in rows.folds:
        train = np.setdiff1d(np.arange(150), test)
        y, chosen = rows.y[train], []
        for own, (_, _, candidates) in zip(told, made, strict=False):
            losses = []
            for each in candidates:
                alone = rows.target.calibrator().fit(each[None, train], y)
                proba = alone.combine(each[None, train])
                losses.append(-np.log(proba[np.arange(len(y)), y]).mean())
            best = candidates[np.argmin(losses)]
            alone = rows.target.calibrator().fit(best[None, train], y)
            own[test] = alone.combine(best[None, test])
            chosen.append(best)
        outputs = np.stack(chosen)
        fusion = make_fusion("log_linear", has_groups=False).fit(outputs[:, train], y)
        told[-1][test] = fusion.combine(outputs[:, test])
    return told


def test_each_fold_is_scored_by_choices_on_the_others(rows):
    made = [tuned_by_folds(rows, seed) for seed in (1, 2)]
    members = [spec.select_candidate(rows, tried, 0) for spec, tried, _ in made]
    assert any(len({each.chosen, *each.fold_choices}) > 1 for each in members)
    *alone, pooled = tell_literally(made, rows)
    fusion = make_fusion("log_linear", has_groups=False)
    np.testing.assert_array_equal(out_of_fold_outputs(fusion, members, rows), pooled)
    for member, expected in zip(members, alone, strict=True):
        found = out_of_fold_outputs(rows.target.calibrator(), [member], rows)
        np.testing.assert_array_equal(found, expected)
    weights = fit_fusion(fusion, members, rows).member_weights(2)
    board = leaderboard_rows(weights, members, rows, pooled, {})
    losses = {each.member: each.log_loss for each in board}
    assert losses["made-1"] == pytest.approx(log_loss(alone[0], rows.y))
    assert losses["made-2"] == pytest.approx(log_loss(alone[1], rows.y))


@pytest.mark.parametrize("number", range(3))
def test_labels_of_a_fold_have_no_part_in_the_choices_for_it(rows, number):
    made = [tuned_by_folds(rows, seed) for seed in (1, 2)]
    test, fusion = rows.folds[number].test, make_fusion("log_linear", has_groups=False)
    y = rows.y.copy()
    y[test] = np.random.default_rng(number).permutation(y[test])
    found = []
    for data in (rows, rows._replace(y=y)):
        members = [spec.select_candidate(data, tried, 0) for spec, tried, _ in made]
        choices = [each.fold_choices[number] for each in members]
        found.append((choices, out_of_fold_outputs(fusion, members, data)))
    (choices, told), (permuted_choices, permuted) = found
    assert choices == permuted_choices
    np.testing.assert_array_equal(told[test], permuted[test])
    assert not np.array_equal(told, permuted)


def test_one_holdout_fold_is_split_for_the_fusion(rows, members):
    alone = rows._replace(folds=rows.folds[:1])
    fusion = make_fusion("log_linear", has_groups=False)
    assert alone.tested.tolist() == rows.folds[0].test.tolist()
    pooled = out_of_fold_outputs(fusion, members, alone)
    assert pooled.shape == (len(alone.tested), 3)
    assert np.isfinite(pooled).all()


def test_rows_of_the_leaderboard(rows, members):
    fitted = fit_fusion(make_fusion("log_linear", has_groups=False), members, rows)
    pooled, seconds = np.full((150, 3), 1 / 3), {"accurate": (0.5, 0.01)}
    weights = fitted.member_weights(2)
    pool, best, worst = leaderboard_rows(weights, members, rows, pooled, seconds)
    assert (pool.member, best.member, worst.member) == ("pool", "accurate", "uninformative")
    assert pool.log_loss == pytest.approx(np.log(3))
    assert best.score == (members[0].outputs.argmax(axis=1) == rows.y).mean()
    assert worst.log_loss == pytest.approx(log_loss(np.full((150, 3), 1 / 3), rows.y), abs=1e-3)
    # three folds: 50 test rows for 100 training rows
    hits = members[0].outputs.argmax(axis=1) == rows.y
    assert best.score_se == pytest.approx(hits.std() / np.sqrt(150) * np.sqrt(1 + 150 / 100))
    assert pool.log_loss_se == pytest.approx(0)
    assert best.weight + worst.weight == pytest.approx(1)
    assert (best.fit_seconds, worst.fit_seconds) == (1.5, 1)
    assert (best.predict_seconds, worst.predict_seconds) == (0.01, None)
    assert best.n_samples == 150


def fitted_pool(members, rows, **options):
    specs = resolve_members(members)
    fusion = make_fusion("log_linear", has_groups=False)
    return fit_pool(specs, range(len(specs)), fusion, rows, **options)


def test_members_with_a_weight_are_kept_and_failures_listed(rows):
    pool, chosen, *_ = fitted_pool([GaussianNB(), Fails(), "logistic"], rows)
    assert pool.names == ["GaussianNB", "logistic"]
    assert pool.response_methods == ["predict_proba"] * 2
    assert len(pool.fusion.weights_) == len(pool.estimators) == len(chosen) == 2
    assert pool.estimators[0].class_count_.sum() == 150
    assert pool.leaderboard.failures[0].startswith("Fails is left out: it could not be fitted")
    assert pool.out_of_fold.names == ("GaussianNB", "logistic")
    assert pool.leaderboard[0].log_loss < np.log(3)


def test_no_member_is_left(rows):
    with pytest.raises(ValueError, match=r"No member of the pool could be fitted. Fails: it could"):
        fitted_pool([Fails()], rows)


def test_with_a_budget_members_are_fitted_in_time(rows):
    pool, *_ = fitted_pool([GaussianNB(), "logistic"], rows, budget=TimeBudget(30.0))
    assert len(pool.estimators) == 2


def test_a_long_fit_to_many_classes_is_announced_before_the_work(monkeypatch):
    y = np.arange(400) % 100
    X = np.random.default_rng(0).normal(size=(400, 2)) + y[:, None]

    def stop(*_):
        raise InterruptedError

    monkeypatch.setattr(_fit, "cross_validate_members", stop)
    with (
        pytest.warns(UserWarning, match="100 classes.*about 150 s or more.*`time_budget`"),
        pytest.raises(InterruptedError),
    ):
        EnsemblageClassifier(["boosting"], cv=2).fit(X, y)
    for members, classes in ((["logistic"], y), (["boosting"], y % 20)):
        with pytest.raises(InterruptedError):
            EnsemblageClassifier(members, cv=2).fit(X, classes)
