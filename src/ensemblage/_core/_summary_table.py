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
"""Between columns."""
MAX_LINES = 4
"""A field that would fold into more lines is better read in a block of its own."""
MINUS = "\N{MINUS SIGN}"
"""As wide as a plus, unlike a hyphen."""
# A mark without a letter or digit, such as a star, stays beside the word before it.
BLANKS = re.compile(r"[ \t\r\n]+(?=\S*\w)")


@set_module("ensemblage._core")
@dataclass(frozen=True)
class Heading:
    """The heading of a column."""

    name: str
    numeric: bool = False  # aligned to the right and sorted as numbers
    greater_is_better: bool | None = None  # which number is the best; None for no mark
    wide: bool = False  # holds sentences, which need room
    ours: bool = False  # a method of this library, which has a mark and a colour everywhere


@set_module("ensemblage._core")
@dataclass(frozen=True)
class Field:
    """A field of a table."""

    text: str
    value: float | None = None  # what a numeric column is sorted by; None stands last
    quiet: str = ""  # shown after the text in a quieter tone, such as a standard error
    best: bool = False
    tag: str = ""  # a word in a small box after the text
    ours: bool = False  # a method of this library, which has a mark and a colour everywhere


@set_module("ensemblage._core")
@dataclass(frozen=True)
class TableBlock:
    """A table that can be sorted; the first column names the rows."""

    columns: Sequence[Heading]
    rows: Sequence[Sequence[Field]]
    caption: str
    legend: str = ""
    folded: bool = False  # closed on a page until the reader opens it


NOTHING = Field("\N{EN DASH}")
"""Where there is no number."""


def number_field(value: float | None, digits: int, error: float | None = None) -> Field:
    """Write a number, with its standard error in a quieter tone; a dash where there is none."""
    if value is None:
        return NOTHING
    quiet = "" if error is None else f"± {error:.{digits}f}"
    # plus zero: a rounded zero has no minus
    text = f"{round(value, digits) + 0.0:.{digits}f}"
    return Field(text.replace("-", MINUS), value, quiet)


def signed_field(value: float | None, digits: int) -> Field:
    """Write a difference, with its sign."""
    if value is None:
        return NOTHING
    return Field(f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", MINUS), value)


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


def _broken(word: str, width: int, start: str, indent: str) -> list[str]:
    """Break a word that is longer than a line; a shorter one stays whole."""
    parts = [start]
    for each in word:
        if parts[-1].strip() and display_width(parts[-1] + each) > width:
            parts.append(indent)
        parts[-1] += each
    return parts


def fold_sentence(text: str, width: int | None) -> str:
    """Fold a line; what follows stands under its first word."""
    body = text.lstrip(" ")
    start = " " * (len(text) - len(body))
    return "\n".join(fold_text(body, width, start, start + "  " * body.startswith("- ")))


def text_table(table: TableBlock, width: int | None = None) -> str:
    """Write a table in so many places at most; without a width, as wide as it is.

    Too wide a table is folded at the blanks of its texts. Where that does not do, its numbers
    follow in groups of columns, and other tables in a block per row.
    """
    numeric = [column.numeric for column in table.columns]
    # each column as its heading and its fields
    columns = [[column.name] for column in table.columns]
    for row in table.rows:
        for column, field in zip(columns, row, strict=True):
            parts = (field.text, field.quiet, field.tag and f"({field.tag})")
            column.append(" ".join(" ".join(parts).split()))
    natural = [max(map(display_width, column)) for column in columns]
    widths = natural if width is None else _narrowed(columns, numeric, natural, width)
    if widths is not None:
        return _ruled(columns, numeric, widths)
    room = width or 0
    groups = _groups(natural, room) if all(numeric[1:]) else []
    if groups:
        tables = [
            ([columns[j] for j in group], [numeric[j] for j in group], [natural[j] for j in group])
            for group in groups
        ]
        return "\n\n".join(_ruled(*each) for each in tables)
    heads, *rows = zip(*columns, strict=True)
    return "\n\n".join(_block(heads, row, room) for row in rows)


def _narrowed(
    columns: list[list[str]], numeric: list[bool], natural: list[int], room: int
) -> list[int] | None:
    """Places for each column, the widest made narrower first; None if it cannot be."""
    least = []  # places below which a word would break, or a number fold
    for (head, *fields), is_numeric in zip(columns, numeric, strict=True):
        words = fields if is_numeric else [word for text in fields for word in BLANKS.split(text)]
        least.append(max(map(display_width, [*BLANKS.split(head), *words])))
    widths = list(natural)
    room -= len(SEPARATOR) * (len(widths) - 1)
    while sum(widths) > room:
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


def _groups(widths: list[int], room: int) -> list[list[int]]:
    """Columns that fit beside the first, group by group; none if one alone does not fit."""
    first, *others = (width + len(SEPARATOR) for width in widths)
    groups: list[list[int]] = []
    left = 0
    for j, width in enumerate(others, start=1):
        if first + width - len(SEPARATOR) > room:
            return []
        if not groups or left < width:
            groups.append([0])
            left = room - first + len(SEPARATOR)
        groups[-1].append(j)
        left -= width
    return groups


def _block(heads: Sequence[str], row: Sequence[str], room: int) -> str:
    """Write one row, a line per column that has something."""
    pairs = [(head, text) for head, text in zip(heads, row, strict=True) if text]
    side = max((display_width(head) for head, _ in pairs), default=0)
    if side + len(SEPARATOR) > room // 2:
        return "\n".join(fold_sentence(f"{head}: {text}", room) for head, text in pairs)
    lines = []
    for head, text in pairs:
        first, *others = fold_text(text, room - side - len(SEPARATOR))
        lines.append(f"{_padded(head, side, False)}{SEPARATOR}{first}".rstrip())
        lines.extend(" " * side + SEPARATOR + other for other in others)
    return "\n".join(lines)


def html_table(table: TableBlock) -> str:
    """Write a table, its caption above it and its legend below."""
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
