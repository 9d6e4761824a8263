"""Statistical comparison of several methods over several datasets."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, rankdata, studentized_range, wilcoxon
from scipy.stats import f as f_distribution

from ensemblage._core import listed, require, set_module

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rank sums in memory at once.
SUMS_AT_ONCE = 1_000_000
# The exact distribution of the rank sums is used below so many datasets ...
EXACT_DATASETS = 6
# ... of at most so many methods.
EXACT_METHODS = 6
# Maximum number of differences for an exact signed-rank test.
MAX_EXACT = 50
# Characters that LaTeX needs escaped.
LATEX_ESCAPES = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}  # fmt: skip
LATEX_HEADINGS = ("Method", "Mean rank", "W/T/L", "Difference", "$d$", "$r$", "$p$")


def exact_rank_pvalue(ranks: Doubles) -> float:
    """Exact p-value of the rank sums if all orders of each row are equally likely.

    Ranks are (n_datasets, n_methods); equal scores share their mean rank, and their orders count
    once. The statistic does not depend on the order of the sums, so one order of the first dataset
    is enough, and equal sums are merged, with the sum of their probabilities.
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
    """Return all distinct orders of a row, (n_orders, n_methods)."""
    return np.array(sorted(set(permutations(row.tolist()))), dtype=np.int64)


def _added(sums: Integers, chances: Doubles, orders: Integers) -> tuple[Integers, Doubles]:
    """Return sums, each sorted, and their probabilities after one more dataset."""
    every = np.sort((sums[:, None] + orders).reshape(-1, sums.shape[1]), axis=1)
    # encode the sums of a row as one integer, which sorts faster than rows
    keys = every @ (every.max() + 1) ** np.arange(sums.shape[1])
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    weights = np.repeat(chances / len(orders), len(orders))
    return every[first], np.bincount(codes.ravel(), weights).astype(np.float64)


def rank_rows(scores: Doubles, greater_is_better: bool) -> Doubles:
    """Rank the methods on each dataset, 1 for the best; equal scores share their mean rank."""
    return rankdata(-scores if greater_is_better else scores, axis=1)


def rank_test(
    ranks: Doubles, *, tie_correction: bool = True
) -> tuple[float, float, float | None, float]:
    r"""Friedman and Iman-Davenport tests of mean ranks; 0 and 1 if all ranks are tied.

    Returns statistic and p-value of Friedman, then those of Iman and Davenport, whose F is None
    where all datasets rank the methods equally. With n datasets, k methods and mean ranks
    :math:`R_j`,

    .. math:: \chi^2_F = \frac{12 n}{k(k+1)}\Bigl[\sum_j R_j^2 - \frac{k(k+1)^2}{4}\Bigr]
        \Big/ \Bigl[1 - \frac{\sum (t^3 - t)}{n k (k^2 - 1)}\Bigr],

    where t runs over the sizes of the groups of equal scores; the divisor is the tie correction.
    Then :math:`F = (n - 1)\chi^2_F / (n(k - 1) - \chi^2_F)` has k - 1 and (k - 1)(n - 1) degrees
    of freedom. If all datasets have the same ranks, the denominator of F is zero; the p-value is
    then the probability of that agreement if every order is equally likely,
    :math:`(\prod t! / k!)^{n-1}` (Conover, Practical Nonparametric Statistics, 1999, 5.8).

    Both are approximations for many datasets: below six datasets of at most six methods the p-value
    is exact, from all orders of each dataset's ranks. F increases with :math:`\chi^2_F`, so both
    have the same exact p-value.
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
        # probability that n datasets agree if all orders of these ranks are equally likely
        sizes = np.unique(ranks[0], return_counts=True)[1]
        orders = math.factorial(k) / math.prod(math.factorial(size) for size in sizes)
        return statistic, pvalue, None, float(orders ** (1 - n))
    ratio = (n - 1) * statistic / (n * (k - 1) - statistic)
    tail = float(f_distribution.sf(ratio, k - 1, (k - 1) * (n - 1))) if exact is None else exact
    return statistic, pvalue, ratio, tail


def nemenyi_critical_value(n_methods: int, alpha: float) -> float:
    r"""Return :math:`q_\alpha / \sqrt 2` of the studentized range, infinite degrees of freedom."""
    return float(studentized_range.ppf(1 - alpha, n_methods, np.inf) / math.sqrt(2))


def rank_error(n_datasets: int, n_methods: int) -> float:
    r"""Return the standard error of a difference of mean ranks, :math:`\sqrt{k(k+1) / 6n}`.

    Multiplied by the critical value it is the critical difference.
    """
    return math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def nemenyi_pvalues(statistics: Doubles, n_methods: int) -> Doubles:
    """Tail of the studentized range beyond differences of mean ranks over their standard error.

    The p-values are corrected for the number of pairs.
    """
    return np.clip(studentized_range.sf(statistics * math.sqrt(2), n_methods, np.inf), 0.0, 1.0)


def cliques(mean_ranks: Doubles, critical_difference: float) -> list[tuple[int, ...]]:
    """Find the groups of methods that do not differ significantly, best rank first.

    A group has at least two methods, and is not a subset of another.
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


