"""Search for where strata cap their memberships, when nothing is known of it.

Each pass over the log affinities sorts them into 256 bins per stratum and keeps the bin in which
the cap must lie; when a few rows are left in it, these are gathered and the cap follows.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block, BlockSource, of_carries
from ensemblage.kernels import (
    N_BINS,
    Bins,
    Caps,
    Entries,
    bin_masses,
    cap_for_size,
    rows_in_bins,
    sizes_at_edges,
)

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]
Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

FEW_ROWS, FEW_SHARE, MANY_ROWS = 1024, 1 / 32, 65536
"""Such a share of a stratum's rows may be gathered and sorted, within these bounds."""
FIRST_WIDTH, NEAR_WIDTH = 64.0, 4.0
"""Of all bins together, when nothing is known of the caps, and when they should be near."""
GROWTH = 32.0
FINE_WIDTH = 1.0
"""Within a bin this wide exponentials keep their precision."""
MAX_PASSES = 200
"""More than it takes to reach the largest affinity, or to halve a bin until nothing is left."""
ROUNDING = 1e-12
ALIKE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
"""Rows in a bin this narrow count as equal, for affinities of this dtype."""
STRAIGHT = {np.dtype(np.float64): 2e-8, np.dtype(np.float32): 1e-5}
"""Within a bin this narrow sizes change evenly."""
ALL = slice(None)


class Histogram(NamedTuple):
    """What lies in the bins, below and above; fields of shape (n_strata, N_BINS + 2)."""

    counts: Floats
    masses: Floats


class Found(NamedTuple):
    """The bins in which the caps lie; fields of shape (n_strata,)."""

    bins: Bins
    places: Numbers
    above: Doubles
    """Weight of the rows in higher bins, all capped."""
    rests: Doubles
    """What the rows in lower bins hold, relative to the bin's lower edge."""
    crowded: Flags
    """Whether many rows are in the bin, which is so narrow that they count as equal."""


def first_bins(n_strata: int) -> Bins:
    """Bins to start from when nothing is known; they cover memberships down to e^-64."""
    width = np.full(n_strata, FIRST_WIDTH / N_BINS)
    return Bins(-width * N_BINS, width)


def bins_about(heights: Doubles) -> Bins:
    """Bins to start from when the caps are likely to be near these affinities."""
    width = np.full(len(heights), NEAR_WIDTH / N_BINS)
    return Bins(heights - NEAR_WIDTH / 2, width)


def search_caps(
    source: BlockSource, sizes: Doubles, bins: Bins | None = None, strata: Any = ALL
) -> Caps:
    """Caps under which strata, all or those of some numbers, have the wanted sizes.

    The source's carry holds the log affinities, of shape (n_strata, n_rows). ``bins`` are where to
    look first.
    """
    bins = first_bins(len(sizes)) if bins is None else bins
    histogram = _count_all(source, bins, strata)
    n_rows, alike = source.shape[0], ALIKE[source.dtype]
    few = min(max(FEW_ROWS, FEW_SHARE * n_rows), MANY_ROWS) / n_rows
    for _ in range(MAX_PASSES):
        counts, masses = histogram
        reached, rests = sizes_at_edges(counts, masses, bins.width)
        # the last edge at which the stratum is still large enough; -1 if none is
        places = (reached >= _within_reach(sizes, counts, reached)[:, None]).sum(axis=1) - 1
        higher = (places == N_BINS) & (counts[:, -1] > 0)
        inside = np.take_along_axis(counts, places[:, None] + 1, axis=1)[:, 0]
        narrow = (inside <= few * counts.sum(axis=1)) & (bins.width <= FINE_WIDTH)
        atomic = bins.width <= np.maximum(alike, np.spacing(np.abs(bins.lower)))
        settled = (places >= 0) & ~higher & (narrow | atomic)
        if settled.all():
            break
        again = _look_elsewhere(bins, places, higher)
        # strata that are settled have no width, and so are not counted again
        unsettled = again._replace(width=np.where(settled, 0.0, again.width))
        recount = _count_all(source, unsettled, strata)
        bins = Bins(*np.where(settled, bins, again))
        histogram = Histogram(*np.where(settled[:, None], histogram, recount))
    own = np.arange(len(sizes))
    above = np.array([counts[j, k + 2 :].sum() for j, k in enumerate(places)])
    found = Found(bins, places, above, rests[own, places], ~narrow)
    caps = _close(source, sizes, found, strata)
    full = sizes >= (1 - ROUNDING) * counts.sum(axis=1)
    return _all_rows(source, caps, full, strata) if full.any() else caps


def _all_rows(source: BlockSource, caps: Caps, full: Flags, strata: Any) -> Caps:
    """Let strata that are to have all rows have the whole of each: caps below every affinity."""
    lowest = source.total(_lowest, strata, combine=np.minimum)
    return Caps(np.where(full, lowest, caps.pivots), np.where(full, 1.0, caps.log_shares))


@of_carries
def _lowest(block: Block, strata: Any) -> Doubles:
    return np.asarray(block.carry[strata].min(axis=1), dtype=np.float64)


