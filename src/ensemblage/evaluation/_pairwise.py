"""Two methods at a time: Wilcoxon's signed ranks, Holm's correction, wins and losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from ensemblage.evaluation._ranks import nemenyi_pvalues, pair_numbers, rank_error

Array = NDArray[np.float64]
MOST_EXACT = 50


def signed_rank_test(first: Array, second: Array) -> tuple[float, float]:
    """Wilcoxon's signed-rank test of paired scores.

    Parameters
    ----------
    first, second : ndarray of shape (n_datasets,)
        Scores of two methods.

    Returns
    -------
    statistic, pvalue : float
        The lower of the two sums of ranks, and the two-sided p-value; 0 and 1 if no two scores
        differ.

    Notes
    -----
    Equal scores are left out. Up to 50 differences the p-value is exact, with equal differences
    too; ``scipy.stats.wilcoxon`` turns to the normal approximation for those beyond 13, and here
    that is used beyond 50.
    """
    differences = first - second
    differences = differences[differences != 0]
    if len(differences) == 0:
        return 0.0, 1.0
    if len(differences) > MOST_EXACT:
        found = wilcoxon(differences, method="asymptotic")
        return float(found.statistic), float(found.pvalue)
    # mean ranks of ties are halves: doubled, they are whole
    doubled = (2 * rankdata(np.abs(differences))).astype(int)
    above = int(doubled[differences > 0].sum())
    lower = min(above, int(doubled.sum()) - above)
    # the distribution is symmetric, so the lower sum's tail is the smaller
    tail = _sum_probabilities(doubled)[: lower + 1].sum()
    return lower / 2, float(min(1.0, 2 * tail))


def _sum_probabilities(ranks: NDArray[np.int_]) -> Array:
    """Chance of each sum of the ranks that coin tosses keep, from 0 to the sum of all."""
    chances = np.ones(1)
    for rank in ranks:
        chances = 0.5 * (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0)))
    return chances


def holm(pvalues: Any) -> Array:
    r"""Correct p-values for their number, step by step.

    Parameters
    ----------
    pvalues : array-like of shape (n_tests,)
        Each for itself.

    Returns
    -------
    ndarray of shape (n_tests,)
        Reject those at most alpha, and the chance of one wrong rejection or more is at most alpha.

    Notes
    -----
    The i-th smallest of m becomes :math:`\max_{j \le i} \min(1, (m - j + 1) p_{(j)})` (Holm, A
    simple sequentially rejective multiple test procedure, 1979).
    """
    pvalues = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(pvalues, kind="stable")
    steps = pvalues[order] * np.arange(len(pvalues), 0, -1)
    adjusted = np.empty_like(pvalues)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def pairwise_rows(
    scores: Array, ranks: Array, names: tuple[str, ...], greater_is_better: bool, alpha: float
) -> list[dict[str, Any]]:
    """Compare every pair of methods.

    Parameters
    ----------
    scores, ranks : ndarray of shape (n_datasets, n_methods)
        Scores, and their ranks on each dataset.
    names : tuple of str
        Names of the methods.
    greater_is_better : bool
        Whether the highest score is the best.
    alpha : float
        Level of significance.

    Returns
    -------
    list of dict
        One row per pair, of plain values; see ``MethodComparison.pairwise``.
    """
    n, k = scores.shape
    pairs = pair_numbers(k)
    mean_ranks, error = ranks.mean(axis=0), rank_error(n, k)
    apart = np.array([mean_ranks[i] - mean_ranks[j] for i, j in pairs])
    nemenyi = nemenyi_pvalues(np.abs(apart) / error, k)
    signed = [signed_rank_test(scores[:, i], scores[:, j]) for i, j in pairs]
    corrected = holm([pvalue for _, pvalue in signed])
    rows = []
    for number, (i, j) in enumerate(pairs):
        better = np.sign(ranks[:, j] - ranks[:, i])
        gap = float((scores[:, i] - scores[:, j]).mean())
        rows.append(
            {
                "first": names[i],
                "second": names[j],
                "wins": int((better > 0).sum()),
                "ties": int((better == 0).sum()),
                "losses": int((better < 0).sum()),
                "advantage": gap if greater_is_better else -gap,
                "rank_difference": float(apart[number]),
                "nemenyi_statistic": float(abs(apart[number]) / error),
                "nemenyi_pvalue": float(nemenyi[number]),
                "wilcoxon_statistic": signed[number][0],
                "wilcoxon_pvalue": signed[number][1],
                "holm_pvalue": float(corrected[number]),
                "significant": bool(nemenyi[number] < alpha),
            }
        )
    return rows
