"""After expectation maximisation: memberships that no row could better, at exact prices."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block, BlockSource
from ensemblage.kernels import Caps, log_memberships, priced_memberships, share_rows
from ensemblage.strata._caps import log_scales_of
from ensemblage.strata._coinciding import SharedModel
from ensemblage.strata._gaussian_start import StrataModel
from ensemblage.strata._price_search import Prices, find_prices

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]


class Reached(NamedTuple):
    """What memberships come to; blocks add up."""

    objective: float
    """Weighted sum of log likelihoods."""
    sizes: Doubles
    """Of the strata, in weight."""
    capped: float = 0.0
    """The objective under the iterations' last caps, where these are given."""


class BlockFit(NamedTuple):
    """Memberships of a block's rows, of shape (n_rows, n_strata), and what they come to."""

    memberships: Floats
    reached: Reached


class Fitted(NamedTuple):
    """The same of all rows, and the log scales of the strata that led there."""

    memberships: Floats | None
    """None where the source does not keep them in memory."""
    reached: Reached
    log_scales: Doubles


def fit_by_prices(
    source: BlockSource,
    shared: SharedModel,
    log_scales: Doubles,
    sizes: Doubles,
    caps: Caps | None = None,
) -> Fitted:
    """Memberships at exact prices, sought from given log scales of the strata."""
    prices = find_prices(source, shared, log_scales, sizes)
    fitted = source.collect(polished, shared, prices, caps)
    return Fitted(*fitted, shared.groups.split_scales(prices.log_scales))


def polished(
    block: Block, shared: SharedModel, prices: Prices, caps: Caps | None = None
) -> BlockFit:
    """Fit a block at given prices: best for each row but for the last changes."""
    log_density = shared.log_densities(block.rows)
    by_group, log_sums = priced_memberships(log_density, prices.log_scales)
    for row, group, amount in prices.changes:
        i = row - block.start
        if 0 <= i < len(log_sums):
            by_group[group, i] = np.clip(by_group[group, i] + amount, 0.0, 1.0)
            with np.errstate(divide="ignore"):
                log_sums[i] = np.logaddexp.reduce(np.log(by_group[:, i]) + log_density[:, i])
    memberships = shared.groups.split_memberships(np.ascontiguousarray(by_group.T))
    fitted = _block_fit(block, memberships, float(block.weights @ log_sums))
    if caps is None:
        return fitted
    capped = _capped_objective(block, log_density, shared, caps)
    return fitted._replace(reached=fitted.reached._replace(capped=capped))


def fit_by_caps(source: BlockSource, shared: SharedModel, caps: Caps) -> Fitted:
    """Memberships under caps, as the last iteration left them."""
    return Fitted(*source.collect(_capped, shared.model, caps), log_scales_of(caps))


def _capped(block: Block, model: StrataModel, caps: Caps) -> BlockFit:
    affinity, log_density = _affinity(block), model.log_densities(block.rows)
    *_, objective = share_rows(log_density, affinity, block.weights, *caps)
    return _block_fit(block, np.exp(log_memberships(affinity, caps)).T, float(objective))


def _capped_objective(block: Block, log_density: Floats, shared: SharedModel, caps: Caps) -> float:
    """Objective of a block under given caps, if strata that coincide share equally.

    ``log_density``, of the groups, is not needed afterwards.
    """
    if shared.groups.distinct:
        *_, objective = share_rows(log_density, _affinity(block), block.weights, *caps)
        return float(objective)
    log_shares = shared.groups.join_memberships(log_memberships(_affinity(block), caps))
    return float(block.weights @ np.logaddexp.reduce(log_shares + log_density, axis=0))


def _block_fit(block: Block, memberships: Floats, objective: float) -> BlockFit:
    sizes = block.weights @ memberships.astype(np.float64)
    return BlockFit(memberships, Reached(objective, sizes))


def _affinity(block: Block) -> Floats:
    """Log responsibilities that the last pass left with the rows, of shape (n_strata, n_rows)."""
    return cast("Floats", block.carry)
