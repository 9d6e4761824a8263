import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.feature_selection import SelectKBest, f_classif, mutual_info_classif
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.inner import (
    Draws,
    InnerEnsemble,
    ViewSampler,
    draw_feature_views,
    draw_views,
    inner_score,
    sample_views,
)
from ensemblage.inner._inner_ensemble import MeasurePerView
from reference import inner_boosting as slow


@given(
    n_items=st.integers(1, 60),
    n_views=st.integers(1, 8),
    share=st.floats(0.01, 1.0),
    replace=st.booleans(),
    seed=st.integers(0, 100),
)
def test_each_view_has_the_size_asked_for(n_items, n_views, share, replace, seed):
    views = ViewSampler(n_views, share, replace=replace, random_state=seed)(n_items)
    assert views.shape == (n_views, n_items)
    assert (views.sum(axis=1) == max(1, round(share * n_items))).all()
    assert replace or views.max() <= 1


def test_a_full_view_without_replacement_is_the_identity():
    np.testing.assert_array_equal(ViewSampler(3, 1.0, random_state=1)(7), np.ones((3, 7)))


def test_a_sampler_gives_the_same_views_each_time():
    sampler = ViewSampler(5, 0.4, replace=True, random_state=3)
    np.testing.assert_array_equal(sampler(40), sampler(40))


def test_a_view_depends_on_its_own_seed_only():
    np.testing.assert_array_equal(draw_views(30, [4, 5, 6])[1], draw_views(30, [5])[0])


def test_a_count_is_taken_as_it_is():
    assert draw_views(10, [0], view_size=7).sum() == 7


@pytest.mark.parametrize("view_size", [0, -0.5, "half", True])
def test_an_invalid_view_size_is_named(view_size):
    with pytest.raises(ValueError, match="view_size must be"):
        draw_views(10, [0], view_size=view_size)


def test_views_larger_than_the_data_need_replacement():
    with pytest.raises(ValueError, match="asks for 15 of 10 items"):
        draw_views(10, [0], view_size=1.5)
    assert draw_views(10, [0], view_size=1.5, replace=True).sum() == 15


@pytest.mark.parametrize("replace", [True, False])
def test_the_views_of_a_pass_are_drawn_together(replace):
    views = draw_feature_views(6, Draws(500, 3, replace, seed=4))
    assert views.shape == (500, 6)
    assert (views.sum(axis=1) == 3).all()
    assert (views.max() > 1) == replace
    np.testing.assert_allclose(views.mean(axis=0), 0.5, atol=0.1)


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
    sampler = ViewSampler(n_views, 0.3, replace=replace, random_state=seed)
    expected = algorithm_1(WeightedMean(rows), sampler(20), [3, 0, 2])
    np.testing.assert_allclose(InnerEnsemble(WeightedMean(rows), sampler)([3, 0, 2]), expected)
    np.testing.assert_allclose(InnerEnsemble(TogetherMean(rows), sampler)([3, 0, 2]), expected)


@given(st.integers(0, 1000))
def test_a_single_identity_view_is_the_measure_bit_for_bit(seed):
    rows = np.random.default_rng(seed).normal(size=(15, 3))
    measure = WeightedMean(rows)
    ensemble = InnerEnsemble(measure, ViewSampler(1, 1.0))
    np.testing.assert_array_equal(ensemble([0, 1, 2]), measure([0, 1, 2], np.ones(15)))


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

    ensemble = InnerEnsemble(WeightedMean(np.ones((5, 2))), sampler)
    ensemble([0])
    ensemble([1])
    assert calls == [5]


def test_an_unknown_combination_is_named():
    with pytest.raises(ValueError, match=r"combine must be one of \['boosting'.*'loudest'"):
        InnerEnsemble(WeightedMean(np.ones((5, 2))), ViewSampler(), combine="loudest")


