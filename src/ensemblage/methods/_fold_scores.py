"""What a fitted classifier reaches on rows that it has not seen, by every measure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[np.float64]

# A probability of zero for the true class would make the log loss infinite.
SMALLEST = 1e-15


class Scores(Struct, frozen=True):
    """What a cell tells of a fit: every measure, and what it warned of, each once.

    The log loss is None where the model gives no probabilities, the AUC where it gives neither
    these nor a decision function, or where the rows are of one class.
    """

    accuracy: float
    balanced_accuracy: float
    log_loss: float | None
    auc: float | None
    f1: float
    warnings: tuple[str, ...] = ()


class ClassScores(NamedTuple):
    """How strongly a model speaks for each class, of shape (n_rows, n_classes)."""

    values: Array
    classes: NDArray[Any]


def score_predictions(
    model: Any, X: NDArray[Any], y: NDArray[Any], told: Mapping[str, Any] = MappingProxyType({})
) -> Scores:
    """Score a fitted classifier on rows that it has not seen; ``told`` is known beside them."""
    predicted = np.asarray(model.predict(X, **told))
    loss = area = None
    if hasattr(model, "predict_proba"):
        given = ClassScores(np.asarray(model.predict_proba(X, **told)), model.classes_)
        loss, area = log_loss(y, given), auc(y, given)
    elif hasattr(model, "decision_function"):
        area = auc(y, _by_class(np.asarray(model.decision_function(X)), model.classes_))
    return Scores(
        float((predicted == y).mean()), balanced_accuracy(y, predicted), loss, area,
        macro_f1(y, predicted),
    )  # fmt: skip


def balanced_accuracy(y: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Average the recall over the classes that occur in ``y``."""
    # scikit-learn's own warns if a predicted class does not occur; on a small fold it may.
    return float(np.mean([(predicted[y == label] == label).mean() for label in np.unique(y)]))


def macro_f1(y: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Average 2 tp / (2 tp + fp + fn) over the classes that occur or are predicted."""
    labels = np.unique(np.concatenate([y, predicted]))
    both = np.array([((y == label) & (predicted == label)).sum() for label in labels])
    either = np.array([(y == label).sum() + (predicted == label).sum() for label in labels])
    return float((2 * both / either).mean())


def log_loss(y: NDArray[Any], given: ClassScores) -> float:
    """Average the negative log probability of the true class, each at least 1e-15.

    A true class that the model does not know has zero.
    """
    true = np.zeros(len(y))
    for j, label in enumerate(given.classes):
        true[y == label] = given.values[y == label, j]
    return float(-np.log(np.clip(true, SMALLEST, 1.0)).mean())


def auc(y: NDArray[Any], given: ClassScores) -> float | None:
    """Average the area under the ROC curve of each class against the rest, None for one class.

    For a class with p rows among n it is the share of the p (n - p) pairs of a row of the class
    and another in which the first has the higher score; ties count one half. A class that the
    model does not know has one half.
    """
    labels = np.unique(y)
    if len(labels) < 2:
        return None
    columns = dict(zip(given.classes.tolist(), given.values.T, strict=True))
    areas = [
        _area(y == label, columns[label]) if label in columns else 0.5 for label in labels.tolist()
    ]
    return float(np.mean(areas))


def _area(positive: NDArray[np.bool_], scores: Array) -> float:
    inside = int(positive.sum())
    above = rankdata(scores)[positive].sum() - inside * (inside + 1) / 2
    return float(above / (inside * (len(positive) - inside)))


def _by_class(decisions: Array, classes: NDArray[Any]) -> ClassScores:
    """Give each of two classes its column; scikit-learn gives one for both."""
    if decisions.ndim == 1:
        decisions = np.column_stack([-decisions, decisions])
    return ClassScores(decisions, classes)
