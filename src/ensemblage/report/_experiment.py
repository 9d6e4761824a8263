"""The report of a study or of a paper's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ensemblage._core import (
    MINUS,
    NOTHING,
    Field,
    Heading,
    TableBlock,
    count_field,
    mark_best_of,
    number_field,
    signed_field,
)
from ensemblage.evaluation import compare_methods
from ensemblage.report._blocks import Bar, BarsBlock, Block, Page, RanksBlock, Section
from ensemblage.report._data import datasets_section
from ensemblage.studies import ResultRow, ResultTable, RunDocument, entry_notes

OWN = "declared"
"""Scale of a user's own study: datasets by methods, without a paper."""
MAX_BARS = 60
"""Entries that are drawn as bars."""
MAX_COLUMNS = 12
"""Columns of a table of rows by columns."""
MAX_RANKED = 24
"""Methods that are ranked."""
MIN_RANKED = 3
"""Rows that a ranking needs."""
MAX_OPEN = 24
"""A longer list of entries is folded."""
MARK = "◆"
"""Mark before the names of the library's methods, as in the style of the page."""


def critical_difference_figure(
    scores: Any, names: Sequence[str], library: Collection[str], *, greater: bool, over: str
) -> RanksBlock:
    """Rank methods, with Nemenyi's critical difference.

    Scores are of shape (n_rows, n_methods), the greater the better if ``greater``; ``library`` are
    the methods of this library; ``over`` names the rows: "5 datasets".
    """
    table = np.asarray(scores, dtype=float)
    found = compare_methods(table, names=names, greater_is_better=greater)
    order = found.ranking()
    ties = [tie for tie in found.cliques() if len(tie) > 1]
    means = {name: f"{found.mean_ranks[name]:.2f}" for name in order}
    ranks = ", ".join(f"{name} {mean}" for name, mean in means.items())
    apart = f"{found.critical_difference:.2f}"
    return RanksBlock(
        [
            Bar(name, found.mean_ranks[name], mean, ours=name in library)
            for name, mean in means.items()
        ],
        [[name in tie for tie in ties] for name in order],
        found.critical_difference,
        f"Critical-difference diagram. Mean ranks over {over}: {ranks}. Ranks less than {apart} "
        "apart are not significantly different.",
        f"Mean rank over {over}, 1 for the best. Methods along one bar at the side are less than "
        f"the critical difference of {apart} apart, not significantly different by Nemenyi's "
        "test at the level of 5 %.",
    )


class Layout(NamedTuple):
    """A table's entries by row and column, what these are called, and digits that fit them."""

    table: ResultTable
    heads: tuple[str, str]
    grid: dict[str, dict[str, ResultRow]]
    columns: list[str]
    digits: int
    has_paper: bool


def result_blocks(table: ResultTable, heads: tuple[str, str]) -> list[Block]:
    """Show a table; a figure that would be too large is left out, the list of entries is not."""
    shown = _layout(table, heads)
    blocks: list[Block] = []
    if len(table.rows) <= MAX_BARS:
        blocks.append(_bars(shown))
    if 1 < len(shown.columns) <= MAX_RANKED and len(shown.grid) > 1:
        blocks += _ranks(shown)
    if 1 < len(shown.columns) <= MAX_COLUMNS and len(shown.grid) > 1:
        blocks.append(_matrix(shown))
    blocks.append(_entries(shown))
    notes = [*entry_notes(table.rows), *table.notes]
    return [*blocks, notes] if notes else blocks


def _layout(table: ResultTable, heads: tuple[str, str]) -> Layout:
    grid: dict[str, dict[str, ResultRow]] = {}
    for row in table.rows:
        grid.setdefault(row.row, {})[row.column] = row
    columns = list(dict.fromkeys(row.column for row in table.rows))
    values = [value for row in table.rows for value in (row.ours, row.paper) if value is not None]
    largest = max(map(abs, values), default=0.0)
    digits = 4 if largest < 2 else 2 if largest < 1000 else 0
    has_paper = any(row.paper is not None for row in table.rows)
    return Layout(table, heads, grid, columns, digits, has_paper)


def _bars(shown: Layout) -> BarsBlock:
    grouped = len(shown.columns) > 1
    # entries of one row together, rows in the order of their first entry
    rows = sorted(shown.table.rows, key=lambda row: list(shown.grid).index(row.row))
    bars = [
        Bar(
            row.column if grouped else row.row, row.ours,
            NOTHING.text if row.ours is None else f"{row.ours:.{shown.digits}f}",
            error=row.standard_error, reference=row.paper, strong=not shown.table.library,
            group=row.row if grouped else "", ours=row.column in shown.table.library,
        )
        for row in rows
    ]  # fmt: skip
    measure = shown.table.measure
    what = "ours" if shown.has_paper else "mean"
    caption = f"{measure[:1].upper()}{measure[1:]}: {what} with its standard error"
    if shown.has_paper:
        caption += "; the vertical line is the paper's value"
    if shown.table.library:
        caption += f". {MARK} marks this library's methods"
    return BarsBlock(bars, f"{caption}.")


