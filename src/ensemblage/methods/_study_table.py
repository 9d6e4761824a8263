"""The table of a study, and what it shows in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ensemblage.evaluation import compare_methods
from ensemblage.methods._overlap import corrected_error
from ensemblage.methods._study import MethodPoint, Study, StudyParams
from ensemblage.runs import MEASURES, CellResult, ResultRow, ResultTable, Scores, scores_of


def summarise_study(results: Sequence[CellResult], study: Study) -> list[ResultTable]:
    """Make one table, a row per dataset and method, of whatever results there are."""
    rows = [
        _row(dataset, method, _of(results, dataset, method), study)
        for dataset in study.datasets
        for method in study.methods
    ]
    return [
        ResultTable(
            study.name, study.title, study.measure.replace("_", " "), rows,
            summary=_summary(rows, study), notes=_notes(study),
            greater_is_better=MEASURES[study.measure],
        )
    ]  # fmt: skip


def _of(results: Sequence[CellResult], dataset: str, method: MethodPoint) -> list[CellResult]:
    def wanted(result: CellResult) -> bool:
        params = StudyParams.of(result.cell)
        own = (params.dataset, params.method, params.params)
        return own == (dataset, method.name, dict(method.params))

    return [each for each in results if wanted(each)]


def _row(
    dataset: str, method: MethodPoint, results: Sequence[CellResult], study: Study
) -> ResultRow:
    scores = [each for each in map(scores_of, results) if each is not None]
    values = [getattr(each, study.measure) for each in scores]
    numbers = np.array([each for each in values if each is not None], dtype=float)
    errors = [each.error for each in results if each.error]
    silent = bool(values) and not len(numbers)
    return ResultRow(
        dataset, method.label, None,
        float(numbers.mean()) if len(numbers) else None,
        corrected_error(numbers, study.splits.share), len(numbers), len(errors),
        "gives no probabilities" if silent and not errors else _note(errors, scores),
    )  # fmt: skip


def _note(errors: Sequence[str], scores: Sequence[Scores]) -> str:
    if errors:
        return f"{len(errors)} failed: {errors[0]}"
    warned = [each.warnings[0] for each in scores if each.warnings]
    return f"{len(warned)} of {len(scores)} fits warned: {warned[0]}" if warned else ""


def _notes(study: Study) -> list[str]:
    splits = study.splits
    kind = (
        f"{splits.folds} stratified folds"
        if splits.test_share is None
        else f"A stratified {splits.test_share:.0%} of the rows for testing"
    )
    text = (
        f"{kind}, drawn {splits.repeats} times, the same for every method; seed {splits.seed}. "
        "± is a standard error, corrected for the overlap of training sets."
    )
    return [text]


def _summary(rows: Sequence[ResultRow], study: Study) -> list[str]:
    """Say which method comes first, and whether that can be chance."""
    labels = [method.label for method in study.methods]
    if len(labels) < 2:
        return []
    scores = np.array([row.ours for row in rows], dtype=float).reshape(-1, len(labels))
    whole = scores[~np.isnan(scores).any(axis=1)]
    greater = MEASURES[study.measure]
    if not len(whole):
        return ["No dataset has values of every method yet, so there is no ranking."]
    if len(whole) == 1:
        # folds of one dataset are no evidence about others, so there is no test
        order = np.argsort(-whole[0] if greater else whole[0], kind="stable")
        first, second = (f"{labels[i]} ({whole[0, i]:.4f})" for i in order[:2])
        return [f"Best mean {study.measure.replace('_', ' ')}: {first}, then {second}."]
    found = compare_methods(whole, greater_is_better=greater, names=labels)
    left_out = len(scores) - len(whole)
    rest = f"Datasets without values of every method, left out of the ranking: {left_out}."
    return [found.sentence(), *[rest] * bool(left_out)]