@set_module("ensemblage.evaluation")
class MethodPair(NamedTuple):
    """Two methods compared over several datasets."""

    first: str
    second: str
    wins: int  # datasets on which the first is better
    ties: int
    losses: int
    advantage: float  # mean difference of the scores, positive if the first is better
    cohen_d: float | None  # mean over standard deviation; None if all differ by the same, not 0
    rank_biserial: float  # effect size of Wilcoxon's test, from -1 to 1
    rank_difference: float  # mean rank of the first minus that of the second
    nemenyi_statistic: float
    nemenyi_pvalue: float  # of the mean ranks
    wilcoxon_statistic: float
    wilcoxon_pvalue: float  # of the scores
    holm_pvalue: float  # of Wilcoxon's test, corrected for the number of pairs
    significant: bool  # whether they differ by Nemenyi's test


def signed_rank_test(first: Doubles, second: Doubles) -> tuple[float, float]:
    """Wilcoxon's signed-rank test of paired scores; 0 and 1 if no two differ.

    Returns the lower of the two rank sums, and the two-sided p-value. Equal scores are dropped. Up
    to 50 differences the p-value is exact, also with ties; ``scipy.stats.wilcoxon`` uses the normal
    approximation for ties beyond 13 differences. It is used here beyond 50.
    """
    differences = first - second
    differences = differences[differences != 0]
    if len(differences) == 0:
        return 0.0, 1.0
    if len(differences) > MAX_EXACT:
        found = wilcoxon(differences, method="approx")
        return float(found.statistic), float(found.pvalue)
    # mean ranks of ties are halves: doubled, they are whole
    doubled = (2 * rankdata(np.abs(differences))).astype(int)
    above = int(doubled[differences > 0].sum())
    lower = min(above, int(doubled.sum()) - above)
    # the distribution is symmetric, so the tail of the lower sum is the smaller
    chances = np.ones(1)  # probability of each sum of ranks with random signs, from 0 on
    for rank in doubled.tolist():
        chances = 0.5 * (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0)))
    return lower / 2, float(min(1.0, 2 * chances[: lower + 1].sum()))


def cohen_d(leads: Doubles) -> float | None:
    """Mean of paired differences over their standard deviation; None if only that is zero."""
    deviation = float(leads.std(ddof=1))
    # mean and deviation of equal differences may have rounding errors
    if deviation <= 1e-12 * float(np.abs(leads).max(initial=0.0)):
        return None if leads.any() else 0.0
    return float(leads.mean()) / deviation


def rank_biserial(leads: Doubles) -> float:
    r"""Effect size of Wilcoxon's signed-rank test, :math:`(W_+ - W_-) / (W_+ + W_-)`.

    :math:`W_\pm` are the rank sums of positive and negative differences by absolute value; zeros
    are dropped (Kerby, The Simple Difference Formula, 2014). It is 0 if all are zero.
    """
    leads = leads[leads != 0]
    ranks = rankdata(np.abs(leads))
    return float((ranks * np.sign(leads)).sum() / max(1.0, float(ranks.sum())))


