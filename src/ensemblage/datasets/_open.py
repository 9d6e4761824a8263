"""Opening datasets by file or by name."""

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
from ensemblage.datasets._files import display_name, naming_file, read_table
from ensemblage.datasets._options import ReadOptions
from ensemblage.datasets._table import CATEGORICAL, NUMERIC, NUMERIC_OR_LABEL, Table

Array = NDArray[Any]

# By name: OpenML id, number of rows, number of features.
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
# By name: scikit-learn's loader, number of rows and features, name of a numeric target.
BUNDLED: dict[str, tuple[str, int, int, str | None]] = {
    "iris": ("load_iris", 150, 4, None),
    "wine": ("load_wine", 178, 13, None),
    "breast-cancer": ("load_breast_cancer", 569, 30, None),
    "digits": ("load_digits", 1797, 64, None),
    "diabetes": ("load_diabetes", 442, 10, "progression"),
}
# Files of this package by name: rows, features and target.
BUNDLED_FILES: dict[str, tuple[int, int, str]] = {"penguins": (344, 7, "sex")}
# The papers group the rings of an abalone (its age in years minus 1.5) into three classes.
ABALONE_ID = 183
ABALONE_GROUPS = ((8, "young"), (10, "mid"), (np.inf, "old"))
OPENML_PREFIX = "openml:"


@set_module("ensemblage.datasets")
class TargetNotGivenError(ValueError):
    """The target column of a file was not given."""


class DatasetInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dataset that can be loaded by name; ``available`` if no download is needed."""

    name: str
    n_rows: int | None
    n_features: int | None
    available: bool
    origin: str


class Declared(msgspec.Struct, frozen=True):
    """An entry of ``manifest.json``."""

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
    source_column: str | Sequence[str] | None = None,
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
        The target column; required for a file.
    data_dir : str or path-like, default=None
        A folder of CSV files, for named datasets.
    drop : sequence of str, default=()
        Columns of a file to drop.
    source_column : str or sequence of str, default=None
        The column of a file with the source of each row, or two columns if sources are nested, the
        outer one first.
    options : dict, default=None
        How to read a file, see :func:`read_table`.
    task : {"classification", "regression"}, default=None
        By default inferred from the target, see :meth:`Dataset.from_table`.
    draw : (int, int) or (int, int, bool), default=None
        Maximal number of rows and seed of a random sample of rows, reported in a note. It is drawn
        from Parquet files that would take 256 MB or more, or with True from any file. By default
        all rows are read.

    Returns
    -------
    Dataset
        Features and target.
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
            f"The target of the dataset {source!r} is {dataset.target!r}, got {target!r}: "
            "to predict another column, pass a file."
        )
    if source_column is not None:
        raise ValueError("`source_column` is supported for files only, not for named datasets.")
    if drop:
        raise ValueError("`drop` is supported for files only, not for named datasets.")
    if draw is not None and draw[2:] == (True,):
        raise ValueError("`draw` is supported for files only, not for named datasets.")
    if task not in {None, dataset.task.name}:
        raise ValueError(
            f"The task of the dataset {source!r} is {dataset.task.name}, got `task`={task!r}: to "
            "change it, pass a file."
        )
    return dataset


def _open_file(path: str, target: str | None, draw: Any, options: Any, **given: Any) -> Dataset:
    # labels are kept as written: "01" is not "1"
    source = given.get("source") or ()
    kinds = dict.fromkeys([source] if isinstance(source, str) else source, CATEGORICAL)
    kinds |= {} if target is None else {target: NUMERIC_OR_LABEL}
    if draw is None:
        table = read_table(path, kinds=kinds, options=options)
    else:
        table = sample_table(path, *draw, kinds=kinds, options=options)
    with naming_file(path):
        if target is None:
            raise TargetNotGivenError(
                f"Set `target` to the column to predict. The columns are: {listing(table.names)}."
            )
        return Dataset.from_table(table, target, name=display_name(path), origin=path, **given)


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
        A folder of CSV files, by default that of the environment variable ``ENSEMBLAGE_DATA``. The
        target is the column ``class``, or else the last one. A ``manifest.json`` in the folder may
        declare ``numeric`` columns and ``categories`` of each dataset.

    Returns
    -------
    Dataset
        Features and target.

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
            raise ValueError(f"{OPENML_PREFIX} must be followed by a dataset id, got {number!r}.")
        return fetch_dataset(name, int(number))
    openml_id, *shape = PAPER_DATASETS.get(name, (None, 0, 0))
    if openml_id is not None:
        return fetch_dataset(name, openml_id, tuple(shape))
    names = [info.name for info in list_datasets(data_dir)]
    hint = suggestion(name, names)
    if name in PAPER_DATASETS:
        hint = f" It is not on OpenML: put {name}.csv into `data_dir`."
    raise ValueError(
        f"There is no dataset {name!r}.{hint} `list_datasets()` lists the known names."
    )


def list_datasets(data_dir: str | PathLike[str] | None = None) -> list[DatasetInfo]:
    """List the datasets that can be loaded by name.

    Parameters
    ----------
    data_dir : str or path-like, default=None
        A folder of CSV files, by default that of ``ENSEMBLAGE_DATA``.

    Returns
    -------
    list of DatasetInfo
        Sorted by name, with ``name``, ``n_rows``, ``n_features``, ``available`` (whether it can be
        loaded without the network) and ``origin``.

    Examples
    --------
    >>> from ensemblage.datasets import list_datasets
    >>> next(each.n_rows for each in list_datasets() if each.name == "wine")
    178
    """
    found: dict[str, DatasetInfo] = {}
    for name, (openml_id, n_rows, n_features) in PAPER_DATASETS.items():
        cached = openml_id is not None and _is_cached(openml_id)
        origin = "a local folder" if openml_id is None else f"OpenML {openml_id}"
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
    if not os.path.exists(source):  # noqa: PTH110  no error for invalid paths
        return False
    # a folder named iris must not hide the dataset of that name
    return all(source != info.name for info in list_datasets(data_dir))


def _is_in_folder(name: str, data_dir: str | PathLike[str] | None) -> bool:
    folder = find_folder(data_dir)
    return folder is not None and (folder / f"{name}.csv").is_file()


def find_folder(data_dir: str | PathLike[str] | None) -> Path | None:
    """Return ``data_dir``, or else the folder of ``ENSEMBLAGE_DATA``."""
    chosen = data_dir or os.environ.get("ENSEMBLAGE_DATA")
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        which = "`data_dir`" if data_dir else "ENSEMBLAGE_DATA"
        raise ValueError(f"{which} is {folder}, which is not a folder.")
    return folder


def read_manifest(folder: Path) -> Mapping[str, Declared]:
    """Read the folder's ``manifest.json``; empty if there is none."""
    path = folder / "manifest.json"
    if not path.is_file():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Declared])
    except msgspec.ValidationError as error:
        raise ValueError(f"{path} must contain one object per dataset name ({error}).") from None
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
    # get_data_home() would create the folder
    home = Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")).expanduser()
    return (home / "openml" / "openml.org" / f"api/v1/json/data/{data_id}.gz").exists()


