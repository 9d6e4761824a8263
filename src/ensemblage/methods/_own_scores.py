"""Scores of a pool by what its own fit has held out: nothing is fitted for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets import Dataset
from ensemblage.methods._compare import comparison_of
from ensemblage.methods._fold_scores import ClassScores, auc, balanced_accuracy, log_loss, macro_f1
from ensemblage.methods._measures import AUTO
from ensemblage.methods._method import Method
from ensemblage.methods._method_documents import Comparison, MethodScores
from ensemblage.methods._number_answers import NumberAnswers
from ensemblage.methods._number_scores import scores_of_answers
from ensemblage.methods._study import MethodPoint, Splits, Study
from ensemblage.parallel import deal_folds

OF_CLASSES = ("accuracy", "balanced_accuracy", "log_loss", "auc", "f1")
OF_NUMBERS = ("rmse", "mae", "r2", "log_score", "coverage", "width")
NOTE = (
    "The score is of what the pool said of rows that neither its members nor its fusion had seen, "
    "in the folds on which they were tuned; nothing was fitted again for it."
)


def own_comparison(dataset: Dataset, method: Method, pool: Any, seconds: float) -> Comparison:
    """Write a pool's own held-out answers down as a comparison of one method.

    They are scored in as many parts as the pool has folds, which tells how far chance goes.
    """
    told = getattr(pool, "known_sources_", None)
    record = pool.held_out_ if told is None else told.pool.held_out
    parts = deal_folds(record.target.labels(record.y), pool.cv, np.random.default_rng(0))
    score = _class_scores if dataset.classes else _number_scores
    scored = [score(pool, record, test) for _, test in parts]
    return comparison_of_parts(dataset, method, scored, seconds, NOTE)


def comparison_of_parts(
    dataset: Dataset,
    method: Method,
    scored: Sequence[Mapping[str, float | None]],
    seconds: float,
    note: str,
) -> Comparison:
    """Write scores of parts of rows that a fit has not seen down as a comparison of one method."""
    by_name = {name: tuple(each[name] for each in scored) for name in scored[0]}
    methods = (
        MethodScores(
            name=method.name,
            label=method.label,
            ours=method.ours,
            effort=method.effort,
            seconds=(seconds / len(scored),) * len(scored),
            ranks=(),
            failures={},
            warnings={},
            **dict.fromkeys(OF_CLASSES, ()) | by_name,
        ),
    )
    point = MethodPoint(method.name, method.label, {}, "")
    splits = Splits(0, 1, len(scored))
    study = Study("train", dataset.name, (dataset.name,), (point,), splits, AUTO)
    return comparison_of(dataset, study, methods, [*dataset.notes, note])


def _class_scores(pool: Any, record: Any, rows: NDArray[np.intp]) -> dict[str, float | None]:
    """Score probabilities of some rows by every measure."""
    labels, said = np.asarray(pool.classes_), np.asarray(record.pooled[rows], dtype=float)
    y, predicted, given = (
        labels[record.y[rows]],
        labels[said.argmax(axis=1)],
        ClassScores(said, labels),
    )
    accuracy = float((predicted == y).mean())
    scores = (
        accuracy, balanced_accuracy(y, predicted), log_loss(y, given), auc(y, given),
        macro_f1(y, predicted),
    )  # fmt: skip
    return dict(zip(OF_CLASSES, scores, strict=True))


def _number_scores(pool: Any, record: Any, rows: NDArray[np.intp]) -> dict[str, float | None]:
    """Score numbers and their spread; how far intervals reach was learned from these very rows."""
    del pool
    mean, variance = record.pooled[rows].T
    scores = scores_of_answers(NumberAnswers(mean, np.sqrt(variance)), record.y[rows])
    return {name: getattr(scores, name) for name in OF_NUMBERS}
