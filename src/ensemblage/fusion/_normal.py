"""Arithmetic of normal densities: products, mixtures and calibrated variances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.fusion._base import FusionContext

Doubles = NDArray[np.float64]

LOG_TWO_PI = float(np.log(2 * np.pi))
# Candidate weights of a predicted variance against one variance for all rows.
SHARE_GRID = np.arange(11) / 10
# Lower bound of the mean square, relative to the largest squared residual.
MIN_RELATIVE_SIZE = 1e-12
# Weight of the mean over all rows, in rows of a stratum or member.
PRIOR_ROWS = 20.0
# Lower bound of the mean squared residual, in units of the predicted variance.
MIN_VARIANCE_FACTOR = 1e-12


class Normals(NamedTuple):
    """Means and variances, of any one shape."""

    mean: Doubles
    variance: Doubles


def as_normals(outputs: Any) -> Normals:
    """Split outputs (..., 2) into means and variances."""
    outputs = np.asarray(outputs, dtype=float)
    return Normals(outputs[..., 0], outputs[..., 1])


def as_outputs(normals: Normals) -> Doubles:
    return np.stack(normals, axis=-1)


def with_variance(means: Doubles, variance: float) -> Doubles:
    """Make outputs (n_rows, 2) with the same variance in all rows."""
    return np.column_stack([means, np.full(len(means), variance)])


def residual_variance(residuals: Doubles, weights: Doubles | None) -> float:
    """Mean squared residual, above zero."""
    return max(float(np.average(residuals**2, weights=weights)), np.finfo(float).tiny)


def normal_log_density(normals: Normals, y: Doubles) -> Doubles:
    residuals = y - normals.mean
    scaled = residuals * (residuals / normals.variance)
    return np.asarray(-0.5 * (LOG_TWO_PI + np.log(normals.variance) + scaled))


def normal_product(members: Normals, importances: Doubles) -> Normals:
    r"""Product of densities raised to importances, divided by its integral (eq. 10).

    Members have shape (n_members, n_rows), importances (n_members,), non-negative and not all
    zero. With variances :math:`s_k^2` the product is normal, with precision :math:`\sum_k i_k /
    s_k^2` and the precision-weighted mean.
    """
    parts = importances[:, None] / members.variance
    precision = parts.sum(axis=0)
    return Normals((parts * members.mean).sum(axis=0) / precision, 1 / precision)


def normal_mixture(members: Normals, weights: Doubles) -> Normals:
    """Mean and variance of a mixture, by weights (n_rows, n_members) that sum to one."""
    shares = weights.T
    mean = (shares * members.mean).sum(axis=0)
    squares = members.variance + (members.mean - mean) ** 2
    return Normals(mean, (shares * squares).sum(axis=0))


def product_loss(
    members: Normals, y: Doubles, weights: Doubles, importances: Doubles, penalty: float
) -> tuple[float, Doubles]:
    r"""Loss of a product of normal densities, and its gradient in the importances.

    The loss is :math:`-\sum_m w_m \log p(y_m \mid x_m) + \rho \sum_k (i_k - 1/K)^2`. With the
    product's mean :math:`\mu` and precision P, each row adds to the derivative in :math:`i_k`

    .. math:: \frac{w}{2 s_k^2} \Big( (y - \mu_k)^2 - (\mu_k - \mu)^2 - \frac1P \Big) .
    """
    product = normal_product(members, importances)
    deviation = importances - 1 / len(importances)
    loss = -float(weights @ normal_log_density(product, y))
    loss += penalty * float(deviation @ deviation)
    squares = (y - members.mean) ** 2 - (members.mean - product.mean) ** 2 - product.variance
    return loss, 0.5 * (squares / members.variance) @ weights + 2 * penalty * deviation


def squared_residuals(members: Normals, y: Doubles) -> Doubles:
    """Squared residuals in units of the predicted variances, (n_members, n_rows)."""
    residuals = y - members.mean
    return np.asarray(residuals * (residuals / members.variance))


def variance_factors(
    squares: Doubles, weights: Doubles, strata: NDArray[np.intp] | None
) -> Doubles:
    """Factors that calibrate variances to squared residuals, (n_members, n_strata + 1).

    The last column is for all rows; those of strata are shrunk towards it by ``PRIOR_ROWS`` rows.
    """
    whole = squares @ weights / weights.sum()
    if strata is None:
        return np.asarray(np.maximum(whole[:, None], MIN_VARIANCE_FACTOR))
    inside = np.eye(int(strata.max()) + 1)[strata] * weights[:, None]
    # weights are relative to their mean
    unit = weights.mean()
    own = (squares @ inside / unit + PRIOR_ROWS * whole[:, None]) / (
        inside.sum(axis=0) / unit + PRIOR_ROWS
    )
    return np.asarray(np.maximum(np.column_stack([own, whole]), MIN_VARIANCE_FACTOR))


def calibrated(members: Normals, factors: Doubles, context: FusionContext) -> Normals:
    """Multiply the members' variances by the factors of each row's stratum."""
    last = factors.shape[1] - 1
    if last == 0:
        return members._replace(variance=members.variance * factors)
    # a stratum without training rows has the factor of all rows
    strata = np.minimum(np.asarray(context.strata), last)
    return members._replace(variance=members.variance * factors[:, strata])


class VarianceCorrection(NamedTuple):
    """A predicted variance v becomes ``factor`` v + ``offset``."""

    factor: float
    offset: float

    def apply(self, fused: Doubles) -> Doubles:
        """Correct the variances of outputs (n_rows, 2)."""
        return np.column_stack([fused[:, 0], self.factor * fused[:, 1] + self.offset])


def fit_variance_correction(fused: Doubles, y: Doubles, weights: Doubles) -> VarianceCorrection:
    """Mix predicted variances with one for all rows, by the log loss of the residuals."""
    mean, variance = fused.T
    squares = (y - mean) ** 2
    total, level = weights.sum(), float(np.average(variance, weights=weights))
    # relative to the largest, independent of units
    unit = max(float(squares.max()), np.finfo(float).tiny)
    best, found = np.inf, VarianceCorrection(1.0, 0.0)
    for share in SHARE_GRID:
        shape = share * variance / level + (1 - share)
        size = max(float(weights @ (squares / unit / shape)) / total, MIN_RELATIVE_SIZE)
        loss = total * np.log(size) + float(weights @ np.log(shape))
        if loss < best:
            best = loss
            found = VarianceCorrection(
                float(size * unit * share / level), float(size * unit * (1 - share))
            )
    return found
