import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq, minimize

from ensemblage.strata._hiss_kernels import (
    MAX_LISTED_ROWS,
    Entries,
    ScaleWindows,
    SplitScales,
    WindowSums,
    bin_masses,
    bound_row_sums,
    capped_log_memberships,
    complete_memberships,
    rows_in_bins,
    scales_in_windows,
    scan_windows,
    sizes_and_breakpoints,
    sizes_at_edges,
    sort_entries,
)
from ensemblage.strata._hiss_sizes import optimal_memberships, scale_for_size
from reference.capping import capped_memberships
from reference.figure1 import figure_1


def test_two_rows_are_capped_and_the_others_share_what_is_left():
    # 2.5 to share: 8 and 4 of 14 would exceed one, 0.5 is left for 1 and 1
    tau = capped_memberships(np.log([8.0, 1.0, 4.0, 1.0]), size=2.5)
    np.testing.assert_allclose(tau, [1, 0.25, 1, 0.25])


def test_nothing_is_capped_when_all_rows_are_alike():
    np.testing.assert_allclose(capped_memberships(np.zeros(10), size=4.0), 0.4)


def test_the_whole_weight_gives_all_rows_membership_one():
    np.testing.assert_allclose(capped_memberships(np.array([0.0, -5.0, -1e10]), 3.0), 1.0)


def test_a_row_of_weight_two_counts_as_two_rows():
    log_resp = np.log([8.0, 4.0, 1.0])
    weighted = capped_memberships(log_resp, 2.5, weights=np.array([1.0, 2.0, 3.0]))
    repeated = capped_memberships(np.repeat(log_resp, [1, 2, 3]), 2.5)
    np.testing.assert_allclose(weighted, repeated[[0, 1, 3]])


@given(arrays(float, st.integers(2, 60), elements=st.floats(-1e10, 0)), st.floats(0.01, 1))
def test_the_size_holds_however_far_apart_affinities_are(log_resp, share):
    size = share * len(log_resp)
    tau = capped_memberships(log_resp, size)
    assert tau.sum() == pytest.approx(size, rel=1e-12)
    assert tau.min() >= 0
    assert tau.max() <= 1


@given(arrays(float, st.integers(2, 60), elements=st.floats(-1e4, 0)), st.floats(0.01, 0.99))
def test_memberships_follow_the_order_of_affinities(log_resp, share):
    tau = capped_memberships(log_resp, share * len(log_resp))
    assert (np.diff(tau[np.argsort(log_resp)]) >= 0).all()


@pytest.mark.parametrize("seed", range(50))
def test_equals_the_papers_loop_and_a_root_finder(seed):
    rng = np.random.default_rng(seed)
    log_resp, size = rng.gamma(0.3, size=200) + 1e-12, rng.uniform(1, 199)
    tau = capped_memberships(np.log(log_resp), size)
    np.testing.assert_allclose(tau, figure_1(log_resp, size), atol=1e-12)

    def excess(log_c):
        return np.minimum(1, np.exp(log_c) * log_resp).sum() - size

    log_c = brentq(excess, -20, 60, xtol=1e-15, rtol=1e-15)
    np.testing.assert_allclose(tau, np.minimum(1, np.exp(log_c) * log_resp), atol=1e-12)


def test_rows_above_and_below_may_be_summed_up_beforehand():
    log_resp, size = np.linspace(0, -6, 40), 11.3
    whole = scale_for_size(log_resp, np.ones(40), size)
    inside = log_resp[5:20]
    edge = inside.min() - 0.01
    rest = np.exp(log_resp[20:] - edge).sum()
    part = scale_for_size(inside, np.ones(15), size, above=5.0, rest=rest, edge=edge)
    assert part == pytest.approx(whole)


def test_no_row_inside_leaves_the_edge_as_pivot():
    pivot, log_share = scale_for_size(np.empty(0), np.empty(0), 3.0, above=1.0, rest=4.0, edge=-7.0)
    assert (pivot, log_share) == (-7.0, pytest.approx(np.log(0.5)))


def test_memberships_by_hand():
    scales = SplitScales(np.array([-3.0]), np.array([-0.5]))
    np.testing.assert_allclose(
        capped_log_memberships(np.array([[-4.0, -1.0]]), scales), [[-1.5, 0.0]]
    )


