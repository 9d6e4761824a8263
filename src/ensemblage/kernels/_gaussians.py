"""Both steps of expectation maximisation: who answers for each row, and Gaussians that follow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._cap_windows import NO_WINDOWS, Near, Windows, rows_near_caps
from ensemblage.kernels._capping import Caps
from ensemblage.kernels._densities import (
    LINEAR,
    Gaussians,
    Kind,
    centred_columns,
    densities_of_columns,
    make_gaussians,
)
from ensemblage.kernels._sharing import share_rows
from ensemblage.kernels._small_products import small_parts

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]

NO_MASS = 1e-30
"""A stratum whose responsibilities add up to less keeps the Gaussian it has."""


class Moments(NamedTuple):
    """Sufficient statistics of one block under given responsibilities; they add up."""

    mass: Floats  # (n_strata,), responsibility
    first: Floats  # (n_strata, n_features), responsibility times row
    # responsibility times squares: (n_strata, n_features) if diag or spherical,
    # (n_features, n_features) if tied, (n_strata, n_features, n_features) if full
    second: Floats
    log_likelihood: float  # weighted sum over the rows
    near: Near  # what the log responsibilities are to the windows of the next caps


def expectation(
    rows: Floats,
    weights: NDArray[np.float64],
    prior: Caps | Floats,
    centre: Floats,
    gaussians: Gaussians,
    kind: Kind,
    affinity: Floats | None = None,
    windows: Windows = NO_WINDOWS,
) -> tuple[Floats, Moments]:
    r"""Responsibilities of one block (HISS, eq. 7) and the statistics that follow from them.

    The prior is memberships :math:`\tau_{ij}`: their logs, of shape (n_strata, n_rows) or
    (n_strata, 1), or the caps that turn affinities into them, which are the log responsibilities of
    the pass before. The new log responsibilities are looked at through the windows; by default
    there are none.

    Gives :math:`\log \upsilon_{ij} = \ell_{ij} - \log\sum_k e^{\ell_{ik}}` with
    :math:`\ell_{ij} = \log\tau_{ij} + \log p_j(x_i)`, strata first, and the statistics with
    :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}` as their log likelihood.
    """
    columns = centred_columns(rows, centre, kind)
    joint = densities_of_columns(columns, gaussians, kind)
    if not isinstance(prior, Caps):
        joint += prior.astype(joint.dtype, copy=False)
        prior, affinity = Caps(*np.zeros((2, len(joint)))), joint[:, :0].copy()
    carry, shares, likelihood = share_rows(joint, affinity, weights, *prior)
    near = rows_near_caps(carry, shares, weights, *windows)
    return carry, Moments(*moments(columns, shares, kind), likelihood, near)


def moments(
    columns: Floats, responsibilities: Floats, kind: Kind
) -> tuple[Doubles, Doubles, Doubles]:
    """Mass, first and second of ``Moments``, in float64, from ``centred_columns``.

    Responsibilities, of shape (n_strata, n_rows), have the rows' weights in them.
    """
    # in their own dtype, but parts and blocks are added in float64
    if kind in LINEAR:
        sums = np.zeros((len(responsibilities), len(columns)))
        for part in small_parts(columns.shape[1], sums.size):
            sums += responsibilities[:, part] @ columns[:, part].T
        n_features = len(columns) // 2
        return sums[:, 0], sums[:, 1 : n_features + 1], sums[:, n_features + 1 :]
    mass = responsibilities.sum(axis=1).astype(np.float64, copy=False)
    first = (responsibilities @ columns.T).astype(np.float64, copy=False)
    if kind == "tied":
        second = (columns * responsibilities.sum(axis=0)) @ columns.T
    else:
        second = np.stack([(columns * part) @ columns.T for part in responsibilities])
    return mass, first, second.astype(np.float64, copy=False)


def estimate(total: Moments, previous: Gaussians, floor: float, kind: Kind) -> Gaussians:
    r"""Find the most likely Gaussians whose variance is nowhere below ``floor``.

    :math:`\mu_j = \sum_i \upsilon_{ij} x_i / \sum_i \upsilon_{ij}` and
    :math:`\sigma_j^2 = \max(\sum_i \upsilon_{ij} x_i^2 / \sum_i \upsilon_{ij} - \mu_j^2, f)`, with
    eigenvalues in the place of variances where covariances are tied or full. The maximum is the
    constrained optimum, so the objective cannot fall; adding the floor to the variance instead
    would not keep that promise. A stratum without mass keeps its previous Gaussian.
    """
    alive = total.mass > NO_MASS
    mass = np.where(alive, total.mass, 1.0)
    means = np.where(alive[:, None], total.first / mass[:, None], previous.means)
    if kind == "tied":
        spread = total.second - (total.first.T @ means)
        covariances = _raise_eigenvalues(spread / total.mass.sum(), floor)
        return make_gaussians(means, covariances, kind)
    shape = (-1,) + (1,) * (total.second.ndim - 1)
    second = total.second / mass.reshape(shape)
    if kind == "full":
        covariances = _raise_eigenvalues(second - means[:, :, None] * means[:, None, :], floor)
    else:
        variances = second - means**2
        if kind == "spherical":
            variances = variances.mean(axis=1)
        covariances = np.maximum(variances, floor)
    alive = alive.reshape((-1,) + (1,) * (covariances.ndim - 1))
    return make_gaussians(means, np.where(alive, covariances, previous.covariances), kind)


def _raise_eigenvalues(covariances: Floats, floor: float) -> Floats:
    values, vectors = np.linalg.eigh(covariances)
    raised = (vectors * np.maximum(values, floor)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    symmetric: Floats = (raised + np.swapaxes(raised, -1, -2)) / 2
    return symmetric
