"""Compiled kernels of HISS: scales for the size constraints, optimal memberships."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import compiled, exponentials

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]


N_BINS = 256
"""Bins per stratum, without the two for all lower and all higher values."""
SMALLEST = float(np.finfo(np.float64).tiny)
"""Smallest normal float, in the place of zero before a logarithm."""
CHUNK = 256
"""Rows per chunk of a histogram."""
DUAL_CHUNK = 64
"""Rows per chunk of memberships; a chunk fits in the first-level cache."""
LANES = 128
"""Number of partial sums, so that the loop is vectorised."""
NEGLIGIBLE_LOG = -45.0
"""Log ratio to a bin's edge below which a row adds less than 1e-19."""
EXACT_LOG = -40.0
"""Log ratio below which a term does not change a float64 sum."""
UNDERFLOW_LOG = -85.0
"""Log below which an exponential is set to zero, just above the float32 limit."""
VANISHING_LOG = -40.0
"""Lower edge of a window below which masses are exponentials of differences."""
MAX_LISTED_ROWS = 1024
"""Rows of one block in one window that are listed; more are only counted."""
ROUNDING = 1e-12
"""Relative deficit below which a stratum has all rows."""
AT_BOUND = 1e-9
"""Distance to a bound within which strata are evaluated one by one, in log units."""
AT_BREAKPOINT = 1e-3
"""Largest distance of a fractional membership to its breakpoint, in log units, after rounding."""
MIN_SUM = 1e-300
"""Smallest argument of a logarithm of a sum."""


class SplitScales(NamedTuple):
    r"""Scales of equation 8 in two parts for precision, :math:`\log c_j = o_j - p_j`."""

    pivots: Doubles  # (n_strata,), reference log responsibilities
    offsets: Doubles  # (n_strata,), log membership of a row at the pivot, before it is capped


class ScaleWindows(NamedTuple):
    r"""Where :math:`-\log c_j` is expected; edges are values of the rows' dtype, (n_strata,)."""

    lower: Doubles
    upper: Doubles


