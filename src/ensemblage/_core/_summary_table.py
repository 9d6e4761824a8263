"""A table that prints as text and as HTML."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import zip_longest

from ensemblage._core._docs import set_module

SEPARATOR = "  "
"""Separator of columns."""
MAX_LINES = 4
"""Largest number of lines per field; rows with longer fields are printed as blocks."""
MINUS = "\N{MINUS SIGN}"
"""Minus sign, of the same width as a plus sign."""
# No line break before a mark without a letter or digit, such as a star.
BLANKS = re.compile(r"[ \t\r\n]+(?=\S*\w)")


@set_module("ensemblage._core")
@dataclass(frozen=True)
class Heading:
    """Heading of a column."""

    name: str
    numeric: bool = False  # right-aligned and sorted numerically
    greater_is_better: bool | None = None  # direction for marking the best; None for no mark
    wide: bool = False  # holds sentences
    ours: bool = False  # a method of this library, which is marked and coloured


@set_module("ensemblage._core")
@dataclass(frozen=True)
class Field:
    """Field of a table."""

    text: str
    value: float | None = None  # sort key of a numeric column; None is last
    quiet: str = ""  # secondary text after the text, such as a standard error
    best: bool = False
    tag: str = ""  # label in a small box after the text
    ours: bool = False  # a method of this library, which is marked and coloured


@set_module("ensemblage._core")
@dataclass(frozen=True)
class TableBlock:
    """A sortable table; the first column has the names of the rows."""

    columns: Sequence[Heading]
    rows: Sequence[Sequence[Field]]
    caption: str
    legend: str = ""
    folded: bool = False  # initially collapsed on a page


NOTHING = Field("\N{EN DASH}")
"""Field without a value."""


def number_field(value: float | None, digits: int, error: float | None = None) -> Field:
    """Format a number, with its standard error as secondary text; a dash for None."""
    if value is None:
        return NOTHING
    quiet = "" if error is None else f"± {error:.{digits}f}"
    # plus zero: no minus sign before a rounded zero
    text = f"{round(value, digits) + 0.0:.{digits}f}"
    return Field(text.replace("-", MINUS), value, quiet)


def signed_field(value: float | None, digits: int) -> Field:
    """Format a difference, with its sign."""
    if value is None:
        return NOTHING
    return Field(f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", MINUS), value)


def count_field(number: int) -> Field:
    """Format an integer, with a thousands separator."""
    return Field(f"{number:,}", number)


def share_field(value: float | None) -> Field:
    """Format a share between 0 and 1 in per cent."""
    return NOTHING if value is None else Field(f"{value:.1%}", value)


def mark_best(columns: Sequence[Heading], rows: Iterable[Sequence[Field]]) -> list[list[Field]]:
    """Mark the best value of each column that has a direction."""
    marked = [list(row) for row in rows]
    for j, column in enumerate(columns):
        if column.greater_is_better is not None:
            fields = mark_best_of([row[j] for row in marked], column.greater_is_better)
            for row, field in zip(marked, fields, strict=True):
                row[j] = field
    return marked


def mark_best_of(fields: Sequence[Field], greater_is_better: bool) -> list[Field]:
    """Mark the best value and all with the same text; none if all texts are equal."""
    known = {field.value: field.text for field in fields if field.value is not None}
    if len(set(known.values())) < 2:
        return list(fields)
    best = known[max(known) if greater_is_better else min(known)]
    return [replace(field, best=field.text == best) for field in fields]


def display_width(text: str) -> int:
    """Width of a text in terminal columns."""
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )


def fold_text(text: str, width: int | None, start: str = "", indent: str = "") -> list[str]:
    """Wrap a text at blanks; only words longer than a line are broken."""
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


def _broken(word: str, width: int, start: str, indent: str) -> list[str]:
    """Break a word that is longer than a line."""
    parts = [start]
    for each in word:
        if parts[-1].strip() and display_width(parts[-1] + each) > width:
            parts.append(indent)
        parts[-1] += each
    return parts


def fold_sentence(text: str, width: int | None) -> str:
    """Wrap a line with a hanging indent."""
    body = text.lstrip(" ")
    start = " " * (len(text) - len(body))
    return "\n".join(fold_text(body, width, start, start + "  " * body.startswith("- ")))


def text_table(table: TableBlock, width: int | None = None) -> str:
    """Format a table in at most ``width`` terminal columns; without a width, unlimited.

    Texts of a table that is too wide are wrapped at blanks. If that does not suffice, a numeric
    table is split into groups of columns, and other tables into a block per row.
    """
    numeric = [column.numeric for column in table.columns]
    # each column as heading and fields
    columns = [[column.name] for column in table.columns]
    for row in table.rows:
        for column, field in zip(columns, row, strict=True):
            parts = (field.text, field.quiet, field.tag and f"({field.tag})")
            column.append(" ".join(" ".join(parts).split()))
    natural = [max(map(display_width, column)) for column in columns]
    widths = natural if width is None else _narrowed(columns, numeric, natural, width)
    if widths is not None:
        return _ruled(columns, numeric, widths)
    available = width or 0
    groups = _groups(natural, available) if all(numeric[1:]) else []
    if groups:
        tables = [
            ([columns[j] for j in group], [numeric[j] for j in group], [natural[j] for j in group])
            for group in groups
        ]
        return "\n\n".join(_ruled(*each) for each in tables)
    heads, *rows = zip(*columns, strict=True)
    return "\n\n".join(_block(heads, row, available) for row in rows)


def _narrowed(
    columns: list[list[str]], numeric: list[bool], natural: list[int], available: int
) -> list[int] | None:
    """Width of each column, the widest reduced first; None if the table does not fit."""
    least = []  # width below which a word would be broken, or a number wrapped
    for (head, *fields), is_numeric in zip(columns, numeric, strict=True):
        words = fields if is_numeric else [word for text in fields for word in BLANKS.split(text)]
        least.append(max(map(display_width, [*BLANKS.split(head), *words])))
    widths = list(natural)
    available -= len(SEPARATOR) * (len(widths) - 1)
    while sum(widths) > available:
        free = [j for j, each in enumerate(widths) if each > least[j]]
        if not free:
            return None
        widths[max(free, key=lambda j: widths[j])] -= 1
    tallest = max(
        (len(fold_text(text, width))
         for column, width in zip(columns, widths, strict=True) for text in column[1:]),
        default=1,
    )  # fmt: skip
    return widths if tallest <= MAX_LINES else None


def _ruled(columns: list[list[str]], numeric: list[bool], widths: list[int]) -> str:
    lines: list[str] = []
    for number, row in enumerate(zip(*columns, strict=True)):
        folded = [fold_text(text, width) for text, width in zip(row, widths, strict=True)]
        lines += (
            SEPARATOR.join(
                _padded(text, width, right)
                for text, width, right in zip(line, widths, numeric, strict=True)
            ).rstrip()
            for line in zip_longest(*folded, fillvalue="")
        )
        if number == 0:
            lines.append("─" * (sum(widths) + len(SEPARATOR) * (len(widths) - 1)))
    return "\n".join(lines)


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


def _groups(widths: list[int], available: int) -> list[list[int]]:
    """Divide the columns into groups that fit beside the first; empty if one does not fit."""
    first, *others = (width + len(SEPARATOR) for width in widths)
    groups: list[list[int]] = []
    left = 0
    for j, width in enumerate(others, start=1):
        if first + width - len(SEPARATOR) > available:
            return []
        if not groups or left < width:
            groups.append([0])
            left = available - first + len(SEPARATOR)
        groups[-1].append(j)
        left -= width
    return groups


def _block(heads: Sequence[str], row: Sequence[str], available: int) -> str:
    """Format one row, a line per column that is not empty."""
    pairs = [(head, text) for head, text in zip(heads, row, strict=True) if text]
    side = max((display_width(head) for head, _ in pairs), default=0)
    if side + len(SEPARATOR) > available // 2:
        return "\n".join(fold_sentence(f"{head}: {text}", available) for head, text in pairs)
    lines = []
    for head, text in pairs:
        first, *others = fold_text(text, available - side - len(SEPARATOR))
        lines.append(f"{_padded(head, side, False)}{SEPARATOR}{first}".rstrip())
        lines.extend(" " * side + SEPARATOR + other for other in others)
    return "\n".join(lines)


def html_table(table: TableBlock) -> str:
    """Format a table, with its caption above and its legend below."""
    sides = ["right" if column.numeric else "left" for column in table.columns]

    def line(tag: str, texts: Iterable[str]) -> str:
        cells = (
            f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
            for side, text in zip(sides, texts, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head = line("th", (column.name for column in table.columns))
    rows = "".join(
        line("td", (" ".join(filter(None, (f.text, f.quiet, f.tag))) for f in row))
        for row in table.rows
    )
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    legend = f"<p>{escape(table.legend)}</p>" if table.legend else ""
    return f"<table>{caption}<thead>{head}</thead><tbody>{rows}</tbody></table>{legend}"
