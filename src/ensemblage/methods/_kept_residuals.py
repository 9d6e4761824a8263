"""What the predictions of compared methods miss, put together from the folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ensemblage.datasets import Dataset
from ensemblage.evaluation import PredictedNumbers, source_residuals
from ensemblage.messages import REGRESSION
from ensemblage.methods._method import Method
from ensemblage.methods._method_documents import Residuals
from ensemblage.methods._number_scores import NumberScores
from ensemblage.methods._study import StudyParams, scores_of
from ensemblage.methods._study_cell import fold_rows
from ensemblage.runs import CellResult

MOST_ROWS = 2000
"""Of more, so many in equal steps are told."""


def kept_residuals(
    dataset: Dataset, method: Method, results: Sequence[CellResult]
) -> Residuals | None:
    """Gather what a method's cells have kept of their first repeat; None if that is nothing."""
    rows, predicted, intervals = [], [], []
    for result in results:
        params, scores = StudyParams.of(result.cell), scores_of(result, REGRESSION)
        if params.method == method.name and params.repeat == 0 and isinstance(scores, NumberScores):
            rows.append(fold_rows(dataset, method, params).test[scores.kept.places])
            predicted.append(scores.kept.predicted)
            intervals.append(scores.kept.intervals)
    if not rows:
        return None
    order = np.argsort(np.concatenate(rows), kind="stable")
    taken = order[:: -(-len(order) // MOST_ROWS)]
    own = np.concatenate(rows)[taken]
    told = [each for each in intervals if each is not None]
    found = PredictedNumbers(
        dataset.y[own],
        np.concatenate(predicted)[taken],
        np.concatenate(told)[taken] if len(told) == len(intervals) else None,
        None if dataset.sources is None else dataset.sources[own],
    )
    return Residuals(
        method=method.name, label=method.label, numbers=tuple(found.y.tolist()),
        predicted=tuple(found.predicted.tolist()),
        intervals=None if found.intervals is None else tuple(map(tuple, found.intervals.tolist())),
        row_sources=None if found.sources is None else tuple(found.sources.tolist()),
        sources=source_residuals(found),
    )  # fmt: skip
