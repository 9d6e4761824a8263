"""What held-out rows teach about fused numbers: how far to trust them and their spread."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHARES = np.arange(11) / 10
"""Of an anchor in the answer, or of the spread told in the variance, to choose from."""
SMALLEST = 1e-12


class LastWord(NamedTuple):
    """Mean and variance of a row become a share of an anchor's, and ``factor`` v + ``floor``."""

    anchor: int
    """Number of the anchor with the least error; the share is 0 where there are none."""
    share: float
    factor: float
    floor: float

    def say(self, fused: Array, anchored: Array) -> Array:
        """Correct means and variances, (n_rows, 2), beside anchors' means, (n_anchors, n_rows)."""
        mean, variance = fused.T
        if self.share > 0:
            mean = (1 - self.share) * mean + self.share * anchored[self.anchor]
        return np.column_stack([mean, self.factor * variance + self.floor])


AS_FUSED = LastWord(0, 0.0, 1.0, 0.0)


def learn_last_word(fused: Array, anchored: Array, y: Array, weights: Array) -> LastWord:
    """Choose on rows that neither members nor fusion have seen."""
    anchor, share = _best_share(fused[:, 0], anchored, y, weights)
    word = LastWord(anchor, share, 1.0, 0.0)
    return word._replace(**learn_spread(word.say(fused, anchored), y, weights)._asdict())


def _best_share(mean: Array, anchored: Array, y: Array, weights: Array) -> tuple[int, float]:
    """Give the best anchor and its share with the least squared error; of equals the largest."""
    if len(anchored) == 0:
        return 0, 0.0
    anchor = int(np.argmin((anchored - y) ** 2 @ weights))
    mixed = np.outer(1 - SHARES, mean) + np.outer(SHARES, anchored[anchor])
    errors = (mixed - y) ** 2 @ weights
    return anchor, float(SHARES[::-1][np.argmin(errors[::-1])])


class Spread(NamedTuple):
    """A variance v that is told becomes ``factor`` v + ``floor``."""

    factor: float
    floor: float

    def widen(self, fused: Array) -> Array:
        """Correct variances beside means, (n_rows, 2)."""
        return np.column_stack([fused[:, 0], self.factor * fused[:, 1] + self.floor])


def learn_spread(fused: Array, y: Array, weights: Array) -> Spread:
    """Mix the variance told with one for all rows, by the least log loss of the residuals."""
    mean, variance = fused.T
    squares = (y - mean) ** 2
    total, level = weights.sum(), float(np.average(variance, weights=weights))
    # relative to the largest, so that units do not matter
    unit = max(float(squares.max()), np.finfo(float).tiny)
    best, found = np.inf, Spread(1.0, 0.0)
    for share in SHARES:
        shape = share * variance / level + (1 - share)
        size = max(float(weights @ (squares / unit / shape)) / total, SMALLEST)
        loss = total * np.log(size) + float(weights @ np.log(shape))
        if loss < best:
            best = loss
            found = Spread(float(size * unit * share / level), float(size * unit * (1 - share)))
    return found
