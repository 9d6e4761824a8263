"""The datasets of the study of trees, as matrices that trees read."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets import Table, find_folder, read_table
from ensemblage.inner import TreeRows
from ensemblage.kernels import RowTargets
from ensemblage.papers._paper_table import paper_dataset

NUMBERS = "regression/"
"""What names of sets with a number to predict start with: a folder inside the data's."""
TARGET = "target"
MOST_ROWS = 1500


class DeclaredNumbers(msgspec.Struct, frozen=True):
    """What the folder's manifest says of a set."""

    words: tuple[str, ...] = ()


def tree_rows(name: str, data_dir: str | None, seed: int) -> TreeRows:
    """Read a set; of a large one, rows drawn by the seed."""
    if name.startswith(NUMBERS):
        X, y = _numbers(name, data_dir)
        targets = RowTargets(np.ones(len(y)), np.zeros(len(y), dtype=np.int32), y, 0)
    else:
        X, codes, n_classes = _classes(name, data_dir)
        targets = RowTargets(np.ones(len(codes)), codes, np.zeros(len(codes)), n_classes)
    rows = TreeRows(X, targets)
    if len(X) <= MOST_ROWS:
        return rows
    return rows.at(np.sort(np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]))


@lru_cache(maxsize=8)
def _classes(name: str, data_dir: str | None) -> tuple[Any, Any, int]:
    data = paper_dataset(name, data_dir)
    classes, codes = np.unique(data.y, return_inverse=True)
    columns = [data.X[:, j] for j in range(data.X.shape[1])]
    return matrix(columns, list(data.kinds)), codes.astype(np.int32), len(classes)


@lru_cache(maxsize=8)
def _numbers(name: str, data_dir: str | None) -> tuple[Any, Any]:
    table = _table(name, data_dir)
    chosen = [k for k, column in enumerate(table.names) if column != TARGET]
    X = matrix([table.columns[k] for k in chosen], [table.kinds[k] for k in chosen])
    return X, np.asarray(table.columns[table.names.index(TARGET)], dtype=np.float64)


def matrix(columns: list[Any], kinds: list[str]) -> NDArray[np.float32]:
    """Numbers as they are, missing ones NaN; a feature of zeros and ones for each word."""
    features = []
    for column, kind in zip(columns, kinds, strict=True):
        if kind != "word":
            features.append(np.asarray(column, dtype=np.float64))
            continue
        words = np.array(["" if each is None else str(each) for each in column])
        features += [(words == word).astype(np.float64) for word in np.unique(words) if word]
    return np.ascontiguousarray(np.column_stack(features), dtype=np.float32)


def set_print(name: str, data_dir: str | None) -> str:
    """Fingerprint of a set with numbers: of its file's bytes."""
    return hashlib.sha256(_path(name, data_dir).read_bytes()).hexdigest()[:16]


def _table(name: str, data_dir: str | None) -> Table:
    path = _path(name, data_dir)
    manifest = path.parent / "manifest.json"
    declared = msgspec.json.decode(manifest.read_bytes(), type=dict[str, DeclaredNumbers])
    return read_table(path, kinds=dict.fromkeys(declared[path.stem].words, "word"))


def _path(name: str, data_dir: str | None) -> Path:
    folder = find_folder(data_dir)
    if folder is None:
        raise ValueError(f"{name} is in no folder: name one that has `regression` by `data_dir`.")
    path = folder / f"{name}.csv"
    if not path.exists():
        raise ValueError(f"There is no file {name}.csv in the folder of the data.")
    return path
