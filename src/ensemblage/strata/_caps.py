"""Find where each stratum caps its memberships, whoever holds the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemblage.blocks import Block, BlockSource, merge
from ensemblage.kernels import (
    N_BINS,
    Caps,
    bin_masses,
    cap_for_size,
    rows_in_bins,
    sizes_at_edges,
)

FEW_ROWS, FEW_SHARE, MANY_ROWS = 1024, 1 / 32, 65536
"""Such a share of a stratum's rows may be gathered and sorted, within these bounds."""
FIRST_WIDTH = 64.0
GROWTH = 32.0
FINE_WIDTH = 1.0
"""Within a bin this wide exponentials keep their precision."""
REACH, LEAST_REACH = 2.5, 0.5
"""Look so many of the last move's lengths around the next cap, and at least so far."""


class Bins(NamedTuple):
    """Where the bins of each stratum lie; all fields of shape (n_strata,)."""

    lower: np.ndarray
    width: np.ndarray

    @property
    def edges(self):  # numpydoc ignore=RT01
        """Lower edges of the bins and the last one's upper, of shape (n_strata, N_BINS + 1)."""
        return self.lower[:, None] + self.width[:, None] * np.arange(N_BINS + 1)


def first_bins(n_strata: int) -> Bins:
    """Bins to start from when nothing is known.

    Parameters
    ----------
    n_strata : int
        Number of strata.

    Returns
    -------
    Bins
        They cover memberships down to e^-64.
    """
    width = np.full(n_strata, FIRST_WIDTH / N_BINS)
    return Bins(-width * N_BINS, width)


def bins_around(caps: Caps, before: Caps | None = None) -> Bins:
    """Bins in which the next caps are likely to be.

    Parameters
    ----------
    caps : Caps
        The latest.
    before : Caps, default=None
        Those before them: caps go on as they went, or more slowly.

    Returns
    -------
    Bins
    """
    centre = -caps.log_scales
    moved = np.zeros_like(centre) if before is None else centre + before.log_scales
    reach = REACH * np.abs(centre if before is None else moved)
    reach = np.clip(reach, LEAST_REACH, FINE_WIDTH * N_BINS / 2)
    centre = centre + np.clip(moved, -reach / 2, reach / 2)
    return Bins(centre - reach, 2 * reach / N_BINS)


def solve_caps(
    source: BlockSource, sizes, bins: Bins | None = None, histogram: tuple | None = None
) -> Caps:
    """Caps under which the strata have the wanted sizes.

    Parameters
    ----------
    source : BlockSource
        Whose carry holds the log affinities, of shape (n_strata, n_rows).
    sizes : ndarray of shape (n_strata,)
        Wanted sizes, each at most the total weight.
    bins : Bins, default=None
        Where to look first.
    histogram : tuple of (counts, masses), default=None
        What lies in ``bins``, where that is known already.

    Returns
    -------
    Caps

    Notes
    -----
    Each pass sorts the affinities into 256 bins per stratum and keeps the bin in which the cap
    must lie; when a few rows are left in it, these are gathered and the cap follows in closed
    form. From a good guess with its histogram, gathering is the only pass.
    """
    bins = first_bins(len(sizes)) if bins is None else bins
    n_rows = source.shape[0]
    few = min(max(FEW_ROWS, FEW_SHARE * n_rows), MANY_ROWS) / n_rows
    counts, masses = source.total(_count, bins) if histogram is None else histogram
    while True:
        reached, rests = sizes_at_edges(counts, masses, bins.width)
        # the last edge at which the stratum is still large enough; -1 if none is
        found = (reached >= sizes[:, None]).sum(axis=1) - 1
        higher = (found == N_BINS) & (counts[:, -1] > 0)
        inside = np.take_along_axis(counts, found[:, None] + 1, axis=1)[:, 0]
        narrow = (inside <= few * counts.sum(axis=1)) & (bins.width <= FINE_WIDTH)
        atomic = bins.lower + bins.width == bins.lower
        settled = (found >= 0) & ~higher & (narrow | atomic)
        if settled.all():
            return _close(source, sizes, bins, found, counts, rests)
        lower, width = _look_elsewhere(*bins, found, higher)
        # strata that are settled have no width, and so are not counted again
        again = source.total(_count, Bins(lower, np.where(settled, 0.0, width)))
        bins = Bins(np.where(settled, bins.lower, lower), np.where(settled, bins.width, width))
        counts, masses = np.where(settled[:, None], (counts, masses), again)


