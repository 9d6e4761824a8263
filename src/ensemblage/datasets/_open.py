"""A dataset from what a user names: a file, or a name known to a folder, scikit-learn or OpenML."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import msgspec
import numpy as np
from sklearn import datasets

from ensemblage.datasets._catalogue import BUNDLED, PAPER_DATASETS
from ensemblage.datasets._dataset import Dataset
from ensemblage.datasets._file_names import names_file
from ensemblage.datasets._files import called, naming_file, read_table
from ensemblage.datasets._openml import fetch_dataset, is_cached
from ensemblage.datasets._reading_options import Reading
from ensemblage.datasets._table import EITHER, NUMBER, WORD, Table
from ensemblage.datasets._targets import check_task
from ensemblage.datasets.streams import RowDraw, sample_table
from ensemblage.messages import listing, suggestion

OPENML_PREFIX = "openml:"


class TargetNotGivenError(ValueError):
    """The column to predict must be named, because a file does not tell."""


class DatasetInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the list of datasets.

    Parameters
    ----------
    name : str
        What to ask for.
    n_rows, n_features : int or None
        The shape, where it is known without reading the rows.
    at_hand : bool
        Whether it can be read without the network.
    origin : str
        Where it comes from.
    """

    name: str
    n_rows: int | None
    n_features: int | None
    at_hand: bool
    origin: str


class Declared(msgspec.Struct, frozen=True):
    """What ``manifest.json`` may say of a dataset."""

    rows: int | None = None
    features: int | None = None
    numeric: tuple[str, ...] = ()
    categories: dict[str, tuple[str, ...]] = {}


def open_dataset(
    source: str,
    target: str | None = None,
    *,
    data_dir: str | PathLike[str] | None = None,
    drop: Sequence[str] = (),
    source_column: str | None = None,
    reading: Reading | None = None,
    task: str | None = None,
    draw: tuple[int, int] | tuple[int, int, bool] | None = None,
) -> Dataset:
    """Open a file or a named dataset.

    Parameters
    ----------
    source : str
        A file that ``read_table`` reads, ``-`` for delimited text from standard input, or a name
        of ``list_datasets()``.
    target : str, default=None
        The column to predict; needed for a file.
    data_dir : str or path-like, default=None
        A folder of CSV files, for a name.
    drop : sequence of str, default=()
        Columns of a file to leave out.
    source_column : str, default=None
        The column of a file that tells where each row comes from.
    reading : Reading, default=None
        How to read a file, where it is not to be found out.
    task : {"classification", "regression"}, default=None
        Whether classes or numbers are to be predicted; by default what the target holds decides,
        see :meth:`Dataset.from_table`.
    draw : (int, int) or (int, int, bool), default=None
        Of a Parquet file that would take 256 MB or more, or with True of any file, take so many
        rows at most, drawn by a seed; a note says so. All rows if not given.

    Returns
    -------
    Dataset
        Features, and classes or numbers.
    """
    check_task(task)
    if _is_file(source, data_dir):
        # Labels are kept as they are written: "01" is not "1".
        kinds = {} if target is None else {target: EITHER}
        if draw is None:
            table = read_table(source, kinds=kinds, reading=reading)
        else:
            table = sample_table(source, RowDraw(*draw), kinds=kinds, reading=reading)
        with naming_file(source):
            return Dataset.from_table(
                table, _given(target, table), name=called(source), origin=source, drop=drop,
                source=source_column, task=task,
            )  # fmt: skip
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
    if draw is not None and RowDraw(*draw).of_any:
        raise ValueError("Rows can be drawn of a file only, not of a named dataset.")
    if task not in {None, dataset.task.name}:
        raise ValueError(
            f"The dataset {source!r} has {dataset.task.targets} to predict: to take them "
            "otherwise, give the file."
        )
    return dataset


def load_dataset(name: str, data_dir: str | PathLike[str] | None = None) -> Dataset:
    """Load a dataset by name.

    A file ``NAME.csv`` in the folder comes first, then the datasets that scikit-learn brings
    along, then OpenML.

    Parameters
    ----------
    name : str
        A name of ``list_datasets()``, or ``openml:ID`` for any dataset of OpenML.
    data_dir : str or path-like, default=None
        A folder of CSV files, by default the one that the environment variable
        ``ENSEMBLAGE_DATA`` names. The target is the column ``class``, or else the last one. A
        ``manifest.json`` in the folder may declare, per name, ``numeric`` columns and
        ``categories``.

    Returns
    -------
    Dataset
        Features and classes.

    Examples
    --------
    >>> from ensemblage.datasets import load_dataset
    >>> load_dataset("iris").X.shape
    (150, 4)
    """
    folder = find_folder(data_dir)
    if folder is not None and (folder / f"{name}.csv").is_file():
        return load_from_folder(folder, name)
    if name in BUNDLED:
        return _bundled(name)
    if name.startswith(OPENML_PREFIX):
        return fetch_dataset(name, _openml_id(name))
    known = PAPER_DATASETS.get(name)
    if known is not None and known.openml_id is not None:
        return fetch_dataset(name, known.openml_id, known)
    names = [info.name for info in list_datasets(data_dir)]
    where = f" It is not on OpenML: a folder must hold {name}.csv." if known else ""
    raise ValueError(
        f"There is no dataset {name!r} at hand.{where or suggestion(name, names)} "
        "`list_datasets()` lists those that are known."
    )


