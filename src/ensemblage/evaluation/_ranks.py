"""Rank tests over datasets."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, rankdata, studentized_range
from scipy.stats import f as f_distribution

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

# Sums of ranks held at once.
SUMS_AT_ONCE = 1_000_000
# Below so many datasets, of at most so many methods, the exact distribution is quick to have.
EXACT_DATASETS = 6
EXACT_METHODS = 6


def exact_rank_pvalue(ranks: Doubles) -> float:
    """Chance that rank sums differ at least as much, all orders of each row being as likely.

    Ranks are (n_datasets, n_methods); equal scores share their mean rank, and their orders count
    once. Rank sums count but for their order, so that one order of the first dataset stands for
    all, and sums that are reached in several ways are kept once, with their chance.
    """
    # mean ranks of ties are halves: doubled, they are whole
    doubled = np.rint(2 * ranks).astype(np.int64)
    observed = int((doubled.sum(axis=0) ** 2).sum())
    sums, chances = np.sort(doubled[:1], axis=1), np.ones(1)
    for row in doubled[1:-1]:
        sums, chances = _added(sums, chances, _orders(row))
    last, beyond = _orders(doubled[-1]), 0.0
    for part in np.array_split(np.arange(len(sums)), 1 + len(sums) * len(last) // SUMS_AT_ONCE):
        squares = ((sums[part, None] + last) ** 2).sum(axis=2)
        beyond += float((squares >= observed).mean(axis=1) @ chances[part])
    return min(1.0, beyond)


def _orders(row: Integers) -> Integers:
    """Give all different orders of a row, (n_orders, n_methods)."""
    return np.array(sorted(set(permutations(row.tolist()))), dtype=np.int64)


def _added(sums: Integers, chances: Doubles, orders: Integers) -> tuple[Integers, Doubles]:
    """Give sums and chances after one more dataset, sums sorted within."""
    every = np.sort((sums[:, None] + orders).reshape(-1, sums.shape[1]), axis=1)
    # the sums as digits of one number, which is quicker to sort than rows are
    keys = every @ (every.max() + 1) ** np.arange(sums.shape[1])
    _, where, numbers = np.unique(keys, return_index=True, return_inverse=True)
    weights = np.repeat(chances / len(orders), len(orders))
    return every[where], np.bincount(numbers.ravel(), weights).astype(np.float64)


def rank_rows(scores: Doubles, greater_is_better: bool) -> Doubles:
    """Rank the methods on each dataset, 1 for the best; equal scores share their mean rank."""
    return rankdata(-scores if greater_is_better else scores, axis=1)


def rank_test(
    ranks: Doubles, *, tie_correction: bool = True
) -> tuple[float, float, float | None, float]:
    r"""Test whether mean ranks differ by more than chance; 0 and 1 if all ranks are tied.

    Gives statistic and p-value of Friedman, then those of Iman and Davenport, whose F is None where
    all datasets rank the methods alike. With n datasets, k methods and mean ranks :math:`R_j`,

    .. math:: \chi^2_F = \frac{12 n}{k(k+1)}\Bigl[\sum_j R_j^2 - \frac{k(k+1)^2}{4}\Bigr]
        \Big/ \Bigl[1 - \frac{\sum (t^3 - t)}{n k (k^2 - 1)}\Bigr],

    where t runs over the sizes of the groups of equal scores; the divisor is the tie correction.
    Then :math:`F = (n - 1)\chi^2_F / (n(k - 1) - \chi^2_F)` has k - 1 and (k - 1)(n - 1) degrees
    of freedom. If all datasets give the same ranks, the denominator of F is zero; the p-value is
    then the chance of that agreement if every order were as likely,
    :math:`(\prod t! / k!)^{n-1}` (Conover, Practical Nonparametric Statistics, 1999, 5.8).

    Both are approximations that few datasets do not bear: below six datasets of at most six methods
    the p-value is exact, from all orders of each dataset's ranks. F grows with
    :math:`\chi^2_F`, so that it is one p-value for both.
    """
    n, k = ranks.shape
    middle = (k + 1) / 2
    between = float(((ranks.mean(axis=0) - middle) ** 2).sum())
    variance = float(((ranks - middle) ** 2).sum()) / n  # the tie correction, in one sum
    if variance == 0:
        return 0.0, 1.0, 0.0, 1.0
    without_ties = k * (k**2 - 1) / 12
    usual = variance if tie_correction else without_ties
    statistic = n * (k - 1) * between / usual
    exact = exact_rank_pvalue(ranks) if n < EXACT_DATASETS and k <= EXACT_METHODS else None
    pvalue = float(chi2.sf(statistic, k - 1)) if exact is None else exact
    if usual == variance and not np.ptp(ranks, axis=0).any():
        # chance that n datasets have one order, all orders of these ranks being as likely
        sizes = np.unique(ranks[0], return_counts=True)[1]
        orders = math.factorial(k) / math.prod(math.factorial(size) for size in sizes)
        return statistic, pvalue, None, float(orders ** (1 - n))
    ratio = (n - 1) * statistic / (n * (k - 1) - statistic)
    tail = float(f_distribution.sf(ratio, k - 1, (k - 1) * (n - 1))) if exact is None else exact
    return statistic, pvalue, ratio, tail


def nemenyi_critical_value(n_methods: int, alpha: float) -> float:
    r"""Give :math:`q_\alpha / \sqrt 2` of the studentized range, degrees of freedom infinite."""
    return float(studentized_range.ppf(1 - alpha, n_methods, np.inf) / math.sqrt(2))


def rank_error(n_datasets: int, n_methods: int) -> float:
    r"""Give the standard error of the difference of two mean ranks, :math:`\sqrt{k(k+1) / 6n}`.

    Times the critical value it is the critical difference.
    """
    return math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def nemenyi_pvalues(statistics: Doubles, n_methods: int) -> Doubles:
    """Tail of the studentized range beyond differences of mean ranks over their standard error.

    The p-values are corrected for the number of pairs.
    """
    return np.clip(studentized_range.sf(statistics * math.sqrt(2), n_methods, np.inf), 0.0, 1.0)


def cliques(mean_ranks: Doubles, critical_difference: float) -> list[tuple[int, ...]]:
    """Find the groups of methods that do not differ significantly, best rank first.

    A group has two methods or more, and is part of no other.
    """
    order = np.argsort(mean_ranks, kind="stable")
    sorted_ranks = mean_ranks[order]
    groups: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = int(
            np.searchsorted(sorted_ranks, sorted_ranks[first] + critical_difference, "right")
        )
        if last - first > 1 and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return [tuple(order[first:last].tolist()) for first, last in groups]
