import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from ensemblage.bayes import BayesNetClassifier
from ensemblage.strata import HISS, StrataEnsembleClassifier
from ensemblage.strata._strata_rows import (
    Training,
    hold_out,
    is_mixed_frame,
    read_training,
    reads_tables,
)
from ensemblage.strata._strata_targets import ClassTarget

X = np.arange(24.0).reshape(12, 2)
Y = np.array(["b", "a", "a"] * 4)


def read(X=X, y=Y, weights=None, sources=None, groups=None, encode="auto"):
    ensemble = StrataEnsembleClassifier(encode=encode)
    return read_training(ensemble, X, y, weights, sources, groups)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_words_make_a_frame_mixed_and_truth_values_do_not(frame):
    assert is_mixed_frame(frame({"a": [1.0], "b": ["x"]}))
    assert not is_mixed_frame(frame({"a": [1.0], "b": [True], "c": [2]}))
    assert not is_mixed_frame(np.array([["x"]], dtype=object))


def test_pipelines_and_networks_read_tables():
    assert reads_tables(make_pipeline(GaussianNB()))
    assert reads_tables(BayesNetClassifier())
    assert not any(map(reads_tables, [None, "svm", GaussianNB(), HISS()]))


def test_classes_become_numbers_and_weights_are_ones():
    data = read()
    assert data.target.classes.tolist() == ["a", "b"]
    assert data.y.tolist() == [1, 0, 0] * 4
    assert data.sample_weight is None
    np.testing.assert_array_equal(data.weights, 1)


def test_a_frame_with_words_stays_a_frame_if_it_is_not_encoded():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(site="x")
    assert read(frame, encode=None).X is frame
    assert read(frame).X.shape == (12, 2)  # one site does not vary
    assert isinstance(read(frame[["a", "b"]]).X, np.ndarray)


@pytest.mark.parametrize("name", ["sources", "groups"])
def test_lengths_must_agree(name):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        read(**{name: np.zeros(3)})


def test_folds_are_fewer_where_a_class_is_rare():
    rare = read(y=np.array(["a"] * 9 + ["b"] * 3))
    with pytest.warns(UserWarning, match="'b'.* has 3 rows, fewer than cv=5 folds: using 3 folds"):
        data = hold_out(rare, 5, seed=0)
    assert len(data.folds) == 3


def test_folds_of_a_splitter_and_of_groups():
    folds = hold_out(read(), KFold(4), seed=0).folds
    assert folds[0].test.tolist() == [0, 1, 2]
    groups = np.arange(12) // 4
    for train, test in hold_out(read(groups=groups), 5, seed=0).folds:
        assert not set(groups[train]) & set(groups[test])


def test_what_was_not_given_is_none():
    assert Training(X, np.zeros(12, int), ClassTarget(np.array(["a"])), np.ones(12)).folds is None


def test_a_class_is_named_as_the_user_writes_it():
    X, y = np.zeros((7, 2)), np.array(["-2"] * 2 + ["3"] * 5)
    data = Training(X, np.array([0] * 2 + [1] * 5), ClassTarget(np.unique(y)), np.ones(7), None)
    with pytest.warns(UserWarning, match="Class '-2' has 2 rows, fewer than cv=5 folds: using 2"):
        hold_out(data, 5, 0)
