"""Solvers for the size constraints of HISS.

Within EM they find the scales of equation 8; after EM, the dual variables of equation 5.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block, BlockSource, state_only
from ensemblage.strata._gaussian_kernels import (
    MembershipPrior,
    Moments,
    StrataModel,
    responsibilities,
)
from ensemblage.strata._hiss_kernels import (
    N_BINS,
    Entries,
    ScaleWindows,
    SplitScales,
    WindowSums,
    add_from_below,
    bin_masses,
    bound_row_sums,
    capped_log_memberships,
    complete_memberships,
    rows_in_bins,
    scales_in_windows,
    sizes_and_breakpoints,
    sizes_at_edges,
    sort_entries,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Evaluated = tuple[Doubles, Doubles, Doubles, Doubles]
"""Sizes, weight of fractional memberships, breakpoints by bin, rounding errors; a row per group."""

ALL = slice(None)
ROUNDING = 1e-12
"""Relative rounding error of a sum of weights."""

# Windows in which the next scales are expected
WINDOW_SHARE = 1 / 128
"""Target number of rows in a window, as a share of all rows."""
MIN_WINDOW_ROWS = 64
"""Lower bound of that number."""
MAX_WINDOW_ROWS = 8192
"""Upper bound of that number."""
MAX_ROWS_FACTOR = 4.0
"""Factor by which a window may exceed that number to cover the last prediction error."""
MISS_FACTOR = 2.0
"""Half width of a window in multiples of the last prediction error."""
FIRST_RADIUS = 0.5
"""Initial half width of a window and initial radius of the dual step, in log units."""
MAX_WINDOW_RADIUS = 1.0
"""Largest half width of a window, in log units."""
MIN_WINDOW_ROUNDINGS = 8.0
"""Smallest half width of a window, in rounding errors of a log responsibility."""
MOMENTUM = 0.8
"""Predicted change of a log scale as a share of its last change."""

# Search for scales outside the windows
MIN_SORTED_ROWS = 1024
"""Number of rows per stratum that may always be sorted."""
SORTED_SHARE = 1 / 32
"""Share of the rows that may be sorted."""
MAX_SORTED_ROWS = 65536
"""Largest number of rows per stratum that may be sorted."""
FIRST_WIDTH = 64.0
"""Initial range of a histogram, in log units: memberships down to e^-64."""
NEAR_WIDTH = 4.0
"""Initial range of a histogram around a predicted scale, in log units."""
BRACKET_GROWTH = 32.0
"""Factor by which the range grows while it does not contain the scale."""
FINE_WIDTH = 1.0
"""Largest bin width at which exponentials keep their precision, in log units."""
MAX_SEARCH_PASSES = 200
"""Limit of refinements; more than are needed to reach any float."""
TIE_WIDTH = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
"""Bin width at or below which rows count as tied, in log units."""
LINEAR_WIDTH = {np.dtype(np.float64): 2e-8, np.dtype(np.float32): 1e-5}
"""Bin width at or below which sizes are interpolated linearly, in log units."""

# Dual ascent
N_DUAL_BINS = 128
"""Bins on each side of a log scale."""
MAX_JOINT_STALLS = 3
"""Passes without progress after which coordinate steps replace joint steps."""
MAX_STALLED = 8
"""Passes without progress after which the ascent ends."""
STALLS_PER_STRATUM = 3
"""Further passes without progress, per stratum that violates its size constraint."""
MAX_PASSES = 1000
"""Upper bound of the number of passes."""
MIN_PASSES = 50
"""Lower bound of the limit on passes."""
MAX_TOTAL_ENTRIES = 2e8
"""Limit on memberships evaluated in all passes together."""
TOLERANCE = 1e-10
"""Relative tolerance of the size constraints."""
STEEP_LOG_SCALE = 12.0
"""Log scale above which a membership changes from 0 to 1 within 1e-5 of its breakpoint."""
RADIUS_GROWTH = 8.0
"""Factor of the step radius after a step that was too short."""
RADIUS_SHRINK = 16.0
"""Divisor of the step radius after a step that was long enough."""
MAX_RADIUS = 1e9
"""Largest step radius, in log units."""
MAX_LOG_SCALE = 600.0
"""Log scales are capped here: beyond it memberships are steps in floating point."""
ACTIVE_RADIUS_FACTOR = 4.0
"""The active set has the rows with a breakpoint within this number of step radii."""
MIN_ENTRIES = 2**18
"""Smallest number of memberships for which an active set is kept."""
MAX_ACTIVE_ENTRIES = 1e6
"""Largest number of memberships in an active set."""
MAX_ACTIVE_SHARE = 1 / 8
"""Largest share of the rows in an active set."""
MAX_JEFFREYS = 5e-3
"""Jeffreys divergence below which Gaussians coincide: near their modes log densities differ by 7 %,
and EM that stopped there had not yet separated them."""


class SizeConstraint(NamedTuple):
    """Sizes of strata as shares of the rows: the same for all, or a range with a total."""

    lower: float
    upper: float
    total: float | None = None
    """Sum of all sizes; None where each is ``lower``."""


def as_log_scales(scales: SplitScales) -> Doubles:
    """Log c as one float per stratum, precise enough for a starting value."""
    return scales.offsets - scales.pivots


def extrapolate_windows(
    source: BlockSource, scales: SplitScales, before: MembershipPrior, near: WindowSums
) -> ScaleWindows:
    """Predict windows for the next pass from the last change of the scales and the row density."""
    heights = -as_log_scales(scales)
    expected, radius = heights, np.full_like(heights, FIRST_RADIUS)
    if isinstance(before.log_memberships, SplitScales):
        expected = heights + MOMENTUM * (heights + as_log_scales(before.log_memberships))
    if before.windows is not None:
        lower, upper = before.windows
        wanted = min(max(MIN_WINDOW_ROWS, WINDOW_SHARE * source.shape[0]), MAX_WINDOW_ROWS)
        radius = (upper - lower) / 2 * wanted / np.maximum(near.inside, 1.0)
        missed_by = np.abs(heights - (lower + upper) / 2)
        radius = np.clip(MISS_FACTOR * missed_by, radius, MAX_ROWS_FACTOR * radius)
    least = MIN_WINDOW_ROUNDINGS * np.finfo(source.dtype).eps * (1 + np.abs(expected))
    radius = np.clip(radius, least, MAX_WINDOW_RADIUS)
    edges = expected - radius, expected + radius
    return ScaleWindows(*(edge.astype(source.dtype).astype(np.float64) for edge in edges))


def constrained_scales(
    source: BlockSource, constraint: SizeConstraint, moments: Moments, prior: MembershipPrior
) -> tuple[SplitScales, Doubles]:
    """Scales that satisfy the size constraints after a pass, and the sizes, (n_strata,)."""
    near, windows, n_strata = moments.window_sums, prior.windows, len(moments.mass)
    if constraint.total is None:
        sizes = np.full(n_strata, constraint.lower * near.weight)
        return solve_scales(source, sizes, windows, near), sizes
    lower, upper = constraint.lower * near.weight, constraint.upper * near.weight
    total = constraint.total * near.weight
    sizes, scales = allocate_total_size(source, lower, upper, total, n_strata)
    # log responsibilities of large magnitude are too coarse for a common scale
    coarse = np.spacing(np.abs(scales.pivots)) > LINEAR_WIDTH[source.dtype]
    free = (sizes > lower) & (sizes < upper) & ~coarse
    bound = np.flatnonzero(~free)
    if len(bound) > 0:
        if windows is not None:
            windows = ScaleWindows(*(edge[bound] for edge in windows))
            near = near.of_strata(bound)
        scales = _replaced(scales, bound, solve_scales(source, sizes[bound], windows, near, bound))
    return scales, sizes


def solve_scales(
    source: BlockSource,
    sizes: Doubles,
    windows: ScaleWindows | None,
    near: WindowSums,
    strata: Any = ALL,
) -> SplitScales:
    """Scales at which strata, all or those of some indices, have the given sizes.

    The source's state holds log responsibilities, of shape (n_strata, n_rows). A scale inside its
    window follows from the sums of the last pass; the others are searched for.
    """
    if windows is None:
        return search_scales(source, sizes, strata=strata)
    entries = sort_entries(*near.entries, len(sizes))
    sums = near.above, near.rest, windows.upper - windows.lower
    heights, inside = scales_in_windows(entries, sums, near.weight, sizes)
    listed = np.diff(entries[0]) == near.inside
    scales, missed = SplitScales(windows.lower, -heights), np.flatnonzero(~(inside & listed))
    if len(missed) == 0:
        return scales
    strata = missed if strata is ALL else strata[missed]
    found = search_scales(source, sizes[missed], windows.lower[missed], strata)
    return _replaced(scales, missed, found)


def _replaced(scales: SplitScales, strata: Integers, others: SplitScales) -> SplitScales:
    merged = SplitScales(*(field.copy() for field in scales))
    for own, other in zip(merged, others, strict=True):
        own[strata] = other
    return merged


def search_scales(
    source: BlockSource, sizes: Doubles, heights: Doubles | None = None, strata: Any = ALL
) -> SplitScales:
    r"""Scales at which strata, all or those of some indices, have the given sizes.

    Histograms of the log responsibilities in the state are refined until the bin of
    :math:`-\log c_j` has few rows; the search starts at ``heights``.
    """
    if heights is None:
        width = np.full(len(sizes), FIRST_WIDTH / N_BINS)
        lower = -width * N_BINS
    else:
        width = np.full(len(sizes), NEAR_WIDTH / N_BINS)
        lower = heights - NEAR_WIDTH / 2
    counts, masses = source.reduce(_bin_masses, lower, width, strata)
    n_rows, tie_width = source.shape[0], TIE_WIDTH[source.dtype]
    few = min(max(MIN_SORTED_ROWS, SORTED_SHARE * n_rows), MAX_SORTED_ROWS) / n_rows
    for _ in range(MAX_SEARCH_PASSES):
        reached, rests = sizes_at_edges(counts, masses, width)
        # no more than the summed weight of all rows, where none lies below the bins
        all_in = counts[:, 0] <= ROUNDING * reached[:, 0]
        wanted = np.where(all_in, np.minimum(sizes, reached[:, 0]), sizes)
        # the last edge at which the stratum is still large enough; -1 if none is
        places = (reached >= wanted[:, None]).sum(axis=1) - 1
        higher = (places == N_BINS) & (counts[:, -1] > 0)
        inside = np.take_along_axis(counts, places[:, None] + 1, axis=1)[:, 0]
        narrow = (inside <= few * counts.sum(axis=1)) & (width <= FINE_WIDTH)
        atomic = width <= np.maximum(tie_width, np.spacing(np.abs(lower)))
        settled = (places >= 0) & ~higher & (narrow | atomic)
        if settled.all():
            break
        next_lower, next_width = _refine_bins(lower, width, places, higher)
        # width 0 excludes strata that are settled from the count
        recount = source.reduce(_bin_masses, next_lower, np.where(settled, 0.0, next_width), strata)
        lower, width = np.where(settled, lower, next_lower), np.where(settled, width, next_width)
        counts, masses = np.where(settled[:, None], (counts, masses), recount)
    entries = source.reduce(
        _rows_in_bins, lower, width, places, ~narrow, strata, combine=operator.add
    )
    starts, offsets, weights = sort_entries(*entries, len(sizes))
    # relative to the lowest edge: at -1e10 the edges have a precision of 1e-6 only
    found = np.empty(len(sizes))
    for j, (size, k) in enumerate(zip(sizes, places, strict=True)):
        own, above = slice(starts[j], starts[j + 1]), counts[j, k + 2 :].sum()
        pivot, offset = scale_for_size(
            offsets[own], weights[own], size, above, rests[j, k], k * width[j]
        )
        found[j] = offset - pivot
    full = sizes >= (1 - ROUNDING) * counts.sum(axis=1)
    if full.any():  # all memberships are 1: a height below every log responsibility
        lowest = source.reduce(_lowest, strata, combine=np.minimum)
        lower, found = np.where(full, lowest, lower), np.where(full, 1.0, found)
    return SplitScales(lower, found)


@state_only
def _bin_masses(
    block: Block, lower: Doubles, width: Doubles, strata: Any
) -> tuple[Doubles, Doubles]:
    counted: tuple[Doubles, Doubles] = bin_masses(
        block.state[strata], block.weights, lower, width, N_BINS
    )
    return counted


@state_only
def _lowest(block: Block, strata: Any) -> Doubles:
    return np.asarray(block.state[strata].min(axis=1), dtype=np.float64)


@state_only
def _rows_in_bins(
    block: Block, lower: Doubles, width: Doubles, places: Integers, tied: Mask, strata: Any
) -> Entries:
    """Find the block's rows in one bin of each stratum; if many, sum the weights of ties.

    In strata that are ``tied`` all rows of the bin count as ties.
    """
    entries = Entries(*rows_in_bins(block.state[strata], block.weights, lower, width, places))
    middle = ((places + 0.5) * width)[entries.strata]
    offsets = np.where(tied[entries.strata], middle, entries.offsets)
    entries = entries._replace(offsets=offsets)
    if not tied.any() and len(offsets) <= MAX_SORTED_ROWS:
        return entries
    order = np.lexsort((entries.offsets, entries.strata))
    strata, offsets, weights = (field[order] for field in entries)
    fresh = np.append(True, (np.diff(strata) != 0) | (np.diff(offsets) != 0))
    sums = np.add.reduceat(weights, np.flatnonzero(fresh))
    return Entries(strata[fresh], offsets[fresh], sums)


def _refine_bins(
    lower: Doubles, width: Doubles, places: Integers | int, higher: Mask | bool
) -> tuple[Doubles, Doubles]:
    """Bins for the next pass: within the bin found, or in a range below or above.

    Adjacent ranges overlap by a bin, so that rounding cannot lose a scale on their border.
    """
    closer = width / (N_BINS - 2)
    lowered = lower + width - BRACKET_GROWTH * N_BINS * width
    below = np.less(places, 0)
    start = np.where(below, lowered, lower + places * width - closer)
    start = np.where(higher, lower + (N_BINS - 1) * width, start)
    return start, np.where(below | higher, BRACKET_GROWTH * width, closer)


def scale_for_size(
    log_resp: Doubles,
    weights: Doubles,
    size: float,
    above: float = 0.0,
    rest: float = 0.0,
    edge: float = 0.0,
) -> tuple[float, float]:
    r"""Solve :math:`\sum_i w_i \min(1, c\,\upsilon_i) = s` exactly, for a pivot and an offset.

    ``log_resp`` and ``weights`` are the rows that may be capped or not, in any order. Further rows
    of weight ``above`` have higher values and are capped; others have lower values, are not capped
    and sum to ``rest``, :math:`\sum w_i e^{v_i - e}` with :math:`e` the ``edge``, at most
    ``min(log_resp)``. The size is at most the weight of all rows.

    In descending order, let the first :math:`m` rows be capped. The remaining size is that of the
    other rows, and row :math:`m` is not capped iff
    :math:`s - W_m \le \sum_{k \ge m} w_k e^{v_k - v_m}`, with :math:`W_m` the capped weight.
    Once true this stays true as :math:`m` grows: adding rows in ascending order finds the first.
    """
    # sorted by NumPy: Numba's sort takes longer to compile than all other kernels of a fit
    order = np.argsort(log_resp, kind="stable")
    left = size - (above + weights.sum())
    found: tuple[float, float] = add_from_below(log_resp[order], weights[order], left, rest, edge)
    return found


def allocate_total_size(
    source: BlockSource, lower: float, upper: float, total: float, n_strata: int
) -> tuple[Doubles, SplitScales]:
    r"""Sizes between two bounds with a given total, and scales of those strictly between.

    By the KKT conditions all strata whose size is strictly between the bounds have the same scale
    :math:`c`, which solves :math:`\sum_j \mathrm{clip}(s_j(c), lo, hi) = B`, where :math:`s_j(c)`
    is the size of stratum j under scale :math:`c`. The state holds the log responsibilities.
    """
    width = np.full(n_strata, FIRST_WIDTH / N_BINS)
    first, linear_width = -width * N_BINS, LINEAR_WIDTH[source.dtype]
    for _ in range(MAX_SEARCH_PASSES):
        counts, masses = source.reduce(_bin_masses, first, width, ALL)
        reached, _rests = sizes_at_edges(counts, masses, width)
        sizes = np.clip(reached, lower, upper)
        totals = sizes.sum(axis=0)
        nearest = np.abs(totals - total).argmin()
        if abs(totals[nearest] - total) <= ROUNDING * total:
            break
        k = int(np.count_nonzero(totals >= total)) - 1
        narrow = width[0] <= max(linear_width, np.spacing(np.abs(first[0])))
        if 0 <= k < N_BINS and narrow:
            # with ties no scale may satisfy the total, but a convex combination of two does
            part = (totals[k] - total) / (totals[k] - totals[k + 1])
            mean = (1 - part) * sizes[:, k] + part * sizes[:, k + 1]
            return mean, SplitScales(first, -(k + part) * width)
        first, width = _refine_bins(first, width, k, k == N_BINS)
    return sizes[:, nearest], SplitScales(first, -float(nearest) * width)


class MergedDensities(NamedTuple):
    r"""Densities of groups of coincident strata.

    Strata of a group share a row equally. With :math:`\tau` the membership in each of them, the
    likelihood of the row has the term :math:`\tau \sum_j p_j`: a group acts as one stratum, with
    the sum of the densities, the sum of the dual variables, and the size of each.
    """

    model: StrataModel
    groups: Indices
    """Group of each stratum, of shape (n_strata,), numbered by their first stratum."""

    @property
    def counts(self) -> Indices:
        """Number of strata in each group."""
        return np.bincount(self.groups)

    @property
    def distinct(self) -> bool:
        """Whether each stratum is a group of its own."""
        return len(self.counts) == len(self.groups)

    def log_densities(self, rows: Floats) -> Floats:
        """Log density of each row, of shape (n_groups, n_rows)."""
        return self.merge_logs(self.model.log_densities(rows))

    def merge_logs(self, logs: Floats) -> Floats:
        """Log of the sum over the strata of each group, (n_groups, n_rows)."""
        if self.distinct:
            return logs
        _, firsts = np.unique(self.groups, return_index=True)
        merged: Floats = logs[firsts]
        for group in np.flatnonzero(self.counts > 1):
            merged[group] = np.logaddexp.reduce(logs[self.groups == group])
        return merged

    def merge_sizes(self, sizes: Doubles) -> Doubles:
        """Size of each group's strata, their mean where sizes may differ."""
        return sizes if self.distinct else np.bincount(self.groups, sizes) / self.counts

    def merge_scales(self, log_scales: Doubles) -> Doubles:
        """Log scales of the groups: minus the logs of their dual variables."""
        if self.distinct:
            return log_scales
        return np.bincount(self.groups, log_scales) / self.counts - np.log(self.counts)

    def expand_scales(self, log_scales: Doubles) -> Doubles:
        """Log scales of the strata from those of their groups."""
        return log_scales if self.distinct else (log_scales + np.log(self.counts))[self.groups]

    def expand_memberships(self, by_group: Floats) -> Floats:
        """Memberships in the strata, (n_rows, n_strata), from (n_groups, n_rows)."""
        memberships = np.ascontiguousarray(by_group.T)
        return memberships if self.distinct else memberships[:, self.groups]


