"""Inferring numeric, date and categorical columns from text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    Table,
)

Array = NDArray[Any]
Parts = dict[str, str | None]
# Dates, the order of day and month if the year comes last, and whether that order is certain.
Dates = tuple[NDArray[np.datetime64], str | None, bool]


class NumberFormat(NamedTuple):
    """The decimal mark and the thousands separator (empty for none)."""

    decimal: str = "."
    thousands: str = ""


PLAIN = NumberFormat()
# In order of preference among formats that parse the same columns.
NUMBER_FORMATS = (
    PLAIN, NumberFormat(",", ""), NumberFormat(".", ","), NumberFormat(",", "."),
    NumberFormat(",", " "), NumberFormat(".", " "), NumberFormat(".", "'"), NumberFormat(",", "'"),
)  # fmt: skip
# Non-breaking and thin spaces, typographic apostrophe and minus sign, as ASCII.
TO_ASCII = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"}
)
# Ambiguous numbers: 1,234 is 1234 or 1.234.
THOUSANDS_OR_DECIMALS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
SIGNS = "%$€£¥"
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
# Dates with a two-digit year: d/m/yy or dd.mm.yy; a version such as 1.2.10 is not a date.
SHORT_YEAR = re.compile(r"\d\d?/\d\d?/\d\d(?!\d)|\d\d\.\d\d\.\d\d(?!\d)")
MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9,
    "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
# First two-digit year of the 20th century, as in POSIX: 69 is 1969, 68 is 2068.
PIVOT_YEAR = 69
# Missing values in numeric and date columns; in a categorical column they are categories.
NUMERIC_MISSING_TOKENS = frozenset({
    "n/a", "#n/a", "na", "n.a.", "nan", "<na>", "-", "--", "---", "\u2013", "\u2014", ".", "..",
    "...", "*", "none", "null", "(null)", "nil", "missing", "unknown", "nd", "n.d.", "k.a.", "\\n",
    "#div/0!", "#value!", "#ref!", "#null!", "#num!", "#name?",
})  # fmt: skip
LONGEST_TOKEN = max(map(len, NUMERIC_MISSING_TOKENS))
ORDER_NAMES = {DAY_FIRST: "day first", MONTH_FIRST: "month first"}
EXPECTED = {NUMERIC: "a finite number", DATE: "a date"}
DTYPES = {NUMERIC: "float64", DATE: "datetime64[ms]"}


def quick_numbers(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Parse plain numbers and empty texts in one pass; None if there is anything else."""
    try:
        found = np.array([float(text) if text else math.nan for text in texts])
    except ValueError:
        return None
    # float() also accepts "1_000" and "inf", which are text in a data file
    return None if np.isinf(found).any() or "_" in "".join(texts) else found


def parse_numbers(texts: Sequence[str], number_format: NumberFormat = PLAIN) -> list[float] | None:
    """Parse stripped texts as finite numbers; None unless all are."""
    decimal, thousands = number_format
    if number_format != PLAIN:
        # all at once, which is much faster
        joined = "\n".join(texts)
        if joined.count("\n") != len(texts) - 1:
            return None  # a line break inside a text
        if not joined.isascii():
            joined = joined.translate(TO_ASCII)
        if thousands and thousands in joined:
            if not all(map(_pattern(number_format).fullmatch, joined.split("\n"))):
                return None
            joined = joined.replace(thousands, "")
        elif decimal == "," and "." in joined:
            return None
        texts = joined.replace(decimal, ".").split("\n")
    try:
        numbers = list(map(float, texts))
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) and "_" not in "".join(texts) else None


@cache
def _pattern(number_format: NumberFormat) -> re.Pattern[str]:
    """Pattern of numbers in a format with a thousands separator."""
    decimal, thousands = map(re.escape, number_format)
    # Indian numbers have groups of two digits before the last group
    group = rf"(?:{thousands}\d{{2,3}})*" if number_format.thousands == "," else ""
    many = rf"{group}{thousands}\d{{3}}" if group else rf"(?:{thousands}\d{{3}})+"
    whole = rf"(?:[1-9]\d{{0,2}}{many}|\d+)"
    return re.compile(rf"[+-]?(?:{whole}(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?")


