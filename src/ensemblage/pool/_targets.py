"""What depends on the target of a pool: classes or a numeric one."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage.fusion import (
    Fusion,
    LogLinearPool,
    Normals,
    VarianceCorrection,
    fit_variance_correction,
    normal_log_density,
)
from ensemblage.strata import ClassTarget, NumericTarget

Doubles = NDArray[np.float64]


GROWTHS = np.arange(-16, 17) / 2
"""Logs of how many times as large the variance is at the highest level, to choose from."""


class LevelSpread(NamedTuple):
    """A spread, and how it changes with the level."""

    factor: float
    floor: float
    growth: float
    low: float
    high: float

    def widen(self, fused: Doubles) -> Doubles:
        """Correct variances beside means, (n_rows, 2)."""
        mean, variance = VarianceCorrection(self.factor, self.floor).apply(fused).T
        times = np.exp(self.growth * _levels(mean, self.low, self.high))
        return np.column_stack([mean, variance * times])

    @property
    def is_sound(self) -> bool:
        """Whether every variance comes out finite and above zero."""
        sizes = (self.factor, self.floor)
        above = all(0 <= each < np.inf for each in sizes) and max(sizes) > 0
        steady = abs(self.growth) <= GROWTHS[-1] and np.isfinite([self.low, self.high]).all()
        return bool(above and steady)


def learn_level_spread(fused: Doubles, y: Doubles, weights: Doubles | None) -> LevelSpread:
    """Learn from rows that nobody had seen; without a clear gain the level does not matter.

    A gain is clear if it exceeds its own standard error.
    """
    weights = np.ones(len(y)) if weights is None else weights
    flat = fit_variance_correction(fused, y, weights)
    mean, variance = flat.apply(fused).T
    low, high = float(mean.min()), float(mean.max())
    squares, levels = (y - mean) ** 2 / variance, _levels(mean, low, high)
    shares = weights / weights.sum()
    growth = _clear_growth(squares, levels, shares)
    size = float(shares @ (squares * np.exp(-growth * levels))) if growth else 1.0
    return LevelSpread(size * flat.factor, size * flat.offset, growth, low, high)


def _clear_growth(squares: Doubles, levels: Doubles, shares: Doubles) -> float:
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


def _levels(mean: Doubles, low: float, high: float) -> Doubles:
    if not high > low:
        return np.zeros(len(mean))
    # halves, so that the width of the widest range is finite
    return np.asarray(np.clip((mean / 2 - low / 2) / (high / 2 - low / 2), 0, 1))


FLOOR = 1e-3
"""Share of the classes' frequencies in every member's probabilities."""
SO_STRONG = 1e9
"""With such a ridge the importance of a member alone is one."""


class PoolClasses(ClassTarget):
    """Classes; members say their probabilities, or decision values."""

    __slots__ = ()

    kept_as = np.float32

    def alone(self) -> Fusion:
        """Give a fusion that calibrates one member."""
        return LogLinearPool(weight_penalty=SO_STRONG, prior_weight=FLOOR)

    def prior(self, y: NDArray[np.intp], weights: Doubles | None) -> Doubles:
        """Give what is said of a row of which nothing is known, (n_outputs,)."""
        counts = np.bincount(y, weights, minlength=self.n_outputs)
        return np.asarray(counts / counts.sum())

    def out_of_bag(self, said: Doubles, prior: Doubles) -> Doubles:
        """Read a forest's answers; of a row that every tree knows it has none."""
        outputs = np.nan_to_num(said)
        outputs[outputs.sum(axis=1) == 0] = prior
        return outputs

    def staged(self, said: Doubles, classes: NDArray[np.intp]) -> Doubles:
        """Read a boosting's answers, (n_stages, n_samples, n_known), of the classes it knows."""
        outputs = np.zeros((*said.shape[:2], self.n_outputs))
        outputs[:, :, classes] = said
        return outputs

    def row_losses(self, outputs: Doubles, y: NDArray[np.intp]) -> Doubles:
        """Log loss of each row."""
        true = outputs[np.arange(len(y)), y]
        return np.asarray(-np.log(np.maximum(true, np.finfo(float).tiny)))

    def plain_losses(self, outputs: Doubles, y: NDArray[np.intp]) -> Doubles:
        """Loss of each row of a member that is not calibrated."""
        return self.row_losses(outputs, y)

    def score(self, outputs: Doubles, y: NDArray[np.intp], weights: Doubles | None) -> float:
        """Give the share of rows whose class is the most probable."""
        return float(np.average(outputs.argmax(axis=1) == y, weights=weights))


class PoolNumbers(NumericTarget):
    """Numbers; members say a mean and a variance."""

    __slots__ = ()

    kept_as = np.float64

    def alone(self) -> Fusion:
        """Give a fusion that calibrates one member."""
        return LogLinearPool(weight_penalty=SO_STRONG)

    def prior(self, y: Doubles, weights: Doubles | None) -> Doubles:
        """Give what is said of a row of which nothing is known, (n_outputs,)."""
        return np.array([np.average(y, weights=weights), self.scale**2])

    def out_of_bag(self, said: Doubles, prior: Doubles) -> Doubles:
        """Read a forest's answers; of a row that every tree knows it says the mean."""
        return np.column_stack([said, np.full(len(said), prior[1])])

    def staged(self, said: Doubles, classes: NDArray[Any]) -> Doubles:
        """Read a boosting's answers, (n_stages, n_samples)."""
        return np.stack([said, np.full(said.shape, self.scale**2)], axis=2)

    def row_losses(self, outputs: Doubles, y: Doubles) -> Doubles:
        """Minus the logarithm of the density of each row."""
        return -normal_log_density(Normals(outputs[:, 0], outputs[:, 1]), y)

    def plain_losses(self, outputs: Doubles, y: Doubles) -> Doubles:
        """Loss of each row of a member that is not calibrated."""
        return self.losses(outputs, y)

    def score(self, outputs: Doubles, y: Doubles, weights: Doubles | None) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(np.average(self.losses(outputs, y), weights=weights)))


PoolTarget: TypeAlias = PoolClasses | PoolNumbers


def log_loss(probabilities: Doubles, y: NDArray[np.intp], weights: Doubles | None = None) -> float:
    """Mean log loss of classes, weighted where there are weights."""
    target = PoolClasses(np.arange(probabilities.shape[1]))
    return mean_loss(target.row_losses(probabilities, y), weights)


def mean_loss(losses: Doubles, weights: Doubles | None = None) -> float:
    """Average the losses of rows, by weights where there are some."""
    return float(np.average(losses, weights=weights))
