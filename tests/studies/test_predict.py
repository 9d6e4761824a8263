import subprocess
import sys

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC

from ensemblage.evaluation import Predictions
from ensemblage.studies import predict
from ensemblage.studies._predict import TargetScore, prediction_columns

X, Y = np.array([[0.0], [1.0], [1.0], [1.0]]), np.array(["a", "b", "b", "b"])


def test_columns_of_probabilities():
    columns = prediction_columns(predict(DummyClassifier(strategy="prior").fit(X, Y), X[:1]))
    assert list(columns) == ["prediction", "probability_a", "probability_b"]
    assert [list(values) for values in columns.values()] == [["b"], [0.25], [0.75]]


def test_a_model_without_probabilities():
    predictions = predict(SVC().fit(X, Y), X[:1])
    assert predictions.probabilities is None
    assert predictions.classes == ("a", "b")
    assert list(prediction_columns(predictions)) == ["prediction"]


def test_predicting_imports_no_comparison():
    script = (
        "import sys; from ensemblage.studies import predict\n"
        "print(sorted({'ensemblage.studies._compare'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"


def test_accuracy_over_blocks():
    score = TargetScore()
    assert score.sentence("y") == "The target 'y' was not used."
    score.add(np.array(["a", None], object), Predictions(np.array(["a", "b"]), ("a", "b")))
    score.add(np.array(["b"], object), Predictions(np.array(["a"]), ("a", "b")))
    assert score.sentence("y").endswith("; accuracy 0.5000 (1 of 2 rows).")


def test_rmse_over_blocks():
    score = TargetScore()
    score.add(np.array(["x"], object), Predictions(np.array([1.0]), ()))
    assert score.sentence("y") == "The target 'y' was not used."
    score.add(np.array([3.0, np.nan]), Predictions(np.array([0.0, 1.0]), ()))
    score.add(np.array([4.0]), Predictions(np.array([0.0]), ()))
    assert score.sentence("y").endswith("; RMSE 3.536 (2 rows).")
