"""Columns over a grid of settings: all of them, those that improved, the best one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ensemblage.papers._paper_rows import Repeats, averaged, best_of, by_repeat, failed, improving
from ensemblage.papers._paper_table import PaperTable
from ensemblage.runs import CellResult, ResultRow

ALL, IMPROVING, BEST = "inner, all settings", "inner, improving settings", "inner, best setting"
IMPROVED = "improved"
"""The paper's column of the share of the settings that improved."""

SELECTION_NOTE = (
    f"'{IMPROVING}' is the paper's average: it leaves out the settings that did not beat the plain "
    f"method on the very data that are reported, and so cannot lose. '{BEST}' is chosen in the "
    f"same way. '{ALL}' leaves nothing out."
)


class SettingValues(NamedTuple):
    """Values by repeat of each setting that has any, and how many cells failed."""

    values: list[Repeats]
    failures: int


def setting_values(cells: Sequence[Sequence[CellResult]], value: str) -> SettingValues:
    """Collect a value from the cells of each setting."""
    found = [by_repeat(part, value) for part in cells]
    return SettingValues([each for each in found if each], sum(map(failed, cells)))


def selection_rows(
    table: PaperTable[Any], row: str, inner: SettingValues, plain: Repeats
) -> list[ResultRow]:
    """Average over a grid, over its improving settings, and take its best.

    Where no setting improved, the second is the plain method, as in the paper.
    """
    settings, failures = inner
    better = improving(settings, plain)
    mean = averaged(settings)
    chosen = averaged(better) if better else {r: plain[r] for r in mean if r in plain}
    none = None if better or not settings else "No setting improved: the plain method's value."
    return [
        table.entry(row, ALL, mean, failures),
        table.entry(row, IMPROVING, chosen, failures, none),
        table.entry(row, BEST, best_of(settings), failures),
    ]


def share_row(
    row: str, column: str, inner: SettingValues, plain: Repeats, paper: float | None
) -> ResultRow:
    """Share of the settings that improved on the plain method, in per cent.

    ``repeats`` counts the settings; a standard error would mean nothing.
    """
    known = inner.values if plain else []
    share = 100.0 * len(improving(known, plain)) / len(known) if known else None
    return ResultRow(row, column, paper, share, None, len(known), inner.failures)
