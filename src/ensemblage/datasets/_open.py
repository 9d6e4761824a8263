"""A dataset from what a user names, and the columns of new rows matched to a model's."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ensemblage.datasets._dataset import Dataset, check_magnitudes
from ensemblage.datasets._files import FORMATS, read_table
from ensemblage.datasets._loaders import list_datasets, load_dataset
from ensemblage.datasets._table import WORD, Table
from ensemblage.messages import listing, suggestion


class TargetNotGivenError(ValueError):
    """The column to predict must be named, because a file does not tell."""


def open_dataset(
    source: str,
    target: str | None = None,
    *,
    data_dir: str | PathLike[str] | None = None,
    drop: Sequence[str] = (),
    source_column: str | None = None,
) -> Dataset:
    """Open a file or a named dataset.

    Parameters
    ----------
    source : str
        A CSV, TSV, ARFF or Parquet file, ``-`` for CSV from standard input, or a name of
        ``list_datasets()``.
    target : str, default=None
        The column to predict; needed for a file.
    data_dir : str or path-like, default=None
        A folder of CSV files, for a name.
    drop : sequence of str, default=()
        Columns of a file to leave out.
    source_column : str, default=None
        The column of a file that tells where each row comes from.

    Returns
    -------
    Dataset
        Features and classes.
    """
    if _is_file(source, data_dir):
        return _open_file(source, target, drop, source_column)
    dataset = load_dataset(source, data_dir)
    if target not in {None, dataset.target}:
        raise ValueError(
            f"The target of the dataset {source!r} is {dataset.target!r}, not {target!r}: "
            "to predict another column, give the file."
        )
    if source_column is not None:
        raise ValueError("A source column can be named for a file only, not for a named dataset.")
    if drop:
        raise ValueError("Columns can be left out of a file only, not of a named dataset.")
    return dataset


def align_table(table: Table, columns: Sequence[str], target: str | None = None) -> NDArray[Any]:
    """Match the columns of new rows to those that a model was fitted on, by name.

    Parameters
    ----------
    table : Table
        The new rows.
    columns : sequence of str
        The model's columns, in their order.
    target : str, default=None
        The column that the model predicts; it may be there or not.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        The values in the model's order.
    """
    absent = [name for name in columns if name not in table.names]
    extra = [name for name in table.names if name not in columns and name != target]
    if absent:
        raise ValueError(
            f"The model needs columns that are not there: {listing(absent)}."
            f"{suggestion(absent[0], extra)}"
        )
    if extra:
        raise ValueError(f"There are columns that the model does not know: {listing(extra)}.")
    features = table.select(columns)
    check_magnitudes(features)
    return features.to_array()


def _is_file(source: str, data_dir: str | PathLike[str] | None) -> bool:
    path = Path(source)
    if source == "-" or path.suffix.lower() in FORMATS or len(path.parts) != 1:
        return True
    # A folder called iris must not hide the dataset of that name.
    known = {info.name for info in list_datasets(data_dir)}
    return path.exists() and source not in known


def _open_file(
    source: str, target: str | None, drop: Sequence[str], source_column: str | None
) -> Dataset:
    # Labels are kept as they are written: "01" is not "1".
    table = read_table(source, kinds={} if target is None else {target: WORD})
    if target is None:
        raise TargetNotGivenError(
            f"Name the column to predict by `target`. The columns are: {listing(table.names)}."
        )
    name = "standard input" if source == "-" else Path(source).name
    return Dataset.from_table(
        table, target, name=name, origin=source, drop=drop, source=source_column
    )
