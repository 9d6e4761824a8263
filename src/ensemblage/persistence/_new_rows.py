"""New rows for a saved model: read with its kinds, in its order of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets import (
    EITHER,
    Reading,
    Table,
    align_table,
    is_missing,
    naming_file,
    read_table,
)
from ensemblage.messages import count, listing
from ensemblage.persistence._familiar import SHOWN, unfamiliar
from ensemblage.persistence._models import SavedModel


class NewRows(NamedTuple):
    """New rows as a model takes them.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The values in the model's order of columns.
    table : Table
        All columns of the file.
    notes : tuple of str
        What a reader should know: how the file was read, which columns were not looked at, and
        what in them the model has not seen in training.
    kept : mapping of str to list of str or None
        The columns asked for by ``keep``, as texts; None where a value is missing.
    sources : ndarray of shape (n_rows,) or None
        Where the rows come from, None where a row does not tell; None if the model does not ask,
        or the file does not tell.
    """

    X: NDArray[Any]
    table: Table
    notes: tuple[str, ...] = ()
    kept: Mapping[str, list[str | None]] = MappingProxyType({})
    sources: NDArray[Any] | None = None


def read_rows(
    saved: SavedModel,
    path: str | PathLike[str],
    *,
    reading: Reading | None = None,
    keep: Sequence[str] = (),
) -> NewRows:
    r"""Read new rows for a model.

    Columns are matched by name and read with the model's kinds: words stay words, and dates are
    dates, however the new file is written. The target may be there or not, and so may the column
    of sources and columns that were left out in training. Any other column that the model does
    not know is an error.

    Parameters
    ----------
    saved : SavedModel
        The model, as ``load`` gives it.
    path : str or path-like
        A file that ``read_table`` reads, or ``-`` for standard input.
    reading : Reading, default=None
        How to read the file, where it is not to be found out.
    keep : sequence of str, default=()
        Columns to give as they are written; the model need not know them.

    Returns
    -------
    NewRows
        The rows in the model's order of columns, the whole table, and notes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ensemblage.persistence import SavedModel, read_rows
    >>> saved = SavedModel(None, ("size", "job"), ("number", "word"), ignored=("id",))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "new.csv"
    ...     _ = path.write_text("id;job;size\n7;cook;1,5\n8;smith;2,5\n")
    ...     rows = read_rows(saved, path)
    >>> rows.X.tolist()
    [[1.5, 'cook'], [2.5, 'smith']]
    >>> rows.notes[-1]
    "Not looked at, as in training: 'id'."
    """
    kinds = dict(zip(saved.columns, saved.kinds, strict=True))
    source = None if saved.source is None else saved.source.name
    if saved.target is not None:
        # classes as they are written; a target of numbers may not be known yet
        numbers = hasattr(saved.model, "predict") and not hasattr(saved.model, "classes_")
        kinds[saved.target] = EITHER if numbers else "word"
    if source is not None:
        kinds[source] = "word"
    as_they_are = dict.fromkeys(keep, "word")  # the identifier 007 is no number
    table = read_table(path, kinds=as_they_are | kinds, reading=reading)
    with naming_file(path):
        kept = {name: _texts(table.column(name)) for name in keep}
        beside = {*saved.ignored, *keep, *([] if source is None else [source])}
        X = align_table(table, saved.columns, saved.target, beside)
    unused = [name for name in saved.ignored if name in table.names and name not in keep]
    ignored = f"Not looked at, as in training: {listing(map(repr, unused))}."
    new = () if saved.familiar is None else unfamiliar(saved.familiar, X, saved.columns)
    notes = (*table.notes, *([ignored] if unused else []), *_source_notes(saved, table), *new)
    told = None if source not in table.names else np.array(_texts(table.column(source)), object)
    return NewRows(X, table, notes, kept, told)


def _source_notes(saved: SavedModel, table: Table) -> Iterator[str]:
    """Say which rows the model answers as if their source were not known."""
    if saved.source is None:
        return
    name, met = saved.source.name, set(saved.source.known)
    if name not in table.names:
        yield f"There is no column {name!r}: rows are answered as if their source were new."
        return
    told = _texts(table.column(name))
    new = Counter("no source" if each is None else repr(each) for each in told if each not in met)
    if new:
        found = [f"{each} ({count(rows, 'row')})" for each, rows in new.items()]
        yield f"Sources that the model has not met, answered without: {listing(found, SHOWN)}."


def _texts(column: NDArray[Any]) -> list[str | None]:
    """Write the values of a column; None where one is missing."""
    texts: list[str | None] = [str(value) for value in column.tolist()]
    if column.dtype.kind == "f":
        texts = [f"{value:.15g}" for value in column.tolist()]
    elif column.dtype.kind == "M":
        texts = np.datetime_as_string(column, unit="auto").tolist()
    return [None if gap else text for text, gap in zip(texts, is_missing(column), strict=True)]
