from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import rankdata, wilcoxon

from ensemblage.evaluation._pairwise import (
    cohen_d,
    compare_pairs,
    holm,
    rank_biserial,
    signed_rank_test,
)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.9]) == pytest.approx([1.0, 1.0])


def slow_holm(pvalues):
    adjusted = {}
    largest = 0.0
    for step, (pvalue, index) in enumerate(sorted((p, i) for i, p in enumerate(pvalues))):
        largest = max(largest, min(1.0, (len(pvalues) - step) * pvalue))
        adjusted[index] = largest
    return [adjusted[i] for i in range(len(pvalues))]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_equals_the_loop_and_never_lowers(pvalues):
    ours = holm(pvalues)
    assert ours == pytest.approx(slow_holm(pvalues))
    assert (ours >= pvalues).all()
    assert (ours <= 1).all()


def test_equal_scores_give_no_warning():
    assert signed_rank_test(np.ones(6), np.ones(6)) == (0.0, 1.0)


def test_signed_ranks_by_hand():
    # differences 1, 2, -3: the lower sum is 3, and 5 of the 8 signs give 3 or less
    assert signed_rank_test(np.array([1.0, 2, 0]), np.array([0.0, 0, 3])) == (3.0, 1.0)
    # all five above: 1 of 32, on either side
    assert signed_rank_test(np.arange(1.0, 6), np.zeros(5)) == (0.0, 2 / 32)


@pytest.mark.parametrize("n", [2, 6, 30, 50, 51, 80])
def test_signed_ranks_equal_scipy_without_ties(n):
    first, second = np.random.default_rng(n).normal(size=(2, n))
    theirs = wilcoxon(first, second)
    assert signed_rank_test(first, second) == pytest.approx(tuple(theirs), rel=1e-9)


@given(hnp.arrays(np.float64, st.integers(1, 9), elements=st.integers(-3, 3)))
def test_signed_ranks_equal_all_signs_tried(differences):
    kept = differences[differences != 0]
    ranks = rankdata(np.abs(kept))
    sums = [np.dot(signs, ranks) for signs in product([0, 1], repeat=len(kept))]
    observed = ranks[kept > 0].sum()
    low, high = np.mean(np.array(sums) <= observed), np.mean(np.array(sums) >= observed)
    _, ours = signed_rank_test(differences, np.zeros(len(differences)))
    assert ours == pytest.approx(min(1.0, 2 * min(low, high)))


def test_a_row_by_hand():
    scores = np.array([[0.1, 0.3], [0.2, 0.2], [0.4, 0.5], [0.3, 0.1]])
    (row,) = compare_pairs(scores, ("a", "b"), greater_is_better=False, alpha=0.05)
    assert (row.wins, row.ties, row.losses) == (2, 1, 1)
    # errors: the first is lower by 0.025 on average, so it is ahead
    assert row.advantage == pytest.approx(0.025)
    assert row.rank_difference == pytest.approx(-0.25)
    assert row.nemenyi_statistic == pytest.approx(0.5)
    assert row.significant is False


def test_cohen_d_by_hand():
    # mean 2, deviations -1, 0, 1: the standard deviation is one
    assert cohen_d(np.array([1.0, 2.0, 3.0])) == pytest.approx(2)
    assert cohen_d(np.zeros(4)) == 0
    assert cohen_d(np.full(5, 0.1)) is None


def test_rank_biserial_by_hand():
    # ranks 1 and 3 for, 2 against, and a tie that counts for nothing: (4 - 2) / 6
    assert rank_biserial(np.array([1.0, -2.0, 3.0, 0.0])) == pytest.approx(1 / 3)
    assert rank_biserial(np.zeros(3)) == 0


@given(hnp.arrays(np.float64, st.integers(2, 12), elements=st.integers(-5, 5)))
def test_effect_sizes_turn_with_the_methods(leads):
    assert -1 <= rank_biserial(leads) <= 1
    assert rank_biserial(-leads) == pytest.approx(-rank_biserial(leads))
    d, turned = cohen_d(leads), cohen_d(-leads)
    assert (d is None) == (turned is None) == bool(leads[0] and not np.ptp(leads))
    assert d is None or turned == pytest.approx(-d)


@given(hnp.arrays(np.float64, st.integers(2, 12), elements=st.integers(-5, 5)))
def test_rank_biserial_follows_from_wilcoxons_statistic(leads):
    left = np.count_nonzero(leads)
    lower = signed_rank_test(leads, np.zeros_like(leads)).statistic
    expected = 1 - 4 * lower / (left * (left + 1)) if left else 0.0
    assert abs(rank_biserial(leads)) == pytest.approx(expected)
