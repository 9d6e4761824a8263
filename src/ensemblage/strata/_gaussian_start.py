"""Where expectation maximisation starts: columns' spread, first centres, first Gaussians."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_array, check_random_state
from sklearn.utils.random import sample_without_replacement

from ensemblage.blocks import Block, BlockSource
from ensemblage.kernels import Gaussians, Kind, log_densities, make_gaussians

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]

SEED_ROWS = 10_000
"""Start centres are sought among at most so many rows."""
SHUFFLED_ROWS = 1_000_000
"""From so many rows they are drawn without a list of all rows' numbers."""


class StrataModel(NamedTuple):
    """One Gaussian per stratum, around a centre that keeps squares from cancelling."""

    centre: Floats
    gaussians: Gaussians
    kind: Kind

    def log_densities(self, rows: Floats) -> Floats:
        """Log density of each row, of shape (n_strata, n_rows)."""
        return log_densities(rows, *self)


def column_spread(source: BlockSource) -> tuple[Floats, Floats]:
    """Mean and variance of each column; variances are not finite where squares overflow.

    The mean is one that the rows' dtype can hold: equal rows then lie on it.
    """
    weight, sums = source.total(_sums)
    mean = (sums / weight).astype(source.dtype).astype(np.float64)
    (squares,) = source.total(_centred_squares, mean)
    return mean, squares / weight


def _sums(block: Block) -> tuple[Any, Floats]:
    return block.weights.sum(), block.weights @ block.rows


def _centred_squares(block: Block, mean: Floats) -> tuple[Floats]:
    # in the rows' own dtype, as the densities will be
    with np.errstate(over="ignore", invalid="ignore"):
        return (block.weights @ (block.rows - mean.astype(block.rows.dtype)) ** 2,)


def pick_rows(source: BlockSource, indices: NDArray[np.intp]) -> Floats:
    """Fetch rows by their numbers, which must rise."""
    return np.concatenate(list(source.map(_pick, indices)))


def _pick(block: Block, indices: NDArray[np.intp]) -> Floats:
    local = indices - block.start
    picked: Floats = block.rows[local[(local >= 0) & (local < len(block.rows))]]
    return picked


def start_means(source: BlockSource, init: Any, n_strata: int, random_state: Any) -> Doubles:
    """Choose the first centres, rows with some weight; an array is taken as it is."""
    if not isinstance(init, str):
        return _given_means(init, (n_strata, source.shape[1]))
    rng = check_random_state(random_state)
    weights, eligible = source.weights, _draw_eligible(source.weights, rng)
    rows = pick_rows(source, eligible)
    if init == "random":
        share = weights[eligible] / weights[eligible].sum()
        chosen = rng.choice(len(rows), n_strata, replace=len(rows) < n_strata, p=share)
        drawn: Doubles = rows[chosen].astype(np.float64)
        return drawn
    means, _ = kmeans_plusplus(
        rows, min(n_strata, len(rows)), sample_weight=weights[eligible], random_state=rng
    )
    return np.resize(means, (n_strata, rows.shape[1])).astype(np.float64)


def _draw_eligible(weights: Doubles, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Numbers of at most SEED_ROWS rows with some weight, rising."""
    n_eligible = np.count_nonzero(weights)
    if n_eligible <= SEED_ROWS:
        return np.flatnonzero(weights)
    if n_eligible <= SHUFFLED_ROWS:
        drawn = rng.choice(n_eligible, SEED_ROWS, replace=False)
    else:
        drawn = sample_without_replacement(n_eligible, SEED_ROWS, random_state=rng)
    drawn = np.sort(drawn)
    return drawn if n_eligible == len(weights) else np.flatnonzero(weights)[drawn]


def _given_means(init: ArrayLike, shape: tuple[int, int]) -> Doubles:
    means: Doubles = check_array(init, dtype=np.float64, input_name="init")
    if means.shape != shape:
        raise ValueError(
            f"init has shape {means.shape}; expected one row per stratum and one column per "
            f"feature, {shape}."
        )
    return means


def start_model(centre: Floats, means: Doubles, variance: Floats, kind: Kind) -> StrataModel:
    """Give each stratum its first mean and the variances of all rows."""
    n_strata = len(means)
    if kind == "spherical":
        covariances = np.full(n_strata, variance.mean())
    elif kind == "diag":
        covariances = np.tile(variance, (n_strata, 1))
    else:
        matrix = np.diag(variance)
        covariances = matrix if kind == "tied" else np.tile(matrix, (n_strata, 1, 1))
    return StrataModel(centre, make_gaussians(means - centre, covariances, kind), kind)
