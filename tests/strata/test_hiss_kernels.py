import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq, minimize

from ensemblage.strata._hiss_kernels import (
    CROWD,
    Caps,
    Near,
    Windows,
    _look_through,
    _lower_caps,
    bin_masses,
    bound_memberships,
    cap_for_size,
    caps_in_windows,
    log_memberships,
    priced_memberships,
    rows_in_bins,
    rows_near_caps,
    settle_memberships,
    sizes_at_edges,
    sizes_at_prices,
)
from reference.capping import capped_memberships
from reference.figure1 import figure_1


def test_two_rows_are_capped_and_the_others_share_what_is_left():
    # 2.5 to share: 8 and 4 of 14 would exceed one, 0.5 is left for 1 and 1
    tau = capped_memberships(np.log([8.0, 1.0, 4.0, 1.0]), size=2.5)
    np.testing.assert_allclose(tau, [1, 0.25, 1, 0.25])


def test_nothing_is_capped_when_all_rows_are_alike():
    np.testing.assert_allclose(capped_memberships(np.zeros(10), size=4.0), 0.4)


def test_the_whole_weight_makes_everybody_a_full_member():
    np.testing.assert_allclose(capped_memberships(np.array([0.0, -5.0, -1e10]), 3.0), 1.0)


def test_a_row_of_weight_two_counts_as_two_rows():
    affinity = np.log([8.0, 4.0, 1.0])
    weighted = capped_memberships(affinity, 2.5, weights=np.array([1.0, 2.0, 3.0]))
    repeated = capped_memberships(np.repeat(affinity, [1, 2, 3]), 2.5)
    np.testing.assert_allclose(weighted, repeated[[0, 1, 3]])


@given(arrays(float, st.integers(2, 60), elements=st.floats(-1e10, 0)), st.floats(0.01, 1))
def test_the_size_holds_however_far_apart_affinities_are(affinity, share):
    size = share * len(affinity)
    tau = capped_memberships(affinity, size)
    assert tau.sum() == pytest.approx(size, rel=1e-12)
    assert tau.min() >= 0
    assert tau.max() <= 1


@given(arrays(float, st.integers(2, 60), elements=st.floats(-1e4, 0)), st.floats(0.01, 0.99))
def test_memberships_follow_the_order_of_affinities(affinity, share):
    tau = capped_memberships(affinity, share * len(affinity))
    assert (np.diff(tau[np.argsort(affinity)]) >= 0).all()


@pytest.mark.parametrize("seed", range(50))
def test_equals_the_papers_loop_and_a_root_finder(seed):
    rng = np.random.default_rng(seed)
    affinity, size = rng.gamma(0.3, size=200) + 1e-12, rng.uniform(1, 199)
    tau = capped_memberships(np.log(affinity), size)
    np.testing.assert_allclose(tau, figure_1(affinity, size), atol=1e-12)

    def excess(log_c):
        return np.minimum(1, np.exp(log_c) * affinity).sum() - size

    log_c = brentq(excess, -20, 60, xtol=1e-15, rtol=1e-15)
    np.testing.assert_allclose(tau, np.minimum(1, np.exp(log_c) * affinity), atol=1e-12)


def test_rows_above_and_below_may_be_summed_up_beforehand():
    affinity, size = np.linspace(0, -6, 40), 11.3
    whole = cap_for_size(affinity, np.ones(40), size)
    inside = affinity[5:20]
    edge = inside.min() - 0.01
    rest = np.exp(affinity[20:] - edge).sum()
    part = cap_for_size(inside, np.ones(15), size, above=5.0, rest=rest, edge=edge)
    assert part == pytest.approx(whole)


def test_no_row_inside_leaves_the_edge_as_pivot():
    pivot, log_share = cap_for_size(np.empty(0), np.empty(0), 3.0, above=1.0, rest=4.0, edge=-7.0)
    assert (pivot, log_share) == (-7.0, pytest.approx(np.log(0.5)))


def test_memberships_by_hand():
    caps = Caps(np.array([-3.0]), np.array([-0.5]))
    np.testing.assert_allclose(log_memberships(np.array([[-4.0, -1.0]]), caps), [[-1.5, 0.0]])


@pytest.mark.parametrize("run", [bin_masses, bin_masses.python], ids=["compiled", "python"])
def test_bins_of_a_hand_made_stratum(run):
    # bins [-2, -1) and [-1, 0): below lies -3, inside -1.5 and -0.5 (weight 2), above 0.25
    affinity = np.array([[-3.0, -1.5, -0.5, 0.25]])
    weights = np.array([1.0, 1.0, 2.0, 1.0])
    counts, masses = run(affinity, weights, np.array([-2.0]), np.array([1.0]), 2)
    np.testing.assert_allclose(counts, [[1, 1, 2, 1]])
    np.testing.assert_allclose(masses, [[np.exp(-1), np.exp(-0.5), 2 * np.exp(-0.5), 0]])
    sizes, rests = sizes_at_edges(counts, masses, np.array([1.0]))
    direct = [(weights * np.minimum(1, np.exp(affinity[0] - edge))).sum() for edge in (-2, -1, 0)]
    np.testing.assert_allclose(sizes[0], direct)
    np.testing.assert_allclose(rests[0], sizes[0] - [4, 3, 1])


