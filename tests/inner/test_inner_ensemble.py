import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.inner import InnerEnsemble, ViewSampler


class WeightedMean:
    """Mean of each candidate's column over the rows of a view."""

    def __init__(self, rows):
        self.rows, self.n_items = rows, len(rows)

    def __call__(self, candidates, view):
        return view @ self.rows[:, candidates] / view.sum()


class TogetherMean(WeightedMean):
    def score_views(self, candidates, views):
        return views @ self.rows[:, candidates] / views.sum(axis=1, keepdims=True)


def algorithm_1(measure, views, candidates):
    """The paper's lines 5 to 7 as loops: an output for each changed input, then the mean."""
    total = np.zeros(len(candidates))
    for view in views:
        total += measure(candidates, view)
    return total / len(views)


def test_hand_computed_mean_and_votes():
    rows = np.array([[1.0, 0.0], [0.0, 3.0], [1.0, 2.0]])
    views = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    mean = InnerEnsemble(WeightedMean(rows), lambda _: views)
    np.testing.assert_allclose(mean([0, 1]), [(1 + 0 + 1) / 3, (0 + 3 + 1) / 3])
    vote = InnerEnsemble(WeightedMean(rows), lambda _: views, combine="vote")
    np.testing.assert_array_equal(vote([0, 1]), [2, 1])  # the third view is tied: first wins
    median = InnerEnsemble(WeightedMean(rows), lambda _: views, combine="median")
    np.testing.assert_allclose(median([0, 1]), [1, 1])


@given(st.integers(0, 1000), st.integers(1, 12), st.booleans())
def test_equals_the_papers_loop(seed, n_views, replace):
    rows = np.random.default_rng(seed).normal(size=(20, 4))
    sampler = ViewSampler(n_views, 0.3, replace, random_state=seed)
    expected = algorithm_1(WeightedMean(rows), sampler(20), [3, 0, 2])
    np.testing.assert_allclose(InnerEnsemble(WeightedMean(rows), sampler)([3, 0, 2]), expected)
    np.testing.assert_allclose(InnerEnsemble(TogetherMean(rows), sampler)([3, 0, 2]), expected)


@given(st.integers(0, 1000))
def test_a_single_identity_view_is_the_measure_bit_for_bit(seed):
    rows = np.random.default_rng(seed).normal(size=(15, 3))
    measure = WeightedMean(rows)
    crowd = InnerEnsemble(measure, ViewSampler(1, 1.0))
    np.testing.assert_array_equal(crowd([0, 1, 2]), measure([0, 1, 2], np.ones(15)))


def test_an_inner_ensemble_is_a_measure_again():
    rows = np.random.default_rng(0).normal(size=(12, 2))
    inside = InnerEnsemble(WeightedMean(rows), ViewSampler(4, 1.0, random_state=0))
    around = InnerEnsemble(inside, ViewSampler(3, 0.5, random_state=1))
    expected = InnerEnsemble(WeightedMean(rows), ViewSampler(3, 0.5, random_state=1))
    np.testing.assert_allclose(around([0, 1]), expected([0, 1]))


def test_all_candidates_are_judged_by_the_same_views():
    calls = []

    def sampler(n_items):
        calls.append(n_items)
        return np.ones((2, n_items))

    crowd = InnerEnsemble(WeightedMean(np.ones((5, 2))), sampler)
    crowd([0])
    crowd([1])
    assert calls == [5]


def test_an_unknown_combination_is_named():
    with pytest.raises(ValueError, match=r"combine must be one of .* got 'loudest'"):
        InnerEnsemble(WeightedMean(np.ones((5, 2))), ViewSampler(), combine="loudest")
