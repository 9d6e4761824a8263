import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.kernels._instance_votes import Draws, _vote_by_instance, instance_votes
from ensemblage.kernels._view_votes import Ballot, slack_of
from reference.inner_kmeans import vote

MASK = 2**64 - 1


def row_views(row, n_views, n_draws, replace, seed):
    """The row's own views, by SplitMix64 in Python's whole numbers."""
    state = seed
    for word in (row.astype(np.float64) + 0.0).view(np.uint64).tolist():
        state = ((state ^ word) * 0xBF58476D1CE4E5B9 + 0x9E3779B97F4A7C15) & MASK
        state ^= state >> 31
    views, deck = np.zeros((n_views, len(row))), list(range(len(row)))
    for view in views:
        for draw in range(n_draws):
            state = (state + 0x9E3779B97F4A7C15) & MASK
            mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
            share = ((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53
            if replace:
                feature = int(share * len(row))
            else:
                swap = draw + int(share * (len(row) - draw))
                deck[draw], deck[swap] = deck[swap], deck[draw]
                feature = deck[draw]
            view[feature] += 1
    return views


def draw(seed, n=40, d=6, n_clusters=3):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows, rows[:n_clusters].copy()


def test_one_full_view_without_replacement_is_the_nearest_centre():
    rows, centers = draw(0)
    labels, counts = instance_votes(rows, centers, Draws(1, 6, False, seed=1))
    nearest = ((rows[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(labels, nearest)
    assert set(counts.tolist()) == {1}


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_equals_the_papers_loop_on_the_rows_own_views(seed, replace):
    rows, centers = draw(seed)
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
def test_a_rows_views_do_not_depend_on_where_it_stands(seed):
    rows, centers = draw(seed)
    order = np.random.default_rng(seed).permutation(len(rows))
    draws = Draws(5, 2, True, seed)
    labels = instance_votes(rows, centers, draws).labels
    shuffled = instance_votes(rows[order], centers, draws).labels
    np.testing.assert_array_equal(labels[order], shuffled)


def test_draws_are_even_over_the_features():
    rows = np.random.default_rng(0).normal(size=(300, 5))
    drawn = sum(row_views(row, 20, 2, replace=True, seed=3).sum(axis=0) for row in rows)
    np.testing.assert_allclose(drawn / drawn.sum(), 0.2, atol=0.01)


@pytest.mark.parametrize("replace", [True, False])
def test_the_plain_function_gives_what_the_compiled_one_gives(replace):
    rows, centers = draw(4, n=8)
    results = []
    for kernel in (_vote_by_instance.python, _vote_by_instance):
        labels, counts = np.full(8, -1, np.int32), np.zeros(8, np.int32)
        with np.errstate(over="ignore"):
            ballot = Ballot(rows, centers, np.zeros((6, 1)), slack_of(rows, rows.shape[1]))
            kernel(ballot, Draws(4, 2, replace, np.uint64(7)), labels, counts)
        results.append((labels.tolist(), counts.tolist()))
    assert results[0] == results[1]
