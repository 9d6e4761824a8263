"""Texts to numbers, dates and categories."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import listing
from ensemblage.datasets._options import AS_TEXT, DAY_FIRST, MONTH_FIRST, ReadOptions, Request
from ensemblage.datasets._table import (
    CATEGORICAL,
    DATE,
    MISSING_TOKENS,
    NUMERIC,
    NUMERIC_OR_LABEL,
    PLURALS,
    AsWritten,
)

Array = NDArray[Any]


class NumberFormat(NamedTuple):
    """The decimal mark, and the one between groups of digits (empty for none)."""

    decimal: str = "."
    thousands: str = ""


PLAIN = NumberFormat()
# The simpler first: of two that read the same columns, the first is taken.
STYLES = (
    PLAIN, NumberFormat(",", ""), NumberFormat(".", ","), NumberFormat(",", "."),
    NumberFormat(",", " "), NumberFormat(".", " "), NumberFormat(".", "'"), NumberFormat(",", "'"),
)  # fmt: skip
# Blanks that do not break, the typographer's apostrophe and minus.
SAME = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
# 1,234 may be a large number or a small one.
THOUSANDS_OR_DECIMALS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
SIGNS = "%$€£¥"


def quick_numbers(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Read plain numbers and empty texts at one go; None if anything else is among them."""
    try:
        found = np.array([float(text) if text else math.nan for text in texts])
    except ValueError:
        return None
    # float() also takes "1_000" and "inf", which are words in a data file
    return None if np.isinf(found).any() or "_" in "".join(texts) else found


def parse_numbers(texts: Sequence[str], marks: NumberFormat = PLAIN) -> list[float] | None:
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
def _pattern(marks: NumberFormat) -> re.Pattern[str]:
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

    marks: NumberFormat
    doubtful: str | None = None


