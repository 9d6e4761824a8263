r"""Which of two centres is nearer in a view, exactly.

A sum of products of floating-point numbers is itself a sum of floating-point numbers, if what each
rounding loses is kept as a number of its own (T. J. Dekker, 1971). Such a sum is held here as an
expansion: numbers that do not overlap, the smallest first, so that the last one has the sign of the
whole (J. R. Shewchuk, Adaptive Precision Floating-Point Arithmetic, 1997, Figure 6). The results
are exact unless the square of a rounding error underflows, at values below about 1e-130.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

Array = NDArray[Any]

SPLITTER = 2.0**27 + 1
# the exponents of all finite numbers have room for fewer numbers that do not overlap
MOST_PARTS = 64


@compiled
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Give the rounded sum, and what the rounding lost."""
    total = a + b
    taken = total - a
    return total, (a - (total - taken)) + (b - taken)


@compiled
def two_product(a: float, b: float) -> tuple[float, float]:
    """Give the rounded product, and what the rounding lost."""
    product = a * b
    wide = SPLITTER * a
    a_high = wide - (wide - a)
    wide = SPLITTER * b
    b_high = wide - (wide - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def add_exactly(parts: Array, n_parts: int, value: float) -> int:
    """Add a number to the expansion ``parts[:n_parts]``, in place; give its new length."""
    kept = 0
    for i in range(n_parts):
        value, lost = two_sum(value, parts[i])
        if lost != 0:
            parts[kept] = lost
            kept += 1
    if value != 0:
        parts[kept] = value
        kept += 1
    return kept


@compiled
def _add_product(parts: Array, n_parts: int, factor: float, a: float, b: float) -> int:
    """Add ``factor * a * b``."""
    product, lost = two_product(a, b)
    for piece in (product, lost):
        high, low = two_product(factor, piece)
        n_parts = add_exactly(parts, n_parts, high)
        n_parts = add_exactly(parts, n_parts, low)
    return n_parts


@compiled
def _add_square(parts: Array, n_parts: int, weight: float, gap: float, rest: float) -> int:
    """Add ``weight * (gap + rest)**2``."""
    n_parts = _add_product(parts, n_parts, weight, gap, gap)
    if rest != 0:
        n_parts = _add_product(parts, n_parts, 2 * weight, gap, rest)
        n_parts = _add_product(parts, n_parts, weight, rest, rest)
    return n_parts


@compiled
def compare_distances(row: Array, one: Array, other: Array, view: Array) -> float:
    r"""Give a number with the sign of :math:`D_e(one) - D_e(other)`, zero only if they are equal.

    Row and centres are of shape (n_features,), as is the view: how often it drew each feature.
    """
    parts, n_parts = np.zeros(MOST_PARTS), 0
    for j in range(len(row)):
        if view[j] > 0:
            value = np.float64(row[j])
            gap, rest = two_sum(value, -np.float64(one[j]))
            other_gap, other_rest = two_sum(value, -np.float64(other[j]))
            same = gap == other_gap and rest == other_rest
            if not (same or (gap == -other_gap and rest == -other_rest)):
                weight = np.float64(view[j])
                n_parts = _add_square(parts, n_parts, weight, gap, rest)
                n_parts = _add_square(parts, n_parts, -weight, other_gap, other_rest)
    return parts[n_parts - 1] if n_parts else 0.0


@compiled
def nearest_exactly(row: Array, centers: Array, view: Array, distances: Array, limit: float) -> int:
    """Find the nearest of the centres whose rounded distance is within the limit, lowest first."""
    best = -1
    for k in range(len(centers)):
        if distances[k] > limit:
            continue
        if best < 0 or compare_distances(row, centers[k], centers[best], view) < 0:
            best = k
    return best
