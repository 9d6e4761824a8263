import numpy as np

from ensemblage.methods._predictions import Predictions
from ensemblage.methods._target_score import TargetScore


def test_classes_are_counted_over_blocks():
    score = TargetScore()
    assert score.words() == ""
    score.add(np.array(["a", None], object), Predictions(np.array(["a", "b"]), ("a", "b")))
    score.add(np.array(["b"], object), Predictions(np.array(["a"]), ("a", "b")))
    assert score.words() == "; 1 of 2 predictions agree with it"


def test_errors_of_numbers_are_summed_over_blocks():
    score = TargetScore()
    score.add(np.array(["x"], object), Predictions(np.array([1.0]), ()))
    assert score.words() == ""
    score.add(np.array([3.0, np.nan]), Predictions(np.array([0.0, 1.0]), ()))
    score.add(np.array([4.0]), Predictions(np.array([0.0]), ()))
    assert score.words() == "; against its 2 numbers predictions have an RMSE of 3.536"
