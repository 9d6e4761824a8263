"""Product of members' normal densities (eq. 10 for numbers)."""

from __future__ import annotations

import numpy as np

from ensemblage.subspace._member import Array


def product_of_normals(outputs: Array, importance: Array) -> Array:
    r"""Mean and variance, (n_rows, 2), of the product of members' normal densities.

    ``outputs`` are (n_members, n_rows, 2), means and variances; ``importance`` :math:`i_k` is
    (n_members,), not negative and not all zero. Of the product
    :math:`\prod_k N(y; \mu_k, s_k^2)^{i_k}` the precision is :math:`\sum_k i_k / s_k^2`, and the
    mean is that of the :math:`\mu_k`, weighted by :math:`i_k / s_k^2`.
    """
    means, variances = outputs[:, :, 0], outputs[:, :, 1]
    precisions = importance[:, None] / variances
    total = precisions.sum(axis=0)
    return np.column_stack([(precisions * means).sum(axis=0) / total, 1.0 / total])
