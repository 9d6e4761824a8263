import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline

from ensemblage.bayes import MDLPDiscretizer


def test_bins_and_their_ranges():
    X = np.array([[1.0], [2.0], [3.0], [7.0], [8.0], [9.0], [np.nan]])
    bins = MDLPDiscretizer().fit(X, [0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(bins.cut_points_[0], [5.0])
    codes = bins.transform([[5.0], [5.1], [np.nan]])
    np.testing.assert_array_equal(codes, [[0], [1], [np.nan]])
    labels = bins.inverse_transform(codes)
    assert labels.ravel().tolist() == ["(-inf, 5.0]", "(5.0, inf)", None]


def test_columns_in_parallel_are_the_same():
    X, y = load_wine(return_X_y=True)
    first, second = (MDLPDiscretizer(n_jobs=n).fit(X, y) for n in (None, 2))
    for one, two in zip(first.cut_points_, second.cut_points_, strict=True):
        np.testing.assert_array_equal(one, two)


def test_works_in_any_pipeline():
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(MDLPDiscretizer(), CategoricalNB(min_categories=10))
    assert model.fit(X, y).score(X, y) > 0.97


def test_names_and_frames():
    X, y = load_wine(return_X_y=True, as_frame=True)
    bins = MDLPDiscretizer().set_output(transform="pandas").fit(X, y)
    assert bins.transform(X).columns.tolist() == X.columns.tolist()


@pytest.mark.parametrize("wrong", [[[9.0]], [[-1.0]], [[0.5]]])
def test_inverse_transform_refuses_invalid_bins(wrong):
    bins = MDLPDiscretizer().fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="values that are not bins"):
        bins.inverse_transform(wrong)
    with pytest.raises(ValueError, match="expected bins of 1 columns"):
        bins.inverse_transform([[0.0, 0.0]])
