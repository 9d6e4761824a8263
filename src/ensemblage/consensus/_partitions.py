"""Partitions: label arrays checked and coded, or made by clusterers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ensemblage.messages import count
from ensemblage.parallel import draw_seeds, run_tasks, set_seed

NOT_SAMPLED = -1

Partitions: TypeAlias = NDArray[np.int32]
"""Of shape (n_partitions, n_samples): clusters 0, 1, 2 and so on, -1 where not sampled."""


def check_partitions(partitions: Any) -> Partitions:
    """Check the user's label arrays and code each one's clusters 0, 1, 2 and so on; -1 is kept."""
    rows = check_lengths(partitions)
    return np.stack([_coded(row, index) for index, row in enumerate(rows)])


def check_lengths(partitions: Any) -> list[NDArray[Any]]:
    """Check that there are several label arrays, of one length."""
    rows = [np.asarray(partition) for partition in partitions]
    lengths = sorted({row.shape for row in rows})
    if len(lengths) > 1 or any(row.ndim != 1 for row in rows):
        raise ValueError(
            f"partitions must be label arrays of one length, got shapes {lengths}. "
            "Mark rows that a partition did not see with -1."
        )
    if len(rows) < 2:
        raise ValueError(
            f"partitions holds {count(len(rows), 'partition')}; at least 2 are needed to combine. "
            "Its shape is (n_partitions, n_samples)."
        )
    return rows


def _coded(labels: NDArray[Any], index: int) -> NDArray[np.int32]:
    if labels.dtype.kind in "OUS":
        labels = _numbered(labels)
    if labels.dtype.kind not in "iub":
        raise ValueError(
            f"partition {index} has labels of type {labels.dtype}, expected whole numbers with -1 "
            "for rows that were not sampled, or words with None for them."
        )
    seen = labels != NOT_SAMPLED
    if not seen.any():
        raise ValueError(
            f"partition {index} has no row: its labels are all -1 or None. Leave it out."
        )
    if labels.min() < NOT_SAMPLED or labels.max() > len(labels):
        labels = np.where(seen, np.searchsorted(np.unique(labels[seen]), labels), NOT_SAMPLED)
    labels = labels.astype(np.int64, copy=False)
    # counting is several times faster than sorting, and most labels are small numbers
    used = np.bincount(labels[seen]) > 0
    codes = np.append(np.cumsum(used) - 1, NOT_SAMPLED)
    return np.asarray(codes[labels], dtype=np.int32)


def _numbered(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Give words numbers by their order; None, NaN and -1, also as a word, mean not sampled."""
    missing = [
        value is None or value != value or str(value) == "-1"  # noqa: PLR0124  only NaN differs
        for value in labels.tolist()
    ]
    seen = ~np.array(missing, bool)
    numbers = np.full(len(labels), NOT_SAMPLED, np.int64)
    if seen.any():
        numbers[seen] = np.unique(labels[seen].astype(str), return_inverse=True)[1]
    return numbers


def indicators(
    partitions: Partitions, dtype: Any = np.float32, n_sets: NDArray[Any] | None = None
) -> sparse.csr_array:
    """Rows by clusters: one where the row is in the cluster, clusters of all partitions in line.

    ``n_sets`` is how many clusters each partition has, if these rows are not all.
    """
    n_rows = partitions.shape[1]
    n_sets = partitions.max(axis=1) + 1 if n_sets is None else n_sets
    offsets = np.concatenate([[0], np.cumsum(n_sets)])
    seen = (partitions != NOT_SAMPLED).T
    columns = (partitions + offsets[:-1, None]).T[seen].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    entries = np.ones(len(columns), dtype)
    return sparse.csr_array((entries, columns, starts), shape=(n_rows, int(offsets[-1])))


def make_partitions(
    clusterers: Sequence[Any], X: Any, random_state: Any, n_jobs: int | None
) -> Partitions:
    """Ask clusterers for their labels of the rows of ``X``.

    A fitted one predicts, or gives its ``labels_`` if it cannot; another is cloned, seeded and
    fitted.
    """
    seeds = draw_seeds(random_state, len(clusterers))
    tasks = [(clusterer, X, seed) for clusterer, seed in zip(clusterers, seeds, strict=True)]
    return check_partitions(run_tasks(_labels, tasks, n_jobs))


def _labels(clusterer: Any, X: Any, seed: int) -> NDArray[Any]:
    try:
        check_is_fitted(clusterer)
    except NotFittedError:
        return np.asarray(set_seed(clone(clusterer), seed).fit_predict(X))
    return np.asarray(clusterer.predict(X) if hasattr(clusterer, "predict") else clusterer.labels_)
