"""What a fit said, and how good its predictions are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ensemblage.runs._cell import CellResult

# A probability of zero for the true class would make the log loss infinite.
SMALLEST = 1e-15


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Collect what a fit warns of, but for what concerns developers only; filled at the end."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        yield texts
    texts.extend(" ".join(str(each.message).split()) for each in caught)


class Scores(Struct, frozen=True):
    """What a cell tells of a fit: every measure, and what it warned of, each once.

    The log loss is None where the model gives no probabilities.
    """

    accuracy: float
    balanced_accuracy: float
    log_loss: float | None
    warnings: tuple[str, ...] = ()


def scores_of(result: CellResult) -> Scores | None:
    """Read the values of a cell; None if it failed."""
    return None if result.error else msgspec.convert(result.values, Scores)


def score_predictions(model: Any, X: NDArray[Any], y: NDArray[Any]) -> Scores:
    """Score a fitted classifier on rows that it has not seen."""
    predicted = np.asarray(model.predict(X))
    loss = None
    if hasattr(model, "predict_proba"):
        loss = log_loss(y, model.predict_proba(X), model.classes_)
    return Scores(float((predicted == y).mean()), balanced_accuracy(y, predicted), loss)


def balanced_accuracy(y: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Average the recall over the classes that occur in ``y``."""
    # scikit-learn's own warns if a predicted class does not occur; on a small fold it may.
    return float(np.mean([(predicted[y == label] == label).mean() for label in np.unique(y)]))


def log_loss(y: NDArray[Any], probabilities: NDArray[np.float64], classes: NDArray[Any]) -> float:
    """Average the negative log probability of the true class, each at least 1e-15.

    Columns of ``probabilities`` are of ``classes``; a true class that is none of them has zero.
    """
    true = np.zeros(len(y))
    for j, label in enumerate(classes):
        true[y == label] = probabilities[y == label, j]
    return float(-np.log(np.clip(true, SMALLEST, 1.0)).mean())
