import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.kernels._cluster_sums import cluster_sums, own_distances

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
LABELS = np.array([0, 2, 0], np.int32)


def test_rows_count_by_their_weight():
    for kernel in (cluster_sums, cluster_sums.python):
        sums, totals = kernel(ROWS, np.array([1.0, 2.0, 3.0]), LABELS, 3)
        np.testing.assert_array_equal(sums, [[16, 20], [0, 0], [6, 8]])
        np.testing.assert_array_equal(totals, [4, 0, 2])


def test_distances_are_squared_and_to_the_own_centre():
    centers = np.array([[1.0, 2.0], [9.0, 9.0], [0.0, 0.0]])
    for kernel in (own_distances, own_distances.python):
        np.testing.assert_array_equal(kernel(ROWS, centers, LABELS), [0, 25, 32])


@given(st.integers(0, 1000), st.integers(1, 5))
@settings(deadline=None)
def test_the_clusters_add_up_to_the_whole(seed, n_clusters):
    rng = np.random.default_rng(seed)
    rows, weights = rng.normal(size=(30, 3)).astype(np.float32), rng.random(30)
    labels = rng.integers(n_clusters, size=30).astype(np.int32)
    sums, totals = cluster_sums(rows, weights, labels, n_clusters)
    np.testing.assert_allclose(sums.sum(axis=0), weights @ rows, atol=1e-5)
    np.testing.assert_allclose(totals.sum(), weights.sum())
