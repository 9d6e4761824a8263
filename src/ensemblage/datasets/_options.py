"""Options for reading files."""

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
# Names of characters that are hard to type in a shell.
CHARACTER_NAMES = {
    "comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " ",
    "point": ".", "apostrophe": "'", "none": "",
}  # fmt: skip
YES_OR_NO = {"yes": True, "no": False}


@set_module("ensemblage.datasets")
@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; options that are None are inferred from the whole file.

    Parameters
    ----------
    separator : str, default=None
        The separator (delimiter) between values; a space stands for any whitespace.
    decimal : {".", ","}, default=None
        The decimal mark.
    thousands : {"", ".", ",", " ", "'"}, default=None
        The thousands separator; empty for none.
    encoding : str, default=None
        The encoding of the text, such as ``"utf-8"`` or ``"cp1252"``.
    dates : {"day-first", "month-first", "text"}, default=None
        The order of day and month in dates such as 3/4/2025; "text" does not parse dates.
    header : bool, default=None
        Whether the first row contains the column names.
    sheet : str, default=None
        The sheet of a spreadsheet, by name or by number from 1; the first if None.
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
            raise ValueError(
                f"`decimal` and `thousands` must differ, got {self.decimal!r} for both."
            )
        if self.encoding is not None:
            _check_encoding(self.encoding)

    @classmethod
    def from_options(cls, options: Sequence[str]) -> ReadOptions:
        """Parse options such as ``decimal=,`` or ``decimal=comma``."""
        names = [each.name for each in fields(cls)]
        given: dict[str, Any] = {}
        for option in options:
            name, equals, text = option.partition("=")
            name = name.strip()
            if not equals or name not in names:
                raise ValueError(
                    f"Expected a read option NAME=VALUE, such as decimal=comma, got {option!r}."
                    f"{suggestion(name, names)} The names are: {listing(names)}."
                )
            if name in {"separator", "decimal", "thousands"}:
                given[name] = CHARACTER_NAMES.get(text.strip().lower(), text)
            elif name == "header":
                given[name] = YES_OR_NO.get(text.strip().lower(), text)
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
            f"`encoding` {encoding!r} is unknown; use for example utf-8, cp1252, latin-1 or utf-16."
        )


class Request(NamedTuple):
    """The name of a file in messages, known kinds of columns, and how to read it."""

    name: str
    kinds: Mapping[str, str] = {}
    options: ReadOptions = ReadOptions()
