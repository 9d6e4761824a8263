"""Tests of each method against the best one, and the method to recommend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from ensemblage._core import listed
from ensemblage.evaluation import MEASURES, holm
from ensemblage.studies._documents import Choice, MethodScores, SummaryRow

Doubles = NDArray[np.float64]

# Significance level; below 0.05, since the correlation between folds is not known exactly.
ALPHA = 0.025
# A simpler method is recommended if its mean is within so many standard errors of the best.
MAX_STANDARD_ERRORS = 2.0
# Of equally simple methods, one that takes more than so many times as long as another is skipped.
MAX_SLOWDOWN = 10.0
# A sentence names at most so many methods; of more it gives the count.
MAX_NAMES = 3


class Design(NamedTuple):
    """How methods were scored: the measure, the test share of a split, the number of test rows."""

    measure: str
    share: float
    n_rows: int


class MeanDifference(NamedTuple):
    """Mean difference between two methods' scores, its corrected standard error and p-value."""

    mean: float
    standard_error: float
    pvalue: float


def share_of_fold(folds: int, *, ordered: bool = False) -> float:
    """Share of test rows in a fold; of periods in order, from the mean ratio to the past."""
    if not ordered:
        return 1 / folds
    ratio = float(np.mean(1 / np.arange(1, folds + 1)))
    return ratio / (1 + ratio)


def corrected_standard_error(
    values: Sequence[float | None] | Doubles, share: float
) -> float | None:
    """Return the standard error of a mean over folds; None for fewer than two values.

    Training sets of the folds overlap, so that the usual s / sqrt(J) is too small. With J splits
    that each test a share t of the rows, the corrected variance of the mean is
    (1 / J + t / (1 - t)) s² (Nadeau and Bengio, Inference for the generalization error, Machine
    Learning 52, 2003). With k folds t is 1 / k, and t / (1 - t) is 1 / (k - 1).
    """
    known = np.array(values, dtype=float)
    known = known[~np.isnan(known)]
    if len(known) < 2:
        return None
    inflation = 1 / len(known) + share / (1 - share)
    return float(np.sqrt(inflation * known.var(ddof=1)))


def corrected_t_test(first: ArrayLike, second: ArrayLike, design: Design) -> MeanDifference:
    r"""Compare two methods on the same folds by the corrected resampled t-test, two-sided.

    On few folds the differences may be equal by chance, and their variance zero. Rows judged right
    or wrong differ by :math:`d \in \{-1, 0, 1\}`, so that a mean difference :math:`g` over n rows
    has a variance of at least :math:`(|g| - g^2) / n`: a lower bound of the standard error.
    """
    differences = np.subtract(first, second)
    mean = float(differences.mean())
    error = corrected_standard_error(differences, design.share) or 0.0
    if MEASURES[design.measure].unit == "share":
        error = max(error, float(np.sqrt(max(abs(mean) - mean**2, 0.0) / design.n_rows)))
    if not error:
        return MeanDifference(mean, error, 1.0 if mean == 0 else 0.0)
    pvalue = 2 * student.sf(abs(mean) / error, len(differences) - 1)
    return MeanDifference(mean, error, float(pvalue))


def signed_scores(method: MethodScores, measure: str) -> Doubles:
    """Scores per fold with the sign for which higher is better; NaN where there is none."""
    sign = 1.0 if MEASURES[measure].greater_is_better else -1.0
    return sign * np.array(method[measure], dtype=float)


def choose(methods: Sequence[MethodScores], design: Design) -> Choice | None:
    """Recommend the simplest of the methods that are about as good as the best.

    These are not significantly different from the method with the best mean (corrected resampled
    t-test, Holm's correction), and their mean is within two standard errors of the difference, or
    better than that of one that is. A method needs a score on every fold; with fewer than two such
    methods, or fewer than two folds, there is no recommendation.
    """
    whole = [each for each in methods if None not in each[design.measure]]
    if len(whole) < 2 or whole[0].n_folds < 2:
        return None
    scores = [signed_scores(each, design.measure) for each in whole]
    means = np.mean(scores, axis=1)
    # ties in the mean: the simplest first, then the order given
    order = sorted(range(len(means)), key=lambda i: (-means[i], whole[i].complexity))
    best, others = order[0], order[1:]
    differences = {i: corrected_t_test(scores[best], scores[i], design) for i in others}
    adjusted = holm([differences[i].pvalue for i in others])
    pvalues = dict(zip(others, adjusted, strict=True))
    similar = [i for i in others if pvalues[i] >= ALPHA]
    # a method with a large standard error may be within its limit: those of a better mean stay too
    within = [
        k
        for k, i in enumerate(similar)
        if differences[i].mean <= MAX_STANDARD_ERRORS * differences[i].standard_error
    ]
    near = [best, *similar[: max(within, default=-1) + 1]]
    # least complex; of equally complex ones the best that is not ten times as slow as another
    least = min(whole[i].complexity for i in near)
    simple = {i: mean(whole[i].seconds) or 0.0 for i in near if whole[i].complexity == least}
    chosen = next(i for i in simple if simple[i] <= MAX_SLOWDOWN * min(simple.values()))
    other = order[1] if chosen == best else chosen
    return Choice(
        method=whole[chosen].name,
        label=whole[chosen].label,
        measure=design.measure,
        score=MEASURES[design.measure].mean(whole[chosen][design.measure]) or 0.0,
        best=whole[best].name,
        significant=not similar,
        not_significantly_different=tuple(whole[i].name for i in similar),
        sentence=_sentence(
            whole[chosen], whole[best], [whole[i] for i in near],
            [whole[i].label for i in similar], design.measure,
        ),
        detail=_detail(
            whole[best], whole[other], differences[other], pvalues[other], design.measure
        ),
    )  # fmt: skip


