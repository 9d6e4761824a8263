import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score

from ensemblage.bayes import BayesNetClassifier, EntryCapError


def mixed_rows(n_rows=120, seed=0):
    """Numbers, words, truth values and gaps, all telling something about the class."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n_rows) < 0.5, "no", "yes")
    yes = y == "yes"
    size = rng.normal(size=n_rows) + 2 * yes
    size[::11] = np.nan
    colour = np.where(rng.random(n_rows) < 0.7, np.where(yes, "red", "blue"), "green")
    colour = colour.astype(object)
    colour[::7] = None
    flag = rng.random(n_rows) < np.where(yes, 0.8, 0.3)
    return {"size": size, "colour": colour, "flag": flag}, y


def test_frames_of_pandas_and_polars_give_the_same_network():
    columns, y = mixed_rows()
    first = BayesNetClassifier().fit(pd.DataFrame(columns), pd.Series(y, name="verdict"))
    frame = pl.DataFrame({**columns, "size": pl.Series(columns["size"], nan_to_null=True)})
    second = BayesNetClassifier().fit(frame, pl.Series("verdict", y))
    assert first.parents_ == second.parents_
    assert first.target_name_ == second.target_name_ == "verdict"
    np.testing.assert_array_equal(
        first.predict_proba(pd.DataFrame(columns)), second.predict_proba(frame)
    )


def test_an_array_of_objects_reads_like_a_frame():
    columns, y = mixed_rows()
    frame = pd.DataFrame(columns)
    rows = frame.to_numpy(dtype=object)
    first, second = (BayesNetClassifier().fit(X, y) for X in (frame, rows))
    np.testing.assert_array_equal(first.predict_proba(frame), second.predict_proba(rows))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_declared_categories_count_even_if_they_never_occur(kind):
    cells, y = ["a", "b", "a", "b"] * 5, [0, 1, 0, 1] * 5
    if kind == "pandas":
        X = pd.DataFrame({"x": pd.Categorical(cells, categories=["c", "b", "a"])})
    else:
        X = pl.DataFrame({"x": pl.Series(cells, dtype=pl.Enum(["c", "b", "a"]))})
    network = BayesNetClassifier().fit(X, y)
    assert network.categories_["x"] == ["c", "b", "a"]
    # 10 rows of class 0, all "a": (10 + 0.5) / (10 + 1.5)
    table = network.tables_["x"]["probabilities"]
    np.testing.assert_allclose(table[0], [0.5 / 11.5, 0.5 / 11.5, 10.5 / 11.5])


def test_polars_categories_are_those_that_occur():
    X = pl.DataFrame({"x": pl.Series(["a", "b", "a", None] * 5, dtype=pl.Categorical)})
    assert BayesNetClassifier().fit(X, [0, 1, 0, 1] * 5).categories_["x"] == ["a", "b"]


def test_declared_classes_have_a_column_each_in_sorted_order():
    y = pd.Series(pd.Categorical(["z", "a"] * 10, categories=["z", "m", "a"]), name="class")
    X = pd.DataFrame({"x": [1.0, 2.0] * 10})
    network = BayesNetClassifier().fit(X, y)
    assert network.classes_.tolist() == ["a", "m", "z"]
    assert network.categories_["class"] == ["z", "m", "a"]
    chances = network.predict_proba(X[:1])[0]
    assert chances.argmax() == 2
    assert chances[1] < 0.05
    assert network.predict(X[:2]).tolist() == ["z", "a"]


def test_an_unseen_category_has_the_smoothed_chance_of_a_zero_count():
    X = pd.DataFrame({"x": ["a"] * 6 + ["b"] * 2 + ["a"] * 2 + ["b"] * 6})
    y = np.repeat([0, 1], 8)
    network = BayesNetClassifier().fit(X, y)
    unseen = network.predict_proba(pd.DataFrame({"x": ["zebra"]}))
    np.testing.assert_allclose(unseen, [[0.5, 0.5]])  # 0.5 / (8 + 1) under both classes
    uneven = BayesNetClassifier().fit(X[:12], y[:12])
    weight = np.array([8.5 / 13 * 0.5 / 9, 4.5 / 13 * 0.5 / 5])
    found = uneven.predict_proba(pd.DataFrame({"x": ["zebra"]}))
    np.testing.assert_allclose(found[0], weight / weight.sum())


def test_an_unseen_parent_says_nothing():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    X = pd.DataFrame({"a": first, "b": second}).map("v{}".format)
    network = BayesNetClassifier().fit(X, first ^ second)
    assert network.parents_["b"] == ["class", "a"]
    found = network.predict_proba(pd.DataFrame({"a": ["new"], "b": ["v1"]}))
    np.testing.assert_allclose(found, [[0.5, 0.5]], atol=0.1)


def test_a_column_of_gaps_and_a_constant_column_do_no_harm():
    X, y = load_iris(return_X_y=True)
    more = pd.DataFrame(X).rename(columns=str)
    more["gaps"] = np.nan
    more["nothing"] = pd.Series([None] * len(X), dtype=object)
    more["same"] = "always"
    network = BayesNetClassifier().fit(more, y)
    plain = BayesNetClassifier().fit(more[["0", "1", "2", "3"]], y)
    np.testing.assert_allclose(
        network.predict_proba(more), plain.predict_proba(more[["0", "1", "2", "3"]])
    )
    more["nothing"] = "something"
    assert np.isfinite(network.predict_proba(more)).all()


def test_one_class_and_one_row_predict_the_prior():
    one = BayesNetClassifier().fit([[1.0], [2.0]], ["a", "a"])
    np.testing.assert_array_equal(one.predict_proba([[5.0]]), [[1.0]])
    row = BayesNetClassifier().fit([[1.0]], ["a"])
    assert row.parents_ == {"class": [], "x0": []}
    assert row.predict([[3.0]]).tolist() == ["a"]


@pytest.mark.parametrize("order", [["b"], [0, 0], ["b", "c"], [1, 2], ["class", "a", "b"]])
def test_an_order_that_is_none_is_named(order):
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match="order must name each of the 2 features exactly once"):
        BayesNetClassifier(order=order).fit(X, [0, 1])


@pytest.mark.parametrize("order", [["b", "a"], [1, 0]])
def test_parents_come_before_their_children(order):
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    X = pd.DataFrame({"a": first, "b": second}).map("v{}".format)
    network = BayesNetClassifier(order=order).fit(X, first ^ second)
    assert network.order_ == ["class", "b", "a"]
    assert network.parents_ == {"class": [], "a": ["class", "b"], "b": ["class"]}


def test_a_table_beyond_the_cap_is_named_before_it_is_made():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 500, (600, 2)).astype(str), columns=["left", "right"])
    message = (
        r"table of 'right' given 'class', 'left' would take \d+ entries, more than max_entries=1000"
    )
    with pytest.raises(EntryCapError, match=message):
        BayesNetClassifier(max_entries=1000).fit(X[:200], rng.integers(0, 2, 200))


def test_no_bound_on_parents_stays_small():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (60, 40)).astype(str))
    X.columns = [f"c{j}" for j in range(40)]
    network = BayesNetClassifier(max_parents=None, criterion="k2").fit(X, rng.integers(0, 2, 60))
    assert max(len(p) for p in network.parents_.values()) > 3
    assert np.isfinite(network.predict_proba(X)).all()


def test_infinity_dates_and_lists_are_refused_by_name():
    with pytest.raises(ValueError, match="Column 'x' contains infinity"):
        BayesNetClassifier().fit(pd.DataFrame({"x": [1.0, np.inf]}), [0, 1])
    dates = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    with pytest.raises(TypeError, match=r"Column 'when' holds Datetime.*numbers"):
        BayesNetClassifier().fit(dates, [0, 1])
    with pytest.raises(TypeError, match="Column 'x' holds a list"):
        BayesNetClassifier().fit(pd.DataFrame({"x": [[1], [2]]}), [0, 1])


def test_words_where_numbers_were_are_refused_by_name():
    X, y = load_iris(return_X_y=True, as_frame=True)
    network = BayesNetClassifier().fit(X, y)
    with pytest.raises(ValueError, match="held numbers when the network was fitted"):
        network.predict(X.astype(str))


def test_the_criterion_is_an_ordinary_parameter():
    X, y = load_iris(return_X_y=True)
    network = BayesNetClassifier(criterion="accuracy").fit(X, y)
    assert network.get_params()["criterion"] == "accuracy"
    assert network.score(X, y) > 0.9
    assert clone(network).get_params()["criterion"] == "accuracy"
    assert "criterion='accuracy'" in repr(network)
    assert cross_val_score(BayesNetClassifier(), X, y, cv=3).mean() > 0.85
    search = GridSearchCV(BayesNetClassifier(), {"criterion": ["accuracy", "log"]}, cv=3).fit(X, y)
    assert search.best_params_["criterion"] in {"accuracy", "log"}
    with pytest.raises(ValueError, match="'criterion' parameter"):
        BayesNetClassifier(criterion="luck").fit(X, y)


def test_bagging_works_with_words_and_gaps():
    columns, y = mixed_rows()
    X = pd.DataFrame(columns).drop(columns="flag")
    X["colour"] = X["colour"].astype("category")
    bag = BaggingClassifier(BayesNetClassifier(), n_estimators=5, random_state=0).fit(X, y)
    assert bag.score(X, y) > 0.8


def test_each_number_can_be_a_category():
    X, y = load_wine(return_X_y=True)
    X = np.round(X).clip(0, 5)
    network = BayesNetClassifier(discretizer=None).fit(X, y)
    assert network.cut_points_ == {}
    assert network.categories_["x0"] == [5.0]
    assert network.score(X, y) > 0.9


@pytest.mark.parametrize("criterion", ["log", "k2", "bdeu", "bic"])
def test_other_criteria_find_a_working_network(criterion):
    X, y = load_wine(return_X_y=True)
    assert BayesNetClassifier(criterion=criterion).fit(X, y).score(X, y) > 0.95


def test_contributions_add_up_to_the_decision():
    X, y = load_wine(return_X_y=True)
    network = BayesNetClassifier().fit(X, y)
    parts = network.explain(X)
    assert parts.shape == (178, 14, 3)
    total = np.exp(parts.sum(axis=1))
    np.testing.assert_allclose(
        total / total.sum(axis=1, keepdims=True), network.predict_proba(X), atol=1e-12
    )
    two = network.fit(X, y == 0)
    chances = two.predict_log_proba(X)
    np.testing.assert_allclose(two.explain(X).sum(axis=1), chances[:, 1] - chances[:, 0])


def test_weights_of_any_scale_leave_numbers_finite():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).gamma(0.01, size=150) + 1e-9
    network = BayesNetClassifier().fit(X, y, sample_weight=weights)
    assert np.isfinite(network.predict_log_proba(X)).all()


def test_many_columns_do_not_overflow_the_odds():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = np.where(rng.random((100, 1500)) < 0.9, y[:, None], 1 - y[:, None]).astype(str)
    network = BayesNetClassifier(max_parents=1).fit(X, y)
    assert np.isfinite(network.predict_log_proba(X)).all()
    assert network.score(X, y) == 1.0


def test_progress_is_told_once_per_node():
    class Counter:
        def __init__(self):
            self.count = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.count += 1
            return False

    X, y = load_iris(return_X_y=True)
    counter = Counter()
    BayesNetClassifier().set_callbacks(counter).fit(X, y)
    assert counter.count == 5  # four nodes and the fit itself
