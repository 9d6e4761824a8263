import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage.kernels import add_exponentials, exponentials, logarithms

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
