import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ensemblage.kernels import SharedAndOwn, solve_pooled, source_products, squared_error

INF = np.inf


def made(seed, n_rows=60, n_sources=3):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=(n_rows, 2)), np.ones(n_rows)])
    sources = np.arange(n_rows) % n_sources
    return rows, rng.normal(size=n_rows) + rows[:, 0], rng.uniform(0.5, 2.0, n_rows), sources


def loss(parts, penalties, shared, own):
    """The sum that is minimised, one row at a time."""
    rows, y, weights, sources = parts
    total = 0.0
    for x, truth, weight, s in zip(rows, y, weights, sources, strict=True):
        total += 0.5 * weight * (truth - x @ (shared + own[s])) ** 2
    free = [np.where(np.isfinite(each), each, 0.0) for each in penalties]
    return total + 0.5 * free[0] @ shared**2 + 0.5 * (free[1] * own**2).sum()


def test_two_sources_with_a_mean_each_by_hand():
    # means 0 and 4 of two rows each; B is free, deviations cost one: d = 2 * (mean - B) / 3
    parts = (np.ones((4, 1)), np.array([0.0, 0.0, 4.0, 4.0]), np.ones(4), np.array([0, 0, 1, 1]))
    found = solve_pooled(source_products(*parts, 2), SharedAndOwn(np.zeros(1), np.ones(1)))
    assert found.shared == pytest.approx([2.0])
    assert found.own[:, 0] == pytest.approx([-4 / 3, 4 / 3])


@pytest.mark.parametrize("shared", [0.5, INF])
@pytest.mark.parametrize("own", [2.0, INF])
def test_no_other_coefficients_are_better(shared, own):
    parts = made(0)
    penalties = SharedAndOwn(np.array([shared] * 2 + [0.0]), np.array([own] * 2 + [1.0]))
    found = solve_pooled(source_products(*parts, 3), penalties)
    masks = np.isfinite(penalties.shared), np.isfinite(penalties.own)

    def slow(values):
        return loss(parts, penalties, values[:3] * masks[0], values[3:].reshape(3, 3) * masks[1])

    best = minimize(slow, np.zeros(12), method="BFGS", options={"gtol": 1e-7})
    assert loss(parts, penalties, *found) == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_array_equal(found.shared[~masks[0]], 0)
    np.testing.assert_array_equal(found.own[:, ~masks[1]], 0)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_shared_and_own_balance_and_errors_add_up(seed):
    parts = made(seed)
    rows, y, weights, sources = parts
    data = source_products(*parts, 3)
    penalties = SharedAndOwn(np.full(3, 0.7), np.full(3, 1.9))
    found = solve_pooled(data, penalties)
    # at the minimum both slopes are the same sum over the rows
    np.testing.assert_allclose(0.7 * found.shared, 1.9 * found.own.sum(axis=0), atol=1e-9)
    coefs = found.shared + found.own
    residuals = y - (rows * coefs[sources]).sum(axis=1)
    assert squared_error(data, coefs) == pytest.approx(float(weights @ residuals**2))
