"""Options by which a file is read."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ensemblage._core import listing, set_module, suggestion

AS_TEXT = "text"
DAY_FIRST = "day-first"
MONTH_FIRST = "month-first"

CHOICES = {
    "decimal": (".", ","),
    "thousands": ("", ".", ",", " ", "'"),
    "dates": (DAY_FIRST, MONTH_FIRST, AS_TEXT),
    "header": (True, False),
}
# Names of marks that a shell makes hard to type.
MARK_NAMES = {
    "comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "blank": " ",
    "point": ".", "apostrophe": "'", "none": "",
}  # fmt: skip
ANSWERS = {"yes": True, "no": False}


@set_module("ensemblage.datasets")
@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; what is None is found out from the whole file.

    Parameters
    ----------
    separator : str, default=None
        The character between values; a blank stands for runs of blanks.
    decimal : {".", ","}, default=None
        The decimal mark.
    thousands : {"", ".", ",", " ", "'"}, default=None
        The mark between groups of three digits; empty for none.
    encoding : str, default=None
        The encoding of the text, such as ``"utf-8"`` or ``"cp1252"``.
    dates : {"day-first", "month-first", "text"}, default=None
        What 3/4/2025 means, or that dates stay text.
    header : bool, default=None
        Whether the first row holds the names of the columns.
    sheet : str, default=None
        The name of the sheet of a spreadsheet, or its number, counted from 1; the first if None.
    """

    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    dates: str | None = None
    header: bool | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in allowed:
                choices = listing(map(repr, allowed))
                raise ValueError(f"`{name}` must be one of {choices}, got {value!r}.")
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise ValueError(
                f"`separator` must be one character such as ';' or a tab, got {self.separator!r}."
            )
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(f"`decimal` and `thousands` cannot both be {self.decimal!r}.")
        if self.encoding is not None:
            _check_encoding(self.encoding)

    @classmethod
    def from_options(cls, options: Sequence[str]) -> ReadOptions:
        """Read texts such as ``decimal=,``, in which marks can be spelled out as ``comma``."""
        names = [each.name for each in fields(cls)]
        given: dict[str, Any] = {}
        for option in options:
            name, equals, text = option.partition("=")
            name = name.strip()
            if not equals or name not in names:
                raise ValueError(
                    f"How to read is said by NAME=VALUE, such as decimal=, but got {option!r}."
                    f"{suggestion(name, names)} The names are: {listing(names)}."
                )
            if name in {"separator", "decimal", "thousands"}:
                given[name] = MARK_NAMES.get(text.strip().lower(), text)
            elif name == "header":
                given[name] = ANSWERS.get(text.strip().lower(), text)
            else:
                given[name] = text.strip()
        return cls(**given)


def as_options(given: ReadOptions | Mapping[str, Any] | None) -> ReadOptions:
    return given if isinstance(given, ReadOptions) else ReadOptions(**(given or {}))


def _check_encoding(encoding: str) -> None:
    try:
        usable = codecs.lookup(encoding)._is_text_encoding  # noqa: SLF001  no public way to ask
    except LookupError:
        usable = False
    if not usable:
        raise ValueError(
            f"`encoding` {encoding!r} is not known; utf-8, cp1252, latin-1 and utf-16 are."
        )


class Request(NamedTuple):
    """What is asked of a reader: what messages call the file, known kinds, and how to read."""

    name: str
    kinds: Mapping[str, str] = {}
    options: ReadOptions = ReadOptions()
