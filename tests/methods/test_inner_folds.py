import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from ensemblage.datasets import Columns
from ensemblage.methods import make_model
from ensemblage.methods._inner_folds import InnerFolds


def test_classes_with_enough_rows_are_split_as_usual():
    y = np.array(["a", "b"] * 9)
    usual = StratifiedKFold(3, shuffle=True, random_state=5).split(y, y)
    for (train, test), expected in zip(InnerFolds(3, 5).split(y, y), usual, strict=True):
        np.testing.assert_array_equal(train, expected[0])
        np.testing.assert_array_equal(test, expected[1])


@pytest.mark.parametrize("y", [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 2], [0, 1, 2, 3]])
def test_every_fold_has_two_classes_to_learn_from(y):
    labels = np.array(y)
    folds = list(InnerFolds(3, 0).split(labels, labels))
    assert len(folds) == InnerFolds(3, 0).get_n_splits(labels, labels)
    for train, _ in folds:
        assert len(np.unique(labels[train])) > 1


def test_one_row_of_a_class_of_two_leaves_nothing_to_tune_by():
    labels = np.array([0, 0, 0, 0, 1])
    folds = list(InnerFolds(3, 0).split(labels, labels))
    assert all(1 in labels[train] for train, _ in folds)
    pair = np.array([0, 1])
    ((train, test),) = InnerFolds(3, 0).split(pair, pair)
    assert train.tolist() == test.tolist() == [0, 1]


@pytest.mark.parametrize("method", ["logistic", "svm"])
def test_tables_of_a_few_rows_give_a_model(method):
    X, y = np.arange(5.0)[:, None], np.array(["a", "a", "a", "b", "b"])
    model = make_model(method, Columns(("x",), ("number",), (None,)), 0).fit(X, y)
    assert (model.predict(X) == y).mean() >= 0.6