def strip_sign(texts: Sequence[str]) -> tuple[str, list[str]] | None:
    """Remove a percent or currency sign that every text starts or ends with."""
    for sign in SIGNS:
        if texts and all(sign in text for text in texts):
            edges = all(t.endswith(sign) or t.lstrip("+-").startswith(sign) for t in texts)
            return (sign, _without_sign(texts, sign)) if edges else None
    return None


def _without_sign(texts: Sequence[str], sign: str) -> list[str]:
    if not sign:
        return [*texts]
    return [text.translate(TO_ASCII).replace(sign, "", 1).strip() for text in texts]


def find_number_format(
    odd: Sequence[Sequence[str]],
    plain: Iterable[Sequence[str]],
    options: ReadOptions,
    separator: str,
) -> tuple[NumberFormat, str | None]:
    """Choose the number format that parses the most columns; also return an ambiguous text, if any.

    ``plain`` are the columns in plain format, ``odd`` the others. If plain columns have points, the
    point is the decimal mark unless commas prove otherwise.
    """
    requested = (options.decimal, options.thousands)
    formats = [
        each
        for each in NUMBER_FORMATS
        if all(want is None or mark == want for mark, want in zip(each, requested, strict=True))
    ]
    n_read = _count_columns(odd, formats)
    best = max(n_read.values())
    if best == 0 and requested == (None, None):
        return PLAIN, None
    chosen = next(each for each in formats if n_read[each] == best)
    rival, grouped = NumberFormat(".", ","), NumberFormat(",", ".")
    if chosen == NumberFormat(",") and n_read.get(rival) == best:
        # all are like 1,234; a comma-separated file is unlikely to have decimal commas
        points = any("." in text for texts in plain for text in texts)
        ambiguous = next(
            text for texts in odd for text in texts if THOUSANDS_OR_DECIMALS.match(text)
        )
        return rival if points or separator == "," else chosen, ambiguous
    if chosen == NumberFormat(",") and grouped in formats and any(map(_is_grouped, plain)):
        return grouped, None
    return chosen, None


def _count_columns(
    odd: Sequence[Sequence[str]], formats: Sequence[NumberFormat]
) -> dict[NumberFormat, int]:
    """Count the columns that each format parses."""
    n_read = dict.fromkeys(formats, 0)
    for texts in odd:
        bare = {mark: parse_numbers(texts, NumberFormat(mark)) is not None for mark in ".,"}
        joined = "".join(texts)
        joined = joined if joined.isascii() else joined.translate(TO_ASCII)
        for each in formats:
            grouped = bool(each.thousands) and each.thousands in joined
            plainly = not grouped and bare[each.decimal]
            n_read[each] += plainly or (grouped and parse_numbers(texts, each) is not None)
    return n_read


def _is_grouped(texts: Sequence[str]) -> bool:
    """Whether every point can be a thousands separator, with three digits after it."""
    return "." in "".join(texts) and parse_numbers(texts, NumberFormat(",", ".")) is not None


def read_dates(
    texts: Sequence[str], order: str | None = None, hint: str = MONTH_FIRST
) -> Dates | None:
    """Parse stripped texts as dates; None unless all are dates of the same form.

    ``order`` is the order of day and month where the year comes last; if None, it is inferred, or
    ``hint`` if it is ambiguous.
    """
    parts = next(filter(None, (_match(form, texts) for form in FORMS)), None)
    if parts is None:
        return None
    year_last = "mark" in parts[0]
    short = year_last and any(len(each["year"] or "") == 2 for each in parts)
    if short and not all(map(SHORT_YEAR.match, texts)):
        return None
    is_certain = True
    if not year_last:
        order = None
    elif order is None:
        order, is_certain = _find_order(parts, hint)
    try:
        return np.array([moment(each, order) for each in parts]), order, is_certain
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


