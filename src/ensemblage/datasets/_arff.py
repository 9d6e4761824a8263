"""Weka's ARFF files."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import count, listing, suggestion
from ensemblage.datasets._options import Request
from ensemblage.datasets._table import (
    CATEGORICAL,
    DATE,
    MISSING_TOKENS,
    NUMERIC,
    NUMERIC_OR_LABEL,
    Table,
    parse_number,
)
from ensemblage.datasets._text import UTF_8, distinct_names
from ensemblage.datasets._value_types import moment, read_dates

Array = NDArray[Any]
Row = list[str | None]

QUOTED = r"""'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)\""""
NAME = re.compile(rf"""{QUOTED}|([^\s{{'"][^\s{{]*)""")
# Comma-separated: quoted with optional spaces around it, or everything up to the next comma.
VALUE = re.compile(rf"[ \t]*(?:(?:{QUOTED})[ \t]*(?=,|$)|([^,]*))(?:,|$)")
# Weka's rule: quoted, or everything up to a comma or space; % starts a comment.
TOKEN = re.compile(rf"""{QUOTED}|([^\s,%'"][^\s,%]*)|(%.*)|(['"])""")
TYPES = {
    "numeric": NUMERIC, "real": NUMERIC, "integer": NUMERIC, "string": CATEGORICAL, "date": DATE,
}  # fmt: skip
ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
ISO = "yyyy-MM-dd'T'HH:mm:ss"
# Letters of Java's date formats, each with its pattern.
LETTERS = {
    "y": r"(?P<year>\d{2,4})", "M": r"(?P<month>\d\d?)", "d": r"(?P<day>\d\d?)",
    "H": r"(?P<hour>\d\d?)", "k": r"(?P<hour>\d\d?)", "h": r"(?P<hour>\d\d?)",
    "K": r"(?P<hour>\d\d?)", "m": r"(?P<minute>\d\d?)", "s": r"(?P<second>\d\d?)",
    "S": r"(?P<part>\d{1,9})", "a": r"(?P<half>[AaPp][Mm])", "E": r"[A-Za-z]+",
    "z": r"(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)", "Z": r"(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)",
    "X": r"(?P<zone>Z|[+-]\d\d:?\d\d)",
}  # fmt: skip
MONTH_NAME = r"(?P<name>[A-Za-z]+)"
# Other declarations in the header; KEEL writes inputs and outputs.
IGNORED = ("@relation", "@input", "@output")
# By kind: the missing value and the dtype of a column.
MISSING_VALUES = {NUMERIC: (math.nan, "float64"), DATE: (np.datetime64("NaT"), "datetime64[ms]")}


class Attribute(NamedTuple):
    """A declared column, with its categories if nominal and its format if a date."""

    name: str
    kind: str = CATEGORICAL
    categories: tuple[str, ...] | None = None
    form: str = ISO

    @property
    def default(self) -> str | None:
        """The value that a sparse row omits."""
        return self.categories[0] if self.categories else "0" if self.kind == NUMERIC else None


def declare(line: str, where: str) -> Attribute:
    """Read the declaration of one attribute; ``line`` begins after ``@attribute``."""
    match = NAME.match(line)
    kind = "" if match is None else line[match.end() :].strip()
    if match is None or not kind:
        raise ValueError(
            f"{where} is not an ARFF declaration: expected `@attribute NAME TYPE`, got "
            f"{line[:40]!r}."
        )
    name = _unquote(match)
    if kind.startswith("{"):
        if "}" not in kind:
            raise ValueError(f"{where} has a list of categories without a closing brace.")
        inside = kind[1 : kind.rindex("}")]
        values = split_values(inside, where) if "," in inside else split_tokens(inside, where)
        # an unquoted question mark is a category here, and a missing value in a row
        texts = ("?" if value is None else value for value in values)
        return Attribute(name, CATEGORICAL, tuple(dict.fromkeys(filter(None, texts))))
    type_name = re.split(r"[^A-Za-z]", kind, maxsplit=1)[0].lower()
    if type_name == "relational":
        raise ValueError(
            f"{where} declares a relational attribute, which is not supported: flatten the table."
        )
    if type_name not in TYPES:
        raise ValueError(
            f"{where} declares the unknown type {kind[:20]!r} for {name!r}."
            f"{suggestion(type_name, TYPES)} Expected one of {', '.join(TYPES)}, or a list of "
            "categories."
        )
    form = kind[len(type_name) :].strip().strip("'\"") if type_name == "date" else ""
    return Attribute(name, TYPES[type_name], form=form or ISO)


