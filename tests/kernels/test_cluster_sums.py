import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.kernels._cluster_sums import (
    _add_rows,
    add_cluster_sums,
    cluster_means,
    cluster_sums,
    move_row,
    own_distances,
)
from reference.inner_kmeans import mean

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
LABELS = np.array([0, 2, 0], np.int32)


def test_rows_count_by_their_weight():
    found = cluster_sums(ROWS, np.array([1.0, 2.0, 3.0]), LABELS, 3)
    np.testing.assert_array_equal(found.sums, [[16, 20], [0, 0], [6, 8]])
    np.testing.assert_array_equal(found.totals, [4, 0, 2])
    np.testing.assert_array_equal(cluster_means(found), [[4, 5], [0, 0], [3, 4]])


def test_a_row_that_moves_is_all_of_its_new_cluster():
    found = cluster_sums(ROWS, np.array([1.0, 2.0, 3.0]), LABELS, 3)
    move_row(found, ROWS[2], 3.0, 0, 1)
    np.testing.assert_array_equal(cluster_means(found), [[1, 2], [5, 6], [3, 4]])
    np.testing.assert_array_equal(found.totals, [1, 3, 2])


def test_what_rounding_loses_is_kept():
    rows = np.array([[1.0], [2.0**-60], [-1.0]])
    found = cluster_sums(rows, np.ones(3), np.zeros(3, np.int32), 1)
    assert found.sums[0, 0] + found.sums_lost[0, 0] == 2.0**-60


@given(st.integers(0, 1000))
@settings(deadline=None, max_examples=50)
def test_a_mean_is_rounded_once_whatever_the_blocks(seed):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(50, 20, size=(41, 3)), 1)
    labels, ones = np.zeros(41, np.int32), np.ones(41)
    first, rest = (cluster_sums(rows[part], ones[part], labels[part], 1)
                   for part in (slice(17), slice(17, None)))  # fmt: skip
    whole = cluster_means(cluster_sums(rows, ones, labels, 1))[0]
    assert whole.tolist() == mean(rows)
    assert cluster_means(add_cluster_sums(first, rest))[0].tolist() == mean(rows)


@given(st.integers(0, 1000), st.floats(-1e6, 1e6))
@settings(deadline=None, max_examples=50)
def test_the_weighted_mean_of_equal_values_is_that_value(seed, value):
    weights = np.random.default_rng(seed).random(20) + 0.01
    found = cluster_sums(np.full((20, 1), value), weights, np.zeros(20, np.int32), 1)
    assert cluster_means(found)[0, 0] == value


def test_the_plain_function_gives_what_the_compiled_one_gives():
    results = []
    for kernel in (_add_rows.python, _add_rows):
        sums, lost = np.zeros((3, 3)), np.zeros((3, 3))
        kernel(ROWS / 3, np.array([0.1, 0.2, 0.3]), LABELS, sums, lost)
        results.append((sums, lost))
    np.testing.assert_array_equal(*results)


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
    sums, _, totals, _ = cluster_sums(rows, weights, labels, n_clusters)
    np.testing.assert_allclose(sums.sum(axis=0), weights @ rows, atol=1e-5)
    np.testing.assert_allclose(totals.sum(), weights.sum())
