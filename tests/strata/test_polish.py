"""Exact prices: no row could do better, sizes hold, and the objective does not fall."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from ensemblage.blocks import MemoryBlocks
from ensemblage.kernels import make_gaussians
from ensemblage.strata import HISS
from ensemblage.strata._coinciding import SharedModel, find_groups
from ensemblage.strata._gaussian_start import StrataModel
from ensemblage.strata._polish import polished
from ensemblage.strata._price_search import find_prices

KINDS = ["spherical", "diag", "tied", "full"]


def blobs(seed, n=300, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 4 * rng.normal(size=(4, d))[rng.integers(4, size=n)]


def objective(hiss, X, weights=None):
    with np.errstate(divide="ignore"):
        rows = logsumexp(np.log(hiss.memberships_.astype(float)) + hiss.log_affinity(X), axis=1)
    return np.average(rows, weights=weights)


def check_polished(X, tolerance=1e-9, weights=None, **options):
    plain = HISS(polish=False, random_state=0, **options).fit(X, sample_weight=weights)
    hiss = HISS(random_state=0, **options).fit(X, sample_weight=weights)
    each = np.ones(len(X)) if weights is None else weights
    sizes = each @ hiss.memberships_.astype(float)
    np.testing.assert_allclose(sizes, each @ plain.memberships_.astype(float), rtol=tolerance)
    off = np.abs(hiss.transform(X) - hiss.memberships_) > 1e-6
    assert off.sum(axis=0).max() <= 1
    assert objective(hiss, X, weights) >= objective(plain, X, weights) - 1e-9
    assert hiss.objective_ == pytest.approx(objective(hiss, X, weights), rel=1e-6)
    np.testing.assert_array_equal(hiss.means_, plain.means_)
    return hiss.polished_


@pytest.mark.parametrize("size", [0.1, 0.4])
@pytest.mark.parametrize("name", ["glass", "vehicle", "yeast", "ecoli", "segment"])
def test_training_rows_have_what_transform_gives_them(paper_set, name, size):
    X, _ = paper_set(name)
    varying = np.ptp(X, axis=0) > 0
    assert check_polished(X[:, varying], n_strata=20, stratum_size=size)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_covariance_and_precision(kind, dtype):
    tolerance = 1e-9 if dtype == np.float64 else 1e-6
    X = blobs(0).astype(dtype)
    assert check_polished(X, tolerance, n_strata=6, stratum_size=0.25, covariance_type=kind)


def test_rows_with_weights():
    weights = np.random.default_rng(0).gamma(2.0, size=300)
    assert check_polished(blobs(1), weights=weights, n_strata=5, stratum_size=0.3)


def test_sizes_within_bounds_are_kept():
    assert check_polished(blobs(2), n_strata=5, stratum_size=(0.1, 0.5), total_size=1.2)


def test_several_blocks():
    assert check_polished(blobs(3, n=9000), n_strata=5, stratum_size=0.3, tol=1e-3)


def test_far_strata_have_prices_beyond_floats():
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(size=(30, 1)), rng.normal(size=(90, 1)) + 200])
    hiss = HISS(2, 0.5, random_state=0, variance_floor=1e-6).fit(X)
    assert hiss.log_scales_.max() > 300
    np.testing.assert_allclose(hiss.memberships_.sum(axis=0), 60, rtol=1e-12)


def test_strata_that_coincide_are_polished_as_one():
    # seven strata on three points: no price tells apart two strata that are the same
    X = np.repeat([[0.0], [1.0], [5.0]], [30, 20, 10], axis=0)
    options = {"n_strata": 7, "stratum_size": 0.3, "random_state": 0}
    plain, hiss = HISS(polish=False, **options).fit(X), HISS(**options).fit(X)
    assert len(np.unique(hiss.groups_)) == 3
    np.testing.assert_allclose(hiss.memberships_.sum(axis=0), 18, rtol=1e-9)
    assert objective(hiss, X) >= objective(plain, X) - 1e-9


def test_one_row_takes_the_fraction_where_no_price_makes_one():
    # two strata far from all rows: each takes whole rows, and one row to make up 2.5
    X = np.array([[-1.0], [0.0], [1.0], [2.0]])
    means = np.array([[-200.0], [200.0]])
    model = StrataModel(np.zeros(1), make_gaussians(means, np.ones((2, 1)), "diag"), "diag")
    shared = SharedModel(model, find_groups(model))
    source = MemoryBlocks(X, block_rows=2)
    start = np.array([19_000.0, 19_000.0])
    prices = find_prices(source, shared, start, np.array([2.5, 2.5]))
    memberships = np.concatenate([part for part, _ in source.map(polished, shared, prices)])
    np.testing.assert_allclose(memberships, [[1, 0], [1, 0.5], [0.5, 1], [0, 1]], atol=1e-9)
    assert len(prices.changes) == 2


@pytest.mark.parametrize("weighted", [False, True])
def test_each_stratum_takes_the_same_share_of_every_class(weighted):
    X = blobs(7)
    y = np.where(X[:, 0] > 2, "far", np.where(X[:, 1] > 0, "up", "down"))
    rng = np.random.default_rng(0)
    weights = rng.gamma(2.0, size=len(X)) if weighted else np.ones(len(X))
    plain = HISS(5, 0.3, random_state=0).fit(X, sample_weight=weights)
    balanced = HISS(5, 0.3, class_balance=True, random_state=0).fit(X, y, sample_weight=weights)
    for label in np.unique(y):
        own = y == label
        wanted = 0.3 * weights[own].sum()
        assert np.ptp(weights[own] @ plain.memberships_[own]) > 0.1 * wanted
        np.testing.assert_allclose(weights[own] @ balanced.memberships_[own], wanted, rtol=1e-9)
    assert balanced.objective_ == pytest.approx(objective(balanced, X, weights), rel=1e-9)
    assert balanced.objective_ <= plain.objective_
    np.testing.assert_array_equal(balanced.transform(X), plain.transform(X))


def test_balance_needs_classes():
    with pytest.raises(ValueError, match="class_balance=True requires y to be passed"):
        HISS(class_balance=True).fit(blobs(8))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        HISS(class_balance=True).fit(blobs(8), blobs(8)[:, 0])


def test_a_class_without_weight_changes_nothing():
    X = blobs(9)
    y = np.arange(len(X)) % 3
    weights = (y < 2).astype(float)
    fitted = HISS(3, 0.4, class_balance=True, random_state=0).fit(X, y, sample_weight=weights)
    assert np.isfinite(fitted.memberships_).all()
    np.testing.assert_allclose(weights @ fitted.memberships_, 0.4 * weights.sum(), rtol=1e-9)


def test_polishing_is_a_choice():
    with pytest.raises(ValueError, match="'polish' parameter of HISS must be"):
        HISS(polish="yes").fit(blobs(5))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_rows_leave_nothing_to_polish():
    hiss = HISS(3, 0.5).fit(np.ones((20, 2)))
    np.testing.assert_allclose(hiss.memberships_.sum(axis=0), 10)


def test_stopping_early_is_polished_too():
    with pytest.warns(ConvergenceWarning):
        hiss = HISS(4, 0.3, max_iter=2, random_state=0).fit(blobs(6))
    assert hiss.objective_ >= hiss.objective_path_[-1]


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
def test_any_covariance_of_strata_that_coincide(kind):
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
