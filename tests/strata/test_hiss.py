import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ensemblage.blocks import MemoryBlocks
from ensemblage.persistence import load, save
from ensemblage.strata import HISS
from ensemblage.strata._gaussian_kernels import Moments, StrataModel, m_step, make_gaussians
from ensemblage.strata._hiss import STEP_EXPONENT, implied_moments, mean_variance
from ensemblage.strata._hiss_sizes import (
    MergedDensities,
    coincident_groups,
    exact_block,
    solve_dual,
)

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


def test_far_strata_have_dual_variables_beyond_floats():
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(size=(30, 1)), rng.normal(size=(90, 1)) + 200])
    hiss = HISS(2, 0.5, random_state=0, variance_floor=1e-6).fit(X)
    assert hiss.log_scales_.max() > 300
    np.testing.assert_allclose(hiss.memberships_.sum(axis=0), 60, rtol=1e-12)


def test_strata_that_coincide_are_polished_as_one():
    # seven strata on three points: no dual variable tells apart two strata that are the same
    X = np.repeat([[0.0], [1.0], [5.0]], [30, 20, 10], axis=0)
    options = {"n_strata": 7, "stratum_size": 0.3, "random_state": 0}
    plain, hiss = HISS(polish=False, **options).fit(X), HISS(**options).fit(X)
    assert len(np.unique(hiss.coincident_groups_)) == 3
    np.testing.assert_allclose(hiss.memberships_.sum(axis=0), 18, rtol=1e-9)
    assert objective(hiss, X) >= objective(plain, X) - 1e-9


def test_one_row_takes_the_fraction_where_no_dual_variable_makes_one():
    # two strata far from all rows: each takes whole rows, and one row to make up 2.5
    X = np.array([[-1.0], [0.0], [1.0], [2.0]])
    means = np.array([[-200.0], [200.0]])
    model = StrataModel(np.zeros(1), make_gaussians(means, np.ones((2, 1)), "diag"), "diag")
    densities = MergedDensities(model, coincident_groups(model))
    source = MemoryBlocks(X, block_rows=2)
    start = np.array([19_000.0, 19_000.0])
    found, adjustments = solve_dual(source, densities, start, np.array([2.5, 2.5]))
    parts = source.map(exact_block, densities, found, adjustments)
    memberships = np.concatenate([part for part, _ in parts])
    np.testing.assert_allclose(memberships, [[1, 0], [1, 0.5], [0.5, 1], [0, 1]], atol=1e-9)
    assert len(adjustments) == 2


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


@pytest.mark.parametrize("seed", range(6))
def test_sizes_of_transform_are_off_by_copies_of_one_row_at_most(seed):
    rng = np.random.default_rng(seed)
    copies = rng.integers(2, 25, size=rng.integers(3, 12))
    X = np.repeat(rng.normal(size=(len(copies), 3)), copies, axis=0)
    row = np.repeat(np.arange(len(copies)), copies)
    hiss = HISS(4, 0.4, random_state=0).fit(X)
    assert hiss.polished_
    np.testing.assert_allclose(hiss.memberships_.sum(axis=0), 0.4 * len(X))
    new = hiss.transform(X)
    assert (np.abs(new.sum(axis=0) - 0.4 * len(X)) < copies.max()).all()
    for own, other in zip(hiss.memberships_.T, new.T, strict=True):
        assert len(np.unique(row[np.abs(own - other) > 1e-9])) <= 1


def test_stopping_early_is_polished_too():
    with pytest.warns(ConvergenceWarning):
        hiss = HISS(4, 0.3, max_iter=2, random_state=0).fit(blobs(6))
    assert hiss.objective_ >= hiss.objective_path_[-1]


