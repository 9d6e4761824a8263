import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.kernels import (
    Caps,
    Moments,
    Windows,
    centred_columns,
    estimate,
    expectation,
    log_densities,
    log_memberships,
    make_gaussians,
    moments,
)
from kernels.made_gaussians import KINDS, some_gaussians
from reference.mixture import covariance_of, responsibilities


def moments_of(rows, shares, kind):
    columns = centred_columns(rows, np.zeros(rows.shape[1]), kind)
    return Moments(*moments(columns, shares, kind), 0.0, None)


def expect(rows, weights, prior, gaussians, kind, *more):
    """Take a step with rows that are centred already."""
    return expectation(rows, weights, prior, np.zeros(rows.shape[1]), gaussians, kind, *more)


@pytest.mark.parametrize("kind", KINDS)
def test_responsibilities_equal_the_loops_of_equation_7(kind):
    rng = np.random.default_rng(1)
    rows, gaussians = rng.normal(size=(9, 2)), some_gaussians(rng, kind)
    tau = rng.uniform(0.05, 1, size=(9, 3))
    carry, total = expect(rows, np.ones(9), np.log(tau).T, gaussians, kind)
    slow, likelihood = responsibilities(rows, tau, gaussians.means, gaussians.covariances, kind)
    np.testing.assert_allclose(np.exp(carry).T, slow, rtol=1e-10)
    assert total.log_likelihood == pytest.approx(likelihood)
    np.testing.assert_allclose(total.mass, slow.sum(axis=0))


@given(st.integers(0, 10_000), st.sampled_from(KINDS))
def test_responsibilities_of_a_row_add_up_to_one(seed, kind):
    rng = np.random.default_rng(seed)
    rows = rng.normal(scale=10 ** rng.uniform(-3, 3), size=(6, 2))
    prior = rng.uniform(-1e10, 0, size=(3, 6))
    carry, total = expect(rows, np.ones(6), prior, some_gaussians(rng, kind), kind)
    np.testing.assert_allclose(np.exp(carry).sum(axis=0), 1)
    assert np.isfinite(carry).all()
    assert total.mass.sum() == pytest.approx(6)


@pytest.mark.parametrize("kind", KINDS)
def test_one_stratum_learns_mean_and_covariance(kind):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(50, 2)) @ np.array([[1.0, 0.3], [0.0, 2.0]])
    total = moments_of(rows, np.ones((1, 50)), kind)
    learned = estimate(total, some_gaussians(rng, kind, n_strata=1), 1e-6, kind)
    full = np.cov(rows.T, bias=True)
    expected = {
        "spherical": [np.trace(full) / 2],
        "diag": [np.diag(full)],
        "tied": full,
        "full": [full],
    }
    np.testing.assert_allclose(learned.means, [rows.mean(axis=0)])
    np.testing.assert_allclose(learned.covariances, expected[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_no_variance_falls_below_the_floor(kind):
    rows = np.zeros((5, 2))
    rng = np.random.default_rng(3)
    learned = estimate(
        moments_of(rows, np.ones((1, 5)), kind), some_gaussians(rng, kind, 1), 0.25, kind
    )
    matrix = covariance_of(learned.covariances, 0, kind, 2)
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix), 0.25)


@pytest.mark.parametrize("kind", ["spherical", "diag", "full"])
def test_a_stratum_without_mass_keeps_its_gaussian(kind):
    rng = np.random.default_rng(4)
    before = some_gaussians(rng, kind)
    shares = np.ones((3, 8)) / 2
    shares[1] = 0
    after = estimate(moments_of(rng.normal(size=(8, 2)), shares, kind), before, 1e-3, kind)
    np.testing.assert_array_equal(after.means[1], before.means[1])
    np.testing.assert_array_equal(after.covariances[1], before.covariances[1])
    assert not np.allclose(after.means[0], before.means[0])


ROWS = np.array([[-1.0], [0.0], [3.0]])
GAUSSIANS = make_gaussians(np.array([[0.0], [3.0]]), np.ones((2, 1)), "diag")


def test_a_row_between_two_equal_strata_is_shared_by_halves():
    carry, total = expect(np.array([[1.5]]), np.array([4.0]), np.zeros((2, 1)), GAUSSIANS, "diag")
    np.testing.assert_allclose(np.exp(carry), [[0.5], [0.5]])
    np.testing.assert_allclose(total.mass, [2.0, 2.0])
    assert total.near.weight == 4.0
    assert total.near.above.shape == (0,)


def test_caps_are_the_memberships_that_they_make_of_affinities():
    caps, weights = Caps(np.array([-1.0, -2.0]), np.array([0.5, 0.0])), np.ones(3)
    affinity = log_densities(ROWS, np.zeros(1), GAUSSIANS, "diag")
    windows = Windows(np.full(2, -99.0), np.full(2, 1.0))
    capped = expect(ROWS, weights, caps, GAUSSIANS, "diag", affinity, windows)
    plain = expect(ROWS, weights, log_memberships(affinity, caps), GAUSSIANS, "diag")
    np.testing.assert_allclose(capped[0], plain[0])
    np.testing.assert_allclose(capped[1].first, plain[1].first)
    np.testing.assert_array_equal(capped[1].near.inside, [3.0, 3.0])
