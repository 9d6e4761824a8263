from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage._core import DamagedStateError
from ensemblage.fusion import Mean
from ensemblage.persistence import load, save
from ensemblage.pool import (
    CLASSIFIER_POOLS,
    EnsemblageClassifier,
    EnsemblageRegressor,
    resolve_members,
)
from pool.test_fit import Fails


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 3)) + y[:, None]
    return EnsemblageClassifier(["logistic", GaussianNB()], cv=2, random_state=0).fit(X, y)


def test_a_fitted_pool_passes_its_checks(fitted):
    assert fitted._check_fitted() is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("estimators_", [], "no members"),
        ("member_names_", ["one"], "member_names_ has another length"),
        ("response_methods_", ["fit", "fit"], "response_methods_ are unknown"),
        ("member_inputs_", ["encoded", "secrets"], "member_inputs_ are unknown"),
        ("classes_", np.arange(3), "fusion_ has other members or classes"),
    ],
)
def test_forged_attributes_are_refused(fitted, name, value, message):
    forged = copy(fitted)
    setattr(forged, name, value)
    with pytest.raises(DamagedStateError, match=message):
        forged._check_fitted()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("y", np.full(60, 9), "y"),
        ("outputs", np.zeros((2, 60, 5), np.float32), "outputs"),
        ("pool_outputs", np.full((60, 2), np.nan), "pool_outputs"),
        ("groups", (), "groups has another length"),
        ("weights", np.ones(3), "weights"),
    ],
)
def test_a_forged_record_is_refused(fitted, field, value, message):
    forged = copy(fitted)
    forged.out_of_fold_ = replace(fitted.out_of_fold_, **{field: value})
    with pytest.raises(DamagedStateError, match=message):
        forged._check_fitted()


def test_a_forged_file_is_refused(fitted, tmp_path):
    forged = copy(fitted)
    forged.fusion_ = copy(fitted.fusion_)
    forged.fusion_.weights_ = np.full(2, np.nan)
    path = tmp_path / "pool.skops"
    what = {"columns": list("abc"), "kinds": ["numeric"] * 3, "target": "class", "details": {}}
    save(forged, path, **what)
    with pytest.raises(ValueError, match="forged or damaged LogLinearPool"):
        load(path)


POOLS = [
    EnsemblageClassifier(["logistic", "svm"], cv=2, random_state=0),
    EnsemblageRegressor(["ridge", "svr"], cv=2, random_state=0),
]


@pytest.mark.parametrize("pool", POOLS, ids=["classification", "regression"])
def test_pools_of_both_tasks_are_inspected(pool):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=80)).round(0 if pool is POOLS[0] else 9)
    model = pool.fit(X, y)
    assert model.out_of_fold_.target.n_outputs == model._member_outputs(X).shape[2]
    assert [each.group for each in model.ablation()] == []  # the group holds all members
    points = model.pruning_path()
    assert [len(each.members) for each in points] == [*range(len(points), 0, -1)]
    fastest = min(each.latency for each in points)
    assert len(model.prune(fastest).estimators_) < 1 + len(model.estimators_)
    with pytest.raises(ValueError, match="fastest pruned pool"):
        model.prune(fastest / 1000)


SMALL = EnsemblageClassifier(["logistic", "svm", RandomForestClassifier(10)], cv=3, random_state=0)


# the one expected failure that we accept: folds are drawn by lot, and a row that counts twice
# is in one of them, two copies of it need not be
BY_LOT = {"check_sample_weight_equivalence_on_dense_data": "folds depend on the number of rows"}


