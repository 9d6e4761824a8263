"""Strata that coincide are one group, and share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from ensemblage.kernels import make_gaussians
from ensemblage.strata import HISS
from ensemblage.strata._densities import Groups, SharedModel, StrataModel, divergences, find_groups

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


def two_clouds(distance, n=500, share=0.4, seed=0):
    rng = np.random.default_rng(seed)
    cut = int(share * n)
    return np.concatenate([rng.normal(size=(cut, 2)), rng.normal(size=(n - cut, 2)) + distance])


def check_sizes(X, weights, n_strata, size, **options):
    """Check that fitted and new memberships have the sizes; give the fit."""
    hiss = HISS(n_strata, size, random_state=0, **options).fit(X, sample_weight=weights)
    wanted = size * weights.sum()
    rounding = 1e-9 if X.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(weights @ hiss.memberships_.astype(float), wanted, rtol=rounding)
    off = weights @ hiss.transform(X).astype(float) - wanted
    assert np.abs(off).max() <= weights.max() * (1 + 1e-6)
    return hiss


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_strata", [3, 4, 6])
@pytest.mark.parametrize("distance", [30, 60, 1000, 20_000])
def test_more_strata_than_clouds(distance, n_strata, dtype, weighted):
    X = two_clouds(distance).astype(dtype)
    weights = np.random.default_rng(1).gamma(2.0, size=500) if weighted else np.ones(500)
    hiss = check_sizes(X, weights, n_strata, 0.25)
    assert hiss.polished_
    np.testing.assert_array_equal(np.unique(hiss.groups_), [0, 1])
    for group in (0, 1):
        own = hiss.memberships_[:, hiss.groups_ == group]
        np.testing.assert_array_equal(own, np.repeat(own[:, :1], own.shape[1], axis=1))
    # what sharing costs is a part of the divergence, and that falls with the fourth power
    cost = 1e-9 if distance >= 1000 else 1e-3
    cost += 0 if dtype == np.float64 else 1e-5
    assert hiss.objective_ >= hiss.objective_path_[-1] - cost


def test_twins_have_the_price_of_each():
    # a fraction means that the price of one more share is what it adds: c_j p_j = Z
    X = two_clouds(1000)
    hiss = HISS(4, 0.25, random_state=0).fit(X)
    log_density = hiss.log_affinity(X)
    with np.errstate(divide="ignore"):
        log_sums = np.logaddexp.reduce(np.log(hiss.memberships_) + log_density, axis=1)
    gap = hiss.log_scales_ + log_density - log_sums[:, None]
    inside = (hiss.memberships_ > 0) & (hiss.memberships_ < 1)
    assert inside.any(axis=0).all()
    np.testing.assert_allclose(gap[inside], 0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_any_covariance(kind):
    hiss = check_sizes(two_clouds(300), np.ones(500), 5, 0.2, covariance_type=kind)
    assert hiss.polished_
    assert len(np.unique(hiss.groups_)) == 2


def test_sizes_that_range_and_classes():
    X = two_clouds(300)
    y = np.arange(500) % 2
    ranging = HISS(4, (0.1, 0.4), total_size=0.9, random_state=0).fit(X)
    assert ranging.polished_
    assert ranging.memberships_.sum() == pytest.approx(450)
    balanced = HISS(4, 0.25, class_balance=True, random_state=0).fit(X, y)
    for label in (0, 1):
        np.testing.assert_allclose(balanced.memberships_[y == label].sum(axis=0), 62.5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_start_twice_is_the_same_stratum_twice(dtype):
    # nothing parts them: they see the same rows, bit for bit
    X = np.random.default_rng(2).normal(size=(200, 3)).astype(dtype)
    hiss = check_sizes(X, np.ones(200), 4, 0.3, init=X[[0, 1, 0, 2]])
    np.testing.assert_array_equal(hiss.groups_, [0, 1, 0, 2])
    np.testing.assert_array_equal(hiss.transform(X)[:, 0], hiss.transform(X)[:, 2])
    assert hiss.polished_
    assert hiss.objective_ >= hiss.objective_path_[-1] - 1e-6


def test_the_paper_shares_new_rows_too():
    X = two_clouds(2000)
    hiss = HISS(4, 0.25, polish=False, random_state=0).fit(X)
    assert not hiss.polished_
    np.testing.assert_allclose(hiss.transform(X).sum(axis=0), 125, rtol=1e-6)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    n_points=st.integers(1, 3),
    n_strata=st.integers(1, 6),
    size=st.floats(0.1, 1.0),
    seed=st.integers(0, 1000),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sizes_hold_however_many_strata_coincide(n_points, n_strata, size, seed):
    rng = np.random.default_rng(seed)
    X = 100.0 * rng.integers(n_points, size=(40, 1)) + 1e-3 * rng.normal(size=(40, 1))
    weights = rng.gamma(2.0, size=40)
    hiss = HISS(n_strata, size, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(weights @ hiss.memberships_, size * weights.sum(), rtol=1e-9)
    assert hiss.memberships_.min() >= 0
    assert hiss.memberships_.max() <= 1
