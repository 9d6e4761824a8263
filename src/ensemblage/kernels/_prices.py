r"""Memberships of new rows, given what each stratum charges for them.

For each row, :math:`\tau` maximises :math:`\log\sum_j \tau_j p_j - \sum_j \lambda_j \tau_j` over
:math:`[0, 1]^K`, with prices :math:`\lambda_j = 1 / c_j`. With :math:`r_j = c_j p_j` and
:math:`Z = \sum_j \tau_j p_j`, the optimum has :math:`\tau_j = 1` where :math:`r_j > Z`, zero where
:math:`r_j < Z`, and at most one fraction, where :math:`r_j = Z`. Walking the strata by falling
:math:`r_j` finds it; bounds on :math:`Z` settle most strata before.

``log_density`` holds :math:`\log p_j(x_i)` and memberships :math:`\tau_{ij}`, both of shape
(n_strata, n_rows); ``log_scales`` are :math:`\log c_j`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._exponential import exponentials

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]

EXACT = -40.0
"""What is smaller than this, in logs, changes no float64 it is added to."""
ROUNDING = 1e-9
"""Strata this close to a bound, in logs, are looked at one by one."""
NEXT_TO = 1e-3
"""A row with a fraction is this close to the price, in logs, however its numbers were rounded."""
NOTHING = 1e-300
CHUNK = 64
"""Rows at a time: what one chunk needs stays in the first-level cache."""


def priced_memberships(log_density: Floats, log_scales: Doubles) -> tuple[Floats, Doubles]:
    r"""Memberships that are best for each row at fixed prices, and :math:`\log Z_i`."""
    memberships, bounds = bound_memberships(log_density, log_scales)
    return memberships, settle_memberships(log_density, log_scales, memberships, bounds)


class Bounds(NamedTuple):
    r"""What is known of each row's :math:`Z` before strata are looked at one by one."""

    base: Doubles  # b = max_j log min(p_j, r_j)
    high: Doubles  # an upper bound on log Z, less the base
    low: Doubles  # sum of p_j e^-b over the strata that are full for sure
    unsure: NDArray[np.uint8]  # whether other strata may have a part in the row


@compiled
def bound_memberships(log_density: Floats, log_scales: Doubles) -> tuple[Floats, Bounds]:
    r"""Memberships of one where bounds on :math:`Z` say so for sure, else zero.

    A stratum has :math:`Z \ge p_j` if it is full and :math:`Z \ge r_j` if not, so
    :math:`Z \ge \max_j \min(p_j, r_j)`. What it adds to :math:`Z` is at most both :math:`p_j` and
    :math:`Z`, and nothing if :math:`r_j < Z`, so :math:`Z \le \sum_j \min(p_j, r_j)`. Strata whose
    :math:`r_j` is above that are full, and what they add up to is a lower bound again.
    Loops run over rows and hold no branch and no call, as in ``share_rows``.
    """
    n_strata, n_rows = log_density.shape
    memberships = np.empty_like(log_density)
    bounds = Bounds(
        np.empty(n_rows), np.empty(n_rows), np.empty(n_rows), np.empty(n_rows, dtype=np.uint8)
    )
    parts, discounts = np.empty((n_strata, CHUNK)), np.empty(n_strata)
    for j in range(n_strata):
        discounts[j] = min(log_scales[j], 0.0)
    for start in range(0, n_rows, CHUNK):
        stop = min(start + CHUNK, n_rows)
        here = Bounds(
            bounds.base[start:stop], bounds.high[start:stop],
            bounds.low[start:stop], bounds.unsure[start:stop],
        )  # fmt: skip
        _bound_from_above(log_density, discounts, start, here, parts)
        _settle_the_sure(log_density, log_scales, start, here, parts, memberships)
        _look_for_doubt(log_density, log_scales, start, here)
    return memberships, bounds


@compiled(inline="always")
def _bound_from_above(
    log_density: Floats, discounts: Doubles, start: int, here: Bounds, parts: Doubles
) -> None:
    """Bound Z in a chunk of rows from above; ``parts`` are min(p_j, r_j) over the base."""
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
        exponentials(logs, EXACT, part)
        for i in range(n):
            high[i] += part[i]
    for i in range(n):
        high[i] = np.log(high[i]) + ROUNDING


@compiled(inline="always")
def _settle_the_sure(
    log_density: Floats,
    log_scales: Doubles,
    start: int,
    here: Bounds,
    parts: Doubles,
    memberships: Floats,
) -> None:
    """Fill the strata above the upper bound, and add up what they hold."""
    base, high, low = here.base, here.high, here.low
    n, sure = base.size, np.empty(base.size, dtype=np.uint8)
    for i in range(n):
        low[i] = 0.0
    for j in range(len(log_density)):
        line, scale, part = log_density[j, start : start + n], log_scales[j], parts[j]
        for i in range(n):
            sure[i] = line[i] - base[i] + scale > high[i]
        for i in range(n):
            # a sure stratum has r_j > p_j: its part is p_j
            low[i] += part[i] if sure[i] else 0.0
        for i in range(n):
            memberships[j, start + i] = sure[i]


