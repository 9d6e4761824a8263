"""Clusters of a Parquet file that need not fit into memory, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from os import PathLike
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ensemblage.blocks import ParquetBlocks, ParquetParts, parquet_columns, standardised
from ensemblage.inner import InnerKMeans, labelled_blocks
from ensemblage.kernels import ClusterSums, add_cluster_sums, cluster_means
from ensemblage.messages import listing
from ensemblage.methods._method_documents import Prototype
from ensemblage.parallel import rows_on

Write = Callable[[NDArray[Any], NDArray[Any]], Any]


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
    >>> from ensemblage.methods import FileClusters, Prototype
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
    >>> from ensemblage.methods import cluster_file
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
