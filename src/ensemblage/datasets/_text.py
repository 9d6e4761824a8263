"""Delimited text: encodings and delimiters."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ensemblage._core import listed
from ensemblage.datasets._layout import Layout, Lines, is_number_like, lay_out
from ensemblage.datasets._options import Request
from ensemblage.datasets._table import Table
from ensemblage.datasets._value_types import Columns, NumberFormat, type_columns

GZIP = b"\x1f\x8b"
# Text shrinks to a fifth or a twentieth; beyond this a small file is made to fill the memory.
LARGEST_RATIO = 100
ALWAYS_FINE = 64 * 2**20

UTF_8 = "UTF-8"
MARKS = (
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
MOSTLY = 0.99
# Printable text has only these below the blank: tab, line ends, form feed, and the old end of file.
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1a\x1b"))


class Decoded(NamedTuple):
    """The text of a file, a line feed after each line, and what its encoding is called."""

    text: str
    encoding: str


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


def decode(data: bytes, name: str, encoding: str | None = None) -> Decoded:
    """Decode text by its byte-order mark, else as UTF-8, else as what Western systems wrote."""
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
    lines = (
        text.removeprefix("\ufeff").removesuffix("\x1a").replace("\r\n", "\n").replace("\r", "\n")
    )
    return Decoded(lines, ENCODING_NAMES.get(chosen.lower(), chosen))


def detect_piecewise(pieces: Iterable[bytes]) -> str | None:
    """Tell the encoding of bytes too many to hold at once; None if that takes all of them."""
    reader: codecs.IncrementalDecoder
    reader, is_utf_8 = codecs.getincrementaldecoder("utf-8")(), True
    size = printable = high = 0
    for piece in pieces:
        marked = next((name for mark, name in MARKS if piece.startswith(mark)), None)
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
    if printable < MOSTLY * size:
        return None
    return "cp1252" if high else "latin-1"


def _detect(data: bytes, name: str) -> str:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return encoding
    if b"\x00" in data:
        return _without_mark(data, name)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return _western(data, name)
    return "utf-8"


def _without_mark(data: bytes, name: str) -> str:
    """Tell the byte order of UTF-16 by the side on which its zeros are."""
    start = data[:4096]
    high, low = start[::2].count(0), start[1::2].count(0)
    encoding = "utf-16-le" if low > high else "utf-16-be"
    controls = set(CONTROLS.decode("ascii"))
    few = max(high, low) < len(start) / 5
    if few or len(data) % 2 or not controls.isdisjoint(start.decode(encoding, errors="replace")):
        raise _not_text(name)
    return encoding


def _western(data: bytes, name: str) -> str:
    """Choose Latin-1, or Windows-1252 where bytes that Latin-1 has no letters for occur."""
    if len(data.translate(None, CONTROLS)) < MOSTLY * len(data):
        raise _not_text(name)
    if not any(byte in data for byte in HIGH):
        return "latin-1"
    return "cp1252"


def _not_text(name: str) -> ValueError:
    return ValueError(
        f"{name} is not text: give a CSV, TSV, ARFF, Parquet or spreadsheet file under its own "
        "suffix."
    )


DELIMITER_NAMES = {"\t": "tabs", " ": "blanks"}


class Dialect(NamedTuple):
    """How a text file was written: what is between values, and its encoding."""

    separator: str = ","
    encoding: str = UTF_8


PLAINLY = Dialect()


def table_from_lines(lines: Lines, request: Request, written: Dialect = PLAINLY) -> Table:
    """Find header, columns and their kinds, and say what was taken where it is not the usual."""
    layout = lay_out(lines, request)
    typed = type_columns(layout.texts, request, written.separator)
    notes = row_notes(written, layout, typed)
    return Table(tuple(layout.texts), typed.columns, notes=notes, written=typed.written)


def row_notes(written: Dialect, layout: Layout, typed: Columns) -> tuple[str, ...]:
    """Say what was taken where it is not the usual."""
    taken = _taken(written, typed.marks)
    return (*([f"Read with {listed(taken)}."] if taken else []), *layout.notes, *typed.notes)


def _taken(written: Dialect, marks: NumberFormat) -> list[str]:
    """Say what was taken for separator, marks and encoding, except for the plain ones."""
    between = DELIMITER_NAMES.get(written.separator, repr(written.separator))
    said = {
        f"{between} between values": written.separator != ",",
        f"{marks.decimal!r} as decimal mark": marks.decimal != ".",
        f"{marks.thousands!r} between thousands": bool(marks.thousands),
        f"{written.encoding} as encoding": written.encoding != UTF_8,
    }
    return [text for text, unusual in said.items() if unusual]


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
    return table_from_lines(split.lines, request, Dialect(split.separator, source.encoding))


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