def _sentence(
    chosen: MethodScores,
    best: MethodScores,
    near: Sequence[MethodScores],
    similar: Sequence[str],
    measure: str,
) -> str:
    """Name the recommended method and the rule; ``similar`` are labels of those not different."""
    value, label = MEASURES[measure].mean(chosen[measure]) or 0.0, MEASURES[measure].label
    shown = f"{chosen.label} ({label} {MEASURES[measure].written(value)})"
    if chosen.complexity == 0:
        return (
            f"No method is recommended: none is significantly better than {shown}; more rows or "
            "other columns may help."
        )
    start = f"Recommended: {shown}, "
    if not similar:
        return f"{start}significantly better than every other method."
    if len(near) == 1:
        names = listed(list(similar))
        if len(similar) > MAX_NAMES:
            names = f"{len(similar)} other methods"
        return f"{start}the best mean, though not significantly better than {names}."
    among = f"{len(near)} methods not significantly different and within two standard errors"
    simplest = all(chosen.complexity < each.complexity for each in near if each is not chosen)
    if simplest:
        return f"{start}the {'best and the ' * (chosen is best)}simplest of {among}."
    if chosen is best:
        return f"{start}the best of {among}; none of them is simpler."
    last = ""
    if chosen.complexity == best.complexity:
        last = f", and it is much faster than {best.label}"
    return f"{start}one of {among}; none of them is simpler{last}."


def _detail(
    best: MethodScores,
    other: MethodScores,
    difference: MeanDifference,
    adjusted: float,
    measure: str,
) -> str:
    """Give the difference between the best method and another, with its test."""
    written, label = MEASURES[measure].written, best.label
    text = f"{label[:1].upper()}{label[1:]} is better than {other.label} by "
    text += f"{written(difference.mean)} on average"
    if not difference.mean:
        text = f"{label[:1].upper()}{label[1:]} and {other.label} have the same mean"
    return (
        f"{text} (standard error {written(difference.standard_error)}; corrected resampled t-test "
        f"with Holm's correction, p = {adjusted:.2g})."
    )


def summarised(methods: Sequence[MethodScores], design: Design) -> tuple[SummaryRow, ...]:
    """Mean scores of each method, sorted by the measure; methods without a score last."""
    rows = [
        SummaryRow(
            method=each.name,
            label=each.label,
            ours=each.ours,
            score=MEASURES[design.measure].mean(each[design.measure]),
            score_se=corrected_standard_error(each[design.measure], design.share),
            accuracy_se=corrected_standard_error(each["accuracy"], design.share),
            mean_rank=mean(each.ranks),
            seconds=mean(each.seconds),
            failed_folds=len(each.failures),
            **{name: measure.mean(each[name]) for name, measure in MEASURES.items()},
        )
        for each in methods
    ]
    sign = -1 if MEASURES[design.measure].greater_is_better else 1
    return tuple(sorted(rows, key=lambda row: (row.score is None, sign * (row.score or 0.0))))


def verdict(methods: Sequence[MethodScores], choice: Choice | None, measure: str) -> str:
    """Give the recommendation as one sentence, or the reason why there is none."""
    if choice is not None:
        return choice.sentence
    if methods[0].n_folds == 0:
        return "No fold has results of every method; nothing can be compared."
    if all(len(each.failures) == each.n_folds for each in methods):
        return "Every method failed."
    whole = [each.label for each in methods if None not in each[measure]]
    if not whole:
        label = MEASURES[measure].label
        return f"No method is recommended: none has a value of {label} on every fold."
    if len(whole) > 1:
        return "No method is recommended: tests need two or more folds."
    return f"No method is recommended: only {whole[0]} has a score on every fold."


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are not None; None if there are none."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