@pytest.mark.filterwarnings("ignore:.* is left out")
@parametrize_with_checks(
    [
        EnsemblageClassifier([GaussianNB(), SVC()], cv=2),
        EnsemblageClassifier([GaussianNB(), RandomForestClassifier(5)], fusion="stacking", cv=2),
    ],
    expected_failed_checks=lambda _: BY_LOT,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is left out")
@parametrize_with_checks(
    [EnsemblageClassifier(), EnsemblageClassifier("full")], expected_failed_checks=lambda _: BY_LOT
)
def test_sklearn_checks_of_whole_pools(estimator, check):
    check(estimator)


def test_probabilities_of_the_fused_members(clouds):
    X, y = clouds
    model = clone(SMALL).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.score(X, y) > 0.75
    names = {each.member for each in model.leaderboard_}
    assert {"pool", *model.member_names_} <= names
    outputs = np.stack(
        [
            getattr(each, response)(X)
            for each, response in zip(model.estimators_, model.response_methods_, strict=True)
        ]
    )
    np.testing.assert_array_equal(proba, model.fusion_.combine(outputs))


def test_one_worker_and_two_give_the_same_bits(clouds):
    X, y = clouds
    pool = ["logistic", "svm", "boosting", RandomForestClassifier(5)]
    one, two = (
        EnsemblageClassifier(pool, cv=2, n_jobs=n, random_state=3).fit(X, y) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.fusion_.weights_, two.fusion_.weights_)


def test_a_member_that_fails_is_left_out_with_a_reason(clouds):
    X, y = clouds
    with pytest.warns(UserWarning, match=r"^Fails is left out: it could not be fitted \(Runtime"):
        model = EnsemblageClassifier([Fails(), GaussianNB()], cv=2).fit(X, y)
    assert model.member_names_ == ["GaussianNB"]
    assert model.leaderboard_.failures[0].startswith("Fails is left out")


class FailsOnMany(GaussianNB):
    """Cannot be fitted to many rows."""

    def fit(self, X, y, sample_weight=None):
        if len(X) > 100:
            raise MemoryError
        return super().fit(X, y, sample_weight)


def test_a_member_that_fails_on_all_rows_only(clouds):
    X, y = clouds
    with pytest.warns(UserWarning, match=r"left out: it could not be fitted to all rows \(Memory"):
        model = EnsemblageClassifier([FailsOnMany(), SVC()], cv=2).fit(X, y)
    assert model.member_names_ == ["SVC"]


def test_when_all_fail_the_reasons_are_in_the_error(clouds):
    with pytest.raises(ValueError, match=r"No member of the pool could be fitted. Fails: .*memory"):
        EnsemblageClassifier([Fails()], cv=2).fit(*clouds)


def test_rows_without_weight_are_dropped(clouds):
    X, y = clouds
    weights = np.ones(150)
    weights[100:] = 0
    with_zeros = clone(SMALL).fit(X, y, sample_weight=weights)
    without = clone(SMALL).fit(X[:100], y[:100], sample_weight=weights[:100])
    np.testing.assert_array_equal(with_zeros.predict_proba(X), without.predict_proba(X))


def test_groups_are_not_split_and_have_no_biases(clouds):
    X, y = clouds
    # rows come in equal threes with classes at random: seeing one does not help with the others
    groups = np.repeat(np.arange(50), 3)
    model = clone(SMALL).fit(np.repeat(X[:50], 3, axis=0), y, groups=groups)
    assert model.fusion_.biases_.tolist() == [0, 0, 0]
    assert model.leaderboard_[0].score < 0.6
    honest = clone(SMALL).fit(np.repeat(X[:50], 3, axis=0), np.repeat(y[:50], 3), groups=groups)
    leaky = clone(SMALL).fit(np.repeat(X[:50], 3, axis=0), np.repeat(y[:50], 3))
    assert honest.leaderboard_[0].score < leaky.leaderboard_[0].score


def test_classes_of_two_rows(clouds):
    X, y = clouds
    y = np.where(np.arange(150) < 2, "rare", y)
    model = clone(SMALL).set_params(cv=5).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite([each.log_loss for each in model.leaderboard_]).all()


def test_a_fusion_of_ones_own(clouds):
    X, y = clouds
    model = EnsemblageClassifier([GaussianNB(), "logistic"], fusion=Mean(), cv=2).fit(X, y)
    both = [each.predict_proba(X) for each in model.estimators_]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(both, axis=0))
    decisions = EnsemblageClassifier([SVC()], fusion=Mean())
    assert not hasattr(decisions, "predict_proba")
    assert hasattr(decisions, "decision_function")


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="y holds one class only, 'a'"):
        clone(SMALL).fit(np.eye(4), ["a"] * 4)


