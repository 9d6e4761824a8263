"""The page of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ensemblage._core import (
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
from ensemblage.report._blocks import (
    Bar,
    BarsBlock,
    Block,
    FactsBlock,
    NotesBlock,
    Page,
    Ranked,
    RanksBlock,
    Section,
    TextBlock,
)
from ensemblage.report._comparison import datasets_section
from ensemblage.studies import RowDocument, RunDocument, TableDocument, entry_notes

OWN = "declared"


def critical_difference_figure(
    scores: Any, names: Sequence[str], library: Collection[str], *, greater: bool, over: str
) -> RanksBlock:
    """Rank methods, with Nemenyi's critical difference.

    Scores are of shape (n_rows, n_methods), the greater the better if ``greater``; ``library`` are
    the methods of this library; ``over`` says what the rows are: "5 datasets".
    """
    table = np.asarray(scores, dtype=float)
    found = compare_methods(table, names=names, greater_is_better=greater)
    order = found.ranking()
    ties = [tie for tie in found.cliques() if len(tie) > 1]
    methods = [
        Ranked(name, found.mean_ranks[name], name in library, tuple(name in tie for tie in ties))
        for name in order
    ]
    ranks = ", ".join(f"{each.name} {each.rank:.2f}" for each in methods)
    apart = f"{found.critical_difference:.2f}"
    return RanksBlock(
        methods,
        found.critical_difference,
        f"Critical-difference diagram. Mean ranks over {over}: {ranks}. Ranks less than {apart} "
        "apart may differ by chance.",
        f"Mean rank over {over}, 1 for the best. Methods along one bar at the side are less than "
        f"the critical difference of {apart} apart, so that Nemenyi's test does not tell them "
        "apart at the level of 5 %.",
    )


# More bars than this are no picture, and more columns than that no table to look at.
MOST_BARS = 60
MOST_COLUMNS = 12
MOST_RANKED = 24
# A longer list of entries waits until somebody opens it.
MOST_OPEN = 24
OURS = "◆"
"""What the page's style sets before the names of the library's methods."""
FEWEST_RANKED = 3


class Layout(NamedTuple):
    """A table's entries by row and column, what these are called, and digits that fit them."""

    table: TableDocument
    heads: tuple[str, str]
    grid: dict[str, dict[str, RowDocument]]
    columns: list[str]
    digits: int
    has_paper: bool


def result_blocks(table: TableDocument, heads: tuple[str, str]) -> list[Block]:
    """Show a table; what would be too large to look at is left to the list of its entries."""
    shown = _layout(table, heads)
    blocks: list[Block] = []
    if len(table.rows) <= MOST_BARS:
        blocks.append(_bars(shown))
    if 1 < len(shown.columns) <= MOST_RANKED and len(shown.grid) > 1:
        blocks += _ranks(shown)
    if 1 < len(shown.columns) <= MOST_COLUMNS and len(shown.grid) > 1:
        blocks.append(_matrix(shown))
    blocks.append(_entries(shown))
    notes = [*entry_notes(table.rows), *table.notes]
    return [*blocks, NotesBlock(notes)] if notes else blocks


def _layout(table: TableDocument, heads: tuple[str, str]) -> Layout:
    grid: dict[str, dict[str, RowDocument]] = {}
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
    said = "ours with its standard error; the upright line is the paper's value"
    said = said if shown.has_paper else "mean with its standard error"
    if shown.table.library:
        said += f". {OURS} marks this library's methods"
    measure = shown.table.measure
    return BarsBlock(bars, f"{measure[:1].upper()}{measure[1:]}: {said}.")


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
    if better is None or not shown.table.ranked or len(whole) < FEWEST_RANKED:
        return []
    of = "" if len(whole) == len(datasets) else f" of {len(datasets)}"
    over = f"{len(whole)}{of} rows"
    found = critical_difference_figure(
        whole, shown.columns, shown.table.library, greater=better, over=over
    )
    return [found]


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
    heads = [Heading(shown.heads[0]), *(_method_column(name, shown) for name in shown.columns)]
    legend = "± is a standard error." + ("" if better is None else " The best of a row is marked.")
    return TableBlock(heads, rows, f"Side by side: {shown.table.measure}", legend)


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
        Heading("values", numeric=True): [Field(str(row.repeats), row.repeats) for row in rows],
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
        legend += " A difference is ours less the paper's, where the two can be compared."
    return TableBlock(
        list(kept), list(zip(*kept.values(), strict=True)),
        f"Every entry: {shown.table.measure}", legend, folded=len(rows) > MOST_OPEN,
    )  # fmt: skip


