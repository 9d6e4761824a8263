import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.methods._number_answers import number_answers

X = np.arange(40.0)[:, None]
Y = X[:, 0] + np.random.default_rng(0).normal(size=40)


class WithIntervals(Ridge):
    def predict(self, X, return_std=False, sources=None):
        said = super().predict(X) + (0 if sources is None else sources)
        return (said, np.ones(len(X))) if return_std else said

    def predict_interval(self, X, coverage=0.9, sources=None):
        said = self.predict(X, sources=sources)
        return np.column_stack([said - 3, said + 3])


def test_numbers_alone():
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    found = number_answers(model, X, {})
    np.testing.assert_array_equal(found.predicted, model.predict(X))
    assert (found.spread, found.intervals) == (None, None)


def test_a_spread_gives_normal_intervals():
    model = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, Y)
    found = number_answers(model, X, {})
    low, high = found.intervals.T
    np.testing.assert_allclose((high - low) / found.spread, 2 * 1.6448536)
    assert np.mean((low <= Y) & (high >= Y)) == pytest.approx(0.9, abs=0.1)


def test_a_models_own_intervals_and_what_it_is_told():
    model = make_pipeline(StandardScaler(), WithIntervals()).fit(X, Y)
    plain, told = number_answers(model, X, {}), number_answers(model, X, {"sources": np.ones(40)})
    np.testing.assert_allclose(plain.intervals[:, 1] - plain.predicted, 3)
    np.testing.assert_allclose(told.predicted - plain.predicted, 1)
    np.testing.assert_allclose(told.intervals - plain.intervals, 1)


def test_a_constant_has_no_spread():
    assert number_answers(DummyRegressor().fit(X, Y), X, {}).spread is None