@pytest.mark.parametrize("pool", [["logistic", "boosting"], ["strata", "network", "forest"]])
def test_saved_and_loaded(tmp_path, clouds, pool):
    X, y = clouds
    model = EnsemblageClassifier(pool, cv=2, random_state=0).fit(X, y)
    names = list("abcd")
    save(
        model, tmp_path / "pool.skops",
        columns=names, kinds=["numeric"] * 4, target="class", details={},
    )  # fmt: skip
    loaded = load(tmp_path / "pool.skops").model
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert str(loaded.leaderboard_) == str(model.leaderboard_)


@pytest.fixture(scope="module")
def fitted_ensemblage_classifier():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 3)) + y[:, None] * [1.5, 0.5, 0]
    pool = ["logistic", GaussianNB(), RandomForestClassifier(10)]
    return EnsemblageClassifier(pool, cv=3, random_state=0).fit(X, y), X, y


def test_a_row_is_explained(fitted_ensemblage_classifier):
    model, X, _ = fitted_ensemblage_classifier
    decision = model.explain_row(X[0])
    np.testing.assert_allclose(decision.probabilities, model.predict_proba(X[:1])[0])
    assert decision.prediction == model.predict(X[:1])[0]
    assert {each.member for each in decision.members} == set(model.member_names_)


def test_groups_of_members_contribute(fitted_ensemblage_classifier):
    model, _, _ = fitted_ensemblage_classifier
    found = model.ablation()
    assert {each.group for each in found} == {"standard", "user"}
    assert 0.1 < found.log_loss < 0.6


def test_a_pruned_pool_is_faster_and_the_pool_is_unchanged(fitted_ensemblage_classifier):
    model, X, y = fitted_ensemblage_classifier
    points = model.pruning_path()
    before = model.predict_proba(X)
    small = model.prune(points[-1].latency)
    assert small.member_names_ == list(points[-1].members)
    assert small.score(X, y) > 0.75
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.prune(1e9).member_names_ == model.member_names_
    with pytest.raises(ValueError, match=r"max_latency=1e-09 is less than the .* s for 100 rows"):
        model.prune(1e-9)


def test_a_distilled_tree_agrees_with_the_pool(fitted_ensemblage_classifier):
    model, X, y = fitted_ensemblage_classifier
    found = model.distill(X, max_leaf_nodes=4, X_test=X, y_test=y)
    assert found.model.get_n_leaves() <= 4
    assert found.fidelity > 0.8
    other = model.distill(X, kind="logistic", out_of_fold=True, X_test=X, y_test=y)
    assert other.log_loss < np.log(2)
    agree = other.model.predict(X) == model.predict(X)
    assert other.fidelity == agree.mean()


def test_a_distilled_model_has_no_scores_without_test_rows(fitted_ensemblage_classifier):
    model, X, y = fitted_ensemblage_classifier
    for out_of_fold in (False, True):
        found = model.distill(X, out_of_fold=out_of_fold)
        assert (found.fidelity, found.log_loss, found.accuracy) == (None, None, None)
    assert model.distill(X, X_test=X).log_loss is None
    with pytest.raises(ValueError, match="y_test was given without X_test"):
        model.distill(X, y_test=y)
    with pytest.raises(ValueError, match="y_test holds 'martian', a class that was not in y"):
        model.distill(X, X_test=X[:1], y_test=["martian"])


