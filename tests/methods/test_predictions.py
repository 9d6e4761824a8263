import subprocess
import sys

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC

from ensemblage.methods import predict_rows

X, Y = np.array([[0.0], [1.0], [1.0], [1.0]]), np.array(["a", "b", "b", "b"])


def test_probabilities_stand_beside_classes():
    header, rows = predict_rows(DummyClassifier(strategy="prior").fit(X, Y), X[:1]).rows()
    assert header == ["prediction", "probability_a", "probability_b"]
    assert rows == [["b", "0.25", "0.75"]]


def test_a_model_without_probabilities():
    predictions = predict_rows(SVC().fit(X, Y), X[:1])
    assert predictions.probabilities is None
    assert predictions.classes == ("a", "b")
    assert predictions.rows()[0] == ["prediction"]


def test_predicting_imports_no_comparison():
    script = (
        "import sys; from ensemblage.methods import predict_rows\n"
        "print(sorted({'sklearn', 'ensemblage.evaluation'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
