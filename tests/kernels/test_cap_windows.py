import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.kernels import Caps, Near, Windows, caps_in_windows, log_memberships, rows_near_caps
from ensemblage.kernels._cap_windows import CROWD, _look_through, _lower_caps
from reference.capping import capped_memberships
from reference.figure1 import figure_1


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
