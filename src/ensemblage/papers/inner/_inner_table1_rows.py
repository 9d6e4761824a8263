"""The accuracies of Table 1 of the inner ensembles paper beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ensemblage.papers._paper_rows import (
    Repeats,
    averaged,
    by_repeat,
    entry,
    failed,
    grouped,
    mean_of,
    mean_rows,
    paired_gain,
)
from ensemblage.papers._paper_scope import PaperScope
from ensemblage.papers._paper_sentences import (
    closeness,
    friedman,
    gain_sentence,
)
from ensemblage.papers.inner._inner_printed import TABLE_1
from ensemblage.papers.inner._inner_selection import (
    ALL,
    BEST,
    IMPROVING,
    SELECTION_NOTE,
    selection_rows,
    share_row,
)
from ensemblage.runs import CellResult, ResultRow, ResultTable

PLAIN, NESTED = "plain network", "inner, nested choice"
BAGGING, BAGGING_BEST = "bagging, all sizes", "bagging, best size"
CROWD, DEFAULT = "pooled tables (ours)", "default network (ours)"
COLUMNS = (PLAIN, ALL, IMPROVING, BEST, NESTED, BAGGING, BAGGING_BEST, CROWD, DEFAULT)
MODES = {False: "without replacement", True: "with replacement"}

NOTES = (
    SELECTION_NOTE,
    (
        f"'{NESTED}' is what a user can do: ten-fold cross-validation, the setting chosen on three "
        "inner folds of the training rows. It chooses among ensemble sizes 10 and 30 and five "
        "sample sizes without replacement (at the quick scale among two settings)."
    ),
    (
        "The network is Weka's K2 as we read the paper: empty start, no limit on parents, "
        "leave-one-out probability score, Fayyad-Irani bins. The paper gives neither these nor "
        "Weka's version; this reading comes nearest to its column BN."
    ),
    (
        "The plain network is cheap and averaged over more cross-validations than the rest. What "
        "improved, and every difference to it in the sentences, is counted on the same folds; so "
        f"'{IMPROVING}' may stand below the column '{PLAIN}'."
    ),
    (
        "A sample of 100 % without replacement is the data themselves, so that setting is the "
        "plain network."
    ),
    (
        f"'{CROWD}' and '{DEFAULT}' are not in the paper: the inner score with tables pooled over "
        "bootstraps, and this library's plain network. How tables are pooled was chosen on these "
        "same datasets, which flatters."
    ),
)


class _Found:
    """Results by dataset, method and setting."""

    def __init__(self, results: Sequence[CellResult]) -> None:
        self.groups = grouped(results, "dataset", "method", "n_views", "view_size", "replace")

    def get(self, name: str, method: str, setting: tuple[Any, ...] = (None,) * 3) -> list:
        return self.groups.get((name, method, *setting), [])

    def values(self, *key: Any) -> dict[Any, float]:
        return by_repeat(self.get(*key), "accuracy")

    def many(self, name: str, method: str, settings: Sequence[tuple]) -> tuple[list[Repeats], int]:
        values = [self.values(name, method, setting) for setting in settings]
        failures = sum(failed(self.get(name, method, setting)) for setting in settings)
        return [each for each in values if each], failures


def summarise_inner_table1(
    results: Sequence[CellResult],
    name: str,
    title: str,
    scope: PaperScope,
    sizes: Sequence[int],
    shares: Sequence[float],
) -> list[ResultTable]:
    """Put the accuracies beside the paper's.

    Parameters
    ----------
    results : sequence of CellResult
        Those that there are.
    name, title : str
        Of the experiment.
    scope : PaperScope
        What was declared.
    sizes, shares : sequence
        Its grid of ensemble sizes and sample sizes.

    Returns
    -------
    list of ResultTable
        The table; the share of settings that improved; the grid, once for each way of sampling.
    """
    # lists cannot be keys: the nested cells hold their grid as lists
    nested = [r for r in results if r.cell.params["method"] == "nested"]
    found = _Found([r for r in results if r.cell.params["method"] != "nested"])
    chosen = grouped(nested, "dataset")
    grids = {mode: [(*pair, mode) for pair in product(sizes, shares)] for mode in MODES}
    rows: list[ResultRow] = []
    for each in scope.prints:
        rows += _dataset_rows(each, found, chosen.get((each,), []), grids[False], sizes)
    summary = [*closeness(rows, 2), *_sentences(scope, found, chosen, grids[False], sizes)]
    for columns in ((PLAIN, IMPROVING, BAGGING), (PLAIN, BEST, BAGGING_BEST)):
        summary += friedman(rows, columns, "paper")
        summary += friedman(rows, columns)
    summary += friedman(rows, (PLAIN, NESTED, BAGGING))
    notes = (*NOTES, *scope.missing_notes)
    return [
        ResultTable(
            name, title, "accuracy (%)", [*rows, *mean_rows(rows, COLUMNS)], summary, notes,
            greater_is_better=True,
        ),
        _share_table(name, scope, found, grids),
        *(_grid_table(name, scope, found, mode, sizes, shares) for mode in MODES),
    ]  # fmt: skip


def _dataset_rows(
    name: str, found: _Found, chosen: list, grid: list[tuple], sizes: Sequence[int]
) -> list[ResultRow]:
    paper = TABLE_1[name]
    plain = found.values(name, "plain")
    inner, inner_failures = found.many(name, "inner", grid)
    bags, bag_failures = found.many(name, "bagging", [(size, None, None) for size in sizes])
    best = max(bags, key=mean_of, default={})

    def single(column: str, method: str, theirs: float | None = None) -> ResultRow:
        cells = found.get(name, method)
        values = by_repeat(cells, "accuracy")
        return entry(name, column, values, paper=theirs, failures=failed(cells))

    return [
        single(PLAIN, "plain", paper.plain),
        *selection_rows(name, inner, plain, (paper.inner, paper.inner_best), inner_failures),
        entry(name, NESTED, by_repeat(chosen, "accuracy"), failures=failed(chosen)),
        entry(name, BAGGING, averaged(bags), paper=paper.bagging, failures=bag_failures),
        entry(name, BAGGING_BEST, best, paper=paper.bagging_best, failures=bag_failures),
        single(CROWD, "crowd"),
        single(DEFAULT, "default"),
    ]


def _sentences(
    scope: PaperScope, found: _Found, chosen: dict, grid: list[tuple], sizes: Sequence[int]
) -> list[str]:
    """Compare methods on the same folds."""
    gains: dict[str, list[float | None]] = {ALL: [], NESTED: [], BAGGING: [], CROWD: []}
    for name in scope.prints:
        plain = found.values(name, "plain")
        bags = found.many(name, "bagging", [(size, None, None) for size in sizes])[0]
        compared = {
            ALL: averaged(found.many(name, "inner", grid)[0]),
            NESTED: by_repeat(chosen.get((name,), []), "accuracy"),
            BAGGING: averaged(bags),
            CROWD: found.values(name, "crowd"),
        }
        for column, values in compared.items():
            gains[column].append(paired_gain(values, plain))
    return [
        sentence
        for column, values in gains.items()
        for sentence in gain_sentence(column, PLAIN, [v for v in values if v is not None])
    ]


def _share_table(name: str, scope: PaperScope, found: _Found, grids: dict) -> ResultTable:
    rows = []
    for each in scope.prints:
        plain = found.values(each, "plain")
        for mode, title in MODES.items():
            settings, failures = found.many(each, "inner", grids[mode])
            paper = None if mode else TABLE_1[each].improved
            rows.append(share_row(each, title, settings, plain, paper, failures))
    means = mean_rows(rows, tuple(MODES.values()))
    shown = ", ".join(f"{row.ours:.0f} % {row.column}" for row in means if row.ours is not None)
    summary = [f"Settings that beat the plain network: {shown}; the paper: 62 % and 46 %."]
    return ResultTable(
        f"{name}-improved", "Settings that beat the plain network", "share of settings (%)",
        [*rows, *means], summary if shown else [],
        ("A setting of no effect would beat it about half of the time, less the ties.",),
    )  # fmt: skip


def _grid_table(
    name: str, scope: PaperScope, found: _Found, mode: bool, sizes: Sequence, shares: Sequence
) -> ResultTable:
    rows = []
    for share, size in product(shares, sizes):
        gains, failures = [], 0
        for each in scope.prints:
            setting = (size, share, mode)
            gains.append(paired_gain(found.values(each, "inner", setting),
                                     found.values(each, "plain")))  # fmt: skip
            failures += failed(found.get(each, "inner", setting))
        known = [gain for gain in gains if gain is not None]
        rows.append(entry(f"{share:.0%} of the rows", f"{size} samples", known, failures=failures))
    values = [row.ours for row in rows if row.ours is not None]
    summary = []
    if values:
        span = f"between {min(values):+.2f} and {max(values):+.2f} points"
        mean = f"{np.mean(values):+.2f} on average"
        summary = [f"Gains over the plain network, sampling {MODES[mode]}: {span}, {mean}."]
    return ResultTable(
        f"{name}-grid-{MODES[mode].replace(' ', '-')}", f"Sensitivity, sampling {MODES[mode]}",
        "gain over the plain network on the same folds (points)", rows, summary,
        ("Mean over datasets; the standard error is over them. The paper prints no such grid.",),
        greater_is_better=True,
    )  # fmt: skip
