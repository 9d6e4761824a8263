"""A table from a file of any kind."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from ensemblage.datasets._arff import is_arff, parse_arff
from ensemblage.datasets._excel import read_spreadsheet
from ensemblage.datasets._file_names import check_file
from ensemblage.datasets._options import ReadOptions, Request
from ensemblage.datasets._parquet import read_parquet
from ensemblage.datasets._table import Table
from ensemblage.datasets._text import decode, parse_delimited, unpack


def read_table(
    path: str | PathLike[str],
    *,
    kinds: Mapping[str, str] | None = None,
    reading: ReadOptions | None = None,
) -> Table:
    """Read a table from a CSV, TSV, ARFF, Parquet or spreadsheet file.

    What a text file does not say is found out from all of it: the encoding, the separator, the
    header, the decimal mark and the one between thousands, and which columns are dates. Where
    that is not the usual, a sentence in ``Table.notes`` says so. A column holds numbers if every
    value that is not missing is a finite number, dates if every one is a date, and words
    otherwise. Empty values, ``NA``, ``NaN``, ``?`` and ``null`` are missing; among numbers and
    dates also ``n/a``, ``-``, ``unknown`` and their like, with a note.

    Parameters
    ----------
    path : str or path-like
        The file, which may be packed by gzip; ``-`` is delimited text from standard input.
        Spreadsheets (``.xlsx``, ``.xls``, ``.xlsb``, ``.ods``) need the extra ``excel``.
    kinds : mapping of str to {"numeric", "categorical", "date"}, default=None
        The kind of a column where it is known beforehand.
    reading : ReadOptions, default=None
        How to read the file, where it is not to be found out.

    Returns
    -------
    Table
        The columns, with the declared categories if the format has them.
    """
    request = Request(called(path), kinds or {}, reading or ReadOptions())
    with naming_file(path):
        if str(path) == "-":
            return _read_text(sys.stdin.buffer.read(), "text", request)
        return _read_file(Path(path), request)


def called(path: str | PathLike[str]) -> str:
    """Name data after their file, without its folder."""
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


def _read_file(path: Path, request: Request) -> Table:
    kind = check_file(path)
    if kind == "parquet":
        return read_parquet(path, request)
    data = unpack(path.read_bytes(), path.name)
    return read_spreadsheet(data, request) if kind == "sheet" else _read_text(data, kind, request)


def _read_text(data: bytes, kind: str, request: Request) -> Table:
    source = decode(data, request.name, request.reading.encoding)
    if kind == "arff" or is_arff(source.text):
        return parse_arff(source, request)
    return parse_delimited(source, request, tabs=kind == "tabs")
