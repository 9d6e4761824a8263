import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.kernels._view_votes import (
    Ballot,
    _bound,
    _count,
    _ranked,
    _squares,
    agreeing_views,
    bounded_view_votes,
    center_drift,
    slack_of,
    view_votes,
)
from reference.inner_kmeans import vote

CENTERS = np.array([[0.0, 0.0], [4.0, 4.0]])
VIEWS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


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


def test_a_tie_of_votes_is_the_incumbents_else_the_lowest_index():
    rows = np.array([[3.0, 1.0]] * 3)
    incumbents = np.array([1, 0, -1], np.int32)
    assert view_votes(rows, CENTERS, VIEWS[:2], incumbents).labels.tolist() == [1, 0, 0]
    assert view_votes(rows, CENTERS, VIEWS[:2]).labels.tolist() == [0, 0, 0]


def test_agreement_counts_the_votes_for_the_label_asked_about():
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
def test_rows_are_judged_one_by_one(seed, n_clusters, n_views, n):
    rows, centers, views = draw(seed, n + n_clusters, 5, n_clusters, n_views)
    labels, counts = view_votes(rows, centers, views)
    alone = [view_votes(row[None], centers, views) for row in rows]
    assert labels.tolist() == [int(one.labels[0]) for one in alone]
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
    after = bounded_view_votes(rows, moved, views, labels, bounds)
    assert after.n_evaluated == np.count_nonzero(bounds <= 0)
    np.testing.assert_array_equal(after.labels, view_votes(rows, moved, views, labels).labels)


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


def test_the_plain_functions_give_what_the_compiled_ones_give():
    rows, centers, views = draw(3)
    everyone = np.arange(len(rows))
    results = []
    ballot = Ballot(rows, centers, views, slack_of(rows, rows.shape[1]))
    for squares_of, count, bound in ((_squares.python, _count.python, _bound.python),
                                     (_squares, _count, _bound)):  # fmt: skip
        squares = np.zeros((5, 4, len(rows)))
        labels, counts = np.full(len(rows), -1, np.int32), np.zeros(len(rows), np.int32)
        bounds = np.zeros(len(rows))
        squares_of(rows, centers, everyone, squares)
        distances = np.tensordot(views, squares, 1)
        count(ballot, distances, everyone, labels, counts, True)
        bound(distances, ballot.slack, everyone, labels, bounds)
        results.append((squares, labels, counts, bounds))
    for plain, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(plain, compiled, atol=1e-12)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=60), st.data())
def test_a_ranked_value_is_the_one_that_sorting_finds(values, data):
    rank = data.draw(st.integers(0, len(values) - 1))
    assert _ranked(np.array(values), rank) == sorted(values)[rank]
    assert _ranked.python(np.array(values), rank) == sorted(values)[rank]
