"""Which methods are significantly worse than the best, and which to take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from ensemblage._core import count, listed
from ensemblage.evaluation import MEASURES, Measure, holm
from ensemblage.studies._documents import Choice, MeasureName, MethodScores, SummaryRow
from ensemblage.studies._measures import LABELS, gains, values_of

Doubles = NDArray[np.float64]


ALPHA = 0.025
"""Level of the tests, below 0.05, as it is only a guess how much folds correlate."""
CLOSE = 2.0
"""A method that is behind by more standard errors than these is not taken for being simpler."""
SLOW = 10.0
"""Of equally simple methods, one that takes so many times as long as another is not taken."""
MOST_NAMES = 3
SHOWN = "{score}"


class Design(NamedTuple):
    """How methods were scored: by which measure, on which share of how many rows per fold."""

    measure: MeasureName
    share: float
    n_rows: int


class Candidate(NamedTuple):
    """A method that has a score on every fold; less effort is simpler to fit and to read."""

    name: str
    label: str
    effort: int
    seconds: float
    scores: tuple[float, ...]


class Gap(NamedTuple):
    """How far one method is ahead of another on average, and the standard error of that."""

    mean: float
    error: float
    pvalue: float


# Folds overlap in their training sets, so that the usual s / sqrt(J) is too small. With J splits
# that test a share t of the rows each, the corrected variance of the mean is
# (1 / J + t / (1 - t)) s² (Nadeau and Bengio, Inference for the generalization error, Machine
# Learning 52, 2003). With k folds t is 1 / k, and t / (1 - t) is 1 / (k - 1).
def inflation(n_values: int, share: float) -> float:
    """Give what to multiply the variance of so many values with, each tested on that share."""
    return 1 / n_values + share / (1 - share)


def corrected_error(values: Sequence[float | None] | Doubles, share: float) -> float | None:
    """Estimate a mean's standard error, None for fewer than two values; a failed fold has none."""
    known = np.array(values, dtype=float)
    known = known[~np.isnan(known)]
    if len(known) < 2:
        return None
    return float(np.sqrt(inflation(len(known), share) * known.var(ddof=1)))


def gap_between(ahead: Sequence[float], behind: Sequence[float], design: Design) -> Gap:
    r"""Compare two methods on the same folds: the corrected resampled t-test, two-sided.

    A few folds may agree by chance, in the end all on one row each, and then have hardly any
    spread. Rows judged right or wrong differ by :math:`d \in \{-1, 0, 1\}`, so that a mean
    :math:`g` over n rows has a variance of at least :math:`(|g| - g^2) / n`; the error is never
    less than that allows.
    """
    differences = np.subtract(ahead, behind)
    mean = float(differences.mean())
    error = corrected_error(differences, design.share) or 0.0
    if MEASURES[design.measure].share:
        error = max(error, float(np.sqrt(max(abs(mean) - mean**2, 0.0) / design.n_rows)))
    if not error:
        return Gap(mean, error, 1.0 if mean == 0 else 0.0)
    return Gap(mean, error, float(2 * student.sf(abs(mean) / error, len(differences) - 1)))


def choose(candidates: Sequence[Candidate], design: Design) -> Choice | None:
    """Take the simplest of the methods that cannot be told from the best.

    Those are behind the best mean by no more than two standard errors of the difference, or ahead
    of one that is, and no test with Holm's correction tells them apart. With fewer than two
    candidates or folds there is none.
    """
    if len(candidates) < 2 or len(candidates[0].scores) < 2:
        return None
    turned = [gains(each.scores, design.measure) for each in candidates]
    means = np.mean(turned, axis=1)
    # of equals, the simplest leads; then the one given first
    order = sorted(range(len(means)), key=lambda i: (-means[i], candidates[i].effort))
    leader, others = order[0], order[1:]
    gaps = {i: gap_between(turned[leader], turned[i], design) for i in others}
    adjusted = holm([gaps[i].pvalue for i in others])
    alike = [i for i, pvalue in zip(others, adjusted, strict=True) if pvalue >= ALPHA]
    # scores that vary much are not told from the best: nobody ahead of them is left out for that
    close = [k for k, i in enumerate(alike) if gaps[i].mean <= CLOSE * gaps[i].error]
    near = [leader, *alike[: max(close, default=-1) + 1]]
    taken = _simplest([candidates[i] for i in near])
    best = candidates[leader]
    words = _words(taken, best, [candidates[i] for i in near], [candidates[i] for i in alike])
    measure = MEASURES[design.measure]
    shown = f"{measure.label} {measure.written(float(np.mean(taken.scores)))}"
    return Choice(
        method=taken.name,
        label=taken.label,
        measure=design.measure,
        score=float(np.mean(taken.scores)),
        leader=best.name,
        clear=not alike,
        not_told_apart=tuple(candidates[i].name for i in alike),
        sentence=words.replace(SHOWN, shown),
        detail=_detail(candidates, order, gaps, taken, measure),
    )


