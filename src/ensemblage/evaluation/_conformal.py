"""Thresholds of conformal prediction, weighted by source."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

# The rows of all other sources count as much as so many rows of a source's own.
PRIOR_ROWS = 20.0


def weighted_threshold(scores: Doubles, weights: Doubles, coverage: float, spare: float) -> float:
    """Give the smallest score with so much weight at or below it; infinity if there is too little.

    ``spare`` is the weight of the row to come, whose score is not known.
    """
    order = np.argsort(scores, kind="stable")
    needed = coverage * (weights.sum() + spare)
    total = np.cumsum(weights[order])
    # sums of weights are not exact
    place = int(np.searchsorted(total, needed * (1 - 1e-12)))
    return float(scores[order[place]]) if place < len(order) else np.inf


def source_thresholds(
    scores: Doubles, sources: Integers, weights: Doubles, n_sources: int, coverage: float
) -> Doubles:
    """Give each source's threshold, (n_sources,): of its own scores, and of the others' as a few.

    A source's rows weigh one on average, those of the others ``PRIOR_ROWS`` together, and the row
    to come one: where rows are many, a source has its own coverage, where few, that of all.
    """
    found = np.empty(n_sources)
    mean = weights.mean()
    for source in range(n_sources):
        own = sources == source
        others = weights[~own].sum()
        share = PRIOR_ROWS * mean / others if others > 0 else 0.0
        shared = np.where(own, weights, share * weights) / mean
        found[source] = weighted_threshold(scores, shared, coverage, 1.0)
    return found
