"""Datasets by name: from a folder, from scikit-learn, or from OpenML."""

from __future__ import annotations

from os import PathLike

import msgspec
import numpy as np
from sklearn import datasets

from ensemblage.datasets._catalogue import BUNDLED, PAPER_DATASETS
from ensemblage.datasets._data_folder import (
    Declared,
    find_folder,
    load_from_folder,
    read_manifest,
)
from ensemblage.datasets._dataset import Dataset
from ensemblage.datasets._openml import fetch_dataset, is_cached
from ensemblage.datasets._table import Table
from ensemblage.messages import suggestion

OPENML_PREFIX = "openml:"


class DatasetInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the list of datasets.

    Attributes
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


def _bundled(name: str) -> Dataset:
    bunch = getattr(datasets, BUNDLED[name].loader)()
    names = tuple(str(each) for each in bunch.feature_names)
    labels = np.array([str(word) for word in bunch.target_names], dtype=object)[bunch.target]
    table = Table((*names, "class"), (*bunch.data.T.astype(np.float64), labels))
    title = next(line for line in bunch.DESCR.splitlines() if line and not line.startswith(".."))
    return Dataset.from_table(
        table, "class", name=name, origin="scikit-learn", description=title.strip()
    )


def _openml_id(name: str) -> int:
    number = name.removeprefix(OPENML_PREFIX)
    if not number.isdigit() or int(number) < 1:
        raise ValueError(f"{OPENML_PREFIX} must be followed by a number, got {number!r}.")
    return int(number)