@pytest.mark.parametrize("run", [bin_masses, bin_masses.python], ids=["compiled", "python"])
def test_bins_of_a_hand_made_stratum(run):
    # bins [-2, -1) and [-1, 0): below lies -3, inside -1.5 and -0.5 (weight 2), above 0.25
    log_resp = np.array([[-3.0, -1.5, -0.5, 0.25]])
    weights = np.array([1.0, 1.0, 2.0, 1.0])
    counts, masses = run(log_resp, weights, np.array([-2.0]), np.array([1.0]), 2)
    np.testing.assert_allclose(counts, [[1, 1, 2, 1]])
    np.testing.assert_allclose(masses, [[np.exp(-1), np.exp(-0.5), 2 * np.exp(-0.5), 0]])
    sizes, rests = sizes_at_edges(counts, masses, np.array([1.0]))
    direct = [(weights * np.minimum(1, np.exp(log_resp[0] - edge))).sum() for edge in (-2, -1, 0)]
    np.testing.assert_allclose(sizes[0], direct)
    np.testing.assert_allclose(rests[0], sizes[0] - [4, 3, 1])


def test_a_stratum_of_width_zero_is_left_out():
    counts, masses = bin_masses(np.zeros((1, 3)), np.ones(3), np.zeros(1), np.zeros(1), 4)
    assert counts.sum() == masses.sum() == 0


def test_nan_is_counted_below_all_bins():
    log_resp = np.array([[np.nan, -0.5, np.inf]])
    counts, _ = bin_masses(log_resp, np.ones(3), np.array([-1.0]), np.array([0.5]), 2)
    np.testing.assert_array_equal(counts, [[1, 0, 1, 1]])


def test_bins_beyond_a_chunk_equal_numpys_histogram():
    rng = np.random.default_rng(0)
    log_resp, weights = -rng.gamma(1.0, 2.0, size=(2, 700)), rng.gamma(1.0, size=700)
    lower, width = np.array([-4.0, -1.0]), np.array([0.25, 0.1])
    counts, masses = bin_masses(log_resp, weights, lower, width, 8)
    for j in range(2):
        edges = lower[j] + width[j] * np.arange(9)
        inner = np.histogram(log_resp[j], edges, weights=weights)[0]
        np.testing.assert_allclose(counts[j, 1:-1], inner)
        mass = np.histogram(log_resp[j], edges, weights=weights * np.exp(log_resp[j]))[0]
        np.testing.assert_allclose(masses[j, 1:-1], mass * np.exp(-edges[1:]))


