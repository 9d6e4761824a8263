"""How much memory a fit may take."""

from __future__ import annotations

import os

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]


def memory_at_hand() -> float:
    """Bytes of the machine's memory, or of this process's limit if that is less."""
    return min(_of_machine(), _of_process())


def _of_machine() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # not on Windows
        return float("inf")


def _of_process() -> float:
    if resource is None:
        return float("inf")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)
