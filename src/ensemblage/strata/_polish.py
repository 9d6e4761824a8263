"""Exact prices after expectation maximisation: memberships that no row could better."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemblage.blocks import Block, BlockSource, merge
from ensemblage.kernels import centred_columns, log_densities, priced_memberships, sizes_at_prices

N_BINS = 128
"""On each side of a price."""
TOGETHER, PATIENCE = 3, 8
"""After so many passes that brought no size closer, move one price at a time, or stop: but not
before each stratum had its turn."""
TOLERANCE = 1e-10
"""Sizes this close, relatively, need no other price."""
STEEP = 12.0
"""From this log scale on a membership turns within 1e-5 of it."""
FIRST_REACH, GROWTH, LAST_REACH = 0.5, 8.0, 1e9
HIGH = 600.0
"""Larger log scales are as good as this one: fractions turn within less than a float."""


class Prices(NamedTuple):
    r"""Where each stratum stands, and what single rows do to make its size exact.

    Attributes
    ----------
    log_scales : ndarray of shape (n_strata,)
        :math:`\log c_j`, minus the log prices.
    changes : list of (int, int, float)
        Row, stratum, and what to add to the membership that is best for the row.
    n_passes : int
        Passes over the rows.
    """

    log_scales: np.ndarray
    changes: list
    n_passes: int


def find_prices(source: BlockSource, model: tuple, log_scales, sizes) -> Prices:
    r"""Find the prices at which the rows' own best memberships give the wanted sizes.

    Parameters
    ----------
    source : BlockSource
        The rows.
    model : tuple of (centre, gaussians, kind)
        Centre of the rows, Gaussians around it, and the form of their covariances.
    log_scales : ndarray of shape (n_strata,)
        :math:`\log c_j = -\log\lambda_j` to start from.
    sizes : ndarray of shape (n_strata,)
        Wanted sizes.

    Returns
    -------
    Prices

    Notes
    -----
    With the Gaussians fixed the problem in :math:`\tau` is concave, and at the optimum each row
    has the memberships that are best for it at the prices :math:`\lambda_j`. A stratum's size
    rises with its own :math:`c_j` and falls with the others', the more so its own: so all prices
    are corrected at once, each as if the others stood still.
    A row turns from none to full membership at one value of :math:`\log c_j`; where :math:`c_j` is
    so large that no float lies between, one row takes the fraction that makes the size exact.
    """
    row = max(source.map(_largest_weight))
    log_scales, reach = np.array(log_scales), np.full(len(sizes), FIRST_REACH)
    best, n_passes, since = None, 0, 0
    while since < PATIENCE + len(sizes):
        reached, fractions, turns, rounding = source.total(_measure, model, log_scales, reach)
        missing = sizes - reached
        moves, next_reach, settled = _moves(missing, fractions, turns, log_scales, reach, row)
        done = settled | (np.abs(missing) <= TOLERANCE * sizes + rounding)
        left = np.abs(missing[~done]).sum()
        n_passes, since = n_passes + 1, since + 1
        if best is None or left < best[0]:
            since = since if best is not None and left > 0.9 * best[0] else 0
            best = left, log_scales, missing
        if done.all():
            break
        # strata that take rows from each other in turn come to rest if one of them moves at a time
        moving = ~done if since <= TOGETHER else np.arange(len(sizes)) == _pick(~done, n_passes)
        log_scales = np.where(moving, log_scales + moves, log_scales)
        reach = np.where(moving, next_reach, reach)
    _, log_scales, missing = best
    return Prices(log_scales, _last_changes(source, model, log_scales, missing), n_passes)


def polished(block: Block, model: tuple, prices: Prices):
    """Memberships of a block at given prices, and their objective.

    Parameters
    ----------
    block : Block
        Rows.
    model : tuple of (centre, gaussians, kind)
        As for :func:`find_prices`.
    prices : Prices
        From :func:`find_prices`.

    Returns
    -------
    memberships : ndarray of shape (n_rows, n_strata)
        Best for each row, but for the last changes.
    objective : float
        Weighted sum of the rows' log likelihoods.
    """
    log_density, memberships, log_sums = _at_prices(block, model, prices.log_scales)
    for row, j, change in prices.changes:
        i = row - block.start
        if 0 <= i < len(memberships):
            memberships[i, j] = np.clip(memberships[i, j] + change, 0.0, 1.0)
            with np.errstate(divide="ignore"):
                log_sums[i] = np.logaddexp.reduce(np.log(memberships[i]) + log_density[:, i])
    return memberships, float(block.weights @ log_sums)


def _at_prices(block: Block, model: tuple, log_scales):
    centre, gaussians, kind = model
    log_density = log_densities(centred_columns(block.rows, centre, kind), gaussians, kind)
    return log_density, *priced_memberships(log_density, log_scales)


def _measure(block: Block, model: tuple, log_scales, reach):
    at_prices = _at_prices(block, model, log_scales)
    sizes, fractions, turns = sizes_at_prices(*at_prices, block.weights, log_scales, reach, N_BINS)
    return sizes, fractions, turns, fractions * np.finfo(at_prices[1].dtype).eps


def _pick(eligible, turn: int) -> int:
    """One of the eligible strata, another each turn."""
    strata = np.flatnonzero(eligible)
    return strata[turn % len(strata)]


def _largest_weight(block: Block):
    return block.weights.max()


def _moves(missing, fractions, turns, log_scales, reach, row):
    """How far each log scale has to go for its size, as far as the histogram tells.

    Returns
    -------
    moves, next_reach : ndarray of shape (n_strata,)
        Signed moves, and how far to look around the new scales.
    settled : ndarray of bool of shape (n_strata,)
        Whether no price is better: the very next row makes up for all that is missing, and beyond
        STEEP prices hardly make fractions.
    """
    side = np.where(missing > 0, 1.0, -1.0)
    outwards = np.where(missing[:, None] > 0, turns[:, N_BINS:], turns[:, N_BINS - 1 :: -1])
    edges = np.arange(1, N_BINS + 1) * (reach / N_BINS)[:, None]
    slope = fractions * np.exp(np.minimum(log_scales, HIGH))
    growth = np.abs(np.expm1(np.clip(side[:, None] * edges, -HIGH / 12, HIGH / 12)))
    by_fractions = growth * slope[:, None]
    gained = np.cumsum(outwards, axis=1) + np.minimum(by_fractions, fractions[:, None])
    enough = gained >= np.abs(missing)[:, None]
    crossed = enough[:, -1]
    k = np.where(crossed, enough.argmax(axis=1), N_BINS - 1)
    rows = np.arange(len(missing))
    before = np.where(k > 0, gained[rows, k - 1], 0.0)
    gap = gained[rows, k] - before
    part = np.minimum(np.abs(missing) - before, gap) / np.where(gap > 0, gap, 1.0)
    # a single row that turns in this bin has to be passed, or nothing changes
    moves = (k + np.where(outwards[rows, k] > 0, 1.0, part)) * reach / N_BINS
    moves = np.where(crossed, moves, reach)
    next_row = outwards[rows, k]
    single = (
        (next_row <= row) & (k == (outwards > 0).argmax(axis=1)) & (np.abs(missing) <= next_row)
    )
    # equal rows turn together: no float lies between none and all of them
    stuck = crossed & (moves <= 4 * np.spacing(np.abs(log_scales)))
    settled = single & (log_scales > STEEP) | stuck
    return (
        side * moves,
        np.where(crossed, reach / 16, np.minimum(GROWTH * reach, LAST_REACH)),
        settled,
    )


def _last_changes(source: BlockSource, model, log_scales, missing):
    """Which rows take what the sizes still lack: (row, stratum, change), few for each stratum."""
    found = merge(source.map(_next_to_turn, model, log_scales, missing), _join)
    strata, distance, room, rows, weights = found
    changes = []
    for j, lack in enumerate(missing):
        own = np.flatnonzero(strata == j)
        own = own[np.argsort(distance[own], kind="stable")]
        roomy = own[room[own] * weights[own] >= abs(lack)]
        taken = 0.0
        for entry in roomy[:1] if len(roomy) else own:
            change = np.clip((lack - taken) / weights[entry], -room[entry], room[entry])
            changes.append((rows[entry], j, change))
            taken += change * weights[entry]
    return changes


def _next_to_turn(block: Block, model, log_scales, missing):
    """Find the rows nearest to each stratum's price that have room for what its size lacks."""
    log_density, memberships, log_sums = _at_prices(block, model, log_scales)
    parts = []
    for j, lack in enumerate(missing):
        tau = memberships[:, j].astype(np.float64)
        room = 1 - tau if lack > 0 else tau
        distance = np.abs(log_sums - log_density[j] - log_scales[j])
        capacity = room * block.weights
        eligible = np.flatnonzero(capacity > 0)
        roomy = eligible[capacity[eligible] >= abs(lack)]
        if len(roomy) > 0:
            best = roomy[[distance[roomy].argmin()]]
        else:
            nearest = eligible[np.argsort(distance[eligible], kind="stable")]
            best = nearest[: np.searchsorted(np.cumsum(capacity[nearest]), abs(lack)) + 1]
        own = np.full(len(best), j)
        parts.append((own, distance[best], room[best], block.start + best, block.weights[best]))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _join(left, right):
    return tuple(np.concatenate(pair) for pair in zip(left, right, strict=True))
