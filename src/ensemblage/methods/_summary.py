"""What the scores of compared methods show: means, ranks, a choice, a verdict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ensemblage.methods._choice import Candidate, choose
from ensemblage.methods._documents import Choice, MethodScores, SummaryRow
from ensemblage.methods._overlap import corrected_error
from ensemblage.methods._registry import METHODS


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
