import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris, load_wine

from bayes.mixed import mixed_rows
from bayes.networks import table
from ensemblage.bayes import (
    NO_EXTRA,
    BayesNetClassifier,
    Coder,
    EntryCapError,
    Training,
    code_columns,
    fill_missing,
    full_grid,
    read_training,
)
from ensemblage.bayes._coding import CodedRows, check_entries, learn_coders
from ensemblage.bayes._score_kernels import Nodes
from ensemblage.datasets import MISSING_CODE, Column
from ensemblage.inner import InnerBayesNetClassifier


def test_each_row_has_the_distribution_of_its_configuration():
    wet = table(["rain", "sun"], [[0, 1], [1, 0]], [[0.9, 0.1], [0.2, 0.8]])
    found = wet.given(np.array([[1, 0], [1, 1], [0, 1]]))
    np.testing.assert_array_equal(found, [[0.2, 0.8], [1.0, 1.0], [0.9, 0.1]])
    alone = table([], [[]], [[0.3, 0.7]])
    np.testing.assert_array_equal(alone.given(np.zeros((2, 0), dtype=int)), [[0.3, 0.7]] * 2)


def test_the_cap_is_named_with_what_to_do():
    check_entries(10, 10, "wet", ["rain"])
    with pytest.raises(EntryCapError, match="'wet' given no parents would have 11 entries"):
        check_entries(11, 10, "wet", [])


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
    table = network.tables_["x"].probabilities
    np.testing.assert_allclose(table[0], [0.5 / 11.5, 0.5 / 11.5, 10.5 / 11.5])


def test_polars_categories_are_those_that_occur():
    X = pl.DataFrame({"x": pl.Series(["a", "b", "a", None] * 5, dtype=pl.Categorical)})
    assert BayesNetClassifier().fit(X, [0, 1, 0, 1] * 5).categories_["x"] == ["a", "b"]


@pytest.mark.parametrize("kind", [BayesNetClassifier, InnerBayesNetClassifier])
def test_classes_are_those_that_occur(kind):
    X = pd.DataFrame({"x": [1.0, 2.0] * 10})
    for y in (
        pd.Series(pd.Categorical(["z", "a"] * 10, categories=["z", "m", "a"])),
        pl.Series(["z", "a"] * 10, dtype=pl.Enum(["z", "m", "a"])),
        pd.Series(pd.Categorical([2, 1] * 10, categories=[2, 3, 1])),
    ):
        network = kind(random_state=0) if kind is InnerBayesNetClassifier else kind()
        network.fit(X, y)
        assert network.classes_.tolist() == sorted(set(y.to_list()))
        assert network.predict_proba(X).shape == (20, 2)
        assert network.predict(X).tolist() == y.to_list()


def test_declared_classes_have_a_column_each_in_sorted_order():
    y = pd.Series(["z", "a"] * 10, name="class")
    X = pd.DataFrame({"x": [1.0, 2.0] * 10})
    with pytest.raises(ValueError, match="y has the class 'a', which `categories` does not list"):
        BayesNetClassifier(categories={"class": ["z", "m"]}).fit(X, y)
    network = BayesNetClassifier(categories={"class": ["z", "m", "a"]}).fit(X, y)
    assert network.classes_.tolist() == ["a", "m", "z"]
    assert network.categories_["class"] == ["z", "m", "a"]
    chances = network.predict_proba(X[:1])[0]
    assert chances.argmax() == 2
    assert chances[1] < 0.05
    assert network.predict(X[:2]).tolist() == ["z", "a"]


def test_infinity_and_lists_are_refused_by_name():
    with pytest.raises(ValueError, match="Column 'x' contains infinity"):
        BayesNetClassifier().fit(pd.DataFrame({"x": [1.0, np.inf]}), [0, 1])
    with pytest.raises(TypeError, match="Column 'x' contains a list"):
        BayesNetClassifier().fit(pd.DataFrame({"x": [[1], [2]]}), [0, 1])


def test_dates_are_numbers_of_days():
    dates = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"] * 10)})
    days = pd.DataFrame({"when": [18262.0, 18628.0] * 10})
    network = BayesNetClassifier().fit(dates, [0, 1] * 10)
    assert network.cut_points_["when"].tolist() == [18445.0]
    np.testing.assert_array_equal(network.predict_proba(dates), network.predict_proba(days))


def test_text_in_a_numeric_column_is_refused_by_name():
    X, y = load_iris(return_X_y=True, as_frame=True)
    network = BayesNetClassifier().fit(X, y)
    with pytest.raises(ValueError, match="was numeric when the model was fitted"):
        network.predict(X.astype(str))


def test_rows_without_weight_are_dropped():
    training = read_training(
        BayesNetClassifier(), [[1.0], [2.0], [3.0]], ["b", "a", "b"], [1, 0, 2]
    )
    assert training.names == ["class", "x0"]
    assert training.columns[0].numbers.tolist() == [1, 3]
    assert training.labels.tolist() == [1, 1]
    assert training.classes.tolist() == ["a", "b"]
    assert training.weights.tolist() == [1, 2]


