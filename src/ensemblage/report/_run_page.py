"""The page of ``ensemblage run`` and ``ensemblage reproduce``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ensemblage.pages import (
    MINUS,
    NOTHING,
    Bar,
    BarsBlock,
    Block,
    Column,
    FactsBlock,
    Field,
    NotesBlock,
    Page,
    Section,
    TableBlock,
    TextBlock,
    mark_best_of,
    number_field,
)
from ensemblage.report._rank_figure import critical_difference_figure

Entry = Mapping[str, Any]
Grid = dict[str, dict[str, Entry]]

# More bars than this are no picture, and more columns than that no table to look at.
MOST_BARS = 60
MOST_COLUMNS = 12
FEWEST_RANKED = 3
OWN = "declared"
"""Scale of an experiment of the user's own: datasets by methods, without a paper."""


def experiment_page(document: Mapping[str, Any]) -> Page:
    """Tell what an experiment shows: the papers' values, ours, and how they differ.

    Parameters
    ----------
    document : mapping
        What ``ensemblage reproduce --json`` and ``ensemblage run --json`` print: ``experiment``,
        ``title``, ``scale``, ``seed``, ``cells`` (``total``, ``done``, ``failed``),
        ``finished``, and ``tables``, each with its ``rows``.

    Returns
    -------
    Page
        To be rendered.
    """
    tables = [table for table in document["tables"] if table["rows"]]
    heads = ("dataset", "method") if document.get("scale") == OWN else ("row", "column")
    alone = len(tables) == 1  # then the page's summary is the table's
    sections = [
        Section(
            "Results" if table["title"] == document["title"] else table["title"],
            ([] if alone else _said(table)) + _table_blocks(table, heads),
        )
        for table in tables
    ]
    return Page(
        document["title"], str(document["experiment"]), _summary(document, tables),
        _facts(document), sections,
    )  # fmt: skip


def _facts(document: Mapping[str, Any]) -> FactsBlock:
    cells = document["cells"]
    done = f"{cells['done']:,}"
    if cells["done"] != cells["total"]:
        done += f" of {cells['total']:,}"
    facts = [("experiment", str(document["experiment"])), ("cells computed", done)]
    if cells["failed"]:
        facts.append(("cells failed", f"{cells['failed']:,}"))
    known = [(name, document.get(name)) for name in ("scale", "seed")]
    return FactsBlock([*facts, *((name, str(value)) for name, value in known if value is not None)])