def _find_order(parts: Sequence[Parts], hint: str) -> tuple[str, bool]:
    """Infer the order of day and month, and whether it is certain."""
    if any(int(each["month"] or 0) > 12 for each in parts):
        return MONTH_FIRST, True
    if parts[0]["mark"] == "." or any(int(each["day"] or 0) > 12 for each in parts):
        return DAY_FIRST, True
    return hint, False


def moment(parts: Parts, order: str | None = None) -> np.datetime64:
    """Make a date from its parts, in UTC if it has a time zone; ValueError if invalid."""
    day, month = parts.get("day") or "1", parts.get("month") or "1"
    if order == MONTH_FIRST:
        day, month = month, day
    name = parts.get("name")
    if name is not None:
        month = str(MONTHS.get(name[:3].lower(), 13))
    year = parts.get("year") or "1970"
    if len(year) == 2:
        year = str(int(year) + (1900 if int(year) >= PIVOT_YEAR else 2000))
    hour = int(parts.get("hour") or 0)
    half = (parts.get("half") or "").lower()[:1]
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    clock = f"{hour:02}:{parts.get('minute') or '00'}:{parts.get('second') or '00'}"
    text = f"{year}-{month:0>2}-{day:0>2}T{clock}.{(parts.get('part') or '0')[:3]:0<3}"
    return np.datetime64(text, "ms") - _offset(parts.get("zone"))


def _offset(zone: str | None) -> np.timedelta64:
    """Offset of a time zone from UTC."""
    if zone is None or zone.upper() in {"Z", "UTC", "GMT"}:
        return np.timedelta64(0, "m")
    minutes = 60 * int(zone[1:3]) + int(zone[-2:])
    return np.timedelta64(-minutes if zone[0] == "-" else minutes, "m")


class ColumnParser(NamedTuple):
    """How to parse the texts of a column: sign and number format, or order of day and month.

    ``kind`` is None if all values are missing. ``known`` is the requested kind.
    """

    name: str
    kind: str | None
    known: str | None = None
    sign: str = ""
    format: NumberFormat = PLAIN
    order: str | None = None

    def read(self, values: Sequence[str]) -> Array:
        """Parse texts of this column, all or some of them."""
        texts = _Texts(self.name, values, self.known)
        if self.kind == CATEGORICAL:
            return texts.categories()
        if not texts.known:
            return texts.empty(self.kind or self.known)
        found: Sequence[Any] | None = None
        if self.kind == NUMERIC:
            if not self.sign and self.format == PLAIN and texts.plain is not None:
                return texts.plain
            found = parse_numbers(_without_sign(texts.known, self.sign), self.format)
        elif self.kind == DATE:
            dates = read_dates(texts.known, self.order)
            found = None if dates is None else [*dates[0]]
        if found is None:
            raise ValueError(_unexpected(texts))
        return texts.column(found, self.kind or NUMERIC)


class TypedColumns(NamedTuple):
    """Columns of a table, their parsers, the number format, and notes.

    ``written`` contains numeric columns that may be labels, as text.
    """

    columns: tuple[Array, ...]
    format: NumberFormat
    notes: tuple[str, ...]
    written: Table | None
    parsers: tuple[ColumnParser, ...]


