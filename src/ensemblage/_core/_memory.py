"""Available memory."""

from __future__ import annotations

import os
from pathlib import Path

SYSTEM = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")
KILOBYTE = 1024


def free_memory(system: Path = SYSTEM, container: Path = CONTAINER) -> int:
    """Available memory in bytes, within a container's limit."""
    return min(_of_system(system), _of_container(container))


def _of_system(path: Path) -> int:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
        return int(_fields(lines)["MemAvailable:"]) * KILOBYTE
    except (OSError, KeyError, ValueError):  # not Linux
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return 2**63


def _of_container(folder: Path) -> int:
    """Limit minus usage; inactive file pages count as available."""
    try:
        limit, usage = ((folder / f"memory.{name}").read_text() for name in ("max", "current"))
        inactive = _fields((folder / "memory.stat").read_text().splitlines())["inactive_file"]
        return int(limit) - int(usage) + int(inactive)
    except (OSError, KeyError, ValueError):  # no limit: "max"
        return 2**63


def _fields(lines: list[str]) -> dict[str, str]:
    return {parts[0]: parts[1] for parts in map(str.split, lines) if len(parts) > 1}
