"""Width of names and where they break, for drawings of networks and trees."""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import east_asian_width

FONT = 12.0
"""Height of the letters of a drawing, in pixels."""
LINE = 15.0
"""From one line to the next, in pixels."""
# Widths of DejaVu Sans in em, a wide face among those of systems; boxes are made for it.
LETTERS = {
    **dict.fromkeys("'ijlIJ ,./:;\\|", 0.3),
    **dict.fromkeys("f-()[]t!r", 0.4),
    **dict.fromkeys("CUHNDGO&Qw#+<=>^~M", 0.85),
    **dict.fromkeys("%mW@", 1.05),
}
USUAL_WIDTH = 0.64
FOREIGN_WIDTH = 0.85
FULL_WIDTH = 1.3
"""Of Chinese, Japanese and Korean letters."""
# What XML cannot hold.
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
# A line may end after a space or a mark, and in a long word between "blood" and "Pressure".
BREAKS = re.compile(
    r"(?<=[\s_\-/:;=)\]}>|+&])(?=\S)"
    r"|(?<=[.,])(?=[^\s\d])"  # not inside a number
    r"|(?<=\w)(?=[(\[{<])"
)
HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
MIN_HUMPED = 12
"""Shorter words are not broken between a small and a capital letter."""
MAX_WORD = 24
"""What is longer is no word, and is broken into pieces."""
PIECE = 12
"""Letters of such a piece."""
ELLIPSIS = "…"


def printable(text: str) -> str:
    """Replace each character that XML cannot hold."""
    return CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


class Wrapped(NamedTuple):
    """A name in lines; ``whole`` unless something had to be left out."""

    lines: tuple[str, ...]
    whole: bool


def parts_of(name: str) -> list[str]:
    """Split a name where a line may end."""
    return [
        piece
        for part in BREAKS.split(name)
        for piece in (HUMPS.split(part) if len(part) > MIN_HUMPED else [part])
    ]


def pieces_of(name: str) -> list[str]:
    """Split a name where a line may end; what is too long to be a word, also inside."""
    return [
        piece
        for part in parts_of(name)
        for piece in ([part] if len(part) <= MAX_WORD else re.findall(f".{{1,{PIECE}}}", part))
    ]


def text_width(text: str) -> float:
    """Estimate a text's width in em, rather too wide than too narrow."""
    return sum(_width(letter) for letter in text)


def _width(letter: str) -> float:
    if letter in LETTERS or letter < "\u1100":
        return LETTERS.get(letter, USUAL_WIDTH)
    return FULL_WIDTH if east_asian_width(letter) in "WF" else FOREIGN_WIDTH


def longest_part(name: str) -> float:
    """Width of the widest part that stays in one piece."""
    return max((text_width(part.strip()) for part in parts_of(name)), default=0.0)


def wrapped(name: str, width: float, most: int = 4) -> Wrapped:
    """Break a name into lines of so many em, and cut what is left over."""
    lines = [""]
    for part in parts_of(name):
        if lines[-1] and text_width((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    fitting = [_cut(line.strip(), width) for line in lines[:most]]
    whole = len(lines) <= most and fitting == [line.strip() for line in lines]
    if len(lines) > most:
        fitting[-1] = _cut(f"{lines[most - 1].strip()}{lines[most]}", width)
    return Wrapped(tuple(fitting), whole)


def _cut(line: str, width: float) -> str:
    if text_width(line) <= width:
        return line
    kept = line
    while kept and text_width(kept + ELLIPSIS) > width:
        kept = kept[:-1]
    return kept + ELLIPSIS
