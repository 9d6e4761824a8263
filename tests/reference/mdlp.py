"""Fayyad and Irani's cuts, recursively and plainly."""

import math
from collections import Counter


def entropy(labels):
    counts = Counter(labels).values()
    return -sum(c / len(labels) * math.log2(c / len(labels)) for c in counts)


def cut_points(values, labels):
    """Cut points of one column; pairs need not be sorted."""
    pairs = sorted(zip(values, labels, strict=True), key=lambda pair: pair[0])
    best = None
    for i in range(len(pairs) - 1):
        if pairs[i][0] < pairs[i + 1][0]:
            left = [label for _, label in pairs[: i + 1]]
            right = [label for _, label in pairs[i + 1 :]]
            inside = (len(left) * entropy(left) + len(right) * entropy(right)) / len(pairs)
            if best is None or inside < best[0] - 1e-12:
                best = inside, i, left, right
    if best is None:
        return []
    inside, i, left, right = best
    every = left + right
    k, k1, k2 = (len(set(part)) for part in (every, left, right))
    delta = math.log2(3**k - 2) - (k * entropy(every) - k1 * entropy(left) - k2 * entropy(right))
    gain = entropy(every) - inside
    if gain <= 0 or gain <= (math.log2(len(every) - 1) + delta) / len(every):
        return []
    cut = (pairs[i][0] + pairs[i + 1][0]) / 2
    below, above = pairs[: i + 1], pairs[i + 1 :]
    return sorted(
        [cut, *cut_points(*zip(*below, strict=True)), *cut_points(*zip(*above, strict=True))]
    )
