"""Solvers that hold strata at their sizes.

The scales of equation 8 are found within EM, the dual problem of equation 5 with Gaussians fixed.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block, BlockSource, of_carries
from ensemblage.strata._gaussian import Rule, StrataModel
from ensemblage.strata._gaussian_kernels import Moments
from ensemblage.strata._hiss_kernels import (
    N_BINS,
    Bins,
    Caps,
    Entries,
    Near,
    Windows,
    bin_masses,
    cap_for_size,
    caps_in_windows,
    priced_memberships,
    rows_in_bins,
    sizes_at_edges,
    sizes_at_prices,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


WANTED_SHARE, FEWEST, MOST = 1 / 128, 64, 8192
"""Such a share of the rows, within these bounds, is to be in a window,"""
AT_MOST = 4.0
"""and so many times that, if it takes that much to reach as far as the last cap was missed by,"""
MISSES = 2.0
"""times this."""
FIRST_WINDOW, MOST_REACH = 0.5, 1.0
"""How far a window reaches to both sides, when nothing is known and at most."""
LEAST_REACH = 8.0
"""And at least, in what rounding makes of an affinity."""
GOES_ON = 0.8
"""The next move is expected to be such a part of the last."""


class Seen(NamedTuple):
    """What a pass saw of the rows around the expected caps."""

    windows: Windows
    near: Near

    def of(self, strata: Integers) -> Seen:
        """Give what it saw for strata of some numbers, rising."""
        near, (numbers, offsets, weights) = self.near, self.near.entries
        own = np.isin(numbers, strata)
        renumbered = np.searchsorted(strata, numbers[own])
        entries = Entries(renumbered, offsets[own], weights[own])
        some = Near(
            near.weight, near.above[strata], near.rest[strata], near.inside[strata], entries
        )
        lower, upper = self.windows
        return Seen(Windows(lower[strata], upper[strata]), some)


def log_scales_of(caps: Caps) -> Doubles:
    """Give the log of c as one number per stratum, good enough to look around or to start from."""
    return caps.log_shares - caps.pivots


def windows_at(heights: Doubles, reach: Doubles, dtype: Any) -> Windows:
    """Windows around some affinities, with edges that affinities of this dtype can have."""
    edges = heights - reach, heights + reach
    return Windows(*(edge.astype(dtype).astype(np.float64) for edge in edges))


def next_windows(source: BlockSource, caps: Caps, before: Rule, near: Near) -> Windows:
    """Windows for the next pass: caps go on as they went, among rows as dense as those seen."""
    heights = -log_scales_of(caps)
    expected, reach = heights, np.full_like(heights, FIRST_WINDOW)
    if isinstance(before.prior, Caps):
        expected = heights + GOES_ON * (heights + log_scales_of(before.prior))
    if before.windows is not None:
        lower, upper = before.windows
        wanted = min(max(FEWEST, WANTED_SHARE * source.shape[0]), MOST)
        reach = (upper - lower) / 2 * wanted / np.maximum(near.inside, 1.0)
        missed_by = np.abs(heights - (lower + upper) / 2)
        reach = np.clip(MISSES * missed_by, reach, AT_MOST * reach)
    least = LEAST_REACH * np.finfo(source.dtype).eps * (1 + np.abs(expected))
    return windows_at(expected, np.clip(reach, least, MOST_REACH), source.dtype)


ALL = slice(None)


def solve_caps(
    source: BlockSource, sizes: Doubles, seen: Seen | None = None, strata: Any = ALL
) -> Caps:
    """Caps under which strata, all or those of some numbers, have the wanted sizes.

    The source's carry holds the log affinities, of shape (n_strata, n_rows). Where the cap is in
    the window that a pass has looked through, it is known; else a search finds it.
    """
    if seen is None:
        return search_caps(source, sizes, strata=strata)
    heights, settled = caps_in_windows(*seen, sizes)
    caps = Caps(seen.windows.lower, -heights)
    missed = np.flatnonzero(~settled)
    if len(missed) == 0:
        return caps
    bins = bins_about(seen.windows.lower[missed])
    strata = missed if strata is ALL else strata[missed]
    return _replaced(caps, missed, search_caps(source, sizes[missed], bins, strata))


def _replaced(caps: Caps, strata: Integers, others: Caps) -> Caps:
    merged = Caps(*(field.copy() for field in caps))
    for own, other in zip(merged, others, strict=True):
        own[strata] = other
    return merged


class SizedRules(NamedTuple):
    """Rules under which each stratum has the same share of all rows, or one within a range."""

    n_strata: int
    share: float | SizeRange

    @property
    def first(self) -> Rule:
        """The same membership for all."""
        share = self.share
        if isinstance(share, SizeRange):
            share = share.budget / self.n_strata
        return Rule(np.full((self.n_strata, 1), np.log(share)))

    def following(self, source: BlockSource, moments: Moments, rule: Rule) -> Rule:
        """Caps at which the sizes hold, and where the next ones are likely to be."""
        caps = self.caps(source, moments, rule)
        return Rule(caps, next_windows(source, caps, rule, moments.near))

    def caps(self, source: BlockSource, moments: Moments, rule: Rule) -> Caps:
        """Caps at which the sizes hold, after a pass under a rule."""
        weight, seen = moments.near.weight, None
        if rule.windows is not None:
            seen = Seen(rule.windows, moments.near)
        if not isinstance(self.share, SizeRange):
            return solve_caps(source, self.sizes(source, weight), seen)
        wanted = self._wanted(self.share, weight)
        sizes, caps = share_budget(source, wanted, self.n_strata)
        # far down, where affinities are coarse, one scale for all is too
        coarse = np.spacing(np.abs(caps.pivots)) > STRAIGHT[source.dtype]
        free = (sizes > wanted.lowest) & (sizes < wanted.highest) & ~coarse
        bound = np.flatnonzero(~free)
        if len(bound) == 0:
            return caps
        solved = solve_caps(source, sizes[bound], seen and seen.of(bound), bound)
        return _replaced(caps, bound, solved)

    def sizes(self, source: BlockSource, weight: float) -> Doubles:
        """Size of each stratum, of shape (n_strata,), where all rows weigh so much."""
        if not isinstance(self.share, SizeRange):
            return np.full(self.n_strata, self.share * weight)
        return share_budget(source, self._wanted(self.share, weight), self.n_strata).sizes

    @staticmethod
    def _wanted(share: SizeRange, weight: float) -> SizeRange:
        return SizeRange(*(each * weight for each in share))


FEW_ROWS, FEW_SHARE, MANY_ROWS = 1024, 1 / 32, 65536
"""Such a share of a stratum's rows may be gathered and sorted, within these bounds."""
FIRST_WIDTH, NEAR_WIDTH = 64.0, 4.0
"""Of all bins together, when nothing is known of the caps, and when they should be near."""
BRACKET_GROWTH = 32.0
FINE_WIDTH = 1.0
"""Within a bin this wide exponentials keep their precision."""
MAX_PASSES = 200
"""More than it takes to reach the largest affinity, or to halve a bin until nothing is left."""
ROUNDING = 1e-12
ALIKE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
"""Rows in a bin this narrow count as equal, for affinities of this dtype."""
STRAIGHT = {np.dtype(np.float64): 2e-8, np.dtype(np.float32): 1e-5}
"""Within a bin this narrow sizes change evenly."""