@compiled(inline="always")
def _look_for_doubt(log_density: Floats, log_scales: Doubles, start: int, here: Bounds) -> None:
    """Mark the rows in which a stratum lies between the bounds."""
    base, high, low, unsure = here.base, here.high, here.low, here.unsure
    n, least = base.size, np.empty(base.size)
    for i in range(n):
        unsure[i] = 0
        least[i] = max(0.0, np.log(max(low[i], NOTHING))) - ROUNDING
    for j in range(len(log_density)):
        line, scale = log_density[j, start : start + n], log_scales[j]
        for i in range(n):
            ratio = line[i] - base[i] + scale
            unsure[i] |= (ratio <= high[i]) & (ratio >= least[i])


@compiled
def settle_memberships(
    log_density: Floats, log_scales: Doubles, memberships: Floats, bounds: Bounds
) -> Doubles:
    r"""Walk the strata that are not settled by falling :math:`r_j`; give :math:`\log Z_i`.

    The memberships are completed in place.
    """
    n_strata, n_rows = log_density.shape
    log_sums, left = np.empty(n_rows), np.empty(n_strata)
    for i in range(n_rows):
        base, total = bounds.base[i], bounds.low[i]
        log_sums[i] = base + np.log(max(total, NOTHING))
        if not bounds.unsure[i]:
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
    """Find the first of the highest values; NumPy's own takes as long to compile as its caller."""
    k, highest = 0, values[0]
    for j in range(1, values.size):
        if values[j] > highest:
            k, highest = j, values[j]
    return k


@compiled
def sizes_at_prices(
    log_density: Floats,
    memberships: Floats,
    log_sums: Doubles,
    weights: Doubles,
    log_scales: Doubles,
    reach: Doubles,
    n_bins: int,
) -> tuple[Doubles, Doubles, Doubles]:
    r"""Sizes of the strata, and how they would change if their prices did.

    Gives :math:`\sum_i w_i \tau_{ij}`; the weight of the rows with a fraction, whose
    :math:`\tau_{ij}` grows with :math:`c_j` one to one; and, of shape (n_strata, 2 * n_bins), the
    weight of the rows whose membership turns in each bin of :math:`\log c_j`, with ``n_bins`` on
    each side and as far as ``reach``. A row turns from 0 to 1 where :math:`r_j = Z`: at
    :math:`\log c_j = \log Z - \log p_j`.
    """
    n_strata, n_rows = log_density.shape
    sizes, fractions = np.zeros(n_strata), np.zeros(n_strata)
    turns, lanes = np.zeros((n_strata, 2 * n_bins)), np.zeros((n_strata, CHUNK))
    distances, near = np.empty(CHUNK), np.empty(CHUNK, dtype=np.uint8)
    for start in range(0, n_rows, CHUNK):
        stop = min(start + CHUNK, n_rows)
        heavy = weights[start:stop]
        for j in range(n_strata):
            taus, sums = memberships[j, start:stop], lanes[j]
            for i in range(heavy.size):
                sums[i] += heavy[i] * taus[i]
            line, inverse = log_density[j, start:stop], n_bins / reach[j]
            for i in range(heavy.size):
                distances[i] = (log_sums[start + i] - line[i] - log_scales[j]) * inverse
            # a row with a fraction is at the price, but for rounding
            if _look_nearby(distances[: heavy.size], max(n_bins, NEXT_TO * inverse), near):
                _count_turns(taus, heavy, distances, near, turns[j], fractions[j : j + 1])
    for j in range(n_strata):
        for i in range(CHUNK):
            sizes[j] += lanes[j, i]
    return sizes, fractions, turns


@compiled(inline="always")
def _look_nearby(distances: Doubles, within: float, near: NDArray[np.uint8]) -> int:
    """Mark the rows of a chunk that turn within so many bins; give their number."""
    found = 0
    for i in range(distances.size):
        near[i] = (distances[i] >= -within) & (distances[i] <= within)
    for i in range(distances.size):
        found += near[i]
    return found


@compiled(inline="always")
def _count_turns(
    taus: Floats,
    weights: Doubles,
    distances: Doubles,
    near: NDArray[np.uint8],
    turns: Doubles,
    fractions: Doubles,
) -> None:
    """Put the rows of a chunk that turn nearby into their bins; add up those with a fraction."""
    n_bins = turns.size // 2
    for i in range(taus.size):
        if not near[i]:
            continue
        if 0.0 < taus[i] < 1.0:
            fractions[0] += weights[i]
            continue
        if not -n_bins <= distances[i] < n_bins:
            continue
        # rounding may put a turn on the wrong side of the price it is next to
        k = int(np.floor(distances[i])) + n_bins
        turns[min(k, n_bins - 1) if taus[i] > 0.5 else max(k, n_bins)] += weights[i]
