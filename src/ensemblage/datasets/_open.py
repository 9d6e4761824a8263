"""Datasets by file or by name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import msgspec
import numpy as np
from numpy.typing import NDArray

from ensemblage._core import listing, set_module, suggestion
from ensemblage.datasets._chunked import sample_table
from ensemblage.datasets._dataset import Dataset, check_task
from ensemblage.datasets._file_names import names_file
from ensemblage.datasets._files import called, naming_file, read_table
from ensemblage.datasets._options import ReadOptions
from ensemblage.datasets._table import CATEGORICAL, NUMERIC, NUMERIC_OR_LABEL, Table

Array = NDArray[Any]

# By name: the number at OpenML, rows and features.
PAPER_DATASETS: dict[str, tuple[int | None, int, int]] = {
    "abalone": (183, 4177, 8), "breast-w": (15, 699, 9), "credit-a": (29, 690, 15),
    "ecoli": (39, 336, 7), "glass": (41, 214, 9), "heart-c": (49, 303, 13),
    "heart-statlog": (53, 270, 13), "hepatitis": (55, 155, 19), "iris": (61, 150, 4),
    "labor": (4, 57, 16), "letter": (6, 20000, 16), "liver": (None, 345, 6),
    "lymph": (10, 148, 18), "optdigits": (28, 5620, 64), "pendigits": (32, 10992, 16),
    "pima": (37, 768, 8), "segment": (36, 2310, 19), "sonar": (40, 208, 60),
    "tic-tac-toe": (50, 958, 9), "vehicle": (54, 846, 18), "vote": (56, 435, 16),
    "vowel": (307, 990, 13), "waveform": (60, 5000, 40), "wine": (187, 178, 13),
    "yeast": (181, 1484, 8),
}  # fmt: skip
# By name: scikit-learn's loader, rows, features, and the column of a numeric target.
BUNDLED: dict[str, tuple[str, int, int, str | None]] = {
    "iris": ("load_iris", 150, 4, None),
    "wine": ("load_wine", 178, 13, None),
    "breast-cancer": ("load_breast_cancer", 569, 30, None),
    "digits": ("load_digits", 1797, 64, None),
    "diabetes": ("load_diabetes", 442, 10, "progression"),
}
# Files of this package by name: rows, features and target.
BUNDLED_FILES: dict[str, tuple[int, int, str]] = {"penguins": (344, 7, "sex")}
# The age of an abalone in years is its rings plus 1.5; the papers' three classes group the rings.
ABALONE_ID = 183
ABALONE_GROUPS = ((8, "young"), (10, "mid"), (np.inf, "old"))
OPENML_PREFIX = "openml:"


@set_module("ensemblage.datasets")
class TargetNotGivenError(ValueError):
    """The column to predict must be named, because a file does not tell."""


class DatasetInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the list of datasets; ``at_hand`` if it can be read without the network."""

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
    options: ReadOptions | Mapping[str, Any] | None = None,
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
    options : dict, default=None
        How to read a file, see :func:`read_table`.
    task : {"classification", "regression"}, default=None
        By default what the target holds decides, see :meth:`Dataset.from_table`.
    draw : (int, int) or (int, int, bool), default=None
        Of a Parquet file that would take 256 MB or more, or with True of any file, take so many
        rows at most, drawn by a seed; a note says so. All rows if not given.

    Returns
    -------
    Dataset
        Features, and classes or numbers.
    """
    check_task(task)
    given = {"drop": drop, "source": source_column, "task": task}
    if _is_file(source, data_dir):
        return _open_file(source, target, draw, options, **given)
    if source in BUNDLED_FILES and not _is_in_folder(source, data_dir):
        return _open_bundled_file(source, target, draw, **given)
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
    if draw is not None and draw[2:] == (True,):
        raise ValueError("Rows can be drawn of a file only, not of a named dataset.")
    if task not in {None, dataset.task.name}:
        raise ValueError(
            f"The dataset {source!r} has {dataset.task.targets} to predict: to take them "
            "otherwise, give the file."
        )
    return dataset


def _open_file(path: str, target: str | None, draw: Any, options: Any, **given: Any) -> Dataset:
    # labels are kept as they are written: "01" is not "1"
    kinds = {} if target is None else {target: NUMERIC_OR_LABEL}
    if draw is None:
        table = read_table(path, kinds=kinds, options=options)
    else:
        table = sample_table(path, *draw, kinds=kinds, options=options)
    with naming_file(path):
        if target is None:
            raise TargetNotGivenError(
                f"Name the column to predict by `target`. The columns are: {listing(table.names)}."
            )
        return Dataset.from_table(table, target, name=called(path), origin=path, **given)


def _open_bundled_file(
    name: str, target: str | None = None, draw: Any = None, **given: Any
) -> Dataset:
    path = Path(__file__).parent / "data" / f"{name}.csv"
    dataset = _open_file(str(path), target or BUNDLED_FILES[name][2], draw, None, **given)
    return replace(dataset, name=name, origin="ensemblage")


def load_dataset(name: str, data_dir: str | PathLike[str] | None = None) -> Dataset:
    """Load a dataset by name.

    A file ``NAME.csv`` in the folder comes first, then the datasets that this package and
    scikit-learn bundle, then OpenML.

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
    if folder is not None and _is_in_folder(name, data_dir):
        return _load_from_folder(folder, name)
    if name in BUNDLED_FILES:
        return _open_bundled_file(name)
    if name in BUNDLED:
        return _load_bundled(name)
    if name.startswith(OPENML_PREFIX):
        number = name.removeprefix(OPENML_PREFIX)
        if not number.isdigit() or int(number) < 1:
            raise ValueError(f"{OPENML_PREFIX} must be followed by a number, got {number!r}.")
        return fetch_dataset(name, int(number))
    openml_id, *shape = PAPER_DATASETS.get(name, (None, 0, 0))
    if openml_id is not None:
        return fetch_dataset(name, openml_id, tuple(shape))
    names = [info.name for info in list_datasets(data_dir)]
    hint = suggestion(name, names)
    if name in PAPER_DATASETS:
        hint = f" It is not on OpenML: a folder must hold {name}.csv."
    raise ValueError(
        f"There is no dataset {name!r} at hand.{hint} `list_datasets()` lists those that are known."
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
    for name, (openml_id, n_rows, n_features) in PAPER_DATASETS.items():
        cached = openml_id is not None and _is_cached(openml_id)
        origin = "a folder of yours" if openml_id is None else f"OpenML {openml_id}"
        found[name] = DatasetInfo(name, n_rows, n_features, cached, origin)
    for name, (_, n_rows, n_features, _) in BUNDLED.items():
        found[name] = DatasetInfo(name, n_rows, n_features, True, "scikit-learn")
    for name, (n_rows, n_features, _) in BUNDLED_FILES.items():
        found[name] = DatasetInfo(name, n_rows, n_features, True, "ensemblage")
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
    # a folder called iris must not hide the dataset of that name
    return all(source != info.name for info in list_datasets(data_dir))


def _is_in_folder(name: str, data_dir: str | PathLike[str] | None) -> bool:
    folder = find_folder(data_dir)
    return folder is not None and (folder / f"{name}.csv").is_file()


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


def _load_from_folder(folder: Path, name: str) -> Dataset:
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


def _load_bundled(name: str) -> Dataset:
    from sklearn import datasets  # noqa: PLC0415  a file is opened without it

    loader, _, _, numeric_target = BUNDLED[name]
    bunch = getattr(datasets, loader)()
    names = tuple(str(each) for each in bunch.feature_names)
    if numeric_target is None:
        values = np.array([str(each) for each in bunch.target_names], dtype=object)[bunch.target]
    else:
        values = bunch.target.astype(np.float64)
    target = numeric_target or "class"
    table = Table((*names, target), (*bunch.data.T.astype(np.float64), values))
    title = next(line for line in bunch.DESCR.splitlines() if line and not line.startswith(".."))
    return Dataset.from_table(
        table, target, name=name, origin="scikit-learn", description=title.strip()
    )


def _is_cached(data_id: int) -> bool:
    # get_data_home() would make the folder; only asking must leave no trace
    home = Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")).expanduser()
    return (home / "openml" / "openml.org" / f"api/v1/json/data/{data_id}.gz").exists()


def fetch_dataset(name: str, data_id: int, shape: tuple[int, ...] | None = None) -> Dataset:
    """Fetch a dataset with OpenML's default target, or take it from the cache."""
    from sklearn.datasets import fetch_openml  # noqa: PLC0415  its readers of files take a while

    try:
        with warnings.catch_warnings():
            # one message at the end says it all; each attempt need not
            warnings.filterwarnings("ignore", message="A network error occurred")
            # this parser needs no pandas; it encodes categories, and says how
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
    if shape is not None and bunch.data.shape != shape:
        rows, features = bunch.data.shape
        raise ValueError(
            f"OpenML gave {rows} rows and {features} features for {name!r}, but it is known to "
            f"have {shape[0]} and {shape[1]}: the cached copy may be damaged (remove it from "
            "scikit-learn's data folder), or the dataset has changed."
        )
    return _from_bunch(name, data_id, bunch)


def _from_bunch(name: str, data_id: int, bunch: Any) -> Dataset:
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
        groups = [next(name for top, name in ABALONE_GROUPS if float(x) <= top) for x in target]
        return np.array(groups, dtype=object)
    return target.astype(np.float64 if target.dtype.kind in "fiu" else object)