def list_datasets(data_dir: str | PathLike[str] | None = None) -> list[DatasetInfo]:
    """List the datasets that can be asked for by name.

    Parameters
    ----------
    data_dir : str or path-like, default=None
        A folder of CSV files, by default the one that ``ENSEMBLAGE_DATA`` names.

    Returns
    -------
    list of DatasetInfo
        By name.
    """
    found: dict[str, DatasetInfo] = {}
    for name, known in PAPER_DATASETS.items():
        cached = known.openml_id is not None and is_cached(known.openml_id)
        origin = "a folder of yours" if known.openml_id is None else f"OpenML {known.openml_id}"
        found[name] = DatasetInfo(name, known.n_rows, known.n_features, cached, origin)
    for name, bundled in BUNDLED.items():
        found[name] = DatasetInfo(name, bundled.n_rows, bundled.n_features, True, "scikit-learn")
    folder = find_folder(data_dir)
    if folder is not None:
        manifest = read_manifest(folder)
        for path in folder.glob("*.csv"):
            shape = manifest.get(path.stem, Declared())
            found[path.stem] = DatasetInfo(path.stem, shape.rows, shape.features, True, str(folder))
    return [found[name] for name in sorted(found)]


def _is_file(source: str, data_dir: str | PathLike[str] | None) -> bool:
    if names_file(source):
        return True
    if not os.path.exists(source):  # noqa: PTH110  no error for what cannot be a name
        return False
    # A folder called iris must not hide the dataset of that name.
    return all(source != info.name for info in list_datasets(data_dir))


def _given(target: str | None, table: Table) -> str:
    if target is None:
        raise TargetNotGivenError(
            f"Name the column to predict by `target`. The columns are: {listing(table.names)}."
        )
    return target


def _bundled(name: str) -> Dataset:
    bunch = getattr(datasets, BUNDLED[name].loader)()
    names = tuple(str(each) for each in bunch.feature_names)
    target = BUNDLED[name].number or "class"
    if BUNDLED[name].number is None:
        values = np.array([str(word) for word in bunch.target_names], dtype=object)[bunch.target]
    else:
        values = bunch.target.astype(np.float64)
    table = Table((*names, target), (*bunch.data.T.astype(np.float64), values))
    title = next(line for line in bunch.DESCR.splitlines() if line and not line.startswith(".."))
    return Dataset.from_table(
        table,
        target,
        name=name,
        origin="scikit-learn",
        description=title.strip(),
    )


def _openml_id(name: str) -> int:
    number = name.removeprefix(OPENML_PREFIX)
    if not number.isdigit() or int(number) < 1:
        raise ValueError(f"{OPENML_PREFIX} must be followed by a number, got {number!r}.")
    return int(number)


def find_folder(data_dir: str | PathLike[str] | None) -> Path | None:
    """Give the folder asked for, or else the one that ``ENSEMBLAGE_DATA`` names."""
    chosen = data_dir or os.environ.get("ENSEMBLAGE_DATA")
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        which = "`data_dir`" if data_dir else "ENSEMBLAGE_DATA"
        raise ValueError(f"{which} names {folder}, which is not a folder.")
    return folder


def read_manifest(folder: Path) -> Mapping[str, Declared]:
    """Read what is declared of the folder's datasets, by name; nothing without a manifest."""
    path = folder / "manifest.json"
    if not path.is_file():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Declared])
    except msgspec.ValidationError as error:
        raise ValueError(f"{path} must hold one object per dataset name ({error}).") from None
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is not valid JSON ({error}).") from None


def load_from_folder(folder: Path, name: str) -> Dataset:
    """Load ``NAME.csv``; its target is the column ``class``, or else the last one."""
    declared = read_manifest(folder).get(name, Declared())
    kinds = dict.fromkeys(declared.categories, WORD) | dict.fromkeys(declared.numeric, NUMBER)
    path = folder / f"{name}.csv"
    table = read_table(path, kinds=kinds)
    table = replace(table, categories=declared.categories)
    target = "class" if "class" in table.names else table.names[-1]
    return Dataset.from_table(table, target, name=name, origin=str(path))