def coincident_groups(model: StrataModel) -> Indices:
    """Group each stratum with the first earlier one that it coincides with."""
    firsts = [0]
    groups = np.zeros(len(model.gaussians.means), dtype=np.intp)
    for j in range(1, len(groups)):
        same = jeffreys_divergences(model, j, firsts) < MAX_JEFFREYS
        groups[j] = same.argmax() if same.any() else len(firsts)
        if not same.any():
            firsts.append(j)
    return groups


def jeffreys_divergences(model: StrataModel, j: int, others: list[int]) -> Doubles:
    r"""Jeffreys' divergence, the sum of both Kullback-Leibler divergences, from some strata.

    It is :math:`\frac12 \mathrm{tr}((P_j - P_k)(\Sigma_k - \Sigma_j)) + \frac12 \delta'(P_j +
    P_k)\delta` with precisions :math:`P` and :math:`\delta = \mu_k - \mu_j`: about the mean square
    of the difference of the log densities.
    """
    means, covariances, factors = model.gaussians
    apart = means[others] - means[j]
    twice: Doubles
    if model.covariance_type == "tied":
        twice = 2 * ((apart @ factors) ** 2).sum(axis=1)
    elif model.covariance_type == "full":
        difference = covariances[others] - covariances[j]
        precisions = factors @ np.swapaxes(factors, 1, 2)
        less, more = precisions[j] - precisions[others], precisions[j] + precisions[others]
        twice = (less * difference).sum(axis=(1, 2))
        twice = twice + np.einsum("kd,kde,ke->k", apart, more, apart)
    else:
        by_column = (len(others), -1)  # one column if spherical
        own, theirs = factors[j].reshape(-1), factors[others].reshape(by_column)
        difference = (covariances[others] - covariances[j]).reshape(by_column)
        parts = (own - theirs) * difference + apart**2 * (own + theirs)
        twice = parts.sum(axis=1)
    return twice / 2


