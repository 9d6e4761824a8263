"""Which methods are significantly worse than the best, and which one to recommend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from ensemblage._core import count, listed
from ensemblage.evaluation import MEASURES, holm
from ensemblage.studies._documents import Choice, MethodScores, SummaryRow

Doubles = NDArray[np.float64]

# Level of the tests, below 0.05, as it is only a guess how much folds correlate.
ALPHA = 0.025
# A method that is behind by more standard errors than these is not taken for being simpler.
CLOSE = 2.0
# Of equally simple methods, one that takes so many times as long as another is not taken.
SLOW = 10.0
# Of more methods than these the number is given instead of the names.
MOST_NAMES = 3


class Design(NamedTuple):
    """How methods were scored: by which measure, on which share of how many rows per fold."""

    measure: str
    share: float
    n_rows: int


class Gap(NamedTuple):
    """How far one method is ahead of another on average, and the standard error of that."""

    mean: float
    error: float
    pvalue: float


def corrected_error(values: Sequence[float | None] | Doubles, share: float) -> float | None:
    """Estimate a mean's standard error, None for fewer than two values; a failed fold has none.

    Folds overlap in their training sets, so that the usual s / sqrt(J) is too small. With J splits
    that test a share t of the rows each, the corrected variance of the mean is
    (1 / J + t / (1 - t)) s² (Nadeau and Bengio, Inference for the generalization error, Machine
    Learning 52, 2003). With k folds t is 1 / k, and t / (1 - t) is 1 / (k - 1).
    """
    known = np.array(values, dtype=float)
    known = known[~np.isnan(known)]
    if len(known) < 2:
        return None
    inflation = 1 / len(known) + share / (1 - share)
    return float(np.sqrt(inflation * known.var(ddof=1)))


def gap_between(ahead: ArrayLike, behind: ArrayLike, design: Design) -> Gap:
    r"""Compare two methods on the same folds: the corrected resampled t-test, two-sided.

    A few folds may agree by chance, in the end all on one row each, and then have hardly any
    variance. Rows judged right or wrong differ by :math:`d \in \{-1, 0, 1\}`, so that a mean
    :math:`g` over n rows has a variance of at least :math:`(|g| - g^2) / n`; the error is never
    less than that allows.
    """
    differences = np.subtract(ahead, behind)
    mean = float(differences.mean())
    error = corrected_error(differences, design.share) or 0.0
    if MEASURES[design.measure].unit == "share":
        error = max(error, float(np.sqrt(max(abs(mean) - mean**2, 0.0) / design.n_rows)))
    if not error:
        return Gap(mean, error, 1.0 if mean == 0 else 0.0)
    return Gap(mean, error, float(2 * student.sf(abs(mean) / error, len(differences) - 1)))


def signed_scores(method: MethodScores, measure: str) -> Doubles:
    """Give a method's scores such that more is better; NaN for those that are not there."""
    sign = 1.0 if MEASURES[measure].greater_is_better else -1.0
    return sign * np.array(method[measure], dtype=float)


def choose(methods: Sequence[MethodScores], design: Design) -> Choice | None:
    """Take the simplest of the methods that are not significantly worse than the best.

    Those are behind the best mean by no more than two standard errors of the difference, or ahead
    of one that is, and no test with Holm's correction tells them apart. A method without a score
    on every fold is not taken; with fewer than two others or folds there is no choice.
    """
    whole = [each for each in methods if None not in each[design.measure]]
    if len(whole) < 2 or whole[0].n_folds < 2:
        return None
    scores = [signed_scores(each, design.measure) for each in whole]
    means = np.mean(scores, axis=1)
    # of equals, the simplest leads; then the one given first
    order = sorted(range(len(means)), key=lambda i: (-means[i], whole[i].effort))
    leader, others = order[0], order[1:]
    gaps = {i: gap_between(scores[leader], scores[i], design) for i in others}
    adjusted = holm([gaps[i].pvalue for i in others])
    alike = [i for i, pvalue in zip(others, adjusted, strict=True) if pvalue >= ALPHA]
    # scores that vary much are not told from the best: nobody ahead of them is left out for that
    close = [k for k, i in enumerate(alike) if gaps[i].mean <= CLOSE * gaps[i].error]
    near = [leader, *alike[: max(close, default=-1) + 1]]
    # least effort; among equals the best that does not take ten times as long as another
    least = min(whole[i].effort for i in near)
    simple = {i: mean(whole[i].seconds) or 0.0 for i in near if whole[i].effort == least}
    taken = next(i for i in simple if simple[i] <= SLOW * min(simple.values()))
    measure, score = MEASURES[design.measure], mean(whole[taken][design.measure]) or 0.0
    start = f"{whole[taken].label} ({measure.label} {measure.written(score)})"
    best, labels = whole[leader], [whole[i].label for i in alike]
    return Choice(
        method=whole[taken].name,
        label=whole[taken].label,
        measure=design.measure,
        score=score,
        leader=best.name,
        clear=not alike,
        not_told_apart=tuple(whole[i].name for i in alike),
        sentence=_sentence(start, whole[taken], best, [whole[i] for i in near], labels),
        detail=_detail(whole, gaps, leader, order[1] if taken == leader else taken, design.measure),
    )


