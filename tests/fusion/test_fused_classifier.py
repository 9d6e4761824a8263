import numpy as np
import pytest

from ensemblage.fusion import FusedClassifierMixin


class Fixed(FusedClassifierMixin):
    def __init__(self, scores, classes, *, probable):
        self.scores, self.classes_, self.probable = np.array(scores), np.array(classes), probable

    def _scores(self, X):
        return self.scores

    def _gives_probabilities(self):
        return self.probable


def test_probabilities():
    model = Fixed([[0.2, 0.8], [0.6, 0.4]], ["a", "b"], probable=True)
    assert model.predict(None).tolist() == ["b", "a"]
    assert model.predict_proba(None) is model.scores
    assert not hasattr(model, "decision_function")


@pytest.mark.parametrize(("scores", "shape"), [([[-2.0, 2.0]], (1,)), ([[-2.0, 2.0, 1.0]], (1, 3))])
def test_two_classes_have_one_decision_value(scores, shape):
    model = Fixed(scores, list("abc")[: len(scores[0])], probable=False)
    assert model.decision_function(None).shape == shape
    assert model.predict(None).tolist() == ["b"]
    assert not hasattr(model, "predict_proba")


def test_what_a_class_must_fill_in():
    bare = FusedClassifierMixin()
    with pytest.raises(NotImplementedError):
        bare.predict(None)
    assert not hasattr(bare, "predict_proba")
