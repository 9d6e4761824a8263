"""Summaries of datasets and their columns."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ensemblage._core import count, write_number
from ensemblage.datasets._dataset import Dataset
from ensemblage.datasets._table import (
    CATEGORICAL,
    DATE,
    KINDS,
    Table,
    days_to_dates,
    is_missing,
    kind_of,
    parse_number,
)
from ensemblage.evaluation import REGRESSION

Array = NDArray[Any]
Count = Annotated[int, Meta(ge=0)]
Counts = dict[str, Count]
Value = float | str | None

# Most frequent categories listed for a column.
N_TOP_CATEGORIES = 3
# Classes listed in one line; more are summarised.
N_NAMED_CLASSES = 4


class ColumnSummary(Struct, frozen=True, forbid_unknown_fields=True):
    """Summary of a column."""

    name: Annotated[str, Meta(description="Column name.")]
    kind: Annotated[
        Literal["numeric", "categorical", "date"], Meta(description="Kind of the column.")
    ]
    missing: Annotated[Count, Meta(description="Number of missing values.")]
    n_unique: Annotated[Count, Meta(description="Number of distinct values.")]
    min: Annotated[Value, Meta(description="Minimum; null if categorical.")] = None
    median: Annotated[Value, Meta(description="Lower median; null if categorical.")] = None
    max: Annotated[Value, Meta(description="Maximum; null if categorical.")] = None
    top_categories: Annotated[
        Counts, Meta(description="Rows of the most frequent categories that occur at least twice.")
    ] = {}


class DataSummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Summary of a dataset, saved with results."""

    name: Annotated[str, Meta(description="Name of the dataset.")]
    n_rows: Annotated[Count, Meta(description="Number of rows.")]
    columns: Annotated[tuple[ColumnSummary, ...], Meta(description="Features, in order.")]
    target: Annotated[str | None, Meta(description="Target column.")] = None
    classes: Annotated[Counts, Meta(description="Rows per class; empty for regression.")] = {}
    target_summary: Annotated[
        ColumnSummary | None, Meta(description="Target of a regression; else null.")
    ] = None
    task_reason: Annotated[
        str, Meta(description="Why the task is classification or regression.")
    ] = ""
    sources: Annotated[Counts, Meta(description="Rows per source; empty if unknown.")] = {}
    notes: Annotated[
        tuple[str, ...],
        Meta(description="How the file was read, dropped rows, suspicious columns."),
    ] = ()

    @classmethod
    def of_dataset(cls, dataset: Dataset) -> DataSummary:
        columns = [
            column
            if kind == CATEGORICAL
            else days_to_dates(column.astype(float))
            if kind == DATE
            else column.astype(float)
            for kind, column in zip(dataset.kinds, dataset.X.T, strict=True)
        ]
        sources = dict[str, int]()
        if dataset.source_labels is not None:
            names, counts = np.unique(dataset.source_labels, return_counts=True)
            sources = dict(zip(names.tolist(), counts.tolist(), strict=True))
        regression = dataset.task is REGRESSION
        return cls(
            name=dataset.name, n_rows=len(dataset.y), target=dataset.target,
            columns=tuple(map(_summarise, dataset.feature_names, columns)), classes=dataset.classes,
            target_summary=_summarise(dataset.target, dataset.y) if regression else None,
            task_reason=dataset.task_reason, sources=sources, notes=tuple(dataset.notes),
        )  # fmt: skip

    @classmethod
    def of_table(cls, table: Table, name: str) -> DataSummary:
        columns = tuple(map(_summarise, table.names, table.columns))
        return cls(name=name, n_rows=table.n_rows, columns=columns, notes=tuple(table.notes))

    @property
    def n_missing(self) -> int:
        return sum(column.missing for column in self.columns)

    @property
    def n_incomplete(self) -> int:
        return sum(column.missing > 0 for column in self.columns)

    @property
    def kinds(self) -> dict[str, int]:
        """Number of columns of each kind."""
        kinds = [column.kind for column in self.columns]
        return {kind: kinds.count(kind) for kind in KINDS if kind in kinds}

    @property
    def class_shares(self) -> dict[str, float]:
        """Fraction of rows per class, the most frequent first."""
        order = sorted(self.classes, key=lambda label: -self.classes[label])
        return {label: self.classes[label] / self.n_rows for label in order}

    @property
    def has_numeric_target(self) -> bool:
        """Whether all target values are numbers, in regression or classification."""
        names = [*self.classes]
        return self.target_summary is not None or (
            bool(names) and not any(np.isnan(parse_number(name)) for name in names)
        )

    @property
    def sentence(self) -> str:
        parts = ["columns: " + ", ".join(f"{number} {kind}" for kind, number in self.kinds.items())]
        missing = (
            f"{count(self.n_missing, 'missing value')} in {count(self.n_incomplete, 'column')}"
        )
        parts.append(missing if self.n_missing else "no missing values")
        shares = self.class_shares
        if len(shares) > N_NAMED_CLASSES:
            least, most = _percent(min(shares.values())), _percent(max(shares.values()))
            each = f"{least} each" if least == most else f"{least} to {most}"
            parts.append(f"classes: {len(shares)} of {each}")
        elif shares:
            named = [f"{label} {_percent(share)}" for label, share in shares.items()]
            parts.append(f"classes: {', '.join(named)}")
        if self.target_summary is not None:
            parts.append(f"target: {range_text(self.target_summary)}")
        if self.sources:
            parts.append(f"sources: {len(self.sources)}")
        return "; ".join(parts)


def _percent(share: float) -> str:
    """Format a fraction of rows; rounding gives neither 0% nor 100%."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def range_text(column: ColumnSummary) -> str:
    """Format minimum, median and maximum of a numeric or date column."""
    ends = {"min": column.min, "median": column.median, "max": column.max}
    return ", ".join(
        f"{name} {write_number(value, 6) if isinstance(value, float) else value}"
        for name, value in ends.items()
    )


def _summarise(name: str, column: Array) -> ColumnSummary:
    missing = is_missing(column)
    known = column[~missing]
    n_missing = int(missing.sum())
    kind: Any = kind_of(column)
    if kind == CATEGORICAL:
        found = Counter(map(str, known.tolist()))
        # ties in alphabetical order; categories that occur once may be personal names
        order = sorted(found, key=lambda value: (-found[value], value))[:N_TOP_CATEGORIES]
        top = {value: found[value] for value in order if found[value] > 1}
        return ColumnSummary(name, kind, n_missing, len(found), top_categories=top)
    known = np.sort(known)
    n_unique = int((known[1:] != known[:-1]).sum()) + bool(len(known))
    if not n_unique:
        return ColumnSummary(name, kind, n_missing, 0)
    ends = known[[0, (len(known) - 1) // 2, -1]]
    if kind == DATE:
        ends = ends.astype("datetime64[D]").astype(str)
    low, median, high = ends.tolist()
    return ColumnSummary(name, kind, n_missing, n_unique, low, median, high)
