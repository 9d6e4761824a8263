"""Delimited text: encoding, separator, header and layout of the table."""

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

# Largest compression ratio of a text file; data have ratios of 5 to 20.
LARGEST_RATIO = 100

# Decompressed bytes that are allowed for any file.
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

# Bytes that are printable in Windows-1252 but not in Latin-1.
WINDOWS_1252_BYTES = bytes(range(0x80, 0xA0))

# Smallest fraction of printable bytes in a text.
PRINTABLE_SHARE = 0.99

# Control characters, except tab, line ends, form feed and end of file.
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1a\x1b"))

# As separator: any run of whitespace.
WHITESPACE = " "

SEPARATOR_NAMES = {"\t": "tab", WHITESPACE: "whitespace"}

# In order of preference: a comma also occurs in numbers and in text.
SEPARATORS = ("\t", ";", "|", ",")

# Fraction of rows of the usual length below which whitespace is tried as separator.
GOOD_FIT = 0.8

# Fraction from which the first lines may decide the separator of the whole file.
SURE_FIT = 0.99

# Characters from which the first lines decide the separator.
LONG_TEXT = 200_000

# Excel's first line that declares the separator, such as sep=;
SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)

QUOTED_OR_BARE = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)')


Row = list[str]
# Non-empty rows of a file, each with the number of its last line.
Lines = list[tuple[Row, int]]
NUMBER_LIKE = re.compile(
    r"[$€£]?\s?[+-]?(?:\d[\d.,'\u2019\u00a0\u202f ]*|[.,]\d+)(?:[eE][+-]?\d+)?\s?[%€]?"
)
# Fraction of numbers from which a column counts as numeric when looking for a header.
NUMERIC_SHARE = 0.9
YEARS = range(1900, 2101)
COMMENTS = ("#", "%")
UNNAMED = re.compile(r"column_\d+")
UNIT = re.compile(r"[(\[].*[)\]]")
# Rows compared to detect a header or units.
N_ROWS_COMPARED = 1000
# Columns of a text file at most: each takes about 2 kB of memory, however few its rows are.
MAX_COLUMNS = 250_000
# First lines in which columns are counted: comments, titles, header, rows.
N_COUNTED_LINES = 10
# First rows in which a comment mark may be a value of its own.
N_COMMENT_ROWS = 100


def decompress(data: bytes, name: str) -> bytes:
    """Decompress gzip data; other data are returned unchanged."""
    if not data.startswith(GZIP):
        return data
    limit = max(ALWAYS_FINE, LARGEST_RATIO * len(data))
    try:
        with gzip.open(io.BytesIO(data)) as compressed:
            decompressed = compressed.read(limit + 1)
    except (OSError, EOFError, zlib.error):
        raise ValueError(f"{name} is truncated or damaged: copy it again.") from None
    if len(decompressed) > limit:
        raise ValueError(
            f"{name} unpacks to more than {LARGEST_RATIO} times its size, which is too large for "
            "data: unpack it yourself if you trust it."
        )
    return decompressed


def decode(data: bytes, name: str, encoding: str | None = None) -> tuple[str, str]:
    """Decode text by its byte-order mark, else as UTF-8, else as Windows-1252 or Latin-1.

    Returns the text, with line feeds as line endings, and the name of the encoding.
    """
    chosen = encoding or _detect(data, name)
    try:
        text = data.decode(chosen)
    except (UnicodeDecodeError, UnicodeError) as error:
        start = getattr(error, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        raise ValueError(
            f"Line {line} of {name} is not {ENCODING_NAMES.get(chosen, chosen)} text (byte "
            f"0x{data[start]:02x}): set `encoding`, or save the file as UTF-8."
        ) from None
    text = text.removeprefix("\ufeff").removesuffix("\x1a")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, ENCODING_NAMES.get(chosen.lower(), chosen)


def detect_piecewise(chunks: Iterable[bytes]) -> str | None:
    """Detect the encoding chunk by chunk; None if the whole text is needed."""
    reader: codecs.IncrementalDecoder
    reader, is_utf_8 = codecs.getincrementaldecoder("utf-8")(), True
    size = printable = high = 0
    for chunk in chunks:
        marked = next((name for mark, name in BYTE_ORDER_MARKS if chunk.startswith(mark)), None)
        if size == 0 and marked is not None:
            return marked
        if b"\x00" in chunk:
            return None
        try:
            reader.decode(chunk)
        except UnicodeDecodeError:
            reader, is_utf_8 = codecs.getincrementaldecoder("latin-1")(), False
        size += len(chunk)
        printable += len(chunk.translate(None, CONTROLS))
        high += len(chunk) - len(chunk.translate(None, WINDOWS_1252_BYTES))
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
    """Detect the byte order by the position of zero bytes."""
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
        f"{name} is not a text file: expected a CSV, TSV, ARFF, Parquet or spreadsheet file with "
        "the suffix of its format."
    )


