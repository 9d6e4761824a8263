import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from ensemblage.consensus._stability_kernels import _count_pairs, plain_kmeans, resampled_pairs

ROWS = np.array([[0.0], [1.0], [10.0], [11.0]])


def test_centres_are_drawn_by_distance_and_rows_assigned_to_the_nearest():
    # the first number draws row 0; distances 0, 1, 100, 121: .5 of them draws row 3
    labels = np.empty(4, np.int64)
    assert plain_kmeans(ROWS, np.array([[0.0], [0.5]]), labels) == 4 * 0.25
    assert labels.tolist() == [0, 0, 1, 1]


def test_pairs_are_counted_where_both_rows_are_sampled():
    samples = np.array([[0, 1, 2], [0, 2, 3], [1, 2, 3]])
    pairs = np.array([[0, 1], [2, 3], [0, 3]])
    together, sampled = resampled_pairs(ROWS, samples, np.full((3, 1, 2, 1), 0.5), pairs)
    assert sampled.tolist() == [1, 2, 1]
    assert together.tolist() == [1, 2, 0]


@pytest.mark.parametrize("seed", range(5))
def test_equals_scikit_learn_from_the_same_initial_centres(seed):
    rng = np.random.default_rng(seed)
    rows, uniforms, labels = rng.normal(size=(60, 3)), rng.random((4, 2)), np.empty(60, np.int64)
    inertia = plain_kmeans(rows, uniforms, labels)
    centers = [rows[int(uniforms[0, 0] * 60)]]
    for shares in uniforms[1:]:
        near = np.min([((rows - each) ** 2).sum(axis=1) for each in centers], axis=0)
        places = np.searchsorted(np.cumsum(near), shares * near.sum(), side="right")
        costs = [np.minimum(near, ((rows - rows[i]) ** 2).sum(axis=1)).sum() for i in places]
        centers.append(rows[places[np.argmin(costs)]])
    lloyd = KMeans(4, init=np.array(centers), n_init=1, tol=0, max_iter=50).fit(rows)
    np.testing.assert_array_equal(labels, lloyd.labels_)
    assert inertia == pytest.approx(lloyd.inertia_)


@given(st.integers(0, 1000), st.integers(2, 5), st.integers(1, 3))
@settings(deadline=None, max_examples=30)
def test_a_pair_is_together_no_more_often_than_sampled(seed, n_clusters, n_starts):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, size=(12, 2)).astype(float)
    samples = np.array([rng.choice(12, 9, replace=False) for _ in range(4)])
    pairs = np.stack(np.triu_indices(12, 1), axis=1)
    uniforms = rng.random((4, n_starts, n_clusters, 2))
    together, sampled = resampled_pairs(rows, samples, uniforms, pairs)
    assert (together <= sampled).all()
    assert sampled.sum() == 4 * 9 * 8 // 2
    same = (rows[pairs[:, 0]] == rows[pairs[:, 1]]).all(axis=1)
    np.testing.assert_array_equal(together[same], sampled[same])


def test_the_compiled_kernel_equals_the_python_one():
    rng = np.random.default_rng(0)
    rows, uniforms = rng.normal(size=(10, 2)), rng.random((3, 2, 3, 2))
    samples = np.array([rng.choice(10, 8, replace=False) for _ in range(3)])
    pairs = np.stack(np.triu_indices(10, 1), axis=1)
    results = []
    for kernel in (_count_pairs.python, _count_pairs):
        counts = np.zeros((2, len(pairs)), np.int64)
        kernel(rows, samples, uniforms, pairs, *counts)
        results.append(counts)
    np.testing.assert_array_equal(*results)
