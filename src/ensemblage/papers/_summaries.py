"""Rows and sentences that compare our results with the papers'."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from ensemblage._core import count
from ensemblage.evaluation import compare_methods, holm
from ensemblage.studies import CellResult, ResultRow

Repeats: TypeAlias = Mapping[int, float]
"""One value per repeat."""

MIN_TABLES = 6
"""Fewest tables with which a difference can be significant."""

Groups: TypeAlias = dict[tuple[Any, ...], list[CellResult]]


def grouped(results: Iterable[CellResult], *names: str) -> Groups:
    """Group results by some of their cells' parameters; a missing parameter counts as None."""
    groups: Groups = {}
    for result in results:
        key = tuple(result.cell.params.get(name) for name in names)
        groups.setdefault(key, []).append(result)
    return groups


def by_repeat(results: Iterable[CellResult], value: str) -> dict[int, float]:
    """One value of each successful cell, by its repeat.

    A list in a cell has one value per start, numbered from the cell's ``first``.
    """
    found: dict[int, float] = {}
    for result in results:
        if result.error:
            continue
        stored: Any = result.values[value]
        params: Mapping[str, Any] = result.cell.params
        if isinstance(stored, list):
            first = params.get("first", 0)
            found |= {first + i: float(each) for i, each in enumerate(stored)}
        else:
            found[params.get("repeat", 0)] = float(stored)
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
    """Entry of a table: mean and standard error of the repeats; None where there is no value."""
    repeats = np.array(list(values.values() if isinstance(values, Mapping) else values), float)
    several = len(repeats) > 1
    error = float(repeats.std(ddof=1) / np.sqrt(len(repeats))) if several else None
    ours = float(repeats.mean()) if len(repeats) else None
    return ResultRow(
        row, column, paper, ours, error, len(repeats), failures, note, comparable=comparable
    )


def averaged(settings: Sequence[Repeats]) -> dict[int, float]:
    """Mean over settings within each repeat; a setting may lack some repeats."""
    repeats = dict.fromkeys(repeat for setting in settings for repeat in setting)
    return {
        repeat: float(np.mean([setting[repeat] for setting in settings if repeat in setting]))
        for repeat in repeats
    }


def mean_of(setting: Repeats) -> float:
    """Mean over one or more repeats."""
    return float(np.mean(list(setting.values())))


def best_of(settings: Iterable[Repeats]) -> Repeats:
    """Return the setting with the highest mean; empty without settings."""
    return max(settings, key=mean_of, default={})


def improving(settings: Sequence[Repeats], plain: Repeats) -> list[Repeats]:
    """Return the settings whose mean is above the plain method's on the same repeats."""
    # tolerance for rounding errors
    return [setting for setting in settings if (paired_gain(setting, plain) or 0.0) > 1e-9]


def paired_gain(setting: Repeats, plain: Repeats) -> float | None:
    """Mean difference to the plain method on the repeats that both have; None without any."""
    gains = [setting[repeat] - plain[repeat] for repeat in setting if repeat in plain]
    return float(np.mean(gains)) if gains else None


def mean_rows(
    rows: Sequence[ResultRow], columns: Sequence[str], title: str = "mean"
) -> list[ResultRow]:
    """Mean of each column over the rows that have a value, ours and the paper's.

    Only rows comparable with the paper's count; ``repeats`` is their number. There is no standard
    error, which would measure how datasets differ.
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
    """Names and values, of shape (n_rows, n_columns), of the rows without missing values."""
    place = {(row.row, row.column): getattr(row, source) for row in rows}
    names = [
        name
        for name in dict.fromkeys(row.row for row in rows)
        if all(place.get((name, column)) is not None for column in columns)
    ]
    scores = [[place[name, column] for column in columns] for name in names]
    return names, np.array(scores, dtype=float).reshape(len(names), len(columns))


def closeness(rows: Sequence[ResultRow], digits: int = 3) -> list[str]:
    """Sentence with the mean absolute difference of each column to the paper's."""
    parts = []
    for column in dict.fromkeys(row.column for row in rows):
        found = [r.difference for r in rows if r.column == column and r.difference is not None]
        if found:
            mean = np.mean(np.abs(found))
            parts.append(f"{column} {mean:.{digits}f} ({count(len(found), 'row')})")
    return [f"Mean absolute difference to the paper: {', '.join(parts)}."] if parts else []


def win_counts(
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
    """Sentence that compares two methods, given the difference on each dataset."""
    values = np.array(gains, dtype=float)
    if not len(values):
        return []
    text = (
        f"{one} less {other}: {values.mean():+.{digits}f} on average over "
        f"{count(len(values), 'dataset')}, better on {int((values > 0).sum())}"
    )
    if len(values) < 6 or np.allclose(values, 0):  # fewer datasets cannot be significant
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
    # the sentence gives the p-value of Iman and Davenport
    return [f"Friedman's statistic of {whose} columns {named}: {test}. {found.sentence()}"]


def relative_changes(
    rows: Sequence[ResultRow], own: str, peers: Sequence[str], measure: str
) -> list[str]:
    """Compare a method with each of others by the relative change of a loss on each table."""
    found = {}
    for peer in peers:
        names, scores = complete_scores(rows, (own, peer))
        if peer != own and names:
            found[peer] = scores[:, 0] / scores[:, 1] - 1
    tested = [peer for peer, each in found.items() if len(each) >= MIN_TABLES and each.any()]
    pvalues = dict(zip(tested, holm([wilcoxon(found[p]).pvalue for p in tested]), strict=True))
    return [
        f"{own} against {peer}: {measure} {each.mean():+.1%} on average (median "
        f"{np.median(each):+.1%}), lower on {int((each < 0).sum())} of {len(each)} tables"
        + (f", Wilcoxon p = {pvalues[peer]:.2g} after Holm." if peer in pvalues else ".")
        for peer, each in found.items()
    ]


def failure_notes(results: Sequence[CellResult], names: Mapping[str, str]) -> list[str]:
    """Say once for each method why cells of it failed."""
    reasons: dict[str, list[str]] = {}
    for each in results:
        if each.error:
            reasons.setdefault(str(each.cell.params["method"]), []).append(each.error)
    return [
        f"{names[method]} failed in {len(found)} cells, first with: "
        f"{' '.join(found[0].split()).rstrip('.')}."
        for method, found in reasons.items()
    ]
