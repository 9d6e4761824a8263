import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier, DummyRegressor

from ensemblage.strata._strata_targets import (
    ClassTarget,
    NumberTarget,
    read_classes,
    read_numbers,
)

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


def test_losses_densities_and_mixtures_of_numbers_by_hand():
    target = NumberTarget(2.0)
    said, y = np.array([[1.0, 4.0], [3.0, 4.0]]), np.array([1.0, 5.0])
    assert target.losses(said, y).tolist() == [0.0, 4.0]
    assert target.as_error(4.0) == 2.0
    peak = 1 / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(target.likelihoods(said, y), [peak, peak * np.exp(-0.5)])
    mixed = target.mix(said[:1], said[1:], np.array([0.5]))
    np.testing.assert_allclose(mixed, [[2.0, 5.0]])


def test_a_constant_member_says_its_number_and_the_targets_variance():
    target = NumberTarget(2.0)
    member = target.constant_member(np.array([7.0, 7.0]))
    assert isinstance(member, DummyRegressor)
    assert target.ask(member, np.zeros((1, 3)), "predict_std").tolist() == [[7.0, 4.0]]
    assert target.report(member, None, np.array([]))["score"] is None


@given(st.integers(2, 300))
def test_folds_are_balanced_by_tenths(n_rows):
    y = np.random.default_rng(n_rows).normal(size=n_rows)
    labels = NumberTarget(1.0).labels(y)
    counts = np.bincount(labels)
    assert len(counts) <= 10
    assert counts.max() - counts.min() <= 1
    assert (np.diff(labels[np.argsort(y)]) >= 0).all()


def test_numbers_are_read_with_their_spread():
    y, target = read_numbers(np.array([1, 3, 100]), np.array([1.0, 1.0, 0.0]))
    assert (y.tolist(), target.scale) == ([1.0, 3.0, 100.0], 1.0)
    assert read_numbers(np.array(["1", "3"], dtype=object), np.ones(2))[1].scale == 1.0
