"""Results to the rows of a paper's table, and the rows to plain sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import friedmanchisquare, wilcoxon

from ensemblage.experiments._declare import CellResult, ResultRow

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


def gain_sentence(one: str, other: str, gains: Sequence[float], digits: int = 2) -> list[str]:
    """Say how one method compares with another over the datasets.

    Parameters
    ----------
    one, other : str
        Their names.
    gains : sequence of float
        One per dataset.
    digits : int, default=2
        After the point.

    Returns
    -------
    list of str
        One sentence, or none without gains.
    """
    values = np.array(gains, dtype=float)
    if not len(values):
        return []
    text = (
        f"{one} less {other}: {values.mean():+.{digits}f} on average over {len(values)} datasets, "
        f"better on {int((values > 0).sum())}"
    )
    if len(values) < 6 or np.allclose(values, 0):  # no smaller number can be significant
        return [f"{text}."]
    return [f"{text}, Wilcoxon p = {wilcoxon(values).pvalue:.2g}."]


def mean_rows(rows: Sequence[ResultRow], columns: Sequence[str], title: str = "mean") -> list:
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
        Only rows that can be compared with the paper count; ``repeats`` is their number, and
        the standard error is over them.
    """
    made = []
    for column in columns:
        known = [r for r in rows if r.column == column and r.ours is not None and r.comparable]
        theirs = [r.paper for r in known if r.paper is not None]
        paper = float(np.mean(theirs)) if theirs and len(theirs) == len(known) else None
        failures = sum(r.failures for r in rows if r.column == column)
        ours = [r.ours for r in known if r.ours is not None]
        note = f"Mean over {len(ours)} rows; its standard error is over them."
        made.append(entry(title, column, ours, paper=paper, failures=failures, note=note))
    return made


def closeness(rows: Sequence[ResultRow], digits: int = 3) -> list[str]:
    """Say how far the columns are from the paper's.

    Parameters
    ----------
    rows : sequence of ResultRow
        A table's, without its means.
    digits : int, default=3
        After the point.

    Returns
    -------
    list of str
        One sentence, or none if nothing can be compared.
    """
    parts = []
    for column in dict.fromkeys(row.column for row in rows):
        gaps = [abs(r.difference) for r in rows if r.column == column and r.difference is not None]
        if gaps:
            parts.append(f"{column} {np.mean(gaps):.{digits}f} ({len(gaps)} rows)")
    return [f"Mean absolute difference to the paper: {', '.join(parts)}."] if parts else []


def complete_scores(
    rows: Sequence[ResultRow], columns: Sequence[str], source: str = "ours"
) -> tuple[list[str], np.ndarray]:
    """Table of the rows in which every one of some columns has a value.

    Parameters
    ----------
    rows : sequence of ResultRow
        A table's, without its means.
    columns : sequence of str
        Which.
    source : {"ours", "paper"}, default="ours"
        Whose values.

    Returns
    -------
    names : list of str
        Of the complete rows.
    scores : ndarray of shape (n_rows, n_columns)
        Their values.
    """
    place = {(row.row, row.column): getattr(row, source) for row in rows}
    names = [
        name
        for name in dict.fromkeys(row.row for row in rows)
        if all(place.get((name, column)) is not None for column in columns)
    ]
    scores = [[place[name, column] for column in columns] for name in names]
    return names, np.array(scores, dtype=float).reshape(len(names), len(columns))


def who_wins(
    rows: Sequence[ResultRow], columns: Sequence[str], *, greater_is_better: bool
) -> list[str]:
    """Say in how many rows each column is best.

    Parameters
    ----------
    rows : sequence of ResultRow
        A table's, without its means.
    columns : sequence of str
        Those that compete.
    greater_is_better : bool
        Direction.

    Returns
    -------
    list of str
        One sentence, or none if no row is complete.
    """
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
    return [f"Best (ties count for all) of {len(names)} complete rows: {', '.join(parts)}."]


def friedman(rows: Sequence[ResultRow], columns: Sequence[str], source: str = "ours") -> list[str]:
    """Friedman's test of whether some columns differ, over the complete rows.

    Parameters
    ----------
    rows : sequence of ResultRow
        A table's, without its means.
    columns : sequence of str
        At least three.
    source : {"ours", "paper"}, default="ours"
        Whose values.

    Returns
    -------
    list of str
        One sentence, or none if there are too few rows.
    """
    # evaluation.compare_methods gives this and the post-hoc tests: this is the place to call it.
    names, scores = complete_scores(rows, columns, source)
    if len(names) < 3 or len(columns) < 3 or (scores == scores[:, :1]).all():
        return []
    statistic, pvalue = friedmanchisquare(*scores.T)
    whose = "our" if source == "ours" else "the paper's printed"
    named = ", ".join(f"'{column}'" for column in columns)
    sentence = f"Friedman's statistic of {whose} columns {named} over {len(names)} rows: "
    return [f"{sentence}{statistic:.2f} (p = {pvalue:.2g})."]