def test_categories_dates_and_missing_values():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 120)
    frame = pd.DataFrame(
        {
            "job": np.where(rng.uniform(size=120) < 0.8, np.where(y, "cook", "smith"), None),
            "age": np.where(rng.uniform(size=120) < 0.1, np.nan, 30 + 5 * y + rng.normal(size=120)),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 120), "D"),
        }
    )
    model = clone(SMALL).fit(frame, np.array(["no", "yes"])[y])
    assert model.leaderboard_[0].score > 0.9
    new = pd.DataFrame({"job": ["cook", "tailor"], "age": [35.0, np.nan], "since": [pd.NaT] * 2})
    assert np.isfinite(model.predict_proba(new)).all()
    assert model.n_features_in_ == 3
    assert model.distill(frame, out_of_fold=True, X_test=frame).fidelity > 0.9
    assert model.explain_row(new[:1]).prediction == "yes"


def test_the_network_takes_categorical_columns():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 150)
    # each column is uninformative without the other
    first = rng.integers(0, 2, 150)
    columns = {"first": np.array(["a", "b"])[first], "second": np.array(["c", "d"])[first ^ y]}
    frame = pd.DataFrame(columns)
    weights = np.ones(150)
    weights[:10] = 0
    model = EnsemblageClassifier(["network", "logistic"], cv=3, random_state=0)
    model.fit(frame, y, sample_weight=weights)
    assert model.member_names_[0] == "network"
    assert model.member_inputs_[0] == "table"
    network = model.estimators_[0]
    assert network.n_features_in_ == 2
    assert network.categories_["first"] == ["a", "b"]
    assert (model.predict(frame) == y).all()
    as_lists = clone(model).fit(frame.to_numpy().tolist(), y, sample_weight=weights)
    np.testing.assert_array_equal(
        as_lists.predict_proba(frame.to_numpy().tolist()), model.predict_proba(frame)
    )


def test_out_of_fold_indices_skip_rows_without_weight(clouds):
    X, y = clouds
    weights = np.ones(150)
    weights[:10] = 0
    model = clone(SMALL).fit(X, y, sample_weight=weights)
    assert model.out_of_fold_.indices.tolist() == list(range(10, 150))


def test_trees_of_an_encoded_table_are_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 120)
    letters = np.array(list("abcdefgh"))[rng.integers(0, 4, 120) + 4 * y]
    letters[:30] = "a"
    frame = pd.DataFrame({"job": letters, "age": rng.normal(size=120)})
    pool = [RandomForestClassifier(10), "boosting"]
    model = EnsemblageClassifier(pool, cv=2, random_state=0).fit(frame, y)
    save(
        model, tmp_path / "pool.skops",
        columns=["job", "age"], kinds=["categorical", "numeric"], target="class", details={},
    )  # fmt: skip
    loaded = load(tmp_path / "pool.skops").model
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))


def awkward_tables():
    rng = np.random.default_rng(0)
    three = np.repeat(np.arange(3), 3)
    yield "three rows of each class", rng.normal(size=(9, 4)) + three[:, None], three
    pairs = np.arange(50) % 2
    yield "constant columns", np.c_[np.ones((50, 3)), rng.normal(size=50) + pairs], pairs
    yield "nothing but constants", np.ones((40, 3)), np.arange(40) % 2
    wide = rng.normal(size=(60, 90))
    wide[:, 0] += 2 * (np.arange(60) % 3)
    yield "more columns than rows", wide, np.arange(60) % 3
    yield "a class of one row", rng.normal(size=(31, 2)), np.r_[np.zeros(30), 1]
    yield "far from one", rng.normal(size=(30, 2)) * [1e12, 1e-12], np.arange(30) % 2


@pytest.mark.parametrize("table", list(awkward_tables()), ids=lambda each: each[0])
def test_edge_case_tables(table):
    _, X, y = table
    weights = np.random.default_rng(1).uniform(0.1, 3, len(y))
    pool = ["svm", "logistic", "forest", "boosting"]
    model = EnsemblageClassifier(pool, random_state=0).fit(X, y, sample_weight=weights)
    for rows in (X, 1e6 * X):
        proba = model.predict_proba(rows)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert (proba >= 0).all()
    assert np.isfinite([each.log_loss for each in model.leaderboard_]).all()
    assert model.leaderboard_.failures == ()


