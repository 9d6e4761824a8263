import numpy as np
import pytest

from ensemblage.subspace import JointSubspaceClassifier, JointSubspaceSelector
from ensemblage.subspace._base import encode_classes


def test_classes_are_sorted_and_numbered():
    found = encode_classes(["b", "a", "c", "a"])
    assert found.classes.tolist() == ["a", "b", "c"]
    assert found.labels.tolist() == [1, 0, 2, 0]


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="y holds one class only, 'a'"):
        encode_classes(["a", "a"])


def test_flips_are_rarer_in_the_paper():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    for solver, expected in (("paper", 0.01), ("lbfgs", 0.05)):
        prepared = JointSubspaceClassifier(solver=solver)._prepare(X, y, None)
        assert prepared.settings.flip_probability == expected
    assert JointSubspaceSelector()._prepare(X, y, None).settings.flip_probability == 0.1


def test_classifier_and_selector_fit_the_same_members():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    options = {"n_estimators": 2, "flip_probability": 0.1, "max_iter": 20, "random_state": 0}
    one = JointSubspaceClassifier(**options).fit(X, y)
    other = JointSubspaceSelector(**options).fit(X, y)
    np.testing.assert_array_equal(one.coefs_, other.coefs_)
    np.testing.assert_array_equal(one.supports_, other.supports_)
