import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ensemblage.kernels import priced_memberships, sizes_at_prices
from ensemblage.kernels._prices import bound_memberships, settle_memberships


def in_python(log_density, log_scales):
    memberships, bounds = bound_memberships.python(log_density, log_scales)
    log_sums = settle_memberships.python(log_density, log_scales, memberships, bounds)
    return memberships, log_sums


def walk(log_density, log_scales):
    """Take the strata of one row by falling r_j, until one is not worth its price."""
    tau, log_z = np.zeros(len(log_scales)), -np.inf
    for j in np.argsort(-(log_scales + log_density), kind="stable"):
        log_ratio = log_scales[j] + log_density[j]
        if log_ratio <= log_z:
            break
        if np.logaddexp(log_z, log_density[j]) > log_ratio:
            tau[j] = np.exp(min(0.0, log_scales[j] + np.log1p(-np.exp(log_z - log_ratio))))
            return tau, log_ratio
        tau[j], log_z = 1.0, np.logaddexp(log_z, log_density[j])
    return tau, log_z


RUNS = pytest.mark.parametrize("run", [priced_memberships, in_python], ids=["compiled", "python"])


def kkt_gap(tau, log_density, log_scales):
    """How far each row is from its optimum, in logs: r_j against Z."""
    with np.errstate(divide="ignore"):
        log_z = np.logaddexp.reduce(np.log(tau) + log_density, axis=0)
    gap = log_scales[:, None] + log_density - log_z
    inside = (tau > 0) & (tau < 1)
    return np.where(inside, np.abs(gap), np.where(tau == 1, -gap, gap)).max()


@RUNS
def test_a_row_by_hand(run):
    # r = (3, 2, 1): the first is full (Z = 1), the second takes (2 - 1) / 2, the third nothing
    density, scales = np.array([[1.0], [2.0], [1.0]]), np.array([3.0, 1.0, 1.0])
    memberships, log_sums = run(np.log(density), np.log(scales))
    np.testing.assert_allclose(memberships, [[1.0], [0.5], [0.0]])
    np.testing.assert_allclose(log_sums, [np.log(2.0)])


@RUNS
def test_strata_far_away_with_huge_scales(run):
    log_density, log_scales = np.array([[-10_000.0], [-1.0]]), np.array([10_000.0, 0.5])
    tau, _ = run(log_density, log_scales)
    np.testing.assert_allclose(tau, [[1.0], [1.0]])


@given(st.integers(0, 100_000))
def test_no_row_can_do_better(seed):
    rng = np.random.default_rng(seed)
    log_density = rng.normal(scale=10 ** rng.uniform(-2, 2), size=(6, 20))
    log_scales = rng.normal(scale=3, size=6) - log_density.mean(axis=1)
    tau, log_sums = priced_memberships(log_density, log_scales)
    with np.errstate(divide="ignore"):
        expected = np.logaddexp.reduce(np.log(tau) + log_density, axis=0)
    np.testing.assert_allclose(log_sums, expected, atol=1e-10)
    assert kkt_gap(tau, log_density, log_scales) < 1e-10
    assert (((tau > 0) & (tau < 1)).sum(axis=0) <= 1).all()
    assert (tau.max(axis=0) > 0).all()


@RUNS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("spread", [0.1, 3.0, 100.0, 1e5])
@pytest.mark.parametrize("n_strata", [1, 2, 7, 30])
def test_equals_the_walk_over_all_strata(run, dtype, spread, n_strata):
    rng = np.random.default_rng(0)
    log_density = rng.normal(scale=spread, size=(n_strata, 150)).astype(dtype)
    log_scales = rng.normal(scale=3, size=n_strata) + rng.choice([-5, 0, 20, spread], n_strata)
    tau, log_sums = run(log_density, log_scales)
    assert tau.dtype == dtype
    for i in range(150):
        expected, log_z = walk(log_density[:, i].astype(float), log_scales)
        np.testing.assert_allclose(tau[:, i], expected, rtol=1e-6, atol=1e-6)
        assert log_sums[i] == pytest.approx(log_z, abs=1e-12, rel=1e-13)


