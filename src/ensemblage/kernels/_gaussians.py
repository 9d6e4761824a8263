"""Both steps of expectation maximisation: who answers for each row, and Gaussians that follow."""

from __future__ import annotations

import sys
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._capping import Bins, Caps
from ensemblage.kernels._compile import compiled
from ensemblage.kernels._sharing import bin_shares, share_rows

Floats = NDArray[np.floating]
Kind: TypeAlias = Literal["spherical", "diag", "tied", "full"]

LOG_2PI = float(np.log(2 * np.pi))
NO_MASS = 1e-30
"""A stratum whose responsibilities add up to less keeps the Gaussian it has."""
FEW_VALUES, MANY_VALUES = 2**13, 2**20
"""From here on a compiled loop pays: Numba is at hand, or must be imported first."""
NO_BINS = Bins(np.empty(0), np.empty(0))


class Gaussians(NamedTuple):
    """One Gaussian per stratum; factors make precisions quick to apply."""

    means: Floats  # (n_strata, n_features)
    # (n_strata,) if spherical, (n_strata, n_features) if diag, (n_features, n_features) if tied,
    # (n_strata, n_features, n_features) if full
    covariances: Floats
    # inverse variances (spherical, diag), or a factor F of the precision F F' (tied, full)
    factors: Floats


class Moments(NamedTuple):
    """Sufficient statistics of one block under given responsibilities; they add up."""

    mass: Floats  # (n_strata,), responsibility
    first: Floats  # (n_strata, n_features), responsibility times row
    # responsibility times squares: (n_strata, n_features) if diag or spherical,
    # (n_features, n_features) if tied, (n_strata, n_features, n_features) if full
    second: Floats
    log_likelihood: float  # weighted sum over the rows
    # histogram of the log responsibilities, (n_strata, n_bins + 2), or (0, n_bins + 2) for none
    counts: Floats
    masses: Floats


def make_gaussians(means: Floats, covariances: Floats, kind: Kind) -> Gaussians:
    """Prepare Gaussians for ``log_densities`` from positive (definite) covariances."""
    if kind in ("spherical", "diag"):
        return Gaussians(means, covariances, 1 / covariances)
    values, vectors = np.linalg.eigh(covariances)
    return Gaussians(means, covariances, vectors / np.sqrt(values)[..., None, :])


def centred_columns(rows: Floats, centre: Floats, kind: Kind) -> Floats:
    """Rows less their centre and, where densities are linear in them, their squares beside them.

    A centre keeps squares from cancelling. In the dtype of ``rows``; where that has no such centre,
    rows are moved in double precision.
    """
    near = centre.astype(rows.dtype, copy=False)
    if not np.array_equal(near, centre):
        rows, near = (rows - centre).astype(rows.dtype), np.zeros_like(near)
    centre = near
    if kind not in ("spherical", "diag"):
        return rows - centre
    if rows.size > (FEW_VALUES if "numba" in sys.modules else MANY_VALUES):
        columns: Floats = _with_squares(rows, centre)
        return columns
    n_rows, n_features = rows.shape
    columns = np.empty((n_rows, 2 * n_features), dtype=rows.dtype)
    values = np.subtract(rows, centre, out=columns[:, :n_features])
    np.multiply(values, values, out=columns[:, n_features:])
    return columns


def within_reach(rows: Floats, centre: Floats, gaussians: Gaussians, kind: Kind) -> Floats:
    """Move rows so far away that their log densities would overflow to where these just do not."""
    steepest = float(np.abs(gaussians.factors).max())
    steepest = steepest if kind in ("spherical", "diag") else steepest**2
    limit = float(np.finfo(rows.dtype).max) / (16 * rows.shape[1] ** 2 * max(steepest, 1.0))
    reach = np.sqrt(limit)
    if max(float(rows.max()), -float(rows.min())) <= reach - float(np.abs(centre).max()):
        return rows
    return np.clip(rows, centre - reach, centre + reach).astype(rows.dtype, copy=False)


@compiled
def _with_squares(rows: Floats, centre: Floats) -> Floats:
    n_rows, n_features = rows.shape
    columns = np.empty((n_rows, 2 * n_features), dtype=rows.dtype)
    for i in range(n_rows):
        row, value, square = rows[i], columns[i, :n_features], columns[i, n_features:]
        for j in range(n_features):
            value[j] = row[j] - centre[j]
        for j in range(n_features):
            square[j] = value[j] * value[j]
    return columns


