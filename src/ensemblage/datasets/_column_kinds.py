"""From columns of texts to columns of numbers, dates and words, decided over the whole file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ensemblage.datasets._date_texts import Dates, read_dates
from ensemblage.datasets._number_marks import (
    PLAIN,
    FoundMarks,
    Marks,
    find_marks,
    parse_numbers,
    quick_numbers,
    strip_sign,
    without_sign,
)
from ensemblage.datasets._reading_options import AS_WORDS, DAY_FIRST, MONTH_FIRST, Reading, Request
from ensemblage.datasets._table import DATE, EITHER, MISSING, NUMBER, WORD, AsWritten, Column
from ensemblage.messages import listing

# Read as gaps beside numbers or dates only; among words they stay words.
GAP_WORDS = frozenset({
    "n/a", "#n/a", "na", "n.a.", "nan", "<na>", "-", "--", "---", "\u2013", "\u2014", ".", "..",
    "...", "*", "none", "null", "(null)", "nil", "missing", "unknown", "nd", "n.d.", "k.a.", "\\n",
    "#div/0!", "#value!", "#ref!", "#null!", "#num!", "#name?",
})  # fmt: skip
LONGEST_GAP = max(map(len, GAP_WORDS))
SPOKEN = {DAY_FIRST: "day first", MONTH_FIRST: "month first"}
EXPECTED = {NUMBER: "a finite number", DATE: "a date"}


class Recipe(NamedTuple):
    """How the texts of a column become values: by which sign and marks, or which order of dates.

    ``kind`` None is a column without a value. ``known`` is the kind that was asked for.
    """

    name: str
    kind: str | None
    known: str | None = None
    sign: str = ""
    marks: Marks = PLAIN
    order: str | None = None

    def read(self, values: Sequence[str]) -> Column:
        """Read texts of this column, all of them or a part."""
        texts = _Texts(self.name, values, self.known)
        if self.kind == WORD:
            return texts.words()
        if not texts.known:
            return texts.empty(self.kind or self.known)
        found: Sequence[Any] | None
        if self.kind == NUMBER:
            if not self.sign and self.marks == PLAIN and texts.plain is not None:
                return texts.plain
            found = parse_numbers(without_sign(texts.known, self.sign), self.marks)
        else:
            dates = read_dates(texts.known, self.order) if self.kind == DATE else None
            found = None if dates is None else [*dates.moments]
        if found is None:
            raise ValueError(_unexpected(texts))
        return texts.column(found, "float64" if self.kind == NUMBER else "datetime64[ms]")


class Columns(NamedTuple):
    """Columns of a table, the marks that their numbers had, and what a reader should know.

    ``written`` has the columns of numbers that may be labels.
    """

    columns: tuple[Column, ...]
    marks: Marks
    notes: tuple[str, ...]
    written: dict[str, AsWritten]
    recipes: tuple[Recipe, ...]


class _Numbers(NamedTuple):
    """A column of numbers, the sign that was taken off, and the marks."""

    column: Column
    sign: str = ""
    marks: Marks = PLAIN


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
        return {text: bare for text in distinct if (bare := text.strip()) not in MISSING}

    @cached_property
    def gap_words(self) -> frozenset[str]:
        """The distinct texts that are words for a gap."""
        short = (bare for bare in self.stripped.values() if len(bare) <= LONGEST_GAP)
        return frozenset(bare for bare in short if bare.lower() in GAP_WORDS)

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
    def plain(self) -> Column | None:
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

    def numbers(self, marks: Marks) -> _Numbers | None:
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

    def column(self, values: Sequence[Any], dtype: str) -> Column:
        """Put the values of the known texts in their places; the others are missing."""
        found = dict(zip(self.places, values, strict=True))
        return np.array(list(map(found.get, self.values)), dtype=dtype)

    def empty(self, kind: str | None) -> Column:
        """Give a column without values, of dates or of numbers."""
        if kind == DATE:
            return np.full(len(self.values), np.datetime64("NaT"), dtype="datetime64[ms]")
        return np.full(len(self.values), math.nan)

    def words(self) -> Column:
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
    free = [each for each in every if each.kind not in {WORD, DATE}]
    odd = [each.signed[1] for each in free if each.plain is None and each.known]
    plain = (each.known for each in free if each.plain is not None)
    found = find_marks(odd, plain, reading, separator)
    numbers = {each.name: each.numbers(found.marks) for each in free}
    rest = [each for each in every if each.kind in {None, DATE} and numbers.get(each.name) is None]
    comma = found.marks.decimal == "," or separator == ";"
    dates = _all_dates(rest, reading, DAY_FIRST if comma else MONTH_FIRST)
    typed = [_column(each, numbers.get(each.name), dates.get(each.name)) for each in every]
    known = [each for each in free if numbers[each.name] is not None]
    kept = [each for each in known if each.kind != EITHER]
    read = [*kept, *(each for each in rest if each.name in dates)]
    notes = (
        *_mark_notes(found, kept, separator), *_sign_notes(kept), *_date_notes(dates),
        *_gap_notes(read),
    )  # fmt: skip
    written = {
        each.name: AsWritten(each.words(), (*_sign_notes([each]), *_gap_notes([each])))
        for each in known
        if each.kind == EITHER
    }
    columns, recipes = zip(*typed, strict=True) if typed else ((), ())
    return Columns(columns, found.marks, notes, written, recipes)


def _all_dates(rest: Sequence[_Texts], reading: Reading, hint: str) -> dict[str, Dates]:
    """Read the columns of dates; one that tells the order of day and month tells it to all."""
    keep_words = reading.dates == AS_WORDS
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


def _column(texts: _Texts, numbers: _Numbers | None, dates: Dates | None) -> tuple[Column, Recipe]:
    """Make the column, and say how."""
    recipe = Recipe(texts.name, None, texts.kind)
    if numbers is not None:
        return numbers.column, recipe._replace(kind=NUMBER, sign=numbers.sign, marks=numbers.marks)
    if dates is not None:
        column = texts.column([*dates.moments], "datetime64[ms]")
        return column, recipe._replace(kind=DATE, order=dates.order)
    if not texts.stripped or (texts.kind in EXPECTED and not texts.known):
        return texts.empty(texts.kind), recipe
    if texts.kind in EXPECTED:
        raise ValueError(_unexpected(texts))
    return texts.words(), recipe._replace(kind=WORD)


def _unexpected(texts: _Texts) -> str:
    read = read_dates if texts.kind == DATE else parse_numbers
    bad = next((text for text in texts.known if read([text]) is None), texts.known[0])
    return (
        f"Column {texts.name!r} holds {bad!r}, which is not {EXPECTED[texts.kind or NUMBER]}; "
        f"{texts.kind}s are expected in this column."
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
    return "." in "".join(texts) and parse_numbers(texts, Marks(",", ".")) is not None


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