def _simplest(near: Sequence[Candidate]) -> Candidate:
    """Take least effort; among equals the best that does not take ten times as long as another."""
    least = min(each.effort for each in near)
    simple = [each for each in near if each.effort == least]
    quickest = min(each.seconds for each in simple)
    return next(each for each in simple if each.seconds <= SLOW * quickest)


def _words(
    taken: Candidate, best: Candidate, near: Sequence[Candidate], alike: Sequence[Candidate]
) -> str:
    """Say it so that a layperson understands; ``SHOWN`` is where the score goes."""
    if taken.effort == 0:
        return (
            f"Take none of them yet: nothing here is clearly better than {taken.label} "
            f"({SHOWN}); more rows or other columns may help."
        )
    start = f"Take {taken.label} ({SHOWN}): "
    if not alike:
        return f"{start}it is clearly better than every other method here."
    simpler = all(taken.effort < each.effort for each in near if each is not taken)
    if taken is best:
        if len(near) == 1:
            return f"{start}it did best, though not clearly better than {_names(alike)}."
        last = "it is the simplest of them" if simpler else "none of them is simpler"
        return f"{start}it did best of {len(near)} that are about as good, and {last}."
    if taken.effort == best.effort:
        return f"{start}nothing here is clearly better, and it is much faster than {best.label}."
    last = "it is the simplest" if simpler else "nothing as good is simpler"
    return f"{start}nothing here is clearly better, and {last}."


def _names(alike: Sequence[Candidate]) -> str:
    if len(alike) > MOST_NAMES:
        return count(len(alike), "other")
    return listed([each.label for each in alike])


def _detail(
    candidates: Sequence[Candidate],
    order: Sequence[int],
    gaps: dict[int, Gap],
    taken: Candidate,
    measure: Measure,
) -> str:
    """Give the figures behind the sentence: how far the best and the next are apart."""
    best = candidates[order[0]]
    other = order[1] if taken is best else candidates.index(taken)
    gap = gaps[other]
    verb = "is ahead of" if gap.mean else "is level with"
    by = f" by {measure.written(gap.mean)}" if gap.mean else ""
    return (
        f"{best.label[:1].upper()}{best.label[1:]} {verb} {candidates[other].label}{by} on "
        f"average; two standard errors of that are {measure.written(CLOSE * gap.error)}."
    )


def summarised(methods: Sequence[MethodScores], design: Design) -> tuple[SummaryRow, ...]:
    """Means of each method, the best by the measure first, those without a score last."""
    rows = [
        SummaryRow(
            method=each.name,
            label=each.label,
            ours=each.ours,
            score=mean(values_of(each, design.measure)),
            score_se=corrected_error(values_of(each, design.measure), design.share),
            accuracy_se=corrected_error(each.accuracy, design.share),
            **{name: mean(values_of(each, name)) for name in MEASURES},
            mean_rank=mean(each.ranks),
            seconds=mean(each.seconds),
            failed_folds=len(each.failures),
        )
        for each in methods
    ]
    sign = -1 if MEASURES[design.measure].greater_is_better else 1
    key = {row.method: (row.score is None, sign * (row.score or 0.0)) for row in rows}
    return tuple(sorted(rows, key=lambda row: key[row.method]))


def chosen(methods: Sequence[MethodScores], design: Design) -> Choice | None:
    """Choose among the methods that have a score on every fold; None if there are not two."""
    candidates = [
        Candidate(each.name, each.label, each.effort, mean(each.seconds) or 0.0, known)
        for each in methods
        if len(known := _known(each, design.measure)) == len(each.usual)
    ]
    return choose(candidates, design)


def verdict(methods: Sequence[MethodScores], choice: Choice | None, measure: str) -> str:
    """Say in one sentence which method to take, or why none."""
    if choice is not None:
        return choice.sentence
    n_folds = len(methods[0].usual)
    if n_folds == 0:
        return "No fold was computed by every method, so there is nothing to compare."
    if all(len(each.failures) == n_folds for each in methods):
        return "Every method failed."
    whole = [each.label for each in methods if len(_known(each, measure)) == n_folds]
    if not whole:
        return f"No method has a value of {LABELS[measure]} on every fold: there is none to take."
    if len(whole) > 1:
        return "One fold alone does not show which method to take."
    return f"Only {whole[0]} has a score on every fold; there is nothing to compare it with."


def _known(method: MethodScores, measure: str) -> tuple[float, ...]:
    return tuple(value for value in values_of(method, measure) if value is not None)


def mean(values: Sequence[float | None]) -> float | None:
    """Average what there is; None if that is nothing."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
