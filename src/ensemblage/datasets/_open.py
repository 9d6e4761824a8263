"""Datasets by file or by name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from ensemblage._core import listing, set_module, suggestion
from ensemblage.datasets._chunked import RowDraw, sample_table
from ensemblage.datasets._dataset import Dataset, check_task
from ensemblage.datasets._file_names import names_file
from ensemblage.datasets._files import called, naming_file, read_table
from ensemblage.datasets._options import ReadOptions
from ensemblage.datasets._table import CATEGORICAL, NUMERIC, NUMERIC_OR_LABEL, Table

Array = NDArray[Any]


class Known(NamedTuple):
    """What is known about a dataset before it is read."""

    openml_id: int | None
    n_rows: int
    n_features: int


class Bundled(NamedTuple):
    """A dataset that scikit-learn brings along, and the name of its loader there.

    One of numbers has the name that the column of these is given.
    """

    loader: str
    n_rows: int
    n_features: int
    number: str | None = None


PAPER_DATASETS = {
    "abalone": Known(183, 4177, 8),
    "breast-w": Known(15, 699, 9),
    "credit-a": Known(29, 690, 15),
    "ecoli": Known(39, 336, 7),
    "glass": Known(41, 214, 9),
    "heart-c": Known(49, 303, 13),
    "heart-statlog": Known(53, 270, 13),
    "hepatitis": Known(55, 155, 19),
    "iris": Known(61, 150, 4),
    "labor": Known(4, 57, 16),
    "letter": Known(6, 20000, 16),
    "liver": Known(None, 345, 6),
    "lymph": Known(10, 148, 18),
    "optdigits": Known(28, 5620, 64),
    "pendigits": Known(32, 10992, 16),
    "pima": Known(37, 768, 8),
    "segment": Known(36, 2310, 19),
    "sonar": Known(40, 208, 60),
    "tic-tac-toe": Known(50, 958, 9),
    "vehicle": Known(54, 846, 18),
    "vote": Known(56, 435, 16),
    "vowel": Known(307, 990, 13),
    "waveform": Known(60, 5000, 40),
    "wine": Known(187, 178, 13),
    "yeast": Known(181, 1484, 8),
}

BUNDLED = {
    "iris": Bundled("load_iris", 150, 4),
    "wine": Bundled("load_wine", 178, 13),
    "breast-cancer": Bundled("load_breast_cancer", 569, 30),
    "digits": Bundled("load_digits", 1797, 64),
    "diabetes": Bundled("load_diabetes", 442, 10, number="progression"),
}

# The age of an abalone in years is its rings plus 1.5; the papers' three classes group the rings.
ABALONE_ID = 183
ABALONE_GROUPS = ((8, "young"), (10, "mid"), (np.inf, "old"))


def fetch_dataset(name: str, data_id: int, known: Known | None = None) -> Dataset:
    """Fetch a dataset with OpenML's default target, or take it from the cache.

    It must have the shape that is known.
    """
    from sklearn.datasets import fetch_openml  # noqa: PLC0415  its readers of files take a while

    try:
        with warnings.catch_warnings():
            # One message at the end says it all; each attempt need not.
            warnings.filterwarnings("ignore", message="A network error occurred")
            # This parser needs no pandas; it encodes words, and says how.
            bunch = fetch_openml(
                data_id=data_id, as_frame=False, parser="liac-arff", n_retries=1, delay=0.5
            )
    except HTTPError as error:
        error.close()
        raise ValueError(
            f"OpenML answers {error.code} for dataset {data_id} ({name}): check the number."
        ) from error
    except (URLError, TimeoutError, ConnectionError) as error:
        raise ValueError(
            f"Dataset {name!r} is fetched from OpenML, which cannot be reached "
            f"({getattr(error, 'reason', error)}). Connect to the network, or name a folder that "
            f"holds {name}.csv by `data_dir` or ENSEMBLAGE_DATA."
        ) from error
    _check_shape(name, bunch, known)
    return _dataset(name, data_id, bunch)


def is_cached(data_id: int) -> bool:
    """Whether a dataset lies in scikit-learn's cache."""
    # get_data_home() would make the folder; only asking must leave no trace.
    home = Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")).expanduser()
    return (home / "openml" / "openml.org" / f"api/v1/json/data/{data_id}.gz").exists()


def _check_shape(name: str, bunch: Any, known: Known | None) -> None:
    if known is not None and bunch.data.shape != (known.n_rows, known.n_features):
        rows, features = bunch.data.shape
        raise ValueError(
            f"OpenML gave {rows} rows and {features} features for {name!r}, but it is known to "
            f"have {known.n_rows} and {known.n_features}: the cached copy may be damaged "
            "(remove it from scikit-learn's data folder), or the dataset has changed."
        )


def _dataset(name: str, data_id: int, bunch: Any) -> Dataset:
    if len(bunch.target_names) != 1:
        raise ValueError(
            f"OpenML names {len(bunch.target_names)} target columns for dataset {data_id}; "
            "one is needed: download it and name one by `target`."
        )
    categories = {key: tuple(values) for key, values in (bunch.categories or {}).items()}
    columns = [
        _decode(column, categories.get(each))
        for each, column in zip(bunch.feature_names, bunch.data.T, strict=True)
    ]
    target = bunch.target_names[0]
    labels = _labels(bunch.target, data_id)
    table = Table((*bunch.feature_names, target), (*columns, labels), categories)
    summary = " ".join((bunch.DESCR or "").split())[:200]
    return Dataset.from_table(
        table, target, name=name, origin=f"OpenML {data_id}", description=summary
    )


def _decode(codes: Array, values: tuple[str, ...] | None) -> Array:
    if values is None:
        return codes.astype(np.float64)
    column = np.empty(len(codes), dtype=object)
    column[:] = [None if np.isnan(code) else values[int(code)] for code in codes.astype(float)]
    return column


def _labels(target: Array, data_id: int) -> Array:
    if data_id == ABALONE_ID:
        grouped = [next(word for top, word in ABALONE_GROUPS if float(x) <= top) for x in target]
        return np.array(grouped, dtype=object)
    return target.astype(np.float64) if target.dtype.kind in "fiu" else target.astype(object)


OPENML_PREFIX = "openml:"


@set_module("ensemblage.datasets")
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
    reading: ReadOptions | None = None,
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
    reading : ReadOptions, default=None
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
        kinds = {} if target is None else {target: NUMERIC_OR_LABEL}
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
        By name: ``name``, ``n_rows``, ``n_features``, ``at_hand`` (whether it can be read without
        the network) and ``origin``.

    Examples
    --------
    >>> from ensemblage.datasets import list_datasets
    >>> next(each.n_rows for each in list_datasets() if each.name == "wine")
    178
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
    kinds = dict.fromkeys(declared.categories, CATEGORICAL) | dict.fromkeys(
        declared.numeric, NUMERIC
    )
    path = folder / f"{name}.csv"
    table = read_table(path, kinds=kinds)
    table = replace(table, categories=declared.categories)
    target = "class" if "class" in table.names else table.names[-1]
    return Dataset.from_table(table, target, name=name, origin=str(path))
