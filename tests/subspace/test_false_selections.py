import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.subspace._false_selections import (
    SubsampledSelection,
    false_selections,
    most_per_fit,
)


def test_bound_without_assumptions_by_hand():
    # 10^2 / (1000 * (2 * .9 - 1)) = .125
    assert false_selections(SubsampledSelection(1000, 50, 0.9, "none"), 10) == pytest.approx(0.125)


def test_unimodal_bound_by_hand():
    # up to three quarters: 1 / (2 (2 * .7 - 1 - .01)) = 1 / .78, times 10^2 / 1000
    low = SubsampledSelection(1000, 50, 0.7, "unimodal")
    assert false_selections(low, 10) == pytest.approx(0.1 / 0.78)
    # beyond it: four times .11, over 1.02
    high = SubsampledSelection(1000, 50, 0.9, "unimodal")
    assert false_selections(high, 10) == pytest.approx(0.1 * 0.44 / 1.02)


def test_threshold_is_rounded_up_to_a_share_of_the_fits():
    assert SubsampledSelection(10, 5, 0.75, "none").reached_threshold() == 0.8
    assert SubsampledSelection(10, 50, 0.7, "none").reached_threshold() == 0.7


def test_too_many_per_fit_for_one_mode_fall_back():
    # 7 of 10 is more than 1 / sqrt(3): the plain bound, and never more than were selected
    one, other = (SubsampledSelection(10, 50, 0.9, kind) for kind in ("unimodal", "none"))
    assert false_selections(one, 7) == false_selections(other, 7) == pytest.approx(4.9 / 0.8)
    assert false_selections(SubsampledSelection(10, 50, 0.6, "none"), 9) == 9


@given(st.integers(2, 500), st.integers(1, 100), st.floats(0.51, 1), st.floats(0.01, 10))
def test_the_most_per_fit_keeps_the_bound_and_one_more_does_not(p, pairs, threshold, max_false):
    for assumption in ("none", "unimodal"):
        selection = SubsampledSelection(p, pairs, threshold, assumption)
        q = most_per_fit(selection, max_false)
        assert q == 0 or false_selections(selection, q) <= max_false * (1 + 1e-9)
        for more in range(q + 1, p + 1):
            assert false_selections(selection, more) > max_false


@given(st.integers(2, 500), st.integers(1, 100), st.floats(0.51, 1), st.integers(1, 500))
def test_one_mode_never_costs(p, pairs, threshold, q):
    q = min(q, p)
    plain, sharper = (
        false_selections(SubsampledSelection(p, pairs, threshold, kind), q)
        for kind in ("none", "unimodal")
    )
    assert 0 < sharper <= plain <= q
    assert math.isfinite(plain)