class Histogram(NamedTuple):
    """What lies in the bins, below and above; fields of shape (n_strata, N_BINS + 2)."""

    counts: Floats
    masses: Floats


class Found(NamedTuple):
    """The bins in which the caps lie; fields of shape (n_strata,)."""

    bins: Bins
    places: Integers
    above: Doubles
    """Weight of the rows in higher bins, all capped."""
    rests: Doubles
    """What the rows in lower bins hold, relative to the bin's lower edge."""
    crowded: Mask
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


def _all_rows(source: BlockSource, caps: Caps, full: Mask, strata: Any) -> Caps:
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


def _look_elsewhere(bins: Bins, places: Integers | int, higher: Mask | bool) -> Bins:
    """Bins for the next pass: within the bin found, or further down or up.

    Neighbouring ranges overlap by a bin, so that a cap on their border cannot fall between them
    by rounding.
    """
    lower, width = bins
    closer = width / (N_BINS - 2)
    lowered = lower + width - BRACKET_GROWTH * N_BINS * width
    below = np.less(places, 0)
    start = np.where(below, lowered, lower + places * width - closer)
    start = np.where(higher, lower + (N_BINS - 1) * width, start)
    return Bins(start, np.where(below | higher, BRACKET_GROWTH * width, closer))


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


SAME = 5e-3
"""Gaussians with a smaller divergence coincide: where they are high their log densities differ by
7 %, and iterations that stopped there had not begun to part them."""


