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
    """New rows as a model takes them.

    ``X`` has the model's order of columns, an array as ``read_rows`` gives it; ``table`` is all of
    the file. Notes tell how it was read, which columns were ignored, and what in them the model has
    not seen in training. ``kept`` are the columns asked for, as texts. ``sources`` of shape
    (n_rows,) are None if the model does not ask for them, or the file has none.
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

    Columns are matched by name and read with the model's kinds: words stay words, and dates are
    dates, however the new file is written. The target may be there or not, and so may the column
    of sources and columns that were left out in training. Any other column that the model does
    not know is an error.
    """
    rows = open_rows(saved, path, options=options, keep=keep, whole=True)
    (new,) = rows
    return new._replace(X=np.asarray(new.X), notes=rows.notes)


class RowBlocks:
    """New rows in blocks, in the order of the file; notes are complete when all were read."""

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
                met = set(self._saved.source.known)
                unseen = [x for x in new.sources if x not in met]
                names = ["no source" if x is None else repr(x) for x in unseen]
                count_categories(self._sources, names)
            yield new

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the rows read so far."""
        seen = set(self._names) - set(self._keep)
        unused = [name for name in self._saved.ignored if name in seen]
        ignored = f"Not looked at, as in training: {listing(map(repr, unused))}."
        new = () if self._unseen is None else self._unseen.sentences()
        own = [ignored] if unused else []
        return (*self._tables.notes, *own, *self._source_notes(), *new)

    def _source_notes(self) -> Iterator[str]:
        """Say which rows the model answers as if their source were not known."""
        if self._saved.source is None:
            return
        name = self._saved.source.name
        if name not in self._names:
            yield f"There is no column {name!r}: rows are answered as if their source were new."
        elif self._sources:
            found = list_categories(self._sources)
            yield f"Sources that the model has not met, answered without: {found}."


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
    """Open new rows for a model, in blocks if the file is large, unless ``whole`` is asked for."""
    kinds = dict(zip(saved.columns, saved.kinds, strict=True))
    if saved.target is not None:
        # classes as they are written; a target of numbers may not be known yet
        numbers = hasattr(saved.model, "predict") and not hasattr(saved.model, "classes_")
        kinds[saved.target] = NUMERIC_OR_LABEL if numbers else "categorical"
    if saved.source is not None:
        kinds[saved.source.name] = "categorical"
    kinds = dict.fromkeys(keep, "categorical") | kinds  # the identifier 007 is no number
    if whole:
        tables = one_block(read_table(path, kinds=kinds, options=options))
    else:
        tables = open_table(
            path, kinds=kinds, options=options, block_rows=block_rows, progress=progress
        )
    return RowBlocks(saved, tables, keep, str(path))


def _aligned(saved: SavedModel, table: Table, keep: Sequence[str]) -> NewRows:
    """Put rows of a table in the model's order of columns."""
    source = None if saved.source is None else saved.source.name
    kept = {name: _texts(table.column(name)) for name in keep}
    beside = {*saved.ignored, *keep, *([] if source is None else [source])}
    X = align_columns(table, saved.columns, saved.target, beside).to_rows()
    sources = None if source not in table.names else np.array(_texts(table.column(source)), object)
    return NewRows(X, table, (), kept, sources)


def _texts(column: NDArray[Any]) -> list[str | None]:
    """Write the values of a column; None where one is missing."""
    texts: list[str | None] = [str(value) for value in column.tolist()]
    if column.dtype.kind == "f":
        texts = [f"{value:.15g}" for value in column.tolist()]
    elif column.dtype.kind == "M":
        texts = np.datetime_as_string(column, unit="auto").tolist()
    return [None if gap else text for text, gap in zip(texts, is_missing(column), strict=True)]