def fetch_dataset(name: str, data_id: int, shape: tuple[int, ...] | None = None) -> Dataset:
    """Fetch a dataset with OpenML's default target, or load it from the cache."""
    from sklearn.datasets import fetch_openml  # noqa: PLC0415  its import is slow

    try:
        with warnings.catch_warnings():
            # one error at the end instead of a warning per attempt
            warnings.filterwarnings("ignore", message="A network error occurred")
            # this parser needs no pandas; it returns category codes and names
            bunch = fetch_openml(
                data_id=data_id, as_frame=False, parser="liac-arff", n_retries=1, delay=0.5
            )
    except HTTPError as error:
        error.close()
        raise ValueError(
            f"OpenML returned status {error.code} for dataset {data_id} ({name}): check the id."
        ) from error
    except (URLError, TimeoutError, ConnectionError) as error:
        raise ValueError(
            f"Dataset {name!r} is fetched from OpenML, which cannot be reached "
            f"({getattr(error, 'reason', error)}). Connect to the network, or set `data_dir` or "
            f"ENSEMBLAGE_DATA to a folder with {name}.csv."
        ) from error
    if shape is not None and bunch.data.shape != shape:
        rows, features = bunch.data.shape
        raise ValueError(
            f"OpenML returned {rows} rows and {features} features for {name!r}, expected "
            f"{shape[0]} and {shape[1]}: the cached copy may be damaged (remove it from "
            "scikit-learn's data folder), or the dataset has changed."
        )
    return _from_bunch(name, data_id, bunch)


def _from_bunch(name: str, data_id: int, bunch: Any) -> Dataset:
    if len(bunch.target_names) != 1:
        raise ValueError(
            f"OpenML has {len(bunch.target_names)} target columns for dataset {data_id}, expected "
            "one: download the file and set `target`."
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