def optimal_memberships(log_density: Floats, log_scales: Doubles) -> tuple[Floats, Doubles]:
    r"""Optimal memberships of each row at fixed dual variables, and :math:`\log Z_i`."""
    memberships, bounds = bound_row_sums(log_density, log_scales)
    return memberships, complete_memberships(log_density, log_scales, memberships, bounds)


class DualRows(NamedTuple):
    """Rows on which the dual problem is evaluated."""

    log_density: Floats  # (n_groups, n_rows)
    weights: Doubles
    indices: Indices

    @classmethod
    def of(cls, block: Block, densities: MergedDensities) -> DualRows:
        indices = block.start + np.arange(len(block.rows))
        return cls(densities.log_densities(block.rows), block.weights, indices)

    def evaluate(self, log_scales: Doubles, radius: Doubles) -> tuple[Evaluated, Doubles]:
        """Sizes and their changes, and the log likelihood of each row."""
        memberships, log_sums = optimal_memberships(self.log_density, log_scales)
        sizes, fractions, breakpoints = sizes_and_breakpoints(
            self.log_density, memberships, log_sums, self.weights, log_scales, radius, N_DUAL_BINS
        )
        rounding = fractions * np.finfo(memberships.dtype).eps
        return (sizes, fractions, breakpoints, rounding), log_sums

    def nearest_breakpoints(self, log_scales: Doubles, residual: Doubles) -> Breakpoints:
        """Rows nearest to each group's scale with slack for the residual of its size constraint."""
        memberships, log_sums = optimal_memberships(self.log_density, log_scales)
        parts = []
        for j, deficit in enumerate(residual):
            tau = memberships[j].astype(np.float64)
            slack = 1 - tau if deficit > 0 else tau
            distance = np.abs(log_sums - self.log_density[j] - log_scales[j])
            capacity = slack * self.weights
            eligible = np.flatnonzero(capacity > 0)
            enough = eligible[capacity[eligible] >= abs(deficit)]
            if len(enough) > 0:
                best = enough[[distance[enough].argmin()]]
            else:
                nearest = eligible[np.argsort(distance[eligible], kind="stable")]
                best = nearest[: np.searchsorted(np.cumsum(capacity[nearest]), abs(deficit)) + 1]
            own = np.full(len(best), j)
            fields = own, distance[best], slack[best], self.indices[best], self.weights[best]
            parts.append(Breakpoints(*fields))
        return Breakpoints(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Breakpoints(NamedTuple):
    """Rows with slack for the residuals of the size constraints, an entry per group and row."""

    groups: Indices
    distance: Doubles  # from the log scale to the breakpoint
    slack: Doubles  # largest possible change of the membership
    rows: Indices
    weights: Doubles


def _concatenated(left: Any, right: Any) -> Any:
    pairs = zip(left, right, strict=True)
    return type(left)(*(np.concatenate(pair, axis=-1) for pair in pairs))


class ActiveSet(NamedTuple):
    r"""Active set: the rows with a breakpoint near given log scales, and the sizes of all others.

    A row without a fractional membership has :math:`Z = \sum_j p_j` over the strata with membership
    1. That does not depend on the dual variables: none of its memberships changes before some scale
    passes its :math:`Z / p_j`.
    """

    rows: DualRows
    fixed_sizes: Doubles
    """Sizes of the strata over the other rows."""
    log_scales: Doubles
    radius: Doubles
    """Distance within which no other row has a breakpoint."""

    def remaining_radius(self, log_scales: Doubles) -> Doubles:
        """Distance from these log scales within which no other row has a breakpoint."""
        return self.radius - np.abs(log_scales - self.log_scales)


class DualProblem:
    """The dual of equation 5 with the Gaussians fixed, over all rows of a source."""

    def __init__(self, source: BlockSource, densities: MergedDensities) -> None:
        self._source, self._densities, self._weight = source, densities, source.weights.sum()
        self._active: ActiveSet | None = None
        self._keeps_active = False

    def evaluate(self, log_scales: Doubles, radius: Doubles) -> Evaluated:
        """Sizes at these log scales, and their changes within a radius."""
        active = self._active
        if active is not None and (active.remaining_radius(log_scales) >= radius).all():
            (sizes, *changes), _ = active.rows.evaluate(log_scales, radius)
            return (sizes + active.fixed_sizes, *changes)  # type: ignore[return-value]
        if not self._keeps_active:
            self._active = None
            return self._source.reduce(_evaluate, self._densities, log_scales, radius)
        within = ACTIVE_RADIUS_FACTOR * radius
        evaluated, near = self._source.reduce(
            _evaluate_and_mark, self._densities, log_scales, radius, within, combine=_merge_marked
        )
        (own_sizes, *_), _ = near.evaluate(log_scales, radius)
        self._active = ActiveSet(near, evaluated[0] - own_sizes, log_scales, within)
        return evaluated

    def plan_active_set(self, evaluated: Evaluated, radius: Doubles, next_radius: Doubles) -> None:
        """Decide from the breakpoints within a radius whether to keep the next active set."""
        n_rows, n_groups = self._source.shape[0], len(radius)
        _, fractions, breakpoints, _ = evaluated
        near = breakpoints.sum(axis=1) * ACTIVE_RADIUS_FACTOR * next_radius / radius + fractions
        share = near.sum() / self._weight
        most = min(MAX_ACTIVE_ENTRIES / n_groups, MAX_ACTIVE_SHARE * n_rows)
        self._keeps_active = n_rows * n_groups >= MIN_ENTRIES and share * n_rows <= most

    def nearest_breakpoints(self, log_scales: Doubles, residual: Doubles) -> Breakpoints:
        """Rows of each group with slack for the residual of its size constraint."""
        if self._active is not None:
            found = self._active.rows.nearest_breakpoints(log_scales, residual)
            capacity = np.bincount(found.groups, found.slack * found.weights, len(residual))
            known = found.distance <= self._active.remaining_radius(log_scales)[found.groups]
            # unless rows outside the active set might be nearer
            if known.all() and (capacity >= np.abs(residual)).all():
                return found
        state = self._densities, log_scales, residual
        total: Breakpoints = self._source.reduce(
            _nearest_breakpoints, *state, combine=_concatenated
        )
        return total


def _evaluate(
    block: Block, densities: MergedDensities, log_scales: Doubles, radius: Doubles
) -> Evaluated:
    return DualRows.of(block, densities).evaluate(log_scales, radius)[0]


def _evaluate_and_mark(
    block: Block,
    densities: MergedDensities,
    log_scales: Doubles,
    radius: Doubles,
    within: Doubles,
) -> tuple[Evaluated, DualRows]:
    rows = DualRows.of(block, densities)
    evaluated, log_sums = rows.evaluate(log_scales, radius)
    distances = np.abs(log_sums - rows.log_density - log_scales[:, None])
    near = np.any(distances <= within[:, None], axis=0)
    marked = DualRows(rows.log_density[:, near], rows.weights[near], rows.indices[near])
    return evaluated, marked


def _merge_marked(
    left: tuple[Evaluated, DualRows], right: tuple[Evaluated, DualRows]
) -> tuple[Evaluated, DualRows]:
    evaluated: Any = tuple(a + b for a, b in zip(left[0], right[0], strict=True))
    return evaluated, _concatenated(left[1], right[1])


def _nearest_breakpoints(
    block: Block, densities: MergedDensities, log_scales: Doubles, residual: Doubles
) -> Breakpoints:
    return DualRows.of(block, densities).nearest_breakpoints(log_scales, residual)


def solve_dual(
    source: BlockSource, densities: MergedDensities, log_scales: Doubles, sizes: Doubles
) -> tuple[Doubles, list[tuple[int, int, np.float64]]]:
    r"""Dual ascent: find the dual variables whose optimal memberships satisfy the size constraints.

    Starting log scales :math:`\log c_j = -\log\lambda_j` and sizes are those of the strata; the
    result has the groups' log scales, and adjustments (row, group, amount) that make sizes exact.
    With the Gaussians fixed the problem in :math:`\tau` is concave, and at the optimum (KKT
    conditions) the memberships of each row maximise the Lagrangian at the dual variables
    :math:`\lambda_j`. A size increases with its own :math:`c_j` and decreases, by less, with the
    others: so a step changes all scales, each as if the others were fixed. Dual variables of
    coincident strata are not identified: such strata form one group with one dual variable.
    A membership changes from 0 to 1 at one value of :math:`\log c_j`, its breakpoint; where
    :math:`c_j` is so large that no float lies between, one row takes the fractional membership
    that makes the size exact.
    """
    log_scales, sizes = densities.merge_scales(log_scales), densities.merge_sizes(sizes)
    heaviest, problem = float(source.weights.max()), DualProblem(source, densities)
    radius = np.full(len(sizes), FIRST_RADIUS)
    best_left, best_scales, best_residual, stalled = np.inf, log_scales, sizes, 0
    for iteration in range(1, _max_passes(source.shape[0], len(sizes)) + 1):
        evaluated = problem.evaluate(log_scales, radius)
        residual = sizes - evaluated[0]
        step, step_radius, at_breakpoint = _dual_step(
            residual, evaluated, log_scales, radius, heaviest
        )
        done = at_breakpoint | (np.abs(residual) <= TOLERANCE * sizes + evaluated[3])
        left = np.abs(residual[~done]).sum()
        stalled = 0 if left <= 0.9 * best_left else stalled + 1
        if left < best_left:
            best_left, best_scales, best_residual = left, log_scales, residual
        if done.all() or stalled >= MAX_STALLED + STALLS_PER_STRATUM * (~done).sum():
            break
        moving = ~done
        if stalled > MAX_JOINT_STALLS:
            # joint steps of strata that exchange rows may oscillate; coordinate steps converge
            unmet = np.flatnonzero(moving)
            moving = np.arange(len(sizes)) == unmet[iteration % len(unmet)]
        log_scales = np.where(moving, log_scales + step, log_scales)
        next_radius = np.where(moving, step_radius, radius)
        problem.plan_active_set(evaluated, radius, next_radius)
        radius = next_radius
    found = problem.nearest_breakpoints(best_scales, best_residual)
    return best_scales, _exact_size_adjustments(found, best_residual)


def _max_passes(n_rows: int, n_groups: int) -> int:
    return int(np.clip(MAX_TOTAL_ENTRIES / (n_rows * n_groups), MIN_PASSES, MAX_PASSES))


def _dual_step(
    residual: Doubles,
    evaluated: Evaluated,
    log_scales: Doubles,
    radius: Doubles,
    heaviest: float,
) -> tuple[Doubles, Doubles, Mask]:
    """Step of each log scale that makes up for the residual, by the breakpoints passed.

    Gives the steps, the next radii, and whether a scale is optimal up to one row: the nearest
    breakpoint makes up for the residual, and the scale is above STEEP_LOG_SCALE, where fractional
    memberships are rare.
    """
    _, fractions, breakpoints, _ = evaluated
    side = np.where(residual > 0, 1.0, -1.0)
    outwards = np.where(
        residual[:, None] > 0, breakpoints[:, N_DUAL_BINS:], breakpoints[:, N_DUAL_BINS - 1 :: -1]
    )
    # change of fractional memberships up to each outer edge, (n_groups, N_DUAL_BINS)
    edges = np.arange(1, N_DUAL_BINS + 1) * (radius / N_DUAL_BINS)[:, None]
    slope = fractions * np.exp(np.minimum(log_scales, MAX_LOG_SCALE))
    limit = MAX_LOG_SCALE / 12
    growth = np.abs(np.expm1(np.clip(side[:, None] * edges, -limit, limit)))
    by_fractions = np.minimum(growth * slope[:, None], fractions[:, None])
    gained = np.cumsum(outwards, axis=1) + by_fractions
    enough = gained >= np.abs(residual)[:, None]
    crossed = enough[:, -1]
    k = np.where(crossed, enough.argmax(axis=1), N_DUAL_BINS - 1)
    own = np.arange(len(residual))
    before = np.where(k > 0, gained[own, k - 1], 0.0)
    gain = gained[own, k] - before
    part = np.minimum(np.abs(residual) - before, gain) / np.where(gain > 0, gain, 1.0)
    next_row = outwards[own, k]
    # a single breakpoint in this bin has to be passed for the size to change
    moves = (k + np.where(next_row > 0, 1.0, part)) * radius / N_DUAL_BINS
    moves = np.where(crossed, moves, radius)
    first = k == (outwards > 0).argmax(axis=1)
    single = (next_row <= heaviest) & first & (np.abs(residual) <= next_row)
    # tied rows change together: no float lies between none and all of them
    stuck = crossed & (moves <= 4 * np.spacing(np.abs(log_scales)))
    next_radius = np.where(
        crossed, radius / RADIUS_SHRINK, np.minimum(RADIUS_GROWTH * radius, MAX_RADIUS)
    )
    return side * moves, next_radius, single & (log_scales > STEEP_LOG_SCALE) | stuck


def _exact_size_adjustments(
    found: Breakpoints, residual: Doubles
) -> list[tuple[int, int, np.float64]]:
    """Distribute the residuals of the size constraints to few rows per group.

    Amounts are NumPy floats, so that a float32 membership is changed in double precision.
    """
    adjustments = []
    for j, deficit in enumerate(residual):
        own = np.flatnonzero(found.groups == j)
        own = own[np.argsort(found.distance[own], kind="stable")]
        enough = own[found.slack[own] * found.weights[own] >= abs(deficit)]
        taken = 0.0
        for entry in enough[:1] if len(enough) else own:
            slack, weight = found.slack[entry], found.weights[entry]
            amount = np.clip((deficit - taken) / weight, -slack, slack)
            if amount != 0:
                adjustments.append((int(found.rows[entry]), j, amount))
            taken += amount * weight
    return adjustments


Fitted = tuple[Floats | None, tuple[float, Doubles, float]]
"""Memberships, None where the source does not keep them in memory; the objective as a weighted
sum, the sizes, and the objective of the last iteration where its scales are given."""


def exact_memberships(
    source: BlockSource,
    densities: MergedDensities,
    log_scales: Doubles,
    sizes: Doubles,
    em_scales: SplitScales | None = None,
) -> tuple[Fitted, Doubles]:
    """Memberships at exact dual variables, and the log scales; the given ones are the start."""
    found, adjustments = solve_dual(source, densities, log_scales, sizes)
    log_scales = densities.expand_scales(found)
    return source.collect(exact_block, densities, found, adjustments, em_scales), log_scales


def exact_block(
    block: Block,
    densities: MergedDensities,
    log_scales: Doubles,
    adjustments: list[tuple[int, int, np.float64]],
    em_scales: SplitScales | None = None,
) -> tuple[Floats, tuple[float, Doubles, float]]:
    """Optimal memberships of each row at the groups' log scales, plus adjustments."""
    log_density, weights, em_objective = densities.log_densities(block.rows), block.weights, 0.0
    by_group, log_sums = optimal_memberships(log_density, log_scales)
    for row, group, amount in adjustments:
        i = row - block.start
        if 0 <= i < len(log_sums):
            by_group[group, i] = np.clip(by_group[group, i] + amount, 0.0, 1.0)
            with np.errstate(divide="ignore"):
                log_sums[i] = np.logaddexp.reduce(np.log(by_group[:, i]) + log_density[:, i])
    memberships = densities.expand_memberships(by_group)
    if em_scales is not None and densities.distinct:
        *_, em_objective = responsibilities(log_density, block.state, weights, *em_scales)
    elif em_scales is not None:  # with coincident strata sharing equally
        merged = densities.merge_logs(capped_log_memberships(block.state, em_scales))
        log_shares = merged - np.log(densities.counts)[:, None]
        em_objective = weights @ np.logaddexp.reduce(log_shares + log_density, axis=0)
    sizes = weights @ memberships.astype(np.float64)
    return memberships, (float(weights @ log_sums), sizes, float(em_objective))


def em_block(
    block: Block, model: StrataModel, scales: SplitScales
) -> tuple[Floats, tuple[float, Doubles, float]]:
    """Memberships of the last EM iteration."""
    log_density = model.log_densities(block.rows)
    *_, objective = responsibilities(log_density, block.state, block.weights, *scales)
    memberships = np.exp(capped_log_memberships(block.state, scales)).T
    sizes = block.weights @ memberships.astype(np.float64)
    return memberships, (float(objective), sizes, float(objective))