def holm(pvalues: Any) -> Doubles:
    r"""Adjust p-values of shape (n_tests,) by the Holm step-down procedure.

    The i-th smallest of m becomes :math:`\max_{j \le i} \min(1, (m - j + 1) p_{(j)})` (Holm, A
    simple sequentially rejective multiple test procedure, 1979). Rejecting those at most alpha
    controls the family-wise error rate at alpha.
    """
    alone: Doubles = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(alone, kind="stable")
    steps = alone[order] * np.arange(len(alone), 0, -1)
    adjusted = np.empty_like(alone)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def compare_pairs(
    scores: Doubles, names: tuple[str, ...], *, greater_is_better: bool, alpha: float
) -> list[MethodPair]:
    """Compare every pair of the methods, whose scores are (n_datasets, n_methods)."""
    n, k = scores.shape
    ranks = rank_rows(scores, greater_is_better)
    pairs = list(combinations(range(k), 2))
    mean_ranks, error = ranks.mean(axis=0), rank_error(n, k)
    apart = np.array([mean_ranks[i] - mean_ranks[j] for i, j in pairs])
    nemenyi = nemenyi_pvalues(np.abs(apart) / error, k)
    signed = [signed_rank_test(scores[:, i], scores[:, j]) for i, j in pairs]
    corrected = holm([pvalue for _, pvalue in signed])
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
                wilcoxon_statistic=signed[number][0],
                wilcoxon_pvalue=signed[number][1],
                holm_pvalue=float(corrected[number]),
                significant=bool(nemenyi[number] < alpha),
            )
        )
    return compared


def escape(text: str) -> str:
    """Escape a text for LaTeX."""
    return re.sub(r"[\\~^&%$#_{}]", lambda letter: LATEX_ESCAPES[letter[0]], text)


def _latex_cells(pair: MethodPair, *, forward: bool, alpha: float) -> list[str]:
    """Wins, mean difference, effect sizes and p-value of a method against the best one."""
    sign = 1 if forward else -1
    wins, losses = (pair.wins, pair.losses) if forward else (pair.losses, pair.wins)
    chance = "< .001" if pair.holm_pvalue < 0.001 else f"{pair.holm_pvalue:.3f}"
    return [
        f"{wins}/{pair.ties}/{losses}",
        f"${sign * pair.advantage:.4f}$",
        "--" if pair.cohen_d is None else f"${sign * pair.cohen_d:.2f}$",
        f"${sign * pair.rank_biserial:.2f}$",
        f"$\\mathbf{{{chance}}}$" if pair.holm_pvalue < alpha else f"${chance}$",
    ]


