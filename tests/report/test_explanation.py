import numpy as np
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.datasets import TableEncoder
from ensemblage.report._explanation import (
    column_names,
    feature_categories_of,
    feature_names,
    feature_origins,
    range_text,
)

X = np.array([[1.0, "a", 5.0], [2.0, "b", 5.0], [np.nan, "a", 5.0], [4.0, "b", 5.0]], dtype=object)
Y = [0, 1, 0, 1]
NAMES = ["age", "job", "same"]


def test_counts_that_differ_are_a_range():
    assert range_text(np.array([3, 3])) == "3"
    assert range_text(np.array([5, 3, 4])) == "3 to 5"


def test_through_an_encoder_and_what_follows():
    inner = make_pipeline(VarianceThreshold(), StandardScaler(), LogisticRegression())
    model = make_pipeline(TableEncoder(), inner).fit(X, Y)
    assert feature_names(model, NAMES) == ["age", "age missing", "job = a", "job = b"]
    assert feature_origins(model, NAMES) == [0, 0, 1, 1]


def test_a_model_alone_has_the_columns_themselves():
    model = LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert feature_origins(model, ["a", "b"]) == [0, 1]
    assert feature_names(model, ["a", "b"]) == ["a", "b"]


def test_mixed_columns_have_no_origin():
    model = make_pipeline(PCA(1), LogisticRegression()).fit([[0.0, 1], [1, 0], [2, 2]], [0, 1, 1])
    assert feature_origins(model, ["a", "b"]) is None


def test_names_that_an_estimator_has_for_its_columns():
    model = LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert column_names(model, ["a", "b"]) == {"x0": "a", "x1": "b"}
    assert column_names(model, []) == {}


def test_categories_are_known_as_long_as_they_are_zeros_and_ones():
    steps = (TableEncoder(), VarianceThreshold())
    model = make_pipeline(*steps, LogisticRegression()).fit(X, Y)
    assert feature_categories_of(model) == [None, None, "a", "b"]
    model = make_pipeline(*steps, StandardScaler(), LogisticRegression()).fit(X, Y)
    assert feature_categories_of(model) == []