def _within_reach(sizes: Doubles, counts: Floats, reached: Doubles) -> Doubles:
    """Sizes, at most the weight of all rows as it was added up, where none lies below the bins."""
    all_in = counts[:, 0] <= ROUNDING * reached[:, 0]
    return np.where(all_in, np.minimum(sizes, reached[:, 0]), sizes)


def _count_all(source: BlockSource, bins: Bins, strata: Any = ALL) -> Histogram:
    return Histogram(*source.total(_count, bins, strata))


@of_carries
def _count(block: Block, bins: Bins, strata: Any) -> tuple[Doubles, Doubles]:
    affinity = block.carry[strata]
    counted: tuple[Doubles, Doubles] = bin_masses(affinity, block.weights, *bins, N_BINS)
    return counted


def _look_elsewhere(bins: Bins, places: Numbers | int, higher: Flags | bool) -> Bins:
    """Bins for the next pass: within the bin found, or further down or up.

    Neighbouring ranges overlap by a bin, so that a cap on their border cannot fall between them
    by rounding.
    """
    lower, width = bins
    closer = width / (N_BINS - 2)
    lowered = lower + width - GROWTH * N_BINS * width
    below = np.less(places, 0)
    start = np.where(below, lowered, lower + places * width - closer)
    start = np.where(higher, lower + (N_BINS - 1) * width, start)
    return Bins(start, np.where(below | higher, GROWTH * width, closer))


def _close(source: BlockSource, sizes: Doubles, found: Found, strata: Any) -> Caps:
    """Gather the rows in each stratum's bin and solve for its cap.

    All within a stratum is relative to its lowest edge: at -1e10 the edges themselves are known
    to 1e-6 only.
    """
    entries = source.total(_gather, found, strata, combine=operator.add)
    offsets, weights = entries.by_stratum(len(sizes))
    edges = found.places * found.bins.width
    log_shares = np.empty(len(sizes))
    for j, size in enumerate(sizes):
        pivot, share = cap_for_size(
            offsets[j], weights[j], size, found.above[j], found.rests[j], edges[j]
        )
        log_shares[j] = share - pivot
    return Caps(found.bins.lower, log_shares)


@of_carries
def _gather(block: Block, found: Found, strata: Any) -> Entries:
    """Find the block's rows in the bin found, and add up the weights of equal ones if many."""
    bins, places = found.bins, found.places
    entries = Entries(*rows_in_bins(block.carry[strata], block.weights, *bins, places))
    middle = ((places + 0.5) * bins.width)[entries.strata]
    offsets = np.where(found.crowded[entries.strata], middle, entries.offsets)
    entries = entries._replace(offsets=offsets)
    if not found.crowded.any() and len(offsets) <= MANY_ROWS:
        return entries
    order = np.lexsort((entries.offsets, entries.strata))
    strata, offsets, weights = (field[order] for field in entries)
    fresh = np.append(True, (np.diff(strata) != 0) | (np.diff(offsets) != 0))
    sums = np.add.reduceat(weights, np.flatnonzero(fresh))
    return Entries(strata[fresh], offsets[fresh], sums)


class SizeRange(NamedTuple):
    """Bounds on each stratum's size, and what all sizes add up to."""

    lowest: float
    highest: float
    budget: float


class BudgetShares(NamedTuple):
    """Sizes that share a budget, and the caps of those that no bound holds."""

    sizes: Doubles
    caps: Caps


def share_budget(source: BlockSource, wanted: SizeRange, n_strata: int) -> BudgetShares:
    r"""Sizes between two bounds that share a budget best; the carry holds the log affinities.

    At the optimum all strata whose size is off the bounds have the same scale :math:`c`:
    find it from :math:`\sum_j \mathrm{clip}(s_j(c), lo, hi) = B`, where :math:`s_j(c)` is the
    size of stratum j under scale :math:`c`.
    """
    bins, budget, straight = first_bins(n_strata), wanted.budget, STRAIGHT[source.dtype]
    for _ in range(MAX_PASSES):
        reached, _rests = sizes_at_edges(*_count_all(source, bins), bins.width)
        sizes = np.clip(reached, wanted.lowest, wanted.highest)
        totals = sizes.sum(axis=0)
        nearest = np.abs(totals - budget).argmin()
        if abs(totals[nearest] - budget) <= ROUNDING * budget:
            break
        k = int(np.count_nonzero(totals >= budget)) - 1
        narrow = bins.width[0] <= max(straight, np.spacing(np.abs(bins.lower[0])))
        if 0 <= k < N_BINS and narrow:
            # also of equal affinities, where no scale meets the budget but a mean of two does
            part = (totals[k] - budget) / (totals[k] - totals[k + 1])
            mean = (1 - part) * sizes[:, k] + part * sizes[:, k + 1]
            return BudgetShares(mean, _caps_at(bins, k + part))
        bins = _look_elsewhere(bins, k, k == N_BINS)
    return BudgetShares(sizes[:, nearest], _caps_at(bins, float(nearest)))


def _caps_at(bins: Bins, place: float) -> Caps:
    """Caps at one scale for all, so many bins above the lowest edge."""
    return Caps(bins.lower, -place * bins.width)
