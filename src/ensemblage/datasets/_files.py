"""From a file to a table: the suffix says which format it is."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from ensemblage.datasets._arff import parse_arff
from ensemblage.datasets._delimited import parse_delimited
from ensemblage.datasets._parquet import read_parquet
from ensemblage.datasets._table import Table
from ensemblage.messages import suggestion

FORMATS = {
    ".csv": "csv", ".txt": "csv", ".data": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".arff": "arff", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


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