@set_module("ensemblage.evaluation")
@dataclass(frozen=True)
class MethodComparison:
    """Result of :func:`compare_methods`."""

    methods: tuple[str, ...]
    n_datasets: int
    alpha: float
    friedman_statistic: float
    friedman_pvalue: float
    iman_davenport_statistic: float | None  # None if F is not finite
    iman_davenport_pvalue: float  # if F is not finite, the probability of such agreement
    mean_ranks: dict[str, float]
    critical_value: float  # Nemenyi's: 2.344 for three methods at alpha = 0.05
    critical_difference: float
    pairwise: list[MethodPair]

    def ranking(self) -> list[str]:
        """Sort the methods.

        Returns
        -------
        list of str
            Best mean rank first; ties in the order of ``methods``.
        """
        return sorted(self.methods, key=self.mean_ranks.__getitem__)

    def cliques(self) -> list[tuple[str, ...]]:
        """Group the methods that do not differ significantly by Nemenyi's test.

        Returns
        -------
        list of tuple of str
            Groups of two or more, best first; a method may be in several.
        """
        means = np.array([self.mean_ranks[name] for name in self.methods])
        groups = cliques(means, self.critical_difference)
        return [tuple(self.methods[j] for j in group) for group in groups]

    def to_frame(self) -> Any:
        """Return the pairs as a table.

        Returns
        -------
        pandas.DataFrame
            One row per pair, the fields of ``pairwise`` as columns.
        """
        remedy = "Without it, `pairwise` holds the same rows as a list."
        return require("pandas", "to_frame()", otherwise=remedy).DataFrame(self.pairwise)

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        """Return a LaTeX table of the methods, best first, each compared with the best.

        Parameters
        ----------
        caption : str, default=None
            Caption, as plain text; with a caption or label the table floats.
        label : str, default=None
            LaTeX label.

        Returns
        -------
        str
            A table for the package booktabs: mean rank; then, against the best method, wins, ties
            and losses, mean difference, Cohen's d, rank-biserial correlation, and the p-value of
            Wilcoxon's test with Holm's correction, bold where significant.
        """
        best, *rest = self.ranking()
        table = [[*LATEX_HEADINGS], [escape(best), f"{self.mean_ranks[best]:.2f}", *[""] * 5]]
        for name in rest:
            pair = next(each for each in self.pairwise if {each.first, each.second} == {best, name})
            cells = _latex_cells(pair, forward=pair.first == name, alpha=self.alpha)
            table.append([escape(name), f"{self.mean_ranks[name]:.2f}", *cells])
        head, *body = [" & ".join(cells) + r" \\" for cells in table]
        lines = "\n".join(body)
        written = (
            "\\begin{tabular}{lrrrrrr}\n\\toprule\n"
            f"{head}\n\\midrule\n{lines}\n\\bottomrule\n\\end{{tabular}}\n"
        )
        if caption is None and label is None:
            return written
        above = "" if caption is None else f"\\caption{{{escape(caption)}}}\n"
        named = "" if label is None else f"\\label{{{label}}}\n"
        return f"\\begin{{table}}\n\\centering\n{above}{named}{written}\\end{{table}}\n"

    def sentence(self) -> str:
        """Summarise the tests in plain language.

        Returns
        -------
        str
            One or two sentences.
        """
        best = self.ranking()[0]
        over = f"over {self.n_datasets} datasets"
        chance = f"p = {self.iman_davenport_pvalue:.2g}"
        if self.iman_davenport_pvalue >= self.alpha:
            return (
                f"The {len(self.methods)} methods do not differ significantly {over} ({chance}); "
                f"{best} has the best mean rank, {self.mean_ranks[best]:.2f}."
            )
        start = (
            f"The {len(self.methods)} methods differ {over} ({chance}): {best} has the best mean "
            f"rank, {self.mean_ranks[best]:.2f}"
        )
        worse = {
            pair.second if pair.first == best else pair.first
            for pair in self.pairwise
            if pair.significant and best in {pair.first, pair.second}
        }
        if not worse:
            return (
                f"{start}, but no other method ranks significantly worse than it by Nemenyi's test."
            )
        ordered = [name for name in self.ranking() if name in worse]
        rest = [name for name in self.ranking() if name != best and name not in worse]
        text = f"{start}, significantly better than {listed(ordered)}"
        return f"{text} but not than {listed(rest)}." if rest else f"{text}."


