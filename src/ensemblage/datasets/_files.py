"""A table from a file of any kind."""

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
from ensemblage.datasets._text import decode, is_arff, parse_delimited, unpack


def read_table(
    path: str | PathLike[str],
    *,
    kinds: Mapping[str, str] | None = None,
    options: ReadOptions | Mapping[str, Any] | None = None,
) -> Table:
    """Read a table from a CSV, TSV, ARFF, Parquet or spreadsheet file.

    What a text file does not say is found out from all of it: the encoding, the separator, the
    header, the decimal mark and the one between thousands, and which columns are dates. Where
    that is not the usual, a sentence in ``Table.notes`` says so. A column is numeric if every value
    that is not missing is a finite number, a date column if every one is a date, and categorical
    otherwise. Empty values, ``NA``, ``NaN``, ``?`` and ``null`` are missing; among numbers and
    dates also ``n/a``, ``-``, ``unknown`` and their like, with a note.

    Parameters
    ----------
    path : str or path-like
        The file, which may be packed by gzip; ``-`` is delimited text from standard input.
        Spreadsheets (``.xlsx``, ``.xls``, ``.xlsb``, ``.ods``) need the extra ``excel``.
    kinds : mapping of str to {"numeric", "categorical", "date"}, default=None
        The kind of a column where it is known beforehand.
    options : dict, default=None
        How to read the file, where it is not to be found out: ``separator``, ``decimal``,
        ``thousands``, ``encoding``, ``dates`` ("day-first", "month-first" or "text"), ``header``
        (a bool) and ``sheet``, by name.

    Returns
    -------
    Table
        The columns, with the declared categories if the format has them.
    """
    request = Request(called(path), kinds or {}, as_options(options))
    with naming_file(path):
        return _read(path, request)


def called(path: str | PathLike[str]) -> str:
    return "standard input" if str(path) == "-" else Path(path).name


@contextmanager
def naming_file(path: str | PathLike[str]) -> Iterator[None]:
    """Say in which file it was, in an error that does not."""
    name = called(path)
    try:
        yield
    except ValueError as error:
        if name in str(error):
            raise
        raise type(error)(f"In {name}: {error}") from None


def _read(path: str | PathLike[str], request: Request) -> Table:
    if str(path) == "-":
        kind, data = "text", sys.stdin.buffer.read()
    else:
        path = Path(path)
        kind = check_file(path)
        if kind == "parquet":
            return read_parquet(path, request)
        data = unpack(path.read_bytes(), path.name)
        if kind == "sheet":
            return read_spreadsheet(data, request)
    text, encoding = decode(data, request.name, request.options.encoding)
    if kind == "arff" or is_arff(text):
        return parse_arff(text, encoding, request)
    return parse_delimited(text, encoding, request, tabs=kind == "tabs")
