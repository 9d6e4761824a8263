import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.fusion import number_outputs, number_response

X = np.arange(10.0)[:, None]
Y = np.sin(X[:, 0])


def test_members_that_tell_their_spread_are_asked_for_it():
    assert number_response(Ridge()) == "predict"
    assert number_response(BayesianRidge()) == "predict_std"
    assert number_response(make_pipeline(StandardScaler(), BayesianRidge())) == "predict_std"


def test_a_spread_of_their_own_or_that_of_the_target():
    bayes = BayesianRidge().fit(X, Y)
    mean, spread = bayes.predict(X, return_std=True)
    np.testing.assert_allclose(
        number_outputs(bayes, X, "predict_std", 4.0), np.column_stack([mean, spread**2])
    )
    plain = number_outputs(Ridge().fit(X, Y), X, "predict", 4.0)
    assert plain[:, 1].tolist() == [4.0] * 10


def test_nobody_is_sure():
    process = GaussianProcessRegressor().fit(X, Y)
    assert number_outputs(process, X, "predict_std", 4.0)[:, 1].min() > 0
    said = number_outputs(DummyRegressor().fit(X, Y), X, "predict_std", 4.0)
    assert (said[:, 1] == 4e-9).all()


def test_predictions_beyond_numbers_are_refused():
    steep = Ridge(alpha=0.0).fit(X, 1e150 * X[:, 0])
    with pytest.raises(ValueError, match="so far from the training rows that predictions overflow"):
        number_outputs(steep, 1e6 * X, "predict", 4.0)
