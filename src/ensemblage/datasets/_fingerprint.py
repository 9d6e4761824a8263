"""A dataset's content in one short text, so that a result knows what it was computed from."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from ensemblage.datasets._dataset import Dataset
from ensemblage.datasets._table import NUMBER, Column


def dataset_fingerprint(dataset: Dataset) -> str:
    """Hash what a method sees of a dataset: values, classes, kinds and declared categories.

    Name, origin and notes do not count: the same rows from a file and from the network are the
    same data.

    Parameters
    ----------
    dataset : Dataset
        Any.

    Returns
    -------
    str
        SHA-256 in hexadecimal.

    Examples
    --------
    >>> from ensemblage.datasets import dataset_fingerprint, load_dataset
    >>> dataset_fingerprint(load_dataset("wine")) == dataset_fingerprint(load_dataset("iris"))
    False
    """
    categories = {name: list(words) for name, words in dataset.categories.items()}
    facts = [list(dataset.X.shape), list(dataset.feature_names), list(dataset.kinds), categories]
    digest = hashlib.sha256(_text(facts))
    for kind, column in zip(dataset.kinds, dataset.X.T, strict=True):
        digest.update(_numbers(column) if kind == NUMBER else _text(column.tolist()))
    digest.update(_text(np.asarray(dataset.y).tolist()))
    if dataset.sources is not None:
        digest.update(_text(np.asarray(dataset.sources).tolist()))
    return digest.hexdigest()


def _numbers(column: Column) -> bytes:
    numbers = column.astype("<f8")
    # A missing value is missing, whatever its bits.
    return np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes()


def _text(values: object) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()