def parse_delimited(text: str, encoding: str, request: Request, *, tabs: bool = False) -> Table:
    """Parse delimited text; ``tabs`` if the suffix implies tabs."""
    if not text.strip():
        raise ValueError(f"{request.name} is empty: expected a header and at least one row.")
    check_width(text.split("\n", N_COUNTED_LINES)[:N_COUNTED_LINES], request.name)
    text, separator = declared_separator(text, request.options.separator, tabs=tabs)
    split = split_text(text, request.name, separator)
    return table_from_lines(split.lines, request, split.separator, encoding)


def check_width(lines: Iterable[str], name: str) -> None:
    """Refuse a table of too many columns by its first lines, whatever the separator is."""
    long = [line for line in lines if len(line) > MAX_COLUMNS]
    for separator in (*SEPARATORS, None):
        widths = Counter(len(line.split(separator)) for line in long)
        # a single long line may be a text
        width = max((width for width, times in widths.items() if times > 1), default=0)
        if width > MAX_COLUMNS:
            raise ValueError(
                f"{name} has {width:,} columns, and a text file may have {MAX_COLUMNS:,}: keep "
                "those that you need, or read the file yourself and pass an array in Python."
            )


def table_from_lines(
    lines: Lines, request: Request, separator: str = ",", encoding: str = UTF_8
) -> Table:
    """Infer header, columns and their kinds, with notes on what is not the default."""
    layout = find_layout(lines, request)
    typed = type_columns(layout.texts, request, separator)
    notes = (*format_notes(separator, encoding, typed.format), *layout.notes, *typed.notes)
    return Table(tuple(layout.texts), typed.columns, notes=notes, written=typed.written)


def format_notes(separator: str, encoding: str, number_format: NumberFormat) -> list[str]:
    """Report separator, decimal mark, thousands separator and encoding if not the default."""
    decimal, thousands = number_format
    options = {
        f"separator {SEPARATOR_NAMES.get(separator, repr(separator))}": separator != ",",
        f"decimal mark {decimal!r}": decimal != ".",
        f"thousands separator {thousands!r}": bool(thousands),
        f"encoding {encoding}": encoding != UTF_8,
    }
    unusual = [text for text, is_unusual in options.items() if is_unusual]
    return [f"Read with {listed(unusual)}."] if unusual else []


def declared_separator(text: str, given: str | None, *, tabs: bool) -> tuple[str, str | None]:
    """Return the text without a first line that declares the separator, and the separator."""
    line = SEPARATOR_LINE.match(text)
    if line:
        text, given = text[line.end() :], given or line[1]
    return text, "\t" if given is None and tabs and "\t" in text else given


class Split(NamedTuple):
    """Rows of a text split by a separator, and the fraction of rows of the usual length."""

    separator: str
    lines: Lines
    fit: float = 1.0


def split_text(text: str, name: str, separator: str | None = None) -> Split:
    """Split a text by the separator that gives the most rows the length of the header."""
    if separator is not None:
        return _split(text, name, separator)
    enough = text.count("\n") / 2
    likely = [each for each in SEPARATORS if text.count(each) > enough]
    # for a long text, the first lines choose a separator that all lines have to fit
    end = text.rfind("\n", 0, LONG_TEXT)
    best = None
    if len(text) > LONG_TEXT and len(likely) > 1 and end >= 0:
        first = _best_split(text[: end + 1], name, likely)
        best = None if first is None else _best_split(text, name, [first.separator])
    if best is None or best.fit < SURE_FIT:
        best = _best_split(text, name, likely)
    if best is None:
        best = _split(text, name, ",")
    elif best.fit >= GOOD_FIT and not _has_nested_numbers(best):
        return best
    by_whitespace = _split(text, name, WHITESPACE)
    return by_whitespace if by_whitespace.fit > min(best.fit, GOOD_FIT) else best


