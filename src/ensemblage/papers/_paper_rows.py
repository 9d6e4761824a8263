"""Results to the rows of a paper's table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ensemblage.runs import CellResult, ResultRow

Repeats: TypeAlias = Mapping[Any, float]
"""One value per repeat."""


def grouped(results: Iterable[CellResult], *names: str) -> dict[tuple[Any, ...], list[CellResult]]:
    """Sort results by some of their cells' parameters.

    Parameters
    ----------
    results : iterable of CellResult
        Any.
    *names : str
        Parameters; one that a cell does not have counts as None.

    Returns
    -------
    dict of tuple to list of CellResult
        In the order of the results.
    """
    groups: dict[tuple[Any, ...], list[CellResult]] = {}
    for result in results:
        key = tuple(result.cell.params.get(name) for name in names)
        groups.setdefault(key, []).append(result)
    return groups


def by_repeat(results: Iterable[CellResult], value: str) -> dict[Any, float]:
    """One value of each cell that did not fail.

    Parameters
    ----------
    results : iterable of CellResult
        Cells that differ in ``repeat``.
    value : str
        Which of their values: a number, or a list of them with one number per start.

    Returns
    -------
    dict
        By repeat; by ``first`` start plus position where a cell holds a list.
    """
    found: dict[Any, float] = {}
    for result in results:
        if result.error:
            continue
        numbers = result.values[value]
        params = result.cell.params
        if isinstance(numbers, list):
            first = params.get("first", 0)
            found |= {first + i: float(number) for i, number in enumerate(numbers)}
        else:
            found[params.get("repeat", 0)] = float(numbers)
    return found


def failed(results: Iterable[CellResult]) -> int:
    """Count the cells that failed.

    Parameters
    ----------
    results : iterable of CellResult
        Any.

    Returns
    -------
    int
    """
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
    """Average the repeats into one entry of a table.

    Parameters
    ----------
    row, column : str
        Where it stands.
    values : mapping or iterable of float
        One per repeat; may be empty.
    paper : float or None, default=None
        The paper's value.
    failures : int, default=0
        Cells that failed.
    note : str, default=""
        One sentence.
    comparable : bool, default=True
        Whether the two values are of the same data.

    Returns
    -------
    ResultRow
        Without NaN: what is not there is None.
    """
    numbers = np.array(list(values.values() if isinstance(values, Mapping) else values), float)
    several = len(numbers) > 1
    spread = float(numbers.std(ddof=1) / np.sqrt(len(numbers))) if several else None
    ours = float(numbers.mean()) if len(numbers) else None
    return ResultRow(
        row, column, paper, ours, spread, len(numbers), failures, note, comparable=comparable
    )


def averaged(settings: Sequence[Repeats]) -> dict[Any, float]:
    """Average settings within each repeat.

    Parameters
    ----------
    settings : sequence of mapping
        Values by repeat; a setting may lack some.

    Returns
    -------
    dict
        By repeat.
    """
    repeats = dict.fromkeys(repeat for setting in settings for repeat in setting)
    return {
        repeat: float(np.mean([setting[repeat] for setting in settings if repeat in setting]))
        for repeat in repeats
    }


def mean_of(setting: Repeats) -> float:
    """Average over the repeats.

    Parameters
    ----------
    setting : mapping
        Values by repeat, at least one.

    Returns
    -------
    float
    """
    return float(np.mean(list(setting.values())))


def improving(settings: Sequence[Repeats], plain: Repeats) -> list[Repeats]:
    """Keep the settings whose mean is above the plain method's on the same repeats.

    Parameters
    ----------
    settings : sequence of mapping
        Values by repeat.
    plain : mapping
        The plain method's.

    Returns
    -------
    list of mapping
        In their order.
    """
    # a gain of rounding alone is none
    return [setting for setting in settings if (paired_gain(setting, plain) or 0.0) > 1e-9]


def paired_gain(setting: Repeats, plain: Repeats) -> float | None:
    """Mean difference to the plain method on the repeats that both have.

    Parameters
    ----------
    setting, plain : mapping
        Values by repeat.

    Returns
    -------
    float or None
        None without a common repeat.
    """
    gains = [setting[repeat] - plain[repeat] for repeat in setting if repeat in plain]
    return float(np.mean(gains)) if gains else None


def mean_rows(
    rows: Sequence[ResultRow], columns: Sequence[str], title: str = "mean"
) -> list[ResultRow]:
    """Average each column over the rows that have a value, ours and the paper's alike.

    Parameters
    ----------
    rows : sequence of ResultRow
        A table's.
    columns : sequence of str
        Which.
    title : str, default="mean"
        Name of the new row.

    Returns
    -------
    list of ResultRow
        Only rows that can be compared with the paper count; ``repeats`` is their number. A
        standard error over datasets would only say that these differ.
    """
    made = []
    for column in columns:
        known = [r for r in rows if r.column == column and r.ours is not None and r.comparable]
        theirs = [r.paper for r in known if r.paper is not None]
        paper = float(np.mean(theirs)) if theirs and len(theirs) == len(known) else None
        failures = sum(r.failures for r in rows if r.column == column)
        ours = [r.ours for r in known if r.ours is not None]
        mean = float(np.mean(ours)) if ours else None
        note = f"Mean over {len(ours)} rows." if ours else ""
        made.append(
            ResultRow(title, column, paper, mean, None, len(ours), failures, note, is_mean=True)
        )
    return made
