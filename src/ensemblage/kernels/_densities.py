"""Gaussians, one per stratum, and the log densities of rows under them."""

from __future__ import annotations

import sys
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._small_products import multiply_in_parts

Floats = NDArray[np.floating]
Kind: TypeAlias = Literal["spherical", "diag", "tied", "full"]

LINEAR = ("spherical", "diag")
"""Kinds whose log densities are linear in the columns and their squares."""
LOG_2PI = float(np.log(2 * np.pi))
FEW_VALUES, MANY_VALUES = 2**13, 2**20
"""From here on a compiled loop pays: Numba is at hand, or must be imported first."""
FEW_FEATURES = 24
"""So many are quick to lay out column by column."""
CHUNK = 64
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
    for start in range(0, n_rows, CHUNK):
        stop = min(start + CHUNK, n_rows)
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