def split_values(line: str, where: str) -> list[str | None]:
    """Split at commas; an unquoted question mark is None."""
    values: list[str | None] = []
    for match in VALUE.finditer(line):
        text = match[3]
        if text is not None:
            text = text.strip()
            if text[:1] in {"'", '"'}:
                raise ValueError(f"{where} has a quotation mark that is not closed.")
        values.append(_unquote(match) if text is None else None if text == "?" else text)
        if match.end() == len(line) and not match[0].endswith(","):
            break
    return values


def split_tokens(line: str, where: str) -> list[str | None]:
    """Split at whitespace and commas, as Weka does; an unquoted question mark is None."""
    values: list[str | None] = []
    for match in TOKEN.finditer(line):
        if match[5]:
            raise ValueError(f"{where} has a quotation mark that is not closed.")
        if match[4] is None:
            values.append(None if match[3] == "?" else _unquote(match))
    return values


def _unquote(match: re.Match[str]) -> str:
    """Return the text of a match, without quotation marks and backslash escapes."""
    single, double, bare = match.groups()[:3]
    if bare is not None:
        return bare
    quoted = single if single is not None else double or ""
    return re.sub(r"\\(.)", lambda match: ESCAPED.get(match[1], match[1]), quoted)


def date_pattern(form: str) -> re.Pattern[str]:
    """Compile a Java date format, such as ``dd.MM.yyyy HH:mm``, to a pattern."""
    parts = []
    for quoted, run, letter, other in re.findall(r"'([^']*)'|(([A-Za-z])\3*)|(.)", form):
        if not run:
            parts.append(re.escape(quoted or other))
        elif letter == "M" and len(run) > 2:
            parts.append(MONTH_NAME)
        else:
            parts.append(LETTERS.get(letter, re.escape(run)))
    return re.compile("".join(parts))


class _InvalidValueError(ValueError):
    """A value that its attribute does not allow."""

    def __init__(self, value: str, reason: str) -> None:
        super().__init__(reason)
        self.value = value


def parse_arff(text: str, encoding: str, request: Request) -> Table:
    """Parse ARFF text; requested kinds override the declared ones."""
    attributes, rows, lines = _read(text, request.name)
    names = distinct_names([each.name for each in attributes])
    columns, categories, labels = [], {}, {}
    for name, attribute, values in zip(names, attributes, zip(*rows, strict=True), strict=True):
        kind = requested = request.kinds.get(name, attribute.kind)
        if requested == NUMERIC_OR_LABEL:
            kind = NUMERIC if attribute.kind == NUMERIC else CATEGORICAL
        try:
            columns.append(_column(attribute, values, kind))
            if requested == NUMERIC_OR_LABEL and kind == NUMERIC:
                labels[name] = _column(attribute, values, CATEGORICAL)
        except _InvalidValueError as error:
            line = lines[values.index(error.value)]
            raise ValueError(
                f"Line {line} of {request.name} has {error.value!r} in column {name!r}; {error}."
            ) from None
        if attribute.categories and kind == CATEGORICAL:
            categories[name] = attribute.categories
    notes = () if encoding == UTF_8 else (f"Read with encoding {encoding}.",)
    written = Table(tuple(labels), tuple(labels.values())) if labels else None
    return Table(tuple(names), tuple(columns), categories, notes, written)


