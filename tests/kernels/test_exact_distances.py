from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.kernels._exact_distances import (
    add_exactly,
    compare_distances,
    nearest_exactly,
    two_product,
    two_sum,
)
from reference.inner_kmeans import exactly

numbers = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)


def test_what_rounding_loses_is_told():
    assert two_sum(1.0, 2.0**-60) == (1.0, 2.0**-60)
    near_one = 1 + 2.0**-30  # its square is 1 + 2^-29 + 2^-60
    assert two_product(near_one, near_one) == (1 + 2.0**-29, 2.0**-60)


def test_an_expansion_keeps_what_one_number_cannot():
    parts = np.zeros(64)
    n_parts = 0
    for value in (1.0, 2.0**-100, 3.0, -4.0):
        n_parts = add_exactly(parts, n_parts, value)
    assert parts[:n_parts].tolist() == [2.0**-100]


def test_equal_sums_in_another_order_are_equal():
    # .1, .2 and .3 away in one order, and in another: rounded sums of the squares differ
    row, one, other = np.zeros(3), np.array([0.1, 0.2, 0.3]), np.array([0.3, -0.1, 0.2])
    assert compare_distances(row, one, other, np.ones(3)) == 0


def test_a_difference_far_below_rounding_decides():
    # (1 + u)^2 + (1 - u)^2 = 2 + 2 u^2 against 1 + 1
    u = 2.0**-52
    row, one, other = np.zeros(2), np.array([1 + u, 1 - u]), np.ones(2)
    assert compare_distances(row, one, other, np.ones(2)) > 0
    assert compare_distances(row, other, one, np.ones(2)) < 0


def test_of_equal_centres_the_lowest_index_is_nearest():
    centers = np.array([[9.0, 0.0], [0.3, 0.1], [0.1, 0.3], [0.1, 0.2]])
    distances = np.array([81.0, 0.1, 0.1, 0.05])
    assert nearest_exactly(np.zeros(2), centers[:3], np.ones(2), distances[:3], 0.2) == 1
    assert nearest_exactly(np.zeros(2), centers, np.ones(2), distances, 0.2) == 3


@given(st.lists(st.tuples(numbers, numbers, numbers, st.integers(0, 5)), min_size=1, max_size=6))
@settings(deadline=None, max_examples=200)
def test_the_sign_is_that_of_exact_arithmetic(columns):
    row, one, other, view = (np.array(each, float) for each in zip(*columns, strict=True))
    x, a, b = exactly(row, one, other)
    drawn = view.astype(int).astype(object)
    difference = int(drawn @ (x - a) ** 2) - int(drawn @ (x - b) ** 2)
    for kernel in (compare_distances, compare_distances.python):
        found = kernel(row, one, other, view)
        assert np.sign(found) == (difference > 0) - (difference < 0)


@given(st.lists(numbers, max_size=30))
@settings(deadline=None)
def test_an_expansion_is_the_exact_sum(values):
    parts, n_parts = np.zeros(64), 0
    for value in values:
        n_parts = add_exactly(parts, n_parts, value)
    found = sum((Fraction(part) for part in parts[:n_parts].tolist()), Fraction(0))
    assert found == sum((Fraction(value) for value in values), Fraction(0))
