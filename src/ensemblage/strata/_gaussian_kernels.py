"""Gaussian strata in arrays: log densities, responsibilities, moments, the M step."""

from __future__ import annotations

import sys
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import add_exponentials, compiled, logarithms, multiply_in_parts, small_parts
from ensemblage.strata._hiss_kernels import NO_WINDOWS, Caps, Near, Windows, rows_near_caps

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]

Kind: TypeAlias = Literal["spherical", "diag", "tied", "full"]

LINEAR = ("spherical", "diag")
"""Kinds whose log densities are linear in the columns and their squares."""
LOG_2PI = float(np.log(2 * np.pi))
FEW_VALUES, MANY_VALUES = 2**13, 2**20
"""From here on a compiled loop pays: Numba is at hand, or must be imported first."""
FEW_FEATURES = 24
"""So many are quick to lay out column by column."""
DESIGN_CHUNK = 64
"""Rows at a time whose columns stay in a first-level cache."""


class Gaussians(NamedTuple):
    """One Gaussian per stratum; factors make precisions quick to apply."""

    means: Floats  # (n_strata, n_features)
    # (n_strata,) if spherical, (n_strata, n_features) if diag, (n_features, n_features) if tied,
    # (n_strata, n_features, n_features) if full
    covariances: Floats
    # inverse variances (spherical, diag), or a factor F of the precision F F' (tied, full)
    factors: Floats


def make_gaussians(means: Floats, covariances: Floats, kind: Kind) -> Gaussians:
    """Prepare Gaussians for ``log_densities`` from positive (definite) covariances."""
    if kind in LINEAR:
        return Gaussians(means, covariances, 1 / covariances)
    values, vectors = np.linalg.eigh(covariances)
    return Gaussians(means, covariances, vectors / np.sqrt(values)[..., None, :])


def within_reach(rows: Floats, centre: Floats, gaussians: Gaussians, kind: Kind) -> Floats:
    """Move rows so far away that their log densities would overflow to where these just do not."""
    steepest = float(np.abs(gaussians.factors).max())
    steepest = steepest if kind in LINEAR else steepest**2
    limit = float(np.finfo(rows.dtype).max) / (16 * rows.shape[1] ** 2 * max(steepest, 1.0))
    reach = np.sqrt(limit)
    if max(float(rows.max()), -float(rows.min())) <= reach - float(np.abs(centre).max()):
        return rows
    return np.clip(rows, centre - reach, centre + reach).astype(rows.dtype, copy=False)


def log_densities(rows: Floats, centre: Floats, gaussians: Gaussians, kind: Kind) -> Floats:
    r"""Log density :math:`\log p_j(x_i)` of each row under each Gaussian (eq. 2), strata first.

    The Gaussians are given around the centre, which keeps squares from cancelling.
    """
    return densities_of_columns(centred_columns(rows, centre, kind), gaussians, kind)


def centred_columns(rows: Floats, centre: Floats, kind: Kind) -> Floats:
    """Columns of the rows, less their centre, of shape (n_columns, n_rows).

    Where densities are linear in the columns and their squares, a column of ones comes first and
    the squares last. Few columns are laid out one by one; of many, the rows stay together.
    In the dtype of ``rows``; where that has no such centre, rows are moved in double precision.
    """
    near = centre.astype(rows.dtype, copy=False)
    exact = np.array_equal(near, centre)
    n_rows, n_features = rows.shape
    apart = n_features <= FEW_FEATURES
    if kind in LINEAR and rows.size > (FEW_VALUES if "numba" in sys.modules else MANY_VALUES):
        lay_out = _columns_apart if apart else _columns_by_row
        quick: Floats = lay_out(rows, near if exact else centre)
        return quick if apart else quick.T
    if not exact:
        rows, near = (rows - centre).astype(rows.dtype), np.zeros_like(near)
    if kind not in LINEAR:
        return (rows - near).T
    columns = np.empty((2 * n_features + 1, n_rows), rows.dtype, order="C" if apart else "F")
    columns[0] = 1.0
    values = np.subtract(rows.T, near[:, None], out=columns[1 : n_features + 1])
    np.multiply(values, values, out=columns[n_features + 1 :])
    return columns


@compiled
def _columns_apart(rows: Floats, centre: Floats) -> Floats:
    n_rows, n_features = rows.shape
    columns = np.empty((2 * n_features + 1, n_rows), dtype=rows.dtype)
    for i in range(n_rows):
        columns[0, i] = 1.0
    for start in range(0, n_rows, DESIGN_CHUNK):
        stop = min(start + DESIGN_CHUNK, n_rows)
        # row by row: to collect a column from many rows takes twice as long
        for i in range(start, stop):
            for j in range(n_features):
                columns[1 + j, i] = rows[i, j]
        for j in range(n_features):
            column, square = columns[1 + j, start:stop], columns[1 + n_features + j, start:stop]
            middle = centre[j]
            for i in range(stop - start):
                column[i] -= middle
            for i in range(stop - start):
                square[i] = column[i] * column[i]
    return columns


@compiled
def _columns_by_row(rows: Floats, centre: Floats) -> Floats:
    n_rows, n_features = rows.shape
    columns = np.empty((n_rows, 2 * n_features + 1), dtype=rows.dtype)
    for i in range(n_rows):
        columns[i, 0] = 1.0
        row, value, square = rows[i], columns[i, 1 : n_features + 1], columns[i, n_features + 1 :]
        for j in range(n_features):
            value[j] = row[j] - centre[j]
        for j in range(n_features):
            square[j] = value[j] * value[j]
    return columns


