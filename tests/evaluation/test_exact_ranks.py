from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, rankdata

from ensemblage.evaluation._exact_ranks import exact_rank_pvalue


def by_brute_force(ranks):
    """Count all orders of all rows, the same ranks as often as they come."""
    observed = (ranks.sum(axis=0) ** 2).sum()
    spreads = [
        (np.sum(orders, axis=0) ** 2).sum()
        for orders in product(*(list(permutations(row)) for row in ranks.tolist()))
    ]
    return np.mean(np.array(spreads) >= observed - 1e-9)


@pytest.mark.parametrize(("shape", "levels"), [
    ((2, 2), 9), ((2, 4), 3), ((3, 3), 9), ((4, 3), 2), ((5, 3), 9), ((2, 5), 9), ((3, 4), 3),
])  # fmt: skip
def test_equals_brute_force(shape, levels):
    rng = np.random.default_rng(0)
    for _ in range(3):
        ranks = rankdata(rng.integers(0, levels, shape), axis=1)
        assert exact_rank_pvalue(ranks) == pytest.approx(by_brute_force(ranks))


@pytest.mark.parametrize(("ranks", "chance"), [
    # Friedman's tables: 4.667 of three datasets, 5.2 and 8.4 of five, of three methods
    ([[1, 2, 3], [1, 2, 3], [1, 3, 2]], 0.194),
    ([[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3], [3, 1, 2]], 0.093),
    ([[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3], [2, 1, 3]], 0.0085),
])  # fmt: skip
def test_printed_tables(ranks, chance):
    assert exact_rank_pvalue(np.array(ranks, float)) == pytest.approx(chance, abs=6e-4)


@given(st.integers(0, 5))
def test_two_methods_are_the_sign_test(wins):
    ranks = np.array([[1.0, 2]] * wins + [[2, 1]] * (5 - wins))
    assert exact_rank_pvalue(ranks) == pytest.approx(binomtest(wins, 5).pvalue)


@settings(deadline=None)
@given(st.integers(0, 9999), st.integers(2, 5), st.integers(2, 5))
def test_order_of_datasets_and_methods_is_nothing(seed, n, k):
    rng = np.random.default_rng(seed)
    ranks = rankdata(rng.integers(0, 4, (n, k)), axis=1)
    chance = exact_rank_pvalue(ranks)
    assert 0 < chance <= 1
    shuffled = rng.permutation(rng.permutation(ranks, axis=0), axis=1)
    assert exact_rank_pvalue(shuffled) == pytest.approx(chance)


def test_all_tied_is_certain():
    assert exact_rank_pvalue(np.full((4, 3), 2.0)) == 1
