"""Reading a table from a file of any format."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from ensemblage.datasets._arff import parse_arff
from ensemblage.datasets._excel import read_spreadsheet
from ensemblage.datasets._file_names import check_file
from ensemblage.datasets._options import ReadOptions, Request, as_options
from ensemblage.datasets._parquet import read_parquet
from ensemblage.datasets._table import Table
from ensemblage.datasets._text import decode, decompress, is_arff, parse_delimited


def read_table(
    path: str | PathLike[str],
    *,
    kinds: Mapping[str, str] | None = None,
    options: ReadOptions | Mapping[str, Any] | None = None,
) -> Table:
    """Read a table from a CSV, TSV, ARFF, Parquet or spreadsheet file.

    Encoding, separator, header, decimal mark, thousands separator and date formats of a text file
    are inferred from the whole file. What is not the default is reported in ``Table.notes``. A
    column is numeric if all its values are finite numbers or missing, a date column if all are
    dates or missing, and categorical otherwise. Empty values, ``NA``, ``NaN``, ``?`` and ``null``
    are missing values; in numeric and date columns also ``n/a``, ``-``, ``unknown`` and the like,
    with a note.

    Parameters
    ----------
    path : str or path-like
        The file, which may be compressed by gzip; ``-`` is delimited text from standard input.
        Spreadsheets (``.xlsx``, ``.xls``, ``.xlsb``, ``.ods``) need the extra ``excel``.
    kinds : mapping of str to {"numeric", "categorical", "date"}, default=None
        Kinds of columns by name; other kinds are inferred.
    options : dict, default=None
        How to read the file, instead of inferring it: ``separator``, ``decimal``, ``thousands``,
        ``encoding``, ``dates`` ("day-first", "month-first" or "text"), ``header`` (a bool) and
        ``sheet`` (name or number).

    Returns
    -------
    Table
        The columns, with declared categories if the format has them.
    """
    request = Request(display_name(path), kinds or {}, as_options(options))
    with naming_file(path):
        return _read(path, request)


def display_name(path: str | PathLike[str]) -> str:
    return "standard input" if str(path) == "-" else Path(path).name


@contextmanager
def naming_file(path: str | PathLike[str]) -> Iterator[None]:
    """Add the file name to the message of a ValueError."""
    name = display_name(path)
    try:
        yield
    except ValueError as error:
        if name in str(error):
            raise
        raise type(error)(f"In {name}: {error}") from None


def _read(path: str | PathLike[str], request: Request) -> Table:
    if str(path) == "-":
        if sys.stdin is None:
            raise ValueError("`-` is standard input, which is closed: name a file instead.")
        kind, data = "text", sys.stdin.buffer.read()
    else:
        path = Path(path)
        kind = check_file(path)
        if kind == "parquet":
            return read_parquet(path, request)
        data = decompress(path.read_bytes(), path.name)
        if kind == "sheet":
            return read_spreadsheet(data, request)
    text, encoding = decode(data, request.name, request.options.encoding)
    if kind == "arff" or is_arff(text):
        return parse_arff(text, encoding, request)
    return parse_delimited(text, encoding, request, tabs=kind == "tabs")
