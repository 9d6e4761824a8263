"""Rows of a new file in the order of a model's columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import listing, set_module
from ensemblage.datasets import (
    NUMERIC_OR_LABEL,
    ReadOptions,
    Table,
    TableBlocks,
    UnseenValues,
    align_columns,
    count_categories,
    is_missing,
    list_categories,
    naming_file,
    one_block,
    open_table,
    read_table,
)
from ensemblage.persistence import SavedModel


@set_module("ensemblage.studies")
class NewRows(NamedTuple):
    """New rows in the model's order of columns.

    ``X`` holds the model's columns, as an array from ``read_rows``; ``table`` is the whole file.
    ``notes`` state how it was read, which columns were ignored, and which values were unseen in
    training. ``kept`` are the columns to keep, as text. ``sources`` of shape (n_rows,) are None if
    the model does not use sources, or the file has none.
    """

    X: Any
    table: Table
    notes: tuple[str, ...] = ()
    kept: Mapping[str, list[str | None]] = MappingProxyType({})
    sources: NDArray[Any] | None = None


def read_rows(
    saved: SavedModel,
    path: str | PathLike[str],
    *,
    options: ReadOptions | None = None,
    keep: Sequence[str] = (),
) -> NewRows:
    """Read new rows for a model.

    Columns are matched by name and read with the model's column types, in any file format. The
    target, the column of sources and columns left out in training are optional. Any other column
    unknown to the model is an error.
    """
    rows = open_rows(saved, path, options=options, keep=keep, whole=True)
    (new,) = rows
    return new._replace(X=np.asarray(new.X), notes=rows.notes)


class RowBlocks:
    """New rows in blocks, in file order; notes are complete after the last block."""

    def __init__(
        self, saved: SavedModel, tables: TableBlocks, keep: Sequence[str], name: str
    ) -> None:
        self.n_rows, self.in_blocks = tables.n_rows, tables.in_blocks
        self._saved, self._tables, self._keep, self._name = saved, tables, keep, name
        self._names: tuple[str, ...] = ()
        self._sources: Counter[str] = Counter()
        self._unseen = None
        if saved.training_ranges is not None and saved.columns:
            self._unseen = UnseenValues(saved.training_ranges, saved.columns)

    def __iter__(self) -> Iterator[NewRows]:
        for table in self._tables.read():
            self._names = table.names
            with naming_file(self._name):
                new = _aligned(self._saved, table, self._keep)
            if self._unseen is not None:
                self._unseen.add(new.X.by_column)
            if self._saved.source is not None and new.sources is not None:
                known = set(self._saved.source.known)
                unseen = [x for x in new.sources if x not in known]
                names = ["missing" if x is None else repr(x) for x in unseen]
                count_categories(self._sources, names)
            yield new

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the rows read so far."""
        seen = set(self._names) - set(self._keep)
        unused = [name for name in self._saved.ignored if name in seen]
        ignored = f"Columns ignored, as in training: {listing(map(repr, unused))}."
        new = () if self._unseen is None else self._unseen.sentences()
        own = [ignored] if unused else []
        return (*self._tables.notes, *own, *self._source_notes(), *new)

    def _source_notes(self) -> Iterator[str]:
        """Name sources whose rows are predicted as rows of an unknown source."""
        if self._saved.source is None:
            return
        name = self._saved.source.name
        if name not in self._names:
            yield f"There is no column {name!r}: rows are predicted as rows of a new source."
        elif self._sources:
            found = list_categories(self._sources)
            yield (
                f"Unknown sources, predicted without the source: {found}. `ensemblage adapt` "
                "adapts a model to a new source, by a few labelled rows."
            )


def open_rows(
    saved: SavedModel,
    path: str | PathLike[str],
    *,
    options: ReadOptions | None = None,
    keep: Sequence[str] = (),
    block_rows: int | None = None,
    whole: bool = False,
    progress: Callable[[int, int], Any] | None = None,
) -> RowBlocks:
    """Open new rows for a model, in blocks if the file is large and not ``whole``."""
    kinds = dict(zip(saved.columns, saved.kinds, strict=True))
    if saved.target is not None:
        # classes as text; a numeric target may be missing
        regression = hasattr(saved.model, "predict") and not hasattr(saved.model, "classes_")
        kinds[saved.target] = NUMERIC_OR_LABEL if regression else "categorical"
    if saved.source is not None:
        kinds[saved.source.name] = "categorical"
    kinds = dict.fromkeys(keep, "categorical") | kinds  # an identifier such as 007 stays text
    if whole:
        tables = one_block(read_table(path, kinds=kinds, options=options))
    else:
        tables = open_table(
            path, kinds=kinds, options=options, block_rows=block_rows, progress=progress
        )
    return RowBlocks(saved, tables, keep, str(path))


def _aligned(saved: SavedModel, table: Table, keep: Sequence[str]) -> NewRows:
    """Select the model's columns of a table, in its order."""
    source = None if saved.source is None else saved.source.name
    kept = {name: _texts(table.column(name)) for name in keep}
    beside = {*saved.ignored, *keep, *([] if source is None else [source])}
    X = align_columns(table, saved.columns, saved.target, beside).to_rows()
    sources = None if source not in table.names else np.array(_texts(table.column(source)), object)
    return NewRows(X, table, (), kept, sources)


def _texts(column: NDArray[Any]) -> list[str | None]:
    """Values of a column as text; None where missing."""
    texts: list[str | None] = [str(value) for value in column.tolist()]
    if column.dtype.kind == "f":
        texts = [f"{value:.15g}" for value in column.tolist()]
    elif column.dtype.kind == "M":
        texts = np.datetime_as_string(column, unit="auto").tolist()
    missing = is_missing(column)
    return [None if no else text for text, no in zip(texts, missing, strict=True)]