def find_marks(
    odd: Sequence[Sequence[str]],
    plain: Iterable[Sequence[str]],
    reading: ReadOptions,
    separator: str,
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
    rival = NumberFormat(".", ",")
    if chosen == NumberFormat(",") and read.get(rival) == best:
        # only 1,234 and its like; a file with commas between values would not have decimal ones
        points = any("." in text for texts in plain for text in texts)
        doubtful = next(
            text for texts in odd for text in texts if THOUSANDS_OR_DECIMALS.match(text)
        )
        return FoundMarks(rival if points or separator == "," else chosen, doubtful)
    if chosen == NumberFormat(",") and _allowed(NumberFormat(",", "."), reading):
        grouped = any("." in "".join(t) and parse_numbers(t, NumberFormat(",", ".")) for t in plain)
        return FoundMarks(NumberFormat(",", ".") if grouped else chosen)
    return FoundMarks(chosen)


def _count_columns(
    odd: Sequence[Sequence[str]], styles: Sequence[NumberFormat]
) -> dict[NumberFormat, int]:
    """Count the columns that each style reads; without its mark of thousands it is the plainer."""
    read = dict.fromkeys(styles, 0)
    for texts in odd:
        bare = {mark: parse_numbers(texts, NumberFormat(mark)) is not None for mark in ".,"}
        joined = "".join(texts)
        joined = joined if joined.isascii() else joined.translate(SAME)
        for style in styles:
            grouped = bool(style.thousands) and style.thousands in joined
            plainly = not grouped and bare[style.decimal]
            read[style] += plainly or (grouped and parse_numbers(texts, style) is not None)
    return read


def _allowed(style: NumberFormat, reading: ReadOptions) -> bool:
    wanted = zip(style, (reading.decimal, reading.thousands), strict=True)
    return all(want is None or mark == want for mark, want in wanted)


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


# Read as gaps beside numbers or dates only; among words they stay words.
NUMERIC_MISSING_TOKENS = frozenset({
    "n/a", "#n/a", "na", "n.a.", "nan", "<na>", "-", "--", "---", "\u2013", "\u2014", ".", "..",
    "...", "*", "none", "null", "(null)", "nil", "missing", "unknown", "nd", "n.d.", "k.a.", "\\n",
    "#div/0!", "#value!", "#ref!", "#null!", "#num!", "#name?",
})  # fmt: skip
LONGEST_GAP = max(map(len, NUMERIC_MISSING_TOKENS))
SPOKEN = {DAY_FIRST: "day first", MONTH_FIRST: "month first"}
EXPECTED = {NUMERIC: "a finite number", DATE: "a date"}


class ColumnParser(NamedTuple):
    """How the texts of a column become values: by which sign and marks, or which order of dates.

    ``kind`` None is a column without a value. ``known`` is the kind that was asked for.
    """

    name: str
    kind: str | None
    known: str | None = None
    sign: str = ""
    marks: NumberFormat = PLAIN
    order: str | None = None

    def read(self, values: Sequence[str]) -> Array:
        """Read texts of this column, all of them or a part."""
        texts = _Texts(self.name, values, self.known)
        if self.kind == CATEGORICAL:
            return texts.words()
        if not texts.known:
            return texts.empty(self.kind or self.known)
        found: Sequence[Any] | None
        if self.kind == NUMERIC:
            if not self.sign and self.marks == PLAIN and texts.plain is not None:
                return texts.plain
            found = parse_numbers(without_sign(texts.known, self.sign), self.marks)
        else:
            dates = read_dates(texts.known, self.order) if self.kind == DATE else None
            found = None if dates is None else [*dates.moments]
        if found is None:
            raise ValueError(_unexpected(texts))
        return texts.column(found, "float64" if self.kind == NUMERIC else "datetime64[ms]")


class Columns(NamedTuple):
    """Columns of a table, the marks that their numbers had, and what a reader should know.

    ``written`` has the columns of numbers that may be labels.
    """

    columns: tuple[Array, ...]
    marks: NumberFormat
    notes: tuple[str, ...]
    written: dict[str, AsWritten]
    recipes: tuple[ColumnParser, ...]


class _Numbers(NamedTuple):
    """A column of numbers, the sign that was taken off, and the marks."""

    column: Array
    sign: str = ""
    marks: NumberFormat = PLAIN


@dataclass
class _Texts:
    """A column as it stands in the file; what is asked of it is asked of its distinct texts."""

    name: str
    values: Sequence[str]
    kind: str | None

    @cached_property
    def stripped(self) -> dict[str, str]:
        """Each distinct text that is not missing, without its blanks."""
        distinct = dict.fromkeys(self.values)
        return {text: bare for text in distinct if (bare := text.strip()) not in MISSING_TOKENS}

    @cached_property
    def gap_words(self) -> frozenset[str]:
        """The distinct texts that are words for a gap."""
        short = (bare for bare in self.stripped.values() if len(bare) <= LONGEST_GAP)
        return frozenset(bare for bare in short if bare.lower() in NUMERIC_MISSING_TOKENS)

    @cached_property
    def places(self) -> list[str]:
        """The distinct texts that are neither missing nor words for a gap, as they stand."""
        gaps = self.gap_words
        return [text for text, bare in self.stripped.items() if bare not in gaps]

    @cached_property
    def known(self) -> list[str]:
        """The same without their blanks."""
        return [self.stripped[text] for text in self.places]

    @cached_property
    def plain(self) -> Array | None:
        """The column as plain numbers, if it holds such."""
        column = quick_numbers(self.values)
        if column is not None or not self.known:
            return column
        numbers = parse_numbers(self.known)
        return None if numbers is None else self.column(numbers, "float64")

    @cached_property
    def signed(self) -> tuple[str, list[str]]:
        """The sign that all known texts have, and the texts without it."""
        return strip_sign(self.known) or ("", self.known)

    def numbers(self, marks: NumberFormat) -> _Numbers | None:
        """Give the column as numbers with these marks, else as plain ones, if it holds such."""
        plain = None if self.plain is None else _Numbers(self.plain)
        # without points between thousands a plain column reads the same by any marks
        if (plain is not None and marks.thousands != ".") or not self.known:
            return plain
        sign, bare = self.signed
        for each in (marks, PLAIN):
            found = parse_numbers(bare, each)
            if found is not None:
                return _Numbers(self.column(found, "float64"), sign, each)
        return plain

    def column(self, values: Sequence[Any], dtype: str) -> Array:
        """Put the values of the known texts in their places; the others are missing."""
        found = dict(zip(self.places, values, strict=True))
        return np.array(list(map(found.get, self.values)), dtype=dtype)

    def empty(self, kind: str | None) -> Array:
        """Give a column without values, of dates or of numbers."""
        if kind == DATE:
            return np.full(len(self.values), np.datetime64("NaT"), dtype="datetime64[ms]")
        return np.full(len(self.values), math.nan)

    def words(self) -> Array:
        """Give the column as words."""
        column = np.empty(len(self.values), dtype=object)
        column[:] = list(map(self.stripped.get, self.values))
        return column


def type_columns(
    texts: Mapping[str, Sequence[str]], request: Request, separator: str = ","
) -> Columns:
    """Decide the kind of each column that has no known one, and the marks of the numbers."""
    reading = request.reading
    every = [_Texts(name, values, request.kinds.get(name)) for name, values in texts.items()]
    free = [each for each in every if each.kind not in {CATEGORICAL, DATE}]
    odd = [each.signed[1] for each in free if each.plain is None and each.known]
    plain = (each.known for each in free if each.plain is not None)
    found = find_marks(odd, plain, reading, separator)
    numbers = {each.name: each.numbers(found.marks) for each in free}
    rest = [each for each in every if each.kind in {None, DATE} and numbers.get(each.name) is None]
    comma = found.marks.decimal == "," or separator == ";"
    dates = _all_dates(rest, reading, DAY_FIRST if comma else MONTH_FIRST)
    typed = [_column(each, numbers.get(each.name), dates.get(each.name)) for each in every]
    known = [each for each in free if numbers[each.name] is not None]
    kept = [each for each in known if each.kind != NUMERIC_OR_LABEL]
    read = [*kept, *(each for each in rest if each.name in dates)]
    notes = (
        *_mark_notes(found, kept, separator), *_sign_notes(kept), *_date_notes(dates),
        *_gap_notes(read),
    )  # fmt: skip
    written = {
        each.name: AsWritten(each.words(), (*_sign_notes([each]), *_gap_notes([each])))
        for each in known
        if each.kind == NUMERIC_OR_LABEL
    }
    columns, recipes = zip(*typed, strict=True) if typed else ((), ())
    return Columns(columns, found.marks, notes, written, recipes)


def _all_dates(rest: Sequence[_Texts], reading: ReadOptions, hint: str) -> dict[str, Dates]:
    """Read the columns of dates; one that tells the order of day and month tells it to all."""
    keep_words = reading.dates == AS_TEXT
    order = None if keep_words else reading.dates
    wanted = [each for each in rest if each.known and (each.kind == DATE or not keep_words)]
    found = {each.name: read_dates(each.known, order) for each in wanted}
    sure = {dates.order for dates in found.values() if dates and dates.is_sure} - {None}
    order = sure.pop() if len(sure) == 1 else order
    for each in wanted:
        dates = found[each.name]
        if dates is not None and not dates.is_sure:
            found[each.name] = read_dates(each.known, order, hint)
    return {name: dates for name, dates in found.items() if dates is not None}


def _column(
    texts: _Texts, numbers: _Numbers | None, dates: Dates | None
) -> tuple[Array, ColumnParser]:
    """Make the column, and say how."""
    recipe = ColumnParser(texts.name, None, texts.kind)
    if numbers is not None:
        return numbers.column, recipe._replace(kind=NUMERIC, sign=numbers.sign, marks=numbers.marks)
    if dates is not None:
        column = texts.column([*dates.moments], "datetime64[ms]")
        return column, recipe._replace(kind=DATE, order=dates.order)
    if not texts.stripped or (texts.kind in EXPECTED and not texts.known):
        return texts.empty(texts.kind), recipe
    if texts.kind in EXPECTED:
        raise ValueError(_unexpected(texts))
    return texts.words(), recipe._replace(kind=CATEGORICAL)


def _unexpected(texts: _Texts) -> str:
    read = read_dates if texts.kind == DATE else parse_numbers
    bad = next((text for text in texts.known if read([text]) is None), texts.known[0])
    return (
        f"Column {texts.name!r} holds {bad!r}, which is not {EXPECTED[texts.kind or NUMERIC]}; "
        f"{PLURALS[texts.kind or NUMERIC]} are expected in this column."
    )


def _mark_notes(found: FoundMarks, kept: Sequence[_Texts], separator: str) -> Iterator[str]:
    text = found.doubtful
    if text is None and found.marks == PLAIN and separator == ";":
        text = next((each.known[0] for each in kept if _is_grouped(each.known)), None)
    if text is not None:
        bare = text.replace(",", "").replace(".", "")
        small = found.marks == PLAIN or found.marks.decimal == ","
        yield (
            f"{text!r} may stand for {bare} or for {text.replace(',', '.')}; it is read as the "
            f"{'second' if small else 'first'}: if that is wrong, say so by `decimal`."
        )


def _sign_notes(kept: Sequence[_Texts]) -> Iterator[str]:
    for each in kept:
        if each.plain is None and each.signed[0]:
            yield f"Column {each.name!r} is read without its {each.signed[0]!r}."


def _is_grouped(texts: Sequence[str]) -> bool:
    """Whether every point stands before three digits, as a mark of thousands does."""
    return "." in "".join(texts) and parse_numbers(texts, NumberFormat(",", ".")) is not None


def _date_notes(dates: Mapping[str, Dates]) -> Iterator[str]:
    for order in dict.fromkeys(each.order for each in dates.values()):
        names = [name for name, each in dates.items() if each.order == order]
        first = f" ({SPOKEN[order]})" if order else ""
        yield (
            f"{_columns(names)} hold{'s' * (len(names) == 1)} dates{first}; they become days since "
            "1970-01-01."
        )
    unsure = [name for name, each in dates.items() if not each.is_sure]
    if unsure:
        yield (
            f"Nothing in {listing(map(repr, unsure))} tells whether day or month comes first; "
            f"{SPOKEN[dates[unsure[0]].order or DAY_FIRST]} is taken: if that is wrong, say so by "
            "`dates`."
        )


def _gap_notes(read: Sequence[_Texts]) -> Iterator[str]:
    # a column that was read at one go has no words in it
    gappy = [each for each in read if "stripped" in vars(each) and each.gap_words]
    if gappy:
        words = sorted({word for each in gappy for word in each.gap_words})
        names = _columns([each.name for each in gappy]).removeprefix("C")
        yield f"Read as missing in c{names}: {listing(map(repr, words))}."


def _columns(names: Sequence[str]) -> str:
    return f"Column{'s' * (len(names) > 1)} {listing(map(repr, names))}"
