"""What a run tells: the typed values behind ``--json``, result tables and report pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import formatannotation
from typing import TYPE_CHECKING, Annotated, TypeVar, get_type_hints

from msgspec import Meta, Struct
from msgspec.structs import asdict, fields

from ensemblage.datasets import DataCard

if TYPE_CHECKING:
    from ensemblage.runs._experiment import CellResult

Count = Annotated[int, Meta(ge=0)]
NotNegative = Annotated[float, Meta(ge=0)]

Class = TypeVar("Class", bound=type[Struct])


def documented(document: Class) -> Class:
    """Word each field once: its description in the JSON Schema is its line in the docstring."""
    lines = [str(document.__doc__), "", "Parameters", "----------"]
    types = get_type_hints(document)
    for field in fields(document):
        kind = re.sub(r"\w+\.", "", formatannotation(types[field.name]))
        notes = [note for note in getattr(field.type, "__metadata__", ()) if note.description]
        lines += [f"{field.name} : {kind}", *(f"    {note.description}" for note in notes)]
    document.__doc__ = "\n".join([*lines, ""])
    return document


@documented
class ResultRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a result table: what the paper printed, and what we measured."""

    row: Annotated[str, Meta(description="Where it stands: usually a dataset.")]
    column: Annotated[str, Meta(description="Usually a method.")]
    paper: Annotated[float | None, Meta(description="The paper's value; null if it gives none.")]
    ours: Annotated[
        float | None, Meta(description="Our mean; null if every repeat failed or none has run.")
    ]
    standard_error: Annotated[
        NotNegative | None, Meta(description="Of our mean; null with fewer than two repeats.")
    ]
    repeats: Annotated[Count, Meta(description="How many values the mean is of.")]
    failures: Annotated[Count, Meta(description="Repeats that failed.")] = 0
    note: Annotated[
        str, Meta(description="Why the two differ or cannot be compared; may be empty.")
    ] = ""
    comparable: Annotated[
        bool,
        Meta(
            description="Whether the difference means anything: "
            "false for a stand-in for the paper's data."
        ),
    ] = True
    is_mean: Annotated[
        bool,
        Meta(description="Whether it is of a row of means over other rows, not of a dataset."),
    ] = False

    @property
    def difference(self) -> float | None:  # numpydoc ignore=RT01
        """Ours less the paper's, where both are there and can be compared."""
        if self.paper is None or self.ours is None or not self.comparable:
            return None
        return self.ours - self.paper


@documented
class ResultTable(Struct, frozen=True, forbid_unknown_fields=True):
    """An experiment's outcome, ready to be printed or drawn."""

    name: Annotated[str, Meta(description="The experiment.")]
    title: Annotated[str, Meta(description="What it shows.")]
    measure: Annotated[
        str, Meta(description='What the numbers are, with their unit, such as "accuracy (%)".')
    ]
    rows: Annotated[
        Sequence[ResultRow], Meta(description="The entries, in the order in which to read them.")
    ]
    summary: Annotated[
        Sequence[str], Meta(description="What the table shows, a sentence each.")
    ] = ()
    notes: Annotated[
        Sequence[str], Meta(description="Known deviations from the paper, and what is missing.")
    ] = ()
    greater_is_better: Annotated[
        bool | None, Meta(description="Direction of the measure; null if it has none.")
    ] = None
    library: Annotated[
        Sequence[str], Meta(description="Columns that are methods of this library.")
    ] = ()
    ranked: Annotated[
        bool,
        Meta(
            description="Whether ranks of the columns mean something: they are methods, and rows "
            "are independent datasets."
        ),
    ] = True


class CellCounts(Struct, frozen=True, forbid_unknown_fields=True):
    """How far a run is."""

    total: Annotated[Count, Meta(description="Cells to compute.")]
    done: Annotated[Count, Meta(description="Cells that have a result, failed ones too.")]
    failed: Annotated[Count, Meta(description="Cells that failed.")]

    @classmethod
    def of(cls, results: Sequence[CellResult], total: int) -> CellCounts:
        """Count results among so many cells."""
        return cls(total, len(results), sum(bool(each.error) for each in results))


class RowDocument(ResultRow, frozen=True, kw_only=True):
    """An entry as JSON shows it."""

    difference: Annotated[
        float | None,
        Meta(
            description="Ours less the paper's; null where one is missing or they cannot be "
            "compared."
        ),
    ]


class TableDocument(ResultTable, frozen=True, kw_only=True):
    """A table as JSON shows it."""

    rows: Annotated[
        Sequence[RowDocument], Meta(description="The entries, in the order in which to read them.")
    ]

    @classmethod
    def of(cls, table: ResultTable) -> TableDocument:
        """Add the differences."""
        rows = [RowDocument(**asdict(row), difference=row.difference) for row in table.rows]
        return cls(**(asdict(table) | {"rows": rows}))


class RunDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``run`` and ``reproduce`` print with ``--json``, and what their page shows."""

    experiment: Annotated[str, Meta(description="Its name.")]
    title: Annotated[str, Meta(description="What it shows.")]
    scale: Annotated[
        str,
        Meta(
            description="How much of a paper's table was asked for: quick, standard or full; "
            "declared for an experiment of the user's own, whose file says how much."
        ),
    ]
    seed: Annotated[Count, Meta(description="The seed.")]
    cells: CellCounts
    tables: list[TableDocument]
    results: Annotated[str | None, Meta(description="The SQLite file with the cells.")]
    report: Annotated[str | None, Meta(description="The HTML report; null if none was asked for.")]
    finished: Annotated[bool, Meta(description="Whether all cells have a result.")]
    data: Annotated[
        tuple[DataCard, ...],
        Meta(description="What the datasets hold; empty for a paper's table."),
    ] = ()
