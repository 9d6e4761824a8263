"""ARFF, the format of Weka and OpenML: declared attributes, then rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ensemblage.datasets._table import NUMBER, WORD, Table
from ensemblage.messages import listing

# A value is quoted by ' or ", with backslash escapes, or runs to the next separator.
VALUE = re.compile(r"""\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|([^,\t'"]*))\s*(?:[,\t]|$)""")
ATTRIBUTE = re.compile(
    r"""@attribute\s+(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|(\S+))\s+(.+)""", re.IGNORECASE
)
NUMERIC_TYPES = frozenset({"numeric", "real", "integer"})


@dataclass
class _Header:
    """What stands above ``@data``."""

    names: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)


def parse_arff(text: str, name: str, *, kinds: Mapping[str, str] | None = None) -> Table:
    """Read ARFF text; ``kinds`` overrule the declared ones, and messages call the file ``name``."""
    header = _Header()
    rows: list[list[str]] = []
    in_data = False
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("%"):
            continue
        where = f"Line {number} of {name}"
        if in_data:
            rows.append(_row(stripped, header, where))
        elif stripped.lower().startswith("@data"):
            in_data = True
        else:
            _declare(stripped, header, where)
    if not header.names:
        raise ValueError(f"{name} declares no @attribute: it is empty or not an ARFF file.")
    if not rows:
        raise ValueError(f"{name} has attributes but no rows after @data.")
    return Table.from_texts(
        header.names,
        list(zip(*rows, strict=True)),
        kinds=header.kinds | dict(kinds or {}),
        categories=header.categories,
    )


def _declare(line: str, header: _Header, where: str) -> None:
    if line.lower().startswith("@relation"):
        return
    match = ATTRIBUTE.match(line)
    if match is None:
        raise ValueError(f"{where} is not an ARFF declaration: {line[:40]!r}.")
    name = _unquote(match.groups()[:3])
    kind = match[4].strip()
    header.names.append(name)
    if kind.startswith("{"):
        header.categories[name] = tuple(_split(kind.strip("{} \t"), where))
    else:
        header.kinds[name] = NUMBER if kind.split()[0].lower() in NUMERIC_TYPES else WORD


def _row(line: str, header: _Header, where: str) -> list[str]:
    if line.startswith("{"):
        raise ValueError(f"{where} is sparse ARFF, which is not read: save the data as CSV.")
    values = _split(line, where)
    if len(values) != len(header.names):
        raise ValueError(
            f"{where} has {len(values)} values, but {len(header.names)} attributes are declared."
        )
    for name, value in zip(header.names, values, strict=True):
        allowed = header.categories.get(name)
        if allowed is not None and value not in allowed and value != "?":
            raise ValueError(
                f"{where} has {value!r} for {name!r}; declared are: {listing(allowed)}."
            )
    return values


def _split(line: str, where: str) -> list[str]:
    values, position = [], 0
    while position <= len(line):
        match = VALUE.match(line, position)
        if match is None:
            raise ValueError(f"{where} has a quotation mark that is not closed.")
        values.append(_unquote(match.groups()))
        if match.end() == len(line) and not match[0].endswith((",", "\t")):
            break
        position = match.end()
    return values


def _unquote(groups: tuple[str | None, ...]) -> str:
    single, double, plain = groups
    if plain is not None:
        return plain.strip()
    quoted = single if single is not None else double
    return re.sub(r"\\(.)", r"\1", quoted or "")
