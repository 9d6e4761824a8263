"""What the scores of compared methods show: means, ranks, which to choose, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from ensemblage.evaluation import holm
from ensemblage.methods._method_documents import Choice, MethodScores, SummaryRow
from ensemblage.methods._registry import METHODS

Array = NDArray[np.float64]

MARGIN = 0.01
"""A difference in accuracy that few users would pay for."""
ALPHA = 0.05
DRAWS = 20_000
SURENESS = ((0.95, "quite sure"), (0.8, "fairly sure"), (0.6, "not very sure"))
MOST_NAMES = 3


class Candidate(NamedTuple):
    """A method that has a score on every fold; less effort is simpler to fit and to read."""

    name: str
    label: str
    effort: int
    accuracy: tuple[float, ...]


# Folds overlap in their training sets, so that the usual s / sqrt(J) is too small. With J splits
# that test a share t of the rows each, the corrected variance of the mean is
# (1 / J + t / (1 - t)) s² (Nadeau and Bengio, Inference for the generalization error, Machine
# Learning 52, 2003). With k folds t is 1 / k, and t / (1 - t) is 1 / (k - 1).
def inflation(n_values: int, share: float) -> float:
    """Give what to multiply the variance of so many values with, each tested on that share."""
    return 1 / n_values + share / (1 - share)


def corrected_error(values: Sequence[float | None] | Array, share: float) -> float | None:
    """Estimate a mean's standard error, None for fewer than two values; a failed fold has none."""
    known = np.array(values, dtype=float)
    known = known[~np.isnan(known)]
    if len(known) < 2:
        return None
    return float(np.sqrt(inflation(len(known), share) * known.var(ddof=1)))


def corrected_pvalue(differences: Array, share: float) -> float:
    """Test paired differences, two-sided: the corrected resampled t-test; 1 if none differs."""
    gap, error = float(differences.mean()), corrected_error(differences, share)
    if not error:
        return 1.0 if gap == 0 else 0.0
    return float(2 * student.sf(abs(gap) / error, len(differences) - 1))


def chances(accuracy: Array, share: float, chosen: int, margins: Sequence[float]) -> list[float]:
    r"""Chance that no other method is better than the chosen one, by more than each margin.

    The joint form of the Bayesian correlated t-test (Corani and Benavoli, A Bayesian approach for
    comparing cross-validated algorithms on multiple data sets, Machine Learning 100, 2015): given
    the folds (``accuracy`` is of shape (n_methods, n_folds)), the true means follow a multivariate
    t distribution with J - 1 degrees of freedom around the observed means, its scale the
    covariance of the folds times the inflation by their overlap. All methods are drawn at once, so
    their number is accounted for. The draws are always the same ones.
    """
    n_folds = accuracy.shape[1]
    gaps = accuracy - accuracy[chosen]
    values, vectors = np.linalg.eigh(inflation(n_folds, share) * np.cov(gaps))
    spread = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((len(gaps), DRAWS))
    scale = np.sqrt((n_folds - 1) / rng.chisquare(n_folds - 1, DRAWS))
    drawn = gaps.mean(axis=1)[:, None] + (spread @ normal) * scale
    drawn[chosen] = 0.0
    # rounding must not make a method that never differs seem better
    return [float((drawn.max(axis=0) <= margin + 1e-9).mean()) for margin in margins]


def choose(candidates: Sequence[Candidate], share: float) -> Choice | None:
    """Choose the most accurate method, or a simpler one that is about as good.

    A simpler method is preferred if it is behind by no more than the corrected standard error of
    the difference, and by no more than 0.01. Fewer than two candidates or folds leave no choice.
    ``share`` is that of the rows tested in each fold.
    """
    if len(candidates) < 2 or len(candidates[0].accuracy) < 2:
        return None
    accuracy = np.array([each.accuracy for each in candidates])
    means = accuracy.mean(axis=1)
    # of equals, the simplest leads; then the one given first
    order = sorted(range(len(means)), key=lambda i: (-means[i], candidates[i].effort))
    leader = order[0]
    chosen = _simplest(candidates, accuracy, order, share)
    others = [i for i in order if i != chosen]
    tests = holm([corrected_pvalue(accuracy[i] - accuracy[chosen], share) for i in others])
    close = [i for i, pvalue in zip(others, tests, strict=True) if pvalue >= ALPHA]
    best, within = chances(accuracy, share, chosen, (0.0, MARGIN))
    words = [
        _start(candidates, accuracy, (chosen, leader), share),
        _sureness(best, within),
        _apart([candidates[i].label for i in close], len(others)),
    ]
    return Choice(
        method=candidates[chosen].name,
        label=candidates[chosen].label,
        accuracy=float(means[chosen]),
        leader=candidates[leader].name,
        chance_best=best,
        chance_within_margin=within,
        margin=MARGIN,
        not_told_apart=tuple(candidates[i].name for i in close),
        sentence="; ".join(words) + ".",
    )


