import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.blocks import Block
from ensemblage.strata._gaussian_kernels import (
    MAX_SEPARATE_COLUMNS,
    MIN_COMPILED_VALUES,
    MembershipPrior,
    Moments,
    StrataModel,
    clip_far_rows,
    design_columns,
    e_step,
    m_step,
    make_gaussians,
    responsibilities,
    weighted_moments,
)
from ensemblage.strata._hiss_kernels import ScaleWindows, SplitScales, capped_log_memberships
from reference import mixture
from reference.expectation import log_memberships as plain_log_memberships
from reference.expectation import shares_of_rows
from strata.made_gaussians import KINDS, some_gaussians


def test_a_standard_normal_at_its_centre_and_one_off():
    gaussians = make_gaussians(np.zeros((1, 1)), np.ones((1, 1)), "diag")
    densities = StrataModel(np.array([2.0]), gaussians, "diag").log_densities(
        np.array([[2.0], [3.0]])
    )
    np.testing.assert_allclose(
        densities, [[-0.5 * np.log(2 * np.pi), -0.5 * np.log(2 * np.pi) - 0.5]]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_densities_equal_the_formula(kind, dtype):
    rng = np.random.default_rng(0)
    rows, gaussians = rng.normal(size=(7, 2)).astype(dtype), some_gaussians(rng, kind)
    densities = StrataModel(np.zeros(2), gaussians, kind).log_densities(rows)
    slow = [
        [
            mixture.log_density(x, mean, mixture.covariance_of(gaussians.covariances, j, kind, 2))
            for x in rows
        ]
        for j, mean in enumerate(gaussians.means)
    ]
    assert densities.dtype == dtype
    np.testing.assert_allclose(densities, slow, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("n_features", [3, MAX_SEPARATE_COLUMNS + 1])
def test_many_rows_have_the_densities_of_each(n_features):
    rng = np.random.default_rng(5)
    gaussians = some_gaussians(rng, "diag", n_strata=20, n_features=n_features)
    rows, centre = rng.normal(size=(MIN_COMPILED_VALUES, n_features)), rng.normal(size=n_features)
    together = StrataModel(centre, gaussians, "diag").log_densities(rows)
    alone = StrataModel(centre, gaussians, "diag").log_densities(rows[1234:1235])
    np.testing.assert_allclose(together[:, 1234:1235], alone, rtol=1e-12)
    assert together.flags.c_contiguous


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_centred_and_squared_where_that_serves(kind):
    rows, centre = np.array([[1.0, 2.0], [4.0, 2.0]]), np.array([2.0, 0.0])
    plain, squares = [[-1.0, 2.0], [2.0, 2.0]], [[1.0, 4.0], [4.0, 4.0]]
    if kind in ("spherical", "diag"):
        plain = np.vstack([[1.0, 1.0], plain, squares])
    np.testing.assert_array_equal(design_columns(rows, centre, kind), plain)


@pytest.mark.parametrize("kind", KINDS)
def test_a_centre_that_float32_cannot_represent_is_subtracted(kind):
    rows, centre = np.float32([[1e6, 1e6 + 1]]), np.array([1e6 + 0.01, 1e6 - 0.01])
    columns = design_columns(rows, centre, kind)
    assert columns.dtype == np.float32
    first = 1 if kind in ("spherical", "diag") else 0
    np.testing.assert_allclose(columns[first : first + 2], [[-0.01], [1.01]], rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_few_rows_and_many_have_the_same_columns(dtype, order):
    rng = np.random.default_rng(0)
    rows = np.asarray(
        3 + rng.normal(size=(MIN_COMPILED_VALUES // 2 + 1, 2)), dtype=dtype, order=order
    )
    centre = rows.mean(axis=0)
    pytest.importorskip("numba")
    assert "numba" in sys.modules
    many, few = design_columns(rows, centre, "diag"), design_columns(rows[:-1], centre, "diag")
    assert few.dtype == many.dtype == dtype
    assert few.flags.c_contiguous
    assert many.flags.c_contiguous
    np.testing.assert_array_equal(many[:, :-1], few)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_far_away_have_finite_densities(kind, dtype):
    shapes = {"spherical": np.full(2, 1e-3), "diag": np.full((2, 2), 1e-3),
              "tied": np.eye(2) * 1e-3, "full": np.stack([np.eye(2) * 1e-3] * 2)}  # fmt: skip
    means, centre = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.zeros(2)
    model = StrataModel(centre, make_gaussians(means, shapes[kind], kind), kind)
    near = np.array([[0.5, 0.5]], dtype=dtype)
    assert clip_far_rows(near, model) is near
    far = np.array([[np.finfo(dtype).max, 0.0]], dtype=dtype)
    moved = clip_far_rows(far, model)
    assert np.isfinite(model.log_densities(moved)).all()
    assert moved.dtype == dtype


def moments_of(rows, shares, kind):
    columns = design_columns(rows, np.zeros(rows.shape[1]), kind)
    return Moments(*weighted_moments(columns, shares, kind), 0.0, None)


def updated(total, gaussians, floor, kind):
    return m_step(total, StrataModel(np.zeros(2), gaussians, kind), floor).gaussians


def expect(rows, weights, prior, gaussians, kind, log_resp=None, windows=None):
    """Take a step with rows that are centred already."""
    model = StrataModel(np.zeros(rows.shape[1]), gaussians, kind)
    return e_step(Block(0, rows, weights, log_resp), model, MembershipPrior(prior, windows))


@pytest.mark.parametrize("kind", KINDS)
def test_responsibilities_equal_the_loops_of_equation_7(kind):
    rng = np.random.default_rng(1)
    rows, gaussians = rng.normal(size=(9, 2)), some_gaussians(rng, kind)
    tau = rng.uniform(0.05, 1, size=(9, 3))
    carry, total = expect(rows, np.ones(9), np.log(tau).T, gaussians, kind)
    slow, likelihood = mixture.responsibilities(
        rows, tau, gaussians.means, gaussians.covariances, kind
    )
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
    learned = updated(total, some_gaussians(rng, kind, n_strata=1), 1e-6, kind)
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
    learned = updated(
        moments_of(rows, np.ones((1, 5)), kind), some_gaussians(rng, kind, 1), 0.25, kind
    )
    matrix = mixture.covariance_of(learned.covariances, 0, kind, 2)
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix), 0.25)


@pytest.mark.parametrize("kind", ["spherical", "diag", "full"])
def test_a_stratum_without_mass_keeps_its_gaussian(kind):
    rng = np.random.default_rng(4)
    before = some_gaussians(rng, kind)
    shares = np.ones((3, 8)) / 2
    shares[1] = 0
    after = updated(moments_of(rng.normal(size=(8, 2)), shares, kind), before, 1e-3, kind)
    np.testing.assert_array_equal(after.means[1], before.means[1])
    np.testing.assert_array_equal(after.covariances[1], before.covariances[1])
    assert not np.allclose(after.means[0], before.means[0])


ROWS = np.array([[-1.0], [0.0], [3.0]])
GAUSSIANS = make_gaussians(np.array([[0.0], [3.0]]), np.ones((2, 1)), "diag")


def test_a_row_between_two_equal_strata_is_shared_by_halves():
    carry, total = expect(np.array([[1.5]]), np.array([4.0]), np.zeros((2, 1)), GAUSSIANS, "diag")
    np.testing.assert_allclose(np.exp(carry), [[0.5], [0.5]])
    np.testing.assert_allclose(total.mass, [2.0, 2.0])
    assert total.window_sums.weight == 4.0
    assert total.window_sums.above.shape == (0,)


def test_caps_are_the_memberships_that_they_make_of_affinities():
    caps, weights = SplitScales(np.array([-1.0, -2.0]), np.array([0.5, 0.0])), np.ones(3)
    log_resp = StrataModel(np.zeros(1), GAUSSIANS, "diag").log_densities(ROWS)
    windows = ScaleWindows(np.full(2, -99.0), np.full(2, 1.0))
    capped = expect(ROWS, weights, caps, GAUSSIANS, "diag", log_resp, windows)
    plain = expect(ROWS, weights, capped_log_memberships(log_resp, caps), GAUSSIANS, "diag")
    np.testing.assert_allclose(capped[0], plain[0])
    np.testing.assert_allclose(capped[1].first, plain[1].first)
    np.testing.assert_array_equal(capped[1].window_sums.inside, [3.0, 3.0])


BOTH = ["compiled", "python"]


def random_pass(rng, n_strata, n_rows):
    depth = 10 ** rng.uniform(-1, 8, size=(n_strata, 1))
    log_density = -rng.gamma(0.5, 20.0, size=(n_strata, n_rows))
    log_resp = -depth * rng.uniform(size=(n_strata, n_rows)) ** 3
    pivots = log_resp[np.arange(n_strata), rng.integers(n_rows, size=n_strata)]
    return (
        log_density,
        log_resp,
        rng.gamma(2.0, size=n_rows),
        pivots,
        -rng.gamma(1.0, size=n_strata),
    )


@pytest.mark.parametrize("run", [responsibilities, responsibilities.python], ids=BOTH)
def test_two_rows_by_hand(run):
    # memberships (1, 1/2) and (1/2, 1); densities (1, 2) and (2, 2): shares 1:1 and 1:2
    log_density = np.log([[1.0, 2.0], [2.0, 2.0]])
    log_resp = np.log([[4.0, 1.0], [2.0, 4.0]])
    caps = np.log([2.0, 4.0]), np.zeros(2)
    carry, shares, likelihood = run(log_density, log_resp, np.array([1.0, 3.0]), *caps)
    np.testing.assert_allclose(np.exp(carry), [[1 / 2, 1 / 3], [1 / 2, 2 / 3]])
    np.testing.assert_allclose(shares, [[1 / 2, 1.0], [1 / 2, 2.0]])
    assert likelihood == pytest.approx(np.log(2.0) + 3 * np.log(3.0))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("seed", range(20))
def test_equals_the_plain_twin(dtype, tolerance, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 700))
    log_density, log_resp, weights, *caps = random_pass(rng, 5, n_rows)
    log_density, log_resp = log_density.astype(dtype), log_resp.astype(dtype)
    prior = plain_log_memberships(log_resp.astype(float), *caps)
    plain = shares_of_rows(log_density.astype(float), prior, weights)
    carry, shares, likelihood = responsibilities(log_density, log_resp, weights, *caps)
    np.testing.assert_allclose(carry, plain[0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(shares, plain[1], atol=tolerance)
    assert likelihood == pytest.approx(plain[2], rel=tolerance)
    assert carry.dtype == shares.dtype == dtype


@given(st.integers(0, 10_000))
def test_responsibilities_of_each_row_sum_to_one(seed):
    rng = np.random.default_rng(seed)
    log_density, log_resp, weights, *caps = random_pass(rng, 4, 30)
    log_density *= 10 ** rng.uniform(-3, 7)
    carry, shares, _ = responsibilities(log_density, log_resp, weights, *caps)
    np.testing.assert_allclose(shares.sum(axis=0), weights, rtol=1e-12)
    np.testing.assert_allclose(np.exp(carry).sum(axis=0), 1, rtol=1e-12)
    assert np.isfinite(carry).all()


def test_responsibilities_overwrite_densities_only():
    rng = np.random.default_rng(0)
    log_density, *others = random_pass(rng, 3, 40)
    copies = [array.copy() for array in others]
    carry, _, _ = responsibilities(log_density, *others)
    assert np.shares_memory(carry, log_density)
    for array, copy in zip(others, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_nan_stays_in_its_row():
    log_density = np.zeros((2, 300))
    log_density[0, 7] = np.nan
    caps = np.zeros(2), np.zeros(2)
    carry, shares, _ = responsibilities(log_density, np.empty((2, 0)), np.ones(300), *caps)
    assert np.isfinite(np.delete(shares, 7, axis=1)).all()
    assert np.isfinite(np.delete(carry, 7, axis=1)).all()