def test_a_network_of_very_many_columns_is_used_only_if_listed(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 301)), np.arange(24) % 2
    X[:, 0] += 5 * y
    monkeypatch.setitem(CLASSIFIER_POOLS, "lean", ("logistic", "network"))
    with pytest.warns(
        UserWarning, match="^network is left out: its fit time grows with the square"
    ):
        model = EnsemblageClassifier("lean", cv=2, random_state=0).fit(X, y)
    assert [line.member for line in model.leaderboard_] == ["pool", "logistic"]
    (asked,) = resolve_members(["network"])
    assert asked.max_columns is None


SMALL_REGRESSOR = EnsemblageRegressor(
    ["ridge", "svr", DecisionTreeRegressor(max_depth=3)], cv=3, random_state=0
)


# the one expected failure that we accept: folds are drawn by lot, and a row that counts twice
# is in one of them, two copies of it need not be
REGRESSOR_BY_LOT = {
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
def regressor(waves):
    return clone(SMALL_REGRESSOR).fit(*waves)


@parametrize_with_checks(
    [
        EnsemblageRegressor(["ridge", DecisionTreeRegressor(max_depth=3)], cv=2),
        EnsemblageRegressor([Ridge(), LinearRegression()], fusion="stacking", cv=2),
    ],
    expected_failed_checks=lambda _: REGRESSOR_BY_LOT,
)
def test_sklearn_checks_of_regression(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [EnsemblageRegressor(cv=2), EnsemblageRegressor("full", cv=2)],
    expected_failed_checks=lambda _: REGRESSOR_BY_LOT,
)
def test_sklearn_checks_of_whole_regression_pools(estimator, check):
    check(estimator)


def test_it_predicts_the_product_of_its_members_densities(waves, regressor):
    X, y = waves
    mean, std = regressor.predict(X, return_std=True)
    members = np.array([each.predict(X) for each in regressor.estimators_])
    fusion, correction = regressor.fusion_, regressor.variance_correction_
    parts = fusion.weights_ / (regressor.target_scale_**2 * fusion.variance_factors_[:, 0])
    np.testing.assert_allclose(mean, parts @ members / parts.sum())
    widened = correction["factor"] / parts.sum() + correction["offset"]
    low, high = correction["low"], correction["high"]
    level = np.clip((mean - low) / (high - low), 0, 1)
    np.testing.assert_allclose(std**2, widened * np.exp(correction["log_growth"] * level))
    assert regressor.score(X, y) > 0.9


def test_the_leaderboard_is_out_of_fold(waves, regressor):
    pool, *members = regressor.leaderboard_
    record = regressor.out_of_fold_
    error = record.y - record.pool_outputs[:, 0]
    assert pool.score == pytest.approx(np.sqrt(np.mean(error**2)))
    np.testing.assert_array_equal(record.y, waves[1])
    assert pool.score < 1.05 * min(each.score for each in members)
    # the least log loss with one variance; of each fold, it is that of the other folds
    for each in members:
        least = 0.5 * np.log(2 * np.pi * np.e) + np.log(each.score)
        assert least < each.log_loss < least + 0.2
    assert sum(each.weight for each in members) == pytest.approx(1)
    assert "RMSE" in str(regressor.leaderboard_)


class Shaky(LinearRegression):
    """Exaggerates what linear regression gets wrong."""

    def fit(self, X, y):
        super().fit(X, y)
        self.coef_ = 3 * self.coef_ - 2 * np.array([8, 0, 0, 0])
        return self


def test_members_of_weight_zero_are_not_refitted(waves):
    X, y = waves
    model = EnsemblageRegressor(["svr", LinearRegression(), Shaky()], cv=3, random_state=0)
    model.fit(X, y)
    weights = {each.member: each.weight for each in model.leaderboard_[1:]}
    assert {name for name, weight in weights.items() if weight > 0} == set(model.member_names_)
    assert len(model.fusion_.weights_) == len(model.member_names_)
    assert len(model.out_of_fold_.names) == 3


def test_the_standard_deviation_is_that_of_out_of_fold_residuals(waves):
    X, y = waves
    rng = np.random.default_rng(0)
    y = y + 30 * rng.standard_t(2, size=len(y))  # a few rows are far off
    given = [Shaky(), LinearRegression(), DecisionTreeRegressor(), Ridge(), Ridge(1e4)]
    model = EnsemblageRegressor(given, cv=3, random_state=0).fit(X, y)
    mean, variance = model.out_of_fold_.pool_outputs.T
    # of each fold it is that of the other folds
    assert np.mean((y - mean) ** 2 / variance) == pytest.approx(1, abs=0.1)


def test_prediction_intervals_have_their_coverage(waves, regressor):
    X, _ = waves
    rng = np.random.default_rng(2)
    new = rng.normal(size=(2000, 4))
    y = 40 + 8 * new[:, 0] + 5 * np.sin(2 * new[:, 1]) + rng.normal(size=2000)
    low, high = regressor.predict_interval(new, coverage=0.8).T
    assert 0.72 < ((low <= y) & (y <= high)).mean() < 0.9
    narrow, wide = (
        np.ptp(regressor.predict_interval(X[:1], coverage=share)) for share in (0.5, 0.99)
    )
    assert narrow < wide < np.ptp(regressor.predict_interval(X[:1], coverage=1 - 1e-9)) + 1e-9


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, "most"])
def test_coverage_is_between_0_and_1(waves, regressor, coverage):
    with pytest.raises(ValueError, match="between 0 and 1"):
        regressor.predict_interval(waves[0], coverage=coverage)


