"""Where a text file's table begins: header, units, remarks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from ensemblage._core import count, listing
from ensemblage.datasets._options import Request
from ensemblage.datasets._table import MISSING_TOKENS, parse_number

Row = list[str]
# Rows of a file that are not blank, each with the number of the line that it ends on.
Lines = list[tuple[Row, int]]

NUMBER_LIKE = re.compile(
    r"[$€£]?\s?[+-]?(?:\d[\d.,'\u2019\u00a0\u202f ]*|[.,]\d+)(?:[eE][+-]?\d+)?\s?[%€]?"
)
# Share of a column's values that must be numbers for its first to be one of them.
NUMERIC_SHARE = 0.9
YEARS = range(1900, 2101)
COMMENTS = ("#", "%")
UNNAMED = re.compile(r"column_\d+")
UNIT = re.compile(r"[(\[].*[)\]]")
# Rows that are looked at to tell a header or units.
N_ROWS_COMPARED = 1000
# Rows at the top in which the mark of a comment may stand alone.
N_COMMENT_ROWS = 100


def is_number_like(text: str) -> bool:
    """Whether a text without surrounding blanks is a number by any country's habit."""
    return NUMBER_LIKE.fullmatch(text) is not None


def looks_like_data(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Whether a file's first row has values like those below it, so that it is no header.

    A number fits if its column holds numbers of that size, a text if its column has it again.
    """
    cells = [text for text in first if text not in MISSING_TOKENS]
    numeric = [text for text in cells if is_number_like(text)]
    if not columns:
        return len(numeric) == len(cells) > 0
    if not cells or _is_series(numeric):
        return False
    pairs = [pair for pair in zip(first, columns, strict=True) if pair[0] not in MISSING_TOKENS]
    fits = [_fits(text, column) for text, column in pairs if is_number_like(text)]
    again = [
        any(text == value.strip() for value in column)
        for text, column in pairs
        if not is_number_like(text)
    ]
    if not fits:
        return len(again) > 1 and all(again)
    misfits = fits.count(False) + again.count(False)
    return misfits <= fits.count(True) // 2


def _is_series(numeric: Sequence[str]) -> bool:
    """Whether the numbers of a row count up, evenly or as years: such are names of columns."""
    values = [parse_number(text) for text in numeric]
    steps = {round(b - a, 9) for a, b in pairwise(values)}
    years = all(value in YEARS for value in values)
    return len(values) > 2 and all(step > 0 for step in steps) and (years or len(steps) == 1)


def _fits(text: str, column: Sequence[str]) -> bool:
    """Whether a number has the size of those in its column."""
    known = list(_known(column))
    numbers = [_size(value) for value in known if is_number_like(value)]
    if len(numbers) < NUMERIC_SHARE * len(known) or not numbers:
        return not known
    low, high = min(numbers), max(numbers)
    margin = max(high - low, abs(low), abs(high))
    return low - margin <= _size(text) <= high + margin


def _known(column: Sequence[str]) -> Iterator[str]:
    return (text for text in map(str.strip, column) if text not in MISSING_TOKENS)


def _size(text: str) -> float:
    value = parse_number(text)
    if value != value:  # noqa: PLR0124  the usual test for NaN
        digits = re.sub(r"\D", "", text)
        return float(digits[:15] or 0)
    return value


class Layout(NamedTuple):
    """Named columns of texts, and what a reader should know of how they were found.

    ``places`` says where the columns stand in a row, of which most have ``usual`` values and which
    needs ``width`` of them, as ``standard`` says.
    """

    texts: dict[str, Sequence[str]]
    notes: tuple[str, ...]
    places: tuple[int, ...]
    usual: int
    width: int
    standard: str

    def without_comments(self, lines: Lines) -> Lines:
        return [each for each in lines if not _is_comment(each[0], self.usual)]

    def is_remark(self, row: Row) -> bool:
        """Whether a row is a remark if it is the last."""
        return _is_remark(row, self.usual, below=True)


def lay_out(lines: Lines, request: Request, *, more: bool = False) -> Layout:
    """Find the header and the columns; ``more`` if other rows follow these."""
    name, header = request.name, request.options.header
    usual = _width(row for row, _ in lines)
    lines, notes = _without_surroundings(lines, name, more=more)
    rows = [row for row, _ in lines]
    # a heading stands on one line
    first = [re.sub(r"\s*[\r\n]+\s*", " ", text.strip()) for text in rows[0]]
    if header is None:
        header = _has_header(first, rows, request.kinds)
    if header:
        rows, lines = rows[1:], lines[1:]
        names = _match_width(first, rows, notes)
    else:
        names = [""] * _width(rows)
        last = "" if len(names) == 1 else f" to column_{len(names)}"
        notes.append(f"There is no header line; the columns are called column_1{last}.")
    if not rows:
        raise ValueError(f"{name} has a header line but no rows.")
    standard = "the header has" if header else "most have"
    even_out(lines, len(names), name, standard)
    columns: list[Sequence[str]] = list(zip(*rows, strict=True))
    if header and _is_units(columns):
        units = [column[0].strip() for column in columns if column[0].strip()]
        notes.append(
            f"The row below the header looks like units ({listing(units, 4)}); it is left out."
        )
        columns = [column[1:] for column in columns]
    texts, places = _named(names, columns, notes)
    return Layout(texts, tuple(notes), places, usual, len(names), standard)


def even_out(lines: Lines, width: int, name: str, standard: str) -> None:
    """Cut off empty values beyond the header, in place, and refuse rows of another length."""
    for row, number in lines:
        if len(row) > width and not any(map(str.strip, row[width:])):
            del row[width:]
        if len(row) != width:
            raise ValueError(
                f"Line {number} of {name} has {count(len(row), 'value')}, but {standard} {width}: "
                "every row needs the same number."
            )


def remark_note(n_lines: int, row: Row) -> str:
    return f"{count(n_lines, 'line')} below the table left out, such as {row[0].strip()[:40]!r}."


def distinct_names(names: Sequence[str]) -> list[str]:
    """Give names that occur again a number: x, x_2, x_3."""
    taken, seen, found = set(names), Counter[str](), []
    for name in names:
        seen[name] += 1
        new = name
        while seen[name] > 1 and new in taken:
            new = f"{name}_{seen[name]}"
            seen[name] += new in taken
        taken.add(new)
        found.append(new)
    return found


def _width(rows: Iterable[Row]) -> int:
    """Give the number of values that most rows have."""
    return next((width for width, _ in Counter(map(len, rows)).most_common(1)), 0)


def _without_surroundings(lines: Lines, name: str, *, more: bool) -> tuple[Lines, list[str]]:
    """Leave out comments, a title above the table and remarks below it."""
    if not lines:
        raise ValueError(f"{name} is empty: a header line and at least one row are needed.")
    width = _width(row for row, _ in lines)
    top = [(_glued(row, width), number) for row, number in lines[:N_COMMENT_ROWS]]
    lines = top + lines[N_COMMENT_ROWS:]
    kept = [each for each in lines if not _is_comment(each[0], width)]
    start, stop = 0, len(kept)
    while stop - start > 2 and _is_remark(kept[start][0], width):
        start += 1
    while not more and stop - start > 2 and _is_remark(kept[stop - 1][0], width, below=True):
        stop -= 1
    start += _leading_comments([row for row, _ in kept[start:stop]])
    notes = []
    if start:
        title = count(start, "line"), kept[0][0][0].strip()[:40]
        notes.append(f"{title[0]} above the table left out, such as {title[1]!r}.")
    if stop < len(kept):
        notes.append(remark_note(len(kept) - stop, kept[stop][0]))
    return kept[start:stop] or lines[-1:], notes


def _glued(row: Row, width: int) -> Row:
    """Put the mark of a comment that stands alone before what it marks."""
    alone = len(row) == width + 1 and row[0] in COMMENTS
    return [f"{row[0]} {row[1]}", *row[2:]] if alone else row


def _is_comment(row: Row, width: int) -> bool:
    """Whether a row begins like a comment and has not the shape of the others."""
    return row[0].startswith(COMMENTS) and len(row) != width


def _leading_comments(rows: Sequence[Row]) -> int:
    """Count the comments at the top, which have the shape of a row by chance.

    The last of them is the header, without its mark, if what follows are values.
    """
    marked = next((i for i, row in enumerate(rows) if not row[0].startswith(COMMENTS)), 0)
    if not marked:
        return 0
    last, rest = rows[marked - 1], rows[marked : marked + N_ROWS_COMPARED]
    below = list(zip(*(row for row in rest[1:] if len(row) == len(rest[0])), strict=True))
    glued = marked == 1 and not last[0][1:2].isspace()
    if len(last) == len(rest[0]) and (glued or looks_like_data(rest[0], below)):
        last[0] = last[0].lstrip("#% ")
        return marked - 1
    return marked


def _is_remark(row: Row, width: int, *, below: bool = False) -> bool:
    """Whether a row has one text only, in its first place, where the others have several."""
    text = row[0].strip()
    alone = bool(text) and not any(map(str.strip, row[1:])) and not is_number_like(text)
    shape = width > 2 or (width == 2 and len(row) == 1 and not below)
    return alone and shape and (not below or len(row) == 1 or " " in text)


def _has_header(first: Row, rows: Sequence[Row], known: Collection[str]) -> bool:
    """Look for names that the file is expected to have, else compare the rows."""
    if any(name in first for name in known):
        return True
    if known and all(map(UNNAMED.fullmatch, known)):
        return False
    same = [row for row in islice(rows, 1, N_ROWS_COMPARED) if len(row) == len(first)]
    return not looks_like_data(first, list(zip(*same, strict=True)))


def _match_width(names: Row, rows: Sequence[Row], notes: list[str]) -> Row:
    """Fit the header to the rows: without empty names at its end, or with one for names of rows."""
    width = _width(rows) if rows else len(names)
    while len(names) > width and not names[-1]:
        names = names[:-1]
    # as R writes it, the names of the rows have no heading
    named = len(rows) > 1 and all(len(row) == len(names) + 1 for row in rows)
    if named and any(row[-1].strip() for row in rows):
        notes.append("Rows have one value more than the header; the first is called 'row'.")
        return ["row", *names]
    return names


def _is_units(columns: Sequence[Sequence[str]]) -> bool:
    """Whether the first row says in which units the numbers below it are."""
    if len(columns[0]) < 3 or any(is_number_like(column[0].strip()) for column in columns):
        return False
    units = [
        column[0].strip()
        for column in columns
        if column[0].strip() not in MISSING_TOKENS
        and all(map(is_number_like, _known(column[1:N_ROWS_COMPARED])))
        and next(_known(column[1:]), None) is not None
    ]
    return len(units) > 1 or any(map(UNIT.fullmatch, units))


def _named(
    names: Row, columns: Sequence[Sequence[str]], notes: list[str]
) -> tuple[dict[str, Sequence[str]], tuple[int, ...]]:
    """Name what has no name, number equal names, leave out what is empty altogether."""
    kept = [j for j, name in enumerate(names) if name or any(map(str.strip, columns[j]))]
    if len(kept) < len(names):
        empty = count(len(names) - len(kept), "column")
        notes.append(f"{empty} without a name and without values left out.")
    wanted = [names[j] or f"column_{j + 1}" for j in kept]
    unique = distinct_names(wanted)
    if unique != wanted:
        renamed = [f"{new!r}" for new, old in zip(unique, wanted, strict=True) if new != old]
        notes.append(f"Names of columns that occur twice were numbered: {listing(renamed)}.")
    return {name: columns[j] for name, j in zip(unique, kept, strict=True)}, tuple(kept)
