"""What stands above ``@data`` in ARFF: attributes, their types and their categories."""

from __future__ import annotations

import re
from typing import NamedTuple

from ensemblage.datasets._table import DATE, NUMBER, WORD
from ensemblage.messages import suggestion

QUOTED = r"""'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)\""""
NAME = re.compile(rf"""{QUOTED}|([^\s{{'"][^\s{{]*)""")
# By commas: quoted, with blanks around it, or all up to the next comma.
VALUE = re.compile(rf"[ \t]*(?:(?:{QUOTED})[ \t]*(?=,|$)|([^,]*))(?:,|$)")
# By Weka's own rule: quoted, or all up to a comma or a blank; what follows % is a comment.
TOKEN = re.compile(rf"""{QUOTED}|([^\s,%'"][^\s,%]*)|(%.*)|(['"])""")
TYPES = {"numeric": NUMBER, "real": NUMBER, "integer": NUMBER, "string": WORD, "date": DATE}
ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
ISO = "yyyy-MM-dd'T'HH:mm:ss"
# The letters of Java's date formats, with what they stand for.
LETTERS = {
    "y": r"(?P<year>\d{2,4})", "M": r"(?P<month>\d\d?)", "d": r"(?P<day>\d\d?)",
    "H": r"(?P<hour>\d\d?)", "k": r"(?P<hour>\d\d?)", "h": r"(?P<hour>\d\d?)",
    "K": r"(?P<hour>\d\d?)", "m": r"(?P<minute>\d\d?)", "s": r"(?P<second>\d\d?)",
    "S": r"(?P<part>\d{1,9})", "a": r"(?P<half>[AaPp][Mm])", "E": r"[A-Za-z]+",
    "z": r"(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)", "Z": r"(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)",
    "X": r"(?P<zone>Z|[+-]\d\d:?\d\d)",
}  # fmt: skip
MONTH_NAME = r"(?P<name>[A-Za-z]+)"


class Attribute(NamedTuple):
    """A declared column: its categories if they are listed, its format if it holds dates."""

    name: str
    kind: str = WORD
    categories: tuple[str, ...] | None = None
    form: str = ISO

    @property
    def default(self) -> str | None:
        """What a sparse row means where it has no value."""
        return self.categories[0] if self.categories else "0" if self.kind == NUMBER else None


def declare(line: str, where: str) -> Attribute:
    """Read the declaration of one attribute; ``line`` begins after ``@attribute``."""
    match = NAME.match(line)
    kind = "" if match is None else line[match.end() :].strip()
    if match is None or not kind:
        raise ValueError(
            f"{where} is not an ARFF declaration: `@attribute NAME TYPE` is expected, got "
            f"{line[:40]!r}."
        )
    name = unquote(match)
    if kind.startswith("{"):
        if "}" not in kind:
            raise ValueError(f"{where} has a list of categories that is not closed by a brace.")
        return Attribute(name, WORD, _categories(kind[1 : kind.rindex("}")], where))
    word = re.split(r"[^A-Za-z]", kind, maxsplit=1)[0].lower()
    if word == "relational":
        raise ValueError(f"{where} declares tables inside rows, which are not read: flatten them.")
    if word not in TYPES:
        raise ValueError(
            f"{where} declares the unknown type {kind[:20]!r} for {name!r}."
            f"{suggestion(word, TYPES)} Known are {', '.join(TYPES)} and lists of categories."
        )
    form = kind[len(word) :].strip().strip("'\"") if word == "date" else ""
    return Attribute(name, TYPES[word], form=form or ISO)


def _categories(inside: str, where: str) -> tuple[str, ...]:
    values = split_values(inside, where) if "," in inside else split_tokens(inside, where)
    return tuple(dict.fromkeys(value for value in map(plain, values) if value))


def plain(value: str | None) -> str:
    """Give a value as text; an unquoted question mark, which is a gap in a row, is one too."""
    return "?" if value is None else value


def split_values(line: str, where: str) -> list[str | None]:
    """Split at commas; None is an unquoted question mark."""
    values: list[str | None] = []
    for match in VALUE.finditer(line):
        text = match[3]
        if text is not None:
            text = text.strip()
            if text[:1] in {"'", '"'}:
                raise ValueError(f"{where} has a quotation mark that is not closed.")
        values.append(unquote(match) if text is None else None if text == "?" else text)
        if match.end() == len(line) and not match[0].endswith(","):
            break
    return values


def split_tokens(line: str, where: str) -> list[str | None]:
    """Split at blanks and commas, as Weka does; None is an unquoted question mark."""
    values: list[str | None] = []
    for match in TOKEN.finditer(line):
        if match[5]:
            raise ValueError(f"{where} has a quotation mark that is not closed.")
        if match[4] is None:
            values.append(None if match[3] == "?" else unquote(match))
    return values


def unquote(match: re.Match[str]) -> str:
    """Give the text of a match: quoted by ' or " with backslash escapes, or as it stands."""
    single, double, bare = match.groups()[:3]
    if bare is not None:
        return bare
    quoted = single if single is not None else double or ""
    return re.sub(r"\\(.)", lambda match: ESCAPED.get(match[1], match[1]), quoted)


def date_pattern(form: str) -> re.Pattern[str]:
    """Make a pattern of a date format as Java writes it, such as ``dd.MM.yyyy HH:mm``."""
    parts = []
    for quoted, run, letter, other in re.findall(r"'([^']*)'|(([A-Za-z])\3*)|(.)", form):
        if not run:
            parts.append(re.escape(quoted or other))
        elif letter == "M" and len(run) > 2:
            parts.append(MONTH_NAME)
        else:
            parts.append(LETTERS.get(letter, re.escape(run)))
    return re.compile("".join(parts))