def compare_methods(
    scores: Any,
    *,
    greater_is_better: bool = True,
    alpha: float = 0.05,
    names: Any = None,
    tie_correction: bool = True,
) -> MethodComparison:
    """Test whether methods differ over several datasets, and which ones.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods), DataFrame or mapping
        One score per dataset and method. A pandas or polars DataFrame names the methods by its
        columns, a mapping (method to scores, one per dataset) by its keys.
    greater_is_better : bool, default=True
        False for errors, losses and times.
    alpha : float, default=0.05
        Significance level.
    names : sequence of str, default=None
        Names of the methods, if ``scores`` has none; numbered by default.
    tie_correction : bool, default=True
        Whether Friedman's statistic is corrected for ties. Without it, as in some papers, the test
        has less power where scores are rounded.

    Returns
    -------
    MethodComparison
        ``friedman_statistic`` and ``friedman_pvalue`` of the hypothesis that all methods perform
        equally; ``iman_davenport_statistic`` and ``iman_davenport_pvalue`` of the more powerful
        test, whose F is None where all datasets rank the methods equally; ``mean_ranks`` by method,
        1 for the best; ``critical_difference``, beyond which mean ranks differ significantly by
        Nemenyi's test; and ``pairwise``, an entry per pair of methods: their names, ``first`` and
        ``second``; ``wins``, ``ties`` and ``losses`` of the first; its mean ``advantage`` in score;
        the effect sizes ``cohen_d`` and ``rank_biserial``; and the p-values of Nemenyi
        (``nemenyi_pvalue``), Wilcoxon (``wilcoxon_pvalue``) and Wilcoxon with Holm's correction
        (``holm_pvalue``). ``ranking()`` sorts the methods, ``cliques()`` groups those that do not
        differ significantly, and ``to_frame()``, ``to_latex()`` and ``sentence()`` report the
        result.

    See Also
    --------
    CriticalDifferenceDisplay : Critical-difference diagram.

    Notes
    -----
    The tests are those of Demšar. Datasets must be independent: folds of one dataset are not
    (see ``ensemblage.studies.compare`` for those). If all scores are equal, statistics are 0
    and p-values 1. Below six datasets of at most six methods Friedman's p-value is exact: all
    orders of each dataset's ranks are counted. With two methods Friedman's test is the sign
    test's normal approximation, :math:`(w - l)^2 / (w + l)` of w wins and l losses; Wilcoxon's
    test then has more power.

    References
    ----------
    J. Demšar. Statistical Comparisons of Classifiers over Multiple Data Sets. Journal of Machine
    Learning Research 7, 2006.

    Examples
    --------
    >>> from ensemblage.evaluation import compare_methods
    >>> accuracy = {
    ...     "tree": [0.80, 0.71, 0.92, 0.63, 0.55, 0.78, 0.66, 0.90],
    ...     "forest": [0.85, 0.74, 0.94, 0.69, 0.61, 0.77, 0.73, 0.93],
    ...     "majority": [0.50, 0.60, 0.33, 0.52, 0.51, 0.65, 0.50, 0.40],
    ... }
    >>> found = compare_methods(accuracy)
    >>> found.mean_ranks
    {'tree': 1.875, 'forest': 1.125, 'majority': 3.0}
    >>> print(found.sentence())  # doctest: +NORMALIZE_WHITESPACE
    The 3 methods differ over 8 datasets (p = 1.9e-07): forest has the best mean rank, 1.12,
    significantly better than majority but not than tree.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r} must lie between 0 and 1; the usual value is 0.05.")
    table, columns = read_scores(scores, names)
    n, k = table.shape
    ranks = rank_rows(table, greater_is_better)
    value = nemenyi_critical_value(k, alpha)
    return MethodComparison(
        columns,
        n,
        float(alpha),
        *rank_test(ranks, tie_correction=tie_correction),
        mean_ranks=dict(zip(columns, ranks.mean(axis=0).tolist(), strict=True)),
        critical_value=value,
        critical_difference=value * rank_error(n, k),
        pairwise=compare_pairs(table, columns, greater_is_better=greater_is_better, alpha=alpha),
    )


def read_scores(scores: Any, names: Any) -> tuple[Doubles, tuple[str, ...]]:
    """Validate scores and names; return them as array and tuple."""
    columns: Any = None
    if isinstance(scores, Mapping):
        columns, lengths = list(scores), {name: len(column) for name, column in scores.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"scores has columns of different lengths, {lengths}; give one score per dataset "
                "to each method."
            )
        scores = list(zip(*scores.values(), strict=True))
    elif hasattr(scores, "columns") and hasattr(scores, "to_numpy"):
        columns, scores = list(scores.columns), scores.to_numpy()
    try:
        table = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"scores must be numeric, one per dataset and method: {error}. Drop columns that hold "
            "names, such as those of the datasets."
        ) from None
    if table.ndim != 2:
        raise ValueError(
            f"scores has shape {table.shape}; expected (n_datasets, n_methods): a row per dataset."
        )
    if min(table.shape) < 2:
        raise ValueError(
            f"scores has {table.shape[0]} datasets and {table.shape[1]} methods; there must be at "
            "least 2 rows and 2 columns."
        )
    odd = np.argwhere(~np.isfinite(table))
    if len(odd):
        row, column = odd[0].tolist()
        raise ValueError(
            f"scores holds {table[row, column]} at row {row}, column {column} ({len(odd)} such "
            "values in all); drop datasets on which a method has no score."
        )
    return table, _check_names(columns if names is None else names, table.shape[1])


def _check_names(names: Any, n_methods: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"method {j}" for j in range(n_methods))
    texts = tuple(str(name) for name in names)
    if len(texts) != n_methods:
        raise ValueError(f"names has {len(texts)} entries for {n_methods} methods; give one each.")
    twice = sorted({name for name in texts if texts.count(name) > 1})
    if twice:
        raise ValueError(f"The method {twice[0]!r} occurs more than once; give each its own name.")
    return texts