def test_one_row_is_explained_by_its_members(waves, regressor):
    X, y = waves
    explained = regressor.explain_row(X[0])
    mean, std = regressor.predict(X[:1], return_std=True)
    assert explained.prediction == pytest.approx(mean[0])
    assert explained.std == pytest.approx(std[0])
    assert explained.baseline == pytest.approx(y.mean())
    assert explained.baseline + sum(
        each.contribution for each in explained.members
    ) == pytest.approx(explained.prediction)
    assert sum(each.weight for each in explained.members) == pytest.approx(1)
    assert "ridge" in str(explained)
    assert "<table" in explained._repr_html_()


def test_a_fusion_that_is_no_weighted_mean_has_no_contributions(waves):
    X, y = waves
    model = clone(SMALL_REGRESSOR).set_params(fusion="stacking").fit(X, y)
    explained = model.explain_row(X[0])
    assert {each.contribution for each in explained.members} == {None}
    assert explained.prediction == pytest.approx(model.predict(X[:1])[0])


def test_ablation_and_smaller_pools(waves, regressor):
    X, _ = waves
    assert regressor.ablation().log_loss == pytest.approx(regressor.leaderboard_[0].log_loss)
    pruned = regressor.prune(regressor.pruning_path()[-1].latency)
    assert len(pruned.member_names_) == 1
    np.testing.assert_allclose(pruned.predict(X), pruned.estimators_[0].predict(X))
    assert pruned.predict(X, return_std=True)[1][0] != regressor.predict(X, return_std=True)[1][0]


