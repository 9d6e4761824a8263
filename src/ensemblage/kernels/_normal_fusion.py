"""Normal densities of members, fused: their product with importances, and their mixture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
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
