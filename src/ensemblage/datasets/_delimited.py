"""CSV and its relatives: which character stands between values, the whole file decides."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ensemblage.datasets._encoding import Decoded
from ensemblage.datasets._header_row import is_number_like
from ensemblage.datasets._reading_options import Request
from ensemblage.datasets._row_layout import Lines
from ensemblage.datasets._row_table import Written, table_from_lines
from ensemblage.datasets._table import Table

BLANKS = " "
# Of separators that fit equally well, the first: a comma also occurs in numbers and in words.
SEPARATORS = ("\t", ";", "|", ",")
# Below this a separator does not explain a file, and blanks may.
GOOD = 0.8
NEARLY_ALL = 0.99
LONG = 200_000
# Spreadsheets may say on the first line which separator follows.
SAID = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
QUOTED_OR_WORD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)')


class Split(NamedTuple):
    """The rows of a text split by a separator, and how well it explains them."""

    separator: str
    lines: Lines
    fit: float = 1.0


def parse_delimited(source: Decoded, request: Request, *, tabs: bool = False) -> Table:
    """Read delimited text; ``tabs`` if the name of the file promises them."""
    if not source.text.strip():
        raise ValueError(f"{request.name} is empty: a header line and at least one row are needed.")
    text, separator = said_separator(source.text, request.reading.separator, tabs=tabs)
    split = split_text(text, request.name, separator)
    return table_from_lines(split.lines, request, Written(split.separator, source.encoding))


def said_separator(text: str, given: str | None, *, tabs: bool) -> tuple[str, str | None]:
    """Give the text below a first line that names the separator, and the one that is known."""
    said = SAID.match(text)
    if said:
        text, given = text[said.end() :], given or said[1]
    return text, "\t" if given is None and tabs and "\t" in text else given


def split_text(text: str, name: str, separator: str | None = None) -> Split:
    """Split a text into rows, by the separator that gives most rows the header's length."""
    if separator is not None:
        return _split(text, name, separator)
    enough = text.count("\n") / 2
    likely = [each for each in SEPARATORS if text.count(each) > enough]
    best = _best(text, name, _first_choice(text, name, likely))
    if best is None or best.fit < NEARLY_ALL:
        best = _best(text, name, likely)
    if best is None:
        best = _split(text, name, ",")
    elif best.fit >= GOOD and not _has_numbers_inside(best):
        return best
    blanks = _split(text, name, BLANKS)
    return blanks if blanks.fit > min(best.fit, GOOD) else best


def _first_choice(text: str, name: str, likely: Sequence[str]) -> Sequence[str]:
    """Let the first lines of a long text choose; all of its lines have to agree."""
    end = text.rfind("\n", 0, LONG)
    if len(text) <= LONG or len(likely) < 2 or end < 0:
        return likely
    best = _best(text[: end + 1], name, likely)
    return likely if best is None else [best.separator]


def _best(text: str, name: str, separators: Sequence[str]) -> Split | None:
    splits = [split for each in separators if (split := _attempt(text, name, each)) is not None]
    return max(splits, key=lambda split: split.fit, default=None)


def _attempt(text: str, name: str, separator: str) -> Split | None:
    try:
        return _split(text, name, separator)
    except ValueError:
        return None


def _split(text: str, name: str, separator: str) -> Split:
    blanks = separator == BLANKS
    lines = _by_blanks(text) if blanks else _by_character(text, name, separator)
    return Split(separator, lines, _fit(lines, separator))


def _fit(lines: Lines, separator: str) -> float:
    """Give the share of rows of the usual length, half of it if the first long one differs."""
    lengths = [len(row) for row in lines.rows]
    if max(lengths, default=1) == 1:
        return 0.0
    usual, times = Counter(lengths).most_common(1)[0]
    header = next(length for length in lengths if length > 1)
    # words apart by blanks are a sentence more often than a table
    if usual == 1 or (separator == BLANKS and not _has_numbers(lines)):
        return 0.0
    return times / len(lengths) / (1 if abs(header - usual) <= 1 else 2)


def _has_numbers_inside(split: Split) -> bool:
    """Whether a value between tabs is a row of numbers apart by blanks."""
    parts = [text.split() for text in split.lines.rows[-1]] if split.separator == "\t" else []
    return any(len(each) > 1 and all(map(is_number_like, each)) for each in parts)


def _has_numbers(lines: Lines) -> bool:
    return any(is_number_like(text) for text in lines.rows[min(1, len(lines.rows) - 1)])


def _by_blanks(text: str) -> Lines:
    return _gathered(rows_by_blanks(io.StringIO(text)))


def rows_by_blanks(lines: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    """Split lines at runs of blanks; give rows that are not empty, with their lines' numbers."""
    for number, line in enumerate(lines, start=1):
        if '"' in line:
            row = [a.replace('""', '"') or b for a, b in QUOTED_OR_WORD.findall(line)]
        else:
            row = line.split()
        if row:
            yield row, number


def _gathered(pairs: Iterable[tuple[list[str], int]]) -> Lines:
    rows, numbers = [], []
    for row, number in pairs:
        rows.append(row)
        numbers.append(number)
    return Lines(rows, numbers)


def _by_character(text: str, name: str, separator: str) -> Lines:
    how = usual_quotes(text, separator)
    try:
        return _csv_rows(text, name, how)
    except ValueError as error:
        # one that is never closed stays an error; others may be escaped, or inches
        if "expected after" not in str(error):
            raise
        for other in ({"escapechar": "\\"}, {"quoting": csv.QUOTE_NONE}):
            lines = _consistent(text, name, how | other)
            if lines is not None:
                return lines
        raise


def _quote(text: str, separator: str) -> str:
    """Tell whether values stand between apostrophes, as Weka writes them."""
    opened = text.count(f"{separator}'") + text.count("\n'")
    closed = text.count(f"'{separator}") + text.count("'\n")
    return "'" if opened == closed > text.count("\n") / 4 and '"' not in text else '"'


def _consistent(text: str, name: str, how: dict[str, Any]) -> Lines | None:
    """Split another way, if that gives rows of one length."""
    try:
        lines = _csv_rows(text, name, how)
    except ValueError:
        return None
    if len(set(map(len, lines.rows))) > 1:
        return None
    return lines._replace(rows=[[_without_quotes(text) for text in row] for row in lines.rows])


def _without_quotes(text: str) -> str:
    quoted = len(text) > 1 and text.startswith('"') and text.endswith('"')
    return text[1:-1] if quoted else text


def _csv_rows(text: str, name: str, how: dict[str, Any]) -> Lines:
    return _gathered(rows_by_character(io.StringIO(text, newline=""), name, how))


def rows_by_character(
    lines: Iterable[str], name: str, how: dict[str, Any]
) -> Iterator[tuple[list[str], int]]:
    """Split lines into rows; give those that are not blank, with the lines that they end on."""
    reader = csv.reader(lines, strict=True, skipinitialspace=True, **how)
    line = 0
    try:
        for row in reader:
            line = reader.line_num
            if any(row):
                yield row, line
    except csv.Error as error:
        raise ValueError(
            f"Line {line + 1} of {name} cannot be read ({error}): "
            "look for a quotation mark that is not closed."
        ) from None


def usual_quotes(text: str, separator: str) -> dict[str, Any]:
    """Say how text between quotation marks is split: by which separator, with which marks."""
    return {"delimiter": separator, "quotechar": _quote(text, separator)}
