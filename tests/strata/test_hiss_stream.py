"""HISS on a stream of batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from ensemblage.blocks import MemoryBlocks
from ensemblage.kernels import Moments, estimate, make_gaussians
from ensemblage.persistence import load, save
from ensemblage.strata import HISS
from ensemblage.strata._caps import SizedRules
from ensemblage.strata._gaussian_start import StrataModel
from ensemblage.strata._hiss_stream import (
    FORGETTING,
    Averages,
    StreamState,
    expect_batch,
    mean_variance,
    remembered,
    take_step,
)

KINDS = ["spherical", "diag", "tied", "full"]


def blobs(seed, n=600, d=3):
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
def test_gaussians_follow_from_what_is_remembered_of_them(kind, seed):
    rng = np.random.default_rng(seed)
    gaussians = some_gaussians(kind, rng)
    known = remembered(gaussians, rng.dirichlet([2, 2, 2]), kind)
    again = estimate(Moments(*known, 0.0, None), gaussians, 1e-9, kind)
    np.testing.assert_allclose(again.means, gaussians.means, atol=1e-12)
    np.testing.assert_allclose(again.covariances, gaussians.covariances, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_counts_each_row_once_and_holds_the_sizes(kind):
    X = blobs(0, d=2)
    hiss = HISS(3, 0.4, covariance_type=kind, random_state=0).fit(X)
    source, model = MemoryBlocks(X), hiss._model()
    total, _ = expect_batch(source, model, hiss._rules())
    assert total.mass.sum() == pytest.approx(len(X))
    each = Averages(*(field / len(X) for field in total[:3]))
    assert mean_variance(each, kind) == pytest.approx(X.var(axis=0).mean())
    np.testing.assert_allclose(each.first.sum(axis=0) + model.centre, X.mean(axis=0))


def test_an_average_by_hand():
    past, batch = (
        Averages(np.ones(1), np.array([[mean]]), np.array([[square]]))
        for mean, square in ((2.0, 8.0), (4.0, 20.0))
    )
    mean = past.towards(batch, 0.25)
    assert (mean.first[0, 0], mean.second[0, 0]) == (2.5, 11.0)
    assert mean_variance(mean, "diag") == 11.0 - 2.5**2


def test_a_step_is_the_share_of_the_batch_to_a_power():
    # one stratum of everything: the mean moves by the step, whatever the price
    gaussians = make_gaussians(np.zeros((1, 1)), np.ones((1, 1)), "diag")
    before = StreamState(StrataModel(np.zeros(1), gaussians, "diag"), np.zeros(1), np.array([30.0]))
    batch = MemoryBlocks(np.array([[3.0], [5.0]]), np.array([5.0, 5.0]))
    after = take_step(batch, before, SizedRules(1, 1.0), 1e-2)
    step = 0.25**FORGETTING
    assert after.model.gaussians.means[0, 0] == pytest.approx(4 * step)
    second = 1 + step * (17 - 1)
    assert after.model.gaussians.covariances[0, 0] == pytest.approx(second - (4 * step) ** 2)
    assert after.weights == pytest.approx([40.0])


def slow_responsibilities(X, model, size):
    """Memberships and responsibilities in turn, row by row, with caps by bisection."""
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
    X = blobs(3, n=80)
    hiss = HISS(3, 0.4, random_state=0).fit(blobs(0))
    model = hiss._model()
    total, log_scales = expect_batch(MemoryBlocks(X), model, hiss._rules())
    shares, slow_scales = slow_responsibilities(X, model, 0.4)
    np.testing.assert_allclose(total.mass, shares.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(total.first, shares @ (X - model.centre), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(log_scales, slow_scales, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_stream_ends_near_the_fit(kind, dtype):
    X = blobs(1, n=3000).astype(dtype)
    settings = HISS(3, 0.3, covariance_type=kind, random_state=0)
    whole, stream, again = clone(settings).fit(X), clone(settings), clone(settings)
    for start in range(0, len(X), 300):
        stream.partial_fit(X[start : start + 300])
        again.partial_fit(X[start : start + 300])
    order = np.argmin(((stream.means_[:, None] - whole.means_) ** 2).sum(axis=2), axis=0)
    np.testing.assert_allclose(stream.means_[order], whole.means_, atol=0.15)
    np.testing.assert_allclose(stream.transform(X).mean(axis=0), 0.3, rtol=0.15)
    np.testing.assert_array_equal(stream.means_, again.means_)
    assert stream.stratum_weights_.sum() == pytest.approx(3000)
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
    X = blobs(2)
    y = np.arange(600) % 2
    stream = HISS(3, 0.4, class_balance=True, random_state=0)
    stream.partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    shares = [stream.memberships_[y[300:] == code].mean(axis=0) for code in (0, 1)]
    np.testing.assert_allclose(shares[0], shares[1], rtol=1e-6)
    with pytest.raises(ValueError, match="requires y"):
        stream.partial_fit(X)


def test_the_first_batch_is_a_fit_and_a_fit_may_go_on():
    X = blobs(3)
    first, whole = (HISS(3, 0.4, random_state=0) for _ in range(2))
    np.testing.assert_array_equal(first.partial_fit(X).means_, whole.fit(X).means_)
    before, n_iter = whole.means_, whole.n_iter_
    assert whole.partial_fit(X[:50]).n_iter_ == n_iter + 1
    assert not whole.polished_
    np.testing.assert_array_equal(whole.fit(X).means_, before)
    assert whole.stratum_weights_.sum() == pytest.approx(600)
    with pytest.raises(ValueError, match="n_strata=3 is larger than n_samples=2"):
        HISS(3).partial_fit(X[:2])


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (np.full((5, 3), np.nan), "(?i)nan"),
        (np.full((5, 3), 1e200), "squares overflow"),
        (np.ones((5, 2)), "2 features, but HISS is expecting 3"),
    ],
)
def test_a_bad_batch_changes_nothing(batch, words):
    model = HISS(3, 0.4, random_state=0).fit(blobs(4))
    before = dict(vars(model))
    with pytest.raises(ValueError, match=words):
        model.partial_fit(batch)
    assert vars(model) == before


def test_a_batch_of_one_row_and_of_equal_rows():
    model = HISS(4, 0.3, random_state=0).fit(blobs(5))
    for batch in (np.zeros((1, 3)), np.full((40, 3), 2.0), np.full((2, 3), 1e9)):
        model.partial_fit(batch)
        assert np.isfinite(model.means_).all()
        assert np.isfinite(model.log_scales_).all()
        assert np.isfinite(model.transform(blobs(6))).all()


def test_a_weight_of_two_is_a_row_twice():
    X, batch = blobs(7), blobs(8, n=80)
    weights = np.random.default_rng(0).integers(1, 4, size=80)
    model = HISS(3, 0.4, random_state=0).fit(X)
    twin = clone(model).fit(X)
    model.partial_fit(batch, sample_weight=weights)
    twin.partial_fit(np.repeat(batch, weights, axis=0))
    np.testing.assert_allclose(model.means_, twin.means_, atol=1e-6)


def test_a_stream_goes_on_after_it_was_saved(tmp_path):
    X = blobs(9)
    model = HISS(3, 0.4, random_state=0).partial_fit(X[:300])
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").model
    np.testing.assert_array_equal(
        again.partial_fit(X[300:]).means_, model.partial_fit(X[300:]).means_
    )


def test_the_number_of_strata_stays():
    model = HISS(3, 0.4, random_state=0).fit(blobs(0)).set_params(n_strata=4)
    with pytest.raises(ValueError, match="n_strata=4, but the stream began with 3 strata"):
        model.partial_fit(blobs(1))
