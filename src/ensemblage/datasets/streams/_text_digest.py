"""The texts of a long column, one of each shape: enough to decide what the column holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ensemblage.datasets._table import MISSING, NUMBER, WORD

# What numbers are told by: digits, a zero at the start of a group or not, groups up to four long.
PLAIN_DIGITS = str.maketrans("12345678", "99999999")
# Dates also by whether a group can be a month: 0, 1, 2 and the others.
DATE_DIGITS = str.maketrans("3456789", "9999999")
REST_OF_GROUP = re.compile(r"(?<=\d{4})\d+")
BETWEEN = "\x1f"
# A column with more shapes than this holds words; so do texts of that many characters.
MOST_SHAPES = 20_000
MOST_CHARACTERS = 2_000_000


class TextDigest:
    """One text of each shape that occurs in a column, in the order of their first occurrence.

    Which marks numbers have, whether texts are dates and whether day or month comes first depends
    on shapes only, so that the rules for whole columns can judge the digest instead.
    """

    def __init__(self, kind: str | None) -> None:
        self._kind = kind
        self._found: dict[str, str] = {}
        self._characters = 0

    @property
    def texts(self) -> list[str]:
        """The texts found."""
        return [*self._found.values()]

    def add(self, values: Sequence[str]) -> None:
        """Look at further texts of the column."""
        if self._kind == WORD:
            if not self._found:
                self._keep((text, text) for text in values if text.strip() not in MISSING)
            return
        if len(self._found) < MOST_SHAPES and self._characters < MOST_CHARACTERS:
            distinct = [*dict.fromkeys(values)]
            self._keep(zip(self._shapes(distinct), distinct, strict=True))

    def _keep(self, pairs: Iterable[tuple[str, str]]) -> None:
        for shape, text in pairs:
            if shape not in self._found:
                self._found[shape] = text
                self._characters += len(text)

    def _shapes(self, texts: Sequence[str]) -> list[str]:
        """Write texts with few different digits, together, as that is faster than one by one."""
        digits = PLAIN_DIGITS if self._kind == NUMBER else DATE_DIGITS
        joined = BETWEEN.join(texts).translate(digits)
        shapes = REST_OF_GROUP.sub("", joined).split(BETWEEN)
        return shapes if len(shapes) == len(texts) else [*texts]