@pytest.mark.parametrize("run", [rows_in_bins, rows_in_bins.python], ids=["compiled", "python"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_rows_of_a_bin_are_those_that_were_counted_in_it(run, dtype):
    rng = np.random.default_rng(1)
    log_resp = np.round(-rng.gamma(1.0, 2.0, size=(3, 400)), 2).astype(dtype)
    weights = rng.gamma(1.0, size=400)
    lower, width = np.array([-3.0, -4.0, -1.5]), np.array([0.01, 0.07, 0.5])
    counts, _ = bin_masses(log_resp, weights, lower, width, 4)
    for found in ([0, 1, 2], [3, 3, 0]):
        strata, offsets, own = run(log_resp, weights, lower, width, np.array(found))
        inside = counts[np.arange(3), np.array(found) + 1]
        np.testing.assert_allclose(np.bincount(strata, own, 3), inside)
        assert (np.floor(offsets * (1 / width[strata])) == np.array(found)[strata]).all()


def look(log_resp, weights, windows):
    shares = (np.exp(log_resp.astype(float)) * weights).astype(log_resp.dtype)
    weight, above, rest, inside, *rows = scan_windows(log_resp, shares, weights, *windows)
    return WindowSums(weight, above, rest, inside, Entries(*rows))


def found_in(windows, near, sizes):
    """Heights above the lower edges, and whether they are known to be there."""
    entries = sort_entries(*near.entries, len(sizes))
    sums = near.above, near.rest, windows.upper - windows.lower
    heights, inside = scales_in_windows(entries, sums, near.weight, sizes)
    return heights, inside & (np.diff(entries[0]) == near.inside)


def windows_around(log_resp, heights, radius):
    edges = (np.asarray(heights) + side * radius for side in (-1, 1))
    return ScaleWindows(*(edge.astype(log_resp.dtype).astype(float) for edge in edges))


@pytest.mark.parametrize("run", [scan_windows, scan_windows.python], ids=["compiled", "python"])
def test_a_window_by_hand(run):
    # the window [-2, -1) holds -1.5; below lies -3, above -1 (weight 2) and 0
    log_resp, weights = np.array([[-3.0, -1.5, -1.0, 0.0]]), np.array([1.0, 1.0, 2.0, 1.0])
    shares = np.exp(log_resp) * weights
    weight, above, rest, inside, *entries = run(
        log_resp, shares, weights, np.array([-2.0]), np.array([-1.0])
    )
    assert (weight, above, inside) == (5.0, [3.0], [1.0])
    np.testing.assert_allclose(rest, [np.exp(-1.0)])
    assert [field.tolist() for field in entries] == [[0], [0.5], [1.0]]


@pytest.mark.parametrize(
    "run", [scales_in_windows, scales_in_windows.python], ids=["compiled", "python"]
)
def test_a_scale_in_its_window_by_hand(run):
    # 2.5 to share: 8 and 4 are capped, 0.5 is left for 1 and 1: c = 1/4, relative to the edge at 1
    rows = np.array([0, 3]), np.log([8.0, 1.0, 4.0]), np.ones(3)
    sums = np.zeros(1), np.ones(1), np.array([np.log(10.0)])
    heights, settled = run(rows, sums, 4.0, np.array([2.5]))
    assert settled.all()
    np.testing.assert_allclose(heights, np.log(4.0))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize("seed", range(30))
def test_equals_the_papers_loop_where_the_scale_is_in_the_window(dtype, tolerance, seed):
    rng = np.random.default_rng(seed)
    log_resp = np.log(rng.gamma(0.3, size=(3, 900)) + 1e-12).astype(dtype)
    sizes = rng.uniform(1, 899, size=3)
    plain = [
        figure_1(np.exp(line.astype(float)), size)
        for line, size in zip(log_resp, sizes, strict=True)
    ]
    # the height is between the highest row that is not capped and the lowest that is
    heights = [line[tau < 1].max() for line, tau in zip(log_resp, plain, strict=True)]
    windows = windows_around(log_resp, heights, 0.3 + 0.1 * rng.uniform())
    heights, found = found_in(windows, look(log_resp, np.ones(900), windows), sizes)
    assert found.any()
    scales = SplitScales(windows.lower, -heights)
    tau = np.exp(capped_log_memberships(log_resp.astype(float), scales))
    for j in np.flatnonzero(found):
        np.testing.assert_allclose(tau[j], plain[j], atol=tolerance)


@given(st.integers(0, 10_000))
def test_no_scale_is_found_but_the_right_one(seed):
    # wherever the window is, however deep, with ties and weights
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 400))
    log_resp = -(10 ** rng.uniform(-1, 3)) * rng.uniform(size=(1, n_rows)) ** 2
    log_resp = np.round(log_resp, 1) if seed % 3 == 0 else log_resp
    weights = rng.gamma(1.0, size=n_rows) if seed % 2 else np.ones(n_rows)
    sizes = np.array([rng.uniform(0.01, 1)]) * weights.sum()
    windows = windows_around(log_resp, rng.choice(log_resp[0], 1), rng.uniform(0, 1))
    heights, found = found_in(windows, look(log_resp, weights, windows), sizes)
    if found[0]:
        tau = np.exp(capped_log_memberships(log_resp, SplitScales(windows.lower, -heights)))[0]
        assert tau @ weights == pytest.approx(sizes[0], rel=1e-9)
        np.testing.assert_allclose(
            tau, capped_memberships(log_resp[0], sizes[0], weights), atol=1e-9
        )


def test_blocks_add_up_to_all_rows():
    rng = np.random.default_rng(1)
    log_resp, weights = -rng.gamma(0.5, 20.0, size=(4, 900)), rng.gamma(2.0, size=900)
    windows, sizes = (
        windows_around(log_resp, np.full(4, -8.0), 4.0),
        weights.sum() * np.full(4, 0.5),
    )
    whole = look(log_resp, weights, windows)
    first, second = (
        look(log_resp[:, own], weights[own], windows) for own in np.split(np.arange(900), 2)
    )
    both = first + second
    assert isinstance(both, WindowSums)
    assert both.weight == pytest.approx(whole.weight)
    np.testing.assert_array_equal(both.inside, whole.inside)
    for some, all_ in zip(
        found_in(windows, both, sizes), found_in(windows, whole, sizes), strict=True
    ):
        np.testing.assert_allclose(some, all_, rtol=1e-12)