class _Texts:
    """A column as text; parsing works on its distinct texts."""

    def __init__(self, name: str, values: Sequence[str], kind: str | None) -> None:
        self.name, self.values, self.kind = name, values, kind

    @cached_property
    def stripped(self) -> dict[str, str]:
        """Distinct texts that are not missing, with the stripped text of each."""
        distinct = dict.fromkeys(self.values)
        return {text: bare for text in distinct if (bare := text.strip()) not in MISSING_TOKENS}

    @cached_property
    def missing_tokens(self) -> frozenset[str]:
        """Distinct texts that are missing values in numeric and date columns."""
        short = (bare for bare in self.stripped.values() if len(bare) <= LONGEST_TOKEN)
        return frozenset(bare for bare in short if bare.lower() in NUMERIC_MISSING_TOKENS)

    @cached_property
    def distinct(self) -> list[str]:
        """Distinct texts that are not missing values, as written."""
        missing = self.missing_tokens
        return [text for text, bare in self.stripped.items() if bare not in missing]

    @cached_property
    def known(self) -> list[str]:
        """The same, stripped."""
        return [self.stripped[text] for text in self.distinct]

    @cached_property
    def plain(self) -> Array | None:
        """The column as numbers in plain format, or None."""
        column = quick_numbers(self.values)
        if column is not None or not self.known:
            return column
        numbers = parse_numbers(self.known)
        return None if numbers is None else self.column(numbers, NUMERIC)

    @cached_property
    def signed(self) -> tuple[str, list[str]]:
        """The sign that all known texts have, or "", and the texts without it."""
        return strip_sign(self.known) or ("", self.known)

    def numbers(self, number_format: NumberFormat) -> tuple[Array, ColumnParser] | None:
        """Parse the column as numbers in this format, else in plain format; None if not numeric."""
        parser = ColumnParser(self.name, NUMERIC, self.kind)
        plain = None if self.plain is None else (self.plain, parser)
        # a plain column is the same in any format whose thousands separator is not a point
        if (plain is not None and number_format.thousands != ".") or not self.known:
            return plain
        sign, bare = self.signed
        for each in (number_format, PLAIN):
            found = parse_numbers(bare, each)
            if found is not None:
                return self.column(found, NUMERIC), parser._replace(sign=sign, format=each)
        return plain

    def column(self, values: Sequence[Any], kind: str) -> Array:
        """Expand values of the distinct texts to all rows; other rows are missing."""
        found = dict(zip(self.distinct, values, strict=True))
        return np.array(list(map(found.get, self.values)), dtype=DTYPES[kind])

    def empty(self, kind: str | None) -> Array:
        if kind == DATE:
            return np.full(len(self.values), np.datetime64("NaT"), dtype="datetime64[ms]")
        return np.full(len(self.values), math.nan)

    def categories(self) -> Array:
        column = np.empty(len(self.values), dtype=object)
        column[:] = list(map(self.stripped.get, self.values))
        return column


def type_columns(
    texts: Mapping[str, Sequence[str]], request: Request, separator: str = ","
) -> TypedColumns:
    """Infer the kind of each column without a known kind, and the number format."""
    every = [_Texts(name, values, request.kinds.get(name)) for name, values in texts.items()]
    free = [each for each in every if each.kind not in {CATEGORICAL, DATE}]
    odd = [each.signed[1] for each in free if each.plain is None and each.known]
    plain = (each.known for each in free if each.plain is not None)
    chosen, ambiguous = find_number_format(odd, plain, request.options, separator)
    numbers = {each.name: each.numbers(chosen) for each in free}
    rest = [each for each in every if each.kind in {None, DATE} and numbers.get(each.name) is None]
    comma = chosen.decimal == "," or separator == ";"
    dates = _all_dates(rest, request.options, DAY_FIRST if comma else MONTH_FIRST)
    made = [numbers.get(each.name) or _other_column(each, dates.get(each.name)) for each in every]
    columns, parsers = zip(*made, strict=True) if made else ((), ())
    known = [each for each in free if numbers[each.name] is not None]
    kept = [each for each in known if each.kind != NUMERIC_OR_LABEL]
    read = [*kept, *(each for each in rest if each.name in dates)]
    if ambiguous is None and chosen == PLAIN and separator == ";":
        ambiguous = next((each.known[0] for each in kept if _is_grouped(each.known)), None)
    notes = (
        *_ambiguity_notes(ambiguous, chosen), *_sign_notes(kept), *_date_notes(dates),
        *_missing_notes(read),
    )  # fmt: skip
    labels = [each for each in known if each.kind == NUMERIC_OR_LABEL]
    written = Table(
        tuple(each.name for each in labels),
        tuple(each.categories() for each in labels),
        notes=(*_sign_notes(labels), *_missing_notes(labels)),
    )
    return TypedColumns(columns, chosen, notes, written if labels else None, parsers)


