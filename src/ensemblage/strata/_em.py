"""Expectation maximisation over blocks of rows, for any rule of membership."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ensemblage.blocks import Block, BlockSource
from ensemblage.kernels import (
    Caps,
    Gaussians,
    Kind,
    Moments,
    centred_columns,
    estimate,
    expectation,
)
from ensemblage.strata._caps import Bins


class Rule(NamedTuple):
    """How the rows' affinities become memberships.

    Attributes
    ----------
    prior : Caps or ndarray of shape (n_strata, 1)
        Caps, or the same log membership for all rows.
    bins : Bins or None
        Where to look for the next caps.
    """

    prior: Caps | np.ndarray
    bins: Bins | None = None


class EMState(NamedTuple):
    """Where expectation maximisation ended.

    Attributes
    ----------
    gaussians : Gaussians
        In centred coordinates.
    rule : Rule
        The rule of membership.
    total : Moments
        Statistics of the last pass.
    path : list of float
        Mean log likelihood at the start and after each iteration.
    converged : bool
        Whether the last step gained no more than the tolerance.
    """

    gaussians: Gaussians
    rule: Rule
    total: Moments
    path: list[float]
    converged: bool


def column_spread(source: BlockSource) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each column.

    Parameters
    ----------
    source : BlockSource
        The rows.

    Returns
    -------
    mean, variance : ndarray of shape (n_features,)
        Variances are not finite where squares overflow.
    """
    weight, sums = source.total(_sums)
    mean = sums / weight
    with np.errstate(over="ignore", invalid="ignore"):
        (squares,) = source.total(_centred_squares, mean)
    return mean, squares / weight


def _sums(block: Block):
    return block.weights.sum(), block.weights @ block.rows


def _centred_squares(block: Block, mean):
    # in the rows' own dtype, as the densities will be
    return (block.weights @ (block.rows - mean.astype(block.rows.dtype)) ** 2,)


def pick_rows(source: BlockSource, indices) -> np.ndarray:
    """Fetch rows by their sorted indices.

    Parameters
    ----------
    source : BlockSource
        The rows.
    indices : ndarray of int
        Sorted row numbers.

    Returns
    -------
    ndarray of shape (len(indices), n_features)
    """
    return np.concatenate(list(source.map(_pick, indices)))


def _pick(block: Block, indices):
    local = indices - block.start
    return block.rows[local[(local >= 0) & (local < len(block.rows))]]


def run_em(
    source: BlockSource,
    gaussians: Gaussians,
    rule: Rule,
    next_rule: Callable[[BlockSource, Moments, Rule], Rule],
    *,
    weight: float,
    centre: np.ndarray,
    kind: Kind,
    floor: float,
    max_iter: int,
    tol: float,
    step: Callable[[], bool],
) -> EMState:
    """Alternate between responsibilities and parameters until the objective settles.

    Parameters
    ----------
    source : BlockSource
        The rows; its carry holds the log responsibilities afterwards.
    gaussians : Gaussians
        To start from, in centred coordinates.
    rule : Rule
        To start from.
    next_rule : callable
        ``next_rule(source, moments, rule)`` gives the next rule of membership.
    weight : float
        Total weight of the rows.
    centre : ndarray of shape (n_features,)
        Subtracted from each row.
    kind : {"spherical", "diag", "tied", "full"}
        Form of the covariances.
    floor : float
        Lower bound on variances.
    max_iter : int
        At most so many iterations.
    tol : float
        Stop when an iteration gains no more than this.
    step : callable
        Called after each iteration; true stops the loop.

    Returns
    -------
    EMState
    """
    total = source.advance_total(_expect, centre, gaussians, kind, rule)
    path = [total.log_likelihood / weight]
    for _ in range(max_iter):
        gaussians = estimate(total, gaussians, floor, kind)
        rule = next_rule(source, total, rule)
        total = source.advance_total(_expect, centre, gaussians, kind, rule)
        path.append(total.log_likelihood / weight)
        converged = not path[-1] - path[-2] > tol
        if step() or converged:
            break
    return EMState(gaussians, rule, total, path, converged)


def _expect(block: Block, centre, gaussians: Gaussians, kind: Kind, rule: Rule):
    columns = centred_columns(block.rows, centre, kind)
    bins = () if rule.bins is None else rule.bins
    return expectation(columns, block.weights, rule.prior, gaussians, kind, block.carry, *bins)