def densities_of_columns(columns: Floats, gaussians: Gaussians, kind: Kind) -> Floats:
    """Log densities of rows whose ``centred_columns`` are known."""
    if kind in LINEAR:
        return _linear_densities(columns, gaussians)
    if kind == "tied":
        factor = gaussians.factors
        points, centres = factor.T @ columns, gaussians.means @ factor
        squares = np.stack([((points - centre[:, None]) ** 2).sum(axis=0) for centre in centres])
        log_det = -np.log(np.linalg.norm(factor, axis=0)).sum()
    else:
        pairs = zip(gaussians.means, gaussians.factors, strict=True)
        parted = (factor.T @ (columns - mean[:, None]) for mean, factor in pairs)
        squares = np.stack([(points**2).sum(axis=0) for points in parted])
        log_det = -np.log(np.linalg.norm(gaussians.factors, axis=1)).sum(axis=1)[:, None]
    result: Floats = -0.5 * (squares + len(columns) * LOG_2PI) - log_det
    return result.astype(columns.dtype, copy=False)


def _linear_densities(columns: Floats, gaussians: Gaussians) -> Floats:
    means = gaussians.means
    inverse = np.broadcast_to(gaussians.factors.reshape(len(means), -1), means.shape)
    offsets = -0.5 * (means**2 * inverse - np.log(inverse) + LOG_2PI).sum(axis=1)
    slopes = np.hstack([offsets[:, None], means * inverse, -0.5 * inverse])
    slopes = slopes.astype(columns.dtype, copy=False)
    densities: Floats = np.empty((len(slopes), columns.shape[1]), dtype=columns.dtype)
    return multiply_in_parts(slopes, columns, densities)


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


LOWEST = -1e30
"""Stands for the log of zero, so that differences of affinities stay finite."""
SHARING_CHUNK = 512
"""Rows at a time: with 20 strata, what one chunk needs stays in the second-level cache."""
NEGLIGIBLE = -85.0
"""A responsibility below e^-85 counts as none: just above what a float32 can hold."""


@compiled(error_model="numpy")
def share_rows(
    log_density: Floats, affinity: Floats, weights: Doubles, pivots: Doubles, log_shares: Doubles
) -> tuple[Floats, Floats, float]:
    r"""Responsibilities of one block under capped memberships.

    Memberships are :math:`\log\tau_{ij} = \min(0, g_j + (v_{ij} - p_j))`, of affinities
    :math:`v_{ij}` that are the log responsibilities of the pass before, pivots :math:`p_j` and log
    shares :math:`g_j`; or they are in ``log_density`` already, and ``affinity`` has no rows.

    Gives :math:`\log\upsilon_{ij}` (eq. 7), never below ``LOWEST`` and in the place of
    ``log_density``; :math:`w_i \upsilon_{ij}`; and :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}`.
    Arithmetic is in the dtype of ``log_density``; pivots are split in two, so that differences to
    them keep their digits.
    """
    n_rows, real = log_density.shape[1], log_density.dtype
    near, rest = np.empty(pivots.size, dtype=real), np.empty(pivots.size, dtype=real)
    for j in range(pivots.size):
        near[j] = pivots[j]
        rest[j] = log_shares[j] - (pivots[j] - near[j])
    shares, likelihood = np.empty_like(log_density), 0.0
    top, sums = np.empty(SHARING_CHUNK, dtype=real), np.empty(SHARING_CHUNK, dtype=real)
    logs = np.empty(SHARING_CHUNK, dtype=real)
    for start in range(0, n_rows, SHARING_CHUNK):
        stop = min(start + SHARING_CHUNK, n_rows)
        _largest_of(log_density, affinity, near, rest, start, top[: stop - start])
        for i in range(stop - start):
            sums[i] = 0.0
        for j in range(len(log_density)):
            line, part = log_density[j, start:stop], shares[j, start:stop]
            add_exponentials(line, top, NEGLIGIBLE, part, sums)
        logarithms(sums[: stop - start], logs)
        for i in range(stop - start):
            likelihood += weights[start + i] * (np.float64(top[i]) + logs[i])
        for i in range(stop - start):
            sums[i] = weights[start + i] / sums[i]
        _normalise(log_density, start, top[: stop - start], logs, shares, sums)
    return log_density, shares, likelihood


@compiled(inline="always")
def _largest_of(
    log_density: Floats, affinity: Floats, near: Floats, rest: Floats, start: int, top: Floats
) -> None:
    """Add the log memberships, if they are not in yet, and find each row's largest sum."""
    zero, stop = log_density.dtype.type(0.0), start + top.size
    for i in range(top.size):
        top[i] = -np.inf
    for j in range(len(log_density)):
        line = log_density[j, start:stop]
        if affinity.shape[1] > 0:
            before, pivot, share = affinity[j, start:stop], near[j], rest[j]
            for i in range(top.size):
                line[i] += min(zero, (before[i] - pivot) + share)
                top[i] = max(top[i], line[i])
        else:
            for i in range(top.size):
                top[i] = max(top[i], line[i])


@compiled(inline="always")
def _normalise(
    log_density: Floats, start: int, top: Floats, logs: Floats, shares: Floats, scales: Floats
) -> None:
    zero, lowest = log_density.dtype.type(0.0), log_density.dtype.type(LOWEST)
    stop = start + top.size
    for j in range(len(log_density)):
        line, part = log_density[j, start:stop], shares[j, start:stop]
        for i in range(top.size):
            part[i] *= scales[i]
            line[i] = min(zero, max(lowest, (line[i] - top[i]) - logs[i]))