def test_a_stratum_of_width_zero_is_left_out():
    counts, masses = bin_masses(np.zeros((1, 3)), np.ones(3), np.zeros(1), np.zeros(1), 4)
    assert counts.sum() == masses.sum() == 0


def test_what_is_not_a_number_is_counted_below_all_bins():
    affinity = np.array([[np.nan, -0.5, np.inf]])
    counts, _ = bin_masses(affinity, np.ones(3), np.array([-1.0]), np.array([0.5]), 2)
    np.testing.assert_array_equal(counts, [[1, 0, 1, 1]])


def test_bins_beyond_a_chunk_equal_numpys_histogram():
    rng = np.random.default_rng(0)
    affinity, weights = -rng.gamma(1.0, 2.0, size=(2, 700)), rng.gamma(1.0, size=700)
    lower, width = np.array([-4.0, -1.0]), np.array([0.25, 0.1])
    counts, masses = bin_masses(affinity, weights, lower, width, 8)
    for j in range(2):
        edges = lower[j] + width[j] * np.arange(9)
        inner = np.histogram(affinity[j], edges, weights=weights)[0]
        np.testing.assert_allclose(counts[j, 1:-1], inner)
        mass = np.histogram(affinity[j], edges, weights=weights * np.exp(affinity[j]))[0]
        np.testing.assert_allclose(masses[j, 1:-1], mass * np.exp(-edges[1:]))


@pytest.mark.parametrize("run", [rows_in_bins, rows_in_bins.python], ids=["compiled", "python"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_rows_of_a_bin_are_those_that_were_counted_in_it(run, dtype):
    rng = np.random.default_rng(1)
    affinity = np.round(-rng.gamma(1.0, 2.0, size=(3, 400)), 2).astype(dtype)
    weights = rng.gamma(1.0, size=400)
    lower, width = np.array([-3.0, -4.0, -1.5]), np.array([0.01, 0.07, 0.5])
    counts, _ = bin_masses(affinity, weights, lower, width, 4)
    for found in ([0, 1, 2], [3, 3, 0]):
        strata, offsets, own = run(affinity, weights, lower, width, np.array(found))
        inside = counts[np.arange(3), np.array(found) + 1]
        np.testing.assert_allclose(np.bincount(strata, own, 3), inside)
        assert (np.floor(offsets * (1 / width[strata])) == np.array(found)[strata]).all()


def look(affinity, weights, windows):
    shares = (np.exp(affinity.astype(float)) * weights).astype(affinity.dtype)
    return rows_near_caps(affinity, shares, weights, *windows)


def windows_around(affinity, heights, reach):
    edges = (np.asarray(heights) + side * reach for side in (-1, 1))
    return Windows(*(edge.astype(affinity.dtype).astype(float) for edge in edges))


@pytest.mark.parametrize("run", [_look_through, _look_through.python], ids=["compiled", "python"])
def test_a_window_by_hand(run):
    # the window [-2, -1) holds -1.5; below lies -3, above -1 (weight 2) and 0
    affinity, weights = np.array([[-3.0, -1.5, -1.0, 0.0]]), np.array([1.0, 1.0, 2.0, 1.0])
    shares = np.exp(affinity) * weights
    weight, above, rest, inside, *entries = run(
        affinity, shares, weights, np.array([-2.0]), np.array([-1.0])
    )
    assert (weight, above, inside) == (5.0, [3.0], [1.0])
    np.testing.assert_allclose(rest, [np.exp(-1.0)])
    assert [field.tolist() for field in entries] == [[0], [0.5], [1.0]]


@pytest.mark.parametrize("run", [_lower_caps, _lower_caps.python], ids=["compiled", "python"])
def test_a_cap_by_hand(run):
    # 2.5 to share: 8 and 4 are capped, 0.5 is left for 1 and 1: c = 1/4, relative to the edge at 1
    rows = np.array([0, 3]), np.log([8.0, 1.0, 4.0]), np.ones(3)
    sums = np.zeros(1), np.ones(1), np.array([np.log(10.0)])
    heights, settled = run(rows, sums, 4.0, np.array([2.5]))
    assert settled.all()
    np.testing.assert_allclose(heights, np.log(4.0))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize("seed", range(30))
def test_equals_the_papers_loop_where_the_cap_is_inside(dtype, tolerance, seed):
    rng = np.random.default_rng(seed)
    affinity = np.log(rng.gamma(0.3, size=(3, 900)) + 1e-12).astype(dtype)
    sizes = rng.uniform(1, 899, size=3)
    plain = [
        figure_1(np.exp(line.astype(float)), size)
        for line, size in zip(affinity, sizes, strict=True)
    ]
    # the cap is between the highest row that is not capped and the lowest that is
    heights = [line[tau < 1].max() for line, tau in zip(affinity, plain, strict=True)]
    windows = windows_around(affinity, heights, 0.3 + 0.1 * rng.uniform())
    found = caps_in_windows(windows, look(affinity, np.ones(900), windows), sizes)
    assert found.settled.any()
    tau = np.exp(log_memberships(affinity.astype(float), Caps(windows.lower, -found.heights)))
    for j in np.flatnonzero(found.settled):
        np.testing.assert_allclose(tau[j], plain[j], atol=tolerance)


@given(st.integers(0, 10_000))
def test_no_cap_is_told_but_the_right_one(seed):
    # wherever the window is, however deep, with ties and weights
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 400))
    affinity = -(10 ** rng.uniform(-1, 3)) * rng.uniform(size=(1, n_rows)) ** 2
    affinity = np.round(affinity, 1) if seed % 3 == 0 else affinity
    weights = rng.gamma(1.0, size=n_rows) if seed % 2 else np.ones(n_rows)
    sizes = np.array([rng.uniform(0.01, 1)]) * weights.sum()
    windows = windows_around(affinity, rng.choice(affinity[0], 1), rng.uniform(0, 1))
    found = caps_in_windows(windows, look(affinity, weights, windows), sizes)
    if found.settled[0]:
        caps = Caps(windows.lower, -found.heights)
        tau = np.exp(log_memberships(affinity, caps))[0]
        assert tau @ weights == pytest.approx(sizes[0], rel=1e-9)
        np.testing.assert_allclose(
            tau, capped_memberships(affinity[0], sizes[0], weights), atol=1e-9
        )


