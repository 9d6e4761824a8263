"""Expectation maximisation over blocks of rows, for any rule of membership."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block, BlockSource
from ensemblage.kernels import NO_BINS, Bins, Caps, Moments, estimate, expectation
from ensemblage.strata._densities import StrataModel

Floats = NDArray[np.floating[Any]]


class Rule(NamedTuple):
    """How the rows' affinities become memberships."""

    prior: Caps | Floats
    """Caps, or the same log membership for all rows, of shape (n_strata, 1)."""
    bins: Bins | None = None
    """Where to look for the next caps."""


class EMSettings(NamedTuple):
    """What does not change from one iteration to the next."""

    weight: float
    """Total weight of the rows."""
    floor: float
    """Lower bound on variances."""
    max_iter: int
    tol: float
    """Stop when an iteration gains no more than this."""


class EMState(NamedTuple):
    """Where expectation maximisation ended."""

    model: StrataModel
    rule: Rule
    total: Moments
    """Statistics of the last pass."""
    path: list[float]
    """Mean log likelihood at the start and after each iteration."""
    converged: bool
    """Whether the last iteration gained no more than the tolerance."""


NextRule = Callable[[BlockSource, Moments, Rule], Rule]


def column_spread(source: BlockSource) -> tuple[Floats, Floats]:
    """Mean and variance of each column; variances are not finite where squares overflow."""
    weight, sums = source.total(_sums)
    mean = sums / weight
    with np.errstate(over="ignore", invalid="ignore"):
        (squares,) = source.total(_centred_squares, mean)
    return mean, squares / weight


def _sums(block: Block) -> tuple[Any, Floats]:
    return block.weights.sum(), block.weights @ block.rows


def _centred_squares(block: Block, mean: Floats) -> tuple[Floats]:
    # in the rows' own dtype, as the densities will be
    return (block.weights @ (block.rows - mean.astype(block.rows.dtype)) ** 2,)


def pick_rows(source: BlockSource, indices: NDArray[np.intp]) -> Floats:
    """Fetch rows by their numbers, which must rise."""
    return np.concatenate(list(source.map(_pick, indices)))


def _pick(block: Block, indices: NDArray[np.intp]) -> Floats:
    local = indices - block.start
    picked: Floats = block.rows[local[(local >= 0) & (local < len(block.rows))]]
    return picked


def run_em(
    source: BlockSource,
    model: StrataModel,
    rule: Rule,
    next_rule: NextRule,
    settings: EMSettings,
    step: Callable[[], bool],
) -> EMState:
    """Alternate between responsibilities and parameters until the objective settles.

    The log responsibilities stay with the source as its carry. ``step`` is called after each
    iteration; if it returns true, this was the last.
    """
    total = source.advance_total(_expect, model, rule)
    path = [total.log_likelihood / settings.weight]
    converged = False
    for _ in range(settings.max_iter):
        gaussians = estimate(total, model.gaussians, settings.floor, model.kind)
        model, rule = model._replace(gaussians=gaussians), next_rule(source, total, rule)
        total = source.advance_total(_expect, model, rule)
        path.append(total.log_likelihood / settings.weight)
        converged = not path[-1] - path[-2] > settings.tol
        if step() or converged:
            break
    return EMState(model, rule, total, path, converged)


def _expect(block: Block, model: StrataModel, rule: Rule) -> tuple[Floats, Moments]:
    columns, bins = model.columns(block.rows), NO_BINS if rule.bins is None else rule.bins
    return expectation(
        columns, block.weights, rule.prior, model.gaussians, model.kind, block.carry, bins
    )
