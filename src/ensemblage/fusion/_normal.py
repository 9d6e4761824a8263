"""Arithmetic of normal densities: products, mixtures and calibrated variances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.fusion._base import FusionContext

Doubles = NDArray[np.float64]


SHARES = np.arange(11) / 10
MIN_RELATIVE_SIZE = 1e-12


class Spread(NamedTuple):
    """A variance v that is told becomes ``factor`` v + ``floor``."""

    factor: float
    floor: float

    def widen(self, fused: Doubles) -> Doubles:
        """Correct variances beside means, (n_rows, 2)."""
        return np.column_stack([fused[:, 0], self.factor * fused[:, 1] + self.floor])


def learn_spread(fused: Doubles, y: Doubles, weights: Doubles) -> Spread:
    """Mix the variance told with one for all rows, by the least log loss of the residuals."""
    mean, variance = fused.T
    squares = (y - mean) ** 2
    total, level = weights.sum(), float(np.average(variance, weights=weights))
    # relative to the largest, so that units do not matter
    unit = max(float(squares.max()), np.finfo(float).tiny)
    best, found = np.inf, Spread(1.0, 0.0)
    for share in SHARES:
        shape = share * variance / level + (1 - share)
        size = max(float(weights @ (squares / unit / shape)) / total, MIN_RELATIVE_SIZE)
        loss = total * np.log(size) + float(weights @ np.log(shape))
        if loss < best:
            best = loss
            found = Spread(float(size * unit * share / level), float(size * unit * (1 - share)))
    return found


LOG_TWO_PI = float(np.log(2 * np.pi))


class Normals(NamedTuple):
    """Means and variances, of any one shape."""

    mean: Doubles
    variance: Doubles


def normal_log_density(normals: Normals, y: Doubles) -> Doubles:
    """Logarithm of the densities at y."""
    gap = y - normals.mean
    scaled = gap * (gap / normals.variance)
    return np.asarray(-0.5 * (LOG_TWO_PI + np.log(normals.variance) + scaled))


def normal_product(members: Normals, importances: Doubles) -> Normals:
    r"""Give the product of densities raised to importances, divided by its integral (eq. 10).

    Members are of shape (n_members, n_rows), importances (n_members,), not negative and not all
    zero. With variances :math:`s_k^2` it is again normal: its precision is :math:`\sum_k i_k /
    s_k^2`, and its mean that of the members, weighted by their parts of the precision.
    """
    parts = importances[:, None] / members.variance
    precision = parts.sum(axis=0)
    return Normals((parts * members.mean).sum(axis=0) / precision, 1 / precision)


def normal_mixture(members: Normals, weights: Doubles) -> Normals:
    """Give mean and variance of a mixture, by weights (n_rows, n_members) that add up to one."""
    shares = weights.T
    mean = (shares * members.mean).sum(axis=0)
    spread = members.variance + (members.mean - mean) ** 2
    return Normals(mean, (shares * spread).sum(axis=0))


def product_loss(
    members: Normals, y: Doubles, weights: Doubles, importances: Doubles, ridge: float
) -> tuple[float, Doubles]:
    r"""Loss of a product of normal densities, and its slope in the importances.

    The loss is :math:`-\sum_m w_m \log p(y_m \mid x_m) + \rho \sum_k (i_k - 1/K)^2`. With the
    product's mean :math:`\mu` and precision P, a row adds to the slope in :math:`i_k`

    .. math:: \frac{w}{2 s_k^2} \Big( (y - \mu_k)^2 - (\mu_k - \mu)^2 - \frac1P \Big) .
    """
    product = normal_product(members, importances)
    pull = importances - 1 / len(importances)
    loss = -float(weights @ normal_log_density(product, y)) + ridge * float(pull @ pull)
    gaps = (y - members.mean) ** 2 - (members.mean - product.mean) ** 2 - product.variance
    return loss, 0.5 * (gaps / members.variance) @ weights + 2 * ridge * pull


BORROWED = 20.0
"""What is known of all rows counts as much as so many rows of a stratum."""
MIN_RESIDUAL_SHARE = 1e-12
"""A residual is never so small that less than this share of the variance said is left."""


def as_normals(outputs: Any) -> Normals:
    """Read means and variances of shape (n_members, n_rows) from members' outputs."""
    outputs = np.asarray(outputs, dtype=float)
    return Normals(outputs[..., 0], outputs[..., 1])


def as_outputs(normals: Normals) -> Doubles:
    """Lay means and variances side by side, on the last axis."""
    return np.stack(normals, axis=-1)


def squared_residuals(members: Normals, y: Doubles) -> Doubles:
    """Squared residuals in units of the variances that members said, (n_members, n_rows)."""
    gap = y - members.mean
    return np.asarray(gap * (gap / members.variance))


def spread_factors(squares: Doubles, weights: Doubles, strata: NDArray[np.intp] | None) -> Doubles:
    """Learn what variances are to be multiplied by, (n_members, n_strata + 1).

    The last column is of all rows, and each stratum's is drawn towards it as by ``BORROWED`` rows.
    """
    whole = squares @ weights / weights.sum()
    if strata is None:
        return np.asarray(np.maximum(whole[:, None], MIN_RESIDUAL_SHARE))
    inside = np.eye(int(strata.max()) + 1)[strata] * weights[:, None]
    # weights are relative to the mean, so that a row counts as one
    unit = weights.mean()
    own = (squares @ inside / unit + BORROWED * whole[:, None]) / (
        inside.sum(axis=0) / unit + BORROWED
    )
    return np.asarray(np.maximum(np.column_stack([own, whole]), MIN_RESIDUAL_SHARE))


def calibrated(members: Normals, factors: Doubles, context: FusionContext) -> Normals:
    """Multiply the members' variances by the factors of each row's stratum."""
    last = factors.shape[1] - 1
    if last == 0:
        return members._replace(variance=members.variance * factors)
    # a stratum without a row to learn from is as all rows are
    strata = np.minimum(np.asarray(context.strata), last)
    return members._replace(variance=members.variance * factors[:, strata])
