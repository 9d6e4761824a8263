import numpy as np
import pytest

from ensemblage.subspace._objectives import CLASSES, NUMBERS, weighted_accuracy


def test_accuracy_is_weighted():
    logits = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    assert weighted_accuracy(logits, np.array([0, 1, 1]), np.array([0.2, 0.3, 0.5])) == 0.5


def test_credit_of_a_class_is_its_probability():
    logits = np.log([[0.2, 0.5], [0.8, 0.5]])
    credit = CLASSES.credit(logits, np.array([1, 0]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(credit, [0.8, 0.5])


def test_credit_of_a_number_is_its_density_over_the_mode():
    # residuals 0 and 2 of equal weight: the variance is 2
    credit = NUMBERS.credit(np.array([[1.0, 1.0]]), np.array([1.0, 3.0]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(credit, [1, np.exp(-1)])


def test_perfect_numbers_have_full_credit():
    numbers = np.array([1.0, 3.0])
    credit = NUMBERS.credit(numbers[None], numbers, np.array([0.5, 0.5]))
    np.testing.assert_array_equal(credit, 1)
    assert NUMBERS.score(numbers[None], numbers, np.ones(2)) == pytest.approx(-np.log(1e-12))