def two_clusters(distance, n=500, share=0.4, seed=0):
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
def test_more_strata_than_clusters(distance, n_strata, dtype, weighted):
    X = two_clusters(distance).astype(dtype)
    weights = np.random.default_rng(1).gamma(2.0, size=500) if weighted else np.ones(500)
    hiss = check_sizes(X, weights, n_strata, 0.25)
    assert hiss.polished_
    np.testing.assert_array_equal(np.unique(hiss.coincident_groups_), [0, 1])
    for group in (0, 1):
        own = hiss.memberships_[:, hiss.coincident_groups_ == group]
        np.testing.assert_array_equal(own, np.repeat(own[:, :1], own.shape[1], axis=1))
    # what sharing costs is a part of the divergence, and that falls with the fourth power
    cost = 1e-9 if distance >= 1000 else 1e-3
    cost += 0 if dtype == np.float64 else 1e-5
    assert hiss.objective_ >= hiss.objective_path_[-1] - cost


def test_coincident_strata_have_equal_dual_variables():
    # a fraction means that the dual variable is what one more share adds: c_j p_j = Z
    X = two_clusters(1000)
    hiss = HISS(4, 0.25, random_state=0).fit(X)
    log_density = hiss.log_affinity(X)
    with np.errstate(divide="ignore"):
        log_sums = np.logaddexp.reduce(np.log(hiss.memberships_) + log_density, axis=1)
    difference = hiss.log_scales_ + log_density - log_sums[:, None]
    inside = (hiss.memberships_ > 0) & (hiss.memberships_ < 1)
    assert inside.any(axis=0).all()
    np.testing.assert_allclose(difference[inside], 0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_any_covariance_of_strata_that_coincide(kind):
    hiss = check_sizes(two_clusters(300), np.ones(500), 5, 0.2, covariance_type=kind)
    assert hiss.polished_
    assert len(np.unique(hiss.coincident_groups_)) == 2


def test_sizes_that_range_and_classes():
    X = two_clusters(300)
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
    np.testing.assert_array_equal(hiss.coincident_groups_, [0, 1, 0, 2])
    np.testing.assert_array_equal(hiss.transform(X)[:, 0], hiss.transform(X)[:, 2])
    assert hiss.polished_
    assert hiss.objective_ >= hiss.objective_path_[-1] - 1e-6


def test_the_paper_shares_new_rows_too():
    X = two_clusters(2000)
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


def stream_rows(seed, n=600, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 5 * np.eye(3, d)[rng.integers(3, size=n)]


def some_gaussians(kind, rng, k=3, d=2):
    means = rng.normal(size=(k, d))
    root = rng.normal(size=(k, d, d))
    full = root @ np.swapaxes(root, 1, 2) + np.eye(d)
    covariances = {
        "spherical": full[:, 0, 0],
        "diag": np.diagonal(full, axis1=1, axis2=2).copy(),
        "tied": full[0],
        "full": full,
    }
    return make_gaussians(means, covariances[kind], kind)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 1000))
