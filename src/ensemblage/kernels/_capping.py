r"""Memberships of rows in strata of given size (HISS, eq. 8 and Figure 1).

A stratum of size :math:`s` takes :math:`\tau_i = \min(1, c\,\upsilon_i)` with :math:`c` such
that :math:`\sum_i w_i \tau_i = s`. Affinities :math:`v_i = \log \upsilon_i` reach
:math:`-10^{10}`, where a float64 is only good to :math:`10^{-6}`: so :math:`c` is kept as a pair,
a *pivot* :math:`p` near the affinities and a *log share* :math:`g`, and
:math:`\log\tau_i = \min(0, g + (v_i - p))` uses differences of affinities only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled
from ensemblage.kernels._exponential import exponentials

Floats = NDArray[np.float64]

N_BINS = 256
"""Bins per stratum between the one for all lower and the one for all higher affinities."""
SMALLEST = float(np.finfo(np.float64).tiny)
CHUNK = 256
"""Rows at a time."""
NEGLIGIBLE = -45.0
"""A row this far below a bin, in logs, adds less than 1e-19 to it: not worth an exponential."""


class Caps(NamedTuple):
    """Where each stratum caps its memberships; fields of shape (n_strata,)."""

    pivots: Floats  # affinities to measure from
    log_shares: Floats  # log membership that a row at the pivot has before capping


class Bins(NamedTuple):
    """Where the bins of each stratum lie; fields of shape (n_strata,)."""

    lower: Floats
    width: Floats


def cap_for_size(
    affinity: Floats,
    weights: Floats,
    size: float,
    above: float = 0.0,
    rest: float = 0.0,
    edge: float = 0.0,
) -> tuple[float, float]:
    r"""Solve :math:`\sum_i w_i \min(1, c\,\upsilon_i) = s` exactly, for a pivot and a log share.

    ``affinity`` and ``weights`` are the rows that may stand on either side of the cap, in any
    order. Further rows of weight ``above`` have higher affinities, and are capped; others have
    lower ones, are not, and add up to ``rest``, :math:`\sum w_i e^{v_i - e}` with :math:`e` the
    ``edge``, at most ``min(affinity)``. The size is at most the weight of all.

    In falling order, let the first :math:`m` rows be capped. The others carry what is left,
    and row :math:`m` stays under the cap iff
    :math:`s - W_m \le \sum_{k \ge m} w_k e^{v_k - v_m}`, with :math:`W_m` the capped weight.
    Once true this stays true as :math:`m` grows: walking up from the lowest row finds the first.
    """
    # NumPy sorts: a sort of Numba's takes longer to compile than all other kernels of a fit
    order = np.argsort(affinity, kind="stable")
    left = size - (above + weights.sum())
    found: tuple[float, float] = _walk_up(affinity[order], weights[order], left, rest, edge)
    return found


@compiled
def _walk_up(
    affinity: Floats, weights: Floats, left: float, tail: float, pivot: float
) -> tuple[float, float]:
    """Take rows from below the cap, the lowest first, as long as they stay under it."""
    for i in range(len(affinity)):
        new_tail = weights[i] + tail * np.exp(min(0.0, pivot - affinity[i]))
        new_left = left + weights[i]
        if tail > 0.0 and new_left > new_tail:
            break
        pivot, tail, left = affinity[i], new_tail, new_left
    # rounding can leave nothing to share where the size is the whole weight
    return pivot, np.log(max(left, SMALLEST)) - np.log(tail)


def log_memberships(affinity: NDArray[np.floating], caps: Caps) -> NDArray[np.floating]:
    r"""Log memberships :math:`\min(0, g_j + (v_{ij} - p_j))`, of shape (n_strata, n_rows)."""
    below = affinity - caps.pivots[:, None] + caps.log_shares[:, None]
    return np.minimum(below, 0.0).astype(affinity.dtype, copy=False)


@compiled
def bin_masses(
    affinity: NDArray[np.floating],
    weights: Floats,
    lower: Floats,
    width: Floats,
    n_bins: int,
) -> tuple[Floats, Floats]:
    r"""Sort each stratum's affinities into equal bins; count them and add their exponentials.

    Affinities are of shape (n_strata, n_rows). A stratum's bins start at ``lower`` and are
    ``width`` wide; width 0 leaves it out. Both results are of shape (n_strata, n_bins + 2), with a
    bin for all lower and one for all higher affinities: the weight in each bin, and
    :math:`\sum w_i \exp(v_i - e)` with :math:`e` the bin's upper edge; none for the last bin.
    """
    n_strata, n_rows = affinity.shape
    counts = np.zeros((n_strata, n_bins + 2))
    masses = np.zeros((n_strata, n_bins + 2))
    bins, drops, parts = np.empty(CHUNK, dtype=np.int64), np.empty(CHUNK), np.empty(CHUNK)
    for j in range(n_strata):
        if width[j] == 0.0:
            continue
        first, step, inverse = lower[j], width[j], 1.0 / width[j]
        for start in range(0, n_rows, CHUNK):
            line = affinity[j, start : start + CHUNK]
            for i in range(line.size):
                offset = line[i] - first
                # what is not a number goes below, rather than anywhere in memory
                place = np.floor(offset * inverse) if offset >= 0.0 else -1.0
                place = min(float(n_bins), place)
                bins[i] = np.int64(place) + 1
                drops[i] = min(0.0, offset - (place + 1.0) * step)
            exponentials(drops[: line.size], NEGLIGIBLE, parts)
            for i in range(line.size):
                counts[j, bins[i]] += weights[start + i]
                masses[j, bins[i]] += weights[start + i] * parts[i]
        masses[j, n_bins + 1] = 0.0
    return counts, masses


@compiled
def rows_in_bins(
    affinity: NDArray[np.floating],
    weights: Floats,
    lower: Floats,
    width: Floats,
    found: NDArray[np.int64],
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Find the entries of ``affinity`` that lie in one bin of each stratum.

    The bin, ``found``, is counted from the one that starts at ``lower``. Gives the entries' strata,
    rising; how far they lie above ``lower``; and the weights of their rows.
    """
    n_strata, n_rows = affinity.shape
    entries, n_found = np.empty(64, dtype=np.int64), 0
    limits = np.empty(2, dtype=affinity.dtype)
    slack = 2.0**-20 if affinity.itemsize == 4 else 2.0**-49
    eights = np.zeros(-(-n_rows // 8), dtype=np.uint64)
    near = eights.view(np.uint8)
    for j in range(n_strata):
        start, step, inverse, wanted = lower[j], width[j], 1.0 / width[j], found[j]
        # first without a branch, in the affinities' own dtype and with room for rounding
        reach = slack * (abs(start) + abs(wanted + 1) * step)
        limits[0] = start + wanted * step - reach
        limits[1] = start + (wanted + 1) * step + reach
        low, high, line = limits[0], limits[1], affinity[j]
        for i in range(n_rows):
            near[i] = (line[i] >= low) & (line[i] <= high)
        for k in range(eights.size):
            if eights[k] == 0:
                continue
            for i in range(8 * k, min(8 * k + 8, n_rows)):
                if near[i] and np.floor((line[i] - start) * inverse) == wanted:
                    entries = _with_room(entries, n_found)
                    entries[n_found] = j * n_rows + i
                    n_found += 1
    strata, offsets = np.empty(n_found, dtype=np.int64), np.empty(n_found)
    found_weights = np.empty(n_found)
    for e in range(n_found):
        j, i = entries[e] // n_rows, entries[e] % n_rows
        strata[e], offsets[e], found_weights[e] = j, affinity[j, i] - lower[j], weights[i]
    return strata, offsets, found_weights


@compiled(inline="always")
def _with_room(entries: NDArray[np.int64], n_found: int) -> NDArray[np.int64]:
    """Give entries with room for one more than were found: if full, a copy twice as long."""
    if n_found < len(entries):
        return entries
    longer = np.empty(2 * len(entries), dtype=np.int64)
    for e in range(len(entries)):
        longer[e] = entries[e]
    return longer


@compiled
def sizes_at_edges(counts: Floats, masses: Floats, width: Floats) -> tuple[Floats, Floats]:
    r"""Sizes of the strata if the cap stood at each edge between two bins.

    From the counts and masses of ``bin_masses``, merged over all blocks. Of shape
    (n_strata, n_bins + 1), falling; and the part of the size that rows below the edge hold.
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
