import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.inner import ViewSampler, draw_feature_views, draw_views
from ensemblage.kernels import Draws


@given(
    n_items=st.integers(1, 60),
    n_views=st.integers(1, 8),
    share=st.floats(0.01, 1.0),
    replace=st.booleans(),
    seed=st.integers(0, 100),
)
def test_each_view_has_the_size_asked_for(n_items, n_views, share, replace, seed):
    views = ViewSampler(n_views, share, replace, random_state=seed)(n_items)
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
def test_a_size_that_is_none_is_named(view_size):
    with pytest.raises(ValueError, match="view_size must be"):
        draw_views(10, [0], view_size=view_size)


def test_more_than_there_is_needs_replacement():
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