class Groups(NamedTuple):
    r"""Strata that coincide, taken as one.

    Members of a group share a row equally. With :math:`\tau` the membership in each of them, the
    row's likelihood has the part :math:`\tau \sum_j p_j`: a group is a stratum like any other,
    with the sum of its members' densities, a price that is the sum of theirs, and their size.
    """

    numbers: Indices
    """Group of each stratum, of shape (n_strata,), numbered by their first members."""

    @property
    def counts(self) -> Indices:
        """Number of strata in each group."""
        return np.bincount(self.numbers)

    @property
    def distinct(self) -> bool:
        """Whether each stratum is a group of its own."""
        return len(self.counts) == len(self.numbers)

    def join_densities(self, log_density: Floats) -> Floats:
        """Log densities of the groups, of shape (n_groups, n_rows), from those of the strata."""
        if self.distinct:
            return log_density
        _, firsts = np.unique(self.numbers, return_index=True)
        joined: Floats = log_density[firsts]
        for group in np.flatnonzero(self.counts > 1):
            joined[group] = np.logaddexp.reduce(log_density[self.numbers == group])
        return joined

    def join_sizes(self, sizes: Doubles) -> Doubles:
        """Size of each group's members, the mean where sizes may range."""
        return sizes if self.distinct else self._means(sizes)

    def join_scales(self, log_scales: Doubles) -> Doubles:
        """Log scales of the groups, that is, minus the logs of their prices."""
        return log_scales if self.distinct else self._means(log_scales) - np.log(self.counts)

    def split_scales(self, log_scales: Doubles) -> Doubles:
        """Log scales of the strata from those of their groups."""
        return log_scales if self.distinct else (log_scales + np.log(self.counts))[self.numbers]

    def join_memberships(self, log_memberships: Floats) -> Floats:
        """Log of the mean membership in each group, of shape (n_groups, n_rows)."""
        means: Floats = self.join_densities(log_memberships) - np.log(self.counts)[:, None]
        return means

    def split_memberships(self, memberships: Floats) -> Floats:
        """Memberships in the strata, of shape (n_rows, n_strata), from those in their groups."""
        return memberships if self.distinct else memberships[:, self.numbers]

    def _means(self, values: Doubles) -> Doubles:
        return np.bincount(self.numbers, values) / self.counts


class SharedModel(NamedTuple):
    """Densities in which strata that coincide are one."""

    model: StrataModel
    groups: Groups

    def log_densities(self, rows: Floats) -> Floats:
        """Log density of each row, of shape (n_groups, n_rows)."""
        return self.groups.join_densities(self.model.log_densities(rows))


def find_groups(model: StrataModel) -> Groups:
    """Put each stratum to the first one before it that it coincides with, or else apart."""
    firsts = [0]
    numbers = np.zeros(len(model.gaussians.means), dtype=np.intp)
    for j in range(1, len(numbers)):
        same = divergences(model, j, firsts) < SAME
        numbers[j] = same.argmax() if same.any() else len(firsts)
        if not same.any():
            firsts.append(j)
    return Groups(numbers)


