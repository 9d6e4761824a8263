import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import binomtest, friedmanchisquare, rankdata

from ensemblage.evaluation._compare_methods import (
    cliques,
    exact_rank_pvalue,
    nemenyi_critical_value,
    nemenyi_pvalues,
    rank_error,
    rank_rows,
    rank_test,
)


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
def test_order_of_datasets_and_methods_is_irrelevant(seed, n, k):
    rng = np.random.default_rng(seed)
    ranks = rankdata(rng.integers(0, 4, (n, k)), axis=1)
    chance = exact_rank_pvalue(ranks)
    assert 0 < chance <= 1
    shuffled = rng.permutation(rng.permutation(ranks, axis=0), axis=1)
    assert exact_rank_pvalue(shuffled) == pytest.approx(chance)


def test_all_tied_is_certain():
    assert exact_rank_pvalue(np.full((4, 3), 2.0)) == 1


rank_tables = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 8), st.integers(2, 6)), elements=st.integers(0, 3)
).map(lambda scores: rank_rows(scores, greater_is_better=True))


def test_ranks_by_hand():
    scores = np.array([[0.9, 0.5, 0.9, 0.1]])
    np.testing.assert_array_equal(rank_rows(scores, True), [[1.5, 3, 1.5, 4]])
    np.testing.assert_array_equal(rank_rows(scores, False), [[3.5, 2, 3.5, 1]])


def test_friedman_by_hand():
    # mean ranks 1.25, 1.75, 3: 12·4 / 12 · (1.5625 + 3.0625 + 9 - 12) = 6.5; F = 3·6.5 / 1.5
    few = np.array([[1.0, 2, 3], [1, 2, 3], [1, 2, 3], [2, 1, 3]])
    statistic, pvalue, f, f_pvalue = rank_test(few)
    assert statistic == pytest.approx(6.5)
    assert f == pytest.approx(13.0)
    # the tables of the exact distribution have .042 for it: 9 of 216
    assert pvalue == f_pvalue == pytest.approx(9 / 216)
    # twice the datasets: twice the statistic, F = 7·13 / 3
    statistic, pvalue, f, f_pvalue = rank_test(np.tile(few, (2, 1)))
    assert statistic == pytest.approx(13.0)
    assert pvalue == pytest.approx(math.exp(-6.5))
    # with two and 2m degrees of freedom the tail of F is (1 + F / m) to the power of -m
    assert f == pytest.approx(91 / 3)
    assert f_pvalue == pytest.approx((1 + 91 / 21) ** -7)


def slow_friedman(ranks):
    """Demšar's formula and the tie correction, with loops."""
    n, k = ranks.shape
    total = 0.0
    for j in range(k):
        total += (sum(ranks[:, j]) / n) ** 2
    plain = 12 * n / (k * (k + 1)) * (total - k * (k + 1) ** 2 / 4)
    ties = 0
    for row in ranks:
        for value in set(row.tolist()):
            size = row.tolist().count(value)
            ties += size**3 - size
    return plain, 1 - ties / (n * k * (k**2 - 1))


@given(rank_tables)
def test_friedman_equals_the_loops(ranks):
    plain, left = slow_friedman(ranks)
    uncorrected = rank_test(ranks, tie_correction=False)[0]
    assert uncorrected == pytest.approx(plain, abs=1e-9)
    expected = plain / left if left > 0 else 0.0
    assert rank_test(ranks)[0] == pytest.approx(expected, abs=1e-9)


@given(rank_tables)
def test_results_are_always_defined(ranks):
    for correction in (True, False):
        found = rank_test(ranks, tie_correction=correction)
        for pvalue in (found[1], found[3]):
            assert 0 <= pvalue <= 1
        known = [each for each in found if each is not None]
        assert np.isfinite(known).all()


@given(rank_tables, st.randoms(use_true_random=False))
def test_the_order_of_datasets_and_methods_does_not_matter(ranks, random):
    rows = random.sample(range(len(ranks)), len(ranks))
    columns = random.sample(range(ranks.shape[1]), ranks.shape[1])
    shuffled = rank_test(ranks[rows][:, columns])
    expected = [-1.0 if each is None else each for each in rank_test(ranks)]
    assert [-1.0 if each is None else each for each in shuffled] == pytest.approx(expected)


def test_all_tied_is_no_difference():
    assert rank_test(np.full((5, 3), 2.0)) == (0.0, 1.0, 0.0, 1.0)


def test_complete_agreement_has_a_pvalue_but_no_f():
    statistic, pvalue, f, f_pvalue = rank_test(np.tile([1.0, 2, 3], (4, 1)))
    assert statistic == pytest.approx(8.0)
    assert f is None
    assert pvalue == pytest.approx((1 / 6) ** 3)
    assert f_pvalue == pytest.approx((1 / 6) ** 3)
    _, _, f, f_pvalue = rank_test(np.tile([1.0, 2.5, 2.5], (4, 1)))
    assert f is None
    assert f_pvalue == pytest.approx((1 / 3) ** 3)


def test_two_methods_are_a_sign_test():
    ranks = np.array([[1.0, 2]] * 7 + [[2, 1]] * 2 + [[1.5, 1.5]])
    assert rank_test(ranks)[0] == pytest.approx((7 - 2) ** 2 / (7 + 2))


def test_friedman_equals_scipy_on_a_large_table():
    ranks = rank_rows(np.random.default_rng(0).integers(0, 20, (500, 25)).astype(float), True)
    assert rank_test(ranks)[:2] == pytest.approx(tuple(friedmanchisquare(*ranks.T)), rel=1e-9)


@pytest.mark.parametrize(
    ("alpha", "values"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_critical_values_are_the_printed_ones(alpha, values):
    # Demšar's Table 5a, for 2 to 10 methods; its entries are rounded and truncated by turns
    ours = [nemenyi_critical_value(k, alpha) for k in range(2, 11)]
    assert ours == pytest.approx(values, abs=1e-3)


def test_critical_values_of_the_papers():
    assert round(nemenyi_critical_value(3, 0.05), 3) == 2.344
    assert round(nemenyi_critical_value(4, 0.05), 3) == 2.569


@pytest.mark.parametrize("n_methods", [2, 3, 7, 12])
def test_the_pvalue_at_the_critical_value_is_alpha(n_methods):
    value = nemenyi_critical_value(n_methods, 0.05)
    found = nemenyi_pvalues(np.array([0.0, value, 80.0]), n_methods)
    assert found == pytest.approx([1.0, 0.05, 0.0], abs=1e-9)


def test_rank_error_by_hand():
    assert rank_error(14, 3) == pytest.approx(math.sqrt(12 / 84))


def test_cliques_by_hand():
    ranks = np.array([3.0, 1.0, 1.5, 5.0])
    assert cliques(ranks, 1.6) == [(1, 2), (2, 0)]
    assert cliques(ranks, 2.0) == [(1, 2, 0), (0, 3)]
    assert cliques(ranks, 0.1) == []
    assert cliques(ranks, 9.0) == [(1, 2, 0, 3)]


@given(hnp.arrays(np.float64, st.integers(2, 9), elements=st.integers(0, 12)), st.integers(0, 9))
def test_cliques_are_maximal_and_cover_every_close_pair(ranks, distance):
    groups = [set(group) for group in cliques(ranks, distance + 0.5)]
    assert not any(a < b for a in groups for b in groups)
    for i in range(len(ranks)):
        for j in range(i):
            together = any({i, j} <= group for group in groups)
            assert together == (abs(ranks[i] - ranks[j]) <= distance + 0.5)
