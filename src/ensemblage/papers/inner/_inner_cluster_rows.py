"""The clusterings of Tables 2 and 3 of the inner ensembles paper beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ensemblage.papers._paper_rows import (
    Groups,
    Repeats,
    averaged,
    best_of,
    by_repeat,
    closeness,
    complete_scores,
    failed,
    friedman,
    gain_sentence,
    mean_rows,
)
from ensemblage.papers._paper_table import PaperScope, PaperTable
from ensemblage.papers.inner._inner_clusters import CONSENSUS_NAMES, Ensembles, Views, consensus_key
from ensemblage.papers.inner._inner_selection import (
    ALL,
    BEST,
    IMPROVED,
    IMPROVING,
    SELECTION_NOTE,
    selection_rows,
    setting_values,
    share_row,
)
from ensemblage.runs import CellResult, ResultRow, ResultTable

PLAIN, STABLE = "K-means", "inner, chosen by stability"
GRAPH, GRAPH_BEST = "graph-based, all settings", "graph-based, best setting"
LINKAGE, LINKAGE_BEST = "linkage, all settings", "linkage, best setting"
COLUMNS = (PLAIN, ALL, IMPROVING, BEST, STABLE, GRAPH, GRAPH_BEST, LINKAGE, LINKAGE_BEST)
GROUPS = {"graph": (GRAPH, GRAPH_BEST), "linkage": (LINKAGE, LINKAGE_BEST)}
MODE = "with replacement"


class ClusterMeasure(NamedTuple):
    """Under which name the cells hold a measure, and what it is called."""

    key: str
    words: str


class ClusterResults(NamedTuple):
    """Results by dataset, method and setting, the measure to show, and the settings."""

    groups: Groups
    measure: ClusterMeasure
    settings: Sequence[Views]
    ensembles: Sequence[Ensembles]

    def plain(self, name: str) -> list[CellResult]:
        """Cells of K-means."""
        return self.groups.get((name, "kmeans", None, None), [])

    def inner(self, name: str) -> list[list[CellResult]]:
        """Cells of the inner ensemble, by setting."""
        return [self.groups.get((name, "inner", *views), []) for views in self.settings]

    def consensus(self, name: str) -> list[list[CellResult]]:
        """Cells of the cluster ensembles, by sample size of the features."""
        shares = [each.view_size for each in self.ensembles]
        return [self.groups.get((name, "consensus", None, share), []) for share in shares]


def cluster_tables(
    table: PaperTable[Any], found: ClusterResults, scope: PaperScope
) -> list[ResultTable]:
    """Lay out the table, and the share of settings that improved."""
    rows = [row for name in scope.datasets for row in _dataset_rows(table, name, found)]
    shares = [_share_row(table, name, found) for name in scope.datasets]
    return [
        ResultTable(
            table.name, table.printed.title, found.measure.words,
            [*rows, *mean_rows(rows, COLUMNS)], _summary(rows),
            (SELECTION_NOTE, *table.printed.notes, *scope.missing_notes), greater_is_better=True,
        ),
        ResultTable(
            f"{table.name}-improved", "Settings that beat K-means", "share of settings (%)",
            [*shares, *mean_rows(shares, (MODE,))], closeness(shares, 0),
            ("A setting of no effect would beat it about half of the time.",),
        ),
    ]  # fmt: skip


def _dataset_rows(table: PaperTable[Any], name: str, found: ClusterResults) -> list[ResultRow]:
    key = found.measure.key
    plain, cells = by_repeat(found.plain(name), key), found.inner(name)
    inner = setting_values(cells, key)
    return [
        table.entry(name, PLAIN, plain, failed(found.plain(name))),
        *selection_rows(table, name, inner, plain),
        table.entry(name, STABLE, _most_stable(cells, key), inner.failures),
        *(row for group in GROUPS for row in _consensus_rows(table, name, group, found)),
    ]


def _share_row(table: PaperTable[Any], name: str, found: ClusterResults) -> ResultRow:
    key = found.measure.key
    inner = setting_values(found.inner(name), key)
    plain = by_repeat(found.plain(name), key)
    return share_row(name, MODE, inner, plain, table.printed.value(name, IMPROVED))


def _most_stable(cells: Sequence[Sequence[CellResult]], key: str) -> dict[int, float]:
    """Scores of the setting that agrees most with itself."""
    done = [part for part in cells if part and not failed(part)]
    if not done:
        return {}
    stable: Sequence[CellResult] = max(done, key=_stability)
    return by_repeat(stable, key)


def _stability(part: Sequence[CellResult]) -> float:
    value: Any = part[0].values["stability"]
    return float(value)


def _consensus_rows(
    table: PaperTable[Any], name: str, group: str, found: ClusterResults
) -> list[ResultRow]:
    """Take the best method of a group at each setting."""
    parts = found.consensus(name)
    chosen: list[Repeats] = []
    for part, ensembles in zip(parts, found.ensembles, strict=True):
        for size in ensembles.sizes:
            keys = (consensus_key(found.measure.key, each, size) for each in CONSENSUS_NAMES[group])
            known = [values for values in (by_repeat(part, key) for key in keys) if values]
            chosen += [best_of(known)] if known else []
    failures = sum(map(failed, parts))
    average, highest = GROUPS[group]
    return [
        table.entry(name, average, averaged(chosen), failures),
        table.entry(name, highest, best_of(chosen), failures),
    ]


def _summary(rows: Sequence[ResultRow]) -> list[str]:
    sentences = closeness(rows)
    for column in (ALL, IMPROVING, STABLE):
        scores = complete_scores(rows, (PLAIN, column)).scores
        sentences += gain_sentence(column, PLAIN, list(scores[:, 1] - scores[:, 0]), 3)
    average, best = (PLAIN, IMPROVING, GRAPH, LINKAGE), (PLAIN, BEST, GRAPH_BEST, LINKAGE_BEST)
    for columns in (average, best):
        sentences += friedman(rows, columns, "paper")
        sentences += friedman(rows, columns)
    sentences += friedman(rows, (PLAIN, STABLE, GRAPH, LINKAGE))
    if any(row.paper is not None for row in rows):
        sentences.append(
            "The paper prints two digits, which makes ties; its own statistics, smaller, are those "
            "of the printed columns without the correction for ties."
        )
    return sentences