def _read(text: str, name: str) -> tuple[list[Attribute], list[Row], list[int]]:
    """Return the attributes, the rows and the line number of each row."""
    attributes: list[Attribute] = []
    rows: list[Row] = []
    lines: list[int] = []
    in_data = False
    for number, line in enumerate(map(str.strip, io.StringIO(text)), start=1):
        if not line or line.startswith("%"):
            continue
        where = f"Line {number} of {name}"
        if in_data:
            rows.append(_row(line, attributes, where))
            lines.append(number)
        elif line[:5].lower() == "@data":
            in_data = True
        else:
            _declare(line, attributes, where)
    if not attributes:
        raise ValueError(f"{name} declares no @attribute: it is empty or not an ARFF file.")
    if not rows:
        raise ValueError(f"{name} has attributes but no rows after @data.")
    return attributes, rows, lines


def _declare(line: str, attributes: list[Attribute], where: str) -> None:
    if line[:10].lower() == "@attribute":
        attributes.append(declare(line[10:].strip(), where))
    elif not line.lower().startswith(IGNORED):
        raise ValueError(f"{where} is not an ARFF declaration: {line[:40]!r}.")


def _row(line: str, attributes: Sequence[Attribute], where: str) -> Row:
    """Split a row at commas, else at tabs, else by Weka's rule (whitespace or commas)."""
    # Weka allows an instance weight in braces after a row; it is ignored
    start = line.rfind("{")
    if start > 0 and line.endswith("}"):
        line = line[:start].rstrip(", \t")
    if line.startswith("{"):
        return _sparse(line, attributes, where)
    width = len(attributes)
    if " %" not in line:
        for row in _split_row(line, where):
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


def _split_row(line: str, where: str) -> Iterator[Row]:
    if "'" in line or '"' in line:
        yield split_values(line, where)
        return
    for separator in (",", "\t"):
        yield [None if text == "?" else text for text in map(str.strip, line.split(separator))]


def _sparse(line: str, attributes: Sequence[Attribute], where: str) -> Row:
    """Parse a sparse row: pairs of attribute index (from 0) and value."""
    tokens = split_tokens(line.strip("{} \t"), where)
    row = [each.default for each in attributes]
    for index, value in zip(tokens[::2], tokens[1::2], strict=False):
        if index is None or not index.isdecimal() or int(index) >= len(row):
            raise ValueError(
                f"{where} has a value for attribute index {index}, but {len(row)} attributes are "
                "declared (indices start at 0)."
            )
        row[int(index)] = value
    return row


def _column(attribute: Attribute, values: Sequence[str | None], kind: str) -> Array:
    distinct = dict.fromkeys(value for value in values if value is not None)
    if kind == CATEGORICAL:
        declared = attribute.categories
        # an empty string is missing unless it is a declared category
        known = [text for text in distinct if text or "" in (declared or ())]
        found = dict(zip(known, known, strict=True))
        column = np.empty(len(values), dtype=object)
        column[:] = [None if value is None else found.get(value) for value in values]
        if declared is not None:
            for text in known:
                if text not in declared:
                    raise _InvalidValueError(text, f"declared categories: {listing(declared)}")
        return column
    known = [text for text in distinct if text not in MISSING_TOKENS]
    read = _dates(known, attribute) if kind == DATE else _numbers(known)
    missing, dtype = MISSING_VALUES[kind]
    lookup: dict[str | None, Any] = dict(zip(known, read, strict=True))
    return np.array([lookup.get(value, missing) for value in values], dtype=dtype)


def _numbers(known: Sequence[str]) -> list[float]:
    numbers = [parse_number(text) for text in known]
    for text, number in zip(known, numbers, strict=True):
        if math.isnan(number):
            raise _InvalidValueError(text, "expected a finite number")
    return numbers


def _dates(known: Sequence[str], attribute: Attribute) -> list[np.datetime64]:
    if attribute.kind != DATE:
        dates = read_dates(known) if known else None
        if known and dates is None:
            raise _InvalidValueError(known[0], "expected a date")
        return [] if dates is None else [*dates[0]]
    pattern, found = date_pattern(attribute.form), []
    for text in known:
        match = pattern.fullmatch(text)
        try:
            found.append(moment({"month": "13"} if match is None else match.groupdict()))
        except ValueError:
            raise _InvalidValueError(
                text, f"expected a date of the form {attribute.form!r}"
            ) from None
    return found
