"""Find where each stratum caps its memberships, whoever holds the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemblage.blocks import Block, BlockSource, merge
from ensemblage.kernels import Caps, bin_masses, cap_for_size, sizes_at_edges

N_BINS = 256
FEW_ROWS = 1024
"""So many rows of a stratum may be gathered and sorted."""
FIRST_WIDTH = 64.0
GROWTH = 32.0


class Bins(NamedTuple):
    """Where the bins of each stratum lie; all fields of shape (n_strata,)."""

    lower: np.ndarray
    width: np.ndarray

    @property
    def edges(self):
        """Lower edges of the bins and the last one's upper, of shape (n_strata, N_BINS + 1)."""
        return self.lower[:, None] + self.width[:, None] * np.arange(N_BINS + 1)


def solve_caps(source: BlockSource, sizes, start: Caps | None = None) -> Caps:
    """Caps under which the strata have the wanted sizes.

    Parameters
    ----------
    source : BlockSource
        Whose carry holds the log affinities, of shape (n_strata, n_rows).
    sizes : ndarray of shape (n_strata,)
        Wanted sizes, each at most the total weight.
    start : Caps, default=None
        A guess, such as the caps of the iteration before.

    Returns
    -------
    Caps

    Notes
    -----
    Each pass sorts the affinities into 256 bins per stratum and keeps the bin in which the cap
    must lie; when a few rows are left in it, these are gathered and the cap follows in closed
    form. A good guess takes two passes.
    """
    bins = _first_bins(len(sizes), start)
    while True:
        counts, masses = source.total(_count, bins)
        reached, rests = sizes_at_edges(counts, masses, bins.width)
        # the last edge at which the stratum is still large enough; -1 if none is
        found = (reached >= sizes[:, None] * (1 - 1e-15)).sum(axis=1) - 1
        inside = np.take_along_axis(counts, np.clip(found + 1, 0, N_BINS + 1)[:, None], 1)[:, 0]
        rows_inside = inside * source.shape[0] / counts.sum(axis=1)
        splits = bins.edges[:, 1] > bins.edges[:, 0]
        settled = (found >= 0) & ((rows_inside <= FEW_ROWS) | ~splits | (found == N_BINS))
        settled &= ~((found == N_BINS) & (counts[:, -1] > 0))
        if settled.all():
            return _close(source, sizes, bins, found, counts, rests)
        bins = _next_bins(bins, found, settled, counts)


def _first_bins(n_strata: int, start: Caps | None) -> Bins:
    if start is None:
        width = np.full(n_strata, FIRST_WIDTH / N_BINS)
        return Bins(-width * N_BINS, width)
    centre = -start.log_scales
    half = np.maximum(1.0, np.abs(centre) * 1e-3)
    return Bins(centre - half, 2 * half / N_BINS)


def _count(block: Block, bins: Bins):
    return bin_masses(block.carry, block.weights, bins.lower, bins.width, N_BINS)


def _next_bins(bins: Bins, found, settled, counts) -> Bins:
    """Look closer at the bin found, or further down or up where the cap lies outside."""
    span = bins.width * N_BINS
    below = found < 0
    over = (found == N_BINS) & (counts[:, -1] > 0)
    lower = bins.lower + bins.width * np.maximum(found, 0)
    width = bins.width / N_BINS
    lower = np.where(below, bins.lower - GROWTH * span, lower)
    width = np.where(below, GROWTH * span / N_BINS, width)
    lower = np.where(over, bins.lower + span, lower)
    width = np.where(over, np.maximum(-(bins.lower + span), span) / N_BINS, width)
    return Bins(np.where(settled, bins.lower, lower), np.where(settled, bins.width, width))


def _close(source: BlockSource, sizes, bins: Bins, found, counts, rests) -> Caps:
    """Gather the rows in each stratum's bin and solve for its cap."""
    parts = merge(source.map(_gather, bins, found), _join)
    solved = []
    for j, (affinity, weights) in enumerate(parts):
        k = found[j]
        above = counts[j, k + 2 :].sum()
        solved.append(
            cap_for_size(affinity, weights, sizes[j], above, rests[j, k], bins.edges[j, k])
        )
    pivots, log_shares = np.array(solved).T
    return Caps(pivots, log_shares)


def _gather(block: Block, bins: Bins, found):
    """The block's affinities in the bin found, with the weights of equal ones added up."""
    parts = []
    for affinity, lower, width, k in zip(block.carry, bins.lower, bins.width, found, strict=True):
        offset = affinity.astype(np.float64) - lower
        chosen = (offset >= 0) & (offset / width < N_BINS)
        chosen[chosen] = (offset[chosen] / width).astype(np.int64) == k
        values, groups = np.unique(affinity[chosen].astype(np.float64), return_inverse=True)
        parts.append((values, np.bincount(groups, block.weights[chosen], len(values))))
    return parts


def _join(left, right):
    return [
        tuple(np.concatenate(pair) for pair in zip(a, b, strict=True))
        for a, b in zip(left, right, strict=True)
    ]


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
    width = FIRST_WIDTH / N_BINS
    lower = -FIRST_WIDTH
    while True:
        bins = Bins(np.full(n_strata, lower), np.full(n_strata, width))
        counts, masses = source.total(_count, bins)
        sizes = np.clip(sizes_at_edges(counts, masses, bins.width)[0], lowest, highest)
        totals = sizes.sum(axis=0)
        k = int((totals >= budget).sum()) - 1
        if k < 0:
            lower, width = lower - GROWTH * N_BINS * width, GROWTH * width
        elif k == N_BINS:
            lower, width = lower + N_BINS * width, GROWTH * width
        elif totals[k] - totals[k + 1] > 1e-12 * budget and lower + width > lower:
            lower, width = lower + k * width, width / N_BINS
        else:
            gap = totals[k] - totals[k + 1]
            part = (totals[k] - budget) / gap if gap > 0 else 0.0
            return (1 - part) * sizes[:, k] + part * sizes[:, k + 1]
