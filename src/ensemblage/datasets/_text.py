"""Delimited text: encodings, delimiters, and where the table begins."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from typing import Any, NamedTuple

from ensemblage._core import count, listed, listing
from ensemblage.datasets._options import Request
from ensemblage.datasets._table import MISSING_TOKENS, Table, parse_number
from ensemblage.datasets._value_types import NumberFormat, type_columns

GZIP = b"\x1f\x8b"

# Text shrinks to a fifth or a twentieth; beyond this a small file is made to fill the memory.
LARGEST_RATIO = 100

# Bytes that may be unpacked from a file of any size.
ALWAYS_FINE = 64 * 2**20

UTF_8 = "UTF-8"

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

ENCODING_NAMES = {
    "utf-8": UTF_8, "utf-8-sig": UTF_8, "utf-16": "UTF-16", "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16", "utf-32": "UTF-32", "cp1252": "Windows-1252", "latin-1": "Latin-1",
}  # fmt: skip

# What Latin-1 has no letters for, and Windows-1252 has.
HIGH = bytes(range(0x80, 0xA0))

# Share of a text's bytes that are printable.
PRINTABLE_SHARE = 0.99

# Printable text has only these below the blank: tab, line ends, form feed, and the old end of file.
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1a\x1b"))

BLANKS = " "

DELIMITER_NAMES = {"\t": "tabs", BLANKS: "blanks"}

# Of separators that fit equally well, the first: a comma also occurs in numbers and in prose.
SEPARATORS = ("\t", ";", "|", ",")

# Below this a separator does not explain a file, and blanks may.
GOOD_FIT = 0.8

# From this on the first lines may choose the separator of all.
SURE_FIT = 0.99

# Characters of a long text, of which the first lines choose the separator.
LONG = 200_000

# Spreadsheets may say on the first line which separator follows.
SAID_SEPARATOR = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)

QUOTED_OR_BARE = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)')


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


def unpack(data: bytes, name: str) -> bytes:
    """Unpack what gzip packed; other bytes stay as they are."""
    if not data.startswith(GZIP):
        return data
    limit = max(ALWAYS_FINE, LARGEST_RATIO * len(data))
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            unpacked = packed.read(limit + 1)
    except (OSError, EOFError, zlib.error):
        raise ValueError(f"{name} is truncated or damaged: copy it again.") from None
    if len(unpacked) > limit:
        raise ValueError(
            f"{name} unpacks to more than {LARGEST_RATIO} times its size, which data do not: "
            "unpack it yourself if you trust it."
        )
    return unpacked


def decode(data: bytes, name: str, encoding: str | None = None) -> tuple[str, str]:
    """Decode text by its byte-order mark, else as UTF-8, else as what Western systems wrote.

    Gives the text, a line feed after each line, and what its encoding is called.
    """
    chosen = encoding or _detect(data, name)
    try:
        text = data.decode(chosen)
    except (UnicodeDecodeError, UnicodeError) as error:
        start = getattr(error, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        raise ValueError(
            f"Line {line} of {name} is not {ENCODING_NAMES.get(chosen, chosen)} text (byte "
            f"0x{data[start]:02x}): name its `encoding`, or save the file as UTF-8."
        ) from None
    text = text.removeprefix("\ufeff").removesuffix("\x1a")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, ENCODING_NAMES.get(chosen.lower(), chosen)


def detect_piecewise(pieces: Iterable[bytes]) -> str | None:
    """Tell the encoding of bytes too many to hold at once; None if that takes all of them."""
    reader: codecs.IncrementalDecoder
    reader, is_utf_8 = codecs.getincrementaldecoder("utf-8")(), True
    size = printable = high = 0
    for piece in pieces:
        marked = next((name for mark, name in BYTE_ORDER_MARKS if piece.startswith(mark)), None)
        if size == 0 and marked is not None:
            return marked
        if b"\x00" in piece:
            return None
        try:
            reader.decode(piece)
        except UnicodeDecodeError:
            reader, is_utf_8 = codecs.getincrementaldecoder("latin-1")(), False
        size += len(piece)
        printable += len(piece.translate(None, CONTROLS))
        high += len(piece) - len(piece.translate(None, HIGH))
    if is_utf_8 and not reader.getstate()[0]:
        return "utf-8"
    if printable < PRINTABLE_SHARE * size:
        return None
    return "cp1252" if high else "latin-1"


def _detect(data: bytes, name: str) -> str:
    found = detect_piecewise([data])
    if found is None and b"\x00" in data:
        return _detect_utf_16(data, name)
    if found is None:
        raise _not_text(name)
    return found


def _detect_utf_16(data: bytes, name: str) -> str:
    """Tell the byte order by the side on which the zeros are."""
    start = data[:4096]
    high, low = start[::2].count(0), start[1::2].count(0)
    encoding = "utf-16-le" if low > high else "utf-16-be"
    controls = set(CONTROLS.decode("ascii"))
    few = max(high, low) < len(start) / 5
    if few or len(data) % 2 or not controls.isdisjoint(start.decode(encoding, errors="replace")):
        raise _not_text(name)
    return encoding


def _not_text(name: str) -> ValueError:
    return ValueError(
        f"{name} is not text: give a CSV, TSV, ARFF, Parquet or spreadsheet file under its own "
        "suffix."
    )


def parse_delimited(text: str, encoding: str, request: Request, *, tabs: bool = False) -> Table:
    """Read delimited text; ``tabs`` if the name of the file promises them."""
    if not text.strip():
        raise ValueError(f"{request.name} is empty: a header line and at least one row are needed.")
    text, separator = said_separator(text, request.options.separator, tabs=tabs)
    split = split_text(text, request.name, separator)
    return table_from_lines(split.lines, request, split.separator, encoding)


def table_from_lines(
    lines: Lines, request: Request, separator: str = ",", encoding: str = UTF_8
) -> Table:
    """Find header, columns and their kinds, and note what was found where it is not the usual."""
    layout = lay_out(lines, request)
    typed = type_columns(layout.texts, request, separator)
    notes = (*format_notes(separator, encoding, typed.format), *layout.notes, *typed.notes)
    return Table(tuple(layout.texts), typed.columns, notes=notes, written=typed.written)


def format_notes(separator: str, encoding: str, number_format: NumberFormat) -> list[str]:
    """Say what was taken for separator, marks and encoding, except for the plain ones."""
    decimal, thousands = number_format
    unusual = {
        f"{DELIMITER_NAMES.get(separator, repr(separator))} between values": separator != ",",
        f"{decimal!r} as decimal mark": decimal != ".",
        f"{thousands!r} between thousands": bool(thousands),
        f"{encoding} as encoding": encoding != UTF_8,
    }
    taken = [text for text, said in unusual.items() if said]
    return [f"Read with {listed(taken)}."] if taken else []


def said_separator(text: str, given: str | None, *, tabs: bool) -> tuple[str, str | None]:
    """Give the text below a first line that names the separator, and the one that is known."""
    said = SAID_SEPARATOR.match(text)
    if said:
        text, given = text[said.end() :], given or said[1]
    return text, "\t" if given is None and tabs and "\t" in text else given


class Split(NamedTuple):
    """The rows of a text split by a separator, and how well it explains them."""

    separator: str
    lines: Lines
    fit: float = 1.0


def split_text(text: str, name: str, separator: str | None = None) -> Split:
    """Split a text into rows, by the separator that gives most rows the header's length."""
    if separator is not None:
        return _split(text, name, separator)
    enough = text.count("\n") / 2
    likely = [each for each in SEPARATORS if text.count(each) > enough]
    # the first lines of a long text choose; all of its lines have to agree
    end = text.rfind("\n", 0, LONG)
    best = None
    if len(text) > LONG and len(likely) > 1 and end >= 0:
        first = _best_split(text[: end + 1], name, likely)
        best = None if first is None else _best_split(text, name, [first.separator])
    if best is None or best.fit < SURE_FIT:
        best = _best_split(text, name, likely)
    if best is None:
        best = _split(text, name, ",")
    elif best.fit >= GOOD_FIT and not _has_numbers_inside(best):
        return best
    blanks = _split(text, name, BLANKS)
    return blanks if blanks.fit > min(best.fit, GOOD_FIT) else best


