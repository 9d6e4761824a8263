"""The rows of a paper's table, without its means, to plain sentences: one, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from ensemblage.evaluation import compare_methods
from ensemblage.runs import ResultRow

Source: TypeAlias = Literal["ours", "paper"]


class CompleteScores(NamedTuple):
    """Names of rows, and their values of shape (n_rows, n_columns)."""

    names: list[str]
    scores: NDArray[np.float64]


def complete_scores(
    rows: Sequence[ResultRow], columns: Sequence[str], source: Source = "ours"
) -> CompleteScores:
    """Table of the rows in which every one of some columns has a value."""
    place = {(row.row, row.column): getattr(row, source) for row in rows}
    names = [
        name
        for name in dict.fromkeys(row.row for row in rows)
        if all(place.get((name, column)) is not None for column in columns)
    ]
    scores = [[place[name, column] for column in columns] for name in names]
    return CompleteScores(names, np.array(scores, dtype=float).reshape(len(names), len(columns)))


def closeness(rows: Sequence[ResultRow], digits: int = 3) -> list[str]:
    """Say how far the columns are from the paper's."""
    parts = []
    for column in dict.fromkeys(row.column for row in rows):
        gaps = [abs(r.difference) for r in rows if r.column == column and r.difference is not None]
        if gaps:
            parts.append(f"{column} {np.mean(gaps):.{digits}f} ({len(gaps)} rows)")
    return [f"Mean absolute difference to the paper: {', '.join(parts)}."] if parts else []


def who_wins(
    rows: Sequence[ResultRow], columns: Sequence[str], *, greater_is_better: bool
) -> list[str]:
    """Say in how many rows each column is best."""
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


def gain_sentence(one: str, other: str, gains: Sequence[float], digits: int = 2) -> list[str]:
    """Say how one method compares with another, given its gain on each dataset."""
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


def friedman(
    rows: Sequence[ResultRow],
    columns: Sequence[str],
    source: Source = "ours",
    *,
    greater_is_better: bool = True,
) -> list[str]:
    """Test whether some columns differ, over the complete rows."""
    names, scores = complete_scores(rows, columns, source)
    if len(names) < 3 or len(columns) < 3:
        return []
    found = compare_methods(scores, names=list(columns), greater_is_better=greater_is_better)
    whose = "our" if source == "ours" else "the paper's printed"
    named = ", ".join(f"'{column}'" for column in columns)
    test = f"{found.friedman_statistic:.2f} (p = {found.friedman_pvalue:.2g})"
    return [f"Friedman's statistic of {whose} columns {named}: {test}. {found.sentence()}"]
