"""Excel and OpenDocument files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from ensemblage._core import listing, require, suggestion
from ensemblage.datasets._options import Request
from ensemblage.datasets._table import Table
from ensemblage.datasets._text import ALWAYS_FINE, LARGEST_RATIO, table_from_lines

Cell = tuple[int, int]


def read_spreadsheet(data: bytes, request: Request) -> Table:
    """Read one sheet of an Excel or OpenDocument file, by the rules of text files."""
    calamine = require(
        "python_calamine", "Reading a spreadsheet", extra="excel",
        otherwise="Or save the data as CSV.",
    )  # fmt: skip
    _check_size(data, request.name)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        chosen = _choose(book.sheet_names, request.options.sheet)
        sheet = book.get_sheet_by_name(chosen)
        rows, merged = sheet.to_python(skip_empty_area=False), sheet.merged_cell_ranges
    except calamine.PasswordError:
        raise ValueError(
            f"{request.name} is protected by a password: save it without one, or as CSV."
        ) from None
    except (calamine.CalamineError, OSError) as error:
        raise ValueError(
            f"{request.name} is not a spreadsheet, or it is damaged ({error}): open it and save it "
            "again, or save it as CSV."
        ) from None
    _refuse_merged(rows, merged or (), chosen)
    texts = ([_text(value) for value in row] for row in rows)
    kept = [(row, number) for number, row in enumerate(texts, 1) if any(map(str.strip, row))]
    table = table_from_lines(kept, request)
    if len(book.sheet_names) == 1 or request.options.sheet is not None:
        return table
    others = listing((each for each in book.sheet_names if each != chosen), 4)
    note = f"Read from sheet {chosen!r}; for another one, set `sheet`: {others}."
    return replace(table, notes=(note, *table.notes))


def _check_size(data: bytes, name: str) -> None:
    """Refuse an archive whose compression ratio is too large for a spreadsheet."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(each.file_size for each in archive.infolist())
    if size > max(ALWAYS_FINE, LARGEST_RATIO * len(data)):
        raise ValueError(
            f"{name} unpacks to more than {LARGEST_RATIO} times its size, which is too large for "
            "data: save it as CSV if you trust it."
        )


def _choose(names: Sequence[str], sheet: str | None) -> str:
    if sheet is None:
        return names[0]
    if sheet in names:
        return sheet
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise ValueError(
        f"There is no sheet {sheet!r}.{suggestion(sheet, names)} The sheets are: {listing(names)}."
    )


def _refuse_merged(
    rows: Sequence[Sequence[Any]], merged: Iterable[tuple[Cell, Cell]], sheet: str
) -> None:
    """Refuse merged cells, except for a title that is alone in its row."""
    for (top, left), (bottom, _) in merged:
        if top < len(rows) and (bottom > top or sum(value != "" for value in rows[top]) > 1):
            raise ValueError(
                f"Cell {_cell_name(top, left)} of sheet {sheet!r} is merged: unmerge the cells, so "
                "that every column has one name and every row its own values."
            )


def _cell_name(row: int, column: int) -> str:
    """Return the spreadsheet name of a cell: A1, AB12."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row + 1}"


def _text(value: Any) -> str:
    """Format a value as in a text file."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        value = value.date()
    return value.isoformat() if isinstance(value, date) else str(value)