def divergences(model: StrataModel, j: int, others: list[int]) -> Doubles:
    r"""Jeffreys' divergence, the sum of both Kullback-Leibler divergences, from some strata.

    It is :math:`\frac12 \mathrm{tr}((P_j - P_k)(\Sigma_k - \Sigma_j)) + \frac12 \delta'(P_j +
    P_k)\delta` with precisions :math:`P` and :math:`\delta = \mu_k - \mu_j`: about the mean square
    of the difference of the log densities.
    """
    means, covariances, factors = model.gaussians
    apart = means[others] - means[j]
    twice: Doubles
    if model.kind == "tied":
        twice = 2 * ((apart @ factors) ** 2).sum(axis=1)
    elif model.kind == "full":
        spread = covariances[others] - covariances[j]
        precisions = factors @ np.swapaxes(factors, 1, 2)
        less, more = precisions[j] - precisions[others], precisions[j] + precisions[others]
        twice = (less * spread).sum(axis=(1, 2)) + np.einsum("kd,kde,ke->k", apart, more, apart)
    else:
        by_column = (len(others), -1)  # one column if spherical
        own, theirs = factors[j].reshape(-1), factors[others].reshape(by_column)
        spread = (covariances[others] - covariances[j]).reshape(by_column)
        parts = (own - theirs) * spread + apart**2 * (own + theirs)
        twice = parts.sum(axis=1)
    return twice / 2


R = TypeVar("R", "PricedRows", "Turning")

N_DUAL_BINS = 128
"""On each side of a price."""
TOGETHER, PATIENCE, TURNS = 3, 8, 3
"""After so many passes that brought no size closer, move one price at a time, or stop: but not
before each stratum whose size is not met had so many turns."""
MOST_PASSES, FEW_PASSES, MOST_ENTRIES = 1000, 50, 2e8
"""So many passes at most; with so many memberships to look at in all of them, fewer."""
TOLERANCE = 1e-10
"""Sizes this close, relatively, need no other price."""
STEEP = 12.0
"""From this log scale on a membership turns within 1e-5 of it."""
FIRST_RADIUS, RADIUS_GROWTH, CLOSER, LAST_REACH = 0.5, 8.0, 16.0, 1e9
HIGH = 600.0
"""Larger log scales are as good as this one: fractions turn within less than a float."""
ASIDE, LEAST_ENTRIES, MOST_ASIDE, LARGEST_SHARE = 4.0, 2**18, 1e6, 1 / 8
"""Rows that turn within so many times the reach are taken aside: if there are so many memberships
or more, if so many at most are taken, and no larger share of them."""


class Change(NamedTuple):
    """What to add to the membership that is best for a row, to make a size exact."""

    row: int
    group: int
    amount: np.float64
    """NumPy's own, so that a float32 membership is added to in double precision."""


class Prices(NamedTuple):
    r"""Where each group of strata stands, and what single rows do to make its size exact."""

    log_scales: Doubles
    r""":math:`\log c_j`, minus the log prices, of shape (n_groups,)."""
    changes: list[Change]


class PricedRows(NamedTuple):
    """Rows as prices see them."""

    log_density: Floats
    """Of shape (n_groups, n_rows)."""
    weights: Doubles
    numbers: Indices

    def take(self, which: Mask) -> PricedRows:
        """Give some of the rows."""
        return PricedRows(self.log_density[:, which], self.weights[which], self.numbers[which])


class Measured(NamedTuple):
    """Sizes at given prices, and how they would change with these; a row per group."""

    sizes: Doubles
    fractions: Doubles
    """Weight of the rows with a fraction."""
    turns: Doubles
    """Weight of the rows that turn in each bin around the log scale."""
    rounding: Doubles


class Outlook(NamedTuple):
    """How far each log scale has to go, as far as the histogram tells; fields by group."""

    moves: Doubles
    reach: Doubles
    """How far to look around the new scales."""
    settled: Mask
    """Whether no price is better: the very next row makes up for all that is missing, and beyond
    STEEP prices hardly make fractions."""


class Turning(NamedTuple):
    """Rows that could take what sizes lack, one entry for each group and row."""

    groups: Indices
    distance: Doubles
    """From the price at which the membership turns, in logs."""
    room: Doubles
    """By how much the membership may change."""
    rows: Indices
    weights: Doubles


class Sighting(NamedTuple):
    """What all rows come to at given prices, and those of them that turn nearby."""

    measured: Measured
    near: PricedRows


