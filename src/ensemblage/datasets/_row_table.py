"""From rows of texts, of a text file or a spreadsheet, to a table with notes."""

from __future__ import annotations

from typing import NamedTuple

from ensemblage.datasets._column_kinds import Columns, type_columns
from ensemblage.datasets._encoding import UTF_8
from ensemblage.datasets._number_marks import Marks
from ensemblage.datasets._reading_options import Request
from ensemblage.datasets._row_layout import Layout, Lines, lay_out
from ensemblage.datasets._table import Table
from ensemblage.messages import listed

SPOKEN = {"\t": "tabs", " ": "blanks"}


class Written(NamedTuple):
    """How a text file was written: what is between values, and its encoding."""

    separator: str = ","
    encoding: str = UTF_8


PLAINLY = Written()


def table_from_lines(lines: Lines, request: Request, written: Written = PLAINLY) -> Table:
    """Find header, columns and their kinds, and say what was taken where it is not the usual."""
    layout = lay_out(lines, request)
    typed = type_columns(layout.texts, request, written.separator)
    notes = row_notes(written, layout, typed)
    return Table(tuple(layout.texts), typed.columns, notes=notes, written=typed.written)


def row_notes(written: Written, layout: Layout, typed: Columns) -> tuple[str, ...]:
    """Say what was taken where it is not the usual."""
    taken = _taken(written, typed.marks)
    return (*([f"Read with {listed(taken)}."] if taken else []), *layout.notes, *typed.notes)


def _taken(written: Written, marks: Marks) -> list[str]:
    """Say what was taken for separator, marks and encoding, except for the plain ones."""
    between = SPOKEN.get(written.separator, repr(written.separator))
    said = {
        f"{between} between values": written.separator != ",",
        f"{marks.decimal!r} as decimal mark": marks.decimal != ".",
        f"{marks.thousands!r} between thousands": bool(marks.thousands),
        f"{written.encoding} as encoding": written.encoding != UTF_8,
    }
    return [text for text, unusual in said.items() if unusual]