class Entries(NamedTuple):
    """Rows that may be capped or not, one entry for each stratum and row."""

    strata: Integers
    offsets: Doubles  # log responsibility minus the window's lower edge
    weights: Doubles

    def __add__(self, other: Entries) -> Entries:  # type: ignore[override]
        return Entries(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


class WindowSums(NamedTuple):
    """Sums of the rows above, below and inside the windows; additive over blocks."""

    weight: float  # of all rows
    above: Doubles  # (n_strata,), weight of the rows at the upper edge or higher
    rest: Doubles  # (n_strata,), mass of the rows below, relative to the lower edge
    inside: Doubles  # (n_strata,), number of rows between the edges
    entries: Entries  # these rows, where they are at most MAX_LISTED_ROWS of a block

    def __add__(self, other: WindowSums) -> WindowSums:  # type: ignore[override]
        sums: Any = (a + b for a, b in zip(self, other, strict=True))  # type: ignore[operator]
        return WindowSums(*sums)

    def of_strata(self, strata: NDArray[np.intp]) -> WindowSums:
        """Select the sums of some strata, whose indices are ascending."""
        indices, offsets, weights = self.entries
        own = np.isin(indices, strata)
        entries = Entries(np.searchsorted(strata, indices[own]), offsets[own], weights[own])
        return WindowSums(
            self.weight, self.above[strata], self.rest[strata], self.inside[strata], entries
        )


NO_WINDOWS = ScaleWindows(np.empty(0), np.empty(0))


class Bounds(NamedTuple):
    r"""Bounds on each row's :math:`Z`, before strata are evaluated one by one."""

    base: Doubles  # b = max_j log min(p_j, r_j)
    high: Doubles  # an upper bound on log Z, less the base
    low: Doubles  # sum of p_j e^-b over the strata whose membership is certainly 1
    undecided: NDArray[np.uint8]  # whether memberships of other strata may be above 0


@compiled
def add_from_below(
    log_resp: Doubles, weights: Doubles, left: float, tail: float, pivot: float
) -> tuple[float, float]:
    """Add rows in ascending order, as long as none of them is capped."""
    for i in range(len(log_resp)):
        new_tail = weights[i] + tail * np.exp(min(0.0, pivot - log_resp[i]))
        new_left = left + weights[i]
        if tail > 0.0 and new_left > new_tail:
            break
        pivot, tail, left = log_resp[i], new_tail, new_left
    # rounding can leave nothing where the size is the whole weight
    return pivot, np.log(max(left, SMALLEST)) - np.log(tail)


def capped_log_memberships(log_resp: Floats, scales: SplitScales) -> Floats:
    r"""Log memberships :math:`\min(0, o_j + (v_{ij} - p_j))` (eq. 8), (n_strata, n_rows)."""
    below = log_resp - scales.pivots[:, None] + scales.offsets[:, None]
    return np.minimum(below, 0.0).astype(log_resp.dtype, copy=False)


@compiled
def bin_masses(
    log_resp: Floats,
    weights: Doubles,
    lower: Doubles,
    width: Doubles,
    n_bins: int,
) -> tuple[Doubles, Doubles]:
    r"""Histogram of each stratum's log responsibilities, with weights and sums of exponentials.

    ``log_resp`` has shape (n_strata, n_rows). Bins of a stratum start at ``lower`` and have the
    given width; width 0 skips the stratum. Both results have shape (n_strata, n_bins + 2), with a
    bin for all lower and one for all higher values: the weight in each bin, and
    :math:`\sum w_i \exp(v_i - e)` with :math:`e` the bin's upper edge; none for the last bin.
    """
    n_strata, n_rows = log_resp.shape
    counts = np.zeros((n_strata, n_bins + 2))
    masses = np.zeros((n_strata, n_bins + 2))
    bins, drops, parts = np.empty(CHUNK, dtype=np.int64), np.empty(CHUNK), np.empty(CHUNK)
    for j in range(n_strata):
        if width[j] == 0.0:
            continue
        first, step, inverse = lower[j], width[j], 1.0 / width[j]
        for start in range(0, n_rows, CHUNK):
            line = log_resp[j, start : start + CHUNK]
            for i in range(line.size):
                offset = line[i] - first
                # NaN goes to the lowest bin, not to an arbitrary address
                place = np.floor(offset * inverse) if offset >= 0.0 else -1.0
                place = min(float(n_bins), place)
                bins[i] = np.int64(place) + 1
                drops[i] = min(0.0, offset - (place + 1.0) * step)
            exponentials(drops[: line.size], NEGLIGIBLE_LOG, parts)
            for i in range(line.size):
                counts[j, bins[i]] += weights[start + i]
                masses[j, bins[i]] += weights[start + i] * parts[i]
        masses[j, n_bins + 1] = 0.0
    return counts, masses


@compiled
def rows_in_bins(
    log_resp: Floats,
    weights: Doubles,
    lower: Doubles,
    width: Doubles,
    found: Integers,
) -> tuple[Integers, Doubles, Doubles]:
    """Find the entries of ``log_resp`` that lie in one bin of each stratum.

    The bin index, ``found``, counts from the bin that starts at ``lower``. Gives the entries'
    strata, ascending; their offsets to ``lower``; and the weights of their rows.
    """
    n_strata, n_rows = log_resp.shape
    entries, n_found = np.empty(64, dtype=np.int64), 0
    limits = np.empty(2, dtype=log_resp.dtype)
    slack = 2.0**-20 if log_resp.itemsize == 4 else 2.0**-49
    eights = np.zeros(-(-n_rows // 8), dtype=np.uint64)
    near = eights.view(np.uint8)
    for j in range(n_strata):
        start, step, inverse, wanted = lower[j], width[j], 1.0 / width[j], found[j]
        # first without a branch, in their own dtype and with a margin for rounding
        radius = slack * (abs(start) + abs(wanted + 1) * step)
        limits[0] = start + wanted * step - radius
        limits[1] = start + (wanted + 1) * step + radius
        low, high, line = limits[0], limits[1], log_resp[j]
        for i in range(n_rows):
            near[i] = (line[i] >= low) & (line[i] <= high)
        for k in range(eights.size):
            if eights[k] == 0:
                continue
            for i in range(8 * k, min(8 * k + 8, n_rows)):
                if near[i] and np.floor((line[i] - start) * inverse) == wanted:
                    entries = _with_capacity(entries, n_found)
                    entries[n_found] = j * n_rows + i
                    n_found += 1
    strata, offsets = np.empty(n_found, dtype=np.int64), np.empty(n_found)
    found_weights = np.empty(n_found)
    for e in range(n_found):
        j, i = entries[e] // n_rows, entries[e] % n_rows
        strata[e], offsets[e], found_weights[e] = j, log_resp[j, i] - lower[j], weights[i]
    return strata, offsets, found_weights


@compiled(inline="always")
def _with_capacity(entries: Integers, n_found: int) -> Integers:
    """Entries with capacity for one more; if full, a copy of twice the length."""
    if n_found < len(entries):
        return entries
    longer = np.empty(2 * len(entries), dtype=np.int64)
    for e in range(len(entries)):
        longer[e] = entries[e]
    return longer


@compiled
def sizes_at_edges(counts: Doubles, masses: Doubles, width: Doubles) -> tuple[Doubles, Doubles]:
    r"""Sizes of the strata for a cap at each edge between two bins.

    From the counts and masses of ``bin_masses``, summed over all blocks. Both results have shape
    (n_strata, n_bins + 1): the size, decreasing, and the part of it from rows below the edge.
    """
    n_strata, n_edges = counts.shape[0], counts.shape[1] - 1
    sizes = np.empty((n_strata, n_edges))
    rests = np.empty((n_strata, n_edges))
    for j in range(n_strata):
        shrink = np.exp(-width[j])
        rests[j, 0] = masses[j, 0]
        for k in range(1, n_edges):
            rests[j, k] = rests[j, k - 1] * shrink + masses[j, k]
        above = 0.0
        for k in range(n_edges - 1, -1, -1):
            above += counts[j, k + 1]
            sizes[j, k] = above + rests[j, k]
    return sizes, rests


@compiled
def scan_windows(
    log_resp: Floats, shares: Floats, weights: Doubles, lower: Doubles, upper: Doubles
) -> tuple[float, Doubles, Doubles, Doubles, Integers, Doubles, Doubles]:
    """Fields of ``WindowSums`` for a block; ``shares`` are weighted responsibilities."""
    n_strata, n_rows, real = lower.size, log_resp.shape[1], log_resp.dtype
    above, rest, inside = np.zeros(n_strata), np.zeros(n_strata), np.zeros(n_strata)
    rows = np.empty(n_strata * MAX_LISTED_ROWS + n_rows + 1, dtype=np.int64)
    ends = np.zeros(n_strata, dtype=np.int64)
    drops, masses = np.empty(n_rows, dtype=real), np.empty(n_rows, dtype=real)
    edges, near, n_found = np.empty(2, dtype=real), np.empty(n_rows, dtype=np.uint8), 0
    for j in range(n_strata):
        line = log_resp[j]
        edges[0], edges[1] = lower[j], upper[j]
        if lower[j] > VANISHING_LOG:
            part, scale = shares[j], np.exp(-lower[j])
        else:
            _masses_below(line, weights, edges[0], drops, masses)
            part, scale = masses, 1.0
        above[j], rest[j] = _partition_rows(line, part, weights, edges, near)
        rest[j] *= scale
        n_listed = _list_marked(near, rows, n_found)
        inside[j] = n_listed - n_found
        n_found = n_listed if inside[j] <= MAX_LISTED_ROWS else n_found
        ends[j] = n_found
    strata, offsets = np.empty(n_found, dtype=np.int64), np.empty(n_found)
    own, weight, e = np.empty(n_found), 0.0, 0
    for j in range(n_strata):
        while e < ends[j]:
            strata[e], offsets[e] = j, log_resp[j, rows[e]] - lower[j]
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
    exponentials(drops, UNDERFLOW_LOG, masses)
    for i in range(line.size):
        masses[i] *= weights[i]


@compiled(inline="always")
def _partition_rows(
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
def _list_marked(near: NDArray[np.uint8], rows: Integers, n_found: int) -> int:
    """Append the indices of marked rows; eight marks are tested at a time."""
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
    strata: Integers, offsets: Doubles, weights: Doubles, n_strata: int
) -> tuple[Integers, Doubles, Doubles]:
    """Group offsets and weights by stratum; the first result has the start of each group."""
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


@compiled
def scales_in_windows(
    entries: tuple[Integers, Doubles, Doubles],
    sums: tuple[Doubles, Doubles, Doubles],
    total: float,
    sizes: Doubles,
) -> tuple[Doubles, NDArray[np.bool_]]:
    r"""Heights :math:`-\log c_j` above the windows' lower edges, and whether they are inside.

    ``entries`` are those of ``sort_entries``; ``sums`` are weight above, mass below, and widths.
    """
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
            heights[j] = _newton_scale(rows, size - above, below, span)
    return heights, settled


@compiled
def _masses_inside(rows: tuple[Doubles, Doubles, Doubles], span: float, drops: Doubles) -> float:
    """Fill in the masses of the rows, relative to the upper edge; give their weight."""
    offsets, weights, masses = rows
    weight = 0.0
    for e in range(offsets.size):
        drops[e] = min(0.0, offsets[e] - span)
        weight += weights[e]
    exponentials(drops, UNDERFLOW_LOG, masses)
    for e in range(offsets.size):
        masses[e] *= weights[e]
    return weight


@compiled
def _newton_scale(
    rows: tuple[Doubles, Doubles, Doubles], size: float, rest: float, span: float
) -> float:
    """Newton's method for the height, downwards until no more rows are capped (Fig. 1)."""
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
        # rounding can leave nothing where capped rows have the whole size
        height = min(height, span + np.log(mass) - np.log(max(left, SMALLEST)))
        n_before = n_capped


@compiled
def bound_row_sums(log_density: Floats, log_scales: Doubles) -> tuple[Floats, Bounds]:
    r"""Memberships of 1 where bounds on :math:`Z` imply it, else 0.

    With :math:`r_j = p_j / \lambda_j`, the KKT conditions are membership 1 if :math:`r_j > Z` and
    0 if :math:`r_j < Z`. So :math:`Z \ge p_j` for membership 1 and :math:`Z \ge r_j` otherwise:
    :math:`Z \ge \max_j \min(p_j, r_j)`. The term of a stratum in :math:`Z` is at most :math:`p_j`
    and at most :math:`Z`, and 0 if :math:`r_j < Z`: :math:`Z \le \sum_j \min(p_j, r_j)`. Strata
    whose :math:`r_j` is above that have membership 1; the sum of their terms is a lower bound.
    Loops run over rows without branches and calls, as in ``responsibilities``.
    """
    n_strata, n_rows = log_density.shape
    memberships = np.empty_like(log_density)
    bounds = Bounds(
        np.empty(n_rows), np.empty(n_rows), np.empty(n_rows), np.empty(n_rows, dtype=np.uint8)
    )
    parts, discounts = np.empty((n_strata, DUAL_CHUNK)), np.empty(n_strata)
    for j in range(n_strata):
        discounts[j] = min(log_scales[j], 0.0)
    for start in range(0, n_rows, DUAL_CHUNK):
        stop = min(start + DUAL_CHUNK, n_rows)
        here = Bounds(
            bounds.base[start:stop], bounds.high[start:stop],
            bounds.low[start:stop], bounds.undecided[start:stop],
        )  # fmt: skip
        _bound_from_above(log_density, discounts, start, here, parts)
        _fill_certain(log_density, log_scales, start, here, parts, memberships)
        _mark_undecided(log_density, log_scales, start, here)
    return memberships, bounds


@compiled(inline="always")
def _bound_from_above(
    log_density: Floats, discounts: Doubles, start: int, here: Bounds, parts: Doubles
) -> None:
    """Upper bound of Z in a chunk of rows; ``parts`` are min(p_j, r_j) over the base."""
    base, high = here.base, here.high
    n, logs = base.size, np.empty(base.size)
    for i in range(n):
        base[i], high[i] = -np.inf, 0.0
    for j in range(len(log_density)):
        line, discount = log_density[j, start : start + n], discounts[j]
        for i in range(n):
            base[i] = max(base[i], line[i] + discount)
    for j in range(len(log_density)):
        line, discount, part = log_density[j, start : start + n], discounts[j], parts[j]
        for i in range(n):
            logs[i] = line[i] + discount - base[i]
        exponentials(logs, EXACT_LOG, part)
        for i in range(n):
            high[i] += part[i]
    for i in range(n):
        high[i] = np.log(high[i]) + AT_BOUND


@compiled(inline="always")
def _fill_certain(
    log_density: Floats,
    log_scales: Doubles,
    start: int,
    here: Bounds,
    parts: Doubles,
    memberships: Floats,
) -> None:
    """Set memberships of strata above the upper bound to 1, and sum their terms."""
    base, high, low = here.base, here.high, here.low
    n, sure = base.size, np.empty(base.size, dtype=np.uint8)
    for i in range(n):
        low[i] = 0.0
    for j in range(len(log_density)):
        line, scale, part = log_density[j, start : start + n], log_scales[j], parts[j]
        for i in range(n):
            sure[i] = line[i] - base[i] + scale > high[i]
        for i in range(n):
            # membership 1 implies r_j > p_j: the term is p_j
            low[i] += part[i] if sure[i] else 0.0
        for i in range(n):
            memberships[j, start + i] = sure[i]


@compiled(inline="always")
def _mark_undecided(log_density: Floats, log_scales: Doubles, start: int, here: Bounds) -> None:
    """Mark the rows with a stratum between the bounds."""
    base, high, low, undecided = here.base, here.high, here.low, here.undecided
    n, least = base.size, np.empty(base.size)
    for i in range(n):
        undecided[i] = 0
        least[i] = max(0.0, np.log(max(low[i], MIN_SUM))) - AT_BOUND
    for j in range(len(log_density)):
        line, scale = log_density[j, start : start + n], log_scales[j]
        for i in range(n):
            ratio = line[i] - base[i] + scale
            undecided[i] |= (ratio <= high[i]) & (ratio >= least[i])


@compiled
def complete_memberships(
    log_density: Floats, log_scales: Doubles, memberships: Floats, bounds: Bounds
) -> Doubles:
    r"""Evaluate undecided strata in descending order of :math:`r_j`; give :math:`\log Z_i`.

    The memberships are completed in place.
    """
    n_strata, n_rows = log_density.shape
    log_sums, left = np.empty(n_rows), np.empty(n_strata)
    for i in range(n_rows):
        base, total = bounds.base[i], bounds.low[i]
        log_sums[i] = base + np.log(max(total, MIN_SUM))
        if not bounds.undecided[i]:
            continue
        for j in range(n_strata):
            ratio = log_density[j, i] - base + log_scales[j]
            left[j] = ratio if ratio <= bounds.high[i] else -np.inf
        for _ in range(n_strata):
            k = _highest(left)
            ratio = np.exp(left[k])
            if ratio <= total:
                break
            grown = total + np.exp(log_density[k, i] - base)
            if grown > ratio:
                # c_j (1 - Z / r_j), in logs because c_j alone may overflow
                rest = log_scales[k] + np.log1p(-total / ratio)
                memberships[k, i] = np.exp(min(0.0, rest))
                log_sums[i] = log_density[k, i] + log_scales[k]
                break
            memberships[k, i], total, left[k] = 1.0, grown, -np.inf
            log_sums[i] = base + np.log(total)
    return log_sums


@compiled(inline="always")
def _highest(values: Doubles) -> int:
    """Index of the highest value; NumPy's argmax takes as long to compile as its caller."""
    k, highest = 0, values[0]
    for j in range(1, values.size):
        if values[j] > highest:
            k, highest = j, values[j]
    return k


@compiled
def sizes_and_breakpoints(
    log_density: Floats,
    memberships: Floats,
    log_sums: Doubles,
    weights: Doubles,
    log_scales: Doubles,
    radius: Doubles,
    n_bins: int,
) -> tuple[Doubles, Doubles, Doubles]:
    r"""Sizes of the strata, and their changes with the dual variables.

    Gives :math:`\sum_i w_i \tau_{ij}`; the weight of the rows with a fractional membership, whose
    :math:`\tau_{ij}` is linear in :math:`c_j`; and, of shape (n_strata, 2 * n_bins), the weight of
    the rows whose breakpoint is in each bin of :math:`\log c_j`, with ``n_bins`` on each side
    within ``radius``. The breakpoint, where a membership changes from 0 to 1, is :math:`r_j = Z`,
    that is, :math:`\log c_j = \log Z - \log p_j`.
    """
    n_strata, n_rows = log_density.shape
    sizes, fractions = np.zeros(n_strata), np.zeros(n_strata)
    breakpoints, lanes = np.zeros((n_strata, 2 * n_bins)), np.zeros((n_strata, DUAL_CHUNK))
    distances, near = np.empty(DUAL_CHUNK), np.empty(DUAL_CHUNK, dtype=np.uint8)
    for start in range(0, n_rows, DUAL_CHUNK):
        stop = min(start + DUAL_CHUNK, n_rows)
        heavy = weights[start:stop]
        for j in range(n_strata):
            taus, sums = memberships[j, start:stop], lanes[j]
            for i in range(heavy.size):
                sums[i] += heavy[i] * taus[i]
            line, inverse = log_density[j, start:stop], n_bins / radius[j]
            for i in range(heavy.size):
                distances[i] = (log_sums[start + i] - line[i] - log_scales[j]) * inverse
            # a fractional membership is at its breakpoint, up to rounding
            if _mark_near(distances[: heavy.size], max(n_bins, AT_BREAKPOINT * inverse), near):
                _count_breakpoints(
                    taus, heavy, distances, near, breakpoints[j], fractions[j : j + 1]
                )
    for j in range(n_strata):
        for i in range(DUAL_CHUNK):
            sizes[j] += lanes[j, i]
    return sizes, fractions, breakpoints


@compiled(inline="always")
def _mark_near(distances: Doubles, within: float, near: NDArray[np.uint8]) -> int:
    """Mark the rows of a chunk with a breakpoint within a number of bins; give their count."""
    found = 0
    for i in range(distances.size):
        near[i] = (distances[i] >= -within) & (distances[i] <= within)
    for i in range(distances.size):
        found += near[i]
    return found


@compiled(inline="always")
def _count_breakpoints(
    taus: Floats,
    weights: Doubles,
    distances: Doubles,
    near: NDArray[np.uint8],
    breakpoints: Doubles,
    fractions: Doubles,
) -> None:
    """Sum weights of marked rows by bin, and of those with a fractional membership."""
    n_bins = breakpoints.size // 2
    for i in range(taus.size):
        if not near[i]:
            continue
        if 0.0 < taus[i] < 1.0:
            fractions[0] += weights[i]
            continue
        if not -n_bins <= distances[i] < n_bins:
            continue
        # rounding may put a breakpoint on the wrong side of the log scale
        k = int(np.floor(distances[i])) + n_bins
        breakpoints[min(k, n_bins - 1) if taus[i] > 0.5 else max(k, n_bins)] += weights[i]
