"""Why a row is in a stratum: the columns in which it is like the stratum's rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ensemblage.explain._decision import value_text
from ensemblage.strata import ColumnDifference, StrataDescription

MOST_REASONS = 3


def reasons(
    described: StrataDescription | None, stratum: int | None, fields: Mapping[str, Any]
) -> list[str]:
    """Tell in which of a stratum's columns a row's fields are nearer to it than to all rows."""
    if described is None or stratum is None:
        return []
    found = [
        (_nearer(each, fields[each.column]), each)
        for each in described.strata[stratum].differences
        if each.column in fields
    ]
    told = sorted((pair for pair in found if pair[0] > 0), key=lambda pair: -pair[0])
    return [_like(each, fields[each.column]) for _, each in told[:MOST_REASONS]]


def _nearer(difference: ColumnDifference, value: Any) -> float:
    """Measure how much nearer a value is to the stratum's than to all rows', in its distance."""
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    if difference.kind == "missing":
        return difference.distance if missing else -difference.distance
    if missing:
        return 0.0
    if difference.kind == "word":
        same = value_text(value) == difference.category
        return difference.distance if same else -difference.distance
    gap = abs(difference.stratum - difference.all_rows)
    closer = abs(float(value) - difference.all_rows) - abs(float(value) - difference.stratum)
    return abs(difference.distance) * closer / gap if gap > 0 else 0.0


def _like(difference: ColumnDifference, value: Any) -> str:
    """Write a reason: the row's value beside the stratum's and that of all rows."""
    told = value_text(value, difference.kind)
    if difference.kind in {"word", "missing"}:
        return (
            f"{difference.column} {told}" if told == "missing" else f"{difference.column} = {told}"
        )
    stratum, everywhere = map(difference.written, (difference.stratum, difference.all_rows))
    return f"{difference.column} {told} (stratum {stratum}, all rows {everywhere})"
