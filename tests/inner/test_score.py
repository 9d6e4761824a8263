import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.feature_selection import SelectKBest, f_classif, mutual_info_classif
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.inner import draw_views, inner_score


def test_a_single_view_of_all_rows_is_the_function_itself():
    X, y = load_wine(return_X_y=True)
    np.testing.assert_array_equal(inner_score(f_classif, 1, 1.0)(X, y), f_classif(X, y)[0])


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


def test_votes_count_who_came_first():
    X, y = load_wine(return_X_y=True)
    votes = inner_score(f_classif, n_views=20, combine="vote")(X, y)
    assert votes.sum() == 20


def test_what_is_no_function_is_named():
    with pytest.raises(TypeError, match="score_func must be a function"):
        inner_score("f_classif")
    with pytest.raises(ValueError, match="combine must be one of"):
        inner_score(f_classif, combine="loudest")
