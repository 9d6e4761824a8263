"""Datasets from OpenML, kept in scikit-learn's cache."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import numpy as np

from ensemblage.datasets._catalogue import Known
from ensemblage.datasets._dataset import Dataset
from ensemblage.datasets._table import Column, Table

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


def _decode(codes: Column, values: tuple[str, ...] | None) -> Column:
    if values is None:
        return codes.astype(np.float64)
    column = np.empty(len(codes), dtype=object)
    column[:] = [None if np.isnan(code) else values[int(code)] for code in codes.astype(float)]
    return column


def _labels(target: Column, data_id: int) -> Column:
    if data_id == ABALONE_ID:
        grouped = [next(word for top, word in ABALONE_GROUPS if float(x) <= top) for x in target]
        return np.array(grouped, dtype=object)
    return target.astype(np.float64) if target.dtype.kind in "fiu" else target.astype(object)