class Aside(NamedTuple):
    r"""The rows that turn near given prices, and what all others come to.

    A row without a fraction has :math:`Z = \sum_j p_j` over the strata that it is full in. That
    does not depend on prices: none of its memberships changes before some price passes its
    :math:`Z / p_j`.
    """

    rows: PricedRows
    elsewhere: Doubles
    """Sizes that the strata have in the other rows."""
    log_scales: Doubles
    within: Doubles
    """Every other row turns farther away than this from its log scale."""

    def left(self, log_scales: Doubles) -> Doubles:
        """How far from these log scales no other row turns."""
        return self.within - np.abs(log_scales - self.log_scales)

    def measure(self, log_scales: Doubles, reach: Doubles) -> Measured:
        """Measure all rows by looking at these."""
        measured, _ = _measure_rows(self.rows, log_scales, reach)
        return measured._replace(sizes=measured.sizes + self.elsewhere)

    def next_to_turn(self, log_scales: Doubles, missing: Doubles) -> Turning | None:
        """Give the rows that turn next, unless others might be among them."""
        found = _turning(self.rows, log_scales, missing)
        there = np.bincount(found.groups, found.room * found.weights, minlength=len(missing))
        known = found.distance <= self.left(log_scales)[found.groups]
        return found if known.all() and (there >= np.abs(missing)).all() else None


class Market:
    """All rows of a source, asked what they would do at given prices."""

    def __init__(self, source: BlockSource, shared: SharedModel) -> None:
        self._source, self._shared, self._weight = source, shared, source.weights.sum()
        self._aside: Aside | None = None
        self._few = False

    def measure(self, log_scales: Doubles, reach: Doubles) -> Measured:
        """Sizes at these prices, and how they would change within reach."""
        if self._aside is not None and (self._aside.left(log_scales) >= reach).all():
            return self._aside.measure(log_scales, reach)
        if not self._few:
            self._aside = None
            return Measured(*self._source.total(_measure, self._shared, log_scales, reach))
        state = self._shared, log_scales, reach, ASIDE * reach
        measured, near = self._source.total(_measure_and_take_aside, *state, combine=_join_sights)
        own, _ = _measure_rows(near, log_scales, reach)
        elsewhere = measured.sizes - own.sizes
        self._aside = Aside(near, elsewhere, log_scales, ASIDE * reach)
        return measured

    def expect(self, measured: Measured, reach: Doubles, next_reach: Doubles) -> None:
        """Tell from what was measured within reach how many rows turn within the next."""
        n_rows, n_groups = self._source.shape[0], len(reach)
        turning = measured.turns.sum(axis=1) * ASIDE * next_reach / reach + measured.fractions
        share = turning.sum() / self._weight
        most = min(MOST_ASIDE / n_groups, LARGEST_SHARE * n_rows)
        self._few = n_rows * n_groups >= LEAST_ENTRIES and share * n_rows <= most

    def next_to_turn(self, log_scales: Doubles, missing: Doubles) -> Turning:
        """For each group the rows that could take what its size lacks, the nearest to turning."""
        found = None if self._aside is None else self._aside.next_to_turn(log_scales, missing)
        if found is None:
            state = self._shared, log_scales, missing
            found = self._source.total(_next_to_turn, *state, combine=_join)
        return found


