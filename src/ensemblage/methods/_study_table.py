"""The table of a declared experiment, and what it shows in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ensemblage.evaluation import compare_methods
from ensemblage.methods._study_file import MEASURES, Declaration, MethodEntry
from ensemblage.runs import CellResult, Plain, ResultRow, ResultTable


def summarise_declared(results: Sequence[CellResult], declared: Declaration) -> list[ResultTable]:
    """Make the table of whatever results there are.

    Parameters
    ----------
    results : sequence of CellResult
        Of the declaration's cells.
    declared : Declaration
        The order of rows and columns.

    Returns
    -------
    list of ResultTable
        One table, a row per dataset and method.
    """
    rows = [
        _row(dataset.name, method, _of(results, dataset.name, method), declared)
        for dataset in declared.datasets
        for method in declared.methods
    ]
    return [
        ResultTable(
            declared.name, declared.title, declared.measure.replace("_", " "), rows,
            summary=_summary(rows, declared), notes=_notes(declared),
            greater_is_better=MEASURES[declared.measure],
        )
    ]  # fmt: skip


def _of(results: Sequence[CellResult], dataset: str, method: MethodEntry) -> list[CellResult]:
    wanted = (dataset, method.name, dict(method.params))
    return [
        each
        for each in results
        if (each.cell.params["dataset"], each.cell.params["method"], each.cell.params["params"])
        == wanted
    ]


def _row(
    dataset: str, method: MethodEntry, results: Sequence[CellResult], declared: Declaration
) -> ResultRow:
    values = [each.values[declared.measure] for each in results if not each.error]
    numbers = np.array([each for each in values if each is not None], dtype=float)
    failed = [each for each in results if each.error]
    return ResultRow(
        dataset, method.label, None,
        float(numbers.mean()) if len(numbers) else None,
        _standard_error(numbers, declared), len(numbers), len(failed), _note(results, values),
    )  # fmt: skip


def _standard_error(values: np.ndarray, declared: Declaration) -> float | None:
    """Of the mean; training sets overlap, so that s / sqrt(J) would be too small.

    With J splits that test a share t of the rows, the corrected variance of the mean is
    (1 / J + t / (1 - t)) s² (Nadeau and Bengio, Machine Learning 52, 2003).
    """
    if len(values) < 2:
        return None
    share = 1 / declared.folds if declared.test_share is None else declared.test_share
    return math.sqrt((1 / len(values) + share / (1 - share)) * float(values.var(ddof=1)))


def _note(results: Sequence[CellResult], values: Sequence[Plain]) -> str:
    errors = [each.error for each in results if each.error]
    if errors:
        return f"{len(errors)} failed: {errors[0]}"
    if values and all(each is None for each in values):
        return "gives no probabilities"
    warned = [each for each in results if each.values.get("warnings")]
    if warned:
        first = next(iter(warned[0].values["warnings"]))
        return f"{len(warned)} of {len(results)} fits warned: {first}"
    return ""


def _notes(declared: Declaration) -> list[str]:
    splits = (
        f"{declared.folds} stratified folds"
        if declared.test_share is None
        else f"a stratified {declared.test_share:.0%} of the rows for testing"
    )
    text = (
        f"{splits[0].upper()}{splits[1:]}, drawn {declared.repeats} times, the same for every "
        f"method; seed {declared.seed}. ± is a standard error, corrected for the overlap of "
        "training sets."
    )
    return [text]


def _summary(rows: Sequence[ResultRow], declared: Declaration) -> list[str]:
    """Say which method comes first, and whether that can be chance."""
    labels = [method.label for method in declared.methods]
    if len(labels) < 2:
        return []
    scores = np.array([row.ours for row in rows], dtype=float).reshape(-1, len(labels))
    whole = scores[~np.isnan(scores).any(axis=1)]
    greater = MEASURES[declared.measure]
    if not len(whole):
        return ["No dataset has values of every method yet, so there is no ranking."]
    if len(whole) == 1:
        # folds of one dataset are no evidence about others, so there is no test
        order = np.argsort(-whole[0] if greater else whole[0], kind="stable")
        first, second = (f"{labels[i]} ({whole[0, i]:.4f})" for i in order[:2])
        return [f"Best mean {declared.measure.replace('_', ' ')}: {first}, then {second}."]
    found = compare_methods(whole, greater_is_better=greater, names=labels)
    left_out = len(scores) - len(whole)
    rest = f"Datasets without values of every method, left out of the ranking: {left_out}."
    return [found.sentence(), *[rest] * bool(left_out)]
