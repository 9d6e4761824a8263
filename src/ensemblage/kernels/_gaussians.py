"""Gaussian log densities, and the statistics from which Gaussians are estimated."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Kind: TypeAlias = Literal["spherical", "diag", "tied", "full"]

LOG_2PI = float(np.log(2 * np.pi))
NO_MASS = 1e-30
"""A stratum whose responsibilities add up to less keeps the Gaussian it has."""


class Gaussians(NamedTuple):
    """One Gaussian per stratum.

    Attributes
    ----------
    means : ndarray of shape (n_strata, n_features)
        Centres.
    covariances : ndarray
        Of shape (n_strata,) if spherical, (n_strata, n_features) if diag, (n_features,
        n_features) if tied, (n_strata, n_features, n_features) if full.
    factors : ndarray
        Inverse variances (spherical, diag) or a factor F of the precision F F' (tied, full);
        of the same shape as ``covariances``.
    """

    means: Floats
    covariances: Floats
    factors: Floats


class Moments(NamedTuple):
    """Sufficient statistics of one block under given responsibilities; they add up.

    Attributes
    ----------
    mass : ndarray of shape (n_strata,)
        Responsibility per stratum.
    first : ndarray of shape (n_strata, n_features)
        Responsibility times row.
    second : ndarray
        Responsibility times squares: (n_strata, n_features) if diag or spherical,
        (n_features, n_features) if tied, (n_strata, n_features, n_features) if full.
    log_likelihood : float
        Weighted sum of the rows' log likelihoods.
    """

    mass: Floats
    first: Floats
    second: Floats
    log_likelihood: float


def make_gaussians(means: Floats, covariances: Floats, kind: Kind) -> Gaussians:
    """Prepare Gaussians for :func:`log_densities`.

    Parameters
    ----------
    means : ndarray of shape (n_strata, n_features)
        Centres.
    covariances : ndarray
        Shaped as ``kind`` asks; positive (definite).
    kind : {"spherical", "diag", "tied", "full"}
        Form of the covariances.

    Returns
    -------
    Gaussians
    """
    if kind in ("spherical", "diag"):
        return Gaussians(means, covariances, 1 / covariances)
    values, vectors = np.linalg.eigh(covariances)
    return Gaussians(means, covariances, vectors / np.sqrt(values)[..., None, :])


def log_densities(rows: Floats, gaussians: Gaussians, kind: Kind) -> Floats:
    r"""Log density :math:`\log p_j(x_i)` of each row under each Gaussian (eq. 2).

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Centred, so that squares do not cancel.
    gaussians : Gaussians
        In the same centred coordinates.
    kind : {"spherical", "diag", "tied", "full"}
        Form of the covariances.

    Returns
    -------
    ndarray of shape (n_strata, n_rows)
        In the dtype of ``rows``.
    """
    n_features = rows.shape[1]
    if kind in ("spherical", "diag"):
        return _diagonal_log_densities(rows, gaussians)
    if kind == "tied":
        points, centres = rows @ gaussians.factors, gaussians.means @ gaussians.factors
        squares = np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres])
        log_det = -np.log(np.linalg.norm(gaussians.factors, axis=0)).sum()
    else:
        pairs = zip(gaussians.means, gaussians.factors, strict=True)
        squares = np.stack([(((rows - mu) @ factor) ** 2).sum(axis=1) for mu, factor in pairs])
        log_det = -np.log(np.linalg.norm(gaussians.factors, axis=1)).sum(axis=1)[:, None]
    result: Floats = -0.5 * (squares + n_features * LOG_2PI) - log_det
    return result.astype(rows.dtype, copy=False)


def _diagonal_log_densities(rows: Floats, gaussians: Gaussians) -> Floats:
    means = gaussians.means
    inverse = np.broadcast_to(gaussians.factors.reshape(len(means), -1), means.shape)
    slopes = np.hstack([means * inverse, -0.5 * inverse])
    offsets = -0.5 * (means**2 * inverse - np.log(inverse) + LOG_2PI).sum(axis=1)
    columns = np.hstack([rows, rows**2])
    densities: Floats = slopes.astype(rows.dtype, copy=False) @ columns.T
    densities += offsets[:, None].astype(rows.dtype, copy=False)
    return densities


def moments(
    rows: Floats, responsibilities: Floats, kind: Kind, log_likelihood: float = 0.0
) -> Moments:
    """Statistics of one block, accumulated in float64.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Centred rows.
    responsibilities : ndarray of shape (n_strata, n_rows)
        With the rows' weights already in them.
    kind : {"spherical", "diag", "tied", "full"}
        Form of the covariances.
    log_likelihood : float
        Passed on.

    Returns
    -------
    Moments
    """
    mass = responsibilities.sum(axis=1, dtype=np.float64)
    first = (responsibilities @ rows).astype(np.float64, copy=False)
    if kind in ("spherical", "diag"):
        second = responsibilities @ rows**2
    elif kind == "tied":
        second = (rows * responsibilities.sum(axis=0)[:, None]).T @ rows
    else:
        second = np.stack([(rows * part[:, None]).T @ rows for part in responsibilities])
    return Moments(mass, first, second.astype(np.float64, copy=False), log_likelihood)


def estimate(total: Moments, previous: Gaussians, floor: float, kind: Kind) -> Gaussians:
    r"""Find the most likely Gaussians whose variance is nowhere below ``floor``.

    Parameters
    ----------
    total : Moments
        Merged over all blocks.
    previous : Gaussians
        Kept where a stratum has no mass.
    floor : float
        Lower bound on variances (spherical, diag) or eigenvalues (tied, full).
    kind : {"spherical", "diag", "tied", "full"}
        Form of the covariances.

    Returns
    -------
    Gaussians

    Notes
    -----
    :math:`\mu_j = \sum_i \upsilon_{ij} x_i / \sum_i \upsilon_{ij}` and
    :math:`\sigma_j^2 = \max(\sum_i \upsilon_{ij} x_i^2 / \sum_i \upsilon_{ij} - \mu_j^2, f)`.
    The maximum is the constrained optimum, so the objective cannot fall; adding the floor to the
    variance instead would not keep that promise.
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