def _all_dates(rest: Sequence[_Texts], options: ReadOptions, hint: str) -> dict[str, Dates]:
    """Parse date columns; an order of day and month that is certain in one applies to all."""
    as_text = options.dates == AS_TEXT
    order = None if as_text else options.dates
    wanted = [each for each in rest if each.known and (each.kind == DATE or not as_text)]
    found = {each.name: read_dates(each.known, order) for each in wanted}
    certain = {dates[1] for dates in found.values() if dates and dates[2]} - {None}
    order = certain.pop() if len(certain) == 1 else order
    for each in wanted:
        dates = found[each.name]
        if dates is not None and not dates[2]:
            found[each.name] = read_dates(each.known, order, hint)
    return {name: dates for name, dates in found.items() if dates is not None}


def _other_column(texts: _Texts, dates: Dates | None) -> tuple[Array, ColumnParser]:
    """Make a date, categorical or empty column, and its parser."""
    parser = ColumnParser(texts.name, None, texts.kind)
    if dates is not None:
        return texts.column([*dates[0]], DATE), parser._replace(kind=DATE, order=dates[1])
    if not texts.stripped or (texts.kind in EXPECTED and not texts.known):
        return texts.empty(texts.kind), parser
    if texts.kind in EXPECTED:
        raise ValueError(_unexpected(texts))
    return texts.categories(), parser._replace(kind=CATEGORICAL)


def _unexpected(texts: _Texts) -> str:
    kind = texts.kind or NUMERIC
    read = read_dates if kind == DATE else parse_numbers
    bad = next((text for text in texts.known if read([text]) is None), texts.known[0])
    return (
        f"Column {texts.name!r} contains {bad!r}, which is not {EXPECTED[kind]}; expected "
        f"{PLURALS[kind]}."
    )


def _ambiguity_notes(text: str | None, number_format: NumberFormat) -> Iterator[str]:
    if text is not None:
        bare = text.replace(",", "").replace(".", "")
        decimal = text.replace(",", ".")
        is_decimal = number_format == PLAIN or number_format.decimal == ","
        yield (
            f"{text!r} is ambiguous ({bare} or {decimal}); read as "
            f"{decimal if is_decimal else bare}. To change this, set `decimal`."
        )


def _sign_notes(columns: Sequence[_Texts]) -> Iterator[str]:
    for each in columns:
        if each.plain is None and each.signed[0]:
            yield f"Removed the sign {each.signed[0]!r} from the values of column {each.name!r}."


def _date_notes(dates: Mapping[str, Dates]) -> Iterator[str]:
    for order in dict.fromkeys(each[1] for each in dates.values()):
        names = [name for name, each in dates.items() if each[1] == order]
        first = f" ({ORDER_NAMES[order]})" if order else ""
        yield (
            f"{_columns(names)} contain{'s' * (len(names) == 1)} dates{first}, converted to days "
            "since 1970-01-01."
        )
    ambiguous = [name for name, each in dates.items() if not each[2]]
    if ambiguous:
        yield (
            f"The order of day and month in {listing(map(repr, ambiguous))} is ambiguous; read as "
            f"{ORDER_NAMES[dates[ambiguous[0]][1] or DAY_FIRST]}. To change this, set `dates`."
        )


def _missing_notes(columns: Sequence[_Texts]) -> Iterator[str]:
    # a column parsed by quick_numbers has no such tokens
    found = [each for each in columns if "stripped" in vars(each) and each.missing_tokens]
    if found:
        tokens = sorted({token for each in found for token in each.missing_tokens})
        names = _columns([each.name for each in found]).removeprefix("C")
        yield f"Read as missing in c{names}: {listing(map(repr, tokens))}."


def _columns(names: Sequence[str]) -> str:
    return f"Column{'s' * (len(names) > 1)} {listing(map(repr, names))}"
