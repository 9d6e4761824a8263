"""Ranks of methods over datasets, and what follows from them: Friedman, Nemenyi, cliques."""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, rankdata, studentized_range
from scipy.stats import f as f_distribution

from ensemblage.evaluation._exact_ranks import exact_rank_pvalue

Array = NDArray[np.float64]

# Up to where the exact distribution of the ranks is quick to have.
FEW_DATASETS, FEW_METHODS = 6, 6


class RankTest(NamedTuple):
    """Friedman's test and its correction by Iman and Davenport.

    Their F is None where all datasets rank the methods alike, as it is then beyond all bounds; its
    p-value is then that of complete agreement. Where the p-value is exact, it is one for both.
    """

    friedman_statistic: float
    friedman_pvalue: float
    iman_davenport_statistic: float | None
    iman_davenport_pvalue: float


def rank_rows(scores: Array, greater_is_better: bool) -> Array:
    """Rank the methods on each dataset, 1 for the best; equal scores share their mean rank."""
    return rankdata(-scores if greater_is_better else scores, axis=1)


def rank_test(ranks: Array, *, tie_correction: bool = True) -> RankTest:
    r"""Test whether mean ranks differ by more than chance; 0 and 1 if all ranks are tied.

    With n datasets, k methods and mean ranks :math:`R_j`,

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
    spread = float(((ranks.mean(axis=0) - middle) ** 2).sum())
    variance = float(((ranks - middle) ** 2).sum()) / n  # the tie correction, in one sum
    if variance == 0:
        return RankTest(0.0, 1.0, 0.0, 1.0)
    without_ties = k * (k**2 - 1) / 12
    usual = variance if tie_correction else without_ties
    statistic = n * (k - 1) * spread / usual
    exact = exact_rank_pvalue(ranks) if n < FEW_DATASETS and k <= FEW_METHODS else None
    pvalue = float(chi2.sf(statistic, k - 1)) if exact is None else exact
    if usual == variance and not np.ptp(ranks, axis=0).any():
        return RankTest(statistic, pvalue, None, _agreement(ranks[0], n))
    ratio = (n - 1) * statistic / (n * (k - 1) - statistic)
    tail = float(f_distribution.sf(ratio, k - 1, (k - 1) * (n - 1))) if exact is None else exact
    return RankTest(statistic, pvalue, ratio, tail)


def _agreement(ranks: Array, n: int) -> float:
    """Chance that n datasets have one order, all orders of these ranks being as likely."""
    sizes = np.unique(ranks, return_counts=True)[1]
    orders = math.factorial(len(ranks)) / math.prod(math.factorial(size) for size in sizes)
    return float(orders ** (1 - n))


def nemenyi_critical_value(n_methods: int, alpha: float) -> float:
    r"""Give :math:`q_\alpha / \sqrt 2` of the studentized range, degrees of freedom infinite."""
    return float(studentized_range.ppf(1 - alpha, n_methods, np.inf) / math.sqrt(2))


def rank_error(n_datasets: int, n_methods: int) -> float:
    r"""Give the standard error of the difference of two mean ranks, :math:`\sqrt{k(k+1) / 6n}`.

    Times the critical value it is the critical difference.
    """
    return math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def nemenyi_pvalues(statistics: Array, n_methods: int) -> Array:
    """Tail of the studentized range beyond differences of mean ranks over their standard error.

    The p-values are corrected for the number of pairs.
    """
    return np.clip(studentized_range.sf(statistics * math.sqrt(2), n_methods, np.inf), 0.0, 1.0)


def cliques(mean_ranks: Array, critical_difference: float) -> list[tuple[int, ...]]:
    """Find the groups of methods, two or more and best rank first, that are not told apart.

    A group is part of no other.
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


def pair_numbers(n_methods: int) -> list[tuple[int, int]]:
    """List all pairs, the lower number first."""
    return list(combinations(range(n_methods), 2))
