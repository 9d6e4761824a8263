"""Numbers as the fields of a table, and marks on the best of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ensemblage.pages._page_parts import Column, Field

NOTHING = Field("\N{EN DASH}")
"""Where there is no number."""
MINUS = "\N{MINUS SIGN}"
"""As wide as a plus, unlike a hyphen."""


def number_field(value: float | None, digits: int, error: float | None = None) -> Field:
    """Write a number, with its standard error in a quieter tone; a dash where there is none."""
    if value is None:
        return NOTHING
    quiet = "" if error is None else f"± {error:.{digits}f}"
    return Field(f"{_shown(value, digits):.{digits}f}".replace("-", MINUS), value, quiet)


def signed_field(value: float | None, digits: int) -> Field:
    """Write a difference, with its sign."""
    if value is None:
        return NOTHING
    return Field(f"{_shown(value, digits):+.{digits}f}".replace("-", MINUS), value)


def _shown(value: float, digits: int) -> float:
    """Round a number; zero has no minus."""
    return round(value, digits) + 0.0


def count_field(number: int) -> Field:
    """Write a whole number, thousands apart."""
    return Field(f"{number:,}", number)


def share_field(value: float | None) -> Field:
    """Write a share between 0 and 1 in per cent."""
    return NOTHING if value is None else Field(f"{value:.1%}", value)


def mark_best(columns: Sequence[Column], rows: Iterable[Sequence[Field]]) -> list[list[Field]]:
    """Mark the best number of each column that has a direction."""
    marked = [list(row) for row in rows]
    for j, column in enumerate(columns):
        if column.greater_is_better is not None:
            fields = mark_best_of([row[j] for row in marked], column.greater_is_better)
            for row, field in zip(marked, fields, strict=True):
                row[j] = field
    return marked


def mark_best_of(fields: Sequence[Field], greater_is_better: bool) -> list[Field]:
    """Mark the best of some numbers; of equals as shown, all; none if all are equal."""
    known = {field.value: field.text for field in fields if field.value is not None}
    if len(set(known.values())) < 2:
        return list(fields)
    best = known[max(known) if greater_is_better else min(known)]
    return [replace(field, best=field.text == best) for field in fields]
