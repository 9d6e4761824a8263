"""Delimited text in blocks: one pass decides, as the whole file would, and others read."""

from __future__ import annotations

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from ensemblage.datasets._arff import is_arff
from ensemblage.datasets._column_kinds import Recipe, type_columns
from ensemblage.datasets._delimited import (
    BLANKS,
    LONG,
    NEARLY_ALL,
    rows_by_blanks,
    rows_by_character,
    said_separator,
    split_text,
    usual_quotes,
)
from ensemblage.datasets._encoding import (
    ALWAYS_FINE,
    GZIP,
    LARGEST_RATIO,
    SPOKEN,
    detect_piecewise,
)
from ensemblage.datasets._reading_options import Request
from ensemblage.datasets._row_layout import Layout, Lines, Row, lay_out, remark_note
from ensemblage.datasets._row_table import Written, row_notes
from ensemblage.datasets._table import Table
from ensemblage.datasets.streams._text_digest import TextDigest

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
    written: Written
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
    recipes: tuple[Recipe, ...]
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
    written = Written(split.separator, SPOKEN.get(encoding.lower(), encoding))
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
