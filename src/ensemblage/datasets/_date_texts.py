"""Dates as people write them; which number of 3/4/2025 is the day, a whole column decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets._reading_options import DAY_FIRST, MONTH_FIRST

CLOCK = (
    r"(?:(?:T|[ ,]{1,2})(?P<hour>\d{1,2}):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:[.,](?P<part>\d{1,9}))?)?"
    r" ?(?P<half>[ap]\.?m\.?)? ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)?)?"
)
FORMS = tuple(
    re.compile(form + CLOCK, re.IGNORECASE)
    for form in (
        r"(?P<year>\d{4})(?P<dash>[-/.])(?P<month>\d\d?)(?P=dash)(?P<day>\d\d?)",
        r"(?P<day>\d\d?)(?P<mark>[-/.])(?P<month>\d\d?)(?P=mark)(?P<year>\d{4}|\d\d)",
        r"(?P<day>\d\d?)[-. /](?P<name>[a-z]{3,9})[-. /,]{1,2}(?P<year>\d{4}|\d\d)",
        r"(?P<name>[a-z]{3,9})\.? (?P<day>\d\d?)(?:st|nd|rd|th)?,? (?P<year>\d{4})",
    )
)
# A version such as 1.2.10 is no date: a short year follows slashes, or two digits twice.
SHORT_YEAR = re.compile(r"\d\d?/\d\d?/\d\d(?!\d)|\d\d\.\d\d\.\d\d(?!\d)")
MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9,
    "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
# As POSIX has it: 69 is 1969, 68 is 2068.
PIVOT = 69

Parts = dict[str, str | None]


class Dates(NamedTuple):
    """Moments, and whether day or month was taken to come first where the texts do not tell."""

    moments: NDArray[np.datetime64]
    order: str | None = None
    is_sure: bool = True


def read_dates(
    texts: Sequence[str], order: str | None = None, hint: str = MONTH_FIRST
) -> Dates | None:
    """Read texts without surrounding blanks as dates; None unless all are, in one form.

    ``order`` says what comes first where the year comes last; ``hint`` is taken if nothing tells.
    """
    parts = next(filter(None, (_match(form, texts) for form in FORMS)), None)
    if parts is None:
        return None
    short = "mark" in parts[0] and any(len(each["year"] or "") == 2 for each in parts)
    if short and not all(map(SHORT_YEAR.match, texts)):
        return None
    first, is_sure = (order, True) if order else _order(parts)
    if "mark" not in parts[0]:
        first = None
    elif first is None:
        first = hint
    try:
        return Dates(np.array([moment(each, first) for each in parts]), first, is_sure)
    except ValueError:
        return None


def _match(form: re.Pattern[str], texts: Sequence[str]) -> list[Parts] | None:
    found: list[Parts] = []
    for text in texts:
        match = form.fullmatch(text)
        if match is None:
            return None
        found.append(match.groupdict())
    return found


def _order(parts: Sequence[Parts]) -> tuple[str | None, bool]:
    """Tell whether day or month comes first, and whether that is sure."""
    if "mark" not in parts[0]:
        return None, True
    if any(int(each["month"] or 0) > 12 for each in parts):
        return MONTH_FIRST, True
    points = parts[0]["mark"] == "."
    sure = points or any(int(each["day"] or 0) > 12 for each in parts)
    return (DAY_FIRST, True) if sure else (None, False)


def moment(parts: Parts, order: str | None = None) -> np.datetime64:
    """Put a date together, in universal time if it has a zone; ValueError if there is no such."""
    day, month = parts.get("day") or "1", parts.get("month") or "1"
    if order == MONTH_FIRST:
        day, month = month, day
    name = parts.get("name")
    if name is not None:
        month = str(MONTHS.get(name[:3].lower(), 13))
    year = parts.get("year") or "1970"
    if len(year) == 2:
        year = str(int(year) + (1900 if int(year) >= PIVOT else 2000))
    hour = int(parts.get("hour") or 0)
    half = (parts.get("half") or "").lower()[:1]
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    clock = f"{hour:02}:{parts.get('minute') or '00'}:{parts.get('second') or '00'}"
    text = f"{year}-{month:0>2}-{day:0>2}T{clock}.{(parts.get('part') or '0')[:3]:0<3}"
    return np.datetime64(text, "ms") - _offset(parts.get("zone"))


def _offset(zone: str | None) -> np.timedelta64:
    """Give how far a zone's clock is ahead of universal time."""
    if zone is None or zone.upper() in {"Z", "UTC", "GMT"}:
        return np.timedelta64(0, "m")
    minutes = 60 * int(zone[1:3]) + int(zone[-2:])
    return np.timedelta64(-minutes if zone[0] == "-" else minutes, "m")
