import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.fusion import Mean
from ensemblage.persistence import load, save
from ensemblage.pool import EnsemblageClassifier
from ensemblage.pool._members import POOLS, resolve_pool
from pool.test_held_out import Fails

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
            for each, response in zip(model.estimators_, model.responses_, strict=True)
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


def test_a_member_that_fails_is_left_out_with_a_sentence(clouds):
    X, y = clouds
    with pytest.warns(UserWarning, match=r"^Fails is left out: it could not be fitted \(Runtime"):
        model = EnsemblageClassifier([Fails(), GaussianNB()], cv=2).fit(X, y)
    assert model.member_names_ == ["GaussianNB"]
    assert model.leaderboard_.left_out[0].startswith("Fails is left out")


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


def test_when_all_fail_the_reasons_are_told(clouds):
    with pytest.raises(ValueError, match=r"No member of the pool could be fitted. Fails: .*memory"):
        EnsemblageClassifier([Fails()], cv=2).fit(*clouds)


def test_rows_without_weight_are_absent(clouds):
    X, y = clouds
    weights = np.ones(150)
    weights[100:] = 0
    with_zeros = clone(SMALL).fit(X, y, sample_weight=weights)
    without = clone(SMALL).fit(X[:100], y[:100], sample_weight=weights[:100])
    np.testing.assert_array_equal(with_zeros.predict_proba(X), without.predict_proba(X))


def test_groups_are_kept_apart_and_have_no_biases(clouds):
    X, y = clouds
    # rows come in threes that are the same, but for the class: whoever has seen one knows nothing
    groups = np.repeat(np.arange(50), 3)
    model = clone(SMALL).fit(np.repeat(X[:50], 3, axis=0), y, groups=groups)
    assert model.fusion_.biases_.tolist() == [0, 0, 0]
    assert model.leaderboard_[0].accuracy < 0.6
    honest = clone(SMALL).fit(np.repeat(X[:50], 3, axis=0), np.repeat(y[:50], 3), groups=groups)
    leaky = clone(SMALL).fit(np.repeat(X[:50], 3, axis=0), np.repeat(y[:50], 3))
    assert honest.leaderboard_[0].accuracy < leaky.leaderboard_[0].accuracy


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
        columns=names, kinds=["number"] * 4, target="class", details={},
    )  # fmt: skip
    loaded = load(tmp_path / "pool.skops").model
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert str(loaded.leaderboard_) == str(model.leaderboard_)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 3)) + y[:, None] * [1.5, 0.5, 0]
    pool = ["logistic", GaussianNB(), RandomForestClassifier(10)]
    return EnsemblageClassifier(pool, cv=3, random_state=0).fit(X, y), X, y


def test_a_row_is_explained(fitted):
    model, X, _ = fitted
    decision = model.explain_row(X[0])
    np.testing.assert_allclose(decision.probabilities, model.predict_proba(X[:1])[0])
    assert decision.prediction == model.predict(X[:1])[0]
    assert {each.member for each in decision.voices} == set(model.member_names_)


def test_places_contribute(fitted):
    model, _, _ = fitted
    found = model.contributions()
    assert {each.place for each in found} == {"anchor", "given"}
    assert 0.1 < found.log_loss < 0.6


def test_a_pruned_pool_is_faster_and_the_pool_stays(fitted):
    model, X, y = fitted
    points = model.frontier()
    before = model.predict_proba(X)
    small = model.prune(points[-1].latency)
    assert small.member_names_ == list(points[-1].members)
    assert small.score(X, y) > 0.75
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.prune(1e9).member_names_ == model.member_names_
    with pytest.raises(ValueError, match=r"max_latency=1e-09 is less than the .* s for 100 rows"):
        model.prune(1e-9)


def test_a_tree_says_what_the_pool_says(fitted):
    model, X, y = fitted
    found = model.distill(X, y, max_leaves=4)
    assert found.model.get_n_leaves() <= 4
    assert found.fidelity > 0.8
    honest = model.distill(X, y, kind="logistic", training=True)
    assert honest.log_loss < np.log(2)


def test_words_dates_and_gaps():
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
    assert model.leaderboard_[0].accuracy > 0.9
    new = pd.DataFrame({"job": ["cook", "tailor"], "age": [35.0, np.nan], "since": [pd.NaT] * 2})
    assert np.isfinite(model.predict_proba(new)).all()
    assert model.n_features_in_ == 3
    assert model.distill(frame, kind="tree", training=True).fidelity > 0.9
    assert model.explain_row(new[:1]).prediction == "yes"


def test_the_network_sees_the_words_of_the_table():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 150)
    # neither word tells anything without the other
    first = rng.integers(0, 2, 150)
    words = {"first": np.array(["a", "b"])[first], "second": np.array(["c", "d"])[first ^ y]}
    frame = pd.DataFrame(words)
    weights = np.ones(150)
    weights[:10] = 0
    model = EnsemblageClassifier(["network", "logistic"], cv=3, random_state=0)
    model.fit(frame, y, sample_weight=weights)
    assert model.member_names_[0] == "network"
    assert model.views_[0] == "table"
    network = model.estimators_[0]
    assert network.n_features_in_ == 2
    assert network.categories_["first"] == ["a", "b"]
    assert (model.predict(frame) == y).all()
    as_lists = clone(model).fit(frame.to_numpy().tolist(), y, sample_weight=weights)
    np.testing.assert_array_equal(
        as_lists.predict_proba(frame.to_numpy().tolist()), model.predict_proba(frame)
    )


def test_the_row_numbers_of_what_was_held_out_leave_rows_without_weight_out(clouds):
    X, y = clouds
    weights = np.ones(150)
    weights[:10] = 0
    model = clone(SMALL).fit(X, y, sample_weight=weights)
    assert model.held_out_.rows.tolist() == list(range(10, 150))


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
        columns=["job", "age"], kinds=["word", "number"], target="class", details={},
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
def test_awkward_tables(table):
    _, X, y = table
    weights = np.random.default_rng(1).uniform(0.1, 3, len(y))
    pool = ["svm", "logistic", "forest", "boosting"]
    model = EnsemblageClassifier(pool, random_state=0).fit(X, y, sample_weight=weights)
    for rows in (X, 1e6 * X):
        proba = model.predict_proba(rows)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert (proba >= 0).all()
    assert np.isfinite([each.log_loss for each in model.leaderboard_]).all()
    assert model.leaderboard_.left_out == ()


def test_a_network_of_very_many_columns_takes_part_only_if_it_is_named(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 301)), np.arange(24) % 2
    X[:, 0] += 5 * y
    monkeypatch.setitem(POOLS, "lean", ("logistic", "network"))
    with pytest.warns(UserWarning, match="^network is left out: its time grows with the square"):
        model = EnsemblageClassifier("lean", cv=2, random_state=0).fit(X, y)
    assert [line.member for line in model.leaderboard_] == ["pool", "logistic"]
    (asked,) = resolve_pool(["network"])
    assert asked.most_columns is None
