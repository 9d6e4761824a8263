"""What a fitted regressor reaches on rows that it has not seen, by every measure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ensemblage.evaluation import interval_coverage, log_score
from ensemblage.methods._number_answers import NumberAnswers, number_answers

Floats = NDArray[np.float64]

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
    model: Any, X: NDArray[Any], y: Floats, told: Mapping[str, Any] = MappingProxyType({})
) -> NumberScores:
    """Score a fitted regressor on rows that it has not seen."""
    answers = number_answers(model, X, told)
    if not np.isfinite(answers.predicted).all():
        raise ValueError("the model predicts what is not a finite number")
    return scores_of_answers(answers, y)


def scores_of_answers(answers: NumberAnswers, y: Floats) -> NumberScores:
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


def r_squared(y: Floats, predicted: Floats) -> float:
    """Give one less the share of the numbers' spread that is missed; 0 if they have none."""
    whole = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - predicted) ** 2).sum()) / whole if whole > 0 else 0.0


def _kept(predicted: Floats, intervals: Floats | None) -> KeptAnswers:
    places = np.arange(0, len(predicted), -(-len(predicted) // KEPT_ROWS))
    return KeptAnswers(
        places.tolist(), predicted[places].tolist(),
        None if intervals is None else intervals[places].tolist(),
    )  # fmt: skip