def _summary(document: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> list[str]:
    cells = document["cells"]
    told = []
    if not tables:
        told.append("Nothing has been computed yet.")
    if len(tables) == 1:
        told += tables[0]["summary"]
    near = _nearness([row for table in tables for row in table["rows"]])
    told += [near] if near else []
    if not told:
        said = [text for table in tables for text in table["summary"]]
        entries = sum(len(table["rows"]) for table in tables)
        told.append(said[0] if said else f"The tables hold {entries:,} entries.")
    if not document.get("finished", True):
        told.append(
            f"The run is not finished: {cells['done']:,} of {cells['total']:,} cells are "
            "computed, and the tables show what there is so far."
        )
    if cells["failed"]:
        one = cells["failed"] == 1
        failed = "1 cell failed and is" if one else f"{cells['failed']:,} cells failed and are"
        told.append(f"{failed} left out of the means.")
    return told


def _nearness(rows: Sequence[Entry]) -> str:
    known = [row for row in rows if row["difference"] is not None]
    sure = [row for row in known if row["standard_error"] is not None]
    if not sure:
        return ""
    near = sum(abs(row["difference"]) <= 2 * row["standard_error"] for row in sure)
    return (
        f"Of {len(sure):,} values that can be compared with the paper's, {near:,} are within two "
        "standard errors of ours."
    )


def _said(table: Mapping[str, Any]) -> list[Block]:
    return [TextBlock(list(table["summary"]))] if table["summary"] else []


def _table_blocks(table: Mapping[str, Any], heads: tuple[str, str]) -> list[Block]:
    rows: Sequence[Entry] = table["rows"]
    digits = _digits(rows)
    grid: Grid = {}
    for row in rows:
        grid.setdefault(row["row"], {})[row["column"]] = row
    columns = list(dict.fromkeys(row["column"] for row in rows))
    blocks: list[Block] = []
    if len(rows) <= MOST_BARS:
        blocks.append(_bars(table, digits))
    if 1 < len(columns) <= MOST_COLUMNS and len(grid) > 1:
        blocks += _ranks(table, grid, columns)
        blocks.append(_matrix(table, grid, columns, digits, heads[0]))
    blocks.append(_entries(table, digits, heads))
    return [*blocks, NotesBlock(table["notes"])] if table["notes"] else blocks


def _digits(rows: Sequence[Entry]) -> int:
    values = [abs(row[name]) for row in rows for name in ("ours", "paper") if row[name] is not None]
    largest = max(values, default=0.0)
    return 4 if largest < 2 else 2 if largest < 1000 else 0


def _bars(table: Mapping[str, Any], digits: int) -> BarsBlock:
    rows: Sequence[Entry] = table["rows"]
    grouped = len({row["column"] for row in rows}) > 1
    bars = [
        Bar(
            row["column"] if grouped else row["row"], row["ours"],
            NOTHING.text if row["ours"] is None else f"{row['ours']:.{digits}f}",
            error=row["standard_error"], reference=row["paper"], strong=True,
            group=row["row"] if grouped else "",
        )
        for row in sorted(rows, key=_by_first_sight(rows))
    ]  # fmt: skip
    said = "ours with its standard error; the upright line is the paper's value"
    said = said if _has_paper(rows) else "mean with its standard error"
    return BarsBlock(bars, f"{_capital(table['measure'])}: {said}.")


def _by_first_sight(rows: Sequence[Entry]) -> Any:
    """Keep entries of one row together, rows in the order of their first entry."""
    order = {name: place for place, name in enumerate(dict.fromkeys(row["row"] for row in rows))}
    return lambda row: order[row["row"]]


def _ranks(table: Mapping[str, Any], grid: Grid, columns: Sequence[str]) -> list[Block]:
    """Mean ranks over the rows that have a value in each column."""
    better = table["greater_is_better"]
    scores = [
        [_ours(entries, name) for name in columns]
        for entries in grid.values()
        if not any(entry["is_mean"] for entry in entries.values())
    ]
    whole = [line for line in scores if None not in line]
    if better is None or len(whole) < FEWEST_RANKED:
        return []
    of = "" if len(whole) == len(scores) else f" of {len(scores)}"
    over = f"{len(whole)}{of} rows"
    return [critical_difference_figure(columns, whole, greater_is_better=better, over=over)]


def _has_paper(rows: Sequence[Entry]) -> bool:
    return any(row["paper"] is not None for row in rows)


def _ours(entries: Mapping[str, Entry], name: str) -> float | None:
    return entries[name]["ours"] if name in entries else None


def _matrix(
    table: Mapping[str, Any], grid: Grid, columns: Sequence[str], digits: int, head: str
) -> TableBlock:
    better = table["greater_is_better"]
    rows = []
    for name, entries in grid.items():
        if all(entry["ours"] is None for entry in entries.values()):
            continue
        cells = [
            number_field(entries[key]["ours"], digits, entries[key]["standard_error"])
            if key in entries
            else NOTHING
            for key in columns
        ]
        rows.append([Field(name), *(cells if better is None else mark_best_of(cells, better))])
    heads = [Column(head), *(Column(name, numeric=True) for name in columns)]
    legend = "± is a standard error." + ("" if better is None else " The best of a row is marked.")
    return TableBlock(heads, rows, f"Side by side: {table['measure']}", legend)


def _entries(table: Mapping[str, Any], digits: int, heads: tuple[str, str]) -> TableBlock:
    rows: Sequence[Entry] = table["rows"]
    paper = _has_paper(rows)
    columns = {
        Column(heads[0]): [Field(row["row"]) for row in rows],
        Column(heads[1]): [Field(row["column"]) for row in rows],
        Column("paper", numeric=True): [number_field(row["paper"], digits) for row in rows],
        Column("ours" if paper else "mean", numeric=True): [
            number_field(row["ours"], digits, row["standard_error"]) for row in rows
        ],
        Column("difference", numeric=True): [_signed(row["difference"], digits) for row in rows],
        Column("repeats", numeric=True): [
            Field(str(row["repeats"]), row["repeats"]) for row in rows
        ],
    }
    if any(row["failures"] for row in rows):
        column = Column("failed", numeric=True)
        columns[column] = [_count(row["failures"]) for row in rows]
    if any(row["note"] for row in rows):
        columns[Column("note", wide=True)] = [Field(row["note"]) for row in rows]
    # a user's own experiment has no paper
    kept = {
        column: cells
        for column, cells in columns.items()
        if column.name not in {"paper", "difference"} or set(cells) != {NOTHING}
    }
    return TableBlock(
        list(kept), list(zip(*kept.values(), strict=True)),
        f"Every entry: {table['measure']}",
        "± is a standard error."
        + paper * " A difference is ours less the paper's, where the two can be compared.",
    )  # fmt: skip


def _count(number: int) -> Field:
    return Field(f"{number:,}", number)


def _signed(value: float | None, digits: int) -> Field:
    if value is None:
        return NOTHING
    return Field(f"{value:+.{digits}f}".replace("-", MINUS), value)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
