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
from contextlib import suppress
from typing import Any, NamedTuple

from ensemblage._core import listed
from ensemblage.datasets._layout import Lines, Row, is_number_like, lay_out
from ensemblage.datasets._options import Request
from ensemblage.datasets._table import Table
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
