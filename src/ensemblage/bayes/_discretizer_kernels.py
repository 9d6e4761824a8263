"""Kernels of the discretisation by minimum description length."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import compiled

Doubles = NDArray[np.float64]

NO_CUT = -1
"""Stands for a range that is not cut."""
RESIDUE = 1e-9
"""Weight of a class up to which it counts as absent: the rounding error of its subtractions."""
LOG_2 = math.log(2.0)


@compiled
def count_side(counts: Doubles, floor: float, terms: float) -> tuple[float, float, float, float]:
    r"""Sum up the classes of one side; those with a weight up to the floor are absent.

    Returns ``terms`` plus :math:`\sum n_c \ln n_c`, the weight of all classes, and weight and
    number of those present.
    """
    all_weight, weight, n_present = 0.0, 0.0, 0.0
    for k in range(len(counts)):
        count = counts[k]
        all_weight += count
        if count > floor:
            terms += count * math.log(count)
            weight += count
            n_present += 1.0
    return terms, all_weight, weight, n_present


@compiled
def side_bits(counts: Doubles, floor: float) -> float:
    """Entropy of the classes that are present on a side, in bits, times their number."""
    terms, _, weight, n_present = count_side(counts, floor, 0.0)
    bits: float = n_present * -(terms - weight * math.log(weight)) / (weight * LOG_2)
    return bits


@compiled
def cut_row(  # noqa: C901  rows, classes
    values: Doubles,
    labels: NDArray[np.int64],
    weights: Doubles,
    left: Doubles,
    right: Doubles,
    best_left: Doubles,
    best_right: Doubles,
) -> int:
    r"""Find the row after which a sorted range is cut, or ``NO_CUT``.

    The entropies are summed as :math:`n_c \ln n_c` terms, class by class, left before right, so
    that equal candidates stay equal in floating point. The last four are buffers, (n_classes,).
    """
    for k in range(len(left)):
        left[k], right[k] = 0.0, 0.0
    for i in range(len(values)):
        right[labels[i]] += weights[i]
    terms, _, weight, n_present = count_side(right, 0.0, 0.0)
    if n_present < 2.0:
        return NO_CUT
    prior = -(terms - weight * math.log(weight)) / (weight * LOG_2)
    best, row = prior, NO_CUT
    for i in range(len(values) - 1):
        left[labels[i]] += weights[i]
        right[labels[i]] -= weights[i]
        if values[i] < values[i + 1]:
            terms, below, _, _ = count_side(left, 0.0, 0.0)
            terms, above, _, _ = count_side(right, RESIDUE, terms - below * math.log(below))
            terms -= above * math.log(above)
            entropy = -terms / ((below + above) * LOG_2)
            if entropy < best:
                best, row = entropy, i
                for k in range(len(left)):  # assigning arrays would take seconds to compile
                    best_left[k], best_right[k] = left[k], right[k]
    if row == NO_CUT or prior - best <= 0.0:
        return NO_CUT
    sides = side_bits(best_left, RESIDUE) + side_bits(best_right, RESIDUE)
    choices = 3.0  # to the power of the classes; the operator takes a while to compile
    for _ in range(1, int(n_present) if n_present < 600.0 else 600):
        choices *= 3.0
    choices -= 2.0 if n_present < 600.0 else 0.0
    delta = math.log(choices) / LOG_2 - (n_present * prior - sides)
    rows_cost = math.log(weight - 1.0) / LOG_2 if weight > 2.0 else 0.0
    return row if prior - best > (rows_cost + delta) / weight else NO_CUT


def halfway(below: float, above: float) -> float:
    """Compute the midpoint of two ascending values, which is below the upper one."""
    middle = (below + above) / 2.0
    if not math.isfinite(middle):
        middle = below / 2.0 + above / 2.0
    return middle if middle < above else below


def mdlp_cut_points(
    values: Doubles, labels: NDArray[np.int64], weights: Doubles, n_classes: int
) -> Doubles:
    r"""Find the cut points of one sorted column that shorten the description; they ascend.

    Values are finite and ascend, weights are positive; a value equal to a cut is on its left side.
    Of all midpoints between neighbouring values, the one with the smallest class entropy cuts a
    range of :math:`n` rows if its gain exceeds
    :math:`(\log_2(n - 1) + \log_2(3^k - 2) - k H + k_1 H_1 + k_2 H_2) / n`, with :math:`k`,
    :math:`k_1`, :math:`k_2` the numbers of classes in the range and in its two sides. Both sides
    are then cut in turn.
    """
    cuts: list[float] = []
    waiting, buffers = [(0, len(values))], np.empty((4, n_classes))
    while waiting:
        low, high = waiting.pop()
        row = cut_row(values[low:high], labels[low:high], weights[low:high], *buffers)
        if row != NO_CUT:
            middle = low + row + 1
            cuts.append(halfway(float(values[middle - 1]), float(values[middle])))
            waiting += [(low, middle), (middle, high)]
    return np.array(sorted(cuts))


@compiled
def bin_numbers(values: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.int32]:
    """Count the ascending cut points below each value; -1 for NaN.

    The range of the cuts is divided into equal buckets. All cuts in earlier buckets are below a
    value, so only those of its own bucket are compared, and the time hardly depends on their
    number.
    """
    n_cuts = len(cuts)
    bins = np.empty(len(values), dtype=np.int32)
    n_buckets = 4 * n_cuts + 1
    origin = cuts[0] if n_cuts > 0 else 0.0
    span = cuts[-1] - origin if n_cuts > 0 else 0.0
    # a range too wide or too narrow for floats makes one bucket
    scale = (n_buckets - 1) / span if 1e-290 < span < 1e290 else 0.0
    before = np.zeros(n_buckets + 1, dtype=np.int32)
    for j in range(n_cuts):
        before[int((cuts[j] - origin) * scale) + 1] += 1
    for b in range(n_buckets):
        before[b + 1] += before[b]
    for i in range(len(values)):
        value = values[i]
        if np.isnan(value):
            bins[i] = -1
            continue
        place = (value - origin) * scale if scale > 0.0 else 0.0
        j = before[int(min(max(place, 0.0), n_buckets - 1.0))]
        while j < n_cuts and cuts[j] < value:
            j += 1
        bins[i] = j
    return bins