def _method_column(name: str, shown: Layout) -> Heading:
    return Heading(name, numeric=True, ours=name in shown.table.library)


def _ours(row: RowDocument, digits: int) -> Field:
    return number_field(row.ours, digits, row.standard_error)


"""Scale of an experiment of the user's own: datasets by methods, without a paper."""


def experiment_page(document: RunDocument) -> Page:
    """Tell what an experiment shows: the papers' values, ours, and how they differ.

    Parameters
    ----------
    document : RunDocument
        What ``ensemblage reproduce --json`` and ``ensemblage run --json`` print.

    Returns
    -------
    Page
        To be rendered.
    """
    tables = [table for table in document.tables if table.rows]
    heads = ("dataset", "method") if document.scale == OWN else ("row", "column")
    alone = len(tables) == 1  # then the page's summary is the table's
    shared = _shared_notes(tables)
    sections = [
        Section(
            _title(table, document),
            ([] if alone else _said(table)) + result_blocks(_without(table, shared), heads),
        )
        for table in tables
    ]
    sections += [*datasets_section(document.data), Section("Notes", _notes(shared))]
    return Page(
        document.title, document.experiment, _summary(document, tables),
        _facts(document), sections,
    )  # fmt: skip


def _title(table: TableDocument, document: RunDocument) -> str:
    """Name a table by what the page's own title does not say."""
    rest = table.title.removeprefix(document.title).lstrip(",:; ")
    return rest[:1].upper() + rest[1:] if rest else "Results"


def _facts(document: RunDocument) -> FactsBlock:
    cells = document.cells
    done = f"{cells.done:,}"
    if cells.done != cells.total:
        done += f" of {cells.total:,}"
    facts = [("experiment", document.experiment), ("cells computed", done)]
    if cells.failed:
        facts.append(("cells failed", f"{cells.failed:,}"))
    if document.scale != OWN:
        facts.append(("scale", document.scale))
    return FactsBlock([*facts, ("seed", str(document.seed))])


def _summary(document: RunDocument, tables: Sequence[TableDocument]) -> list[str]:
    cells = document.cells
    told = []
    if not tables:
        told.append("Nothing has been computed yet.")
    if len(tables) == 1:
        told += tables[0].summary
    elif tables:
        told += tables[0].summary[:1]
    near = _nearness([row for table in tables for row in table.rows])
    told += [near] if near else []
    if not told:
        said = [text for table in tables for text in table.summary]
        entries = sum(len(table.rows) for table in tables)
        told.append(said[0] if said else f"The tables hold {entries:,} entries.")
    if not document.finished:
        told.append(
            f"The run is not finished: {cells.done:,} of {cells.total:,} cells are "
            "computed, and the tables show what there is so far."
        )
    if cells.failed:
        one = cells.failed == 1
        failed = "1 cell failed and is" if one else f"{cells.failed:,} cells failed and are"
        told.append(f"{failed} left out of the means.")
    return told


def _nearness(rows: Sequence[RowDocument]) -> str:
    sure = [
        abs(row.difference) <= 2 * row.standard_error
        for row in rows
        if row.difference is not None and row.standard_error is not None
    ]
    if not sure:
        return ""
    near = sum(sure)
    return (
        f"Of {len(sure):,} values that can be compared with the paper's, {near:,} are within two "
        "standard errors of ours."
    )


def _shared_notes(tables: Sequence[TableDocument]) -> list[str]:
    """Find what several tables note, to say it once for all of them."""
    counts = Counter(note for table in tables for note in dict.fromkeys(table.notes))
    return [note for note, times in counts.items() if times > 1]


def _without(table: TableDocument, notes: Sequence[str]) -> TableDocument:
    kept = [note for note in dict.fromkeys(table.notes) if note not in notes]
    return msgspec.structs.replace(table, notes=kept)


def _notes(notes: Sequence[str]) -> list[Block]:
    return [NotesBlock(notes)] if notes else []


def _said(table: TableDocument) -> list[Block]:
    return [TextBlock(list(table.summary))] if table.summary else []
