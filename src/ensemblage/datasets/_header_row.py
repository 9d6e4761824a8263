"""Whether the first row of a file is a header, or a row like the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ensemblage.datasets._table import MISSING, parse_number

NUMBER_LIKE = re.compile(
    r"[$€£]?\s?[+-]?(?:\d[\d.,'\u2019\u00a0\u202f ]*|[.,]\d+)(?:[eE][+-]?\d+)?\s?[%€]?"
)
NEARLY_ALL = 0.9
YEARS = range(1900, 2101)


def is_number_like(text: str) -> bool:
    """Whether a text without surrounding blanks is a number by any country's habit."""
    return NUMBER_LIKE.fullmatch(text) is not None


def looks_like_data(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Whether a file's first row has values like those below it, so that it is no header.

    A number fits if its column holds numbers of that size, a word if its column has it again.
    """
    cells = [text for text in first if text not in MISSING]
    numeric = [text for text in cells if is_number_like(text)]
    if not columns:
        return len(numeric) == len(cells) > 0
    if not cells or _is_series(numeric):
        return False
    pairs = [pair for pair in zip(first, columns, strict=True) if pair[0] not in MISSING]
    fits = [_fits(text, column) for text, column in pairs if is_number_like(text)]
    words = [_occurs(text, column) for text, column in pairs if not is_number_like(text)]
    if not fits:
        return len(words) > 1 and all(words)
    misfits = fits.count(False) + words.count(False)
    return misfits <= fits.count(True) // 2


def _is_series(numeric: Sequence[str]) -> bool:
    """Whether the numbers of a row count up, evenly or as years: such are names of columns."""
    values = [parse_number(text) for text in numeric]
    steps = {round(b - a, 9) for a, b in pairwise(values)}
    years = all(value in YEARS for value in values)
    return len(values) > 2 and all(step > 0 for step in steps) and (years or len(steps) == 1)


def _fits(text: str, column: Sequence[str]) -> bool:
    """Whether a number has the size of those in its column."""
    known = [value for value in map(str.strip, column) if value not in MISSING]
    numbers = [_size(value) for value in known if is_number_like(value)]
    if len(numbers) < NEARLY_ALL * len(known) or not numbers:
        return not known
    low, high = min(numbers), max(numbers)
    reach = max(high - low, abs(low), abs(high))
    return low - reach <= _size(text) <= high + reach


def _size(text: str) -> float:
    value = parse_number(text)
    if value != value:  # noqa: PLR0124  the usual test for NaN
        digits = re.sub(r"\D", "", text)
        return float(digits[:15] or 0)
    return value


def _occurs(text: str, column: Sequence[str]) -> bool:
    return any(text == value.strip() for value in column)
