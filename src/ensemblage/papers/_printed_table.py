"""What a paper printed in a table, read from the data file beside the table's module."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import TypeVar

import msgspec


class Remarks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to know when reading a table; several tables of a paper may share some of it.

    Stand-ins are rows of generated data: the paper's figures beside them are of data that cannot
    be had.
    """

    notes: tuple[str, ...] = ()
    row_note: str = ""
    row_notes: dict[str, str] = {}
    stand_ins: tuple[str, ...] = ()


class PrintedTable(Remarks, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table or figure as the paper has it: a line of numbers for each row, one per column.

    ``remarks`` is the stem of a file that holds what it shares with other tables.
    """

    title: str
    columns: tuple[str, ...] = ()
    rows: dict[str, tuple[float, ...]] = {}
    remarks: str = ""

    def __post_init__(self) -> None:
        for row, line in self.rows.items():
            if len(line) != len(self.columns):
                raise ValueError(f"{row} has {len(line)} figures for {len(self.columns)} columns.")

    def value(self, row: str, column: str) -> float | None:
        """Give the paper's figure, or None where it has none."""
        if row not in self.rows or column not in self.columns:
            return None
        return self.rows[row][self.columns.index(column)]

    def note(self, row: str) -> str:
        """Say what to know of a row: a sentence, or nothing."""
        return self.row_notes.get(row, self.row_note)


@lru_cache(maxsize=32)
def read_printed(name: str) -> PrintedTable:
    """Read what the paper has under a table's name, with the remarks that it shares."""
    paper = name.partition("-")[0]
    own = _read(paper, name, PrintedTable)
    if not own.remarks:
        return own
    shared = _read(paper, own.remarks, Remarks)
    return msgspec.structs.replace(
        own,
        notes=own.notes + shared.notes,
        row_notes=shared.row_notes | own.row_notes,
        stand_ins=own.stand_ins + shared.stand_ins,
    )


_Kind = TypeVar("_Kind", bound=Remarks)


def _read(paper: str, stem: str, kind: type[_Kind]) -> _Kind:
    file = files("ensemblage.papers").joinpath(paper, f"{stem}.toml")
    return msgspec.convert(tomllib.loads(file.read_text("utf-8")), kind)
