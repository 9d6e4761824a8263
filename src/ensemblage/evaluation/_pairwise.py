"""Two methods at a time: Wilcoxon's signed ranks, Holm's correction, wins and losses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from ensemblage.evaluation._ranks import Array, nemenyi_pvalues, pair_numbers, rank_error, rank_rows

MOST_EXACT = 50


class MethodPair(NamedTuple):
    """Two methods compared over several datasets.

    Parameters
    ----------
    first, second : str
        Names of the methods.
    wins, ties, losses : int
        Datasets on which the first is better, equal or worse.
    advantage : float
        Mean lead of the first in score, positive if it is better.
    cohen_d : float or None
        The mean lead over its standard deviation across datasets; None where all leads are equal
        and not zero.
    rank_biserial : float
        Share of the signed ranks that speak for the first less the share against it, from -1 to
        1: the effect size that goes with Wilcoxon's test.
    rank_difference : float
        Mean rank of the first less that of the second.
    nemenyi_statistic, nemenyi_pvalue : float
        Nemenyi's test of the mean ranks.
    wilcoxon_statistic, wilcoxon_pvalue : float
        Wilcoxon's signed-rank test of the scores.
    holm_pvalue : float
        The latter, corrected for the number of pairs.
    significant : bool
        Whether they differ by Nemenyi's test.
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    advantage: float
    cohen_d: float | None
    rank_biserial: float
    rank_difference: float
    nemenyi_statistic: float
    nemenyi_pvalue: float
    wilcoxon_statistic: float
    wilcoxon_pvalue: float
    holm_pvalue: float
    significant: bool


class SignedRanks(NamedTuple):
    """The lower of the two sums of ranks, and the two-sided p-value."""

    statistic: float
    pvalue: float


def signed_rank_test(first: Array, second: Array) -> SignedRanks:
    """Wilcoxon's signed-rank test of paired scores; 0 and 1 if no two differ.

    Equal scores are left out. Up to 50 differences the p-value is exact, with equal differences
    too; ``scipy.stats.wilcoxon`` turns to the normal approximation for those beyond 13, and here
    that is used beyond 50.
    """
    differences = first - second
    differences = differences[differences != 0]
    if len(differences) == 0:
        return SignedRanks(0.0, 1.0)
    if len(differences) > MOST_EXACT:
        found = wilcoxon(differences, method="approx")
        return SignedRanks(float(found.statistic), float(found.pvalue))
    # mean ranks of ties are halves: doubled, they are whole
    doubled = (2 * rankdata(np.abs(differences))).astype(int)
    above = int(doubled[differences > 0].sum())
    lower = min(above, int(doubled.sum()) - above)
    # the distribution is symmetric, so the lower sum's tail is the smaller
    tail = _sum_probabilities(doubled)[: lower + 1].sum()
    return SignedRanks(lower / 2, float(min(1.0, 2 * tail)))


def _sum_probabilities(ranks: NDArray[np.int_]) -> Array:
    """Chance of each sum of the ranks that coin tosses keep, from 0 to the sum of all."""
    chances = np.ones(1)
    for rank in ranks.tolist():
        chances = 0.5 * (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0)))
    return chances


def cohen_d(leads: Array) -> float | None:
    """Mean of paired differences over their standard deviation, or None if that is zero alone."""
    mean, spread = float(leads.mean()), float(leads.std(ddof=1))
    # of equal leads the mean may be off by rounding, and so may the spread
    if spread <= 1e-12 * float(np.abs(leads).max(initial=0.0)):
        return None if leads.any() else 0.0
    return mean / spread


def rank_biserial(leads: Array) -> float:
    r"""Effect size of Wilcoxon's signed-rank test, :math:`(W_+ - W_-) / (W_+ + W_-)`.

    :math:`W_\pm` are the sums of the ranks of positive and negative differences by size; those that
    are zero are left out (Kerby, The Simple Difference Formula, 2014). It is 0 if all are.
    """
    leads = leads[leads != 0]
    ranks = rankdata(np.abs(leads))
    return float((ranks * np.sign(leads)).sum() / max(1.0, float(ranks.sum())))


def holm(pvalues: Any) -> Array:
    r"""Correct p-values of shape (n_tests,) for their number, step by step.

    The i-th smallest of m becomes :math:`\max_{j \le i} \min(1, (m - j + 1) p_{(j)})` (Holm, A
    simple sequentially rejective multiple test procedure, 1979). Reject those at most alpha, and
    the chance of one wrong rejection or more is at most alpha.
    """
    alone: Array = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(alone, kind="stable")
    steps = alone[order] * np.arange(len(alone), 0, -1)
    adjusted = np.empty_like(alone)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def compare_pairs(
    scores: Array, names: tuple[str, ...], *, greater_is_better: bool, alpha: float
) -> list[MethodPair]:
    """Compare every pair of the methods, whose scores are (n_datasets, n_methods)."""
    n, k = scores.shape
    ranks = rank_rows(scores, greater_is_better)
    pairs = pair_numbers(k)
    mean_ranks, error = ranks.mean(axis=0), rank_error(n, k)
    apart = np.array([mean_ranks[i] - mean_ranks[j] for i, j in pairs])
    nemenyi = nemenyi_pvalues(np.abs(apart) / error, k)
    signed = [signed_rank_test(scores[:, i], scores[:, j]) for i, j in pairs]
    corrected = holm([each.pvalue for each in signed])
    compared = []
    for number, (i, j) in enumerate(pairs):
        better = np.sign(ranks[:, j] - ranks[:, i])
        leads = (scores[:, i] - scores[:, j]) * (1.0 if greater_is_better else -1.0)
        compared.append(
            MethodPair(
                first=names[i],
                second=names[j],
                wins=int((better > 0).sum()),
                ties=int((better == 0).sum()),
                losses=int((better < 0).sum()),
                advantage=float(leads.mean()),
                cohen_d=cohen_d(leads),
                rank_biserial=rank_biserial(leads),
                rank_difference=float(apart[number]),
                nemenyi_statistic=float(abs(apart[number]) / error),
                nemenyi_pvalue=float(nemenyi[number]),
                wilcoxon_statistic=signed[number].statistic,
                wilcoxon_pvalue=signed[number].pvalue,
                holm_pvalue=float(corrected[number]),
                significant=bool(nemenyi[number] < alpha),
            )
        )
    return compared
