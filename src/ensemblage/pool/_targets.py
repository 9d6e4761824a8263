"""What depends on the target of a pool: classes or a numeric one."""

from __future__ import annotations

from typing import Any, TypeAlias

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

LOG_GROWTH_GRID = np.arange(-16, 17) / 2
"""Log ratios of the variance at the highest prediction to that at the lowest, to choose from."""
PRIOR_WEIGHT = 1e-3
"""Weight of the class frequencies in every member's probabilities."""
FIXED_WEIGHT_PENALTY = 1e9
"""With such a penalty the weight of a single member is one."""


def fit_growing_correction(fused: Doubles, y: Doubles, weights: Doubles | None) -> dict[str, float]:
    """Learn from out-of-fold normals how a variance is corrected, and grows with the mean.

    The variance v becomes (factor v + offset) exp(log_growth t), where t is 0 at the prediction
    ``low`` and 1 at ``high``. There is no growth unless its gain exceeds its standard error.
    """
    weights = np.ones(len(y)) if weights is None else weights
    flat = fit_variance_correction(fused, y, weights)
    mean, variance = flat.apply(fused).T
    low, high = float(mean.min()), float(mean.max())
    squares, levels = (y - mean) ** 2 / variance, _levels(mean, low, high)
    shares = weights / weights.sum()
    growth = _significant_growth(squares, levels, shares)
    size = float(shares @ (squares * np.exp(-growth * levels))) if growth else 1.0
    return {
        "factor": size * flat.factor,
        "offset": size * flat.offset,
        "log_growth": growth,
        "low": low,
        "high": high,
    }


def correct_variance(fused: Doubles, correction: dict[str, float]) -> Doubles:
    """Apply a correction to means and variances, (n_rows, 2)."""
    flat = VarianceCorrection(correction["factor"], correction["offset"])
    mean, variance = flat.apply(fused).T
    levels = _levels(mean, correction["low"], correction["high"])
    return np.column_stack([mean, variance * np.exp(correction["log_growth"] * levels)])


def is_sound_correction(correction: dict[str, float]) -> bool:
    """Tell whether every variance comes out finite and above zero."""
    if set(correction) != {"factor", "offset", "log_growth", "low", "high"}:
        return False
    sizes = (correction["factor"], correction["offset"])
    above = all(0 <= each < np.inf for each in sizes) and max(sizes) > 0
    finite = np.isfinite([correction["low"], correction["high"]]).all()
    return bool(above and finite and abs(correction["log_growth"]) <= LOG_GROWTH_GRID[-1])


def _significant_growth(squares: Doubles, levels: Doubles, shares: Doubles) -> float:
    """Find the log growth of the least log loss; 0 where its gain is not significant."""
    sizes = np.array([shares @ (squares * np.exp(-g * levels)) for g in LOG_GROWTH_GRID])
    if not sizes.min() > 0:  # no residual
        return 0.0
    best = int(np.argmin(np.log(sizes) + LOG_GROWTH_GRID * (shares @ levels)))
    plain, size = sizes[len(LOG_GROWTH_GRID) // 2], sizes[best]
    growth = float(LOG_GROWTH_GRID[best])
    gains = squares / plain - squares * np.exp(-growth * levels) / size - growth * levels
    gains += np.log(plain / size)
    gain = float(shares @ gains)
    return growth if gain > np.sqrt(shares**2 @ (gains - gain) ** 2) else 0.0


def _levels(mean: Doubles, low: float, high: float) -> Doubles:
    if not high > low:
        return np.zeros(len(mean))
    # halves, so that the width of the widest range is finite
    return np.asarray(np.clip((mean / 2 - low / 2) / (high / 2 - low / 2), 0, 1))


class PoolClassTarget(ClassTarget):
    """Classes; members' outputs are probabilities, or decision values."""

    __slots__ = ()

    storage_dtype = np.float32

    def calibrator(self) -> Fusion:
        """Give a fusion that calibrates one member."""
        return LogLinearPool(weight_penalty=FIXED_WEIGHT_PENALTY, prior_weight=PRIOR_WEIGHT)

    def prior_output(self, y: NDArray[np.intp], weights: Doubles | None) -> Doubles:
        """Give the class frequencies, (n_outputs,)."""
        counts = np.bincount(y, weights, minlength=self.n_outputs)
        return np.asarray(counts / counts.sum())

    def outputs_from_oob(self, predicted: Doubles, prior: Doubles) -> Doubles:
        """Read a forest's out-of-bag predictions; a row in every bootstrap has none."""
        outputs = np.nan_to_num(predicted)
        outputs[outputs.sum(axis=1) == 0] = prior
        return outputs

    def outputs_from_stages(self, staged: Doubles, classes: NDArray[np.intp]) -> Doubles:
        """Read staged probabilities, (n_stages, n_samples, len(classes))."""
        outputs = np.zeros((*staged.shape[:2], self.n_outputs))
        outputs[:, :, classes] = staged
        return outputs

    def row_losses(self, outputs: Doubles, y: NDArray[np.intp]) -> Doubles:
        """Log loss of each row."""
        true = outputs[np.arange(len(y)), y]
        return np.asarray(-np.log(np.maximum(true, np.finfo(float).tiny)))

    uncalibrated_losses = row_losses

    def score(self, outputs: Doubles, y: NDArray[np.intp], weights: Doubles | None) -> float:
        """Accuracy."""
        return float(np.average(outputs.argmax(axis=1) == y, weights=weights))


class PoolNumericTarget(NumericTarget):
    """A numeric target; members' outputs are a mean and a variance."""

    __slots__ = ()

    storage_dtype = np.float64

    def calibrator(self) -> Fusion:
        """Give a fusion that calibrates one member."""
        return LogLinearPool(weight_penalty=FIXED_WEIGHT_PENALTY)

    def prior_output(self, y: Doubles, weights: Doubles | None) -> Doubles:
        """Give the mean and variance of the target, (n_outputs,)."""
        return np.array([np.average(y, weights=weights), self.scale**2])

    def outputs_from_oob(self, predicted: Doubles, prior: Doubles) -> Doubles:
        """Put the target's variance beside a forest's out-of-bag predictions."""
        return np.column_stack([predicted, np.full(len(predicted), prior[1])])

    def outputs_from_stages(self, staged: Doubles, classes: NDArray[Any]) -> Doubles:
        """Put the target's variance beside staged predictions, (n_stages, n_samples)."""
        return np.stack([staged, np.full(staged.shape, self.scale**2)], axis=2)

    def row_losses(self, outputs: Doubles, y: Doubles) -> Doubles:
        """Minus the log density of each row."""
        return -normal_log_density(Normals(outputs[:, 0], outputs[:, 1]), y)

    def uncalibrated_losses(self, outputs: Doubles, y: Doubles) -> Doubles:
        """Squared error of each row."""
        return self.losses(outputs, y)

    def score(self, outputs: Doubles, y: Doubles, weights: Doubles | None) -> float:
        """Root mean squared error."""
        return float(np.sqrt(np.average(self.losses(outputs, y), weights=weights)))


PoolTarget: TypeAlias = PoolClassTarget | PoolNumericTarget


def mean_loss(losses: Doubles, weights: Doubles | None = None) -> float:
    """Average the losses of rows, by weights where there are some."""
    return float(np.average(losses, weights=weights))


def log_loss(probabilities: Doubles, y: NDArray[np.intp], weights: Doubles | None = None) -> float:
    """Mean log loss of classes, weighted where there are weights."""
    target = PoolClassTarget(np.arange(probabilities.shape[1]))
    return mean_loss(target.row_losses(probabilities, y), weights)
