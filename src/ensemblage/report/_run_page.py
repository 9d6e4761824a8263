"""The page of ``ensemblage run`` and ``ensemblage reproduce``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from ensemblage.pages import Block, FactsBlock, NotesBlock, Page, Section, TextBlock
from ensemblage.report._data_section import datasets_section
from ensemblage.report._result_blocks import result_blocks
from ensemblage.runs import RowDocument, RunDocument, TableDocument

OWN = "declared"
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
