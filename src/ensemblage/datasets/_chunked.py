"""Any file in blocks of rows, or sampled."""

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
from ensemblage.datasets._files import called, naming_file, read_table
from ensemblage.datasets._options import ReadOptions, Request, as_options
from ensemblage.datasets._parquet import parquet_batches, survey_parquet
from ensemblage.datasets._table import CATEGORICAL, MISSING_TOKENS, NUMERIC, Table
from ensemblage.datasets._text import (
    ALWAYS_FINE,
    BLANKS,
    ENCODING_NAMES,
    GZIP,
    LARGEST_RATIO,
    LONG,
    SURE_FIT,
    Layout,
    Lines,
    Row,
    csv_options,
    detect_piecewise,
    even_out,
    format_notes,
    is_arff,
    lay_out,
    remark_note,
    rows_by_blanks,
    rows_by_character,
    said_separator,
    split_text,
)
from ensemblage.datasets._value_types import type_columns

Texts = Mapping[str, Sequence[str]]
Progress = Callable[[int, int], Any]

# What numbers are told by: digits, a zero at the start of a group or not, groups up to four long.
PLAIN_DIGITS = str.maketrans("12345678", "99999999")
# Dates also by whether a group can be a month: 0, 1, 2 and the others.
DATE_DIGITS = str.maketrans("3456789", "9999999")
REST_OF_GROUP = re.compile(r"(?<=\d{4})\d+")
BETWEEN = "\x1f"
# A column with more shapes than this is categorical; so is one of that many characters.
MOST_SHAPES = 20_000
MOST_CHARACTERS = 2_000_000
# Bytes that are read at a time.
PIECE = 2**20
# The first lines, which tell separator, header and units; more than those rules look at.
HEAD_LINES = 2000
# Lines that a quoted value at the end of the first ones may go on for.
MOST_QUOTED_LINES = 100
# A text file of so many bytes is read in blocks.
LARGE = 64 * 2**20
# A block has so many rows, ...
MOST_ROWS = 65_536
# ... or fewer, but not below these, ...
FEWEST_ROWS = 1024
# ... so that it has no more than these values.
MOST_VALUES = 2**21


