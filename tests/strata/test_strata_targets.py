import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from ensemblage.strata._strata_targets import ClassTarget, read_classes

TWO = ClassTarget(np.array(["no", "yes"]))


def test_classes_are_numbered_and_must_have_weight():
    y, target = read_classes(np.array(["b", "a", "b"]), np.ones(3))
    assert y.tolist() == [1, 0, 1]
    assert target.classes.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="no weight to class 'a'"):
        read_classes(np.array(["b", "a", "b"]), np.array([1.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="one class only, 'a'"):
        read_classes(np.array(["a", "a"]), np.ones(2))


def test_losses_and_likelihoods_of_classes_by_hand():
    said = np.array([[0.9, 0.1], [0.6, 0.4]])
    y = np.array([0, 1])
    assert TWO.losses(said, y).tolist() == [False, True]
    assert TWO.likelihoods(said, y).tolist() == [0.9, 0.4]
    assert TWO.likelihoods(said - 3, y) is None
    assert TWO.as_error(0.25) == 0.25


def test_a_constant_member_says_its_class():
    member = TWO.constant_member(np.array([1, 1]))
    assert isinstance(member, DummyClassifier)
    assert TWO.is_constant(member)
    assert TWO.ask(member, np.zeros((1, 3)), "predict_proba").tolist() == [[0.0, 1.0]]
    assert TWO.report(member, None, np.array([]))["classes"] == ["yes"]