def test_gaussians_follow_from_their_implied_moments(kind, seed):
    rng = np.random.default_rng(seed)
    gaussians = some_gaussians(kind, rng)
    known = implied_moments(gaussians, rng.dirichlet([2, 2, 2]), kind)
    model = StrataModel(np.zeros(2), gaussians, kind)
    again = m_step(Moments(*known, 0.0, None), model, 1e-9).gaussians
    np.testing.assert_allclose(again.means, gaussians.means, atol=1e-12)
    np.testing.assert_allclose(again.covariances, gaussians.covariances, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_counts_each_row_once_and_holds_the_sizes(kind):
    X = stream_rows(0, d=2)
    hiss = HISS(3, 0.4, covariance_type=kind, random_state=0).fit(X)
    source, model = MemoryBlocks(X), hiss._model()
    total, _ = hiss._batch_statistics(source)
    assert total.mass.sum() == pytest.approx(len(X))
    first, second = total.first / len(X), total.second / len(X)
    assert mean_variance(first, second, kind) == pytest.approx(X.var(axis=0).mean())
    np.testing.assert_allclose(first.sum(axis=0) + model.centre, X.mean(axis=0))


def test_a_step_is_the_share_of_the_batch_to_a_power():
    # one stratum of everything: the mean moves by the step, whatever the dual variable
    hiss = HISS(1, 1.0)
    hiss.means_, hiss.covariances_ = np.zeros((1, 1)), np.ones((1, 1))
    hiss.log_scales_, hiss.effective_counts_ = np.zeros(1), np.array([30.0])
    hiss._online_em_step(MemoryBlocks(np.array([[3.0], [5.0]]), np.array([5.0, 5.0])))
    step = 0.25**STEP_EXPONENT
    assert hiss.means_[0, 0] == pytest.approx(4 * step)
    second = 1 + step * (17 - 1)
    assert mean_variance(np.array([[4 * step]]), np.array([[second]]), "diag") == pytest.approx(
        second - (4 * step) ** 2
    )
    assert hiss.covariances_[0, 0] == pytest.approx(second - (4 * step) ** 2)
    assert hiss.effective_counts_ == pytest.approx([40.0])


def slow_responsibilities(X, model, size):
    """Memberships and responsibilities in turn, row by row, with scales by bisection."""
    log_p = model.log_densities(X)
    tau, log_scales = np.full_like(log_p, size), np.empty(len(log_p))
    for _ in range(6):
        shares = tau * np.exp(log_p)
        shares /= shares.sum(axis=0)
        for j, own in enumerate(shares):
            low, high = 1e-9, 1e9
            for _ in range(200):
                scale = np.sqrt(low * high)
                enough = np.minimum(1, scale * own).sum() >= size * len(X)
                low, high = (low, scale) if enough else (scale, high)
            tau[j], log_scales[j] = np.minimum(1, scale * own), np.log(scale)
    return shares, log_scales


def test_a_batch_is_what_its_slow_twin_finds():
    X = stream_rows(3, n=80)
    hiss = HISS(3, 0.4, random_state=0).fit(stream_rows(0))
    model = hiss._model()
    total, log_scales = hiss._batch_statistics(MemoryBlocks(X))
    shares, slow_scales = slow_responsibilities(X, model, 0.4)
    np.testing.assert_allclose(total.mass, shares.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(total.first, shares @ (X - model.centre), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(log_scales, slow_scales, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_stream_ends_near_the_fit(kind, dtype):
    X = stream_rows(1, n=3000).astype(dtype)
    settings = HISS(3, 0.3, covariance_type=kind, random_state=0)
    whole, stream, again = clone(settings).fit(X), clone(settings), clone(settings)
    for start in range(0, len(X), 300):
        stream.partial_fit(X[start : start + 300])
        again.partial_fit(X[start : start + 300])
    order = np.argmin(((stream.means_[:, None] - whole.means_) ** 2).sum(axis=2), axis=0)
    np.testing.assert_allclose(stream.means_[order], whole.means_, atol=0.15)
    np.testing.assert_allclose(stream.transform(X).mean(axis=0), 0.3, rtol=0.15)
    np.testing.assert_array_equal(stream.means_, again.means_)
    assert stream.effective_counts_.sum() == pytest.approx(3000)
    assert stream.memberships_.shape == (300, 3)
    assert stream.memberships_.dtype == dtype
    np.testing.assert_array_equal(stream.memberships_, stream.transform(X[-300:]))
    assert len(stream.objective_path_) == stream.n_iter_ + 1


def test_sizes_may_range_in_a_stream():
    rng = np.random.default_rng(5)
    X = rng.permutation(
        np.concatenate([rng.normal(size=(1600, 2)), rng.normal(size=(400, 2)) + 20])
    )
    stream = HISS(3, (0.1, 0.6), total_size=1.0, random_state=0)
    for start in range(0, 2000, 200):
        stream.partial_fit(X[start : start + 200])
    sizes = stream.transform(X).mean(axis=0)
    assert sizes.sum() == pytest.approx(1.0, abs=0.1)
    assert sizes.min() > 0.08


def test_classes_may_be_balanced_in_a_stream():
    X = stream_rows(2)
    y = np.arange(600) % 2
    stream = HISS(3, 0.4, class_balance=True, random_state=0)
    stream.partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    shares = [stream.memberships_[y[300:] == code].mean(axis=0) for code in (0, 1)]
    np.testing.assert_allclose(shares[0], shares[1], rtol=1e-6)
    with pytest.raises(ValueError, match="requires y"):
        stream.partial_fit(X)


def test_the_first_batch_is_a_fit_and_a_fit_may_go_on():
    X = stream_rows(3)
    first, whole = (HISS(3, 0.4, random_state=0) for _ in range(2))
    np.testing.assert_array_equal(first.partial_fit(X).means_, whole.fit(X).means_)
    before, n_iter = whole.means_, whole.n_iter_
    assert whole.partial_fit(X[:50]).n_iter_ == n_iter + 1
    assert not whole.polished_
    np.testing.assert_array_equal(whole.fit(X).means_, before)
    assert whole.effective_counts_.sum() == pytest.approx(600)
    with pytest.raises(ValueError, match="n_strata=3 is larger than n_samples=2"):
        HISS(3).partial_fit(X[:2])


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (np.full((5, 3), np.nan), "(?i)nan"),
        (np.full((5, 3), 1e200), "squares overflow"),
        (np.ones((5, 2)), "2 features, but HISS is expecting 3"),
    ],
)
def test_a_bad_batch_changes_nothing(batch, message):
    model = HISS(3, 0.4, random_state=0).fit(stream_rows(4))
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.partial_fit(batch)
    assert vars(model) == before


def test_a_batch_of_one_row_and_of_equal_rows():
    model = HISS(4, 0.3, random_state=0).fit(stream_rows(5))
    for batch in (np.zeros((1, 3)), np.full((40, 3), 2.0), np.full((2, 3), 1e9)):
        model.partial_fit(batch)
        assert np.isfinite(model.means_).all()
        assert np.isfinite(model.log_scales_).all()
        assert np.isfinite(model.transform(stream_rows(6))).all()


def test_a_weight_of_two_is_a_row_twice():
    X, batch = stream_rows(7), stream_rows(8, n=80)
    weights = np.random.default_rng(0).integers(1, 4, size=80)
    model = HISS(3, 0.4, random_state=0).fit(X)
    twin = clone(model).fit(X)
    model.partial_fit(batch, sample_weight=weights)
    twin.partial_fit(np.repeat(batch, weights, axis=0))
    np.testing.assert_allclose(model.means_, twin.means_, atol=1e-6)


def test_a_stream_goes_on_after_it_was_saved(tmp_path):
    X = stream_rows(9)
    model = HISS(3, 0.4, random_state=0).partial_fit(X[:300])
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").model
    np.testing.assert_array_equal(
        again.partial_fit(X[300:]).means_, model.partial_fit(X[300:]).means_
    )


def test_the_number_of_strata_stays():
    model = HISS(3, 0.4, random_state=0).fit(stream_rows(0)).set_params(n_strata=4)
    with pytest.raises(ValueError, match=r"n_strata=4, but the first batch .* 3 strata"):
        model.partial_fit(stream_rows(1))


def blobs_hiss(seed, n=150, d=3):
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-1, 1, size=d)
    return (rng.normal(size=(n, d)) + 4 * rng.normal(size=(4, d))[rng.integers(4, size=n)]) * scale


def kkt_gap(hiss, X):
    """Largest violation, in logs, of the optimality conditions that transform promises."""
    tau = hiss.transform(X).T
    centre = hiss.means_.mean(axis=0)
    gaussians = make_gaussians(hiss.means_ - centre, hiss.covariances_, hiss.covariance_type)
    log_p = StrataModel(centre, gaussians, hiss.covariance_type).log_densities(X)
    with np.errstate(divide="ignore"):
        log_z = np.logaddexp.reduce(np.log(tau) + log_p, axis=0)
    difference = hiss.log_scales_[:, None] + log_p - log_z
    inside = (tau > 0) & (tau < 1)
    return np.where(inside, np.abs(difference), np.where(tau == 1, -difference, difference)).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_objective_never_falls_and_sizes_hold(kind, seed):
    X = blobs_hiss(seed)
    size = [0.1, 0.25, 0.4, 0.8][seed % 4]
    hiss = HISS(6, size, covariance_type=kind, tol=1e-7, max_iter=1000, random_state=seed).fit(X)
    assert np.diff(hiss.objective_path_).min() >= -1e-9
    np.testing.assert_allclose(hiss.memberships_.sum(axis=0), size * len(X), rtol=1e-9)
    assert hiss.memberships_.min() >= 0
    assert hiss.memberships_.max() <= 1
    assert len(hiss.objective_path_) == hiss.n_iter_ + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["glass", "vehicle", "ecoli"])