def find_prices(
    source: BlockSource, shared: SharedModel, log_scales: Doubles, sizes: Doubles
) -> Prices:
    r"""Find the prices at which the rows' own best memberships give the wanted sizes.

    Log scales :math:`\log c_j = -\log\lambda_j` to start from and sizes are those of the strata.
    With the Gaussians fixed the problem in :math:`\tau` is concave, and at the optimum each row
    has the memberships that are best for it at the prices :math:`\lambda_j`. A size rises with its
    own :math:`c_j` and falls with the others', the more so its own: so all prices are corrected at
    once, each as if the others stood still. Of strata that coincide that would not be true, and
    no price tells them apart: they are one group and have one price.
    A row turns from none to full membership at one value of :math:`\log c_j`; where :math:`c_j` is
    so large that no float lies between, one row takes the fraction that makes the size exact.
    """
    log_scales, sizes = shared.groups.join_scales(log_scales), shared.groups.join_sizes(sizes)
    row = float(source.weights.max())
    reach, market = np.full(len(sizes), FIRST_RADIUS), Market(source, shared)
    best_left, best_scales, best_missing, since = np.inf, log_scales, sizes, 0
    for turn in range(1, _passes(source.shape[0], len(sizes)) + 1):
        measured = market.measure(log_scales, reach)
        missing = sizes - measured.sizes
        outlook = _look_out(missing, measured, log_scales, reach, row)
        done = outlook.settled | (np.abs(missing) <= TOLERANCE * sizes + measured.rounding)
        left = np.abs(missing[~done]).sum()
        since = 0 if left <= 0.9 * best_left else since + 1
        if left < best_left:
            best_left, best_scales, best_missing = left, log_scales, missing
        if done.all() or since >= PATIENCE + TURNS * (~done).sum():
            break
        # strata that take rows from each other in turn come to rest if one of them moves at a time
        moving = ~done if since <= TOGETHER else np.arange(len(sizes)) == _pick(~done, turn)
        log_scales = np.where(moving, log_scales + outlook.moves, log_scales)
        next_reach = np.where(moving, outlook.reach, reach)
        market.expect(measured, reach, next_reach)
        reach = next_reach
    found = market.next_to_turn(best_scales, best_missing)
    return Prices(best_scales, _last_changes(found, best_missing))


def _passes(n_rows: int, n_groups: int) -> int:
    """How often the rows may be gone through."""
    return int(np.clip(MOST_ENTRIES / (n_rows * n_groups), FEW_PASSES, MOST_PASSES))


def _pick(eligible: Mask, turn: int) -> int:
    """One of the eligible groups, another each turn."""
    groups = np.flatnonzero(eligible)
    return int(groups[turn % len(groups)])


def _look_out(
    missing: Doubles, measured: Measured, log_scales: Doubles, reach: Doubles, row: float
) -> Outlook:
    """Walk outwards from each price until enough rows have turned; ``row`` is the heaviest."""
    side = np.where(missing > 0, 1.0, -1.0)
    turns, fractions = measured.turns, measured.fractions
    outwards = np.where(
        missing[:, None] > 0, turns[:, N_DUAL_BINS:], turns[:, N_DUAL_BINS - 1 :: -1]
    )
    gained = np.cumsum(outwards, axis=1) + _by_fractions(side, fractions, log_scales, reach)
    enough = gained >= np.abs(missing)[:, None]
    crossed = enough[:, -1]
    k = np.where(crossed, enough.argmax(axis=1), N_DUAL_BINS - 1)
    own = np.arange(len(missing))
    before = np.where(k > 0, gained[own, k - 1], 0.0)
    gap = gained[own, k] - before
    part = np.minimum(np.abs(missing) - before, gap) / np.where(gap > 0, gap, 1.0)
    next_row = outwards[own, k]
    # a single row that turns in this bin has to be passed, or nothing changes
    moves = (k + np.where(next_row > 0, 1.0, part)) * reach / N_DUAL_BINS
    moves = np.where(crossed, moves, reach)
    first = k == (outwards > 0).argmax(axis=1)
    single = (next_row <= row) & first & (np.abs(missing) <= next_row)
    # equal rows turn together: no float lies between none and all of them
    stuck = crossed & (moves <= 4 * np.spacing(np.abs(log_scales)))
    next_reach = np.where(crossed, reach / CLOSER, np.minimum(RADIUS_GROWTH * reach, LAST_REACH))
    return Outlook(side * moves, next_reach, single & (log_scales > STEEP) | stuck)


def _by_fractions(
    side: Doubles, fractions: Doubles, log_scales: Doubles, reach: Doubles
) -> Doubles:
    """Weight that rows with a fraction gain up to each far edge, of shape (n_groups, N_BINS)."""
    edges = np.arange(1, N_DUAL_BINS + 1) * (reach / N_DUAL_BINS)[:, None]
    slope = fractions * np.exp(np.minimum(log_scales, HIGH))
    growth = np.abs(np.expm1(np.clip(side[:, None] * edges, -HIGH / 12, HIGH / 12)))
    return np.minimum(growth * slope[:, None], fractions[:, None])


