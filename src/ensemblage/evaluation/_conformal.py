"""Thresholds of conformal prediction, weighted by source."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

# Total weight of the rows of all other sources, in rows of the source itself.
PRIOR_ROWS = 20.0


def weighted_threshold(scores: Doubles, weights: Doubles, coverage: float, spare: float) -> float:
    """Return the weighted quantile of the scores at ``coverage``; infinity if weight is lacking.

    ``spare`` is the weight of the new row, whose score is unknown.
    """
    order = np.argsort(scores, kind="stable")
    needed = coverage * (weights.sum() + spare)
    total = np.cumsum(weights[order])
    # sums of floating-point weights are not exact
    position = int(np.searchsorted(total, needed * (1 - 1e-12)))
    return float(scores[order[position]]) if position < len(order) else np.inf


def source_thresholds(
    scores: Doubles, sources: Integers, weights: Doubles, n_sources: int, coverage: float
) -> Doubles:
    """Return each source's threshold, (n_sources,), shrunk towards that of the other sources.

    A source's rows have a mean weight of one, those of the others a total weight of ``PRIOR_ROWS``,
    and the new row has weight one. Large sources get a threshold of their own, small ones nearly
    that of all rows.
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