def test_objective_never_falls_on_the_papers_data(paper_set, name, kind):
    X, _ = paper_set(name)
    hiss = HISS(covariance_type=kind, random_state=0, max_iter=1000).fit(X)
    assert np.diff(hiss.objective_path_).min() >= -1e-9
    np.testing.assert_allclose(hiss.memberships_.sum(axis=0), 0.4 * len(X), rtol=1e-9)


@pytest.mark.parametrize("size", [0.1, 0.4])
@pytest.mark.parametrize("name", ["glass", "vehicle", "yeast"])
def test_new_memberships_are_optimal_and_close_to_the_fitted_ones(paper_set, name, size):
    X, _ = paper_set(name)
    hiss = HISS(20, size, polish=False, random_state=0).fit(X)
    assert kkt_gap(hiss, X) < 1e-10
    assert not hiss.polished_
    assert (np.abs(hiss.transform(X) - hiss.memberships_) < 1e-3).mean() >= 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_new_memberships_are_optimal_for_any_covariance(kind):
    hiss = HISS(5, 0.3, covariance_type=kind, random_state=0).fit(blobs_hiss(0))
    assert kkt_gap(hiss, blobs_hiss(1)) < 1e-10


def test_separate_groups_become_strata():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [50.0], [100.0]], 30, axis=0) + rng.normal(size=(90, 1))
    hiss = HISS(3, 1 / 3, random_state=0).fit(X)
    found = hiss.memberships_.round(6).reshape(3, 30, 3).mean(axis=1)
    np.testing.assert_array_equal(np.sort(found, axis=1), [[0, 0, 1]] * 3)
    np.testing.assert_allclose(np.sort(hiss.means_.ravel()), [0, 50, 100], atol=1)