def _best_split(text: str, name: str, separators: Sequence[str]) -> Split | None:
    splits = []
    for separator in separators:
        with suppress(ValueError):
            splits.append(_split(text, name, separator))
    return max(splits, key=lambda split: split.fit, default=None)


def _split(text: str, name: str, separator: str) -> Split:
    if separator == BLANKS:
        lines = [*rows_by_blanks(io.StringIO(text))]
    else:
        lines = _split_by_character(text, name, separator)
    return Split(separator, lines, _fit([row for row, _ in lines], separator))


def _fit(rows: Sequence[Row], separator: str) -> float:
    """Give the share of rows of the usual length, half of it if the first long one differs."""
    lengths = [len(row) for row in rows]
    if max(lengths, default=1) == 1:
        return 0.0
    usual, times = Counter(lengths).most_common(1)[0]
    header = next(length for length in lengths if length > 1)
    # texts apart by blanks are a sentence more often than a table
    if usual == 1 or (separator == BLANKS and not any(map(is_number_like, rows[:2][-1]))):
        return 0.0
    return times / len(lengths) / (1 if abs(header - usual) <= 1 else 2)


def _has_numbers_inside(split: Split) -> bool:
    """Whether a value between tabs is a row of numbers apart by blanks."""
    parts = [text.split() for text in split.lines[-1][0]] if split.separator == "\t" else []
    return any(len(each) > 1 and all(map(is_number_like, each)) for each in parts)


