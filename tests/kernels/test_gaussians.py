import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.kernels import (
    N_BINS,
    Bins,
    Caps,
    Moments,
    centred_columns,
    estimate,
    expectation,
    log_densities,
    log_memberships,
    make_gaussians,
    moments,
    within_reach,
)
from ensemblage.kernels._gaussians import FEW_VALUES
from reference.mixture import covariance_of, log_density, responsibilities

KINDS = ["spherical", "diag", "tied", "full"]


def columns_of(rows, kind):
    """Columns of rows that are centred already."""
    return centred_columns(rows, np.zeros(rows.shape[1]), kind)


def moments_of(rows, shares, kind):
    return Moments(*moments(columns_of(rows, kind), shares, kind), 0.0, np.empty(0), np.empty(0))


def some_gaussians(rng, kind, n_strata=3, n_features=2):
    means = rng.normal(size=(n_strata, n_features))
    factors = rng.normal(size=(n_strata, n_features, n_features))
    full = factors @ factors.transpose(0, 2, 1) + 0.5 * np.eye(n_features)
    covariances = {
        "spherical": full[:, 0, 0],
        "diag": full.diagonal(axis1=1, axis2=2),
        "tied": full[0],
        "full": full,
    }[kind]
    return make_gaussians(means, covariances, kind)


def test_a_standard_normal_at_its_centre_and_one_off():
    gaussians = make_gaussians(np.zeros((1, 1)), np.ones((1, 1)), "diag")
    densities = log_densities(columns_of(np.array([[0.0], [1.0]]), "diag"), gaussians, "diag")
    np.testing.assert_allclose(
        densities, [[-0.5 * np.log(2 * np.pi), -0.5 * np.log(2 * np.pi) - 0.5]]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_densities_equal_the_formula(kind, dtype):
    rng = np.random.default_rng(0)
    rows, gaussians = rng.normal(size=(7, 2)).astype(dtype), some_gaussians(rng, kind)
    densities = log_densities(columns_of(rows, kind), gaussians, kind)
    slow = [
        [log_density(x, mean, covariance_of(gaussians.covariances, j, kind, 2)) for x in rows]
        for j, mean in enumerate(gaussians.means)
    ]
    assert densities.dtype == dtype
    np.testing.assert_allclose(densities, slow, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_responsibilities_equal_the_loops_of_equation_7(kind):
    rng = np.random.default_rng(1)
    rows, gaussians = rng.normal(size=(9, 2)), some_gaussians(rng, kind)
    tau = rng.uniform(0.05, 1, size=(9, 3))
    carry, total = expectation(columns_of(rows, kind), np.ones(9), np.log(tau).T, gaussians, kind)
    slow, likelihood = responsibilities(rows, tau, gaussians.means, gaussians.covariances, kind)
    np.testing.assert_allclose(np.exp(carry).T, slow, rtol=1e-10)
    assert total.log_likelihood == pytest.approx(likelihood)
    np.testing.assert_allclose(total.mass, slow.sum(axis=0))


@given(st.integers(0, 10_000), st.sampled_from(KINDS))
def test_responsibilities_of_a_row_add_up_to_one(seed, kind):
    rng = np.random.default_rng(seed)
    rows = rng.normal(scale=10 ** rng.uniform(-3, 3), size=(6, 2))
    prior = rng.uniform(-1e10, 0, size=(3, 6))
    carry, total = expectation(
        columns_of(rows, kind), np.ones(6), prior, some_gaussians(rng, kind), kind
    )
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


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_centred_and_squared_where_that_serves(kind):
    rows, centre = np.array([[1.0, 2.0], [4.0, 2.0]]), np.array([2.0, 0.0])
    plain, squares = [[-1.0, 2.0], [2.0, 2.0]], [[1.0, 4.0], [4.0, 4.0]]
    expected = np.hstack([plain, squares]) if kind in ("spherical", "diag") else plain
    np.testing.assert_array_equal(centred_columns(rows, centre, kind), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_centre_that_float32_has_not_is_subtracted_all_the_same(kind):
    rows, centre = np.float32([[1e6, 1e6 + 1]]), np.array([1e6 + 0.01, 1e6 - 0.01])
    columns = centred_columns(rows, centre, kind)
    assert columns.dtype == np.float32
    np.testing.assert_allclose(columns[:, :2], [[-0.01, 1.01]], rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_few_rows_and_many_have_the_same_columns(dtype, order):
    rng = np.random.default_rng(0)
    rows = np.asarray(3 + rng.normal(size=(FEW_VALUES // 2 + 1, 2)), dtype=dtype, order=order)
    centre = rows.mean(axis=0)
    expectation(COLUMNS, np.ones(3), np.zeros((2, 1)), GAUSSIANS, "diag")  # by Numba
    many, few = centred_columns(rows, centre, "diag"), centred_columns(rows[:-1], centre, "diag")
    assert "numba" in sys.modules
    assert few.dtype == many.dtype == dtype
    assert few.flags.c_contiguous
    assert many.flags.c_contiguous
    np.testing.assert_array_equal(many[:-1], few)


ROWS = np.array([[-1.0], [0.0], [3.0]])
GAUSSIANS = make_gaussians(np.array([[0.0], [3.0]]), np.ones((2, 1)), "diag")
COLUMNS = centred_columns(ROWS, np.zeros(1), "diag")


def test_a_row_between_two_equal_strata_is_shared_by_halves():
    middle = centred_columns(np.array([[1.5]]), np.zeros(1), "diag")
    carry, total = expectation(middle, np.array([4.0]), np.zeros((2, 1)), GAUSSIANS, "diag")
    np.testing.assert_allclose(np.exp(carry), [[0.5], [0.5]])
    np.testing.assert_allclose(total.mass, [2.0, 2.0])
    assert total.counts.shape == (0, N_BINS + 2)


def test_caps_are_the_memberships_that_they_make_of_affinities():
    caps, weights = Caps(np.array([-1.0, -2.0]), np.array([0.5, 0.0])), np.ones(3)
    affinity = log_densities(COLUMNS, GAUSSIANS, "diag")
    bins = Bins(np.full(2, -8.0), np.full(2, 8.0 / N_BINS))
    capped = expectation(COLUMNS, weights, caps, GAUSSIANS, "diag", affinity, bins)
    plain = expectation(COLUMNS, weights, log_memberships(affinity, caps), GAUSSIANS, "diag")
    np.testing.assert_allclose(capped[0], plain[0])
    np.testing.assert_allclose(capped[1].first, plain[1].first)
    np.testing.assert_allclose(capped[1].counts.sum(axis=1), [3.0, 3.0])


@pytest.mark.parametrize("kind", ["spherical", "diag", "tied", "full"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_out_of_reach_have_finite_densities(kind, dtype):
    shapes = {"spherical": np.full(2, 1e-3), "diag": np.full((2, 2), 1e-3),
              "tied": np.eye(2) * 1e-3, "full": np.stack([np.eye(2) * 1e-3] * 2)}  # fmt: skip
    means, centre = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.zeros(2)
    gaussians = make_gaussians(means, shapes[kind], kind)
    near = np.array([[0.5, 0.5]], dtype=dtype)
    assert within_reach(near, centre, gaussians, kind) is near
    far = np.array([[np.finfo(dtype).max, 0.0]], dtype=dtype)
    moved = within_reach(far, centre, gaussians, kind)
    densities = log_densities(centred_columns(moved, centre, kind), gaussians, kind)
    assert np.isfinite(densities).all()
    assert moved.dtype == dtype