def test_float32_rows_give_float32_memberships_of_the_right_size():
    X = blobs_hiss(3, n=20_000).astype(np.float32)
    hiss = HISS(5, 0.3, random_state=0).fit(X)
    assert hiss.memberships_.dtype == np.float32
    sizes = hiss.memberships_.sum(axis=0, dtype=np.float64)
    np.testing.assert_allclose(sizes, 6000, rtol=1e-6)
    assert hiss.transform(X[:5]).dtype == np.float32


def test_a_weight_of_two_is_a_row_twice_of_hiss():
    X = blobs_hiss(4, n=80)
    weights = np.random.default_rng(0).integers(0, 4, size=80)
    options = {"n_strata": 3, "stratum_size": 0.4, "init": X[:3], "tol": 1e-9, "max_iter": 2000}
    weighted = HISS(**options).fit(X, sample_weight=weights)
    repeated = HISS(**options).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-6)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-6)
    np.testing.assert_allclose(weights @ weighted.memberships_, 0.4 * weights.sum(), rtol=1e-9)


def test_sizes_may_range_between_bounds():
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(size=(160, 2)), rng.normal(size=(40, 2)) + 20])
    hiss = HISS(3, (0.1, 0.6), total_size=1.0, random_state=0).fit(X)
    sizes = hiss.memberships_.sum(axis=0) / 200
    assert sizes.sum() == pytest.approx(1.0)
    assert sizes.min() >= 0.1 - 1e-9
    assert sizes.max() <= 0.6 + 1e-9
    assert np.ptp(sizes) > 0.05
    assert np.diff(hiss.objective_path_).min() >= -1e-9


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_any_start_serves(init):
    hiss = HISS(4, 0.4, init=init, random_state=0).fit(blobs_hiss(6))
    assert np.isfinite(hiss.means_).all()