def _last_changes(found: Turning, missing: Doubles) -> list[Change]:
    """Choose rows that take what the sizes still lack, few for each group."""
    changes = []
    for j, lack in enumerate(missing):
        own = np.flatnonzero(found.groups == j)
        own = own[np.argsort(found.distance[own], kind="stable")]
        roomy = own[found.room[own] * found.weights[own] >= abs(lack)]
        taken = 0.0
        for entry in roomy[:1] if len(roomy) else own:
            room, weight = found.room[entry], found.weights[entry]
            amount = np.clip((lack - taken) / weight, -room, room)
            if amount != 0:
                changes.append(Change(int(found.rows[entry]), j, amount))
            taken += amount * weight
    return changes


def _priced(block: Block, shared: SharedModel) -> PricedRows:
    numbers = block.start + np.arange(len(block.rows))
    return PricedRows(shared.log_densities(block.rows), block.weights, numbers)


def _measure(block: Block, shared: SharedModel, log_scales: Doubles, reach: Doubles) -> Measured:
    return _measure_rows(_priced(block, shared), log_scales, reach)[0]


def _measure_and_take_aside(
    block: Block, shared: SharedModel, log_scales: Doubles, reach: Doubles, within: Doubles
) -> Sighting:
    rows = _priced(block, shared)
    measured, log_sums = _measure_rows(rows, log_scales, reach)
    distances = np.abs(log_sums - rows.log_density - log_scales[:, None])
    near = np.any(distances <= within[:, None], axis=0)
    return Sighting(measured, rows.take(near))


def _measure_rows(
    rows: PricedRows, log_scales: Doubles, reach: Doubles
) -> tuple[Measured, Doubles]:
    """Measure rows, and give the log likelihood of each."""
    memberships, log_sums = priced_memberships(rows.log_density, log_scales)
    sizes, fractions, turns = sizes_at_prices(
        rows.log_density, memberships, log_sums, rows.weights, log_scales, reach, N_DUAL_BINS
    )
    rounding = fractions * np.finfo(memberships.dtype).eps
    return Measured(sizes, fractions, turns, rounding), log_sums


def _join_sights(left: Sighting, right: Sighting) -> Sighting:
    measured = Measured(*(a + b for a, b in zip(left.measured, right.measured, strict=True)))
    return Sighting(measured, _join(left.near, right.near))


def _next_to_turn(
    block: Block, shared: SharedModel, log_scales: Doubles, missing: Doubles
) -> Turning:
    return _turning(_priced(block, shared), log_scales, missing)


def _turning(rows: PricedRows, log_scales: Doubles, missing: Doubles) -> Turning:
    """Find the rows nearest to each group's price that have room for what its size lacks."""
    memberships, log_sums = priced_memberships(rows.log_density, log_scales)
    parts = []
    for j, lack in enumerate(missing):
        tau = memberships[j].astype(np.float64)
        room = 1 - tau if lack > 0 else tau
        distance = np.abs(log_sums - rows.log_density[j] - log_scales[j])
        capacity = room * rows.weights
        eligible = np.flatnonzero(capacity > 0)
        roomy = eligible[capacity[eligible] >= abs(lack)]
        if len(roomy) > 0:
            best = roomy[[distance[roomy].argmin()]]
        else:
            nearest = eligible[np.argsort(distance[eligible], kind="stable")]
            best = nearest[: np.searchsorted(np.cumsum(capacity[nearest]), abs(lack)) + 1]
        own = np.full(len(best), j)
        parts.append(
            Turning(own, distance[best], room[best], rows.numbers[best], rows.weights[best])
        )
    return Turning(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _join(left: R, right: R) -> R:
    """Put the rows of two blocks side by side."""
    pairs = zip(left, right, strict=True)
    return type(left)(*(np.concatenate(pair, axis=-1) for pair in pairs))
