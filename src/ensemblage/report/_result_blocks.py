"""A table of results, entry by entry: bars, ranks, values side by side, and all in a list."""

from __future__ import annotations

from typing import NamedTuple

from ensemblage.pages import (
    NOTHING,
    Bar,
    BarsBlock,
    Block,
    Column,
    Field,
    NotesBlock,
    TableBlock,
    count_field,
    mark_best_of,
    number_field,
    signed_field,
)
from ensemblage.report._rank_figure import critical_difference_figure
from ensemblage.runs import RowDocument, TableDocument, entry_notes

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
    heads = [Column(shown.heads[0]), *(_method_column(name, shown) for name in shown.columns)]
    legend = "± is a standard error." + ("" if better is None else " The best of a row is marked.")
    return TableBlock(heads, rows, f"Side by side: {shown.table.measure}", legend)


def _entries(shown: Layout) -> TableBlock:
    rows, digits, paper = shown.table.rows, shown.digits, shown.has_paper
    first, second = shown.heads
    columns = {
        Column(first): [Field(row.row) for row in rows],
        Column(second): [Field(row.column, ours=row.column in shown.table.library) for row in rows],
        Column("paper", numeric=True): [number_field(row.paper, digits) for row in rows],
        Column("ours" if paper else "mean", numeric=True): [_ours(row, digits) for row in rows],
        Column("difference", numeric=True): [signed_field(row.difference, digits) for row in rows],
        Column("values", numeric=True): [Field(str(row.repeats), row.repeats) for row in rows],
    }
    if any(row.failures for row in rows):
        columns[Column("failed", numeric=True)] = [count_field(row.failures) for row in rows]
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


def _method_column(name: str, shown: Layout) -> Column:
    return Column(name, numeric=True, ours=name in shown.table.library)


def _ours(row: RowDocument, digits: int) -> Field:
    return number_field(row.ours, digits, row.standard_error)