def test_many_rows_of_a_window_are_counted_but_not_listed():
    log_resp = np.full((2, MAX_LISTED_ROWS + 1), -1.0)
    log_resp[1] = -5.0
    windows = ScaleWindows(np.full(2, -2.0), np.zeros(2))
    near = look(log_resp, np.ones(MAX_LISTED_ROWS + 1), windows)
    assert near.inside.tolist() == [MAX_LISTED_ROWS + 1, 0]
    assert len(near.entries.strata) == 0
    assert not found_in(windows, near, np.full(2, 10.0))[1][0]


def test_a_stratum_of_all_rows_has_no_scale_in_a_window():
    log_resp, weights = np.log([[1.0, 2.0, 3.0]]), np.ones(3)
    windows = ScaleWindows(np.array([-1.0]), np.array([2.0]))
    _, found = found_in(windows, look(log_resp, weights, windows), np.array([3.0]))
    assert not found.any()


@pytest.mark.parametrize("depth", [-30.0, -60.0, -3000.0])
def test_masses_below_a_window_hold_at_any_depth(depth):
    rng = np.random.default_rng(2)
    log_resp = depth - rng.gamma(1.0, 5.0, size=(1, 300))
    windows = ScaleWindows(np.array([depth - 1.0]), np.array([depth - 0.5]))
    near = look(log_resp, np.ones(300), windows)
    below = log_resp[log_resp < depth - 1.0]
    np.testing.assert_allclose(near.rest, np.exp(below - depth + 1.0).sum(), rtol=1e-12)


def test_nan_is_neither_above_nor_below():
    log_resp = np.array([[np.nan, -1.0, -3.0]])
    near = look(log_resp, np.ones(3), ScaleWindows(np.array([-2.0]), np.zeros(1)))
    assert (near.inside, near.above) == ([1.0], [0.0])
    np.testing.assert_allclose(near.rest, np.exp(-1.0))


def in_python(log_density, log_scales):
    memberships, bounds = bound_row_sums.python(log_density, log_scales)
    log_sums = complete_memberships.python(log_density, log_scales, memberships, bounds)
    return memberships, log_sums


def walk(log_density, log_scales):
    """Take the strata of one row by falling r_j, until one is not worth its dual variable."""
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


RUNS = pytest.mark.parametrize("run", [optimal_memberships, in_python], ids=["compiled", "python"])


def kkt_gap(tau, log_density, log_scales):
    """How far each row is from its optimum, in logs: r_j against Z."""
    with np.errstate(divide="ignore"):
        log_z = np.logaddexp.reduce(np.log(tau) + log_density, axis=0)
    difference = log_scales[:, None] + log_density - log_z
    inside = (tau > 0) & (tau < 1)
    return np.where(inside, np.abs(difference), np.where(tau == 1, -difference, difference)).max()


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
    tau, log_sums = optimal_memberships(log_density, log_scales)
    with np.errstate(divide="ignore"):
        expected = np.logaddexp.reduce(np.log(tau) + log_density, axis=0)
    np.testing.assert_allclose(log_sums, expected, atol=1e-10)
    assert kkt_gap(tau, log_density, log_scales) < 1e-10
    assert (((tau > 0) & (tau < 1)).sum(axis=0) <= 1).all()
    assert (tau.max(axis=0) > 0).all()


@RUNS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0, 1e5])
@pytest.mark.parametrize("n_strata", [1, 2, 7, 30])
def test_equals_the_loop_over_all_strata(run, dtype, scale, n_strata):
    rng = np.random.default_rng(0)
    log_density = rng.normal(scale=scale, size=(n_strata, 150)).astype(dtype)
    log_scales = rng.normal(scale=3, size=n_strata) + rng.choice([-5, 0, 20, scale], n_strata)
    tau, log_sums = run(log_density, log_scales)
    assert tau.dtype == dtype
    for i in range(150):
        expected, log_z = walk(log_density[:, i].astype(float), log_scales)
        np.testing.assert_allclose(tau[:, i], expected, rtol=1e-6, atol=1e-6)
        assert log_sums[i] == pytest.approx(log_z, abs=1e-12, rel=1e-13)


