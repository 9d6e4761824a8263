import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from ensemblage._core import final_step, fit_parameter, rows_at_final_step

X = np.array([[0.0], [2.0], [4.0]])
INNER = make_pipeline(MinMaxScaler((0, 10)), LogisticRegression())
NESTED = make_pipeline(MinMaxScaler(), INNER).fit(X, [0, 1, 1])


def test_a_pipeline_within_a_pipeline():
    assert final_step(NESTED) is INNER[-1]
    np.testing.assert_allclose(rows_at_final_step(NESTED, X).ravel(), [0, 5, 10])


def test_a_model_alone():
    model = KNeighborsClassifier()
    assert final_step(model) is model
    assert rows_at_final_step(model, X) is X
    assert rows_at_final_step(make_pipeline(model), X) is X
    assert rows_at_final_step(NESTED, None) is None


def test_arguments_of_fit_are_named_as_a_pipeline_takes_them():
    assert fit_parameter(LogisticRegression(), "sample_weight") == "sample_weight"
    long_name = "pipeline__logisticregression__sample_weight"
    assert fit_parameter(NESTED, "sample_weight") == long_name
    assert fit_parameter(make_pipeline(KNeighborsClassifier()), "sample_weight") is None
