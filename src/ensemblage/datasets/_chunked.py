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
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets._arff import is_arff
from ensemblage.datasets._file_names import check_file, is_parquet
from ensemblage.datasets._files import called, naming_file, read_table
from ensemblage.datasets._layout import Layout, Lines, Row, lay_out, remark_note
from ensemblage.datasets._options import ReadOptions, Request
from ensemblage.datasets._parquet import survey_parquet
from ensemblage.datasets._table import CATEGORICAL, MISSING_TOKENS, NUMERIC, Table
from ensemblage.datasets._text import (
    ALWAYS_FINE,
    BLANKS,
    ENCODING_NAMES,
    GZIP,
    LARGEST_RATIO,
    LONG,
    NEARLY_ALL,
    Dialect,
    detect_piecewise,
    row_notes,
    rows_by_blanks,
    rows_by_character,
    said_separator,
    split_text,
    usual_quotes,
)
from ensemblage.datasets._value_types import ColumnParser, type_columns

# What numbers are told by: digits, a zero at the start of a group or not, groups up to four long.
PLAIN_DIGITS = str.maketrans("12345678", "99999999")
# Dates also by whether a group can be a month: 0, 1, 2 and the others.
DATE_DIGITS = str.maketrans("3456789", "9999999")
REST_OF_GROUP = re.compile(r"(?<=\d{4})\d+")
BETWEEN = "\x1f"
# A column with more shapes than this holds words; so do texts of that many characters.
MOST_SHAPES = 20_000
MOST_CHARACTERS = 2_000_000


class TextDigest:
    """One text of each shape that occurs in a column, in the order of their first occurrence.

    Which marks numbers have, whether texts are dates and whether day or month comes first depends
    on shapes only, so that the rules for whole columns can judge the digest instead.
    """

    def __init__(self, kind: str | None) -> None:
        self._kind = kind
        self._found: dict[str, str] = {}
        self._characters = 0

    @property
    def texts(self) -> list[str]:
        """The texts found."""
        return [*self._found.values()]

    def add(self, values: Sequence[str]) -> None:
        """Look at further texts of the column."""
        if self._kind == CATEGORICAL:
            if not self._found:
                self._keep((text, text) for text in values if text.strip() not in MISSING_TOKENS)
            return
        if len(self._found) < MOST_SHAPES and self._characters < MOST_CHARACTERS:
            distinct = [*dict.fromkeys(values)]
            self._keep(zip(self._shapes(distinct), distinct, strict=True))

    def _keep(self, pairs: Iterable[tuple[str, str]]) -> None:
        for shape, text in pairs:
            if shape not in self._found:
                self._found[shape] = text
                self._characters += len(text)

    def _shapes(self, texts: Sequence[str]) -> list[str]:
        """Write texts with few different digits, together, as that is faster than one by one."""
        digits = PLAIN_DIGITS if self._kind == NUMERIC else DATE_DIGITS
        joined = BETWEEN.join(texts).translate(digits)
        shapes = REST_OF_GROUP.sub("", joined).split(BETWEEN)
        return shapes if len(shapes) == len(texts) else [*texts]


Texts = Mapping[str, Sequence[str]]
Progress = Callable[[int, int], Any]

PIECE = 2**20
HEAD_LINES = 2000
"""The first lines, which tell separator, header and units; more than those rules look at."""
TRIES = 100
"""So many lines a quoted value at the end of the first ones may go on for."""


class IrregularError(Exception):
    """The file is not what its first lines promise, or says so in a way that takes all of it."""


class TextStream(NamedTuple):
    """A text file and what its first lines say of how to split it.

    ``how`` is None for blanks between values; ``n_head`` rows are the first lines, after
    ``n_said`` of them that names the separator.
    """

    path: Path
    request: Request
    written: Dialect
    how: Mapping[str, Any] | None
    encoding: str
    n_said: int
    n_head: int

    def blocks(self, n_rows: int, found: Found) -> Iterator[Texts]:
        """Give named columns of texts, so many rows at a time; ``found`` hears what was passed."""
        with opened_text(self.path, self.encoding) as (lines, place):
            rows = self._rows(islice(lines, self.n_said, None))
            layout = self._layout(found.counted(rows, self.n_head))
            found.layout = layout
            yield layout.texts
            held = Lines([], [])
            while (taken := found.counted(rows, n_rows)).rows:
                taken = layout.without_comments(taken)
                last = len(taken.rows)
                while last and layout.is_remark(taken.rows[last - 1]):
                    last -= 1
                if not last:
                    held = _joined(held, taken)
                    continue
                block = _joined(held, Lines(taken.rows[:last], taken.numbers[:last]))
                held = Lines(taken.rows[last:], taken.numbers[last:])
                layout.even_out(block, self.request.name)
                found.place = place()
                yield self._columns(layout, block.rows)
            found.remarks = held.rows

    def _rows(self, lines: Iterable[str]) -> Iterator[tuple[Row, int]]:
        if self.how is None:
            return rows_by_blanks(lines)
        return rows_by_character(lines, self.request.name, dict(self.how))

    def _layout(self, head: Lines) -> Layout:
        layout = lay_out(head, self.request, more=True)
        if layout.is_remark(head.rows[-1]):
            raise IrregularError
        return layout

    def _columns(self, layout: Layout, rows: Sequence[Row]) -> Texts:
        columns = list(zip(*rows, strict=True))
        empty = set(range(layout.width)) - set(layout.places)
        if any(any(map(str.strip, columns[j])) for j in empty):
            raise IrregularError  # a column without a name has values after all
        return {name: columns[j] for name, j in zip(layout.texts, layout.places, strict=True)}


