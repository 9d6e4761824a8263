"""Supervised cut points by the minimum description length of Fayyad and Irani."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled


@compiled
def mdlp_cut_points(  # noqa: C901, PLR0912, PLR0915  one kernel: compiled functions cannot be nested
    values: NDArray[np.float64],
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
    n_classes: int,
) -> NDArray[np.float64]:
    r"""Cut one sorted column where the classes' description gets shorter.

    Values are finite and rise, weights are positive; a value equal to a cut belongs to its left.
    Of all midpoints between neighbouring values, the one of least class entropy cuts a range
    of :math:`n` rows if its gain exceeds
    :math:`(\log_2(n - 1) + \log_2(3^k - 2) - k H + k_1 H_1 + k_2 H_2) / n`, with :math:`k`,
    :math:`k_1`, :math:`k_2` the classes present in the range and in its two sides. Both sides
    are then cut in turn. The entropies are summed as :math:`n_c \ln n_c` terms, class by class,
    left before right, so that equal candidates stay equal in floating point.
    """
    n_rows = len(values)
    cuts = np.empty(n_rows)
    n_cuts = 0
    stack_low = np.empty(n_rows + 1, dtype=np.int64)
    stack_high = np.empty(n_rows + 1, dtype=np.int64)
    stack_low[0], stack_high[0] = 0, n_rows
    depth = 1
    left, right = np.zeros(n_classes), np.zeros(n_classes)
    best_left, best_right = np.zeros(n_classes), np.zeros(n_classes)
    log2 = np.log(2.0)
    while depth > 0:
        depth -= 1
        low, high = stack_low[depth], stack_high[depth]
        if high - low < 2:
            continue
        left[:] = 0.0
        right[:] = 0.0
        for i in range(low, high):
            right[labels[i]] += weights[i]
        size, prior, n_present = 0.0, 0.0, 0
        for k in range(n_classes):
            if right[k] > 0.0:
                prior += right[k] * np.log(right[k])
                size += right[k]
                n_present += 1
        if n_present < 2:
            continue
        prior = -(prior - size * np.log(size)) / (size * log2)
        best, cut_row = prior, -1
        for i in range(low, high - 1):
            left[labels[i]] += weights[i]
            right[labels[i]] -= weights[i]
            if values[i] < values[i + 1]:
                inside, n_left, n_right = 0.0, 0.0, 0.0
                for k in range(n_classes):
                    if left[k] > 0.0:
                        inside += left[k] * np.log(left[k])
                    n_left += left[k]
                inside -= n_left * np.log(n_left)
                for k in range(n_classes):
                    if right[k] > 1e-9:
                        inside += right[k] * np.log(right[k])
                    n_right += right[k]
                inside -= n_right * np.log(n_right)
                entropy = -inside / ((n_left + n_right) * log2)
                if entropy < best:
                    best, cut_row = entropy, i
                    best_left[:] = left
                    best_right[:] = right
        if cut_row < 0 or prior - best <= 0.0:
            continue
        sides = 0.0
        for side in range(2):
            counts = best_left if side == 0 else best_right
            entropy, total, present = 0.0, 0.0, 0
            for k in range(n_classes):
                if counts[k] > 1e-9:
                    entropy += counts[k] * np.log(counts[k])
                    total += counts[k]
                    present += 1
            sides += present * -(entropy - total * np.log(total)) / (total * log2)
        choices = 3.0**n_present - 2.0 if n_present < 600 else 3.0**600
        delta = np.log(choices) / log2 - (n_present * prior - sides)
        if prior - best <= (np.log(max(size - 1.0, 1.0)) / log2 + delta) / size:
            continue
        below, above = values[cut_row], values[cut_row + 1]
        cut = (below + above) / 2.0
        if not np.isfinite(cut):
            cut = below / 2.0 + above / 2.0
        cuts[n_cuts] = cut if cut < above else below
        n_cuts += 1
        stack_low[depth], stack_high[depth] = low, cut_row + 1
        stack_low[depth + 1], stack_high[depth + 1] = cut_row + 1, high
        depth += 2
    return np.sort(cuts[:n_cuts])


@compiled
def bin_numbers(values: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.int32]:
    """Count the rising cut points below each value; -1 where it is NaN.

    The range of the cuts is split into equal buckets. All cuts in earlier buckets than a
    value's lie below it, so only those of its own bucket are looked at, and many cuts cost
    hardly more than few.
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
