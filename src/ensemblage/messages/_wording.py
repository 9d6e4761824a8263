"""Numbers and names in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Say how many: ``1 row``, ``3 rows``; ``plural`` where an s is not enough."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str]) -> str:
    """Enumerate one or more names: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