@given(st.integers(0, 100_000))
def test_bounds_hold_and_sure_strata_are_full(seed):
    rng = np.random.default_rng(seed)
    log_density = rng.normal(scale=10 ** rng.uniform(-2, 2), size=(6, 20))
    log_scales = rng.normal(scale=10 ** rng.uniform(-2, 2), size=6)
    sure, (base, high, low, unsure) = bound_memberships(log_density, log_scales)
    tau, log_sums = priced_memberships(log_density, log_scales)
    assert (base <= log_sums + 1e-12).all()
    assert (log_sums <= base + high).all()
    assert (np.log(np.maximum(low, 1e-300)) <= log_sums - base + 1e-12).all()
    assert (tau[sure == 1] == 1).all()
    np.testing.assert_array_equal(tau[:, unsure == 0], sure[:, unsure == 0])


def test_rows_infinitely_far_from_all_strata_get_none():
    log_density = np.array([[-np.inf, 0.0], [-np.inf, -np.inf]])
    tau, log_sums = priced_memberships(log_density, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(tau, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(log_sums, [-np.inf, 0.0])


@pytest.mark.parametrize("seed", range(5))
def test_equals_a_general_optimiser(seed):
    rng = np.random.default_rng(seed)
    density, prices = rng.gamma(1.0, size=4), rng.gamma(1.0, size=4) + 0.1

    def loss(tau):
        return prices @ tau - np.log(density @ tau)

    def slope(tau):
        return prices - density / (density @ tau)

    best = minimize(
        loss,
        np.full(4, 0.5),
        jac=slope,
        bounds=[(0, 1)] * 4,
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    tau = priced_memberships(np.log(density)[:, None], -np.log(prices))[0][:, 0]
    assert loss(tau) <= best.fun + 1e-9


@pytest.mark.parametrize(
    "run", [sizes_at_prices, sizes_at_prices.python], ids=["compiled", "python"]
)
def test_sizes_and_turns_by_hand(run):
    # one stratum, c = 2: rows with p / Z of 2, 1/4 and 1/2 turn at c = 1/2, 4 and 2
    log_density, log_sums = np.log([[2.0, 0.25, 0.5]]), np.zeros(3)
    memberships, weights = np.array([[1.0, 0.0, 0.3]]), np.array([1.0, 2.0, 10.0])
    state = np.log([2.0]), np.array([2.0])
    sizes, fractions, turns = run(log_density, memberships, log_sums, weights, *state, 4)
    assert (sizes, fractions) == (pytest.approx([4.0]), [10.0])
    # bins of width 0.5 around log 2: log 1/2 lies 1.39 below, log 4 lies 0.69 above
    np.testing.assert_array_equal(turns, [[0, 1, 0, 0, 0, 2, 0, 0]])


@given(st.integers(0, 100_000))
def test_turns_tell_how_sizes_change(seed):
    # where scales are so high that fractions hardly happen, moving one past its bins moves the
    # size by the weight in them
    rng = np.random.default_rng(seed)
    log_density = rng.normal(scale=3, size=(1, 30)) - 30
    log_scales, reach, weights = np.array([30.0]), np.array([4.0]), rng.gamma(1.0, size=30)
    rival = np.zeros((1, 30))
    densities, scales = np.concatenate([log_density, rival]), np.append(log_scales, 0.0)

    def measure(shift):
        moved = scales + np.array([shift, 0.0])
        memberships, log_sums = priced_memberships(densities, moved)
        state = weights, moved, np.append(reach, 1.0)
        return sizes_at_prices(densities, memberships, log_sums, *state, 8)

    sizes, _, turns = measure(0.0)
    assert measure(4.0)[0][0] == pytest.approx(sizes[0] + turns[0, 8:].sum())
    assert measure(-4.0)[0][0] == pytest.approx(sizes[0] - turns[0, :8].sum())
