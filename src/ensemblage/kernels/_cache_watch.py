"""Whether kernels are being compiled just now, in this process or in another."""

from __future__ import annotations

import os
import time
from pathlib import Path

HERE = Path(__file__).parent
RECENT = 10.0
"""Seconds; one kernel compiled, the next is probably being compiled."""


def seem_compiling(since: float) -> bool:
    """Tell whether no kernel was ever compiled here, or one was since then (by the wall clock)."""
    times = [path.stat().st_mtime for folder in _folders() for path in folder.glob("_*.nbi")]
    latest = max(times, default=None)
    return latest is None or latest > max(since, time.time() - RECENT)


def _folders() -> list[Path]:
    """Folders in which Numba keeps its machine code."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    # Numba calls the folder of a package's kernels by its name and a hash of where it lies
    return list(Path(given).glob(f"{HERE.name}_*")) if given else [HERE / "__pycache__"]