@given(st.integers(0, 100_000))
def test_bounds_hold_and_certain_memberships_are_one(seed):
    rng = np.random.default_rng(seed)
    log_density = rng.normal(scale=10 ** rng.uniform(-2, 2), size=(6, 20))
    log_scales = rng.normal(scale=10 ** rng.uniform(-2, 2), size=6)
    sure, (base, high, low, undecided) = bound_row_sums(log_density, log_scales)
    tau, log_sums = optimal_memberships(log_density, log_scales)
    assert (base <= log_sums + 1e-12).all()
    assert (log_sums <= base + high).all()
    assert (np.log(np.maximum(low, 1e-300)) <= log_sums - base + 1e-12).all()
    assert (tau[sure == 1] == 1).all()
    np.testing.assert_array_equal(tau[:, undecided == 0], sure[:, undecided == 0])


def test_rows_infinitely_far_from_all_strata_get_none():
    log_density = np.array([[-np.inf, 0.0], [-np.inf, -np.inf]])
    tau, log_sums = optimal_memberships(log_density, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(tau, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(log_sums, [-np.inf, 0.0])


@pytest.mark.parametrize("seed", range(5))
def test_equals_a_general_optimiser(seed):
    rng = np.random.default_rng(seed)
    density, dual = rng.gamma(1.0, size=4), rng.gamma(1.0, size=4) + 0.1

    def loss(tau):
        return dual @ tau - np.log(density @ tau)

    def slope(tau):
        return dual - density / (density @ tau)

    best = minimize(
        loss,
        np.full(4, 0.5),
        jac=slope,
        bounds=[(0, 1)] * 4,
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    tau = optimal_memberships(np.log(density)[:, None], -np.log(dual))[0][:, 0]
    assert loss(tau) <= best.fun + 1e-9


@pytest.mark.parametrize(
    "run", [sizes_and_breakpoints, sizes_and_breakpoints.python], ids=["compiled", "python"]
)
def test_sizes_and_breakpoints_by_hand(run):
    # one stratum, c = 2: rows with p / Z of 2, 1/4 and 1/2 turn at c = 1/2, 4 and 2
    log_density, log_sums = np.log([[2.0, 0.25, 0.5]]), np.zeros(3)
    memberships, weights = np.array([[1.0, 0.0, 0.3]]), np.array([1.0, 2.0, 10.0])
    state = np.log([2.0]), np.array([2.0])
    sizes, fractions, breakpoints = run(log_density, memberships, log_sums, weights, *state, 4)
    assert (sizes, fractions) == (pytest.approx([4.0]), [10.0])
    # bins of width 0.5 around log 2: log 1/2 lies 1.39 below, log 4 lies 0.69 above
    np.testing.assert_array_equal(breakpoints, [[0, 1, 0, 0, 0, 2, 0, 0]])


@given(st.integers(0, 100_000))
def test_breakpoints_give_the_change_of_sizes(seed):
    # where scales are so high that fractions hardly happen, moving one past its bins moves the
    # size by the weight in them
    rng = np.random.default_rng(seed)
    log_density = rng.normal(scale=3, size=(1, 30)) - 30
    log_scales, radius, weights = np.array([30.0]), np.array([4.0]), rng.gamma(1.0, size=30)
    rival = np.zeros((1, 30))
    densities, scales = np.concatenate([log_density, rival]), np.append(log_scales, 0.0)

    def measure(shift):
        moved = scales + np.array([shift, 0.0])
        memberships, log_sums = optimal_memberships(densities, moved)
        state = weights, moved, np.append(radius, 1.0)
        return sizes_and_breakpoints(densities, memberships, log_sums, *state, 8)

    sizes, _, breakpoints = measure(0.0)
    assert measure(4.0)[0][0] == pytest.approx(sizes[0] + breakpoints[0, 8:].sum())
    assert measure(-4.0)[0][0] == pytest.approx(sizes[0] - breakpoints[0, :8].sum())
