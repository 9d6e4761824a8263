from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.inner import Draws, add_cluster_sums, cluster_means, own_distances
from ensemblage.inner._kmeans_kernels import (
    VoteInputs,
    _add_rows,
    _bound,
    _count,
    _order_statistic,
    _squares,
    _vote_by_instance,
    add_exactly,
    agreeing_centers,
    agreeing_views,
    bounded_view_votes,
    center_drift,
    center_votes,
    cluster_sums,
    compare_distances,
    instance_votes,
    move_row,
    nearest_exactly,
    rounding_slack,
    two_product,
    two_sum,
    view_votes,
)
from reference.inner_kmeans import exactly, mean, vote

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


LABELS = np.array([0, 2, 0], np.int32)
CENTERS = np.array([[0.0, 0.0], [4.0, 4.0]])
VIEWS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
MASK = 2**64 - 1


def test_weighted_sums_and_means():
    found = cluster_sums(ROWS, np.array([1.0, 2.0, 3.0]), LABELS, 3)
    np.testing.assert_array_equal(found.sums, [[16, 20], [0, 0], [6, 8]])
    np.testing.assert_array_equal(found.totals, [4, 0, 2])
    np.testing.assert_array_equal(cluster_means(found), [[4, 5], [0, 0], [3, 4]])


def test_move_row_to_an_empty_cluster():
    found = cluster_sums(ROWS, np.array([1.0, 2.0, 3.0]), LABELS, 3)
    move_row(found, ROWS[2], 3.0, 0, 1)
    np.testing.assert_array_equal(cluster_means(found), [[1, 2], [5, 6], [3, 4]])
    np.testing.assert_array_equal(found.totals, [1, 3, 2])


def test_rounding_errors_are_kept():
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


def test_the_compiled_row_sums_equal_the_python_ones():
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


floats = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)


def test_rounding_errors_are_returned():
    assert two_sum(1.0, 2.0**-60) == (1.0, 2.0**-60)
    near_one = 1 + 2.0**-30  # its square is 1 + 2^-29 + 2^-60
    assert two_product(near_one, near_one) == (1 + 2.0**-29, 2.0**-60)


def test_an_expansion_is_exact():
    parts = np.zeros(64)
    n_parts = 0
    for value in (1.0, 2.0**-100, 3.0, -4.0):
        n_parts = add_exactly(parts, n_parts, value)
    assert parts[:n_parts].tolist() == [2.0**-100]


def test_equal_sums_in_another_order_are_equal():
    # .1, .2 and .3 away in one order, and in another: rounded sums of the squares differ
    row, one, other = np.zeros(3), np.array([0.1, 0.2, 0.3]), np.array([0.3, -0.1, 0.2])
    assert compare_distances(row, one, other, np.ones(3)) == 0


def test_a_difference_far_below_rounding_decides():
    # (1 + u)^2 + (1 - u)^2 = 2 + 2 u^2 against 1 + 1
    u = 2.0**-52
    row, one, other = np.zeros(2), np.array([1 + u, 1 - u]), np.ones(2)
    assert compare_distances(row, one, other, np.ones(2)) > 0
    assert compare_distances(row, other, one, np.ones(2)) < 0


def test_of_equal_centres_the_lowest_index_is_nearest():
    centers = np.array([[9.0, 0.0], [0.3, 0.1], [0.1, 0.3], [0.1, 0.2]])
    distances = np.array([81.0, 0.1, 0.1, 0.05])
    assert nearest_exactly(np.zeros(2), centers[:3], np.ones(2), distances[:3], 0.2) == 1
    assert nearest_exactly(np.zeros(2), centers, np.ones(2), distances, 0.2) == 3


@given(st.lists(st.tuples(floats, floats, floats, st.integers(0, 5)), min_size=1, max_size=6))
@settings(deadline=None, max_examples=200)
def test_the_sign_is_that_of_exact_arithmetic(columns):
    row, one, other, view = (np.array(each, float) for each in zip(*columns, strict=True))
    x, a, b = exactly(row, one, other)
    drawn = view.astype(int).astype(object)
    difference = int(drawn @ (x - a) ** 2) - int(drawn @ (x - b) ** 2)
    for kernel in (compare_distances, compare_distances.python):
        found = kernel(row, one, other, view)
        assert np.sign(found) == (difference > 0) - (difference < 0)


@given(st.lists(floats, max_size=30))
@settings(deadline=None)
def test_an_expansion_is_the_exact_sum(values):
    parts, n_parts = np.zeros(64), 0
    for value in values:
        n_parts = add_exactly(parts, n_parts, value)
    found = sum((Fraction(part) for part in parts[:n_parts].tolist()), Fraction(0))
    assert found == sum((Fraction(value) for value in values), Fraction(0))


def draw(seed, n=60, d=5, n_clusters=4, n_views=7, dtype=np.float64):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)).astype(dtype)
    views = rng.multinomial(3, np.full(d, 1 / d), size=n_views).astype(float)
    return rows, rows[:n_clusters].copy(), views


