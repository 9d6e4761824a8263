"""Scores of a pool by what its own fit has held out: nothing is fitted for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensemblage.datasets import Dataset
from ensemblage.methods._compare import comparison_of
from ensemblage.methods._fold_scores import ClassScores, auc, balanced_accuracy, log_loss, macro_f1
from ensemblage.methods._measures import AUTO
from ensemblage.methods._method import Method
from ensemblage.methods._method_documents import Comparison, MethodScores
from ensemblage.methods._study import MethodPoint, Splits, Study
from ensemblage.parallel import deal_folds

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
    labels = np.asarray(pool.classes_)
    y, said = labels[record.y], np.asarray(record.pooled, dtype=float)
    parts = deal_folds(record.y, pool.cv, np.random.default_rng(0))
    scored = [_scores(said[test], y[test], labels) for _, test in parts]
    names = ("accuracy", "balanced_accuracy", "log_loss", "auc", "f1")
    by_name = dict(zip(names, zip(*scored, strict=True), strict=True))
    methods = (
        MethodScores(
            name=method.name,
            label=method.label,
            ours=method.ours,
            effort=method.effort,
            seconds=(seconds / len(parts),) * len(parts),
            ranks=(),
            failures={},
            warnings={},
            **by_name,
        ),
    )
    point = MethodPoint(method.name, method.label, {}, "")
    splits = Splits(0, 1, len(parts))
    study = Study("train", dataset.name, (dataset.name,), (point,), splits, AUTO)
    return comparison_of(dataset, study, methods, [*dataset.notes, NOTE])


def _scores(said: Any, y: Any, labels: Any) -> tuple[float | None, ...]:
    """Score probabilities by every measure, in the order of their names."""
    predicted, given = labels[said.argmax(axis=1)], ClassScores(said, labels)
    accuracy = float((predicted == y).mean())
    return (
        accuracy, balanced_accuracy(y, predicted), log_loss(y, given), auc(y, given),
        macro_f1(y, predicted),
    )  # fmt: skip