def _simplest(
    candidates: Sequence[Candidate], accuracy: Array, order: list[int], share: float
) -> int:
    leader = order[0]

    def about_as_good(i: int) -> bool:
        gaps = accuracy[leader] - accuracy[i]
        return bool(gaps.mean() <= min(MARGIN, corrected_error(gaps, share) or 0.0))

    near = [i for i in order if i == leader or about_as_good(i)]
    # the order is kept among equally simple ones: the more accurate first
    return min(near, key=lambda i: candidates[i].effort)


def _start(
    candidates: Sequence[Candidate], accuracy: Array, first: tuple[int, int], share: float
) -> str:
    """Name the chosen one of the two, and why it is that rather than the leader."""
    chosen, leader = first
    start = f"Choose {candidates[chosen].label} (mean accuracy {accuracy[chosen].mean():.4f})"
    if chosen == leader:
        means = accuracy.mean(axis=1)
        equals = int((means >= means[leader]).sum()) - 1
        shared = f", with {equals} more as accurate" if equals else ""
        return f"{start}, the most accurate of {len(candidates)} methods{shared}"
    gaps = accuracy[leader] - accuracy[chosen]
    return (
        f"{start}, as it is simpler than {candidates[leader].label}, whose lead of "
        f"{gaps.mean():.4f} is within the standard error ({corrected_error(gaps, share):.4f})"
    )


def _sureness(best: float, within: float) -> str:
    word = next((text for least, text in SURENESS if within >= least), "far from sure")
    return (
        f"this is {word}: the chance that no other method is better by more than {MARGIN} is "
        f"{_percent(within)}, that none is better at all {_percent(best)}"
    )


def _apart(close: list[str], n_others: int) -> str:
    if not close:
        return "a paired test tells it apart from every other"
    if len(close) > MOST_NAMES:
        return f"a paired test does not tell it apart from {len(close)} of the {n_others} others"
    listed = close[0] if len(close) == 1 else f"{', '.join(close[:-1])} and {close[-1]}"
    return f"a paired test does not tell it apart from {listed}"


def _percent(share: float) -> str:
    """Write a chance; draws and folds do not show that anything is certain."""
    return "above 99 %" if share > 0.99 else "below 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def summarised(methods: Sequence[MethodScores], share: float) -> tuple[SummaryRow, ...]:
    """Means of each method, the best mean rank first, at equal rank the more accurate.

    ``share`` is that of the rows tested in each fold.
    """
    rows = [
        SummaryRow(
            method=each.name,
            label=each.label,
            ours=each.ours,
            accuracy=mean(each.accuracy),
            accuracy_se=corrected_error(each.accuracy, share),
            balanced_accuracy=mean(each.balanced_accuracy),
            log_loss=mean(each.log_loss),
            mean_rank=mean(each.ranks),
            seconds=mean(each.seconds),
            failed_folds=len(each.failures),
        )
        for each in methods
    ]
    return tuple(sorted(rows, key=lambda row: (row.mean_rank or 0.0, -(row.accuracy or 0.0))))


def chosen(methods: Sequence[MethodScores], share: float) -> Choice | None:
    """Choose among the methods that have a score on every fold; None if there are not two."""
    candidates = [
        Candidate(each.name, each.label, _effort(each.name), known)
        for each in methods
        if len(known := tuple(x for x in each.accuracy if x is not None)) == len(each.accuracy)
    ]
    return choose(candidates, share)


def verdict(methods: Sequence[MethodScores], choice: Choice | None) -> str:
    """Say in one sentence which method to choose, or why none."""
    if choice is not None:
        return choice.sentence
    n_folds = len(methods[0].accuracy)
    if n_folds == 0:
        return "No fold was computed by every method, so there is nothing to compare."
    if all(len(each.failures) == n_folds for each in methods):
        return "Every method failed."
    whole = [each.label for each in methods if None not in each.accuracy]
    if not whole:
        return "No method has a score on every fold, so there is none to choose."
    if len(whole) > 1:
        return "One fold alone does not show which method to choose."
    return f"Only {whole[0]} has a score on every fold; there is nothing to compare it with."


def mean(values: Sequence[float | None]) -> float | None:
    """Average what there is; None if that is nothing."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _effort(name: str) -> int:
    return METHODS[name].effort if name in METHODS else 0
