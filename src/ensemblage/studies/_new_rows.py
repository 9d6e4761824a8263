"""Rows of a new file in the order of a model's columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import count, listing, set_module
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
    parse_number,
    read_table,
)
from ensemblage.persistence import SavedModel, SourceColumn
from ensemblage.studies._documents import UnknownSources


@set_module("ensemblage.studies")
class NewRows(NamedTuple):
    """New rows in the model's order of columns.

    ``X`` holds the model's columns, as an array from ``read_rows``; ``table`` is the whole file.
    ``notes`` state how it was read, which columns were ignored, and which values were unseen in
    training. ``kept`` are the columns to keep, as text. ``sources``, (n_rows,) or of nested sources
    (n_rows, 2), are None if the model does not use sources, or the file has none.
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
    beside: Sequence[str] = (),
) -> NewRows:
    """Read new rows for a model.

    Columns are matched by name and read with the model's column types, in any file format. The
    target, the column of sources, columns left out in training and those ``beside`` are optional.
    Any other column unknown to the model is an error.
    """
    rows = open_rows(saved, path, options=options, keep=keep, beside=beside, whole=True)
    (new,) = rows
    return new._replace(X=np.asarray(new.X), notes=rows.notes)


class RowBlocks:
    """New rows in blocks, in file order; notes are complete after the last block."""

    def __init__(
        self,
        saved: SavedModel,
        tables: TableBlocks,
        keep: Sequence[str],
        beside: Sequence[str],
        name: str,
    ) -> None:
        self.n_rows, self.in_blocks = tables.n_rows, tables.in_blocks
        self._saved, self._tables, self._keep, self._name = saved, tables, keep, name
        self._names: tuple[str, ...] = ()
        site = AdaptedSource.of(saved)
        self._beside = (*beside, *(() if site is None else site.columns))
        self._others = None if site is None else _OtherCounts(site)
        self._unknown = None if saved.source is None else _UnknownCounts(saved.source)
        self._unseen = None
        if saved.training_ranges is not None and saved.columns:
            self._unseen = UnseenValues(saved.training_ranges, saved.columns)

    def __iter__(self) -> Iterator[NewRows]:
        for table in self._tables.read():
            self._names = table.names
            with naming_file(self._name):
                new = _aligned(self._saved, table, self._keep, self._beside)
            if self._others is not None:
                self._others.add(table)
            if self._unseen is not None:
                self._unseen.add(new.X.by_column)
            if self._unknown is not None:
                self._unknown.add(new)
            yield new

    @property
    def unknown_sources(self) -> UnknownSources | None:
        """Rows of unknown sources so far; None if the model uses no source."""
        return None if self._unknown is None else self._unknown.document()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the rows read so far."""
        seen = set(self._names) - {*self._keep, *self._beside}
        unused = [name for name in self._saved.ignored if name in seen]
        ignored = f"Columns ignored, as in training: {listing(map(repr, unused))}."
        new = () if self._unseen is None else self._unseen.sentences()
        own = [ignored] if unused else []
        unknown = () if self._unknown is None else self._unknown.sentences()
        others = () if self._others is None else self._others.sentences()
        return (*self._tables.notes, *own, *unknown, *others, *new)


class AdaptedSource(NamedTuple):
    """The source that a saved model was adapted to, as noted in its file.

    ``columns`` has its column, or both of nested sources; ``names`` are the values of the first.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, saved: SavedModel) -> AdaptedSource | None:
        """Return None for a model that was not adapted, or from a file without a source column."""
        adapted = saved.details.get("adapted")
        if not isinstance(adapted, Mapping) or not adapted.get("source_columns"):
            return None
        return cls(tuple(adapted["source_columns"]), tuple(adapted.get("sources", ())))


class _OtherCounts:
    """Rows of other sources than the one adapted to, counted over blocks of rows."""

    def __init__(self, site: AdaptedSource) -> None:
        self._site, self._found, self._n_rows = site, Counter[str](), 0

    def add(self, table: Table) -> None:
        column = self._site.columns[0]
        self._n_rows += table.n_rows
        if column in table.names:
            found = [_as_known(text, self._site.names) for text in _texts(table.column(column))]
            others = [each for each in found if each is not None and each not in self._site.names]
            count_categories(self._found, others)

    def sentences(self) -> Iterator[str]:
        column, names = self._site.columns[0], listing(map(repr, self._site.names))
        n_others, total = sum(self._found.values()), count(self._n_rows, "row")
        if n_others and not self._site.names:
            yield f"Column {column!r} is not used: all rows count as of the source adapted to."
        elif n_others:
            shown = Counter({repr(name): n for name, n in self._found.most_common()})
            yield (
                f"The model was adapted to {names} in column {column!r}, but {n_others} of {total} "
                f"{'are' if n_others > 1 else 'is'} of other sources, and predicted as if of that "
                f"one: {list_categories(shown)}. Predict these by the model before it was adapted."
            )


