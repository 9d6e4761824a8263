"""Products of matrices in parts that are multiplied where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SMALL = 10**6
"""OpenBLAS copies larger problems, in numbers that are multiplied, before it multiplies."""
FEWEST = 256
"""Parts with fewer columns do not pay."""


def small_parts(n_columns: int, per_column: int) -> Iterator[slice]:
    """Parts of the columns, equal but for the last; all in one where parts would be too short."""
    step = SMALL // per_column
    n_parts = max(1, -(-n_columns // step)) if step >= FEWEST else 1
    step = max(1, -(-n_columns // n_parts))
    return (slice(start, start + step) for start in range(0, n_columns, step))


def multiply_in_parts(left: Array, right: Array, out: Array) -> Array:
    """Matrix product of a small matrix and one with many columns."""
    for part in small_parts(right.shape[1], left.size):
        np.matmul(left, right[:, part], out=out[:, part])
    return out
