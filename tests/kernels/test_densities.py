import sys

import numpy as np
import pytest

from ensemblage.kernels import centred_columns, log_densities, make_gaussians, within_reach
from ensemblage.kernels._densities import FEW_FEATURES, FEW_VALUES
from kernels.made_gaussians import KINDS, some_gaussians
from reference.mixture import covariance_of, log_density


def test_a_standard_normal_at_its_centre_and_one_off():
    gaussians = make_gaussians(np.zeros((1, 1)), np.ones((1, 1)), "diag")
    densities = log_densities(np.array([[2.0], [3.0]]), np.array([2.0]), gaussians, "diag")
    np.testing.assert_allclose(
        densities, [[-0.5 * np.log(2 * np.pi), -0.5 * np.log(2 * np.pi) - 0.5]]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_densities_equal_the_formula(kind, dtype):
    rng = np.random.default_rng(0)
    rows, gaussians = rng.normal(size=(7, 2)).astype(dtype), some_gaussians(rng, kind)
    densities = log_densities(rows, np.zeros(2), gaussians, kind)
    slow = [
        [log_density(x, mean, covariance_of(gaussians.covariances, j, kind, 2)) for x in rows]
        for j, mean in enumerate(gaussians.means)
    ]
    assert densities.dtype == dtype
    np.testing.assert_allclose(densities, slow, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("n_features", [3, FEW_FEATURES + 1])
def test_many_rows_have_the_densities_of_each(n_features):
    rng = np.random.default_rng(5)
    gaussians = some_gaussians(rng, "diag", n_strata=20, n_features=n_features)
    rows, centre = rng.normal(size=(FEW_VALUES, n_features)), rng.normal(size=n_features)
    together = log_densities(rows, centre, gaussians, "diag")
    alone = log_densities(rows[1234:1235], centre, gaussians, "diag")
    np.testing.assert_allclose(together[:, 1234:1235], alone, rtol=1e-12)
    assert together.flags.c_contiguous


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_centred_and_squared_where_that_serves(kind):
    rows, centre = np.array([[1.0, 2.0], [4.0, 2.0]]), np.array([2.0, 0.0])
    plain, squares = [[-1.0, 2.0], [2.0, 2.0]], [[1.0, 4.0], [4.0, 4.0]]
    if kind in ("spherical", "diag"):
        plain = np.vstack([[1.0, 1.0], plain, squares])
    np.testing.assert_array_equal(centred_columns(rows, centre, kind), plain)


@pytest.mark.parametrize("kind", KINDS)
def test_a_centre_that_float32_has_not_is_subtracted_all_the_same(kind):
    rows, centre = np.float32([[1e6, 1e6 + 1]]), np.array([1e6 + 0.01, 1e6 - 0.01])
    columns = centred_columns(rows, centre, kind)
    assert columns.dtype == np.float32
    first = 1 if kind in ("spherical", "diag") else 0
    np.testing.assert_allclose(columns[first : first + 2], [[-0.01], [1.01]], rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_few_rows_and_many_have_the_same_columns(dtype, order):
    rng = np.random.default_rng(0)
    rows = np.asarray(3 + rng.normal(size=(FEW_VALUES // 2 + 1, 2)), dtype=dtype, order=order)
    centre = rows.mean(axis=0)
    pytest.importorskip("numba")
    assert "numba" in sys.modules
    many, few = centred_columns(rows, centre, "diag"), centred_columns(rows[:-1], centre, "diag")
    assert few.dtype == many.dtype == dtype
    assert few.flags.c_contiguous
    assert many.flags.c_contiguous
    np.testing.assert_array_equal(many[:, :-1], few)


@pytest.mark.parametrize("kind", KINDS)
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
    assert np.isfinite(log_densities(moved, centre, gaussians, kind)).all()
    assert moved.dtype == dtype
