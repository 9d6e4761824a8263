"""A table that prints as text and as HTML."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import zip_longest
from typing import NamedTuple

from ensemblage._core._docs import set_module


@set_module("ensemblage._core")
@dataclass(frozen=True)
class Heading:
    """A column of a table.

    Parameters
    ----------
    name : str
        Its heading.
    numeric : bool, default=False
        Whether it holds numbers, which are aligned to the right and sorted as numbers.
    greater_is_better : bool or None, default=None
        Which of the numbers is marked as the best; None for no mark.
    wide : bool, default=False
        Whether it holds sentences, which need room.
    ours : bool, default=False
        Whether it is of a method of this library, which has a mark and a colour everywhere.
    """

    name: str
    numeric: bool = False
    greater_is_better: bool | None = None
    wide: bool = False
    ours: bool = False


@set_module("ensemblage._core")
@dataclass(frozen=True)
class Field:
    """A field of a table.

    Parameters
    ----------
    text : str
        What is shown.
    value : float or None
        What a column of numbers is sorted by; None stands last.
    quiet : str
        Shown after the text in a quieter tone, such as a standard error.
    best : bool
        Whether to mark it.
    tag : str
        A word in a small box after the text.
    ours : bool
        Whether it names a method of this library, which has a mark and a colour everywhere.
    """

    text: str
    value: float | None = None
    quiet: str = ""
    best: bool = False
    tag: str = ""
    ours: bool = False


@set_module("ensemblage._core")
@dataclass(frozen=True)
class TableBlock:
    """A table that can be sorted; the first column names the rows.

    Parameters
    ----------
    columns : sequence of Column
        The columns.
    rows : sequence of sequence of Field
        The rows, in the order in which they should first be read.
    caption : str
        What the table shows.
    legend : str
        What a reader needs to know to read the numbers.
    folded : bool
        Whether it is closed until the reader opens it.
    """

    columns: Sequence[Heading]
    rows: Sequence[Sequence[Field]]
    caption: str
    legend: str = ""
    folded: bool = False


NOTHING = Field("\N{EN DASH}")
"""Where there is no number."""
MINUS = "\N{MINUS SIGN}"
"""As wide as a plus, unlike a hyphen."""


def number_field(value: float | None, digits: int, error: float | None = None) -> Field:
    """Write a number, with its standard error in a quieter tone; a dash where there is none."""
    if value is None:
        return NOTHING
    quiet = "" if error is None else f"± {error:.{digits}f}"
    return Field(f"{_rounded(value, digits):.{digits}f}".replace("-", MINUS), value, quiet)


def signed_field(value: float | None, digits: int) -> Field:
    """Write a difference, with its sign."""
    if value is None:
        return NOTHING
    return Field(f"{_rounded(value, digits):+.{digits}f}".replace("-", MINUS), value)


def _rounded(value: float, digits: int) -> float:
    """Round a number; zero has no minus."""
    return round(value, digits) + 0.0


def count_field(number: int) -> Field:
    """Write a whole number, thousands apart."""
    return Field(f"{number:,}", number)


def share_field(value: float | None) -> Field:
    """Write a share between 0 and 1 in per cent."""
    return NOTHING if value is None else Field(f"{value:.1%}", value)


def mark_best(columns: Sequence[Heading], rows: Iterable[Sequence[Field]]) -> list[list[Field]]:
    """Mark the best number of each column that has a direction."""
    marked = [list(row) for row in rows]
    for j, column in enumerate(columns):
        if column.greater_is_better is not None:
            fields = mark_best_of([row[j] for row in marked], column.greater_is_better)
            for row, field in zip(marked, fields, strict=True):
                row[j] = field
    return marked


def mark_best_of(fields: Sequence[Field], greater_is_better: bool) -> list[Field]:
    """Mark the best of some numbers; of equals as shown, all; none if all are equal."""
    known = {field.value: field.text for field in fields if field.value is not None}
    if len(set(known.values())) < 2:
        return list(fields)
    best = known[max(known) if greater_is_better else min(known)]
    return [replace(field, best=field.text == best) for field in fields]


GAP = "  "
MOST_LINES = 4
"""A field that would fold into more lines is better read in a block of its own."""

# A mark without a letter or digit, such as a star, stays beside the word before it.
BLANKS = re.compile(r"[ \t\r\n]+(?=\S*\w)")


class Grid(NamedTuple):
    """Headings and fields as text, row by row; ``numeric`` columns stand to the right."""

    heads: list[str]
    rows: list[list[str]]
    numeric: list[bool]

    def take(self, columns: Sequence[int]) -> Grid:
        """Keep some columns."""
        return Grid(
            [self.heads[j] for j in columns],
            [[row[j] for j in columns] for row in self.rows],
            [self.numeric[j] for j in columns],
        )

    def column(self, j: int) -> list[str]:
        """Heading and fields of one column."""
        return [self.heads[j], *(row[j] for row in self.rows)]


def display_width(text: str) -> int:
    """Count the places that a text takes on a screen."""
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )


def fold_text(text: str, width: int | None, start: str = "", indent: str = "") -> list[str]:
    """Fold a text at blanks; only a word longer than a whole line is broken."""
    if width is None:
        return [start + text]
    lines, line = [], start
    for word in BLANKS.split(text):
        joined = f"{line} {word}" if line.strip() else line + word
        if display_width(joined) > width:
            lines += [line] if line.strip() else []
            *full, joined = _broken(word, width, indent if lines else start, indent)
            lines += full
        line = joined
    return [*lines, line]


def fold_sentence(text: str, width: int | None) -> str:
    """Fold a line; what follows stands under its first word."""
    said = text.lstrip(" ")
    start = " " * (len(text) - len(said))
    return "\n".join(fold_text(said, width, start, start + "  " * said.startswith("- ")))


def text_table(table: TableBlock, width: int | None = None) -> str:
    """Write a table in so many places at most; without a width, as wide as it is.

    Too wide a table is folded at the blanks of its texts. Where that does not do, its numbers
    follow in groups of columns, and other tables in a block per row.
    """
    grid = _grid(table.columns, [[_field_text(field) for field in row] for row in table.rows])
    widths = _widths(grid, width)
    if widths is not None:
        return _ruled(grid, widths)
    room = width or 0
    if all(grid.numeric[1:]) and (groups := _groups(grid, room)) is not None:
        return "\n\n".join(_ruled(grid.take(each), _natural(grid.take(each))) for each in groups)
    return "\n\n".join(_block(grid.heads, row, room) for row in grid.rows)


def _grid(columns: Sequence[Heading], rows: list[list[str]]) -> Grid:
    return Grid([each.name for each in columns], rows, [each.numeric for each in columns])


def _field_text(field: Field) -> str:
    parts = (field.text, field.quiet, field.tag and f"({field.tag})")
    return " ".join(" ".join(parts).split())


def _natural(grid: Grid) -> list[int]:
    return [max(map(display_width, grid.column(j))) for j in range(len(grid.heads))]


def _least(grid: Grid) -> list[int]:
    """Places below which a word would break, or a number fold."""
    least = []
    for j, numeric in enumerate(grid.numeric):
        head, *fields = grid.column(j)
        pieces = [*BLANKS.split(head)]
        pieces += fields if numeric else [word for text in fields for word in BLANKS.split(text)]
        least.append(max(map(display_width, pieces), default=0))
    return least


def _widths(grid: Grid, room: int | None) -> list[int] | None:
    """Places for each column, the widest made narrower first; None if it cannot be."""
    widths, least = _natural(grid), _least(grid)
    if room is None:
        return widths
    room -= len(GAP) * (len(widths) - 1)
    while sum(widths) > room:
        free = [j for j, each in enumerate(widths) if each > least[j]]
        if not free:
            return None
        widths[max(free, key=lambda j: widths[j])] -= 1
    fields = [pair for row in grid.rows for pair in zip(row, widths, strict=True)]
    tall = max((len(fold_text(*pair)) for pair in fields), default=1)
    return widths if tall <= MOST_LINES else None


def _ruled(grid: Grid, widths: list[int]) -> str:
    head, *rows = (_lines(row, widths, grid.numeric) for row in (grid.heads, *grid.rows))
    rule = "─" * (sum(widths) + len(GAP) * (len(widths) - 1))
    return "\n".join([*head, rule, *(line for row in rows for line in row)])


def _lines(row: Sequence[str], widths: list[int], numeric: list[bool]) -> list[str]:
    folded = [fold_text(text, width) for text, width in zip(row, widths, strict=True)]
    return [
        GAP.join(
            _padded(text, width, right)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in zip_longest(*folded, fillvalue="")
    ]


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


def _groups(grid: Grid, room: int) -> list[list[int]] | None:
    """Columns that fit beside the first, group by group; None if one alone does not fit."""
    first, *others = _natural(grid)
    groups: list[list[int]] = []
    left = 0
    for j, width in enumerate(others, start=1):
        if first + len(GAP) + width > room:
            return None
        if not groups or left < len(GAP) + width:
            groups.append([0])
            left = room - first
        groups[-1].append(j)
        left -= len(GAP) + width
    return groups or None


def _block(heads: Sequence[str], row: Sequence[str], room: int) -> str:
    """Write one row, a line per column that has something."""
    pairs = [(head, text) for head, text in zip(heads, row, strict=True) if text]
    side = max((display_width(head) for head, _ in pairs), default=0)
    if side + len(GAP) > room // 2:
        return "\n".join(fold_sentence(f"{head}: {text}", room) for head, text in pairs)
    lines = []
    for head, text in pairs:
        first, *others = fold_text(text, room - side - len(GAP))
        lines.append(f"{_padded(head, side, False)}{GAP}{first}".rstrip())
        lines.extend(" " * side + GAP + other for other in others)
    return "\n".join(lines)


def _broken(word: str, width: int, start: str, indent: str) -> list[str]:
    """Break a word that is longer than a line; a shorter one stays whole."""
    parts = [start]
    for each in word:
        if parts[-1].strip() and display_width(parts[-1] + each) > width:
            parts.append(indent)
        parts[-1] += each
    return parts


def html_table(table: TableBlock) -> str:
    """Write a table, its caption above it and its legend below."""
    head = "".join(_cell("th", each, each.name) for each in table.columns)
    rows = "".join(
        f"<tr>{''.join(_field(*pair) for pair in zip(table.columns, row, strict=True))}</tr>"
        for row in table.rows
    )
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    legend = f"<p>{escape(table.legend)}</p>" if table.legend else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{legend}"


def _field(column: Heading, field: Field) -> str:
    return _cell("td", column, " ".join(filter(None, (field.text, field.quiet, field.tag))))


def _cell(tag: str, column: Heading, text: str) -> str:
    side = "right" if column.numeric else "left"
    return f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
