"""Files read in blocks of rows, and random samples of rows."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from ensemblage.datasets._file_names import check_file, is_parquet
from ensemblage.datasets._files import display_name, naming_file, read_table
from ensemblage.datasets._options import ReadOptions, Request, as_options
from ensemblage.datasets._parquet import parquet_batches, survey_parquet
from ensemblage.datasets._table import CATEGORICAL, MISSING_TOKENS, NUMERIC, Table
from ensemblage.datasets._text import (
    ALWAYS_FINE,
    ENCODING_NAMES,
    GZIP,
    LARGEST_RATIO,
    LONG_TEXT,
    N_COUNTED_LINES,
    SURE_FIT,
    WHITESPACE,
    Layout,
    Lines,
    Row,
    check_width,
    csv_options,
    declared_separator,
    detect_piecewise,
    find_layout,
    footer_note,
    format_notes,
    is_arff,
    rows_by_character,
    rows_by_whitespace,
    split_text,
    trim_rows,
)
from ensemblage.datasets._value_types import type_columns

Texts = Mapping[str, Sequence[str]]
Progress = Callable[[int, int], Any]

# The shape of a number: digits, leading zeros of a group, groups up to four digits long.
NUMBER_DIGITS = str.maketrans("12345678", "99999999")
# The shape of a date also keeps 0, 1 and 2, which decide whether a group can be a month.
DATE_DIGITS = str.maketrans("3456789", "9999999")
REST_OF_GROUP = re.compile(r"(?<=\d{4})\d+")
# Joins texts; a unit separator does not occur in data.
TEXT_SEPARATOR = "\x1f"
# A column with more shapes than this is categorical.
MAX_SHAPES = 20_000
# So is one whose distinct shapes have more characters than this.
MAX_CHARACTERS = 2_000_000
# Bytes read at a time.
CHUNK_BYTES = 2**20
# First lines, from which separator, header and units are inferred.
HEAD_LINES = 2000
# Lines that a quoted value may continue after the first lines.
MAX_QUOTED_LINES = 100
# Text files of at least this many bytes are read in blocks.
LARGE_FILE_BYTES = 8 * 2**20
# Most rows of a block.
MAX_BLOCK_ROWS = 65_536
# Fewest rows of a block, however wide the table is.
MIN_BLOCK_ROWS = 1024
# Most values of a block with more than the fewest rows.
MAX_BLOCK_VALUES = 2**21


class TextDigest:
    """One text per shape in a column, in order of first occurrence.

    The format of numbers and dates depends on shapes only, so it can be inferred from the digest
    instead of the whole column.
    """

    def __init__(self, kind: str | None) -> None:
        self._kind = kind
        self._found: dict[str, str] = {}
        self._characters = 0

    @property
    def texts(self) -> list[str]:
        return [*self._found.values()]

    def add(self, values: Sequence[str]) -> None:
        if self._kind == CATEGORICAL:
            if not self._found:
                self._keep((text, text) for text in values if text.strip() not in MISSING_TOKENS)
            return
        if len(self._found) < MAX_SHAPES and self._characters < MAX_CHARACTERS:
            distinct = [*dict.fromkeys(values)]
            # all texts at once, which is faster
            digits = NUMBER_DIGITS if self._kind == NUMERIC else DATE_DIGITS
            joined = TEXT_SEPARATOR.join(distinct).translate(digits)
            shapes = REST_OF_GROUP.sub("", joined).split(TEXT_SEPARATOR)
            self._keep(
                zip(shapes if len(shapes) == len(distinct) else distinct, distinct, strict=True)
            )

    def _keep(self, pairs: Iterable[tuple[str, str]]) -> None:
        for shape, text in pairs:
            if shape not in self._found:
                self._found[shape] = text
                self._characters += len(text)


class IrregularError(Exception):
    """The file is not regular enough to be read in blocks; it has to be read whole."""


class TextBlocks:
    """A text file in blocks, parsed as if it were read whole; a first pass infers the format.

    Raises IrregularError if the file has to be read whole. Progress is in megabytes.
    """

    def __init__(
        self,
        path: Path,
        request: Request,
        n_rows: int,
        *,
        tabs: bool,
        progress: Progress | None = None,
    ) -> None:
        self._path, self._request = path, request
        try:
            self._infer_format(tabs=tabs)
            self._survey(n_rows, progress)
        except (UnicodeError, OSError, EOFError, zlib.error) as error:
            raise IrregularError from error
        except ValueError as error:
            if "expected after" in str(error):  # quotation marks inside values
                raise IrregularError from error
            raise

    def tables(self, n_rows: int) -> Iterator[Table]:
        names = tuple(parser.name for parser in self.parsers)
        for texts in self._blocks(n_rows):
            yield Table(names, tuple(parser.read(texts[parser.name]) for parser in self.parsers))

    def _infer_format(self, *, tabs: bool) -> None:
        """Infer encoding, separator and quotation marks from the first lines."""
        options, name = self._request.options, self._request.name
        encoding = options.encoding or _detect_encoding(self._path)
        if encoding is None:
            raise IrregularError
        with _opened_text(self._path, encoding) as (lines, _):
            first = [*islice(lines, min(N_COUNTED_LINES, HEAD_LINES))]
            check_width(first, name)
            head = "".join(chain(first, islice(lines, HEAD_LINES - len(first))))
            while len(head) < LONG_TEXT and (line := next(lines, None)) is not None:
                head += line
            if is_arff(head) or not head.strip():
                raise IrregularError
            text, separator = declared_separator(head, options.separator, tabs=tabs)
            self._n_separator_lines = int(text != head)
            for line in chain(islice(lines, MAX_QUOTED_LINES), [None]):
                try:
                    split = split_text(text, name, separator)
                except ValueError:
                    split = None
                if line is None or split is not None:
                    break
                text += line
        if split is None or line is None or (separator is None and split.fit < SURE_FIT):
            raise IrregularError
        self._separator, self._encoding = split.separator, encoding
        self._csv_options = csv_options(text, split.separator)
        self._n_head = len(split.lines)

    def _survey(self, n_rows: int, progress: Progress | None) -> None:
        request, size = self._request, self._path.stat().st_size
        digests = dict[str, TextDigest]()
        self.n_rows = 0
        for texts in self._blocks(n_rows):
            digests = digests or {name: TextDigest(request.kinds.get(name)) for name in texts}
            for name, values in texts.items():
                digests[name].add(values)
            self.n_rows += len(next(iter(texts.values()), ()))
            if progress is not None:
                progress(self._position // CHUNK_BYTES, size // CHUNK_BYTES)
        if self._lengths.most_common(1)[0][0] != self._layout.usual:
            raise IrregularError
        digested = {name: each.texts for name, each in digests.items()}
        typed = type_columns(digested, request, self._separator)
        encoding = ENCODING_NAMES.get(self._encoding.lower(), self._encoding)
        notes = [*format_notes(self._separator, encoding, typed.format), *self._layout.notes]
        notes += typed.notes
        if self._footer:
            notes.append(footer_note(len(self._footer), self._footer[0][0]))
        self.parsers, self.notes = typed.parsers, tuple(notes)

    def _blocks(self, n_rows: int) -> Iterator[Texts]:
        """Yield named columns of texts, ``n_rows`` rows at a time.

        Records the row lengths, the footer lines and the position in the file.
        """
        self._lengths: Counter[int] = Counter()
        self._footer: Lines = []
        self._position = 0
        with _opened_text(self._path, self._encoding) as (lines, position):
            rows = self._rows(islice(lines, self._n_separator_lines, None))
            head = self._take(rows, self._n_head)
            self._layout = layout = find_layout(head, self._request, more=True)
            if layout.is_footer(head[-1][0]):
                raise IrregularError
            yield layout.texts
            pending: Lines = []
            while taken := self._take(rows, n_rows):
                taken = layout.without_comments(taken)
                last = len(taken)
                while last and layout.is_footer(taken[last - 1][0]):
                    last -= 1
                if not last:
                    pending += taken
                    continue
                block, pending = pending + taken[:last], taken[last:]
                trim_rows(block, layout.width, self._request.name, layout.standard)
                self._position = position()
                yield _named_columns(layout, block)
            self._footer = pending

    def _rows(self, lines: Iterable[str]) -> Iterator[tuple[Row, int]]:
        if self._separator == WHITESPACE:
            return rows_by_whitespace(lines)
        return rows_by_character(lines, self._request.name, self._csv_options)

    def _take(self, rows: Iterator[tuple[Row, int]], number: int) -> Lines:
        taken = [*islice(rows, number)]
        self._lengths.update(len(row) for row, _ in taken)
        return taken


def _named_columns(layout: Layout, lines: Lines) -> Texts:
    columns = list(zip(*(row for row, _ in lines), strict=True))
    empty = set(range(layout.width)) - set(layout.positions)
    if any(any(map(str.strip, columns[j])) for j in empty):
        raise IrregularError  # a column without a name has values
    return {name: columns[j] for name, j in zip(layout.texts, layout.positions, strict=True)}


def _detect_encoding(path: Path) -> str | None:
    limit = max(ALWAYS_FINE, LARGEST_RATIO * path.stat().st_size)

    def pieces(file: BinaryIO) -> Iterator[bytes]:
        left = limit
        while piece := file.read(CHUNK_BYTES):
            left -= len(piece)
            if left < 0:
                raise IrregularError
            yield piece

    with path.open("rb") as raw, _decompressed(raw) as file:
        return detect_piecewise(pieces(file))


@contextmanager
def _opened_text(path: Path, encoding: str) -> Iterator[tuple[Iterator[str], Callable[[], int]]]:
    """Open a file, compressed or not: its lines, and a function that gives the position."""
    with path.open("rb") as raw, _decompressed(raw) as file:
        # all line endings become line feeds
        text = io.TextIOWrapper(file, encoding=encoding, newline=None)
        yield _lines(text), raw.tell
        text.detach()


def _decompressed(raw: BinaryIO) -> BinaryIO:
    packed = raw.read(len(GZIP)) == GZIP
    raw.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw


def _lines(text: Iterable[str]) -> Iterator[str]:
    """Yield lines without the byte-order mark and the end-of-file character."""
    line: str | None = None
    for number, following in enumerate(text):
        if line is not None:
            yield line
        line = following if number else following.removeprefix("\ufeff")
    if line is not None and line.removesuffix("\x1a"):
        yield line.removesuffix("\x1a")


class TableBlocks(NamedTuple):
    """Consecutive tables of a file, its number of rows, and notes on how it is read."""

    read: Callable[[], Iterator[Table]]
    n_rows: int
    notes: tuple[str, ...] = ()
    in_blocks: bool = False


def one_block(table: Table) -> TableBlocks:
    """Wrap a table that was read whole as a single block."""
    return TableBlocks(lambda: iter([table]), table.n_rows, table.notes)


def open_table(
    path: str | PathLike[str],
    *,
    kinds: Mapping[str, str] | None = None,
    options: ReadOptions | Mapping[str, Any] | None = None,
    block_rows: int | None = None,
    progress: Progress | None = None,
) -> TableBlocks:
    """Open a file that ``read_table`` reads, in blocks if it is large.

    Values and notes are those of ``read_table``: a first pass over a text file infers its format.
    Irregular text files are read whole. With ``block_rows``, files of any size are read in blocks.
    ``progress`` is called with the megabytes of the first pass.
    """
    request = Request(display_name(path), kinds or {}, as_options(options))
    if str(path) != "-":
        with naming_file(path):
            found = _open_blocks(Path(path), request, block_rows, progress)
        if found is not None:
            return found
    return one_block(read_table(path, kinds=kinds, options=options))


def _open_blocks(
    path: Path, request: Request, block_rows: int | None, progress: Progress | None
) -> TableBlocks | None:
    """Return blocks if the file is large or ``block_rows`` is given; else None."""
    kind, always = check_file(path), block_rows is not None
    tables: Callable[[], Iterator[Table]]
    notes: tuple[str, ...] = ()
    if kind == "parquet":
        shape = survey_parquet(path, request, always=always)
        if shape is None:
            return None
        n_rows, n_columns = shape
        tables = partial(parquet_batches, path, request, block_rows or rows_per_block(n_columns))
    elif kind in {"text", "tabs"} and (always or path.stat().st_size >= LARGE_FILE_BYTES):
        try:
            blocks = TextBlocks(
                path, request, block_rows or MAX_BLOCK_ROWS, tabs=kind == "tabs", progress=progress
            )
        except IrregularError:
            return None
        n_rows, notes = blocks.n_rows, blocks.notes
        tables = partial(blocks.tables, block_rows or rows_per_block(len(blocks.parsers)))
    else:
        return None

    def read() -> Iterator[Table]:
        left = n_rows
        with naming_file(path):
            for table in tables():
                left -= table.n_rows
                yield table
            if left:
                raise ValueError("The file changed while it was read: run again.")

    return TableBlocks(read, n_rows, notes, in_blocks=True)


def rows_per_block(n_columns: int) -> int:
    """Return the rows per block, fewer for wide tables."""
    return max(MIN_BLOCK_ROWS, min(MAX_BLOCK_ROWS, MAX_BLOCK_VALUES // max(1, n_columns)))


def sample_table(
    path: str | PathLike[str],
    max_rows: int,
    seed: int,
    always: bool = False,
    *,
    kinds: Mapping[str, str] | None = None,
    options: ReadOptions | Mapping[str, Any] | None = None,
) -> Table:
    """Read a file; of a large Parquet file a random sample of rows, in file order.

    Other files are sampled only with ``always``.
    """
    # blocks of text do not keep the target as written, and 01 may be a label
    if is_parquet(path):
        blocks = open_table(path, kinds=kinds, options=options)
    else:
        blocks = one_block(read_table(path, kinds=kinds, options=options))
    if blocks.n_rows <= max_rows or not (blocks.in_blocks or always):
        return _concatenate(list(blocks.read()), blocks.notes)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(blocks.n_rows, max_rows, replace=False, shuffle=False))
    parts, start = [], 0
    for table in blocks.read():
        first, last = np.searchsorted(chosen, [start, start + table.n_rows])
        parts.append(table.take(chosen[first:last] - start))
        start += table.n_rows
    note = f"A random sample of {max_rows} of {blocks.n_rows} rows is used (seed {seed})."
    return _concatenate(parts, (*blocks.notes, note))


def _concatenate(parts: list[Table], notes: tuple[str, ...]) -> Table:
    """Concatenate tables with the same columns."""
    if len(parts) == 1:
        return replace(parts[0], notes=notes)
    columns = tuple(map(np.concatenate, zip(*(each.columns for each in parts), strict=True)))
    labels = [each.written for each in parts if each.written is not None]
    written = _concatenate(labels, labels[0].notes) if labels else None
    return replace(parts[0], columns=columns, written=written, notes=notes)
