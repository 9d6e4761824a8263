"""The clusterings of Tables 2 and 3 of the inner ensembles paper beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from ensemblage.papers._paper_rows import (
    Repeats,
    averaged,
    by_repeat,
    entry,
    failed,
    grouped,
    mean_of,
    mean_rows,
)
from ensemblage.papers._paper_scope import PaperScope
from ensemblage.papers._paper_sentences import (
    closeness,
    complete_scores,
    friedman,
    gain_sentence,
)
from ensemblage.papers.inner._inner_clusters import CONSENSUS_NAMES
from ensemblage.papers.inner._inner_printed import IMPROVED, TABLE_2, TABLE_3
from ensemblage.papers.inner._inner_selection import (
    ALL,
    BEST,
    IMPROVING,
    SELECTION_NOTE,
    selection_rows,
    share_row,
)
from ensemblage.runs import CellResult, ResultRow, ResultTable

PLAIN, STABLE = "K-means", "inner, chosen by stability"
GRAPH, GRAPH_BEST = "graph-based, all settings", "graph-based, best setting"
LINKAGE, LINKAGE_BEST = "linkage, all settings", "linkage, best setting"
COLUMNS = (PLAIN, ALL, IMPROVING, BEST, STABLE, GRAPH, GRAPH_BEST, LINKAGE, LINKAGE_BEST)
GROUPS = {"graph": (GRAPH, GRAPH_BEST), "linkage": (LINKAGE, LINKAGE_BEST)}
TABLES = {
    "inner-table2": ("nmi", "normalised mutual information", TABLE_2, 0),
    "inner-table3": ("purity", "purity", TABLE_3, 1),
}
NOTES = (
    SELECTION_NOTE,
    (
        f"'{STABLE}' is what a user without classes can do: the setting whose clusterings from "
        "several random starts agree most with each other, by NMI; no class is looked at."
    ),
    (
        "Raw features, at most 500 rows drawn anew for each start, rows drawn at random as "
        "starting centres, the same for K-means and the inner ensemble; features sampled with "
        "replacement, anew in each pass, at most 30 passes. The paper does not tell scaling, "
        "starts or passes; this reading gives its K-means column."
    ),
    "vowel has three nominal columns; they are coded by integers, which gives the paper's value.",
    (
        "Graph-based is the best of CSPA, MCLA and HGPA, linkage the best of single, average and "
        "complete, chosen by the classes at each setting, as in the paper."
    ),
)


def summarise_inner_clusters(
    results: Sequence[CellResult],
    name: str,
    title: str,
    scope: PaperScope,
    settings: Sequence[tuple[int, float]],
    consensus_settings: Sequence[tuple[int, float]],
) -> list[ResultTable]:
    """Put the scores beside the paper's.

    Parameters
    ----------
    results : sequence of CellResult
        Those that there are.
    name, title : str
        Of the experiment.
    scope : PaperScope
        What was declared.
    settings, consensus_settings : sequence of tuple
        Ensemble size and sample size.

    Returns
    -------
    list of ResultTable
        The table, and the share of settings that improved.
    """
    measure, words, paper, column = TABLES[name]
    groups = grouped(results, "dataset", "method", "n_views", "view_size")
    rows: list[ResultRow] = []
    shares: list[ResultRow] = []
    for each in scope.prints:
        plain_cells = groups.get((each, "kmeans", None, None), [])
        plain = by_repeat(plain_cells, measure)
        cells = [groups.get((each, "inner", *setting), []) for setting in settings]
        found = [by_repeat(part, measure) for part in cells]
        known = [values for values in found if values]
        failures = sum(map(failed, cells))
        line = paper[each]
        rows.append(entry(each, PLAIN, plain, paper=line.kmeans, failures=failed(plain_cells)))
        rows += selection_rows(each, known, plain, (line.selective, line.best), failures)
        rows.append(entry(each, STABLE, _most_stable(cells, measure), failures=failures))
        for group in GROUPS:
            parts = [groups.get((each, group, *setting), []) for setting in consensus_settings]
            rows += _consensus_rows(each, group, parts, measure, line)
        shares.append(
            share_row(each, "with replacement", known, plain, IMPROVED[each][column], failures)
        )
    notes = (*NOTES, *scope.missing_notes)
    return [
        ResultTable(
            name, title, words, [*rows, *mean_rows(rows, COLUMNS)], _summary(rows), notes,
            greater_is_better=True,
        ),
        ResultTable(
            f"{name}-improved", "Settings that beat K-means", "share of settings (%)",
            [*shares, *mean_rows(shares, ("with replacement",))], closeness(shares, 0),
            ("A setting of no effect would beat it about half of the time.",),
        ),
    ]  # fmt: skip


def _most_stable(cells: Sequence[Sequence[CellResult]], measure: str) -> dict:
    """Scores of the setting that agrees most with itself."""
    done = [part for part in cells if part and not failed(part)]
    if not done:
        return {}
    stable = max(done, key=lambda part: float(part[0].values["stability"]))
    return by_repeat(stable, measure)


def _consensus_rows(
    name: str, group: str, parts: Sequence[Sequence[CellResult]], measure: str, line: object
) -> list[ResultRow]:
    chosen: list[Repeats] = []
    for part in parts:
        methods = [by_repeat(part, f"{measure}:{each}") for each in CONSENSUS_NAMES[group]]
        known = [values for values in methods if values]
        if known:
            chosen.append(max(known, key=mean_of))
    failures = sum(map(failed, parts))
    best = max(chosen, key=mean_of, default={})
    average, highest = GROUPS[group]
    theirs = getattr(line, group), getattr(line, f"{group}_best")
    return [
        entry(name, average, averaged(chosen), paper=theirs[0], failures=failures),
        entry(name, highest, best, paper=theirs[1], failures=failures),
    ]


def _summary(rows: Sequence[ResultRow]) -> list[str]:
    sentences = closeness(rows)
    for column in (ALL, IMPROVING, STABLE):
        scores = complete_scores(rows, (PLAIN, column))[1]
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
