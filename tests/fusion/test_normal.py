import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad

from ensemblage.fusion import (
    FusionContext,
    Normals,
    normal_log_density,
    normal_mixture,
    normal_product,
)
from ensemblage.fusion._normal import (
    as_normals,
    as_outputs,
    calibrated,
    product_loss,
    squared_residuals,
    variance_factors,
)
from reference import normal_fusion as literal

HAND = Normals(np.array([[0.0], [3.0]]), np.array([[1.0], [2.0]]))


def made(seed, n_members=3, n_rows=4):
    rng = np.random.default_rng(seed)
    shape = (n_members, n_rows)
    return Normals(rng.normal(size=shape), rng.uniform(0.2, 3.0, size=shape))


def test_a_product_by_hand():
    # precisions 1 * 1 and 4 / 2, so that the second has two of three parts
    mean, variance = normal_product(HAND, np.array([1.0, 4.0]))
    assert mean == pytest.approx([2.0])
    assert variance == pytest.approx([1 / 3])


def test_a_mixture_by_hand():
    mean, variance = normal_mixture(HAND, np.array([[2 / 3, 1 / 3]]))
    assert mean == pytest.approx([1.0])
    # variances 2/3 + 2/3, and means one and two away
    assert variance == pytest.approx([4 / 3 + 2 / 3 + 4 / 3])


def test_a_log_density_by_hand():
    one = Normals(np.array([1.0]), np.array([4.0]))
    assert normal_log_density(one, np.array([3.0])) == pytest.approx(-np.log(2) - 0.91894 - 0.5)


@pytest.mark.parametrize("seed", range(2))
def test_both_are_what_integration_gives(seed):
    members, rng = made(seed), np.random.default_rng(seed)
    importances, weights = rng.uniform(0.1, 2.0, 3), rng.dirichlet(np.ones(3), 4)
    np.testing.assert_allclose(
        np.column_stack(normal_product(members, importances)),
        literal.product_moments(members, importances), rtol=1e-8, atol=1e-10,
    )  # fmt: skip
    np.testing.assert_allclose(
        np.column_stack(normal_mixture(members, weights)),
        literal.mixture_moments(members, weights), rtol=1e-8, atol=1e-10,
    )  # fmt: skip


@given(st.integers(0, 10**6))
def test_without_importance_a_member_is_absent_and_equal_members_are_one(seed):
    members, importances = made(seed), np.array([0.7, 1.6, 0.0])
    few = Normals(*(each[:2] for each in members))
    for with_it, without in zip(
        normal_product(members, importances), normal_product(few, importances[:2]), strict=True
    ):
        np.testing.assert_allclose(with_it, without)
    same = Normals(*(np.repeat(each[:1], 3, axis=0) for each in members))
    for product, one in zip(normal_product(same, np.full(3, 1 / 3)), members, strict=True):
        np.testing.assert_allclose(product, one[0])
    for mixture, one in zip(normal_mixture(same, np.full((4, 3), 1 / 3)), members, strict=True):
        np.testing.assert_allclose(mixture, one[0])


@pytest.mark.parametrize("seed", range(5))
def test_the_slope_of_the_loss_is_closed(seed):
    rng = np.random.default_rng(seed)
    rows = (made(seed, n_rows=30), rng.normal(size=30), rng.uniform(0.5, 2.0, 30))
    difference = check_grad(
        lambda i: product_loss(*rows, i, 2.0)[0], lambda i: product_loss(*rows, i, 2.0)[1],
        rng.uniform(0.2, 1.5, 3),
    )  # fmt: skip
    assert difference < 1e-4


def test_the_loss_is_the_negative_log_likelihood_and_the_ridge():
    y, importances = np.array([1.0]), np.array([1.0, 4.0])
    expected = 0.5 * (np.log(2 * np.pi / 3) + 3 * (1 - 2) ** 2) + 2 * (0.5**2 + 3.5**2)
    assert product_loss(HAND, y, np.ones(1), importances, 2.0)[0] == pytest.approx(expected)


def test_factors_by_hand():
    squares = np.array([[1.0, 1.0, 7.0]])
    np.testing.assert_allclose(variance_factors(squares, np.ones(3), None), [[3.0]])
    # drawn to 3 by twenty rows: (2 + 60) / 22 and (7 + 60) / 21
    found = variance_factors(squares, np.ones(3), np.array([0, 0, 2]))
    np.testing.assert_allclose(found, [[62 / 22, 3.0, 67 / 21, 3.0]])


def test_rows_take_the_factor_of_their_stratum_and_new_strata_that_of_all():
    members = Normals(np.zeros((1, 3)), np.full((1, 3), 2.0))
    rows = FusionContext(strata=np.array([1, 0, 5]))
    own = calibrated(members, np.array([[10.0, 20.0, 30.0]]), rows)
    assert own.variance.tolist() == [[40.0, 20.0, 60.0]]


@given(st.integers(0, 10**6), st.floats(0.01, 100))
def test_variances_in_another_unit_give_the_same(seed, unit):
    rng = np.random.default_rng(seed)
    outputs, y, strata = rng.uniform(1, 2, (2, 30, 2)), rng.normal(size=30), rng.integers(0, 3, 30)
    found = []
    for factor in (1.0, unit):
        members = as_normals(outputs * [1.0, factor])
        factors = variance_factors(squared_residuals(members, y), np.ones(30), strata)
        found.append(as_outputs(calibrated(members, factors, FusionContext(strata=strata))))
    np.testing.assert_allclose(*found)