class Found:
    """What a pass through the file met: lengths of rows, remarks at its end, and how far it is."""

    def __init__(self) -> None:
        self.lengths: Counter[int] = Counter()
        self.remarks: list[Row] = []
        self.layout: Layout | None = None
        self.place = 0

    def counted(self, rows: Iterator[tuple[Row, int]], number: int) -> Lines:
        """Take so many rows, and count how long they are."""
        pairs = [*islice(rows, number)]
        self.lengths.update(len(row) for row, _ in pairs)
        return Lines([row for row, _ in pairs], [line for _, line in pairs])


class TextBlocks(NamedTuple):
    """A text file that was looked through: its rows, how columns are read, what to know."""

    stream: TextStream
    recipes: tuple[ColumnParser, ...]
    n_rows: int
    notes: tuple[str, ...]

    def tables(self, n_rows: int) -> Iterator[Table]:
        """Read the file as tables of so many rows."""
        names = tuple(recipe.name for recipe in self.recipes)
        for texts in self.stream.blocks(n_rows, Found()):
            yield Table(names, tuple(recipe.read(texts[recipe.name]) for recipe in self.recipes))


def survey_text(
    path: Path, request: Request, n_rows: int, *, tabs: bool, progress: Progress | None = None
) -> TextBlocks:
    """Look through a file and decide of it what a reader of the whole would.

    IrregularError if that takes the whole. Progress is told in megabytes.
    """
    try:
        stream = _first_look(path, request, tabs=tabs)
        return _survey(stream, n_rows, progress)
    except (UnicodeError, OSError, EOFError, zlib.error) as error:
        raise IrregularError from error
    except ValueError as error:
        if "expected after" in str(error):  # quotation marks inside of values
            raise IrregularError from error
        raise


def _survey(stream: TextStream, n_rows: int, progress: Progress | None) -> TextBlocks:
    request, found, rows = stream.request, Found(), 0
    size, digests = stream.path.stat().st_size, dict[str, TextDigest]()
    for texts in stream.blocks(n_rows, found):
        digests = digests or {name: TextDigest(request.kinds.get(name)) for name in texts}
        for name, values in texts.items():
            digests[name].add(values)
        rows += len(next(iter(texts.values()), ()))
        if progress is not None:
            progress(found.place // PIECE, size // PIECE)
    layout = found.layout
    if layout is None or found.lengths.most_common(1)[0][0] != layout.usual:
        raise IrregularError
    digested = {name: each.texts for name, each in digests.items()}
    typed = type_columns(digested, request, stream.written.separator)
    notes = row_notes(stream.written, layout, typed)
    if found.remarks:
        notes = (*notes, remark_note(len(found.remarks), found.remarks[0]))
    return TextBlocks(stream, typed.recipes, rows, notes)


def _first_look(path: Path, request: Request, *, tabs: bool) -> TextStream:
    """Find encoding, separator and quotation marks by the first lines of a file that has more."""
    encoding = request.reading.encoding or _encoding(path)
    if encoding is None:
        raise IrregularError
    with opened_text(path, encoding) as (lines, _):
        head = "".join(islice(lines, HEAD_LINES))
        while len(head) < LONG and (line := next(lines, None)) is not None:
            head += line
        if is_arff(head) or not head.strip():
            raise IrregularError
        text, separator = said_separator(head, request.reading.separator, tabs=tabs)
        said = int(text != head)
        for line in chain(islice(lines, TRIES), [None]):
            try:
                split = split_text(text, request.name, separator)
            except ValueError:
                split = None
            if line is None or split is not None:
                break
            text += line
    if split is None or line is None or (separator is None and split.fit < NEARLY_ALL):
        raise IrregularError
    how = None if split.separator == BLANKS else usual_quotes(text, split.separator)
    written = Dialect(split.separator, ENCODING_NAMES.get(encoding.lower(), encoding))
    return TextStream(path, request, written, how, encoding, said, len(split.lines.rows))


def _encoding(path: Path) -> str | None:
    limit = max(ALWAYS_FINE, LARGEST_RATIO * path.stat().st_size)
    with path.open("rb") as raw, _unpacked(raw) as file:
        return detect_piecewise(_pieces(file, limit))


def _pieces(file: BinaryIO, limit: int) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        limit -= len(piece)
        if limit < 0:
            raise IrregularError
        yield piece


@contextmanager
def opened_text(path: Path, encoding: str) -> Iterator[tuple[Iterator[str], Callable[[], int]]]:
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


def _joined(first: Lines, second: Lines) -> Lines:
    return Lines(first.rows + second.rows, first.numbers + second.numbers)


LARGE = 64 * 2**20
"""A text file of so many bytes is read in blocks."""
MOST_ROWS, FEWEST_ROWS, VALUES = 65_536, 1024, 2**21
"""A block has so many rows, or fewer, so that it has no more than these values."""


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
    reading: ReadOptions | None = None,
    block_rows: int | None = None,
    progress: Progress | None = None,
) -> TableBlocks:
    """Open a file that ``read_table`` reads, in blocks if it is large.

    The tables have the values and notes that the whole would have: a text file is looked through
    first. One that takes the whole to be understood is read whole. ``block_rows`` asks for blocks
    of any file. ``progress`` is told how many megabytes were looked through.
    """
    request = Request(called(path), kinds or {}, reading or ReadOptions())
    with naming_file(path):
        found = (
            None if str(path) == "-" else _survey_blocks(Path(path), request, block_rows, progress)
        )
    if found is not None:
        return found
    return one_block(read_table(path, kinds=kinds, reading=reading))


