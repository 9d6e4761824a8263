import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs

from ensemblage.inner import InnerKMeans
from ensemblage.inner._kmeans_stream import step_towards
from ensemblage.kernels import cluster_sums

CENTERS = np.array([[0.0, 0.0], [8.0, 0.0], [20.0, 20.0]])


def test_a_step_by_hand():
    rows = np.array([[1.0, 0.0], [3.0, 0.0], [8.0, 6.0]])
    labels = np.array([0, 0, 1], np.int32)
    sums = cluster_sums(rows, np.array([1.0, 3.0, 1.0]), labels, 3)
    moved, weights = step_towards(CENTERS, np.array([4.0, 2.0, 0.0]), sums)
    # four of eight towards 2.5, one of three towards (8, 6); nobody near the third
    np.testing.assert_allclose(moved, [[1.25, 0.0], [8.0, 2.0], [20.0, 20.0]])
    assert weights.tolist() == [8.0, 3.0, 0.0]


@given(st.integers(1, 29), st.integers(0, 100))
def test_steps_end_at_the_mean_of_all_rows(cut, seed):
    rows = np.random.default_rng(seed).normal(size=(30, 2))
    center, weight = np.zeros((1, 2)), np.zeros(1)
    for part in (rows[:cut], rows[cut:]):
        sums = cluster_sums(part, np.ones(len(part)), np.zeros(len(part), np.int32), 1)
        center, weight = step_towards(center, weight, sums)
    np.testing.assert_allclose(center[0], rows.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("resample", ["fit", "iteration", "instance"])
def test_a_stream_finds_blobs_apart(resample):
    X, truth = make_blobs(2000, centers=4, cluster_std=0.2, random_state=3)
    model = InnerKMeans(4, n_views=9, resample=resample, random_state=0)
    again = clone(model)
    for start in range(0, 2000, 250):
        model.partial_fit(X[start : start + 250])
        again.partial_fit(X[start : start + 250])
    assert len(np.unique(np.c_[truth, model.predict(X)], axis=0)) == 4
    means = [X[model.predict(X) == k].mean(axis=0) for k in range(4)]
    np.testing.assert_allclose(model.cluster_centers_, means, atol=0.05)
    assert model.cluster_weights_.sum() == pytest.approx(2000)
    assert len(model.labels_) == 250
    np.testing.assert_array_equal(model.cluster_centers_, again.cluster_centers_)


def test_the_first_batch_is_a_fit_and_a_fit_may_go_on():
    X, _ = make_blobs(600, centers=3, random_state=0)
    first, whole = (InnerKMeans(3, random_state=0) for _ in range(2))
    np.testing.assert_array_equal(
        first.partial_fit(X).cluster_centers_, whole.fit(X).cluster_centers_
    )
    before = whole.n_iter_
    assert whole.partial_fit(X[:10]).n_iter_ == before + 1
    assert whole.fit(X).n_iter_ == before
    with pytest.raises(ValueError, match="n_clusters=3 is more than the n_samples=2"):
        InnerKMeans(3).partial_fit(X[:2])


def test_a_bad_batch_changes_nothing():
    X, _ = make_blobs(600, centers=3, random_state=0)
    model = InnerKMeans(3, random_state=0).fit(X)
    before = model.cluster_centers_.copy(), model.n_iter_
    with pytest.raises(ValueError, match=r"(?i)nan"):
        model.partial_fit(np.full((5, 2), np.nan))
    np.testing.assert_array_equal(model.cluster_centers_, before[0])
    assert model.n_iter_ == before[1]


def test_another_number_of_clusters_is_another_stream():
    X = np.arange(12.0)[:, None]
    model = InnerKMeans(2, random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="the stream began with 2 clusters: call fit"):
        model.set_params(n_clusters=3).partial_fit(X)
