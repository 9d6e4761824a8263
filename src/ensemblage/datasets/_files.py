"""From a file to a table: the suffix says which format it is; CSV and TSV are read here."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path

from ensemblage.datasets._arff import parse_arff
from ensemblage.datasets._parquet import read_parquet
from ensemblage.datasets._table import Table
from ensemblage.messages import suggestion

FORMATS = {
    ".csv": "csv", ".txt": "csv", ".data": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".arff": "arff", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
# A spreadsheet in much of Europe writes semicolons; tabs come from copy and paste.
SEPARATORS = ";\t|"


def read_table(path: str | PathLike[str], *, kinds: Mapping[str, str] | None = None) -> Table:
    """Read a table from a CSV, TSV, ARFF or Parquet file.

    A column holds numbers if every value that is not missing is a finite number, and words
    otherwise. Empty ones, ``NA``, ``NaN``, ``?`` and ``null`` are missing.

    Parameters
    ----------
    path : str or path-like
        The file; ``-`` is CSV from standard input.
    kinds : mapping of str to {"number", "word"}, default=None
        The kind of a column where it is known beforehand.

    Returns
    -------
    Table
        The columns, with the declared categories if the format has them.
    """
    if str(path) == "-":
        return parse_delimited(_decode(sys.stdin.buffer.read(), "-"), "standard input", kinds=kinds)
    path = Path(path)
    kind = FORMATS.get(path.suffix.lower())
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a CSV, TSV, ARFF or Parquet file is expected.")
    if not path.exists():
        raise ValueError(f"There is no file {path}.{_neighbour(path)}")
    if kind is None:
        raise ValueError(
            f"{path.name} is of no known format: the name must end in {', '.join(FORMATS)}."
        )
    if kind == "parquet":
        return read_parquet(path, kinds=kinds)
    text = _decode(path.read_bytes(), path.name)
    if kind == "arff":
        return parse_arff(text, path.name, kinds=kinds)
    return parse_delimited(text, path.name, tabs=kind == "tsv", kinds=kinds)


def _decode(data: bytes, name: str) -> str:
    # utf-8-sig drops the byte-order mark that spreadsheets put first.
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"Line {line} of {name} is not UTF-8 text (byte 0x{data[error.start]:02x}): "
            "save the file as UTF-8."
        ) from None


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return f" There is no folder {path.parent} either."
    return suggestion(path.name, (each.name for each in path.parent.iterdir()))


def parse_delimited(
    text: str, name: str, *, tabs: bool = False, kinds: Mapping[str, str] | None = None
) -> Table:
    """Read text whose values are separated by tabs, commas, or what a header without commas has."""
    if not text.strip():
        raise ValueError(f"{name} is empty: a header line and at least one row are needed.")
    separator = "\t" if tabs else _separator(text)
    lines = _lines(text, name, separator)
    _, header = next(lines)
    names = [value.strip() or f"column_{j + 1}" for j, value in enumerate(header)]
    rows = []
    for number, row in lines:
        if len(row) != len(names):
            raise ValueError(
                f"Line {number} of {name} has {len(row)} values, but the header has "
                f"{len(names)}: every row needs the same number."
            )
        rows.append(row)
    if not rows:
        raise ValueError(f"{name} has a header line but no rows.")
    try:
        return Table.from_texts(names, list(zip(*rows, strict=True)), kinds=kinds)
    except ValueError as error:
        raise ValueError(f"In {name}: {error}") from None


def _separator(text: str) -> str:
    header = text.lstrip("\r\n").splitlines()[0]
    if "," in header:
        return ","
    return max(SEPARATORS, key=header.count) if any(s in header for s in SEPARATORS) else ","


def _lines(text: str, name: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Give each row that is not blank, with the number of its last line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(
            f"Line {reader.line_num} of {name} cannot be read ({error}): "
            "look for a quotation mark that is not closed."
        ) from None