def _best_split(text: str, name: str, separators: Sequence[str]) -> Split | None:
    splits = []
    for separator in separators:
        with suppress(ValueError):
            splits.append(_split(text, name, separator))
    return max(splits, key=lambda split: split.fit, default=None)


def _split(text: str, name: str, separator: str) -> Split:
    if separator == WHITESPACE:
        lines = [*rows_by_whitespace(io.StringIO(text))]
    else:
        lines = _split_by_character(text, name, separator)
    return Split(separator, lines, _fit([row for row, _ in lines], separator))


def _fit(rows: Sequence[Row], separator: str) -> float:
    """Fraction of rows of the usual length, halved if the header has another length."""
    lengths = [len(row) for row in rows]
    if max(lengths, default=1) == 1:
        return 0.0
    usual, times = Counter(lengths).most_common(1)[0]
    header = next(length for length in lengths if length > 1)
    # text separated by spaces is usually a sentence, not a table
    if usual == 1 or (separator == WHITESPACE and not any(map(is_number_like, rows[:2][-1]))):
        return 0.0
    return times / len(lengths) / (1 if abs(header - usual) <= 1 else 2)


def _has_nested_numbers(split: Split) -> bool:
    """Whether a tab-separated value is a sequence of numbers separated by spaces."""
    parts = [text.split() for text in split.lines[-1][0]] if split.separator == "\t" else []
    return any(len(each) > 1 and all(map(is_number_like, each)) for each in parts)


def rows_by_whitespace(lines: Iterable[str]) -> Iterator[tuple[Row, int]]:
    """Split lines at whitespace; yield non-empty rows with their line numbers."""
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
    """Split lines into rows; yield non-empty rows with the number of their last line."""
    reader = csv.reader(lines, strict=True, skipinitialspace=True, **how)
    line = 0
    try:
        for row in reader:
            line = reader.line_num
            if any(row):
                yield row, line
    except csv.Error as error:
        raise ValueError(
            f"Line {line + 1} of {name} cannot be parsed ({error}): "
            "look for an unclosed quotation mark."
        ) from None


def _split_by_character(text: str, name: str, separator: str) -> Lines:
    how = csv_options(text, separator)
    try:
        return [*rows_by_character(io.StringIO(text, newline=""), name, how)]
    except ValueError as error:
        # an unclosed quotation mark is an error; others may be escaped, or inches
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
    """Options of ``csv.reader``; the quote character may be an apostrophe, as Weka writes it."""
    opened = text.count(f"{separator}'") + text.count("\n'")
    closed = text.count(f"'{separator}") + text.count("'\n")
    weka = opened == closed > text.count("\n") / 4 and '"' not in text
    return {"delimiter": separator, "quotechar": "'" if weka else '"'}


def is_number_like(text: str) -> bool:
    """Whether stripped text is a number in the format of any locale."""
    return NUMBER_LIKE.fullmatch(text) is not None


