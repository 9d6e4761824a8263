"""Names and colours inside a page's figures."""

from __future__ import annotations

import re
from collections.abc import Sequence

INK = "#010203"
"""Drawn in the page's own text colour: black on a light page, light on a dark one."""
QUIET = "#010204"
"""Drawn in the page's colour for what matters less."""
WARM = "#010205"
"""Drawn in the page's colour for what stands out."""

# What XML cannot hold.
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
MOST_LETTERS = 32


def printable(text: str) -> str:
    """Replace each character that XML cannot hold."""
    return CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def short(name: str) -> str:
    """Cut a name that would take a figure's whole width: 32 letters at most, printable."""
    name = printable(name)
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def short_names(names: Sequence[str]) -> list[str]:
    """Cut names, and number those that become the same."""
    cut = [short(name) for name in names]
    return [
        f"{name} ({cut[:k].count(name) + 1})" if cut.count(name) > 1 else name
        for k, name in enumerate(cut)
    ]