def test_categories_can_be_declared_by_parameter():
    X = np.array([["a", 1.0], ["b", 2.0]] * 10, dtype=object)
    y = [0, 1] * 10
    network = BayesNetClassifier(categories=[["c", "b", "a"], [1, 2, 3]]).fit(X, y)
    assert network.categories_["x0"] == ["c", "b", "a"]
    assert network.categories_["x1"] == [1, 2, 3]
    frame = pd.DataFrame(
        {"x0": pd.Categorical(X[:, 0], ["c", "b", "a"]), "x1": pd.Categorical(X[:, 1], [1, 2, 3])}
    )
    by_type = BayesNetClassifier().fit(frame, y)
    np.testing.assert_array_equal(network.predict_proba(X), by_type.predict_proba(frame))
    by_name = BayesNetClassifier(categories={"x0": ["c", "b", "a"]}).fit(frame, y)
    assert by_name.categories_["x0"] == ["c", "b", "a"]
    with pytest.raises(ValueError, match="'x0' contains 'b', which is not one of its `cat"):
        BayesNetClassifier(categories=[["a"], None]).fit(X, y)


def test_an_unseen_category_has_the_smoothed_probability_of_a_zero_count():
    X = pd.DataFrame({"x": ["a"] * 6 + ["b"] * 2 + ["a"] * 2 + ["b"] * 6})
    y = np.repeat([0, 1], 8)
    network = BayesNetClassifier(calibration=None).fit(X, y)
    unseen = network.predict_proba(pd.DataFrame({"x": ["zebra"]}))
    np.testing.assert_allclose(unseen, [[0.5, 0.5]])  # 0.5 / (8 + 1) under both classes
    uneven = BayesNetClassifier(calibration=None).fit(X[:12], y[:12])
    weight = np.array([8.5 / 13 * 0.5 / 9, 4.5 / 13 * 0.5 / 5])
    found = uneven.predict_proba(pd.DataFrame({"x": ["zebra"]}))
    np.testing.assert_allclose(found[0], weight / weight.sum())


def test_an_empty_column_and_a_constant_column_are_accepted():
    X, y = load_iris(return_X_y=True)
    more = pd.DataFrame(X).rename(columns=str)
    more["missing"] = np.nan
    more["nothing"] = pd.Series([None] * len(X), dtype=object)
    more["same"] = "always"
    network = BayesNetClassifier().fit(more, y)
    plain = BayesNetClassifier().fit(more[["0", "1", "2", "3"]], y)
    np.testing.assert_allclose(
        network.predict_proba(more), plain.predict_proba(more[["0", "1", "2", "3"]])
    )
    more["nothing"] = "something"
    assert np.isfinite(network.predict_proba(more)).all()


def test_without_a_discretizer_numeric_values_are_categories():
    X, y = load_wine(return_X_y=True)
    X = np.round(X).clip(0, 5)
    network = BayesNetClassifier(discretizer=None).fit(X, y)
    assert network.cut_points_ == {}
    assert network.categories_["x0"] == [5.0]
    assert network.score(X, y) > 0.9


def test_a_coder_counts_its_codes():
    numeric = Column("x", np.array([1.0, 2.0, np.nan, 3.0]))
    coder = Coder(np.array([1.5]))
    assert (coder.n_codes, coder.labels) == (2, ["(-inf, 1.5]", "(1.5, inf)"])
    assert coder.code(numeric).tolist() == [0, 1, MISSING_CODE, 1]
    assert coder.code_weights(numeric, np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [1, 10]
    categorical = Column("w", values=["a", "z", None, "b"])
    assert Coder(categories=["b", "a"]).code(categorical).tolist() == [1, 2, MISSING_CODE, 0]
    empty = Coder(categories=[])
    assert (empty.n_codes, empty.labels) == (1, ["missing"])
    assert empty.code(categorical).tolist() == [1, 1, MISSING_CODE, 1]


def test_missing_values_take_the_mode():
    training = Training(
        [Column("x", values=["a", None, "b", "b"])],
        "class",
        np.array([0, 1]),
        np.array([0, 1, 0, 1], dtype=np.int32),
        np.array([5.0, 1.0, 1.0, 1.0]),
    )
    coders = learn_coders(training, "mdlp")
    assert coders[0].mode == 0  # by weight, not by number
    codes = fill_missing(code_columns(training.columns, coders), coders)
    assert codes.tolist() == [[0, 0, 0, 0], [0, 0, 1, 1]]


def test_a_table_beyond_the_cap_is_named_before_it_is_made():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 500, (600, 2)).astype(str), columns=["left", "right"])
    message = (
        r"table of 'right' given 'class', 'left' would have \d+ entries, more than max_entries=1000"
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


def test_configurations_that_occur_are_numbered():
    codes = np.array([[0, 0, 1, 1], [0, 1, 1, 0], [2, 0, 0, 1]], dtype=np.int32)
    rows = CodedRows(Nodes(codes, np.array([2, 2, 3])), ["class", "a", "b"])
    assert rows.configurations([]).codes.tolist() == [0, 0, 0, 0]
    assert rows.configurations([1, 2]).codes.tolist() == [1, 2, 2, 0]
    configurations, steps = rows.grid([1, 2])
    assert configurations.tolist() == [[0, 1], [0, 2], [1, 0]]
    assert [step.tolist() for step in steps] == [[0, 1], [-1, 0, 1, 2, -1, -1]]
    assert rows.count_entries(1, [0], 2) == 4
    assert rows.count_entries(1, [0], 2, [NO_EXTRA, 2]) == 12
    assert not rows.one_class()


def test_a_full_grid_lists_all():
    configurations, steps = full_grid([2, 3])
    assert configurations.tolist() == [[a, b] for a in range(2) for b in range(3)]
    assert [len(step) for step in steps] == [2, 6]
    assert full_grid([])[0].shape == (1, 0)
