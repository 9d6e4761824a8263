import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from ensemblage.kernels import (
    Caps,
    bin_masses,
    cap_for_size,
    log_memberships,
    rows_in_bins,
    sizes_at_edges,
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