def _sentence(
    shown: str,
    taken: MethodScores,
    best: MethodScores,
    near: Sequence[MethodScores],
    alike: Sequence[str],
) -> str:
    """Say it so that a layperson understands; ``shown`` is the method taken with its score."""
    if taken.effort == 0:
        return (
            f"Take none of them yet: nothing here is clearly better than {shown}; more rows or "
            "other columns may help."
        )
    start = f"Take {shown}: "
    if not alike:
        return f"{start}it is clearly better than every other method here."
    simpler = all(taken.effort < each.effort for each in near if each is not taken)
    if taken is best:
        if len(near) == 1:
            names = count(len(alike), "other") if len(alike) > MOST_NAMES else listed(list(alike))
            return f"{start}it did best, though not clearly better than {names}."
        last = "it is the simplest of them" if simpler else "none of them is simpler"
        return f"{start}it did best of {len(near)} that are about as good, and {last}."
    if taken.effort == best.effort:
        return f"{start}nothing here is clearly better, and it is much faster than {best.label}."
    last = "it is the simplest" if simpler else "nothing as good is simpler"
    return f"{start}nothing here is clearly better, and {last}."


def _detail(
    methods: Sequence[MethodScores],
    gaps: Mapping[int, Gap],
    leader: int,
    other: int,
    measure: str,
) -> str:
    """Give the figures behind the sentence: how far the best and another one are apart."""
    gap, best, written = gaps[other], methods[leader].label, MEASURES[measure].written
    verb = "is ahead of" if gap.mean else "is level with"
    by = f" by {written(gap.mean)}" if gap.mean else ""
    return (
        f"{best[:1].upper()}{best[1:]} {verb} {methods[other].label}{by} on average; two standard "
        f"errors of that are {written(CLOSE * gap.error)}."
    )


def summarised(methods: Sequence[MethodScores], design: Design) -> tuple[SummaryRow, ...]:
    """Means of each method, the best by the measure first, those without a score last."""
    rows = [
        SummaryRow(
            method=each.name,
            label=each.label,
            ours=each.ours,
            score=mean(each[design.measure]),
            score_se=corrected_error(each[design.measure], design.share),
            accuracy_se=corrected_error(each["accuracy"], design.share),
            mean_rank=mean(each.ranks),
            seconds=mean(each.seconds),
            failed_folds=len(each.failures),
            **{name: mean(each[name]) for name in MEASURES},
        )
        for each in methods
    ]
    sign = -1 if MEASURES[design.measure].greater_is_better else 1
    return tuple(sorted(rows, key=lambda row: (row.score is None, sign * (row.score or 0.0))))


def verdict(methods: Sequence[MethodScores], choice: Choice | None, measure: str) -> str:
    """Say in one sentence which method to take, or why none."""
    if choice is not None:
        return choice.sentence
    if methods[0].n_folds == 0:
        return "No fold was computed by every method, so there is nothing to compare."
    if all(len(each.failures) == each.n_folds for each in methods):
        return "Every method failed."
    whole = [each.label for each in methods if None not in each[measure]]
    if not whole:
        label = MEASURES[measure].label
        return f"No method has a value of {label} on every fold: there is none to take."
    if len(whole) > 1:
        return "One fold alone does not show which method to take."
    return f"Only {whole[0]} has a score on every fold; there is nothing to compare it with."


def mean(values: Sequence[float | None]) -> float | None:
    """Average what there is; None if that is nothing."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
