"""Width and line breaks of names in drawings of networks and trees."""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import east_asian_width

FONT = 12.0
"""Font size of a drawing, in pixels."""
LINE = 15.0
"""Line height, in pixels."""
# Widths of DejaVu Sans, a wide font, in em; boxes fit this font.
LETTERS = {
    **dict.fromkeys("'ijlIJ ,./:;\\|", 0.3),
    **dict.fromkeys("f-()[]t!r", 0.4),
    **dict.fromkeys("CUHNDGO&Qw#+<=>^~M", 0.85),
    **dict.fromkeys("%mW@", 1.05),
}
USUAL_WIDTH = 0.64
"""Width of other letters, in em."""
FOREIGN_WIDTH = 0.85
"""Width of letters of other scripts, in em."""
FULL_WIDTH = 1.3
"""Width of Chinese, Japanese and Korean letters, in em."""
# Characters that are not allowed in XML.
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
# Line breaks after a space or a mark, and in a long word as in "blood|Pressure".
BREAKS = re.compile(
    r"(?<=[\s_\-/:;=)\]}>|+&])(?=\S)"
    r"|(?<=[.,])(?=[^\s\d])"  # not inside a number
    r"|(?<=\w)(?=[(\[{<])"
)
HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
MIN_HUMPED = 12
"""Smallest length of a word that is broken between a lower- and an upper-case letter."""
MAX_WORD = 24
"""Length above which a part is broken into pieces."""
PIECE = 12
"""Length of such a piece."""
ELLIPSIS = "…"


def printable(text: str) -> str:
    """Replace characters that are not allowed in XML."""
    return CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


class Wrapped(NamedTuple):
    """A name in lines; ``whole`` unless it was truncated."""

    lines: tuple[str, ...]
    whole: bool


def parts_of(name: str) -> list[str]:
    """Split a name at possible line breaks."""
    return [
        piece
        for part in BREAKS.split(name)
        for piece in (HUMPS.split(part) if len(part) > MIN_HUMPED else [part])
    ]


def pieces_of(name: str) -> list[str]:
    """Split a name at possible line breaks, and parts that are too long."""
    return [
        piece
        for part in parts_of(name)
        for piece in ([part] if len(part) <= MAX_WORD else re.findall(f".{{1,{PIECE}}}", part))
    ]


def text_width(text: str) -> float:
    """Upper estimate of a text's width in em."""
    return sum(_width(letter) for letter in text)


def _width(letter: str) -> float:
    if letter in LETTERS or letter < "\u1100":
        return LETTERS.get(letter, USUAL_WIDTH)
    return FULL_WIDTH if east_asian_width(letter) in "WF" else FOREIGN_WIDTH


def longest_part(name: str) -> float:
    """Width of the widest part without a line break."""
    return max((text_width(part.strip()) for part in parts_of(name)), default=0.0)


def wrapped(name: str, width: float, most: int = 4) -> Wrapped:
    """Wrap a name into lines of ``width`` em, and truncate the rest."""
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
