import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ensemblage.fusion import (
    common_response_method,
    member_outputs,
    regressor_outputs,
    regressor_response_method,
)

X = np.array([[0.0], [1.0], [4.0], [5.0]])
ROWS = np.arange(10.0)[:, None]
Y = np.sin(ROWS[:, 0])


def test_the_most_informative_common_method():
    assert common_response_method([LogisticRegression(), GaussianNB()]) == "predict_proba"
    assert common_response_method([LogisticRegression(), SVC()]) == "decision_function"
    assert common_response_method([SVC(), GaussianNB()]) == "predict"


def test_classes_unseen_by_a_member():
    y = np.array([0, 0, 2, 2])
    proba = member_outputs(GaussianNB().fit(X, y), X, 4, "predict_proba")
    np.testing.assert_array_equal(proba[:, [1, 3]], 0)
    ridge = RidgeClassifier().fit(X, y)
    decisions = member_outputs(ridge, X, 3, "decision_function")
    d = ridge.decision_function(X)
    np.testing.assert_allclose(decisions, np.column_stack([-d, -np.abs(d) - 1, d]))


def test_a_member_that_only_predicts_gives_one_and_minus_one():
    outputs = member_outputs(GaussianNB().fit(X, [0, 0, 1, 1]), X, 3, "predict")
    np.testing.assert_array_equal(outputs[0], [1, -1, -1])
    np.testing.assert_array_equal(outputs[3], [-1, 1, -1])


def test_outputs_of_a_constant_member_are_on_the_scale_of_the_others():
    constant = DummyClassifier(strategy="prior").fit(X, [1, 1, 1, 1])
    for response in ("decision_function", "predict"):
        np.testing.assert_array_equal(member_outputs(constant, X, 3, response)[0], [-1, 1, -1])
    np.testing.assert_array_equal(member_outputs(constant, X, 3, "predict_proba")[0], [0, 1, 0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_predictions_of_nan_are_rejected():
    rows = np.array([[3.4e38], [0.0], [1.0], [2.0]], dtype=np.float32)
    bayes = GaussianNB().fit(rows, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="GaussianNB predicts NaN or infinity"):
        member_outputs(bayes, rows, 2, "predict_proba")


@pytest.mark.parametrize("response", ["predict_proba", "predict"])
@pytest.mark.parametrize("classes", [[2, 7], [-2, -1], [1.5, 2.5]])
def test_unknown_classes_are_rejected(response, classes):
    member = GaussianNB().fit(X, [0, 0, 1, 1])
    member.classes_ = np.array(classes)
    with pytest.raises(ValueError, match="GaussianNB predicts classes other than the 2"):
        member_outputs(member, X, 2, response)


def test_members_with_a_standard_deviation_use_it():
    assert regressor_response_method(Ridge()) == "predict"
    assert regressor_response_method(BayesianRidge()) == "predict_std"
    assert (
        regressor_response_method(make_pipeline(StandardScaler(), BayesianRidge())) == "predict_std"
    )


def test_a_variance_of_their_own_or_that_of_the_target():
    bayes = BayesianRidge().fit(ROWS, Y)
    mean, std = bayes.predict(ROWS, return_std=True)
    np.testing.assert_allclose(
        regressor_outputs(bayes, ROWS, "predict_std", 4.0),
        np.column_stack([mean, std**2]),
    )
    plain = regressor_outputs(Ridge().fit(ROWS, Y), ROWS, "predict", 4.0)
    assert plain[:, 1].tolist() == [4.0] * 10


def test_variances_are_above_zero():
    process = GaussianProcessRegressor().fit(ROWS, Y)
    assert regressor_outputs(process, ROWS, "predict_std", 4.0)[:, 1].min() > 0
    outputs = regressor_outputs(DummyRegressor().fit(ROWS, Y), ROWS, "predict_std", 4.0)
    assert (outputs[:, 1] == 4e-9).all()


def test_predictions_that_overflow_are_rejected():
    steep = Ridge(alpha=0.0).fit(ROWS, 1e150 * ROWS[:, 0])
    with pytest.raises(ValueError, match="so far from the training rows that predictions overflow"):
        regressor_outputs(steep, 1e6 * ROWS, "predict", 4.0)
