r"""A spread that may grow with what is predicted: prices are known to a share of themselves.

A variance :math:`v` told beside a mean :math:`m` becomes :math:`(f v + b)\, e^{g t}`, where
:math:`t = (m - l) / (h - l)`, kept between 0 and 1, says how high m lies between the lowest mean
and the highest one of the rows that were learned from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.strata import Spread, learn_spread

Array = NDArray[np.float64]

GROWTHS = np.arange(-16, 17) / 2
"""Logs of how many times as large the variance is at the highest level, to choose from."""


class LevelSpread(NamedTuple):
    """A spread, and how it changes with the level."""

    factor: float
    floor: float
    growth: float
    low: float
    high: float

    def widen(self, fused: Array) -> Array:
        """Correct variances beside means, (n_rows, 2)."""
        mean, variance = Spread(self.factor, self.floor).widen(fused).T
        times = np.exp(self.growth * _levels(mean, self.low, self.high))
        return np.column_stack([mean, variance * times])

    @property
    def is_sound(self) -> bool:
        """Whether every variance comes out finite and above zero."""
        sizes = (self.factor, self.floor)
        above = all(0 <= each < np.inf for each in sizes) and max(sizes) > 0
        steady = abs(self.growth) <= GROWTHS[-1] and np.isfinite([self.low, self.high]).all()
        return bool(above and steady)


def learn_level_spread(fused: Array, y: Array, weights: Array | None) -> LevelSpread:
    """Learn from rows that nobody had seen; without a clear gain the level does not matter.

    A gain is clear if it exceeds its own standard error.
    """
    weights = np.ones(len(y)) if weights is None else weights
    flat = learn_spread(fused, y, weights)
    mean, variance = flat.widen(fused).T
    low, high = float(mean.min()), float(mean.max())
    squares, levels = (y - mean) ** 2 / variance, _levels(mean, low, high)
    shares = weights / weights.sum()
    growth = _clear_growth(squares, levels, shares)
    size = float(shares @ (squares * np.exp(-growth * levels))) if growth else 1.0
    return LevelSpread(size * flat.factor, size * flat.floor, growth, low, high)


def _clear_growth(squares: Array, levels: Array, shares: Array) -> float:
    """Find the growth of the least log loss, or 0."""
    sizes = np.array([shares @ (squares * np.exp(-g * levels)) for g in GROWTHS])
    if not sizes.min() > 0:  # nothing was off
        return 0.0
    best = int(np.argmin(np.log(sizes) + GROWTHS * (shares @ levels)))
    plain, size, growth = sizes[len(GROWTHS) // 2], sizes[best], float(GROWTHS[best])
    gains = squares / plain - squares * np.exp(-growth * levels) / size - growth * levels
    gains += np.log(plain / size)
    gain = float(shares @ gains)
    return growth if gain > np.sqrt(shares**2 @ (gains - gain) ** 2) else 0.0


def _levels(mean: Array, low: float, high: float) -> Array:
    if not high > low:
        return np.zeros(len(mean))
    # halves, so that the width of the widest range is finite
    return np.asarray(np.clip((mean / 2 - low / 2) / (high / 2 - low / 2), 0, 1))
