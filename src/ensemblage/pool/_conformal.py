r"""How far prediction sets and intervals reach: thresholds on held-out scores.

The score of a row is :math:`1 - p(y)`, the probability that a model gave to all classes but the
true one when it had not seen the row. A set of coverage c has the classes of scores up to the
threshold below which a share c of scores lies.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels import Scored, weighted_threshold
from ensemblage.pool._held_out_record import HeldOutRecord

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


def check_coverage(coverage: Any) -> None:
    """Refuse what is no share of rows."""
    if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ValueError(f"coverage={coverage!r} is no share: use a number between 0 and 1.")


def reach(record: HeldOutRecord, coverage: float) -> float:
    """Give how many standard deviations an interval of a number reaches.

    Infinity does not help anyone: where rows are too few, it is the largest that was seen.
    """
    mean, variance = record.pooled.T
    scores = np.abs(record.y - mean) / np.sqrt(variance)
    weights = np.ones(len(scores)) if record.weights is None else record.weights
    found = weighted_threshold(scores, weights / weights.mean(), coverage, 1.0)
    return found if np.isfinite(found) else float(scores.max())


def held_out_scores(proba: NDArray[np.floating[Any]], y: NDArray[np.intp]) -> Array:
    """Give what a model left to the other classes, for rows that it had not seen."""
    return np.asarray(1 - proba[np.arange(len(y)), y], dtype=float)


def new_source_threshold(rows: Scored, coverage: float) -> float:
    """Give the threshold for a new source: of scores with the source left out, each as heavy."""
    totals = np.bincount(rows.sources, rows.weights)
    weights = rows.weights / totals[rows.sources]
    return weighted_threshold(rows.scores, weights, coverage, 0.0)


def in_set(proba: Array, thresholds: Array) -> NDArray[np.bool_]:
    """Tell which classes are in each row's set: the most probable, and all up to its threshold."""
    inside = 1 - proba <= thresholds[:, None]
    inside[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return np.asarray(inside)
