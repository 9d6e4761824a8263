import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.kernels import N_BINS, bin_masses, bin_shares, rows_in_bins, share_rows
from reference.expectation import log_memberships, shares_of_rows

BOTH = ["compiled", "python"]


def random_pass(rng, n_strata, n_rows):
    depth = 10 ** rng.uniform(-1, 8, size=(n_strata, 1))
    log_density = -rng.gamma(0.5, 20.0, size=(n_strata, n_rows))
    affinity = -depth * rng.uniform(size=(n_strata, n_rows)) ** 3
    pivots = affinity[np.arange(n_strata), rng.integers(n_rows, size=n_strata)]
    return (
        log_density,
        affinity,
        rng.gamma(2.0, size=n_rows),
        pivots,
        -rng.gamma(1.0, size=n_strata),
    )


@pytest.mark.parametrize("run", [share_rows, share_rows.python], ids=BOTH)
def test_two_rows_by_hand(run):
    # memberships (1, 1/2) and (1/2, 1); densities (1, 2) and (2, 2): shares 1:1 and 1:2
    log_density = np.log([[1.0, 2.0], [2.0, 2.0]])
    affinity = np.log([[4.0, 1.0], [2.0, 4.0]])
    caps = np.log([2.0, 4.0]), np.zeros(2)
    carry, shares, likelihood = run(log_density, affinity, np.array([1.0, 3.0]), *caps)
    np.testing.assert_allclose(np.exp(carry), [[1 / 2, 1 / 3], [1 / 2, 2 / 3]])
    np.testing.assert_allclose(shares, [[1 / 2, 1.0], [1 / 2, 2.0]])
    assert likelihood == pytest.approx(np.log(2.0) + 3 * np.log(3.0))


@pytest.mark.parametrize("run", [bin_shares, bin_shares.python], ids=BOTH)
def test_a_histogram_by_hand(run):
    # log 1/2 = -0.69 lies in the first bin [-1, -0.5), log 1/3 = -1.10 below all bins
    shares, weights = np.array([[1 / 2, 3 / 3]]), np.array([1.0, 3.0])
    counts, masses = run(
        np.log(shares / weights), shares, weights, np.array([-1.0]), np.full(1, 0.5)
    )
    assert counts.sum() == 4
    np.testing.assert_array_equal(counts[0, :2], [3, 1])
    np.testing.assert_allclose(masses[0, :2], [3 * np.exp(1) / 3, np.exp(0.5) / 2])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("seed", range(20))
def test_equals_the_plain_twin(dtype, tolerance, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 700))
    log_density, affinity, weights, *caps = random_pass(rng, 5, n_rows)
    log_density, affinity = log_density.astype(dtype), affinity.astype(dtype)
    lower, width = -(10 ** rng.uniform(-1, 3, size=5)), 10 ** rng.uniform(-4, 0, size=5)
    prior = log_memberships(affinity.astype(float), *caps)
    plain = shares_of_rows(log_density.astype(float), prior, weights)
    carry, shares, likelihood = share_rows(log_density, affinity, weights, *caps)
    np.testing.assert_allclose(carry, plain[0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(shares, plain[1], atol=tolerance)
    assert likelihood == pytest.approx(plain[2], rel=tolerance)
    assert carry.dtype == shares.dtype == dtype
    counts, masses = bin_shares(carry, shares, weights, lower, width)
    plain_counts, plain_masses = bin_masses(carry, weights, lower, width, N_BINS)
    # rows outside the bins are added up in another order
    np.testing.assert_array_equal(counts[:, 1:-1], plain_counts[:, 1:-1])
    np.testing.assert_allclose(counts, plain_counts, rtol=1e-12, atol=1e-12 * weights.sum())
    # masses are sums of shares, with the shares' precision
    np.testing.assert_allclose(masses, plain_masses, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("run", [bin_shares, bin_shares.python], ids=BOTH)
@pytest.mark.parametrize("lower", [-1.0, -50.0, -200.0])
def test_rows_of_weight_one_are_counted_exactly(run, lower):
    rng = np.random.default_rng(2)
    affinity = (lower + rng.normal(scale=30.0, size=(2, 600))).clip(max=0.0)
    bins = np.full(2, lower), np.full(2, 0.05)
    counts, masses = run(affinity, np.exp(affinity), np.ones(600), *bins)
    plain_counts, plain_masses = bin_masses(affinity, np.ones(600), *bins, N_BINS)
    np.testing.assert_array_equal(counts, plain_counts)
    np.testing.assert_allclose(masses, plain_masses, rtol=1e-12)


@given(st.integers(0, 10_000))
def test_each_row_is_shared_out_whole(seed):
    rng = np.random.default_rng(seed)
    log_density, affinity, weights, *caps = random_pass(rng, 4, 30)
    log_density *= 10 ** rng.uniform(-3, 7)
    carry, shares, _ = share_rows(log_density, affinity, weights, *caps)
    np.testing.assert_allclose(shares.sum(axis=0), weights, rtol=1e-12)
    np.testing.assert_allclose(np.exp(carry).sum(axis=0), 1, rtol=1e-12)
    assert np.isfinite(carry).all()


def test_responsibilities_take_the_place_of_densities_and_nothing_else_changes():
    rng = np.random.default_rng(0)
    log_density, *others = random_pass(rng, 3, 40)
    copies = [array.copy() for array in others]
    carry, _, _ = share_rows(log_density, *others)
    assert np.shares_memory(carry, log_density)
    for array, copy in zip(others, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_what_is_not_a_number_stays_in_its_row():
    log_density = np.zeros((2, 300))
    log_density[0, 7] = np.nan
    bins = np.full(2, -1.0), np.full(2, 0.01)
    caps = np.zeros(2), np.zeros(2)
    carry, shares, _ = share_rows(log_density, np.empty((2, 0)), np.ones(300), *caps)
    counts, _ = bin_shares(carry, shares, np.ones(300), *bins)
    np.testing.assert_array_equal(counts.sum(axis=1), 300)
    assert np.isfinite(np.delete(carry, 7, axis=1)).all()


@pytest.mark.parametrize("run", [rows_in_bins, rows_in_bins.python], ids=BOTH)
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
