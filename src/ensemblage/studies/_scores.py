"""Scores of one fold."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.stats import rankdata

from ensemblage.evaluation import interval_coverage, log_score

Doubles = NDArray[np.float64]


REACH = 1.6448536269514722
"""So many standard deviations to each side hold 90 % of a normal distribution."""


class NumberAnswers(NamedTuple):
    """Predicted numbers, each with a standard deviation where the model gives one.

    Where it does, there are intervals that should hold 90 % of the numbers, shape (n_rows, 2).
    """

    predicted: Doubles
    spread: Doubles | None = None
    intervals: Doubles | None = None


def number_answers(model: Any, X: Any, told: Mapping[str, Any]) -> NumberAnswers:
    """Ask a model for numbers, and for their spread if its ``predict`` takes ``return_std``.

    ``told`` is what a prediction takes beside the rows. A spread of zero, as of a constant
    prediction, is none. Intervals are the model's own, by ``predict_interval``, or normal ones.
    """
    from ensemblage._core import final_step, rows_at_final_step  # noqa: PLC0415  scikit-learn

    estimator = final_step(model)
    if "return_std" not in signature(estimator.predict).parameters:
        return NumberAnswers(np.ravel(model.predict(X, **told)).astype(float))
    predicted, spread = (
        np.ravel(each).astype(float) for each in model.predict(X, return_std=True, **told)
    )
    if not (spread > 0).all():
        return NumberAnswers(predicted)
    if hasattr(estimator, "predict_interval"):
        own = estimator.predict_interval(rows_at_final_step(model, X), **told)
        return NumberAnswers(predicted, spread, np.asarray(own, dtype=float))
    reach = REACH * spread
    return NumberAnswers(predicted, spread, np.column_stack([predicted - reach, predicted + reach]))


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

    values: Doubles
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


def _area(positive: NDArray[np.bool_], scores: Doubles) -> float:
    inside = int(positive.sum())
    above = rankdata(scores)[positive].sum() - inside * (inside + 1) / 2
    return float(above / (inside * (len(positive) - inside)))


def _by_class(decisions: Doubles, classes: NDArray[Any]) -> ClassScores:
    """Give each of two classes its column; scikit-learn gives one for both."""
    if decisions.ndim == 1:
        decisions = np.column_stack([-decisions, decisions])
    return ClassScores(decisions, classes)


KEPT_ROWS = 1000
"""Of so many rows of a fold, in equal steps, predictions are kept, to be drawn."""


class KeptAnswers(Struct, frozen=True):
    """Predictions of some rows of a fold, by their places in the fold."""

    places: list[int]
    predicted: list[float]
    intervals: list[tuple[float, float]] | None = None


class NumberScores(Struct, frozen=True):
    """What a cell tells of a fit: every measure, some predictions, and what it warned of.

    The last three measures are None where the model gives no spread.
    """

    rmse: float
    mae: float
    r2: float
    log_score: float | None
    coverage: float | None
    width: float | None
    kept: KeptAnswers
    warnings: tuple[str, ...] = ()


def score_numbers(
    model: Any, X: NDArray[Any], y: Doubles, told: Mapping[str, Any] = MappingProxyType({})
) -> NumberScores:
    """Score a fitted regressor on rows that it has not seen."""
    answers = number_answers(model, X, told)
    if not np.isfinite(answers.predicted).all():
        raise ValueError("the model predicts what is not a finite number")
    return scores_of_answers(answers, y)


def scores_of_answers(answers: NumberAnswers, y: Doubles) -> NumberScores:
    """Score what a model said of rows that it has not seen."""
    predicted, spread, intervals = answers
    missed = y - predicted
    covered = width = None
    score = None if spread is None else log_score(y, predicted, spread)
    if intervals is not None:
        low, high = intervals.T
        covered, width = interval_coverage(y, low, high), float((high - low).mean())
    return NumberScores(
        float(np.sqrt((missed**2).mean())), float(np.abs(missed).mean()), r_squared(y, predicted),
        score, covered, width, _kept(predicted, intervals),
    )  # fmt: skip


def r_squared(y: Doubles, predicted: Doubles) -> float:
    """Give one less the share of the numbers' spread that is missed; 0 if they have none."""
    whole = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - predicted) ** 2).sum()) / whole if whole > 0 else 0.0


def _kept(predicted: Doubles, intervals: Doubles | None) -> KeptAnswers:
    places = np.arange(0, len(predicted), -(-len(predicted) // KEPT_ROWS))
    return KeptAnswers(
        places.tolist(), predicted[places].tolist(),
        None if intervals is None else intervals[places].tolist(),
    )  # fmt: skip