def rows_by_blanks(lines: Iterable[str]) -> Iterator[tuple[Row, int]]:
    """Split lines at runs of blanks; give rows that are not empty, with their lines' numbers."""
    for number, line in enumerate(lines, start=1):
        if '"' in line:
            row = [a.replace('""', '"') or b for a, b in QUOTED_OR_BARE.findall(line)]
        else:
            row = line.split()
        if row:
            yield row, number


def rows_by_character(
    lines: Iterable[str], name: str, how: dict[str, Any]
) -> Iterator[tuple[Row, int]]:
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


def _split_by_character(text: str, name: str, separator: str) -> Lines:
    how = csv_options(text, separator)
    try:
        return [*rows_by_character(io.StringIO(text, newline=""), name, how)]
    except ValueError as error:
        # one that is never closed stays an error; others may be escaped, or inches
        if "expected after" not in str(error):
            raise
        for other in ({"escapechar": "\\"}, {"quoting": csv.QUOTE_NONE}):
            with suppress(ValueError):
                lines = [*rows_by_character(io.StringIO(text, newline=""), name, how | other)]
                if len({len(row) for row, _ in lines}) <= 1:
                    return [([*map(_without_quotes, row)], number) for row, number in lines]
        raise


def _without_quotes(text: str) -> str:
    quoted = len(text) > 1 and text.startswith('"') and text.endswith('"')
    return text[1:-1] if quoted else text


def csv_options(text: str, separator: str) -> dict[str, Any]:
    """Give options of ``csv.reader``; values may stand between apostrophes, as Weka writes them."""
    opened = text.count(f"{separator}'") + text.count("\n'")
    closed = text.count(f"'{separator}") + text.count("'\n")
    weka = opened == closed > text.count("\n") / 4 and '"' not in text
    return {"delimiter": separator, "quotechar": "'" if weka else '"'}


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


def is_arff(text: str) -> bool:
    """Whether the first line that is neither blank nor a comment declares something."""
    for line in io.StringIO(text):
        stripped = line.strip().lower()
        if stripped and not stripped.startswith("%"):
            return stripped.startswith(("@relation", "@attribute"))
    return False
