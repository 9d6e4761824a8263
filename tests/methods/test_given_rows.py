"""Arrays and frames as a dataset."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ensemblage.datasets import Dataset
from ensemblage.methods._given_rows import given_dataset

COLUMNS = {
    "age": [31.0, None, 52.0, 40.0],
    "job": ["cook", None, "smith", "cook"],
    "since": [date(1970, 1, 2), None, date(1970, 1, 4), date(1970, 1, 4)],
}
CLASSES = ["yes", "no", "yes", "no"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_of_numbers_words_dates_and_gaps(frame):
    found = given_dataset(frame(COLUMNS), CLASSES)
    assert found.kinds == ("number", "word", "date")
    assert found.feature_names == ("age", "job", "since")
    assert found.X[[0, 2, 3]].tolist() == [
        [31.0, "cook", 1.0], [52.0, "smith", 3.0], [40.0, "cook", 3.0],
    ]  # fmt: skip
    assert found.X[1, 1] is None
    assert np.isnan(found.X[1, [0, 2]].astype(float)).all()
    assert found.classes == {"no": 2, "yes": 2}


def test_arrays_with_numbers_as_classes_and_sources():
    X = np.array([[0.0, 1.0], [1.0, 1.5], [2.0, 1.2]])
    found = given_dataset(X, np.array([0, 1, 1]), sources=["a", "b", "b"])
    assert found.feature_names == ("x0", "x1")
    assert found.y.tolist() == ["0", "1", "1"]
    assert found.sources.tolist() == ["a", "b", "b"]
    assert given_dataset(X.tolist(), pd.Series([True, False, True])).classes == {
        "False": 1, "True": 2,
    }  # fmt: skip


def test_declared_categories_are_kept_and_rows_without_a_class_left_out():
    words = pd.Categorical(["a", "b", "a", "b"], categories=["a", "b", "c"])
    found = given_dataset(pd.DataFrame({"class": words}), ["x", "y", None, "x"])
    assert found.categories["class"] == ("a", "b", "c")
    assert found.target == "class_"
    assert len(found.y) == 3
    assert found.notes[0] == "Rows without a value of 'class_', left out: 1."


def test_what_does_not_fit_is_refused():
    X = np.eye(3)
    with pytest.raises(TypeError, match="`y`, the class or number of each row, is needed"):
        given_dataset(X, None)
    with pytest.raises(TypeError, match="give methods by `methods`"):
        given_dataset(
            Dataset("d", X, np.array(list("aab")), ("a", "b", "c"), ("number",) * 3), ["svm"]
        )
    with pytest.raises(ValueError, match="`X` has 3 rows, but there is a class for 2"):
        given_dataset(X, [0, 1])
    with pytest.raises(ValueError, match="One source per row is needed"):
        given_dataset(X, [0, 1, 1], sources=np.eye(3))
    with pytest.raises(ValueError, match=r"got an array of shape \(3,\)"):
        given_dataset(X[0], [0, 1, 1])
