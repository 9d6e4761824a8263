import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage._core import (
    add_exponentials,
    exponentials,
    logarithms,
    multiply_in_parts,
    small_parts,
)
from ensemblage._core._vector_math import SMALL

RUNS = pytest.mark.parametrize(
    "run", [exponentials, exponentials.python], ids=["compiled", "python"]
)


@RUNS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_at_the_bound_or_below_is_none(run, dtype):
    logs, out = np.array([0.0, -1.0, -39.0, -40.0, -1e30, -np.inf], dtype), np.empty(6, dtype)
    run(logs, -40.0, out)
    np.testing.assert_allclose(out, [1.0, np.exp(-1.0), np.exp(-39.0), 0, 0, 0], rtol=2e-7)
    assert out.dtype == dtype


@given(arrays(np.float64, 9, elements=st.floats(-85.0, 0.0, exclude_min=True)))
def test_precision(logs):
    out = np.empty(9)
    exponentials(logs, -85.0, out)
    np.testing.assert_allclose(out, np.exp(logs), rtol=4e-16)
    narrow, exact = np.empty(9, np.float32), np.exp(logs.astype(np.float32).astype(np.float64))
    exponentials(logs.astype(np.float32), -86.0, narrow)
    np.testing.assert_allclose(narrow, exact, rtol=2e-7)


@pytest.mark.parametrize(
    "run", [add_exponentials, add_exponentials.python], ids=["compiled", "python"]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exponentials_are_added_up(run, dtype):
    logs, tops = np.array([1.0, -3.0, -99.0], dtype), np.array([1.0, -1.0, 0.0], dtype)
    out, sums = np.empty(3, dtype), np.array([0.5, 0.0, 2.0], dtype)
    run(logs, tops, -85.0, out, sums)
    np.testing.assert_allclose(out, [1.0, np.exp(-2.0), 0.0], rtol=2e-7)
    np.testing.assert_allclose(sums, [1.5, np.exp(-2.0), 2.0], rtol=2e-7)


@pytest.mark.parametrize("run", [logarithms, logarithms.python], ids=["compiled", "python"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logs_of_powers_of_two(run, dtype):
    values, out = np.array([1.0, 2.0, 0.5 * 2**11], dtype), np.empty(3, dtype)
    run(values, out)
    np.testing.assert_array_equal(out, (np.array([0, 1, 10]) * dtype(np.log(2))).astype(dtype))


@given(arrays(np.float64, 9, elements=st.floats(1.0, 1e6)))
def test_precision_of_logs(values):
    out = np.empty(9)
    logarithms(values, out)
    np.testing.assert_allclose(out, np.log(values), rtol=5e-16)
    narrow, exact = np.empty(9, np.float32), np.log(values.astype(np.float32).astype(np.float64))
    logarithms(values.astype(np.float32), narrow)
    np.testing.assert_allclose(narrow, exact, rtol=2e-7)


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
