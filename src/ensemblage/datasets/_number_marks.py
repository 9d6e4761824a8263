"""Numbers as they are written around the world: 1,234.5 and 1.234,5 and 1 234,5 and 1'234.5."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets._reading_options import Reading


class Marks(NamedTuple):
    """The decimal mark, and the one between groups of digits (empty for none)."""

    decimal: str = "."
    thousands: str = ""


PLAIN = Marks()
# The simpler first: of two that read the same columns, the first is taken.
STYLES = (
    PLAIN, Marks(",", ""), Marks(".", ","), Marks(",", "."), Marks(",", " "), Marks(".", " "),
    Marks(".", "'"), Marks(",", "'"),
)  # fmt: skip
# Blanks that do not break, the typographer's apostrophe and minus.
SAME = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
# 1,234 may be a large number or a small one.
EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
SIGNS = "%$€£¥"


def quick_numbers(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Read plain numbers and empty texts at one go; None if anything else is among them."""
    try:
        found = np.array([float(text) if text else math.nan for text in texts])
    except ValueError:
        return None
    # float() also takes "1_000" and "inf", which are words in a data file
    return None if np.isinf(found).any() or "_" in "".join(texts) else found


def parse_numbers(texts: Sequence[str], marks: Marks = PLAIN) -> list[float] | None:
    """Read texts without surrounding blanks as finite numbers; None unless all of them are."""
    if marks == PLAIN:
        return _plain(texts)
    # together, as that is much faster than one by one
    joined = "\n".join(texts)
    if joined.count("\n") != len(texts) - 1:
        return None  # a line break inside a text
    if not joined.isascii():
        joined = joined.translate(SAME)
    if marks.thousands and marks.thousands in joined:
        pattern = _pattern(marks)
        if not all(map(pattern.fullmatch, joined.split("\n"))):
            return None
        joined = joined.replace(marks.thousands, "")
    elif marks.decimal == "," and "." in joined:
        return None
    return _plain(joined.replace(marks.decimal, ".").split("\n"))


def _plain(texts: Sequence[str]) -> list[float] | None:
    try:
        numbers = list(map(float, texts))
    except ValueError:
        return None
    if not all(map(math.isfinite, numbers)) or "_" in "".join(texts):
        return None
    return numbers


@cache
def _pattern(marks: Marks) -> re.Pattern[str]:
    decimal, thousands = map(re.escape, marks)
    whole = r"\d+"
    if thousands:
        # in India the groups before the last have two digits
        group = rf"(?:{thousands}\d{{2,3}})*" if marks.thousands == "," else ""
        many = rf"(?:{thousands}\d{{3}})+" if not group else rf"{group}{thousands}\d{{3}}"
        whole = rf"(?:[1-9]\d{{0,2}}{many}|\d+)"
    return re.compile(rf"[+-]?(?:{whole}(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?")


def strip_sign(texts: Sequence[str]) -> tuple[str, list[str]] | None:
    """Take off one sign, of percent or of money, that every text begins or ends with."""
    for sign in SIGNS:
        if texts and all(sign in text for text in texts):
            bare = without_sign(texts, sign)
            edges = all(t.endswith(sign) or t.lstrip("+-").startswith(sign) for t in texts)
            return (sign, bare) if edges else None
    return None


def without_sign(texts: Sequence[str], sign: str) -> list[str]:
    """Take the sign off texts that have it; an empty one leaves them as they are."""
    if not sign:
        return [*texts]
    return [text.translate(SAME).replace(sign, "", 1).strip() for text in texts]


class FoundMarks(NamedTuple):
    """The marks of a file, and a text that could mean something else, if there is one."""

    marks: Marks
    doubtful: str | None = None


def find_marks(
    odd: Sequence[Sequence[str]], plain: Iterable[Sequence[str]], reading: Reading, separator: str
) -> FoundMarks:
    """Choose the marks by which the most columns are read.

    ``odd`` are the columns that are not read plainly, ``plain`` those that are: where they have
    points, the point is the decimal mark unless commas prove otherwise.
    """
    styles = [style for style in STYLES if _allowed(style, reading)]
    read = _count_columns(odd, styles)
    best = max(read.values())
    if best == 0 and reading.decimal is None and reading.thousands is None:
        return FoundMarks(PLAIN)
    chosen = next(style for style in styles if read[style] == best)
    rival = Marks(".", ",")
    if chosen == Marks(",") and read.get(rival) == best:
        # only 1,234 and its like; a file with commas between values would not have decimal ones
        points = any("." in text for texts in plain for text in texts)
        doubtful = next(text for texts in odd for text in texts if EITHER.match(text))
        return FoundMarks(rival if points or separator == "," else chosen, doubtful)
    if chosen == Marks(",") and _allowed(Marks(",", "."), reading):
        grouped = any("." in "".join(t) and parse_numbers(t, Marks(",", ".")) for t in plain)
        return FoundMarks(Marks(",", ".") if grouped else chosen)
    return FoundMarks(chosen)


def _count_columns(odd: Sequence[Sequence[str]], styles: Sequence[Marks]) -> dict[Marks, int]:
    """Count the columns that each style reads; without its mark of thousands it is the plainer."""
    read = dict.fromkeys(styles, 0)
    for texts in odd:
        bare = {mark: parse_numbers(texts, Marks(mark)) is not None for mark in ".,"}
        joined = "".join(texts)
        joined = joined if joined.isascii() else joined.translate(SAME)
        for style in styles:
            grouped = bool(style.thousands) and style.thousands in joined
            plainly = not grouped and bare[style.decimal]
            read[style] += plainly or (grouped and parse_numbers(texts, style) is not None)
    return read


def _allowed(style: Marks, reading: Reading) -> bool:
    wanted = zip(style, (reading.decimal, reading.thousands), strict=True)
    return all(want is None or mark == want for mark, want in wanted)
