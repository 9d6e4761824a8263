from copy import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.fusion import DensityMean
from ensemblage.messages import DamagedStateError
from ensemblage.persistence import load, save
from ensemblage.pool import EnsemblageRegressor

SMALL = EnsemblageRegressor(["ridge", "svr", DecisionTreeRegressor(max_depth=3)], cv=3)
SMALL.set_params(random_state=0)

# the one expected failure that we accept: folds are drawn by lot, and a row that counts twice
# is in one of them, two copies of it need not be
BY_LOT = {
    "check_sample_weight_equivalence_on_dense_data": "folds depend on the number of rows",
    "check_sample_weight_equivalence_on_sparse_data": "folds depend on the number of rows",
}


@pytest.fixture(scope="module")
def waves():
    """Four columns, two of which tell something of a number, and the number."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    return X, 40 + 8 * X[:, 0] + 5 * np.sin(2 * X[:, 1]) + rng.normal(size=150)


@pytest.fixture(scope="module")
def fitted(waves):
    return clone(SMALL).fit(*waves)


@parametrize_with_checks(
    [
        EnsemblageRegressor(["ridge", DecisionTreeRegressor(max_depth=3)], cv=2),
        EnsemblageRegressor([Ridge(), LinearRegression()], fusion="stacking", cv=2),
    ],
    expected_failed_checks=lambda _: BY_LOT,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [EnsemblageRegressor(cv=2), EnsemblageRegressor("full", cv=2)],
    expected_failed_checks=lambda _: BY_LOT,
)
def test_sklearn_checks_of_whole_pools(estimator, check):
    check(estimator)


def test_it_says_the_product_of_its_members_densities(waves, fitted):
    X, y = waves
    mean, spread = fitted.predict(X, return_std=True)
    members = np.array([each.predict(X) for each in fitted.estimators_])
    fusion = fitted.fusion_
    parts = fusion.weights_ / (fitted.target_scale_**2 * fusion.factors_[:, 0])
    np.testing.assert_allclose(mean, parts @ members / parts.sum())
    widened = fitted.spread_factor_ / parts.sum() + fitted.spread_floor_
    low, high = fitted.spread_levels_
    level = np.clip((mean - low) / (high - low), 0, 1)
    np.testing.assert_allclose(spread**2, widened * np.exp(fitted.spread_growth_ * level))
    assert fitted.score(X, y) > 0.9


def test_the_leaderboard_is_of_rows_that_were_not_seen(waves, fitted):
    pool, *members = fitted.leaderboard_
    record = fitted.held_out_
    error = record.y - record.pooled[:, 0]
    assert pool.rmse == pytest.approx(np.sqrt(np.mean(error**2)))
    np.testing.assert_array_equal(record.y, waves[1])
    assert pool.rmse < 1.05 * min(each.rmse for each in members)
    # the best single variance: log loss and error tell the same
    for each in members:
        assert each.log_loss == pytest.approx(0.5 * np.log(2 * np.pi * np.e) + np.log(each.rmse))
    assert sum(each.weight for each in members) == pytest.approx(1)
    assert "RMSE" in str(fitted.leaderboard_)


class Shaky(LinearRegression):
    """Exaggerates what linear regression gets wrong."""

    def fit(self, X, y):
        super().fit(X, y)
        self.coef_ = 3 * self.coef_ - 2 * np.array([8, 0, 0, 0])
        return self


def test_members_of_weight_zero_are_not_fitted_again(waves):
    X, y = waves
    model = EnsemblageRegressor(["svr", LinearRegression(), Shaky()], cv=3, random_state=0)
    model.fit(X, y)
    weights = {each.member: each.weight for each in model.leaderboard_[1:]}
    assert {name for name, weight in weights.items() if weight > 0} == set(model.member_names_)
    assert len(model.fusion_.weights_) == len(model.member_names_)
    assert len(model.held_out_.names) == 3


def test_the_spread_is_that_of_rows_that_nobody_had_seen(waves):
    X, y = waves
    rng = np.random.default_rng(0)
    y = y + 30 * rng.standard_t(2, size=len(y))  # a few rows are far off
    given = [Shaky(), LinearRegression(), DecisionTreeRegressor(), Ridge(), Ridge(1e4)]
    model = EnsemblageRegressor(given, cv=3, random_state=0).fit(X, y)
    mean, variance = model.held_out_.pooled.T
    assert np.mean((y - mean) ** 2 / variance) == pytest.approx(1)


def test_intervals_hold_the_truth_as_often_as_asked(waves, fitted):
    X, _ = waves
    rng = np.random.default_rng(2)
    new = rng.normal(size=(2000, 4))
    y = 40 + 8 * new[:, 0] + 5 * np.sin(2 * new[:, 1]) + rng.normal(size=2000)
    low, high = fitted.predict_interval(new, coverage=0.8).T
    assert 0.72 < ((low <= y) & (y <= high)).mean() < 0.9
    narrow, wide = (np.ptp(fitted.predict_interval(X[:1], share)) for share in (0.5, 0.99))
    assert narrow < wide < np.ptp(fitted.predict_interval(X[:1], 1 - 1e-9)) + 1e-9


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, "most"])
def test_a_coverage_is_a_share(waves, fitted, coverage):
    with pytest.raises(ValueError, match="between 0 and 1"):
        fitted.predict_interval(waves[0], coverage)


def test_one_row_is_explained_by_who_said_what(waves, fitted):
    X, y = waves
    told = fitted.explain_row(X[0])
    mean, spread = fitted.predict(X[:1], return_std=True)
    assert told.prediction == pytest.approx(mean[0])
    assert told.spread == pytest.approx(spread[0])
    assert told.start == pytest.approx(y.mean())
    assert told.start + sum(each.push for each in told.voices) == pytest.approx(told.prediction)
    assert sum(each.weight for each in told.voices) == pytest.approx(1)
    assert "ridge" in str(told)
    assert "<table" in told._repr_html_()


def test_a_fusion_that_is_no_weighted_mean_tells_no_pushes(waves):
    X, y = waves
    model = clone(SMALL).set_params(fusion="stacking").fit(X, y)
    told = model.explain_row(X[0])
    assert {each.push for each in told.voices} == {None}
    assert told.prediction == pytest.approx(model.predict(X[:1])[0])


def test_contributions_and_smaller_pools(waves, fitted):
    X, _ = waves
    assert fitted.contributions().log_loss == pytest.approx(
        fitted.leaderboard_[0].log_loss, abs=0.1
    )
    pruned = fitted.prune(fitted.frontier()[-1].latency)
    assert len(pruned.member_names_) == 1
    np.testing.assert_allclose(pruned.predict(X), pruned.estimators_[0].predict(X))
    assert pruned.predict(X, return_std=True)[1][0] != fitted.predict(X, return_std=True)[1][0]


def test_one_worker_and_two_give_the_same_bits(waves):
    X, y = waves
    pool = ["ridge", "forest", "boosting"]
    one, two = (
        EnsemblageRegressor(pool, cv=2, n_jobs=n_jobs, random_state=0).fit(X[:80], y[:80])
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(one.held_out_.outputs, two.held_out_.outputs)


@pytest.mark.parametrize(("shift", "scale"), [(1e9, 1.0), (0.0, 1e-9), (-5.0, 1e12)])
def test_the_units_of_the_target_do_not_matter(waves, shift, scale):
    X, y = waves
    pool = ["ridge", "svr", "forest", "boosting"]
    model = EnsemblageRegressor(pool, cv=2, random_state=0)
    plain, other = (clone(model).fit(X[:90], each[:90]) for each in (y, shift + scale * y))
    spread = plain.predict(X, return_std=True)[1]
    # trees cut between equals as rounding has it, so that it is not the same to the last digit
    far = (other.predict(X) - shift) / scale - plain.predict(X)
    assert np.abs(far / spread).max() < 0.1
    np.testing.assert_allclose(other.predict(X, return_std=True)[1] / scale, spread, rtol=0.02)


def test_frames_with_words_and_gaps(waves):
    X, y = waves
    frame = pd.DataFrame(X.copy(), columns=list("abcd"))  # which older pandas writes into
    frame.loc[::7, "b"] = np.nan
    frame["word"] = np.where(X[:, 0] > 0, "high", "low")
    model = EnsemblageRegressor(["ridge", "tree"], cv=2, random_state=0).fit(frame[:100], y[:100])
    assert np.isfinite(model.predict(frame)).all()
    assert model.score(frame[100:], y[100:]) > 0.5
    assert model.explain_row(frame[:1]).prediction == pytest.approx(model.predict(frame[:1])[0])


@pytest.mark.parametrize(
    ("y", "told"),
    [
        (np.full(20, 3.0), "varies from 3 to 3 only"),
        (np.repeat(["low", "high"], 10), "which is no number"),
        (np.append(np.arange(19.0), np.inf), "infinity"),
        (np.append(np.arange(19.0), np.nan), "NaN"),
    ],
)
def test_a_target_that_is_no_number_is_refused(y, told):
    with pytest.raises(ValueError, match=told):
        clone(SMALL).fit(np.random.default_rng(0).normal(size=(20, 2)), y)


def test_a_classifier_is_no_member(waves):
    with pytest.raises(TypeError, match="which is no regressor"):
        EnsemblageRegressor([DecisionTreeClassifier()]).fit(*waves)
    with pytest.raises(ValueError, match="which is no member"):
        EnsemblageRegressor(["logistic"]).fit(*waves)


class Broken(Ridge):
    """Cannot be fitted."""

    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("no memory")


def test_a_member_that_fails_is_left_out(waves):
    with pytest.warns(UserWarning, match="broken is left out"):
        model = EnsemblageRegressor(["ridge", ("broken", Broken())], cv=2).fit(*waves)
    assert model.member_names_ == ["ridge"]


def test_rows_without_weight_are_absent(waves):
    X, y = waves
    weights = np.ones(150)
    weights[100:] = 0
    outside = np.where(weights > 0, y, 1e6)
    model = EnsemblageRegressor(["ridge", "svr"], cv=2, random_state=0)
    given = clone(model).fit(X, outside, sample_weight=weights)
    alone = clone(model).fit(X[:100], y[:100], sample_weight=weights[:100])
    np.testing.assert_array_equal(given.predict(X), alone.predict(X))


def test_groups_are_never_on_both_sides():
    groups = np.arange(150) // 10
    told, y = np.random.default_rng(0).normal(size=(2, 15))[:, groups]
    model = EnsemblageRegressor([DecisionTreeRegressor()], cv=3, random_state=0)
    loose = clone(model).fit(told[:, None], y)
    grouped = clone(model).fit(told[:, None], y, groups=groups)
    assert loose.leaderboard_[0].rmse < 0.1 < grouped.leaderboard_[0].rmse


def test_saved_and_loaded(tmp_path, waves):
    X, y = waves
    pool = ["ridge", "svr", "forest", "boosting", "tree"]
    model = EnsemblageRegressor(pool, cv=2, fusion=DensityMean(), random_state=0).fit(
        X[:60], y[:60]
    )
    save(model, tmp_path / "pool.skops")
    again = load(tmp_path / "pool.skops").model
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert str(again.leaderboard_) == str(model.leaderboard_)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target_scale_", 0.0),
        ("target_mean_", np.nan),
        ("responses_", ["predict_proba"] * 9),
        ("estimators_", []),
    ],
)
def test_forged_attributes_are_refused(fitted, name, value):
    forged = copy(fitted)
    setattr(forged, name, value)
    with pytest.raises(DamagedStateError):
        forged.__check_state__()
