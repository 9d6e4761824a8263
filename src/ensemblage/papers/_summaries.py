"""Rows and sentences that compare ours with what is printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from ensemblage._core import count
from ensemblage.evaluation import compare_methods
from ensemblage.studies import CellResult, ResultRow

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
        note=f"Mean over {count(len(ours), 'row')}." if ours else "",
        is_mean=True,
    )


Source: TypeAlias = Literal["ours", "paper"]


def complete_scores(
    rows: Sequence[ResultRow], columns: Sequence[str], source: Source = "ours"
) -> tuple[list[str], NDArray[np.float64]]:
    """Names and values, (n_rows, n_columns), of the rows in which every column has a value."""
    place = {(row.row, row.column): getattr(row, source) for row in rows}
    names = [
        name
        for name in dict.fromkeys(row.row for row in rows)
        if all(place.get((name, column)) is not None for column in columns)
    ]
    scores = [[place[name, column] for column in columns] for name in names]
    return names, np.array(scores, dtype=float).reshape(len(names), len(columns))


def closeness(rows: Sequence[ResultRow], digits: int = 3) -> list[str]:
    """Say how far the columns are from the paper's."""
    parts = []
    for column in dict.fromkeys(row.column for row in rows):
        gaps = [abs(r.difference) for r in rows if r.column == column and r.difference is not None]
        if gaps:
            parts.append(f"{column} {np.mean(gaps):.{digits}f} ({count(len(gaps), 'row')})")
    return [f"Mean absolute difference to the paper: {', '.join(parts)}."] if parts else []


def who_wins(
    rows: Sequence[ResultRow], columns: Sequence[str], *, greater_is_better: bool
) -> list[str]:
    names, scores = complete_scores(rows, columns)
    if not names:
        return []
    sign = 1.0 if greater_is_better else -1.0
    best = sign * scores
    first = np.isclose(best, best.max(axis=1, keepdims=True))
    parts = [
        f"{column} on {int(count)}"
        for column, count in zip(columns, first.sum(axis=0), strict=True)
        if count
    ]
    over = f"on {len(names)} complete rows (ties count for all)"
    return [f"Best of {', '.join(columns)} {over}: {', '.join(parts)}."]


def gain_sentence(one: str, other: str, gains: Sequence[float], digits: int = 2) -> list[str]:
    """Say how one method compares with another, given its gain on each dataset."""
    values = np.array(gains, dtype=float)
    if not len(values):
        return []
    text = (
        f"{one} less {other}: {values.mean():+.{digits}f} on average over "
        f"{count(len(values), 'dataset')}, better on {int((values > 0).sum())}"
    )
    if len(values) < 6 or np.allclose(values, 0):  # no smaller number can be significant
        return [f"{text}."]
    return [f"{text}, Wilcoxon p = {wilcoxon(values).pvalue:.2g}."]


def friedman(
    rows: Sequence[ResultRow],
    columns: Sequence[str],
    source: Source = "ours",
    *,
    greater_is_better: bool = True,
) -> list[str]:
    names, scores = complete_scores(rows, columns, source)
    if len(names) < 3 or len(columns) < 3:
        return []
    found = compare_methods(scores, names=list(columns), greater_is_better=greater_is_better)
    whose = "our" if source == "ours" else "the paper's printed"
    named = ", ".join(f"'{column}'" for column in columns)
    test = f"{found.friedman_statistic:.2f}"
    # one p-value: that of Iman and Davenport, by which the sentence goes
    return [f"Friedman's statistic of {whose} columns {named}: {test}. {found.sentence()}"]
