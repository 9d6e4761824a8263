import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.kernels import share_rows
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


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("seed", range(20))
def test_equals_the_plain_twin(dtype, tolerance, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 700))
    log_density, affinity, weights, *caps = random_pass(rng, 5, n_rows)
    log_density, affinity = log_density.astype(dtype), affinity.astype(dtype)
    prior = log_memberships(affinity.astype(float), *caps)
    plain = shares_of_rows(log_density.astype(float), prior, weights)
    carry, shares, likelihood = share_rows(log_density, affinity, weights, *caps)
    np.testing.assert_allclose(carry, plain[0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(shares, plain[1], atol=tolerance)
    assert likelihood == pytest.approx(plain[2], rel=tolerance)
    assert carry.dtype == shares.dtype == dtype


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
    caps = np.zeros(2), np.zeros(2)
    carry, shares, _ = share_rows(log_density, np.empty((2, 0)), np.ones(300), *caps)
    assert np.isfinite(np.delete(shares, 7, axis=1)).all()
    assert np.isfinite(np.delete(carry, 7, axis=1)).all()
