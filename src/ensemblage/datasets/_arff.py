"""ARFF, the format of Weka and OpenML: declared attributes, then rows, dense or sparse."""

from __future__ import annotations

import io
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ensemblage.datasets._arff_declarations import (
    Attribute,
    date_pattern,
    declare,
    split_tokens,
    split_values,
)
from ensemblage.datasets._date_texts import moment, read_dates
from ensemblage.datasets._encoding import UTF_8, Decoded
from ensemblage.datasets._reading_options import Request
from ensemblage.datasets._row_layout import distinct_names
from ensemblage.datasets._table import (
    DATE,
    EITHER,
    MISSING,
    NUMBER,
    WORD,
    AsWritten,
    Column,
    Table,
    parse_number,
)
from ensemblage.messages import count, listing

Row = list[str | None]

# What else may stand above the rows; KEEL writes inputs and outputs.
IGNORED = ("@relation", "@input", "@output")
GAPS = {NUMBER: (math.nan, "float64"), DATE: (np.datetime64("NaT"), "datetime64[ms]")}


class _File(NamedTuple):
    """What an ARFF file declares and holds, and the line that each row is on."""

    attributes: list[Attribute]
    rows: list[Row]
    lines: list[int]


class _UnfitError(ValueError):
    """A value that its attribute does not allow."""

    def __init__(self, value: str, reason: str) -> None:
        super().__init__(reason)
        self.value = value


def is_arff(text: str) -> bool:
    """Whether the first line that is neither blank nor a comment declares something."""
    for line in io.StringIO(text):
        stripped = line.strip().lower()
        if stripped and not stripped.startswith("%"):
            return stripped.startswith(("@relation", "@attribute"))
    return False


def parse_arff(source: Decoded, request: Request) -> Table:
    """Read ARFF text; known kinds overrule the declared ones."""
    file = _read(source.text, request.name)
    names = distinct_names([each.name for each in file.attributes])
    columns, categories, written = [], {}, {}
    values = zip(*file.rows, strict=True)
    for name, attribute, column in zip(names, file.attributes, values, strict=True):
        kind = asked = request.kinds.get(name, attribute.kind)
        if asked == EITHER:
            kind = NUMBER if attribute.kind == NUMBER else WORD
        try:
            columns.append(_column(attribute, column, kind))
            if asked == EITHER and kind == NUMBER:
                written[name] = AsWritten(_column(attribute, column, WORD))
        except _UnfitError as error:
            line = file.lines[column.index(error.value)]
            raise ValueError(
                f"Line {line} of {request.name} has {error.value!r} for {name!r}; {error}."
            ) from None
        if attribute.categories and kind == WORD:
            categories[name] = attribute.categories
    notes = () if source.encoding == UTF_8 else (f"Read with {source.encoding} as encoding.",)
    return Table(tuple(names), tuple(columns), categories, notes, written)


def _read(text: str, name: str) -> _File:
    file = _File([], [], [])
    in_data = False
    for number, line in enumerate(map(str.strip, io.StringIO(text)), start=1):
        if not line or line.startswith("%"):
            continue
        where = f"Line {number} of {name}"
        if in_data:
            file.rows.append(_row(line, file.attributes, where))
            file.lines.append(number)
        elif line[:5].lower() == "@data":
            in_data = True
        else:
            _declare(line, file.attributes, where)
    if not file.attributes:
        raise ValueError(f"{name} declares no @attribute: it is empty or not an ARFF file.")
    if not file.rows:
        raise ValueError(f"{name} has attributes but no rows after @data.")
    return file


def _declare(line: str, attributes: list[Attribute], where: str) -> None:
    if line[:10].lower() == "@attribute":
        attributes.append(declare(line[10:].strip(), where))
    elif not line.lower().startswith(IGNORED):
        raise ValueError(f"{where} is not an ARFF declaration: {line[:40]!r}.")


def _row(line: str, attributes: Sequence[Attribute], where: str) -> Row:
    """Split a row at commas, or else at tabs, or else by Weka's own rule, at blanks too."""
    line = _without_weight(line)
    if line.startswith("{"):
        return _sparse(line, attributes, where)
    width = len(attributes)
    if " %" not in line:
        for row in _parted(line, where):
            if len(row) == width:
                return row
            if len(row) == width + 1 and row[-1] == "":
                return row[:-1]
    tokens = split_tokens(line, where)
    if len(tokens) != width:
        raise ValueError(
            f"{where} has {count(len(tokens), 'value')}, but {count(width, 'attribute')} "
            f"{'is' if width == 1 else 'are'} declared."
        )
    return tokens


def _parted(line: str, where: str) -> Iterator[Row]:
    if "'" in line or '"' in line:
        yield split_values(line, where)
        return
    for separator in (",", "\t"):
        yield [None if text == "?" else text for text in map(str.strip, line.split(separator))]


def _without_weight(line: str) -> str:
    """Take off the weight that Weka lets follow a row in braces."""
    start = line.rfind("{")
    return line[:start].rstrip(", \t") if start > 0 and line.endswith("}") else line


def _sparse(line: str, attributes: Sequence[Attribute], where: str) -> Row:
    """Read a row that lists only what is not zero, each after its number, counted from 0."""
    tokens = split_tokens(line.strip("{} \t"), where)
    row = [each.default for each in attributes]
    for place, value in zip(tokens[::2], tokens[1::2], strict=False):
        if place is None or not place.isdecimal() or int(place) >= len(row):
            raise ValueError(
                f"{where} has a value for attribute {place}, but {len(row)} are declared, "
                "counted from 0."
            )
        row[int(place)] = value
    return row


def _column(attribute: Attribute, values: Sequence[str | None], kind: str) -> Column:
    distinct = dict.fromkeys(value for value in values if value is not None)
    known = [text for text in distinct if not _is_gap(text, attribute, kind)]
    if kind == WORD:
        found = dict(zip(known, known, strict=True))
        column = np.empty(len(values), dtype=object)
        column[:] = [None if value is None else found.get(value) for value in values]
        _check_declared(attribute, known)
        return column
    read = _numbers if kind == NUMBER else _dates
    gap, dtype = GAPS[kind]
    lookup: dict[str | None, Any] = dict(zip(known, read(known, attribute), strict=True))
    return np.array([lookup.get(value, gap) for value in values], dtype=dtype)


def _is_gap(text: str, attribute: Attribute, kind: str) -> bool:
    """Whether a text means nothing: among words only an empty one that is not declared."""
    return text in MISSING if kind != WORD else not text and "" not in (attribute.categories or ())


def _check_declared(attribute: Attribute, known: Collection[str]) -> None:
    allowed = attribute.categories
    if allowed is not None:
        for text in known:
            if text not in allowed:
                raise _UnfitError(text, f"declared are: {listing(allowed)}")


def _numbers(known: Sequence[str], _: Attribute) -> list[float]:
    numbers = [parse_number(text) for text in known]
    for text, number in zip(known, numbers, strict=True):
        if math.isnan(number):
            raise _UnfitError(text, "a finite number is expected")
    return numbers


def _dates(known: Sequence[str], attribute: Attribute) -> list[np.datetime64]:
    if attribute.kind != DATE:
        dates = read_dates(known) if known else None
        if known and dates is None:
            raise _UnfitError(known[0], "a date is expected")
        return [] if dates is None else [*dates.moments]
    pattern, found = date_pattern(attribute.form), []
    for text in known:
        match = pattern.fullmatch(text)
        try:
            found.append(moment({"month": "13"} if match is None else match.groupdict()))
        except ValueError:
            raise _UnfitError(text, f"a date of the form {attribute.form!r} is expected") from None
    return found
