"""Notes on the entries of a result table, each said once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ensemblage.messages import listed
from ensemblage.runs._run_documents import ResultRow


def entry_notes(rows: Sequence[ResultRow]) -> list[str]:
    """Say each note once, and of which rows or entries it is."""
    found: dict[str, list[ResultRow]] = {}
    for row in rows:
        if row.note:
            found.setdefault(row.note, []).append(row)
    return [f"{_of_which(entries, rows)}: {note}" for note, entries in found.items()]


def _of_which(entries: list[ResultRow], rows: Sequence[ResultRow]) -> str:
    if len(entries) == len(rows) > 1:
        return "All rows"
    sizes, noted = Counter(each.row for each in rows), Counter(each.row for each in entries)
    names = []
    for row, times in noted.items():
        if times == sizes[row]:
            names.append(row)
        else:
            names += [f"{row} ({entry.column})" for entry in entries if entry.row == row]
    return listed(names)
