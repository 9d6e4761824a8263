"""Short names of strata, each of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

LIKE_ALL = "like all rows"
USUAL = 2
"""So many phrases make a name, where they are enough to tell strata apart."""


def name_strata(phrases: Sequence[Sequence[str]]) -> list[str]:
    """Join each stratum's first phrases: two, or more where names would be the same."""
    names = [_joined(each, USUAL) for each in phrases]
    for most in range(USUAL + 1, 1 + max(map(len, phrases), default=0)):
        counts = Counter(names)
        names = [
            _joined(each, most) if counts[name] > 1 else name
            for name, each in zip(names, phrases, strict=True)
        ]
    return _numbered(names)


def _joined(phrases: Sequence[str], most: int) -> str:
    return ", ".join(phrases[:most]) or LIKE_ALL


def _numbered(names: list[str]) -> list[str]:
    """Tell what is still the same apart; a name may end in a value, so say of how many."""
    counts, seen = Counter(names), Counter[str]()
    made = []
    for name in names:
        seen[name] += 1
        made.append(f"{name} ({seen[name]} of {counts[name]})" if counts[name] > 1 else name)
    return made