def test_many_rows_start_from_a_sample():
    X = blobs_hiss(7, n=12_000)
    hiss = HISS(3, 0.3, random_state=0, tol=1e-2).fit(X)
    np.testing.assert_allclose(hiss.memberships_.sum(axis=0), 3600, rtol=1e-9)


def test_rows_without_weight_are_never_a_start():
    X = np.concatenate([np.full((50, 1), 1e6), blobs_hiss(8, n=50, d=1)])
    weights = np.repeat([0.0, 1.0], 50)
    for init in ("k-means++", "random"):
        hiss = HISS(3, 0.4, init=init, random_state=0).fit(X, sample_weight=weights)
        assert hiss.means_.max() < 1e5


def test_the_whole_of_the_rows_is_one_stratum():
    hiss = HISS(2, 1.0, random_state=0).fit(blobs_hiss(9))
    np.testing.assert_allclose(hiss.memberships_, 1.0)
    assert np.isfinite(hiss.log_scales_).all()


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 0.7])
@pytest.mark.parametrize("n_rows", [49, 50, 1000])
def test_the_whole_of_the_rows_whatever_their_weight(weight, n_rows):
    # rounding leaves the sum of the weights below the size, or above
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    hiss = HISS(2, 1.0, random_state=0).fit(X, sample_weight=np.full(n_rows, weight))
    np.testing.assert_allclose(hiss.memberships_, 1.0)
    np.testing.assert_allclose(hiss.transform(X), 1.0)


def test_progress_reaches_a_callback(capsys, callbacks):
    HISS(3, 0.4, random_state=0).set_callbacks(callbacks.ProgressBar()).fit(blobs_hiss(0))
    assert "HISS" in capsys.readouterr().out


class StopsAtOnce:
    """Asks to end the fit after its first task."""

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        return True


@pytest.mark.usefixtures("callbacks")
def test_a_callback_may_end_the_loop():
    hiss = HISS(3, 0.4, random_state=0).set_callbacks(StopsAtOnce())
    with pytest.warns(ConvergenceWarning):
        hiss.fit(blobs_hiss(0))
    assert len(hiss.objective_path_) == 2
    assert not hiss.converged_


def test_stopping_early_warns_and_says_what_to_try():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations.*Increase max_iter or tol"):
        hiss = HISS(4, 0.4, max_iter=1, random_state=0).fit(blobs_hiss(0))
    assert not hiss.converged_
    assert hiss.n_iter_ == 1


def test_names_of_strata_and_frames_out():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(blobs_hiss(0), columns=["a", "b", "c"])
    hiss = HISS(2, 0.4, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(hiss.transform(frame).columns) == ["hiss0", "hiss1"]
    assert list(hiss.feature_names_in_) == ["a", "b", "c"]


def test_log_affinity_is_the_log_density():
    from scipy.stats import multivariate_normal

    X = blobs_hiss(1)
    hiss = HISS(2, 0.5, covariance_type="full", random_state=0).fit(X)
    expected = [
        multivariate_normal(mean, covariance).logpdf(X)
        for mean, covariance in zip(hiss.means_, hiss.covariances_, strict=True)
    ]
    np.testing.assert_allclose(hiss.log_affinity(X), np.transpose(expected), rtol=1e-9)
