"""Names in messages: many in a row, and the one that was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def listing(names: Iterable[object], limit: int = 12) -> str:
    """Write names in a row, separated by commas, cut short beyond the limit."""
    every = [str(name) for name in names]
    rest = len(every) - limit
    return ", ".join(every[:limit]) + (f" and {rest} more" if rest > 0 else "")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Propose the known name closest to a mistyped one: a sentence after a blank, or nothing."""
    lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), lower, n=1)
    return f" Did you mean {lower[close[0]]!r}?" if close else ""
