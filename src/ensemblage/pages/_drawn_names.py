"""Names and the colour of text inside a page's figures."""

from __future__ import annotations

import re

INK = "#010203"
"""Drawn in the page's own text colour: black on a light page, light on a dark one."""

# What XML cannot hold.
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """Replace each character that XML cannot hold."""
    return CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)