def test_views_vote_for_the_centre_that_is_near_in_their_own_features():
    # first feature: 3 is near 4; second: 1 is near 0; both: 9 + 1 = 10 against 1 + 9 = 10, a tie
    rows = np.array([[3.0, 1.0], [3.0, 1.5], [0.0, 0.0]])
    labels, counts = view_votes(rows, CENTERS, VIEWS)
    assert labels.tolist() == [0, 1, 0]
    assert counts.tolist() == [2, 2, 3]


def test_ties_go_to_the_incumbent_else_to_the_lowest_index():
    rows = np.array([[3.0, 1.0]] * 3)
    incumbents = np.array([1, 0, -1], np.int32)
    assert view_votes(rows, CENTERS, VIEWS[:2], incumbents)[0].tolist() == [1, 0, 0]
    assert view_votes(rows, CENTERS, VIEWS[:2])[0].tolist() == [0, 0, 0]


def test_views_with_centres_of_their_own_vote():
    view_centers = np.array([[[0.0, 0.0], [4.0, 4.0]], [[3.0, 0.0], [4.0, 4.0]]])
    rows = np.array([[3.0, 1.5], [0.0, 0.0], [4.0, 3.0]])
    labels, counts = center_votes(rows, view_centers)
    # the first row is nearer to the second centre in the first view only: a tie
    assert (labels.tolist(), counts.tolist()) == ([0, 0, 1], [1, 2, 2])
    assert center_votes(rows, view_centers, np.array([1, 1, -1], np.int32))[0].tolist() == [1, 0, 1]
    assert agreeing_centers(rows, view_centers, np.array([1, 1, 1], np.int32)).tolist() == [1, 0, 2]


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_equal_centres_of_all_views_are_one_view_of_all_features(seed, n_clusters, n_views):
    rows, centers, _ = draw(seed, 30, 4, n_clusters)
    labels, counts = center_votes(rows, np.stack([centers] * n_views))
    np.testing.assert_array_equal(labels, view_votes(rows, centers, np.ones((1, 4)))[0])
    assert set(counts.tolist()) == {n_views}


def test_agreeing_views_counts_votes_for_the_given_label():
    rows = np.array([[3.0, 1.5], [3.0, 1.5]])
    labels = np.array([0, 1], np.int32)
    assert agreeing_views(rows, CENTERS, VIEWS, labels).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(10))
def test_equals_the_papers_loop(seed, dtype):
    rows, centers, views = draw(seed, dtype=dtype)
    incumbents = np.random.default_rng(seed).integers(-1, 4, len(rows)).astype(np.int32)
    labels, counts = view_votes(rows, centers, views, incumbents)
    for row, label, count, incumbent in zip(rows, labels, counts, incumbents, strict=True):
        expected, tally = vote(row, centers, views, incumbent)
        assert (label, count) == (expected, tally[expected])


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 9), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_rows_are_assigned_independently(seed, n_clusters, n_views, n):
    rows, centers, views = draw(seed, n + n_clusters, 5, n_clusters, n_views)
    labels, counts = view_votes(rows, centers, views)
    alone = [view_votes(row[None], centers, views) for row in rows]
    assert labels.tolist() == [int(one[0][0]) for one in alone]
    assert counts.min() * n_clusters >= n_views
    assert counts.max() <= n_views


@given(st.integers(0, 10_000), st.floats(0.0, 1.0), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=60, deadline=None)
def test_a_skipped_row_would_have_kept_its_label(seed, scale, dtype):
    rows, centers, views = draw(seed, dtype=dtype)
    fresh = np.full(len(rows), -1, np.int32), np.zeros(len(rows))
    labels, bounds, n_evaluated = bounded_view_votes(rows, centers, views, *fresh)
    assert n_evaluated == len(rows)
    rng = np.random.default_rng(seed + 1)
    moved = (centers + scale * rng.normal(size=centers.shape)).astype(dtype)
    bounds = bounds - center_drift(centers, moved, views)[labels]
    after, _, n_evaluated = bounded_view_votes(rows, moved, views, labels, bounds)
    assert n_evaluated == np.count_nonzero(bounds <= 0)
    np.testing.assert_array_equal(after, view_votes(rows, moved, views, labels)[0])


def test_a_drift_is_the_own_move_and_the_largest_other():
    before, after = np.zeros((3, 2)), np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    drift = center_drift(before, after, np.array([[1.0, 4.0]]))
    np.testing.assert_allclose(drift, [3 + 2, 2 + 3, 0 + 3])
    np.testing.assert_allclose(center_drift(before[:1], after[:1], np.ones((1, 2))), [3])


@given(st.integers(0, 10_000), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=40, deadline=None)
def test_equal_distances_are_equal_and_go_to_the_lowest_index(seed, dtype):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(12, 4)).astype(dtype)
    centers = (rng.integers(-6, 7, size=(5, 4)) / 3).astype(dtype)
    views = rng.multinomial(3, np.full(4, 0.25), size=9).astype(float)
    labels, counts = view_votes(rows, centers, views)
    for row, label, count in zip(rows, labels, counts, strict=True):
        expected, tally = vote(row, centers, views, -1)
        assert (label, count) == (expected, tally[expected])


