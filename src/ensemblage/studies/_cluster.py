"""Clustering of a table or of a large file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import listing, set_module
from ensemblage.blocks import ParquetBlocks, ParquetParts, parquet_columns, standardised
from ensemblage.consensus import CSPA, HBGF, HGPA, MCLA, EvidenceAccumulation, stability_curve
from ensemblage.datasets import Table, TableEncoder
from ensemblage.evaluation import nmi_score, purity_score
from ensemblage.inner import (
    InnerKMeans,
    add_cluster_sums,
    cluster_means,
    labelled_blocks,
)
from ensemblage.studies._documents import Prototype
from ensemblage.studies._workers import rows_on

CLUSTER_METHODS = {
    "inner": "Inner K-means",
    "inner-paper": "Inner K-means (paper)",
    "average": "evidence accumulation, average linkage",
    "mcla": "MCLA",
    "hbgf": "HBGF",
    "cspa": "CSPA",
    "hgpa": "HGPA",
}
GRAPHS = {"mcla": MCLA, "hbgf": HBGF, "cspa": CSPA, "hgpa": HGPA}
Write = Callable[[NDArray[Any], NDArray[Any]], Any]


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Clustering:
    """Result of a clustering.

    Parameters
    ----------
    method : str
        Name of the method.
    n_rows : int
        Number of rows.
    columns : tuple of str
        Columns used.
    prototypes : list of Prototype
        For each cluster its label, its number of rows, and the mean of each numeric column or the
        most frequent category of each categorical column.
    mean_agreement : float or None
        Mean fraction of the views that agree with a row's cluster; None for consensus methods.
    labels : ndarray of shape (n_rows,) or None
        Cluster of each row; None for a file read in blocks.
    agreement : ndarray of shape (n_rows,) or None
        Fraction of the views that agree, per row; None for consensus methods and files read in
        blocks.
    scores : dict of str to float
        NMI and purity against the target, if one was given.
    reason : str or None
        Why this number of clusters was chosen, if ``n_clusters`` was not given.
    """

    method: str
    n_rows: int
    columns: tuple[str, ...]
    prototypes: list[Prototype]
    mean_agreement: float | None = None
    labels: NDArray[np.intp] | None = None
    agreement: NDArray[np.float64] | None = None
    scores: dict[str, float] = field(default_factory=dict)
    reason: str | None = None


def cluster(
    rows: Table | str | PathLike[str],
    n_clusters: int | None = None,
    *,
    method: str = "inner",
    target: str | None = None,
    drop: Sequence[str] = (),
    write: Write | None = None,
    scheduler: str | None = None,
    n_jobs: int | None = None,
    seed: int = 0,
) -> Clustering:
    """Cluster the rows of a table, or of a Parquet file block by block.

    Numeric columns are standardised, and categorical columns are one-hot encoded.

    Parameters
    ----------
    rows : Table, str or path-like
        The rows, or a Parquet file. All columns of a file, apart from those excluded, must be
        numeric without missing values.
    n_clusters : int, default=None
        Number of clusters; if None, chosen by
        :func:`ensemblage.consensus.stability_curve`. Required for a file.
    method : str, default="inner"
        "inner" or "inner-paper" for Inner K-means with the annealed schedule or the paper's; for
        a table also the consensus methods "average", "mcla", "hbgf", "cspa" and "hgpa".
    target : str, default=None
        Column that is excluded; the clusters of a table are compared with it.
    drop : sequence of str, default=()
        Further columns to exclude.
    write : callable, default=None
        Called as ``write(labels, agreement)`` for each block of a file's rows, in order.
    scheduler : str, default=None
        Address of a Dask scheduler, ``tcp://...``. Its workers read the file, which must have the
        same path there, and keep its rows in their memory.
    n_jobs : int, default=None
        Number of clusterings computed in parallel, for the choice of ``n_clusters`` or for a
        consensus.
    seed : int, default=0
        Random seed.

    Returns
    -------
    Clustering
        With the ``labels`` of a table's rows and the clusters' ``prototypes``.

    Examples
    --------
    >>> from ensemblage.datasets import Table
    >>> from ensemblage.studies import cluster
    >>> texts = [["1", "2", "1", "9", "8", "9"], ["a", "a", "a", "b", "b", "b"]]
    >>> found = cluster(Table.from_texts(["size", "kind"], texts), 2)
    >>> sorted(prototype.typical["size"] for prototype in found.prototypes)
    [1.333, 8.667]

    A file:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> labels = []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.parquet"
    ...     parquet.write_table(pa.table({"size": [1.0, 2.0, 1.5, 9.0, 8.0, 9.5]}), path)
    ...     found = cluster(path, 2, write=lambda own, share: labels.extend(own.tolist()))
    >>> sorted(each.typical["size"] for each in found.prototypes), len(labels)
    ([1.5, 8.833], 6)
    """
    if method not in CLUSTER_METHODS:
        raise ValueError(
            f"Unknown clustering method {method!r}. Choose one of: {', '.join(CLUSTER_METHODS)}."
        )
    left_out = [*drop, *(() if target is None else (target,))]
    if not isinstance(rows, Table):
        return _cluster_blocks(rows, n_clusters, method, left_out, write, scheduler, seed)
    for name in left_out:
        rows.column(name)
    names = [name for name in rows.names if name not in left_out]
    if not names:
        raise ValueError("No column is left to cluster by: exclude fewer columns.")
    features = rows.select(names)
    X = TableEncoder(kinds=list(features.kinds)).fit_transform(features.to_array())
    reason = None
    if n_clusters is None:
        curve = stability_curve(X, n_jobs=n_jobs, random_state=seed)
        n_clusters, reason = curve.best_n_clusters, curve.reason
    if method.startswith("inner"):
        model = _inner_kmeans(method, n_clusters, seed)
    else:
        make: Any = GRAPHS.get(method, EvidenceAccumulation)
        model = make(n_clusters, random_state=seed, n_jobs=n_jobs)
    labels = model.fit(X).labels_
    votes, scores = getattr(model, "votes_", None), {}
    if target is not None:
        truth = np.array([str(value) for value in rows.column(target)])
        scores = {"nmi": nmi_score(truth, labels), "purity": purity_score(truth, labels)}
    return Clustering(
        method, len(labels), tuple(names), _prototypes(features, labels),
        None if votes is None else float(votes.mean()), labels, votes, scores, reason,
    )  # fmt: skip


def _inner_kmeans(method: str, n_clusters: int, seed: int) -> InnerKMeans:
    schedule = "paper" if method == "inner-paper" else "anneal"
    return InnerKMeans(n_clusters, schedule=schedule, random_state=seed)


def _cluster_blocks(
    path: str | PathLike[str],
    n_clusters: int | None,
    method: str,
    left_out: Sequence[str],
    write: Write | None,
    scheduler: str | None,
    seed: int,
) -> Clustering:
    """Cluster the rows of a Parquet file by Inner K-means, block by block."""
    if not method.startswith("inner") or n_clusters is None:
        problem = f"method={method!r}" if n_clusters else "Choosing `n_clusters`"
        raise ValueError(
            f"{problem} needs all rows in memory: for a file that is read in blocks, use method "
            "'inner' or 'inner-paper' and set n_clusters."
        )
    model = _inner_kmeans(method, n_clusters, seed)
    with rows_on(scheduler):
        names = _columns(path, left_out)
        rows = (ParquetBlocks if scheduler is None else ParquetParts)(path, names)
        source, scaling = standardised(rows)
        model.fit(source)
        total: Any = None
        agreed = 0.0
        for values, sums in labelled_blocks(model, source):
            if write is not None:
                write(values["label"], values["vote"])
            total = sums if total is None else add_cluster_sums(total, sums)
            agreed += float(values["vote"].sum())
    means = scaling.undo(cluster_means(total))
    prototypes = [
        Prototype(k, int(n), dict(zip(names, [float(f"{x:.4g}") for x in mean], strict=True)))
        for k, (n, mean) in enumerate(zip(total.totals, means, strict=True))
        if n > 0
    ]
    return Clustering(method, rows.shape[0], tuple(names), prototypes, agreed / rows.shape[0])


def _prototypes(features: Table, labels: NDArray[np.intp]) -> list[Prototype]:
    columns = list(zip(features.names, features.kinds, features.columns, strict=True))
    prototypes = []
    for cluster in np.unique(labels).tolist():
        here = labels == cluster
        typical = {name: _typical(column[here], kind) for name, kind, column in columns}
        prototypes.append(Prototype(cluster, int(here.sum()), typical))
    return prototypes


def _typical(values: NDArray[Any], kind: str) -> float | str | None:
    """Mean to four digits, mean date or most frequent category; None if all values are missing."""
    if kind == "date":
        moments = values[~np.isnat(values)].astype(np.int64)
        if not len(moments):
            return None
        return str(np.datetime64(round(moments.mean()), "ms").astype("datetime64[D]"))
    if kind == "numeric":
        known = values[~np.isnan(values)]
        return float(f"{known.mean():.4g}") if len(known) else None
    known = [value for value in values if value is not None]
    return max(sorted(set(known)), key=known.count) if known else None


def _columns(path: Any, drop: Sequence[str]) -> list[str]:
    stored = parquet_columns(path)
    for name in drop:
        if name not in stored:
            raise ValueError(f"{path} has no column {name!r}: choose among {listing(stored)}.")
    names = [name for name in stored if name not in drop]
    if not names:
        raise ValueError("No column is left to cluster by: exclude fewer columns.")
    return names
