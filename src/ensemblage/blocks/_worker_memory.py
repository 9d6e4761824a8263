"""Memory that a worker keeps from one block to the next.

Dask has its workers give freed memory back to the system at once. Passes over blocks take and leave
the same few megabytes thousands of times, and getting fresh pages for them each time takes longer
than the arithmetic.
"""

from __future__ import annotations

import ctypes
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""What glibc calls them."""
KEPT, LARGEST = 64 * 2**20, 32 * 2**20
"""Bytes of free memory that are kept, and of the largest piece that may be among them."""


@cache
def keep_memory() -> bool:
    """Have this process keep some freed memory; tell whether its C library can, once for all."""
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # not glibc
        return False
    return bool(adjust(TRIM_THRESHOLD, KEPT) and adjust(MMAP_THRESHOLD, LARGEST))
