import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris

from bayes.mixed import mixed_rows
from ensemblage.bayes import BayesNetClassifier
from ensemblage.bayes._reading import read_training


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


def test_infinity_and_lists_are_refused_by_name():
    with pytest.raises(ValueError, match="Column 'x' contains infinity"):
        BayesNetClassifier().fit(pd.DataFrame({"x": [1.0, np.inf]}), [0, 1])
    with pytest.raises(TypeError, match="Column 'x' holds a list"):
        BayesNetClassifier().fit(pd.DataFrame({"x": [[1], [2]]}), [0, 1])


def test_dates_are_numbers_of_days():
    dates = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"] * 10)})
    days = pd.DataFrame({"when": [18262.0, 18628.0] * 10})
    network = BayesNetClassifier().fit(dates, [0, 1] * 10)
    assert network.cut_points_["when"].tolist() == [18445.0]
    np.testing.assert_array_equal(network.predict_proba(dates), network.predict_proba(days))


def test_words_where_numbers_were_are_refused_by_name():
    X, y = load_iris(return_X_y=True, as_frame=True)
    network = BayesNetClassifier().fit(X, y)
    with pytest.raises(ValueError, match="held numbers when the model was fitted"):
        network.predict(X.astype(str))


def test_rows_without_weight_are_dropped():
    training = read_training(
        BayesNetClassifier(), [[1.0], [2.0], [3.0]], ["b", "a", "b"], [1, 0, 2]
    )
    assert training.names == ["class", "x0"]
    assert training.columns[0].numbers.tolist() == [1, 3]
    assert training.target.labels.tolist() == [1, 1]
    assert training.target.categories.tolist() == ["a", "b"]
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
    with pytest.raises(ValueError, match="'x0' holds 'b', which is not among its `categories`: a"):
        BayesNetClassifier(categories=[["a"], None]).fit(X, y)