def _survey_blocks(
    path: Path, request: Request, block_rows: int | None, progress: Progress | None
) -> TableBlocks | None:
    kind, always = check_file(path), block_rows is not None
    if kind == "parquet":
        stored = survey_parquet(path, request, always=always)
        if stored is None:
            return None
        return _blocks(stored, path, block_rows or rows_per_block(stored.n_columns))
    if kind not in {"text", "tabs"} or not (always or path.stat().st_size >= LARGE):
        return None
    first = block_rows or MOST_ROWS
    try:
        looked = survey_text(path, request, first, tabs=kind == "tabs", progress=progress)
    except IrregularError:
        return None
    return _blocks(looked, path, block_rows or rows_per_block(len(looked.recipes)))


def _blocks(found: Any, path: Path, block_rows: int) -> TableBlocks:
    def read() -> Iterator[Table]:
        left = found.n_rows
        with naming_file(path):
            for table in found.tables(block_rows):
                left -= table.n_rows
                yield table
            if left:
                raise ValueError("The file changed while it was read: start again.")

    return TableBlocks(read, found.n_rows, getattr(found, "notes", ()), in_blocks=True)


def rows_per_block(n_columns: int) -> int:
    """Give the rows of a block, so that wide ones have fewer."""
    return max(FEWEST_ROWS, min(MOST_ROWS, VALUES // max(1, n_columns)))


class RowDraw(NamedTuple):
    """How many rows to take of a file that is read in blocks, and by which seed.

    Of a file that is read whole they are taken only if ``of_any`` asks for it.
    """

    most: int
    seed: int
    of_any: bool = False

    def rows(self, n_rows: int) -> NDArray[np.intp]:
        """Draw rows by their numbers, which rise."""
        rng = np.random.default_rng(self.seed)
        return np.sort(rng.choice(n_rows, self.most, replace=False, shuffle=False))

    def sentence(self, n_rows: int) -> str:
        """Say what was done."""
        return (
            f"The file has {n_rows} rows, of which {self.most} were drawn by the seed {self.seed}."
        )


def sample_table(
    path: str | PathLike[str],
    draw: RowDraw,
    *,
    kinds: Mapping[str, str] | None = None,
    reading: ReadOptions | None = None,
) -> Table:
    """Read a file; of a large Parquet file only some rows, each as likely, in their order."""
    # of text, blocks do not keep how a target's numbers are written, and 01 may be a label
    if not is_parquet(path):
        return _drawn_whole(read_table(path, kinds=kinds, reading=reading), draw)
    blocks = open_table(path, kinds=kinds, reading=reading)
    if not blocks.in_blocks or blocks.n_rows <= draw.most:
        return _drawn_whole(join_tables(list(blocks.read()), blocks.notes), draw)
    chosen = draw.rows(blocks.n_rows)
    parts, start = [], 0
    for table in blocks.read():
        first, last = np.searchsorted(chosen, [start, start + table.n_rows])
        parts.append(_rows_of(table, chosen[first:last] - start))
        start += table.n_rows
    return join_tables(parts, (*blocks.notes, draw.sentence(blocks.n_rows)))


def _drawn_whole(table: Table, draw: RowDraw) -> Table:
    """Take some rows of a table that is in memory, if that is asked for."""
    if not draw.of_any or table.n_rows <= draw.most:
        return table
    some = _rows_of(table, draw.rows(table.n_rows))
    return replace(some, notes=(*table.notes, draw.sentence(table.n_rows)))


def join_tables(parts: list[Table], notes: tuple[str, ...]) -> Table:
    """Put tables of the same columns one below the other."""
    if len(parts) == 1:
        return replace(parts[0], notes=notes)
    columns = tuple(map(np.concatenate, zip(*(each.columns for each in parts), strict=True)))
    written = {
        name: own._replace(words=np.concatenate([each.written[name].words for each in parts]))
        for name, own in parts[0].written.items()
    }
    return replace(parts[0], columns=columns, written=written, notes=notes)


def _rows_of(table: Table, rows: NDArray[np.intp]) -> Table:
    written = {name: own._replace(words=own.words[rows]) for name, own in table.written.items()}
    return replace(table.take(rows), written=written)
