"""Clusters of a table or of a large file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import listing, set_module
from ensemblage.blocks import ParquetBlocks, ParquetParts, parquet_columns, standardised
from ensemblage.consensus import CSPA, HBGF, HGPA, MCLA, EvidenceAccumulation, stability_curve
from ensemblage.datasets import Table, TableEncoder
from ensemblage.evaluation import nmi_score, purity_score
from ensemblage.inner import (
    ClusterSums,
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


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class Clustering:
    """Clusters of a table's rows.

    Parameters
    ----------
    method : str
        Name of the method.
    labels : ndarray of shape (n_rows,)
        Cluster of each row.
    agreement : ndarray of shape (n_rows,) or None
        Share of the views that agree; None for consensus methods.
    columns : tuple of str
        Columns that were used.
    prototypes : list of Prototype
        For each cluster its number, its rows, and what is typical of it: for each column the mean
        of the numbers or the most frequent word.
    scores : dict of str to float
        NMI and purity against the target, if one was given.
    reason : str or None
        Why so many clusters, in one sentence, if their number was not given.
    """

    method: str
    labels: NDArray[np.intp]
    agreement: NDArray[np.float64] | None
    columns: tuple[str, ...]
    prototypes: list[Prototype]
    scores: dict[str, float]
    reason: str | None = None


def cluster_table(
    table: Table,
    n_clusters: int | None,
    *,
    method: str = "inner",
    target: str | None = None,
    drop: tuple[str, ...] = (),
    seed: int = 0,
    n_jobs: int | None = None,
) -> Clustering:
    """Cluster the rows of a table, numbers standardised and words as indicators.

    Parameters
    ----------
    table : Table
        The rows.
    n_clusters : int or None
        Number of clusters; None chooses the one at which clusterings are steadiest, see
        :func:`ensemblage.consensus.stability_curve`.
    method : str, default="inner"
        One of ``CLUSTER_METHODS``.
    target : str, default=None
        A column that is left out, and that the clusters are compared with.
    drop : tuple of str, default=()
        Further columns to leave out.
    seed : int, default=0
        The only source of randomness.
    n_jobs : int, default=None
        Clusterings made at once, for the number of clusters or for a consensus.

    Returns
    -------
    Clustering
        Labels and what the clusters are like.

    Examples
    --------
    >>> from ensemblage.datasets import Table
    >>> from ensemblage.studies import cluster_table
    >>> texts = [["1", "2", "1", "9", "8", "9"], ["a", "a", "a", "b", "b", "b"]]
    >>> found = cluster_table(Table.from_texts(["size", "kind"], texts), 2)
    >>> sorted(prototype.typical["size"] for prototype in found.prototypes)
    [1.333, 8.667]
    """
    for name in (*drop, *(() if target is None else (target,))):
        table.column(name)
    names = [name for name in table.names if name != target and name not in drop]
    if not names:
        raise ValueError("No column is left to cluster by: drop fewer columns.")
    features = table.select(names)
    if method not in CLUSTER_METHODS:
        raise ValueError(
            f"There is no clustering method {method!r}. "
            f"Choose one of: {', '.join(CLUSTER_METHODS)}."
        )
    X = TableEncoder(kinds=list(features.kinds)).fit_transform(features.to_array())
    reason = None
    if n_clusters is None:
        curve = stability_curve(X, n_jobs=n_jobs, random_state=seed)
        n_clusters, reason = curve.best_n_clusters, curve.reason
    model = _model(method, n_clusters, seed, n_jobs).fit(X)
    return Clustering(
        method=method,
        labels=model.labels_,
        agreement=getattr(model, "votes_", None),
        columns=tuple(names),
        prototypes=_prototypes(features, model.labels_),
        scores={} if target is None else _scores(table.column(target), model.labels_),
        reason=reason,
    )


def _model(method: str, n_clusters: int, seed: int, n_jobs: int | None) -> Any:
    if method.startswith("inner"):
        schedule = "paper" if method == "inner-paper" else "anneal"
        return InnerKMeans(n_clusters, schedule=schedule, random_state=seed)
    make = GRAPHS.get(method, EvidenceAccumulation)
    return make(n_clusters, random_state=seed, n_jobs=n_jobs)


def _prototypes(features: Table, labels: NDArray[np.intp]) -> list[Prototype]:
    columns = list(zip(features.names, features.kinds, features.columns, strict=True))
    prototypes = []
    for cluster in np.unique(labels).tolist():
        here = labels == cluster
        typical = {name: _typical(column[here], kind) for name, kind, column in columns}
        prototypes.append(Prototype(cluster, int(here.sum()), typical))
    return prototypes


def _typical(values: NDArray[Any], kind: str) -> float | str | None:
    """Mean of numbers to four digits, mean day, most frequent word; None if all are missing."""
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


def _scores(target: NDArray[Any], labels: NDArray[Any]) -> dict[str, float]:
    truth = np.array([str(value) for value in target])
    return {"nmi": nmi_score(truth, labels), "purity": purity_score(truth, labels)}


Write = Callable[[NDArray[Any], NDArray[Any]], Any]


@set_module("ensemblage.studies")
@dataclass(frozen=True)
class FileClusters:
    """Clusters of a file's rows, without their labels.

    Parameters
    ----------
    method : str
        ``inner`` or ``inner-paper``.
    n_rows : int
        Number of rows.
    columns : tuple of str
        Columns that were used.
    prototypes : list of Prototype
        For each cluster its number, its rows, and the mean of each column.
    agreement : float
        Share of the views that agree with a row's cluster, on average.

    See Also
    --------
    cluster_file : Gives it.

    Examples
    --------
    >>> from ensemblage.studies import FileClusters, Prototype
    >>> FileClusters("inner", 9, ("size",), [Prototype(0, 9, {"size": 1.5})], 1.0).n_rows
    9
    """

    method: str
    n_rows: int
    columns: tuple[str, ...]
    prototypes: list[Prototype]
    agreement: float


def cluster_file(
    path: str | PathLike[str],
    n_clusters: int,
    *,
    method: str = "inner",
    drop: tuple[str, ...] = (),
    seed: int = 0,
    scheduler: str | None = None,
    write: Write | None = None,
) -> FileClusters:
    """Cluster the rows of a Parquet file by Inner K-means, block by block, numbers standardised.

    Parameters
    ----------
    path : str or path-like
        The file; all its columns but those left out must be numbers, without gaps.
    n_clusters : int
        Number of clusters.
    method : {"inner", "inner-paper"}, default="inner"
        The annealed schedule, or the paper's.
    drop : tuple of str, default=()
        Columns to leave out.
    seed : int, default=0
        The only source of randomness.
    scheduler : str, default=None
        Address of a Dask scheduler, ``tcp://...``: its workers read the file themselves, which
        must have the same path there, and hold its rows.
    write : callable, default=None
        Called as ``write(labels, agreement)`` for one block of rows after another.

    Returns
    -------
    FileClusters
        What the clusters are like.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from ensemblage.studies import cluster_file
    >>> labels = []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.parquet"
    ...     parquet.write_table(pa.table({"size": [1.0, 2.0, 1.5, 9.0, 8.0, 9.5]}), path)
    ...     found = cluster_file(path, 2, write=lambda own, share: labels.extend(own.tolist()))
    >>> sorted(each.typical["size"] for each in found.prototypes), len(labels)
    ([1.5, 8.833], 6)
    """
    if not method.startswith("inner"):
        raise ValueError(
            f"method={method!r} needs all rows in memory: take 'inner' or 'inner-paper' for a "
            "file that is read in blocks."
        )
    schedule = "paper" if method == "inner-paper" else "anneal"
    model = InnerKMeans(n_clusters, schedule=schedule, random_state=seed)
    with rows_on(scheduler):
        names = _columns(path, drop)
        rows = (ParquetBlocks if scheduler is None else ParquetParts)(path, names)
        source, scaling = standardised(rows)
        model.fit(source)
        found = reduce(_add, _written(labelled_blocks(model, source), write))
    means = scaling.undo(cluster_means(found.sums))
    prototypes = [
        Prototype(k, int(n), dict(zip(names, [float(f"{x:.4g}") for x in mean], strict=True)))
        for k, (n, mean) in enumerate(zip(found.sums.totals, means, strict=True))
        if n > 0
    ]
    n_rows = rows.shape[0]
    return FileClusters(method, n_rows, tuple(names), prototypes, found.agreed / n_rows)


class _Found(NamedTuple):
    """What labels come to; blocks add up."""

    sums: ClusterSums
    agreed: float


def _written(blocks: Iterator[tuple[Any, ClusterSums]], write: Write | None) -> Iterator[_Found]:
    for values, sums in blocks:
        if write is not None:
            write(values["label"], values["vote"])
        yield _Found(sums, float(values["vote"].sum()))


def _add(one: _Found, other: _Found) -> _Found:
    return _Found(add_cluster_sums(one.sums, other.sums), one.agreed + other.agreed)


def _columns(path: Any, drop: tuple[str, ...]) -> list[str]:
    stored = parquet_columns(path)
    for name in drop:
        if name not in stored:
            raise ValueError(f"{path} has no column {name!r}: choose among {listing(stored)}.")
    names = [name for name in stored if name not in drop]
    if not names:
        raise ValueError("No column is left to cluster by: drop fewer columns.")
    return names
