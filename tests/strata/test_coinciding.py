"""Strata that coincide: how far apart two are, and what a group of them comes to."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from ensemblage.kernels import make_gaussians
from ensemblage.strata._coinciding import Groups, SharedModel, divergences, find_groups
from ensemblage.strata._gaussian_start import StrataModel

KINDS = ["spherical", "diag", "tied", "full"]
COVARIANCES = {
    "spherical": np.array([2.0, 2.0, 0.5]),
    "diag": np.array([[2.0, 1.0], [2.0, 1.5], [0.5, 4.0]]),
    "tied": np.array([[2.0, 0.5], [0.5, 1.0]]),
    "full": np.array(
        [[[2.0, 0.5], [0.5, 1.0]], [[2.0, 0.5], [0.5, 1.5]], [[1.0, 0.0], [0.0, 3.0]]]
    ),
}


def model_of(kind, means=((0.0, 0.0), (0.5, -1.0), (3.0, 0.0))):
    means = np.array(means)
    return StrataModel(np.zeros(2), make_gaussians(means, COVARIANCES[kind], kind), kind)


def full_covariance(kind, j):
    given = COVARIANCES[kind] if kind == "tied" else COVARIANCES[kind][j]
    return given if np.ndim(given) == 2 else np.diag(np.broadcast_to(given, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_divergence_is_the_sum_of_both_kullback_leibler_divergences(kind):
    model = model_of(kind)
    one, other = (
        multivariate_normal(model.gaussians.means[j], full_covariance(kind, j)) for j in (0, 1)
    )
    grid = np.stack(np.meshgrid(*[np.linspace(-14, 14, 561)] * 2), axis=-1)
    p, q = one.logpdf(grid), other.logpdf(grid)
    by_sum = ((np.exp(p) - np.exp(q)) * (p - q)).sum() * (28 / 560) ** 2
    assert divergences(model, 0, [2, 1])[1] == pytest.approx(by_sum, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stratum_does_not_diverge_from_itself(kind):
    assert divergences(model_of(kind), 2, [2])[0] == pytest.approx(0, abs=1e-12)


def test_strata_that_differ_by_less_than_a_hair_are_one_group():
    means = [[0.0], [5.0], [1e-4], [5.0], [0.2]]
    gaussians = make_gaussians(np.array(means), np.ones((5, 1)), "diag")
    groups = find_groups(StrataModel(np.zeros(1), gaussians, "diag"))
    np.testing.assert_array_equal(groups.numbers, [0, 1, 0, 1, 2])


def test_a_group_is_a_stratum_with_the_sum_of_the_densities():
    gaussians = make_gaussians(np.array([[0.0], [5.0], [0.0]]), np.ones((3, 1)), "diag")
    model = StrataModel(np.zeros(1), gaussians, "diag")
    rows = np.array([[0.0], [1.0], [4.0]])
    own = np.exp(model.log_densities(rows))
    shared = np.exp(SharedModel(model, find_groups(model)).log_densities(rows))
    np.testing.assert_allclose(shared, [own[0] + own[2], own[1]])


def test_scales_and_sizes_of_groups_and_back():
    # twice the price of one member, so half its scale
    groups = Groups(np.array([0, 1, 0]))
    np.testing.assert_allclose(groups.join_sizes(np.array([10.0, 7.0, 20.0])), [15, 7])
    joined = groups.join_scales(np.log([6.0, 3.0, 6.0]))
    np.testing.assert_allclose(np.exp(joined), [3, 3])
    np.testing.assert_allclose(np.exp(groups.split_scales(joined)), [6, 3, 6])
    np.testing.assert_array_equal(groups.split_memberships(np.array([[0.5, 1.0]])), [[0.5, 1, 0.5]])


def test_strata_of_their_own_keep_every_bit():
    groups, values = Groups(np.arange(3)), np.array([0.1, 0.2, 0.3])
    for method in (groups.join_sizes, groups.join_scales, groups.split_scales):
        assert method(values) is values
    density = np.random.default_rng(0).normal(size=(3, 4))
    assert groups.join_densities(density) is density