def looks_like_data(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has values like those below it, so that it is not a header.

    A number matches if its column has numbers of similar size, a text if it recurs in its column.
    """
    cells = [text for text in first if text not in MISSING_TOKENS]
    numeric = [text for text in cells if is_number_like(text)]
    if not columns:
        return len(numeric) == len(cells) > 0
    if not cells or _is_sequence(numeric):
        return False
    pairs = [pair for pair in zip(first, columns, strict=True) if pair[0] not in MISSING_TOKENS]
    matches = [_matches_size(text, column) for text, column in pairs if is_number_like(text)]
    recurs = [
        any(text == value.strip() for value in column)
        for text, column in pairs
        if not is_number_like(text)
    ]
    if not matches:
        return len(recurs) > 1 and all(recurs)
    mismatches = matches.count(False) + recurs.count(False)
    return mismatches <= matches.count(True) // 2


def _is_sequence(numeric: Sequence[str]) -> bool:
    """Whether the numbers of a row increase evenly or are years: such a row is a header."""
    values = [parse_number(text) for text in numeric]
    steps = {round(b - a, 9) for a, b in pairwise(values)}
    years = all(value in YEARS for value in values)
    return len(values) > 2 and all(step > 0 for step in steps) and (years or len(steps) == 1)


def _matches_size(text: str, column: Sequence[str]) -> bool:
    """Whether a number is of similar size to those in its column."""
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
    if value != value:  # noqa: PLR0124  NaN
        digits = re.sub(r"\D", "", text)
        return float(digits[:15] or 0)
    return value


class Layout(NamedTuple):
    """Named columns of texts, with notes on how they were found.

    ``positions`` are the indices of the columns in a row. Most rows have ``usual`` values; a row
    must have ``width``, which is named ``standard`` in errors.
    """

    texts: dict[str, Sequence[str]]
    notes: tuple[str, ...]
    positions: tuple[int, ...]
    usual: int
    width: int
    standard: str

    def without_comments(self, lines: Lines) -> Lines:
        return [each for each in lines if not _is_comment(each[0], self.usual)]

    def is_footer(self, row: Row) -> bool:
        """Whether a row, if the last, is a footer."""
        return _is_title_or_footer(row, self.usual, below=True)


def find_layout(lines: Lines, request: Request, *, more: bool = False) -> Layout:
    """Find header and columns; ``more`` if other rows follow."""
    name, header = request.name, request.options.header
    usual = _width(row for row, _ in lines)
    lines, notes = _skip_surroundings(lines, name, more=more)
    rows = [row for row, _ in lines]
    # column names have no line breaks
    first = [re.sub(r"\s*[\r\n]+\s*", " ", text.strip()) for text in rows[0]]
    if header is None:
        header = _has_header(first, rows, request.kinds)
    if header:
        rows, lines = rows[1:], lines[1:]
        names = _match_width(first, rows, notes)
    else:
        names = [""] * _width(rows)
        last = "" if len(names) == 1 else f" to column_{len(names)}"
        notes.append(f"No header found; the columns are named column_1{last}.")
    if not rows:
        raise ValueError(f"{name} has a header but no rows.")
    standard = "the header has" if header else "most have"
    trim_rows(lines, len(names), name, standard)
    columns: list[Sequence[str]] = list(zip(*rows, strict=True))
    if header and _is_units(columns):
        units = [column[0].strip() for column in columns if column[0].strip()]
        notes.append(
            f"Skipped the row below the header, which looks like units ({listing(units, 4)})."
        )
        columns = [column[1:] for column in columns]
    texts, positions = _named(names, columns, notes)
    return Layout(texts, tuple(notes), positions, usual, len(names), standard)


def trim_rows(lines: Lines, width: int, name: str, standard: str) -> None:
    """Remove empty values beyond the header, in place; other row lengths are an error."""
    for row, number in lines:
        if len(row) > width and not any(map(str.strip, row[width:])):
            del row[width:]
        if len(row) != width:
            raise ValueError(
                f"Line {number} of {name} has {count(len(row), 'value')}, but {standard} {width}: "
                "every row must have the same number."
            )


def footer_note(n_lines: int, row: Row) -> str:
    return f"Skipped {count(n_lines, 'line')} below the table, such as {row[0].strip()[:40]!r}."


def distinct_names(names: Sequence[str]) -> list[str]:
    """Make duplicate names unique: x, x_2, x_3."""
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
    """Most frequent number of values per row."""
    return next((width for width, _ in Counter(map(len, rows)).most_common(1)), 0)


def _skip_surroundings(lines: Lines, name: str, *, more: bool) -> tuple[Lines, list[str]]:
    """Skip comments, title lines above the table and footer lines below it."""
    if not lines:
        raise ValueError(f"{name} is empty: expected a header and at least one row.")
    width = _width(row for row, _ in lines)
    top = [(_join_comment_mark(row, width), number) for row, number in lines[:N_COMMENT_ROWS]]
    lines = top + lines[N_COMMENT_ROWS:]
    kept = [each for each in lines if not _is_comment(each[0], width)]
    start, stop = 0, len(kept)
    while stop - start > 2 and _is_title_or_footer(kept[start][0], width):
        start += 1
    while (
        not more and stop - start > 2 and _is_title_or_footer(kept[stop - 1][0], width, below=True)
    ):
        stop -= 1
    start += _leading_comments([row for row, _ in kept[start:stop]])
    notes = []
    if start:
        title = kept[0][0][0].strip()[:40]
        notes.append(f"Skipped {count(start, 'line')} above the table, such as {title!r}.")
    if stop < len(kept):
        notes.append(footer_note(len(kept) - stop, kept[stop][0]))
    return kept[start:stop] or lines[-1:], notes


def _join_comment_mark(row: Row, width: int) -> Row:
    """Join a comment mark that is a value of its own to the next value."""
    alone = len(row) == width + 1 and row[0] in COMMENTS
    return [f"{row[0]} {row[1]}", *row[2:]] if alone else row


def _is_comment(row: Row, width: int) -> bool:
    """Whether a row starts with a comment mark and has an unusual length."""
    return row[0].startswith(COMMENTS) and len(row) != width


def _leading_comments(rows: Sequence[Row]) -> int:
    """Count leading comment rows that have the usual length.

    The last of them is the header, without its comment mark, if the next row looks like data.
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


def _is_title_or_footer(row: Row, width: int, *, below: bool = False) -> bool:
    """Whether a row has text in its first column only, as titles and footers do."""
    text = row[0].strip()
    alone = bool(text) and not any(map(str.strip, row[1:])) and not is_number_like(text)
    shape = width > 2 or (width == 2 and len(row) == 1 and not below)
    return alone and shape and (not below or len(row) == 1 or " " in text)


def _has_header(first: Row, rows: Sequence[Row], known: Collection[str]) -> bool:
    """Look for known column names in the first row, else compare it with the other rows."""
    if any(name in first for name in known):
        return True
    if known and all(map(UNNAMED.fullmatch, known)):
        return False
    same = [row for row in islice(rows, 1, N_ROWS_COMPARED) if len(row) == len(first)]
    return not looks_like_data(first, list(zip(*same, strict=True)))


def _match_width(names: Row, rows: Sequence[Row], notes: list[str]) -> Row:
    """Fit the header to the rows: drop empty names at the end, or add one for row names."""
    width = _width(rows) if rows else len(names)
    while len(names) > width and not names[-1]:
        names = names[:-1]
    # R writes row names without a column name
    named = len(rows) > 1 and all(len(row) == len(names) + 1 for row in rows)
    if named and any(row[-1].strip() for row in rows):
        notes.append("Rows have one value more than the header; the first column is named 'row'.")
        return ["row", *names]
    return names


def _is_units(columns: Sequence[Sequence[str]]) -> bool:
    """Whether the first row contains the units of numeric columns."""
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
    """Name unnamed columns, make names unique, drop columns without name and values."""
    kept = [j for j, name in enumerate(names) if name or any(map(str.strip, columns[j]))]
    if len(kept) < len(names):
        empty = count(len(names) - len(kept), "column")
        notes.append(f"Dropped {empty} without name and values.")
    wanted = [names[j] or f"column_{j + 1}" for j in kept]
    unique = distinct_names(wanted)
    if unique != wanted:
        renamed = [f"{new!r}" for new, old in zip(unique, wanted, strict=True) if new != old]
        notes.append(f"Duplicate column names were renamed: {listing(renamed)}.")
    return {name: columns[j] for name, j in zip(unique, kept, strict=True)}, tuple(kept)


def is_arff(text: str) -> bool:
    """Whether the first line that is neither empty nor a comment is an ARFF declaration."""
    for line in io.StringIO(text):
        stripped = line.strip().lower()
        if stripped and not stripped.startswith("%"):
            return stripped.startswith(("@relation", "@attribute"))
    return False
