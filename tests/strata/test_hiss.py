import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ensemblage.kernels import log_densities, make_gaussians
from ensemblage.strata import HISS

KINDS = ["spherical", "diag", "tied", "full"]


def blobs(seed, n=150, d=3):
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-1, 1, size=d)
    return (rng.normal(size=(n, d)) + 4 * rng.normal(size=(4, d))[rng.integers(4, size=n)]) * scale


def kkt_gap(hiss, X):
    """Largest violation, in logs, of the optimality conditions that transform promises."""
    tau = hiss.transform(X).T
    centre = hiss.means_.mean(axis=0)
    gaussians = make_gaussians(hiss.means_ - centre, hiss.covariances_, hiss.covariance_type)
    log_p = log_densities(X, centre, gaussians, hiss.covariance_type)
    with np.errstate(divide="ignore"):
        log_z = np.logaddexp.reduce(np.log(tau) + log_p, axis=0)
    gap = hiss.log_scales_[:, None] + log_p - log_z
    inside = (tau > 0) & (tau < 1)
    return np.where(inside, np.abs(gap), np.where(tau == 1, -gap, gap)).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_objective_never_falls_and_sizes_hold(kind, seed):
    X = blobs(seed)
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
    hiss = HISS(5, 0.3, covariance_type=kind, random_state=0).fit(blobs(0))
    assert kkt_gap(hiss, blobs(1)) < 1e-10


def test_separate_groups_become_strata():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [50.0], [100.0]], 30, axis=0) + rng.normal(size=(90, 1))
    hiss = HISS(3, 1 / 3, random_state=0).fit(X)
    found = hiss.memberships_.round(6).reshape(3, 30, 3).mean(axis=1)
    np.testing.assert_array_equal(np.sort(found, axis=1), [[0, 0, 1]] * 3)
    np.testing.assert_allclose(np.sort(hiss.means_.ravel()), [0, 50, 100], atol=1)


def test_float32_rows_give_float32_memberships_of_the_right_size():
    X = blobs(3, n=20_000).astype(np.float32)
    hiss = HISS(5, 0.3, random_state=0).fit(X)
    assert hiss.memberships_.dtype == np.float32
    sizes = hiss.memberships_.sum(axis=0, dtype=np.float64)
    np.testing.assert_allclose(sizes, 6000, rtol=1e-6)
    assert hiss.transform(X[:5]).dtype == np.float32


def test_a_weight_of_two_is_a_row_twice():
    X = blobs(4, n=80)
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
    hiss = HISS(4, 0.4, init=init, random_state=0).fit(blobs(6))
    assert np.isfinite(hiss.means_).all()


def test_many_rows_start_from_a_sample():
    X = blobs(7, n=12_000)
    hiss = HISS(3, 0.3, random_state=0, tol=1e-2).fit(X)
    np.testing.assert_allclose(hiss.memberships_.sum(axis=0), 3600, rtol=1e-9)


def test_rows_without_weight_are_never_a_start():
    X = np.concatenate([np.full((50, 1), 1e6), blobs(8, n=50, d=1)])
    weights = np.repeat([0.0, 1.0], 50)
    for init in ("k-means++", "random"):
        hiss = HISS(3, 0.4, init=init, random_state=0).fit(X, sample_weight=weights)
        assert hiss.means_.max() < 1e5


def test_the_whole_of_the_rows_is_one_stratum():
    hiss = HISS(2, 1.0, random_state=0).fit(blobs(9))
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
    HISS(3, 0.4, random_state=0).set_callbacks(callbacks.ProgressBar()).fit(blobs(0))
    assert "HISS" in capsys.readouterr().out


def test_stopping_early_warns_and_says_what_to_try():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations.*Raise max_iter or tol"):
        hiss = HISS(4, 0.4, max_iter=1, random_state=0).fit(blobs(0))
    assert not hiss.converged_
    assert hiss.n_iter_ == 1


def test_names_of_strata_and_frames_out():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(blobs(0), columns=["a", "b", "c"])
    hiss = HISS(2, 0.4, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(hiss.transform(frame).columns) == ["hiss0", "hiss1"]
    assert list(hiss.feature_names_in_) == ["a", "b", "c"]


def test_log_affinity_is_the_log_density():
    from scipy.stats import multivariate_normal

    X = blobs(1)
    hiss = HISS(2, 0.5, covariance_type="full", random_state=0).fit(X)
    expected = [
        multivariate_normal(mean, covariance).logpdf(X)
        for mean, covariance in zip(hiss.means_, hiss.covariances_, strict=True)
    ]
    np.testing.assert_allclose(hiss.log_affinity(X), np.transpose(expected), rtol=1e-9)
