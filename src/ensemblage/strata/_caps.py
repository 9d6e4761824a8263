"""Where each stratum caps its memberships from one pass to the next, whoever holds the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import BlockSource
from ensemblage.kernels import Caps, Entries, Moments, Near, Windows, caps_in_windows
from ensemblage.strata._cap_search import (
    ALL,
    STRAIGHT,
    SizeRange,
    bins_about,
    search_caps,
    share_budget,
)
from ensemblage.strata._gaussian import Rule

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]
Numbers = NDArray[np.int64]

WANTED_SHARE, FEWEST, MOST = 1 / 128, 64, 8192
"""Such a share of the rows, within these bounds, is to be in a window,"""
AT_MOST = 4.0
"""and so many times that, if it takes that much to reach as far as the last cap was missed by,"""
MISSES = 2.0
"""times this."""
FIRST_REACH, MOST_REACH = 0.5, 1.0
"""How far a window reaches to both sides, when nothing is known and at most."""
LEAST_REACH = 8.0
"""And at least, in what rounding makes of an affinity."""
GOES_ON = 0.8
"""The next move is expected to be such a part of the last."""


class Seen(NamedTuple):
    """What a pass saw of the rows around the expected caps."""

    windows: Windows
    near: Near

    def of(self, strata: Numbers) -> Seen:
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
    expected, reach = heights, np.full_like(heights, FIRST_REACH)
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


def _replaced(caps: Caps, strata: Numbers, others: Caps) -> Caps:
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
