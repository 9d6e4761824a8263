import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from ensemblage.methods._number_scores import KEPT_ROWS, r_squared, score_numbers

X = np.arange(6.0)[:, None]
Y = np.array([0.0, 2.0, 1.0, 4.0, 3.0, 6.0])


class Broken(RegressorMixin, BaseEstimator):
    def predict(self, X):
        return np.full(len(X), np.inf)


def test_measures_by_hand():
    model = DummyRegressor(strategy="constant", constant=2.0).fit(X, Y)
    found = score_numbers(model, X[:2], Y[:2])  # 0 and 2, both said to be 2
    assert (found.rmse, found.mae, found.r2) == (pytest.approx(2**0.5), 1.0, -1.0)
    assert (found.log_score, found.coverage, found.width) == (None, None, None)
    assert (found.kept.places, found.kept.predicted) == ([0, 1], [2.0, 2.0])


def test_measures_are_those_of_scikit_learn():
    model = LinearRegression().fit(X, Y)
    found, said = score_numbers(model, X, Y), model.predict(X)
    assert found.rmse == pytest.approx(root_mean_squared_error(Y, said))
    assert found.mae == pytest.approx(mean_absolute_error(Y, said))
    assert found.r2 == pytest.approx(r2_score(Y, said))


def test_a_spread_is_scored():
    found = score_numbers(BayesianRidge().fit(X, Y), X, Y)
    assert np.isfinite([found.log_score, found.coverage, found.width]).all()
    assert len(found.kept.intervals) == 6


def test_equal_numbers_have_no_share_to_explain():
    assert r_squared(np.ones(3), np.arange(3.0)) == 0.0


def test_what_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="not a finite number"):
        score_numbers(Broken(), X, Y)


def test_of_many_rows_some_are_kept():
    many = np.arange(2.0 * KEPT_ROWS + 1)[:, None]
    kept = score_numbers(LinearRegression().fit(X, Y), many, many[:, 0]).kept
    assert len(kept.places) == len(kept.predicted) <= KEPT_ROWS
    assert kept.places[:3] == [0, 3, 6]