def log_densities(columns: Floats, gaussians: Gaussians, kind: Kind) -> Floats:
    r"""Log density :math:`\log p_j(x_i)` of each row under each Gaussian (eq. 2), strata first.

    ``columns`` are ``centred_columns``, and the Gaussians are in the same coordinates.
    """
    if kind in ("spherical", "diag"):
        return _diagonal_log_densities(columns, gaussians)
    if kind == "tied":
        points, centres = columns @ gaussians.factors, gaussians.means @ gaussians.factors
        squares = np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres])
        log_det = -np.log(np.linalg.norm(gaussians.factors, axis=0)).sum()
    else:
        pairs = zip(gaussians.means, gaussians.factors, strict=True)
        squares = np.stack([(((columns - mu) @ factor) ** 2).sum(axis=1) for mu, factor in pairs])
        log_det = -np.log(np.linalg.norm(gaussians.factors, axis=1)).sum(axis=1)[:, None]
    result: Floats = -0.5 * (squares + columns.shape[1] * LOG_2PI) - log_det
    return result.astype(columns.dtype, copy=False)


def _diagonal_log_densities(columns: Floats, gaussians: Gaussians) -> Floats:
    means = gaussians.means
    inverse = np.broadcast_to(gaussians.factors.reshape(len(means), -1), means.shape)
    slopes = np.hstack([means * inverse, -0.5 * inverse])
    offsets = -0.5 * (means**2 * inverse - np.log(inverse) + LOG_2PI).sum(axis=1)
    densities: Floats = slopes.astype(columns.dtype, copy=False) @ columns.T
    densities += offsets[:, None].astype(columns.dtype, copy=False)
    return densities


def expectation(
    columns: Floats,
    weights: NDArray[np.float64],
    prior: Caps | Floats,
    gaussians: Gaussians,
    kind: Kind,
    affinity: Floats | None = None,
    bins: Bins = NO_BINS,
) -> tuple[Floats, Moments]:
    r"""Responsibilities of one block (HISS, eq. 7) and the statistics that follow from them.

    ``columns`` are ``centred_columns``. The prior is memberships :math:`\tau_{ij}`: their logs, of
    shape (n_strata, n_rows) or (n_strata, 1), or the caps that turn affinities into them, which are
    the log responsibilities of the pass before. A histogram of the new log responsibilities is
    taken in the bins; by default there are none.

    Gives :math:`\log \upsilon_{ij} = \ell_{ij} - \log\sum_k e^{\ell_{ik}}` with
    :math:`\ell_{ij} = \log\tau_{ij} + \log p_j(x_i)`, strata first, and the statistics with
    :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}` as their log likelihood.
    """
    joint = log_densities(columns, gaussians, kind)
    if not isinstance(prior, Caps):
        joint += prior.astype(joint.dtype, copy=False)
        zeros = np.zeros(len(joint))
        prior, affinity = Caps(zeros, zeros), joint[:, :0].copy()
    carry, shares, likelihood = share_rows(joint, affinity, weights, *prior)
    histogram = bin_shares(carry, shares, weights, *bins)
    return carry, Moments(*moments(columns, shares, kind), likelihood, *histogram)


def moments(
    columns: Floats, responsibilities: Floats, kind: Kind
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mass, first and second of ``Moments``, in float64.

    Responsibilities, of shape (n_strata, n_rows), have the rows' weights in them.
    """
    # in their own dtype: numpy adds pairwise along rows, and blocks are added in float64
    mass = responsibilities.sum(axis=1).astype(np.float64, copy=False)
    if kind in ("spherical", "diag"):
        both = (responsibilities @ columns).astype(np.float64, copy=False)
        first, second = np.hsplit(both, 2)
        return mass, first, second
    first = (responsibilities @ columns).astype(np.float64, copy=False)
    if kind == "tied":
        second = (columns * responsibilities.sum(axis=0)[:, None]).T @ columns
    else:
        second = np.stack([(columns * part[:, None]).T @ columns for part in responsibilities])
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