def test_one_worker_and_two_give_the_same_bits_in_regression(waves):
    X, y = waves
    pool = ["ridge", "forest", "boosting"]
    one, two = (
        EnsemblageRegressor(pool, cv=2, n_jobs=n_jobs, random_state=0).fit(X[:80], y[:80])
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(one.out_of_fold_.outputs, two.out_of_fold_.outputs)


@pytest.mark.parametrize(("shift", "scale"), [(1e9, 1.0), (0.0, 1e-9), (-5.0, 1e12)])
def test_the_units_of_the_target_do_not_matter(waves, shift, scale):
    X, y = waves
    pool = ["ridge", "svr", "forest", "boosting"]
    model = EnsemblageRegressor(pool, cv=2, random_state=0)
    plain, other = (clone(model).fit(X[:90], each[:90]) for each in (y, shift + scale * y))
    std = plain.predict(X, return_std=True)[1]
    # trees cut between equals as rounding has it, so that it is not the same to the last digit
    far = (other.predict(X) - shift) / scale - plain.predict(X)
    assert np.abs(far / std).max() < 0.1
    np.testing.assert_allclose(other.predict(X, return_std=True)[1] / scale, std, rtol=0.02)


def test_frames_with_categories_and_missing_values(waves):
    X, y = waves
    frame = pd.DataFrame(X.copy(), columns=list("abcd"))  # which older pandas writes into
    frame.loc[::7, "b"] = np.nan
    frame["category"] = np.where(X[:, 0] > 0, "high", "low")
    model = EnsemblageRegressor(["ridge", "tree"], cv=2, random_state=0).fit(frame[:100], y[:100])
    assert np.isfinite(model.predict(frame)).all()
    assert model.score(frame[100:], y[100:]) > 0.5
    assert model.explain_row(frame[:1]).prediction == pytest.approx(model.predict(frame[:1])[0])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(20, 3.0), "has the range 3 to 3: it is constant"),
        (np.repeat(["low", "high"], 10), "which is not numeric"),
        (np.append(np.arange(19.0), np.inf), "infinity"),
        (np.append(np.arange(19.0), np.nan), "y is missing in 1 of 20 rows"),
    ],
)
def test_a_target_that_is_not_numeric_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        clone(SMALL_REGRESSOR).fit(np.random.default_rng(0).normal(size=(20, 2)), y)


def test_a_classifier_is_no_member(waves):
    with pytest.raises(TypeError, match="which is no regressor"):
        EnsemblageRegressor([DecisionTreeClassifier()]).fit(*waves)
    with pytest.raises(ValueError, match="which is unknown"):
        EnsemblageRegressor(["logistic"]).fit(*waves)


class Broken(Ridge):
    """Cannot be fitted."""

    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("no memory")


def test_a_member_that_fails_is_left_out(waves):
    with pytest.warns(UserWarning, match="broken is left out"):
        model = EnsemblageRegressor(["ridge", ("broken", Broken())], cv=2).fit(*waves)
    assert model.member_names_ == ["ridge"]


def test_rows_without_weight_are_dropped_in_regression(waves):
    X, y = waves
    weights = np.ones(150)
    weights[100:] = 0
    outside = np.where(weights > 0, y, 1e6)
    model = EnsemblageRegressor(["ridge", "svr"], cv=2, random_state=0)
    given = clone(model).fit(X, outside, sample_weight=weights)
    alone = clone(model).fit(X[:100], y[:100], sample_weight=weights[:100])
    np.testing.assert_array_equal(given.predict(X), alone.predict(X))


def test_groups_are_never_split():
    groups = np.arange(150) // 10
    values, y = np.random.default_rng(0).normal(size=(2, 15))[:, groups]
    model = EnsemblageRegressor([DecisionTreeRegressor()], cv=3, random_state=0)
    loose = clone(model).fit(values[:, None], y)
    grouped = clone(model).fit(values[:, None], y, groups=groups)
    assert loose.leaderboard_[0].score < 0.1 < grouped.leaderboard_[0].score


def test_saved_and_loaded_regression(tmp_path, waves):
    X, y = waves
    pool = ["ridge", "svr", "forest", "boosting", "tree"]
    model = EnsemblageRegressor(pool, cv=2, fusion=Mean(), random_state=0).fit(X[:60], y[:60])
    save(model, tmp_path / "pool.skops")
    again = load(tmp_path / "pool.skops").model
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert str(again.leaderboard_) == str(model.leaderboard_)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target_scale_", 0.0),
        ("target_mean_", np.nan),
        ("response_methods_", ["predict_proba"] * 9),
        ("estimators_", []),
    ],
)
def test_forged_attributes_of_regression_are_refused(regressor, name, value):
    forged = copy(regressor)
    setattr(forged, name, value)
    with pytest.raises(DamagedStateError):
        forged._check_fitted()