class TextDigest:
    """One text of each shape that occurs in a column, in the order of their first occurrence.

    Which format numbers have, whether texts are dates and whether day or month comes first depends
    on shapes only, so that the rules for whole columns can judge the digest instead.
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
        if len(self._found) < MOST_SHAPES and self._characters < MOST_CHARACTERS:
            distinct = [*dict.fromkeys(values)]
            # texts are written with few different digits together, as that is faster
            digits = PLAIN_DIGITS if self._kind == NUMERIC else DATE_DIGITS
            joined = BETWEEN.join(distinct).translate(digits)
            shapes = REST_OF_GROUP.sub("", joined).split(BETWEEN)
            self._keep(
                zip(shapes if len(shapes) == len(distinct) else distinct, distinct, strict=True)
            )

    def _keep(self, pairs: Iterable[tuple[str, str]]) -> None:
        for shape, text in pairs:
            if shape not in self._found:
                self._found[shape] = text
                self._characters += len(text)


class IrregularError(Exception):
    """The file is not what its first lines promise, or says so in a way that takes all of it."""


class TextBlocks:
    """A text file in blocks, after a pass that decides of it what a reader of the whole would.

    IrregularError if that takes the whole. Progress is told in megabytes.
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
            self._look_at_head(tabs=tabs)
            self._survey(n_rows, progress)
        except (UnicodeError, OSError, EOFError, zlib.error) as error:
            raise IrregularError from error
        except ValueError as error:
            if "expected after" in str(error):  # quotation marks inside of values
                raise IrregularError from error
            raise

    def tables(self, n_rows: int) -> Iterator[Table]:
        names = tuple(parser.name for parser in self.parsers)
        for texts in self._blocks(n_rows):
            yield Table(names, tuple(parser.read(texts[parser.name]) for parser in self.parsers))

    def _look_at_head(self, *, tabs: bool) -> None:
        """Find encoding, separator and quotation marks by the first lines of a file of more."""
        options, name = self._request.options, self._request.name
        encoding = options.encoding or _detect_encoding(self._path)
        if encoding is None:
            raise IrregularError
        with _opened_text(self._path, encoding) as (lines, _):
            head = "".join(islice(lines, HEAD_LINES))
            while len(head) < LONG and (line := next(lines, None)) is not None:
                head += line
            if is_arff(head) or not head.strip():
                raise IrregularError
            text, separator = said_separator(head, options.separator, tabs=tabs)
            self._n_said = int(text != head)  # lines that name the separator
            for line in chain(islice(lines, MOST_QUOTED_LINES), [None]):
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
                progress(self._place // PIECE, size // PIECE)
        if self._lengths.most_common(1)[0][0] != self._layout.usual:
            raise IrregularError
        digested = {name: each.texts for name, each in digests.items()}
        typed = type_columns(digested, request, self._separator)
        encoding = ENCODING_NAMES.get(self._encoding.lower(), self._encoding)
        notes = [*format_notes(self._separator, encoding, typed.format), *self._layout.notes]
        notes += typed.notes
        if self._remarks:
            notes.append(remark_note(len(self._remarks), self._remarks[0][0]))
        self.parsers, self.notes = typed.parsers, tuple(notes)

    def _blocks(self, n_rows: int) -> Iterator[Texts]:
        """Give named columns of texts, so many rows at a time.

        Notes lengths of rows, the remarks at the end, and how far in the file it is.
        """
        self._lengths: Counter[int] = Counter()
        self._remarks: Lines = []
        self._place = 0
        with _opened_text(self._path, self._encoding) as (lines, place):
            rows = self._rows(islice(lines, self._n_said, None))
            head = self._counted(rows, self._n_head)
            self._layout = layout = lay_out(head, self._request, more=True)
            if layout.is_remark(head[-1][0]):
                raise IrregularError
            yield layout.texts
            held: Lines = []
            while taken := self._counted(rows, n_rows):
                taken = layout.without_comments(taken)
                last = len(taken)
                while last and layout.is_remark(taken[last - 1][0]):
                    last -= 1
                if not last:
                    held += taken
                    continue
                block, held = held + taken[:last], taken[last:]
                even_out(block, layout.width, self._request.name, layout.standard)
                self._place = place()
                yield _named_columns(layout, block)
            self._remarks = held

    def _rows(self, lines: Iterable[str]) -> Iterator[tuple[Row, int]]:
        if self._separator == BLANKS:
            return rows_by_blanks(lines)
        return rows_by_character(lines, self._request.name, self._csv_options)

    def _counted(self, rows: Iterator[tuple[Row, int]], number: int) -> Lines:
        taken = [*islice(rows, number)]
        self._lengths.update(len(row) for row, _ in taken)
        return taken


def _named_columns(layout: Layout, lines: Lines) -> Texts:
    columns = list(zip(*(row for row, _ in lines), strict=True))
    empty = set(range(layout.width)) - set(layout.places)
    if any(any(map(str.strip, columns[j])) for j in empty):
        raise IrregularError  # a column without a name has values after all
    return {name: columns[j] for name, j in zip(layout.texts, layout.places, strict=True)}


def _detect_encoding(path: Path) -> str | None:
    limit = max(ALWAYS_FINE, LARGEST_RATIO * path.stat().st_size)

    def pieces(file: BinaryIO) -> Iterator[bytes]:
        left = limit
        while piece := file.read(PIECE):
            left -= len(piece)
            if left < 0:
                raise IrregularError
            yield piece

    with path.open("rb") as raw, _unpacked(raw) as file:
        return detect_piecewise(pieces(file))


@contextmanager
def _opened_text(path: Path, encoding: str) -> Iterator[tuple[Iterator[str], Callable[[], int]]]:
    """Open a file, packed or not: its lines, and a function that says how far they were read."""
    with path.open("rb") as raw, _unpacked(raw) as file:
        # line ends of all systems become line feeds
        text = io.TextIOWrapper(file, encoding=encoding, newline=None)
        yield _lines(text), raw.tell
        text.detach()


def _unpacked(raw: BinaryIO) -> BinaryIO:
    packed = raw.read(len(GZIP)) == GZIP
    raw.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw


def _lines(text: Iterable[str]) -> Iterator[str]:
    """Give lines without the mark of byte order and the old end of file."""
    line: str | None = None
    for number, following in enumerate(text):
        if line is not None:
            yield line
        line = following if number else following.removeprefix("\ufeff")
    if line is not None and line.removesuffix("\x1a"):
        yield line.removesuffix("\x1a")


class TableBlocks(NamedTuple):
    """Tables that follow each other in a file, what to know of how it is read, and its rows."""

    read: Callable[[], Iterator[Table]]
    n_rows: int
    notes: tuple[str, ...] = ()
    in_blocks: bool = False


def one_block(table: Table) -> TableBlocks:
    """Take a table that was read whole for a file of one block."""
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

    The tables have the values and notes that the whole would have: a text file is looked through
    first. One that takes the whole to be understood is read whole. ``block_rows`` asks for blocks
    of any file. ``progress`` is told how many megabytes were looked through.
    """
    request = Request(called(path), kinds or {}, as_options(options))
    if str(path) != "-":
        with naming_file(path):
            found = _open_blocks(Path(path), request, block_rows, progress)
        if found is not None:
            return found
    return one_block(read_table(path, kinds=kinds, options=options))


def _open_blocks(
    path: Path, request: Request, block_rows: int | None, progress: Progress | None
) -> TableBlocks | None:
    """Give blocks of a file that is large or of which they are asked for; else None."""
    kind, always = check_file(path), block_rows is not None
    tables: Callable[[], Iterator[Table]]
    notes: tuple[str, ...] = ()
    if kind == "parquet":
        shape = survey_parquet(path, request, always=always)
        if shape is None:
            return None
        n_rows, n_columns = shape
        tables = partial(parquet_batches, path, request, block_rows or rows_per_block(n_columns))
    elif kind in {"text", "tabs"} and (always or path.stat().st_size >= LARGE):
        try:
            blocks = TextBlocks(
                path, request, block_rows or MOST_ROWS, tabs=kind == "tabs", progress=progress
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
                raise ValueError("The file changed while it was read: start again.")

    return TableBlocks(read, n_rows, notes, in_blocks=True)


def rows_per_block(n_columns: int) -> int:
    """Give the rows of a block, so that wide ones have fewer."""
    return max(FEWEST_ROWS, min(MOST_ROWS, MOST_VALUES // max(1, n_columns)))


def sample_table(
    path: str | PathLike[str],
    most: int,
    seed: int,
    always: bool = False,
    *,
    kinds: Mapping[str, str] | None = None,
    options: ReadOptions | Mapping[str, Any] | None = None,
) -> Table:
    """Read a file; of a large Parquet file only some rows, each as likely, in their order.

    Of a file that is read whole they are taken only with ``always``.
    """
    # of text, blocks do not keep how a target's numbers are written, and 01 may be a label
    if is_parquet(path):
        blocks = open_table(path, kinds=kinds, options=options)
    else:
        blocks = one_block(read_table(path, kinds=kinds, options=options))
    if blocks.n_rows <= most or not (blocks.in_blocks or always):
        return _joined(list(blocks.read()), blocks.notes)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(blocks.n_rows, most, replace=False, shuffle=False))
    parts, start = [], 0
    for table in blocks.read():
        first, last = np.searchsorted(chosen, [start, start + table.n_rows])
        parts.append(table.take(chosen[first:last] - start))
        start += table.n_rows
    note = f"The file has {blocks.n_rows} rows, of which {most} were drawn by the seed {seed}."
    return _joined(parts, (*blocks.notes, note))


def _joined(parts: list[Table], notes: tuple[str, ...]) -> Table:
    """Put tables of the same columns one below the other."""
    if len(parts) == 1:
        return replace(parts[0], notes=notes)
    columns = tuple(map(np.concatenate, zip(*(each.columns for each in parts), strict=True)))
    labels = [each.written for each in parts if each.written is not None]
    written = _joined(labels, labels[0].notes) if labels else None
    return replace(parts[0], columns=columns, written=written, notes=notes)