def _ranks(shown: Layout) -> list[Block]:
    """Rank the columns over the rows that have a value in each."""
    better = shown.table.greater_is_better
    datasets = [
        entries
        for entries in shown.grid.values()
        if not any(entry.is_mean for entry in entries.values())
    ]
    whole = [
        [entries[name].ours for name in shown.columns]
        for entries in datasets
        if all(name in entries and entries[name].ours is not None for name in shown.columns)
    ]
    if better is None or not shown.table.ranked or len(whole) < MIN_RANKED:
        return []
    of = "" if len(whole) == len(datasets) else f" of {len(datasets)}"
    over = f"{len(whole)}{of} rows"
    library = shown.table.library
    return [critical_difference_figure(whole, shown.columns, library, greater=better, over=over)]


def _matrix(shown: Layout) -> TableBlock:
    better = shown.table.greater_is_better
    rows = []
    for name, entries in shown.grid.items():
        if all(entry.ours is None for entry in entries.values()):
            continue
        fields = [
            _ours(entries[column], shown.digits) if column in entries else NOTHING
            for column in shown.columns
        ]
        rows.append([Field(name), *(fields if better is None else mark_best_of(fields, better))])
    library = shown.table.library
    heads = [Heading(name, numeric=True, ours=name in library) for name in shown.columns]
    legend = "± is a standard error." + (
        "" if better is None else " The best value of a row is marked."
    )
    columns, measure = [Heading(shown.heads[0]), *heads], shown.table.measure
    caption = f"{measure[:1].upper()}{measure[1:]} by {' and '.join(shown.heads)}"
    return TableBlock(columns, rows, caption, legend)


def _entries(shown: Layout) -> TableBlock:
    rows, digits, paper = shown.table.rows, shown.digits, shown.has_paper
    first, second = shown.heads
    columns = {
        Heading(first): [Field(row.row) for row in rows],
        Heading(second): [
            Field(row.column, ours=row.column in shown.table.library) for row in rows
        ],
        Heading("paper", numeric=True): [number_field(row.paper, digits) for row in rows],
        Heading("ours" if paper else "mean", numeric=True): [_ours(row, digits) for row in rows],
        Heading("difference", numeric=True): [signed_field(row.difference, digits) for row in rows],
        Heading("repeats", numeric=True): [Field(str(row.repeats), row.repeats) for row in rows],
    }
    if any(row.failures for row in rows):
        columns[Heading("failed", numeric=True)] = [count_field(row.failures) for row in rows]
    # a user's own experiment has no paper
    kept = {
        column: fields
        for column, fields in columns.items()
        if column.name not in {"paper", "difference"} or set(fields) != {NOTHING}
    }
    legend = "± is a standard error."
    if paper:
        legend += f" Difference: ours {MINUS} paper, where the two are comparable."
    return TableBlock(
        list(kept), list(zip(*kept.values(), strict=True)),
        f"All entries: {shown.table.measure}", legend, folded=len(rows) > MAX_OPEN,
    )  # fmt: skip


def _ours(row: ResultRow, digits: int) -> Field:
    return number_field(row.ours, digits, row.standard_error)


def experiment_page(document: RunDocument) -> Page:
    """Show a study, or a paper's values beside ours and how they differ."""
    tables = [table for table in document.tables if table.rows]
    heads = ("dataset", "method") if document.scale == OWN else ("row", "column")
    # notes of several tables are listed once
    counts = Counter(note for table in tables for note in dict.fromkeys(table.notes))
    shared = [note for note, times in counts.items() if times > 1]
    sections = []
    for table in tables:
        # without what the title of the page states
        title = table.title.removeprefix(document.title).lstrip(",:; ")
        notes = [note for note in dict.fromkeys(table.notes) if note not in shared]
        blocks = result_blocks(msgspec.structs.replace(table, notes=notes), heads)
        summary = table.summary if len(tables) > 1 else []
        sections.append(
            Section(title[:1].upper() + title[1:] if title else "Results", [*summary, *blocks])
        )
    sections += [*datasets_section(document.data), Section("Notes", [shared] if shared else [])]
    cells = document.cells
    of = "" if cells.done == cells.total else f" of {cells.total:,}"
    facts = {"experiment": document.experiment, "cells computed": f"{cells.done:,}{of}"}
    if cells.failed:
        facts["cells failed"] = f"{cells.failed:,}"
    if document.scale != OWN:
        facts["scale"] = document.scale
    facts["seed"] = str(document.seed)
    title = f"Experiment report: {document.title}"
    return Page(title, "experiment report", _summary(document, tables), facts, sections)


def _summary(document: RunDocument, tables: Sequence[ResultTable]) -> list[str]:
    cells = document.cells
    sentences = [] if tables else ["No results yet."]
    if tables:
        sentences += tables[0].summary if len(tables) == 1 else tables[0].summary[:1]
    rows = [row for table in tables for row in table.rows]
    near = [
        abs(row.difference) <= 2 * row.standard_error
        for row in rows
        if row.difference is not None and row.standard_error is not None
    ]
    if near:
        sentences.append(
            f"{sum(near):,} of {len(near):,} comparable values of the paper are within two "
            "standard errors of ours."
        )
    if not sentences:
        summaries = [text for table in tables for text in table.summary]
        sentences.append(summaries[0] if summaries else f"The tables hold {len(rows):,} entries.")
    if not document.finished:
        sentences.append(
            f"The run is not finished: the tables show {cells.done:,} of {cells.total:,} cells."
        )
    if cells.failed:
        one = cells.failed == 1
        failed = "1 cell failed and is" if one else f"{cells.failed:,} cells failed and are"
        sentences.append(f"{failed} left out of the means.")
    return sentences
