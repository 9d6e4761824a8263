"""Array kernels of Gaussian strata: log densities, responsibilities, moments, M step."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import add_exponentials, compiled, logarithms, multiply_in_parts, small_parts
from ensemblage.strata._hiss_kernels import (
    NO_WINDOWS,
    UNDERFLOW_LOG,
    Entries,
    ScaleWindows,
    SplitScales,
    WindowSums,
    scan_windows,
)

if TYPE_CHECKING:
    from ensemblage.blocks import Block

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]

CovarianceType: TypeAlias = Literal["spherical", "diag", "tied", "full"]

LINEAR = ("spherical", "diag")
"""Covariance types whose log densities are linear in the columns and their squares."""
LOG_2PI = float(np.log(2 * np.pi))
MIN_COMPILED_VALUES = 2**13
"""Number of values from which a compiled loop is faster if Numba is imported."""
MIN_IMPORT_VALUES = 2**20
"""Number of values from which it is faster including the import of Numba."""
MAX_SEPARATE_COLUMNS = 24
"""Largest number of columns for a column-major layout."""
DESIGN_CHUNK = 64
"""Rows per chunk; a chunk fits in the first-level cache."""
SHARING_CHUNK = 512
"""Rows per chunk; with 20 strata a chunk fits in the second-level cache."""
MIN_EFFECTIVE_COUNT = 1e-30
"""Sum of responsibilities below which a stratum keeps its previous Gaussian."""
LOG_ZERO = -1e30
"""Log of zero as a finite value, so that differences of log responsibilities are finite."""


class Gaussians(NamedTuple):
    """One Gaussian per stratum, with factors of the precisions."""

    means: Floats  # (n_strata, n_features)
    # (n_strata,) if spherical, (n_strata, n_features) if diag, (n_features, n_features) if tied,
    # (n_strata, n_features, n_features) if full
    covariances: Floats
    # inverse variances (spherical, diag), or a factor F of the precision F F' (tied, full)
    factors: Floats


class StrataModel(NamedTuple):
    """One Gaussian per stratum, relative to a centre that avoids cancellation in squares."""

    centre: Floats
    gaussians: Gaussians
    covariance_type: CovarianceType

    def log_densities(self, rows: Floats) -> Floats:
        r"""Log density :math:`\log p_j(x_i)` of each row (eq. 2), (n_strata, n_rows)."""
        return self.log_densities_of(design_columns(rows, self.centre, self.covariance_type))

    def log_densities_of(self, columns: Floats) -> Floats:
        """Log densities of rows whose ``design_columns`` are known."""
        means, _, factors = self.gaussians
        if self.covariance_type in LINEAR:
            inverse = np.broadcast_to(factors.reshape(len(means), -1), means.shape)
            offsets = -0.5 * (means**2 * inverse - np.log(inverse) + LOG_2PI).sum(axis=1)
            slopes = np.hstack([offsets[:, None], means * inverse, -0.5 * inverse])
            slopes = slopes.astype(columns.dtype, copy=False)
            densities: Floats = np.empty((len(slopes), columns.shape[1]), dtype=columns.dtype)
            return multiply_in_parts(slopes, columns, densities)
        if self.covariance_type == "tied":
            points, centres = factors.T @ columns, means @ factors
            parted = (points - centre[:, None] for centre in centres)
            log_det = -np.log(np.linalg.norm(factors, axis=0)).sum()
        else:
            pairs = zip(means, factors, strict=True)
            parted = (factor.T @ (columns - mean[:, None]) for mean, factor in pairs)
            log_det = -np.log(np.linalg.norm(factors, axis=1)).sum(axis=1)[:, None]
        squares = np.stack([(each**2).sum(axis=0) for each in parted])
        result: Floats = -0.5 * (squares + len(columns) * LOG_2PI) - log_det
        return result.astype(columns.dtype, copy=False)


class MembershipPrior(NamedTuple):
    """Prior memberships, from the log responsibilities of the previous pass."""

    log_memberships: SplitScales | Floats
    """Scales, or the same log membership for all rows, of shape (n_strata, 1)."""
    windows: ScaleWindows | None = None
    """Windows in which the next scales are expected."""


class Moments(NamedTuple):
    """Sufficient statistics of one block under given responsibilities; additive over blocks."""

    mass: Floats  # (n_strata,), responsibility
    first: Floats  # (n_strata, n_features), responsibility times row
    # responsibility times squares: (n_strata, n_features) if diag or spherical,
    # (n_features, n_features) if tied, (n_strata, n_features, n_features) if full
    second: Floats
    log_likelihood: float  # weighted sum over the rows
    window_sums: WindowSums  # for the next scales


def make_gaussians(
    means: Floats, covariances: Floats, covariance_type: CovarianceType
) -> Gaussians:
    """Factor positive (definite) covariances."""
    if covariance_type in LINEAR:
        return Gaussians(means, covariances, 1 / covariances)
    values, vectors = np.linalg.eigh(covariances)
    return Gaussians(means, covariances, vectors / np.sqrt(values)[..., None, :])


def clip_far_rows(rows: Floats, model: StrataModel) -> Floats:
    """Clip rows so far from the centre that their log densities would overflow."""
    centre, factors = model.centre, model.gaussians.factors
    steepest = float(np.abs(factors).max())
    steepest = steepest if model.covariance_type in LINEAR else steepest**2
    limit = float(np.finfo(rows.dtype).max) / (16 * rows.shape[1] ** 2 * max(steepest, 1.0))
    radius = np.sqrt(limit)
    if max(float(rows.max()), -float(rows.min())) <= radius - float(np.abs(centre).max()):
        return rows
    return np.clip(rows, centre - radius, centre + radius).astype(rows.dtype, copy=False)


def design_columns(rows: Floats, centre: Floats, covariance_type: CovarianceType) -> Floats:
    """Columns of the rows, less their centre, of shape (n_columns, n_rows).

    Where densities are linear in the columns and their squares, a column of ones comes first and
    the squares last. The layout is column-major for few columns, row-major for many. The dtype is
    that of ``rows``; if it cannot represent the centre, rows are centred in double precision.
    """
    near = centre.astype(rows.dtype, copy=False)
    exact = np.array_equal(near, centre)
    n_rows, n_features = rows.shape
    apart, linear = n_features <= MAX_SEPARATE_COLUMNS, covariance_type in LINEAR
    enough = MIN_COMPILED_VALUES if "numba" in sys.modules else MIN_IMPORT_VALUES
    if linear and rows.size > enough:
        lay_out = _columns_apart if apart else _columns_by_row
        quick: Floats = lay_out(rows, near if exact else centre)
        return quick if apart else quick.T
    if not exact:
        rows, near = (rows - centre).astype(rows.dtype), np.zeros_like(near)
    if not linear:
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
        # row by row: reading a column of many rows takes twice as long
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


def log_density_block(block: Block, model: StrataModel) -> Floats:
    return model.log_densities(block.rows).T


def e_step(block: Block, model: StrataModel, prior: MembershipPrior) -> tuple[Floats, Moments]:
    r"""Responsibilities of one block (HISS, eq. 7) and the statistics that follow from them.

    The prior gives memberships :math:`\tau_{ij}`; scales apply to the block's state, the log
    responsibilities of the previous pass. The new ones are compared with the prior's windows.

    Gives :math:`\log \upsilon_{ij} = \ell_{ij} - \log\sum_k e^{\ell_{ik}}` with
    :math:`\ell_{ij} = \log\tau_{ij} + \log p_j(x_i)`, strata first, and the statistics with
    :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}` as their log likelihood.
    """
    (log_prior, windows), log_resp, weights = prior, block.state, block.weights
    columns = design_columns(block.rows, model.centre, model.covariance_type)
    joint = model.log_densities_of(columns)
    if not isinstance(log_prior, SplitScales):
        joint += log_prior.astype(joint.dtype, copy=False)
        log_prior, log_resp = SplitScales(*np.zeros((2, len(joint)))), joint[:, :0].copy()
    log_resp, shares, likelihood = responsibilities(joint, log_resp, weights, *log_prior)
    weight, above, rest, inside, *rows = scan_windows(
        log_resp, shares, weights, *(windows or NO_WINDOWS)
    )
    near = WindowSums(weight, above, rest, inside, Entries(*rows))
    sums = weighted_moments(columns, shares, model.covariance_type)
    return log_resp, Moments(*sums, likelihood, near)


def weighted_moments(
    columns: Floats, shares: Floats, covariance_type: CovarianceType
) -> tuple[Doubles, Doubles, Doubles]:
    """Mass, first and second of ``Moments``, in float64, from ``design_columns``.

    Responsibilities, of shape (n_strata, n_rows), have the rows' weights in them.
    """
    # products in the given dtype; parts and blocks are summed in float64
    if covariance_type in LINEAR:
        sums = np.zeros((len(shares), len(columns)))
        for part in small_parts(columns.shape[1], sums.size):
            sums += shares[:, part] @ columns[:, part].T
        n_features = len(columns) // 2
        return sums[:, 0], sums[:, 1 : n_features + 1], sums[:, n_features + 1 :]
    mass = shares.sum(axis=1).astype(np.float64, copy=False)
    first = (shares @ columns.T).astype(np.float64, copy=False)
    if covariance_type == "tied":
        second = (columns * shares.sum(axis=0)) @ columns.T
    else:
        second = np.stack([(columns * part) @ columns.T for part in shares])
    return mass, first, second.astype(np.float64, copy=False)


def m_step(total: Moments, model: StrataModel, floor: float) -> StrataModel:
    r"""Maximum likelihood Gaussians with variances of at least ``floor``.

    :math:`\mu_j = \sum_i \upsilon_{ij} x_i / \sum_i \upsilon_{ij}` and
    :math:`\sigma_j^2 = \max(\sum_i \upsilon_{ij} x_i^2 / \sum_i \upsilon_{ij} - \mu_j^2, f)`, with
    eigenvalues instead of variances where covariances are tied or full. This is the constrained
    optimum, so the objective cannot decrease; adding the floor to the variance instead could
    decrease it. A stratum without mass keeps its previous Gaussian.
    """
    previous, covariance_type = model.gaussians, model.covariance_type
    alive = total.mass > MIN_EFFECTIVE_COUNT
    mass = np.where(alive, total.mass, 1.0)
    means = np.where(alive[:, None], total.first / mass[:, None], previous.means)
    if covariance_type == "tied":
        scatter = total.second - (total.first.T @ means)
        covariances = _floor_eigenvalues(scatter / total.mass.sum(), floor)
        return model._replace(gaussians=make_gaussians(means, covariances, covariance_type))
    shape = (-1,) + (1,) * (total.second.ndim - 1)
    second = total.second / mass.reshape(shape)
    if covariance_type == "full":
        covariances = _floor_eigenvalues(second - means[:, :, None] * means[:, None, :], floor)
    else:
        variances = second - means**2
        if covariance_type == "spherical":
            variances = variances.mean(axis=1)
        covariances = np.maximum(variances, floor)
    alive = alive.reshape((-1,) + (1,) * (covariances.ndim - 1))
    covariances = np.where(alive, covariances, previous.covariances)
    return model._replace(gaussians=make_gaussians(means, covariances, covariance_type))


def _floor_eigenvalues(covariances: Floats, floor: float) -> Floats:
    values, vectors = np.linalg.eigh(covariances)
    raised = (vectors * np.maximum(values, floor)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    symmetric: Floats = (raised + np.swapaxes(raised, -1, -2)) / 2
    return symmetric


@compiled(error_model="numpy")
def responsibilities(
    log_density: Floats, log_resp: Floats, weights: Doubles, pivots: Doubles, offsets: Doubles
) -> tuple[Floats, Floats, float]:
    r"""Responsibilities of one block under capped memberships.

    Memberships are :math:`\log\tau_{ij} = \min(0, g_j + (v_{ij} - p_j))`, of log responsibilities
    :math:`v_{ij}` of the previous pass, pivots :math:`p_j` and offsets :math:`g_j`; or they are
    already included in ``log_density``, and ``log_resp`` has no rows.

    Gives :math:`\log\upsilon_{ij}` (eq. 7), at least ``LOG_ZERO`` and overwriting
    ``log_density``; :math:`w_i \upsilon_{ij}`; and :math:`\sum_i w_i \log\sum_k e^{\ell_{ik}}`.
    Arithmetic is in the dtype of ``log_density``; pivots are split in two, so that differences to
    them keep their precision.
    """
    n_rows, real = log_density.shape[1], log_density.dtype
    near, rest = np.empty(pivots.size, dtype=real), np.empty(pivots.size, dtype=real)
    for j in range(pivots.size):
        near[j] = pivots[j]
        rest[j] = offsets[j] - (pivots[j] - near[j])
    shares, likelihood = np.empty_like(log_density), 0.0
    top, sums = np.empty(SHARING_CHUNK, dtype=real), np.empty(SHARING_CHUNK, dtype=real)
    logs = np.empty(SHARING_CHUNK, dtype=real)
    for start in range(0, n_rows, SHARING_CHUNK):
        stop = min(start + SHARING_CHUNK, n_rows)
        _largest_of(log_density, log_resp, near, rest, start, top[: stop - start])
        for i in range(stop - start):
            sums[i] = 0.0
        for j in range(len(log_density)):
            line, part = log_density[j, start:stop], shares[j, start:stop]
            add_exponentials(line, top, UNDERFLOW_LOG, part, sums)
        logarithms(sums[: stop - start], logs)
        for i in range(stop - start):
            likelihood += weights[start + i] * (np.float64(top[i]) + logs[i])
        for i in range(stop - start):
            sums[i] = weights[start + i] / sums[i]
        _normalise(log_density, start, top[: stop - start], logs, shares, sums)
    return log_density, shares, likelihood


@compiled(inline="always")
def _largest_of(
    log_density: Floats, log_resp: Floats, near: Floats, rest: Floats, start: int, top: Floats
) -> None:
    """Add the log memberships, unless already included, and find each row's maximum."""
    zero, stop = log_density.dtype.type(0.0), start + top.size
    for i in range(top.size):
        top[i] = -np.inf
    for j in range(len(log_density)):
        line = log_density[j, start:stop]
        if log_resp.shape[1] > 0:
            before, pivot, share = log_resp[j, start:stop], near[j], rest[j]
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
    zero, lowest = log_density.dtype.type(0.0), log_density.dtype.type(LOG_ZERO)
    stop = start + top.size
    for j in range(len(log_density)):
        line, part = log_density[j, start:stop], shares[j, start:stop]
        for i in range(top.size):
            part[i] *= scales[i]
            line[i] = min(zero, max(lowest, (line[i] - top[i]) - logs[i]))