class _UnknownCounts:
    """Rows whose source was not in training, counted over blocks of rows."""

    def __init__(self, column: SourceColumn) -> None:
        self._column = column
        self._known, self._known_inner = set(column.known), set(column.known_inner)
        self._n_rows = self._n_unknown = self._n_missing = self._n_inner = 0
        self._outer, self._pairs = Counter[str](), Counter[str]()
        self._absent: tuple[str, ...] = ()

    def add(self, new: NewRows) -> None:
        n_rows, names = len(new.X), self._column.names
        self._n_rows += n_rows
        self._absent = tuple(name for name in names if name not in new.table.names)
        if names[0] in self._absent or new.sources is None:
            self._n_unknown += n_rows
            self._n_missing += n_rows
            return
        outer = new.sources if len(names) == 1 else new.sources[:, 0]
        unseen = [each for each in outer if each not in self._known]
        self._n_unknown += len(unseen)
        self._n_missing += unseen.count(None)
        count_categories(self._outer, [each for each in unseen if each is not None])
        if len(names) == 2:
            pairs = [(a, b) for a, b in new.sources.tolist()
                     if a in self._known and (a, b) not in self._known_inner]  # fmt: skip
            self._n_inner += len(pairs)
            names_of = [f"{a} / {'missing' if b is None else b}" for a, b in pairs]
            count_categories(self._pairs, names_of)

    def document(self) -> UnknownSources:
        return UnknownSources(
            rows=self._n_unknown,
            sources=dict(self._outer.most_common()),
            missing=self._n_missing,
            inner_rows=self._n_inner,
            inner_sources=dict(self._pairs.most_common()),
            absent_columns=self._absent,
        )

    def sentences(self) -> Iterator[str]:
        """Say how many rows are of unknown sources, of which, and what may be done."""
        total, (outer, *inner) = count(self._n_rows, "row"), self._column.names
        if outer in self._absent:
            yield f"There is no column {outer!r}: all rows are predicted as of an unknown source."
        elif self._n_unknown:
            shown = Counter({repr(name): n for name, n in self._outer.most_common()})
            if self._n_missing:
                shown["missing"] = self._n_missing
            yield (
                f"{self._n_unknown} of {total} {'are' if self._n_unknown > 1 else 'is'} of "
                f"{count(len(shown), 'unknown source')} in column {outer!r}, and predicted without "
                f"the source: {list_categories(shown)}."
            )
        if inner and inner[0] in self._absent and outer not in self._absent:
            yield f"There is no column {inner[0]!r}: rows are predicted by their {outer!r} only."
        elif self._n_inner:
            shown = Counter({repr(name): n for name, n in self._pairs.most_common()})
            yield (
                f"{self._n_inner} of {total} {'are' if self._n_inner > 1 else 'is'} of a known "
                f"{outer!r}, but an unknown {inner[0]!r}, and predicted as of the known one: "
                f"{list_categories(shown)}."
            )
        if self._n_unknown or self._n_inner:
            yield "With labelled rows of an unknown source, `adapt()` adapts the model to it."


def open_rows(
    saved: SavedModel,
    path: str | PathLike[str],
    *,
    options: ReadOptions | None = None,
    keep: Sequence[str] = (),
    beside: Sequence[str] = (),
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
        kinds |= dict.fromkeys(saved.source.names, "categorical")
    site = AdaptedSource.of(saved)
    texts = (*keep, *beside, *(() if site is None else site.columns))
    kinds = dict.fromkeys(texts, "categorical") | kinds  # an identifier such as 007 stays text
    if whole:
        tables = one_block(read_table(path, kinds=kinds, options=options))
    else:
        tables = open_table(
            path, kinds=kinds, options=options, block_rows=block_rows, progress=progress
        )
    return RowBlocks(saved, tables, keep, beside, str(path))


def _aligned(
    saved: SavedModel, table: Table, keep: Sequence[str], optional: Sequence[str]
) -> NewRows:
    """Select the model's columns of a table, in its order."""
    kept = {name: _texts(table.column(name)) for name in keep}
    levels = () if saved.source is None else saved.source.names
    beside = {*saved.ignored, *keep, *optional, *levels}
    X = align_columns(table, saved.columns, saved.target, beside).to_rows()
    return NewRows(X, table, (), kept, read_sources(saved.source, table))


def read_sources(column: SourceColumn | None, table: Table) -> NDArray[Any] | None:
    """Read the sources of a table as text, (n_rows,) or of nested sources (n_rows, 2).

    None if the model uses no sources, or the table has no column of them.
    """
    if column is None or not set(column.names) & set(table.names):
        return None
    known = [set(column.known), {inner for _, inner in column.known_inner}]
    found = np.full((table.n_rows, len(column.names)), None, dtype=object)
    for level, name in enumerate(column.names):
        if name in table.names:
            texts = _texts(table.column(name))
            found[:, level] = [_as_known(text, known[level]) for text in texts]
    return found if column.inner is not None else found[:, 0]


def _as_known(text: str | None, known: Collection[str]) -> str | None:
    """Write a number as in training: a column with missing values may have 1.0 instead of 1."""
    if text is None or text in known:
        return text
    number = parse_number(text)
    written = f"{number:.15g}"
    return written if written in known else text


def _texts(column: NDArray[Any]) -> list[str | None]:
    """Values of a column as text; None where missing."""
    texts: list[str | None] = [str(value) for value in column.tolist()]
    if column.dtype.kind == "f":
        texts = [f"{value:.15g}" for value in column.tolist()]
    elif column.dtype.kind == "M":
        texts = np.datetime_as_string(column, unit="auto").tolist()
    missing = is_missing(column)
    return [None if no else text for text, no in zip(texts, missing, strict=True)]
