"""Results to the rows of a paper's table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ensemblage.runs import CellResult, ResultRow

Repeats: TypeAlias = Mapping[int, float]
"""One value per repeat."""

Groups: TypeAlias = dict[tuple[Any, ...], list[CellResult]]


def grouped(results: Iterable[CellResult], *names: str) -> Groups:
    """Sort results by some of their cells' parameters; one that a cell lacks counts as None."""
    groups: Groups = {}
    for result in results:
        key = tuple(result.cell.params.get(name) for name in names)
        groups.setdefault(key, []).append(result)
    return groups


def by_repeat(results: Iterable[CellResult], value: str) -> dict[int, float]:
    """One value of each cell that did not fail, by its repeat.

    A cell that holds a list has one number per start, counted from its ``first``.
    """
    found: dict[int, float] = {}
    for result in results:
        if result.error:
            continue
        numbers: Any = result.values[value]
        params: Mapping[str, Any] = result.cell.params
        if isinstance(numbers, list):
            first = params.get("first", 0)
            found |= {first + i: float(number) for i, number in enumerate(numbers)}
        else:
            found[params.get("repeat", 0)] = float(numbers)
    return found


def failed(results: Iterable[CellResult]) -> int:
    """Count the cells that failed."""
    return sum(bool(result.error) for result in results)


def entry(
    row: str,
    column: str,
    values: Repeats | Iterable[float],
    *,
    paper: float | None = None,
    failures: int = 0,
    note: str = "",
    comparable: bool = True,
) -> ResultRow:
    """Average the repeats into one entry of a table; what is not there is None, never NaN."""
    numbers = np.array(list(values.values() if isinstance(values, Mapping) else values), float)
    several = len(numbers) > 1
    spread = float(numbers.std(ddof=1) / np.sqrt(len(numbers))) if several else None
    ours = float(numbers.mean()) if len(numbers) else None
    return ResultRow(
        row, column, paper, ours, spread, len(numbers), failures, note, comparable=comparable
    )


def averaged(settings: Sequence[Repeats]) -> dict[int, float]:
    """Average settings within each repeat; a setting may lack some."""
    repeats = dict.fromkeys(repeat for setting in settings for repeat in setting)
    return {
        repeat: float(np.mean([setting[repeat] for setting in settings if repeat in setting]))
        for repeat in repeats
    }


def mean_of(setting: Repeats) -> float:
    """Average over the repeats, of which there is at least one."""
    return float(np.mean(list(setting.values())))


def best_of(settings: Iterable[Repeats]) -> Repeats:
    """Take the setting of the highest mean; without settings there are no repeats."""
    return max(settings, key=mean_of, default={})


def improving(settings: Sequence[Repeats], plain: Repeats) -> list[Repeats]:
    """Keep the settings whose mean is above the plain method's on the same repeats."""
    # a gain of rounding alone is none
    return [setting for setting in settings if (paired_gain(setting, plain) or 0.0) > 1e-9]


def paired_gain(setting: Repeats, plain: Repeats) -> float | None:
    """Mean difference to the plain method on the repeats that both have, if there is one."""
    gains = [setting[repeat] - plain[repeat] for repeat in setting if repeat in plain]
    return float(np.mean(gains)) if gains else None


def mean_rows(
    rows: Sequence[ResultRow], columns: Sequence[str], title: str = "mean"
) -> list[ResultRow]:
    """Average each column over the rows that have a value, ours and the paper's alike.

    Only rows that can be compared with the paper count; ``repeats`` is their number. A standard
    error over datasets would only say that these differ.
    """
    return [_mean_row([row for row in rows if row.column == column], column, title)
            for column in columns]  # fmt: skip


def _mean_row(rows: Sequence[ResultRow], column: str, title: str) -> ResultRow:
    known = [row for row in rows if row.ours is not None and row.comparable]
    theirs = [row.paper for row in known if row.paper is not None]
    ours = [row.ours for row in known if row.ours is not None]
    return ResultRow(
        title,
        column,
        paper=float(np.mean(theirs)) if theirs and len(theirs) == len(known) else None,
        ours=float(np.mean(ours)) if ours else None,
        standard_error=None,
        repeats=len(ours),
        failures=sum(row.failures for row in rows),
        note=f"Mean over {len(ours)} rows." if ours else "",
        is_mean=True,
    )
