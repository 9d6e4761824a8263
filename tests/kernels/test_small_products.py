import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.kernels._small_products import SMALL, multiply_in_parts, small_parts


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_product_by_hand(order):
    right = np.asarray([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]], order=order)
    out = np.empty((1, 3))
    assert multiply_in_parts(np.array([[10.0, 1.0]]), right, out) is out
    np.testing.assert_array_equal(out, [[10.0, 1.0, 23.0]])


def test_many_columns_are_those_of_one_product():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(20, 30)), rng.normal(size=(30, 5000))
    assert len(list(small_parts(5000, left.size))) > 1
    parted = multiply_in_parts(left, right, np.empty((20, 5000)))
    np.testing.assert_allclose(parted, left @ right, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 100_000), st.integers(1, 10**7))
def test_parts_cover_the_rows_and_their_products_are_small(n_rows, per_row):
    parts = list(small_parts(n_rows, per_row))
    rows = np.arange(n_rows)
    np.testing.assert_array_equal(np.concatenate([rows[:0], *(rows[part] for part in parts)]), rows)
    sizes = [len(rows[part]) for part in parts]
    assert len(set(sizes[:-1])) <= 1
    assert len(parts) <= 1 or max(sizes) * per_row <= SMALL