def _count(block: Block, bins: Bins):
    return bin_masses(block.carry, block.weights, bins.lower, bins.width, N_BINS)


def _look_elsewhere(lower, width, found, higher):
    """Bins for the next pass: within the bin found, or further down or up.

    Neighbouring ranges overlap by a bin, so that a cap on their border cannot fall between them
    by rounding.
    """
    closer = width / (N_BINS - 2)
    below, above = found < 0, higher
    start = lower + found * width - closer
    start = np.where(below, lower + width - GROWTH * N_BINS * width, start)
    start = np.where(above, lower + (N_BINS - 1) * width, start)
    return start, np.where(below | above, GROWTH * width, closer)


def _close(source: BlockSource, sizes, bins: Bins, found, counts, rests) -> Caps:
    """Gather the rows in each stratum's bin and solve for its cap.

    All within a stratum is relative to its lowest edge: at -1e10 the edges themselves are known
    to 1e-6 only.
    """
    strata, offsets, weights = merge(source.map(_gather, bins, found), _join)
    log_shares = np.empty(len(sizes))
    for j, k in enumerate(found):
        own = strata == j
        above, edge = counts[j, k + 2 :].sum(), k * bins.width[j]
        pivot, share = cap_for_size(offsets[own], weights[own], sizes[j], above, rests[j, k], edge)
        log_shares[j] = share - pivot
    return Caps(bins.lower, log_shares)


def _gather(block: Block, bins: Bins, found):
    """Find the block's rows in the bin found, and add up the weights of equal ones if many."""
    strata, offsets, weights = rows_in_bins(block.carry, block.weights, *bins, found)
    if len(offsets) <= FEW_ROWS:
        return strata, offsets, weights
    order = np.lexsort((offsets, strata))
    strata, offsets, weights = strata[order], offsets[order], weights[order]
    fresh = np.append(True, (np.diff(strata) != 0) | (np.diff(offsets) != 0))
    return strata[fresh], offsets[fresh], np.add.reduceat(weights, np.flatnonzero(fresh))


def _join(left, right):
    return tuple(np.concatenate(pair) for pair in zip(left, right, strict=True))


def share_budget(source: BlockSource, lowest: float, highest: float, budget: float, n_strata: int):
    r"""Sizes between two bounds that share a budget best.

    Parameters
    ----------
    source : BlockSource
        Whose carry holds the log affinities, of shape (n_strata, n_rows).
    lowest, highest : float
        Bounds on each size.
    budget : float
        What the sizes add up to.
    n_strata : int
        Number of strata.

    Returns
    -------
    ndarray of shape (n_strata,)

    Notes
    -----
    At the optimum all strata whose size is off the bounds have the same scale :math:`c`:
    find it from :math:`\sum_j \mathrm{clip}(s_j(c), lo, hi) = B`, where :math:`s_j(c)` is the
    size of stratum j under scale :math:`c`.
    """
    lower, width = -FIRST_WIDTH, FIRST_WIDTH / N_BINS
    while True:
        bins = Bins(np.full(n_strata, lower), np.full(n_strata, width))
        counts, masses = source.total(_count, bins)
        sizes = np.clip(sizes_at_edges(counts, masses, bins.width)[0], lowest, highest)
        totals = sizes.sum(axis=0)
        nearest = np.abs(totals - budget).argmin()
        if abs(totals[nearest] - budget) <= 1e-12 * budget:
            return sizes[:, nearest]
        k = np.count_nonzero(totals >= budget) - 1
        if 0 <= k < N_BINS and lower + width == lower:
            # equal affinities: no scale meets the budget, a mean of two does
            part = (totals[k] - budget) / (totals[k] - totals[k + 1])
            return (1 - part) * sizes[:, k] + part * sizes[:, k + 1]
        lower, width = (float(x) for x in _look_elsewhere(lower, width, k, k == N_BINS))