def test_the_compiled_kernels_equal_the_python_ones():
    rows, centers, views = draw(3)
    everything = np.arange(len(rows))
    results = []
    inputs = VoteInputs(rows, centers, views, rounding_slack(rows, rows.shape[1]))
    for squares_of, count, bound in ((_squares.python, _count.python, _bound.python),
                                     (_squares, _count, _bound)):  # fmt: skip
        squares = np.zeros((5, 4, len(rows)))
        labels, counts = np.full(len(rows), -1, np.int32), np.zeros(len(rows), np.int32)
        bounds = np.zeros(len(rows))
        squares_of(rows, centers, everything, squares)
        distances = np.tensordot(views, squares, 1)
        count(inputs, distances, everything, labels, counts, True)
        bound(distances, inputs.slack, everything, labels, bounds)
        results.append((squares, labels, counts, bounds))
    for plain, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(plain, compiled, atol=1e-12)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=60), st.data())
def test_order_statistic_equals_sorting(values, data):
    rank = data.draw(st.integers(0, len(values) - 1))
    assert _order_statistic(np.array(values), rank) == sorted(values)[rank]
    assert _order_statistic.python(np.array(values), rank) == sorted(values)[rank]


def row_views(row, n_views, n_draws, replace, seed):
    """The row's own views, by SplitMix64 in Python integers."""
    state = seed
    for word in (row.astype(np.float64) + 0.0).view(np.uint64).tolist():
        state = ((state ^ word) * 0xBF58476D1CE4E5B9 + 0x9E3779B97F4A7C15) & MASK
        state ^= state >> 31
    views, order = np.zeros((n_views, len(row))), list(range(len(row)))
    for view in views:
        for draw_instance_votes in range(n_draws):
            state = (state + 0x9E3779B97F4A7C15) & MASK
            mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
            share = ((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53
            if replace:
                feature = int(share * len(row))
            else:
                swap = draw_instance_votes + int(share * (len(row) - draw_instance_votes))
                order[draw_instance_votes], order[swap] = order[swap], order[draw_instance_votes]
                feature = order[draw_instance_votes]
            view[feature] += 1
    return views


def draw_instance_votes(seed, n=40, d=6, n_clusters=3):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows, rows[:n_clusters].copy()


def test_one_full_view_without_replacement_is_the_nearest_centre():
    rows, centers = draw_instance_votes(0)
    labels, counts = instance_votes(rows, centers, Draws(1, 6, False, seed=1))
    nearest = ((rows[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(labels, nearest)
    assert set(counts.tolist()) == {1}


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_equals_the_papers_loop_on_the_rows_own_views(seed, replace):
    rows, centers = draw_instance_votes(seed)
    incumbents = np.random.default_rng(seed).integers(-1, 3, len(rows)).astype(np.int32)
    labels, counts = instance_votes(rows, centers, Draws(9, 3, replace, seed), incumbents)
    for row, label, count, incumbent in zip(rows, labels, counts, incumbents, strict=True):
        expected, tally = vote(row, centers, row_views(row, 9, 3, replace, seed), incumbent)
        assert (label, count) == (expected, tally[expected])


@pytest.mark.parametrize("seed", range(5))
def test_equal_distances_go_to_the_lowest_index(seed):
    rng = np.random.default_rng(seed)
    rows, centers = rng.integers(-2, 3, size=(40, 6)) / 10, rng.integers(-6, 7, size=(4, 6)) / 30
    labels, counts = instance_votes(rows, centers, Draws(9, 3, True, seed))
    for row, label, count in zip(rows, labels, counts, strict=True):
        expected, tally = vote(row, centers, row_views(row, 9, 3, True, seed), -1)
        assert (label, count) == (expected, tally[expected])


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_a_rows_views_do_not_depend_on_its_position(seed):
    rows, centers = draw_instance_votes(seed)
    order = np.random.default_rng(seed).permutation(len(rows))
    draws = Draws(5, 2, True, seed)
    labels = instance_votes(rows, centers, draws)[0]
    shuffled = instance_votes(rows[order], centers, draws)[0]
    np.testing.assert_array_equal(labels[order], shuffled)


def test_draws_are_uniform_over_the_features():
    rows = np.random.default_rng(0).normal(size=(300, 5))
    drawn = sum(row_views(row, 20, 2, replace=True, seed=3).sum(axis=0) for row in rows)
    np.testing.assert_allclose(drawn / drawn.sum(), 0.2, atol=0.01)


@pytest.mark.parametrize("replace", [True, False])
def test_the_compiled_instance_votes_equal_the_python_ones(replace):
    rows, centers = draw_instance_votes(4, n=8)
    results = []
    for kernel in (_vote_by_instance.python, _vote_by_instance):
        labels, counts = np.full(8, -1, np.int32), np.zeros(8, np.int32)
        with np.errstate(over="ignore"):
            inputs = VoteInputs(
                rows, centers, np.zeros((6, 1)), rounding_slack(rows, rows.shape[1])
            )
            kernel(inputs, Draws(4, 2, replace, np.uint64(7)), labels, counts)
        results.append((labels.tolist(), counts.tolist()))
    assert results[0] == results[1]
