"""What a pool predicts, classes or numbers, and what that means for its members."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage.fusion import DensityPool, Fusion, LogPool
from ensemblage.kernels import Normals, normal_log_density
from ensemblage.strata import ClassTarget, NumberTarget

Array = NDArray[np.float64]

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
        return LogPool(ridge=SO_STRONG, floor=FLOOR)

    def prior(self, y: NDArray[np.intp], weights: Array | None) -> Array:
        """Give what is said of a row of which nothing is known, (n_outputs,)."""
        counts = np.bincount(y, weights, minlength=self.n_outputs)
        return np.asarray(counts / counts.sum())

    def out_of_bag(self, said: Array, prior: Array) -> Array:
        """Read a forest's answers; of a row that every tree knows it has none."""
        outputs = np.nan_to_num(said)
        outputs[outputs.sum(axis=1) == 0] = prior
        return outputs

    def staged(self, said: Array, classes: NDArray[np.intp]) -> Array:
        """Read a boosting's answers, (n_stages, n_samples, n_known), of the classes it knows."""
        outputs = np.zeros((*said.shape[:2], self.n_outputs))
        outputs[:, :, classes] = said
        return outputs

    def row_losses(self, outputs: Array, y: NDArray[np.intp]) -> Array:
        """Log loss of each row."""
        true = outputs[np.arange(len(y)), y]
        return np.asarray(-np.log(np.maximum(true, np.finfo(float).tiny)))

    def plain_losses(self, outputs: Array, y: NDArray[np.intp]) -> Array:
        """Loss of each row of a member that is not calibrated."""
        return self.row_losses(outputs, y)

    def score(self, outputs: Array, y: NDArray[np.intp], weights: Array | None) -> float:
        """Give the share of rows whose class is the most probable."""
        return float(np.average(outputs.argmax(axis=1) == y, weights=weights))


class PoolNumbers(NumberTarget):
    """Numbers; members say a mean and a variance."""

    __slots__ = ()

    kept_as = np.float64

    def alone(self) -> Fusion:
        """Give a fusion that calibrates one member."""
        return DensityPool(ridge=SO_STRONG)

    def prior(self, y: Array, weights: Array | None) -> Array:
        """Give what is said of a row of which nothing is known, (n_outputs,)."""
        return np.array([np.average(y, weights=weights), self.scale**2])

    def out_of_bag(self, said: Array, prior: Array) -> Array:
        """Read a forest's answers; of a row that every tree knows it says the mean."""
        return np.column_stack([said, np.full(len(said), prior[1])])

    def staged(self, said: Array, classes: NDArray[Any]) -> Array:
        """Read a boosting's answers, (n_stages, n_samples)."""
        return np.stack([said, np.full(said.shape, self.scale**2)], axis=2)

    def row_losses(self, outputs: Array, y: Array) -> Array:
        """Minus the logarithm of the density of each row."""
        return -normal_log_density(Normals(outputs[:, 0], outputs[:, 1]), y)

    def plain_losses(self, outputs: Array, y: Array) -> Array:
        """Loss of each row of a member that is not calibrated."""
        return self.losses(outputs, y)

    def score(self, outputs: Array, y: Array, weights: Array | None) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(np.average(self.losses(outputs, y), weights=weights)))


PoolTarget: TypeAlias = PoolClasses | PoolNumbers


def log_loss(probabilities: Array, y: NDArray[np.intp], weights: Array | None = None) -> float:
    """Mean log loss of classes, weighted where there are weights."""
    target = PoolClasses(np.arange(probabilities.shape[1]))
    return mean_loss(target.row_losses(probabilities, y), weights)


def mean_loss(losses: Array, weights: Array | None = None) -> float:
    """Average the losses of rows, by weights where there are some."""
    return float(np.average(losses, weights=weights))
