"""New rows for a saved model: read with its kinds, in its order of columns."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ensemblage.datasets import Reading, Table, align_table, naming_file, read_table
from ensemblage.messages import listing
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
        What a reader should know: how the file was read, and which columns were not looked at.
    """

    X: NDArray[Any]
    table: Table
    notes: tuple[str, ...] = ()


def read_rows(
    saved: SavedModel,
    path: str | PathLike[str],
    *,
    reading: Reading | None = None,
    keep: Sequence[str] = (),
) -> NewRows:
    r"""Read new rows for a model.

    Columns are matched by name and read with the model's kinds: words stay words, and dates are
    dates, however the new file is written. The target may be there or not, and so may columns
    that were left out in training or told the source. Any other column that the model does not
    know is an error.

    Parameters
    ----------
    saved : SavedModel
        The model, as ``load`` gives it.
    path : str or path-like
        A file that ``read_table`` reads, or ``-`` for standard input.
    reading : Reading, default=None
        How to read the file, where it is not to be found out.
    keep : sequence of str, default=()
        Further columns that may be there.

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
    if saved.target is not None:
        kinds[saved.target] = "word"
    table = read_table(path, kinds=kinds, reading=reading)
    with naming_file(path):
        for name in keep:
            table.column(name)
        X = align_table(table, saved.columns, saved.target, {*saved.ignored, *keep})
    unused = [name for name in saved.ignored if name in table.names and name not in keep]
    ignored = f"Not looked at, as in training: {listing(map(repr, unused))}."
    return NewRows(X, table, (*table.notes, *([ignored] if unused else [])))
