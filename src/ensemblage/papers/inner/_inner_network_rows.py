"""The accuracies of Table 1 of the inner ensembles paper beside the paper's."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ensemblage.papers._paper_rows import (
    averaged,
    best_of,
    by_repeat,
    closeness,
    entry,
    failed,
    friedman,
    gain_sentence,
    grouped,
    mean_rows,
    paired_gain,
)
from ensemblage.papers._paper_table import PaperScope, PaperTable
from ensemblage.papers.inner._inner_selection import (
    ALL,
    BEST,
    IMPROVED,
    IMPROVING,
    SELECTION_NOTE,
    SettingValues,
    selection_rows,
    setting_values,
    share_row,
)
from ensemblage.runs import CellResult, ResultRow, ResultTable

PLAIN, NESTED = "plain network", "inner, nested choice"
BAGGING, BAGGING_BEST = "bagging, all sizes", "bagging, best size"
CROWD, DEFAULT = "pooled tables (ours)", "default network (ours)"
COLUMNS = (PLAIN, ALL, IMPROVING, BEST, NESTED, BAGGING, BAGGING_BEST, CROWD, DEFAULT)
GRIDS = ("inner", "bagging")
"""Methods whose cells hold the accuracies of a grid of settings."""
MODES = {False: "without replacement", True: "with replacement"}


class NetworkGrid(NamedTuple):
    """Ensemble sizes by sample sizes, and how many cross-validations: of the plain network more."""

    sizes: tuple[int, ...]
    shares: tuple[float, ...]
    repeats: int
    plain_repeats: int


def by_setting(result: CellResult) -> Iterator[CellResult]:
    """Take a cell apart, into one for each of its settings; a choice among them has none."""
    params: Mapping[str, Any] = result.cell.params
    lists = {name: params[name] for name in ("n_views", "view_size") if name in params}
    rest = {name: value for name, value in params.items() if name not in lists}
    settings = list(product(*lists.values())) if params["method"] in GRIDS else [()]
    for i, setting in enumerate(settings):
        own = rest | dict(zip(lists, setting, strict=False))
        accuracies: Any = result.values.get("accuracy")
        values = {"accuracy": accuracies[i]} if isinstance(accuracies, list) else result.values
        cell = dataclasses.replace(result.cell, params=own)
        yield dataclasses.replace(result, cell=cell, values=values)


class NetworkResults:
    """Results of the grid by dataset, method and setting."""

    def __init__(self, results: Sequence[CellResult], grid: NetworkGrid) -> None:
        single = [one for result in results for one in by_setting(result)]
        self.grid = grid
        self._groups = grouped(single, "dataset", "method", "n_views", "view_size", "replace")

    def cells(self, name: str, method: str, *setting: Any) -> list[CellResult]:
        """Give the cells of a method; what a setting leaves out is None in their key."""
        return self._groups.get((name, method, *(*setting, None, None, None)[:3]), [])

    def values(self, name: str, method: str, *setting: Any) -> dict[int, float]:
        """Accuracies by repeat."""
        return by_repeat(self.cells(name, method, *setting), "accuracy")

    def inner(self, name: str, replace: bool) -> SettingValues:
        """Accuracies of the whole grid, sampled in one way."""
        settings = product(self.grid.sizes, self.grid.shares)
        return setting_values(
            [self.cells(name, "inner", *setting, replace) for setting in settings], "accuracy"
        )

    def bags(self, name: str) -> SettingValues:
        """Accuracies of bagging, of each size."""
        return setting_values(
            [self.cells(name, "bagging", size) for size in self.grid.sizes], "accuracy"
        )


def network_tables(
    table: PaperTable[Any], results: Sequence[CellResult], scope: PaperScope, grid: NetworkGrid
) -> list[ResultTable]:
    """Lay out the table; the share of settings that improved; the grid for each way of sampling."""
    found = NetworkResults(results, grid)
    rows = [row for name in scope.datasets for row in _dataset_rows(table, name, found)]
    summary = [*closeness(rows, 2), *_gains(scope, found)]
    for columns in ((PLAIN, IMPROVING, BAGGING), (PLAIN, BEST, BAGGING_BEST)):
        summary += friedman(rows, columns, "paper")
        summary += friedman(rows, columns)
    summary += friedman(rows, (PLAIN, NESTED, BAGGING))
    return [
        ResultTable(
            table.name, table.printed.title, "accuracy (%)", [*rows, *mean_rows(rows, COLUMNS)],
            summary, (SELECTION_NOTE, *table.printed.notes, *scope.missing_notes),
            greater_is_better=True,
        ),
        _share_table(table, scope, found),
        *(_grid_table(table, scope, found, replace) for replace in MODES),
    ]  # fmt: skip


def _dataset_rows(table: PaperTable[Any], name: str, found: NetworkResults) -> list[ResultRow]:
    plain, bags = found.values(name, "plain"), found.bags(name)

    def single(column: str, method: str) -> ResultRow:
        return table.entry(
            name, column, found.values(name, method), failed(found.cells(name, method))
        )

    return [
        single(PLAIN, "plain"),
        *selection_rows(table, name, found.inner(name, replace=False), plain),
        single(NESTED, "nested"),
        table.entry(name, BAGGING, averaged(bags.values), bags.failures),
        table.entry(name, BAGGING_BEST, best_of(bags.values), bags.failures),
        single(CROWD, "crowd"),
        single(DEFAULT, "default"),
    ]


def _gains(scope: PaperScope, found: NetworkResults) -> list[str]:
    """Compare methods with the plain network on the same folds."""
    gains: dict[str, list[float]] = {ALL: [], NESTED: [], BAGGING: [], CROWD: []}
    for name in scope.datasets:
        plain = found.values(name, "plain")
        compared = {
            ALL: averaged(found.inner(name, replace=False).values),
            NESTED: found.values(name, "nested"),
            BAGGING: averaged(found.bags(name).values),
            CROWD: found.values(name, "crowd"),
        }
        for column, values in compared.items():
            gain = paired_gain(values, plain)
            gains[column] += [] if gain is None else [gain]
    return [text for column, known in gains.items() for text in gain_sentence(column, PLAIN, known)]


def _share_table(table: PaperTable[Any], scope: PaperScope, found: NetworkResults) -> ResultTable:
    rows = []
    for name in scope.datasets:
        plain = found.values(name, "plain")
        for replace, title in MODES.items():
            paper = None if replace else table.printed.value(name, IMPROVED)
            rows.append(share_row(name, title, found.inner(name, replace), plain, paper))
    means = mean_rows(rows, tuple(MODES.values()))
    shown = ", ".join(f"{row.ours:.0f} % {row.column}" for row in means if row.ours is not None)
    summary = [f"Settings that beat the plain network: {shown}; the paper: 62 % and 46 %."]
    return ResultTable(
        f"{table.name}-improved", "Settings that beat the plain network", "share of settings (%)",
        [*rows, *means], summary if shown else [],
        ("A setting of no effect would beat it about half of the time, less the ties.",),
    )  # fmt: skip


def _grid_table(
    table: PaperTable[Any], scope: PaperScope, found: NetworkResults, replace: bool
) -> ResultTable:
    rows = []
    for share, size in product(found.grid.shares, found.grid.sizes):
        setting = (size, share, replace)
        gains = [
            paired_gain(found.values(name, "inner", *setting), found.values(name, "plain"))
            for name in scope.datasets
        ]
        known = [gain for gain in gains if gain is not None]
        failures = sum(failed(found.cells(name, "inner", *setting)) for name in scope.datasets)
        rows.append(entry(f"{share:.0%} of the rows", f"{size} samples", known, failures=failures))
    values = [row.ours for row in rows if row.ours is not None]
    mode, summary = MODES[replace], []
    if values:
        span = f"between {min(values):+.2f} and {max(values):+.2f} points"
        mean = f"{np.mean(values):+.2f} on average"
        summary = [f"Gains over the plain network, sampling {mode}: {span}, {mean}."]
    return ResultTable(
        f"{table.name}-grid-{mode.replace(' ', '-')}", f"Sensitivity, sampling {mode}",
        "gain over the plain network on the same folds (points)", rows, summary,
        ("Mean over datasets; the standard error is over them. The paper prints no such grid.",),
        greater_is_better=True, ranked=False,
    )  # fmt: skip
