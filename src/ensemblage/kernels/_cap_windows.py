r"""Caps that are nearly known: one look at the rows around each finds it.

A stratum of size :math:`s` caps its memberships at the affinity :math:`t` where
:math:`\sum_{v_i \ge t} w_i + \sum_{v_i < t} w_i e^{v_i - t} = s` (HISS, eq. 8). From one pass to
the next :math:`t` moves little. So a *window* of affinities is kept around the place where it is
expected; rows above and below are only added up, and the few inside are listed. If the cap is
inside, these sums and rows give it exactly, by the loop of the paper's Figure 1: in
:math:`c = e^{-t}` sizes are concave and piecewise linear, and the loop is Newton's method on them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._capping import SMALLEST
from ensemblage.kernels._compile import compiled
from ensemblage.kernels._exponential import exponentials

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]
Numbers = NDArray[np.int64]

LANES = 128
"""So many sums are taken side by side, of every so many-th row each."""
CROWD = 1024
"""More rows of one block in one window are not listed."""
NEGLIGIBLE = -85.0
"""A row that far below a window, in logs, adds nothing."""
ROUNDING = 1e-12
"""A stratum that lacks no more than such a share of all rows is to have all: none is capped."""
DEEP = -40.0
"""Below windows this low responsibilities vanish: masses are exponentials of differences."""


class Windows(NamedTuple):
    """Where caps are expected; fields of shape (n_strata,), numbers that affinities can be."""

    lower: Doubles
    upper: Doubles


class Entries(NamedTuple):
    """Rows that may stand on either side of a cap, one entry for each stratum and row."""

    strata: Numbers
    offsets: Doubles  # how far the affinities lie above the window's lower edge
    weights: Doubles

    def __add__(self, other: Entries) -> Entries:  # type: ignore[override]
        return Entries(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def by_stratum(self, n_strata: int) -> tuple[list[Doubles], list[Doubles]]:
        """Offsets and weights of each stratum, in the order of the rows."""
        starts, offsets, weights = sort_entries(*self, n_strata)
        cuts = starts[1:-1]
        return np.split(offsets, cuts), np.split(weights, cuts)


class Near(NamedTuple):
    """What rows are to the windows; of all rows, the sum of what blocks give."""

    weight: float  # of all rows
    above: Doubles  # (n_strata,), weight of the rows at the upper edge or higher
    rest: Doubles  # (n_strata,), what rows below hold, relative to the lower edge
    inside: Doubles  # (n_strata,), number of rows between the edges
    entries: Entries  # these rows, but for those of crowds

    def __add__(self, other: Near) -> Near:  # type: ignore[override]
        sums: Any = (a + b for a, b in zip(self, other, strict=True))  # type: ignore[operator]
        return Near(*sums)


NO_WINDOWS = Windows(np.empty(0), np.empty(0))


def rows_near_caps(
    affinity: Floats, shares: Floats, weights: Doubles, lower: Doubles, upper: Doubles
) -> Near:
    """Look at a block's rows, of shape (n_strata, n_rows), through the strata's windows.

    ``shares`` are the exponentials of the affinities times the weights.
    """
    weight, above, rest, inside, *rows = _look_through(affinity, shares, weights, lower, upper)
    return Near(weight, above, rest, inside, Entries(*rows))


@compiled
def _look_through(
    affinity: Floats, shares: Floats, weights: Doubles, lower: Doubles, upper: Doubles
) -> tuple[float, Doubles, Doubles, Doubles, Numbers, Doubles, Doubles]:
    n_strata, n_rows, real = lower.size, affinity.shape[1], affinity.dtype
    above, rest, inside = np.zeros(n_strata), np.zeros(n_strata), np.zeros(n_strata)
    rows = np.empty(n_strata * CROWD + n_rows + 1, dtype=np.int64)
    ends = np.zeros(n_strata, dtype=np.int64)
    drops, masses = np.empty(n_rows, dtype=real), np.empty(n_rows, dtype=real)
    edges, near, n_found = np.empty(2, dtype=real), np.empty(n_rows, dtype=np.uint8), 0
    for j in range(n_strata):
        line = affinity[j]
        edges[0], edges[1] = lower[j], upper[j]
        if lower[j] > DEEP:
            part, scale = shares[j], np.exp(-lower[j])
        else:
            _masses_below(line, weights, edges[0], drops, masses)
            part, scale = masses, 1.0
        above[j], rest[j] = _part_rows(line, part, weights, edges, near)
        rest[j] *= scale
        n_listed = _list_rows(near, rows, n_found)
        inside[j] = n_listed - n_found
        n_found = n_listed if inside[j] <= CROWD else n_found
        ends[j] = n_found
    strata, offsets = np.empty(n_found, dtype=np.int64), np.empty(n_found)
    own, weight, e = np.empty(n_found), 0.0, 0
    for j in range(n_strata):
        while e < ends[j]:
            strata[e], offsets[e] = j, affinity[j, rows[e]] - lower[j]
            own[e] = weights[rows[e]]
            e += 1
    for i in range(n_rows):
        weight += weights[i]
    return weight, above, rest, inside, strata, offsets, own


@compiled(inline="always")
def _masses_below(line: Floats, weights: Doubles, edge: Any, drops: Floats, masses: Floats) -> None:
    zero = line.dtype.type(0.0)
    for i in range(line.size):
        drops[i] = min(zero, line[i] - edge)
    exponentials(drops, NEGLIGIBLE, masses)
    for i in range(line.size):
        masses[i] *= weights[i]


@compiled(inline="always")
def _part_rows(
    line: Floats, masses: Floats, weights: Doubles, edges: Floats, near: NDArray[np.uint8]
) -> tuple[float, float]:
    """Weight of the rows above the edges and mass of those below; mark the others."""
    zero, low, high = line.dtype.type(0.0), edges[0], edges[1]
    below, above = np.zeros(LANES, dtype=line.dtype), np.zeros(LANES)
    for start in range(0, line.size, LANES):
        n = min(LANES, line.size - start)
        values, mass = line[start : start + n], masses[start : start + n]
        weight, marks = weights[start : start + n], near[start : start + n]
        for i in range(n):
            below[i] += mass[i] if values[i] < low else zero
        for i in range(n):
            above[i] += weight[i] if values[i] >= high else 0.0
        for i in range(n):
            marks[i] = (values[i] >= low) & (values[i] < high)
    total_above, total_below = 0.0, 0.0
    for i in range(LANES):
        total_above += above[i]
        total_below += below[i]
    return total_above, total_below


@compiled(inline="always")
def _list_rows(near: NDArray[np.uint8], rows: Numbers, n_found: int) -> int:
    """List the rows that are marked; most eights of them have none."""
    n_eights = near.size // 8
    eights = near[: 8 * n_eights].view(np.uint64)
    for k in range(n_eights):
        if eights[k] != 0:
            for i in range(8 * k, 8 * k + 8):
                rows[n_found] = i
                n_found += near[i]
    for i in range(8 * n_eights, near.size):
        rows[n_found] = i
        n_found += near[i]
    return n_found


@compiled
def sort_entries(
    strata: Numbers, offsets: Doubles, weights: Doubles, n_strata: int
) -> tuple[Numbers, Doubles, Doubles]:
    """Offsets and weights stratum by stratum, and where those of each start."""
    starts = np.zeros(n_strata + 1, dtype=np.int64)
    for j in strata:
        starts[j + 1] += 1
    for j in range(n_strata):
        starts[j + 1] += starts[j]
    places, heights, own = starts.copy(), np.empty(strata.size), np.empty(strata.size)
    for e in range(strata.size):
        place = places[strata[e]]
        heights[place], own[place] = offsets[e], weights[e]
        places[strata[e]] += 1
    return starts, heights, own


class WindowCaps(NamedTuple):
    """Caps that lie in their windows; fields of shape (n_strata,)."""

    heights: Doubles  # how far above the lower edge
    settled: NDArray[np.bool_]  # whether it is there; it may be elsewhere, or in a crowd


def caps_in_windows(windows: Windows, near: Near, sizes: Doubles) -> WindowCaps:
    r"""Caps at which strata have the given sizes, where they lie in the windows.

    A cap :math:`h` above the lower edge means :math:`\log c = -h`, relative to that edge.
    """
    entries = sort_entries(*near.entries, len(sizes))
    listed = np.diff(entries[0]) == near.inside
    sums = near.above, near.rest, windows.upper - windows.lower
    heights, settled = _lower_caps(entries, sums, near.weight, sizes)
    return WindowCaps(heights, settled & listed)


@compiled
def _lower_caps(
    entries: tuple[Numbers, Doubles, Doubles],
    sums: tuple[Doubles, Doubles, Doubles],
    total: float,
    sizes: Doubles,
) -> tuple[Doubles, NDArray[np.bool_]]:
    starts, offsets, weights = entries
    heights, settled = np.zeros(sizes.size), np.zeros(sizes.size, dtype=np.bool_)
    drops, masses = np.empty(weights.size), np.empty(weights.size)
    for j in range(sizes.size):
        above, rest, span = sums[0][j], sums[1][j], sums[2][j]
        own = slice(starts[j], starts[j + 1])
        rows = offsets[own], weights[own], masses[own]
        inside = _masses_inside(rows, span, drops[own])
        size, at_lower, below = sizes[j], above + inside + rest, rest * np.exp(-span)
        at_upper = above + below
        for mass in rows[2]:
            at_upper += mass
        settled[j] = at_upper <= size <= at_lower and size < (1.0 - ROUNDING) * total
        if settled[j]:
            heights[j] = _lower_cap(rows, size - above, below, span)
    return heights, settled


@compiled
def _masses_inside(rows: tuple[Doubles, Doubles, Doubles], span: float, drops: Doubles) -> float:
    """Fill in what rows hold, relative to the upper edge; give their weight."""
    offsets, weights, masses = rows
    weight = 0.0
    for e in range(offsets.size):
        drops[e] = min(0.0, offsets[e] - span)
        weight += weights[e]
    exponentials(drops, NEGLIGIBLE, masses)
    for e in range(offsets.size):
        masses[e] *= weights[e]
    return weight


@compiled
def _lower_cap(
    rows: tuple[Doubles, Doubles, Doubles], size: float, rest: float, span: float
) -> float:
    """Lower a cap from the upper edge until no further row reaches it (Figure 1)."""
    offsets, weights, masses = rows
    height, n_capped, n_before = span, 0, -1
    while True:
        left, mass, n_capped = size, rest, 0
        for e in range(offsets.size):
            if offsets[e] >= height:
                left -= weights[e]
                n_capped += 1
            else:
                mass += masses[e]
        if mass <= 0.0 or n_capped == n_before:
            return height
        # rounding can leave nothing to share where all is taken by capped rows
        height = min(height, span + np.log(mass) - np.log(max(left, SMALLEST)))
        n_before = n_capped
