"""The tables of the study of sources: rows with a class and the place that they come from."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from ensemblage.datasets import Dataset, find_folder, open_dataset
from ensemblage.papers.sources._known_source_methods import KnownRows, KnownTask
from ensemblage.tables import TableEncoder

FOLDER = "multi-source"
TARGET, SOURCE = "class", "source"
TRAIN_SHARE, MOST_TRAINING = 0.3, 900

Codes = NDArray[np.intp]


class SourceSet(NamedTuple):
    """A dataset, numbers of its classes and sources, and the sources' names."""

    data: Dataset
    labels: Codes
    sources: Codes
    names: tuple[str, ...]


def source_set(name: str, data_dir: str | None) -> SourceSet:
    """Read a table, once per process."""
    return _read(str(_path(name, data_dir)))


def set_print(name: str, data_dir: str | None) -> str:
    """Fingerprint of a table: of its file's bytes."""
    return hashlib.sha256(_path(name, data_dir).read_bytes()).hexdigest()[:16]


def known_task(found: SourceSet, seed: int) -> KnownTask:
    """Split a table: three tenths to learn from, 900 rows at most, with all sources and classes."""
    y, sources = found.labels, found.sources
    share = min(TRAIN_SHARE, MOST_TRAINING / len(y))
    train, test = train_test_split(
        np.arange(len(y)), train_size=share, random_state=seed,
        stratify=sources * (y.max() + 1) + y,
    )  # fmt: skip
    encoder = TableEncoder(kinds=list(found.data.kinds)).fit(found.data.X[train])
    parts = [
        KnownRows(np.asarray(encoder.transform(found.data.X[rows]), float), y[rows], sources[rows])
        for rows in (train, test)
    ]
    return KnownTask(parts[0], parts[1], seed)


@lru_cache(maxsize=4)
def _read(path: str) -> SourceSet:
    data = open_dataset(path, TARGET, source_column=SOURCE)
    labels = np.unique(data.y, return_inverse=True)[1]
    names, sources = np.unique(np.asarray(data.sources, dtype=str), return_inverse=True)
    return SourceSet(data, labels.astype(np.intp), sources.astype(np.intp), tuple(names.tolist()))


def _path(name: str, data_dir: str | None) -> Path:
    folder = find_folder(data_dir)
    if folder is None:
        raise ValueError(f"{name} is in no folder: name one that has `{FOLDER}` by `data_dir`.")
    path = folder / FOLDER / f"{name}.csv"
    if not path.exists():
        raise ValueError(f"There is no file {FOLDER}/{name}.csv in the folder of the data.")
    return path