def test_blocks_add_up_to_all_rows():
    rng = np.random.default_rng(1)
    affinity, weights = -rng.gamma(0.5, 20.0, size=(4, 900)), rng.gamma(2.0, size=900)
    windows, sizes = (
        windows_around(affinity, np.full(4, -8.0), 4.0),
        weights.sum() * np.full(4, 0.5),
    )
    whole = look(affinity, weights, windows)
    first, second = (
        look(affinity[:, own], weights[own], windows) for own in np.split(np.arange(900), 2)
    )
    both = first + second
    assert isinstance(both, Near)
    assert both.weight == pytest.approx(whole.weight)
    np.testing.assert_array_equal(both.inside, whole.inside)
    for some, all_ in zip(
        caps_in_windows(windows, both, sizes), caps_in_windows(windows, whole, sizes), strict=True
    ):
        np.testing.assert_allclose(some, all_, rtol=1e-12)


def test_a_crowd_is_counted_but_not_listed():
    affinity = np.full((2, CROWD + 1), -1.0)
    affinity[1] = -5.0
    windows = Windows(np.full(2, -2.0), np.zeros(2))
    near = look(affinity, np.ones(CROWD + 1), windows)
    assert near.inside.tolist() == [CROWD + 1, 0]
    assert len(near.entries.strata) == 0
    assert not caps_in_windows(windows, near, np.full(2, 10.0)).settled[0]


def test_a_stratum_of_all_rows_has_no_cap():
    affinity, weights = np.log([[1.0, 2.0, 3.0]]), np.ones(3)
    windows = Windows(np.array([-1.0]), np.array([2.0]))
    found = caps_in_windows(windows, look(affinity, weights, windows), np.array([3.0]))
    assert not found.settled.any()


@pytest.mark.parametrize("depth", [-30.0, -60.0, -3000.0])
def test_masses_below_a_window_hold_at_any_depth(depth):
    rng = np.random.default_rng(2)
    affinity = depth - rng.gamma(1.0, 5.0, size=(1, 300))
    windows = Windows(np.array([depth - 1.0]), np.array([depth - 0.5]))
    near = look(affinity, np.ones(300), windows)
    below = affinity[affinity < depth - 1.0]
    np.testing.assert_allclose(near.rest, np.exp(below - depth + 1.0).sum(), rtol=1e-12)


def test_what_is_not_a_number_is_on_no_side():
    affinity = np.array([[np.nan, -1.0, -3.0]])
    near = rows_near_caps(affinity, np.exp(affinity), np.ones(3), np.array([-2.0]), np.zeros(1))
    assert (near.inside, near.above) == ([1.0], [0.0])
    np.testing.assert_allclose(near.rest, np.exp(-1.0))


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