def test_each_measure_scores_its_own_view():
    rows = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])]
    measure = MeasurePerView([WeightedMean(each) for each in rows])
    scores = measure.score_views([0, 1], np.array([[1.0, 0.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(scores, [[1, 2], [6, 7]])


def test_a_single_view_of_all_rows_is_the_function_itself():
    X, y = load_wine(return_X_y=True)
    score = inner_score(f_classif, 1, view_size=1.0)
    np.testing.assert_array_equal(score(X, y), f_classif(X, y)[0])


def test_scores_are_the_mean_over_the_views():
    X, y = load_wine(return_X_y=True)
    score = inner_score(f_classif, n_views=4, view_size=0.5, random_state=1)
    views = draw_views(len(y), score.sampler.seeds, 0.5).astype(bool)
    expected = np.mean([f_classif(X[view], y[view])[0] for view in views], axis=0)
    np.testing.assert_allclose(score(X, y), expected)


def test_copies_count_with_replacement():
    X, y = load_wine(return_X_y=True)
    score = inner_score(f_classif, n_views=1, view_size=1.0, replace=True)
    rows = draw_views(len(y), score.sampler.seeds, 1.0, replace=True)[0].astype(int)
    np.testing.assert_allclose(score(X, y), f_classif(X.repeat(rows, axis=0), y.repeat(rows))[0])


def test_selects_inside_a_pipeline_and_clones():
    X, y = load_wine(return_X_y=True)
    select = SelectKBest(inner_score(mutual_info_classif, 3), k=5)
    model = make_pipeline(StandardScaler(), clone(select))
    assert model.fit_transform(X, y).shape == (178, 5)
    assert "inner_score(mutual_info_classif, n_views=3)" in repr(select.score_func)


def test_a_feature_that_is_constant_on_a_view_scores_lowest_there():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), np.zeros(40)])
    scores = inner_score(f_classif)(X, rng.integers(0, 2, 40))
    assert np.isfinite(scores).all()
    assert scores[1] <= scores[0]


def test_votes_count_the_highest_scores():
    X, y = load_wine(return_X_y=True)
    votes = inner_score(f_classif, n_views=20, combine="vote")(X, y)
    assert votes.sum() == 20


def test_score_func_must_be_callable():
    with pytest.raises(TypeError, match="score_func must be a function"):
        inner_score("f_classif")
    with pytest.raises(ValueError, match="combine must be one of"):
        inner_score(f_classif, combine="loudest")


class Hits(WeightedMean):
    """Candidates that are right (1) or wrong (0) on each row; the score is the share right."""

    def item_losses(self, candidates, best, view):
        return 1.0 - self.rows[:, candidates[best]]


def test_hand_computed_boosting():
    # view 1: scores 3/4 and 1/2; row 4 is wrong, its error 1/4, alpha log 3, so its weight trebles
    # view 2, weights 2/3 2/3 2/3 2: scores 1/2 and 2/3; rows 2 and 3 are wrong, alpha log 2
    rows = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    ensemble = InnerEnsemble(Hits(rows), lambda n: np.ones((2, n)), "boosting")
    log_2, log_3, log_6 = np.log([2, 3, 6])
    expected = [
        (log_3 * 3 / 4 + log_2 * 1 / 2) / log_6,
        (log_3 * 1 / 2 + log_2 * 2 / 3) / log_6,
    ]
    np.testing.assert_allclose(ensemble([0, 1]), expected, rtol=1e-14)
    np.testing.assert_array_equal(ensemble([0, 1]), ensemble([0, 1]))  # no state is kept


def graded_rows(seed, n_rows=20, n_candidates=4):
    return np.random.default_rng(seed).random((n_rows, n_candidates))


@given(st.integers(0, 1000), st.integers(1, 12), st.booleans())
def test_boosting_equals_the_loop(seed, n_views, replace):
    rows, candidates = graded_rows(seed), [3, 0, 2]
    sampler = ViewSampler(n_views, 0.4, replace=replace, random_state=seed)
    measure = Hits(rows)
    expected = slow.boosted(
        lambda view: measure(candidates, np.array(view)),
        lambda best, view: measure.item_losses(candidates, best, view),
        sampler(20).tolist(),
    )
    np.testing.assert_allclose(InnerEnsemble(measure, sampler, "boosting")(candidates), expected)


@given(st.integers(0, 1000))
def test_boosting_of_a_single_view_is_the_measure_bit_for_bit(seed):
    measure = Hits(graded_rows(seed))
    sampler = ViewSampler(1, 0.5, random_state=seed)
    boosted = InnerEnsemble(measure, sampler, "boosting")([0, 1, 2])
    np.testing.assert_array_equal(boosted, measure([0, 1, 2], sampler(20)[0]))


@given(st.integers(0, 1000), st.floats(0.01, 100.0))
def test_boosting_depends_on_neither_the_items_order_nor_the_views_scale(seed, scale):
    rows, views = graded_rows(seed), ViewSampler(5, 0.6, random_state=seed)(20)
    order = np.random.default_rng(seed).permutation(20)
    first = InnerEnsemble(Hits(rows), lambda _: views, "boosting")([0, 1, 2, 3])
    moved = InnerEnsemble(Hits(rows[order]), lambda _: scale * views[:, order], "boosting")
    np.testing.assert_allclose(moved([0, 1, 2, 3]), first)
    assert (rows.min(axis=0) <= first).all()
    assert (first <= rows.max(axis=0)).all()


def test_boosting_without_losses_is_the_mean():
    rows = np.array([[1.0, 0.2], [1.0, 0.7], [1.0, 0.1]])
    views = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    boosted, mean = (InnerEnsemble(Hits(rows), lambda _: views, c) for c in ("boosting", "mean"))
    np.testing.assert_allclose(boosted([0, 1]), mean([0, 1]))


@pytest.mark.parametrize("n_views", [50, 400])
def test_many_views_that_agree_stay_finite(n_views):
    rows = np.array([[1.0, 0.0]] * 9 + [[0.0, 0.0]])
    ensemble = InnerEnsemble(Hits(rows), lambda n: np.ones((n_views, n)), "boosting")
    assert np.isfinite(ensemble([0, 1])).all()
    lost = np.zeros((3, 2))  # every candidate is wrong on every row
    assert InnerEnsemble(Hits(lost), lambda n: np.ones((n_views, n)), "boosting")([0, 1]).any() == 0


def test_boosting_takes_each_views_own_measure():
    rows = [graded_rows(seed, 6, 2) for seed in (0, 1)]
    measure = MeasurePerView([Hits(each) for each in rows])
    views = np.ones((2, 6))
    first, second = (Hits(each) for each in rows)
    (best,) = np.flatnonzero(first([0, 1], views[0]) == first([0, 1], views[0]).max())
    losses = first.item_losses([0, 1], best, None)
    alphas = [np.log((1 - losses.mean()) / losses.mean())]
    view = np.exp(alphas[0] * losses) / np.exp(alphas[0] * losses).mean()
    scores = [first([0, 1], views[0]), second([0, 1], view)]
    error = np.clip(view @ second.item_losses([0, 1], scores[1].argmax(), None) / 6, 0.01, 0.49)
    alphas.append(np.log((1 - error) / error))
    found = InnerEnsemble(measure, lambda _: views, "boosting")([0, 1])
    np.testing.assert_allclose(found, np.average(scores, axis=0, weights=alphas))


def test_boosting_omits_empty_views():
    rows = graded_rows(0, 4)
    views = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
    some = InnerEnsemble(Hits(rows), lambda _: views, "boosting")
    fewer = InnerEnsemble(Hits(rows), lambda _: views[[0, 2]], "boosting")
    np.testing.assert_array_equal(some([0, 1]), fewer([0, 1]))
    with pytest.raises(ValueError, match="All views are empty"):
        some([0, 1], np.zeros(4))


def test_boosting_needs_losses_from_0_to_1():
    with pytest.raises(TypeError, match="WeightedMean has no item_losses"):
        InnerEnsemble(WeightedMean(graded_rows(0)), ViewSampler(), "boosting")
    measure = Hits(3 * graded_rows(0))
    with pytest.raises(ValueError, match="item_losses of Hits must return 20 losses from 0 to 1"):
        InnerEnsemble(measure, ViewSampler(2), "boosting")([0, 1])
    with pytest.raises(ValueError, match="combine must be one of"):
        inner_score(f_classif, combine="boosting")


@pytest.mark.parametrize(
    ("views", "problem"),
    [
        (np.ones(5), r"shape \(n_views, 5\) .* got shape \(5,\)"),
        (np.ones((2, 4)), r"shape \(n_views, 5\) .* got shape \(2, 4\)"),
        (np.ones((0, 5)), "at least one view"),
        ([[1.0, 1.0, np.nan, 0.0, 0.0]], "finite weights .* got nan"),
        ([[1.0, 1.0, np.inf, 0.0, 0.0]], "finite weights .* got inf"),
        ([[1.0, 1.0, -0.5, 0.0, 0.0]], r"not negative, got -0\.5"),
    ],
)
def test_invalid_views_are_named(views, problem):
    with pytest.raises(ValueError, match=problem):
        InnerEnsemble(WeightedMean(np.ones((5, 2))), lambda _: views)
    with pytest.raises(ValueError, match=problem):
        sample_views(lambda _: views, 5)


def test_views_are_numbers_and_not_empty():
    with pytest.raises(TypeError, match="array of numbers, got list of <U1"):
        sample_views(lambda _: [["a"] * 5], 5)
    with pytest.raises(ValueError, match="view 1 of 2 has none"):
        sample_views(lambda _: [[1, 0], [0, 0]], 2)


def test_a_sampler_shows_its_settings():
    assert repr(ViewSampler(3, 0.5)) == "ViewSampler(3, 0.5, replace=False)"
