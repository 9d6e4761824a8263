"""CSV and TSV: text with a header line, one row per line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

from ensemblage.datasets._table import Table

# A spreadsheet in much of Europe writes semicolons; tabs come from copy and paste.
SEPARATORS = ";\t|"


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
