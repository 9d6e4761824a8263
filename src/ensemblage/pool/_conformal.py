r"""How improbable a class may be to stay in a prediction set: thresholds on held-out scores.

The score of a row is :math:`1 - p(y)`, the probability that a model gave to all classes but the
true one when it had not seen the row. A set of coverage c has the classes of scores up to the
threshold below which a share c of scores lies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

BORROWED = 20.0
"""The rows of all other sources count as much as so many rows of a source's own."""


class Scored(NamedTuple):
    """Scores of rows, numbers of their sources, and their weights."""

    scores: Array
    sources: Codes
    weights: Array


def held_out_scores(proba: NDArray[np.floating[Any]], y: NDArray[np.intp]) -> Array:
    """Give what a model left to the other classes, for rows that it had not seen."""
    return np.asarray(1 - proba[np.arange(len(y)), y], dtype=float)


def weighted_threshold(scores: Array, weights: Array, coverage: float, spare: float) -> float:
    """Give the smallest score with so much weight at or below it; infinity if there is too little.

    ``spare`` is the weight of the row to come, whose score is not known.
    """
    order = np.argsort(scores, kind="stable")
    needed = coverage * (weights.sum() + spare)
    total = np.cumsum(weights[order])
    # sums of weights are not exact
    place = int(np.searchsorted(total, needed * (1 - 1e-12)))
    return float(scores[order[place]]) if place < len(order) else np.inf


def source_thresholds(rows: Scored, n_sources: int, coverage: float) -> Array:
    """Give each source's threshold, (n_sources,): of its own scores, and of the others' as a few.

    A source's rows weigh one on average, those of the others ``BORROWED`` together, and the row to
    come one: where rows are many, a source has its own coverage, where they are few, that of all.
    """
    found = np.empty(n_sources)
    mean = rows.weights.mean()
    for source in range(n_sources):
        own = rows.sources == source
        others = rows.weights[~own].sum()
        share = BORROWED * mean / others if others > 0 else 0.0
        weights = np.where(own, rows.weights, share * rows.weights) / mean
        found[source] = weighted_threshold(rows.scores, weights, coverage, 1.0)
    return found


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
