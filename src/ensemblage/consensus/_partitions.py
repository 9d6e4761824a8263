"""Partitions and their co-association."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import count, draw_seeds, run_tasks, set_seed

Array = NDArray[Any]
Codes = NDArray[np.int32]


# Label of a row that a partition did not sample.
NOT_SAMPLED = -1
# Without balance, a graph is partitioned into this many parts per cluster, which are then merged.
PIECES_PER_CLUSTER = 4
# Most reassignments of all rows to the nearest part.
MAX_PASSES = 20
# Rows whose distances to the parts are in memory at once.
CHUNK_ROWS = 65536
# With more rows, the number of clusters is chosen on a random sample of this size.
LIFETIME_ROWS = 2000
# Clusters with a smaller fraction of the rows are ignored there.
MIN_SHARE = 0.02

Cut = Callable[[int, int], Array]
"""Part of each row, from a number of parts and a seed."""


def check_partitions(partitions: Any) -> Codes:
    """Validate label arrays and encode the clusters of each as 0, 1, 2, ...; -1 is kept."""
    rows = check_lengths(partitions)
    return np.stack([_coded(row, index) for index, row in enumerate(rows)])


def check_lengths(partitions: Any) -> list[NDArray[Any]]:
    """Validate that there are at least two label arrays, of equal length."""
    rows = [np.asarray(partition) for partition in partitions]
    lengths = sorted({row.shape for row in rows})
    if len(lengths) > 1 or any(row.ndim != 1 for row in rows):
        raise ValueError(
            f"partitions must be label arrays of equal length, got shapes {lengths}. "
            "Use -1 for rows that a partition did not sample."
        )
    if len(rows) < 2:
        raise ValueError(
            f"partitions holds {count(len(rows), 'partition')}; at least 2 are needed to combine. "
            "Its shape is (n_partitions, n_samples)."
        )
    return rows


def _coded(labels: NDArray[Any], index: int) -> NDArray[np.int32]:
    if labels.dtype.kind in "OUS":
        missing = [
            value is None or value != value or str(value) == "-1"  # noqa: PLR0124  only NaN differs
            for value in labels.tolist()
        ]
        texts, labels = labels.astype(str), np.full(len(labels), NOT_SAMPLED, np.int64)
        seen = ~np.array(missing, bool)
        if seen.any():
            labels[seen] = np.unique(texts[seen], return_inverse=True)[1]
    if labels.dtype.kind not in "iub":
        raise ValueError(
            f"partition {index} has labels of type {labels.dtype}, expected integers with -1 for "
            "rows that were not sampled, or text with None for them."
        )
    seen = labels != NOT_SAMPLED
    if not seen.any():
        raise ValueError(
            f"partition {index} has no rows: its labels are all -1 or None. Remove it."
        )
    if labels.min() < NOT_SAMPLED or labels.max() > len(labels):
        labels = np.where(seen, np.searchsorted(np.unique(labels[seen]), labels), NOT_SAMPLED)
    labels = labels.astype(np.int64, copy=False)
    # counting is several times faster than sorting, and most labels are small integers
    used = np.bincount(labels[seen]) > 0
    codes = np.append(np.cumsum(used) - 1, NOT_SAMPLED)
    return np.asarray(codes[labels], dtype=np.int32)


def indicators(
    partitions: Codes, dtype: Any = np.float32, n_clusters: NDArray[Any] | None = None
) -> sparse.csr_array:
    """Rows-by-clusters indicator matrix, with the clusters of all partitions side by side.

    ``n_clusters`` is the number of clusters of each partition, for a sample of the rows.
    """
    n_rows = partitions.shape[1]
    n_clusters = partitions.max(axis=1) + 1 if n_clusters is None else n_clusters
    offsets = np.concatenate([[0], np.cumsum(n_clusters)])
    seen = (partitions != NOT_SAMPLED).T
    columns = (partitions + offsets[:-1, None]).T[seen].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    entries = np.ones(len(columns), dtype)
    return sparse.csr_array((entries, columns, starts), shape=(n_rows, int(offsets[-1])))


def make_partitions(
    clusterers: Sequence[Any], X: Any, random_state: Any, n_jobs: int | None
) -> Codes:
    """Compute the labels of the rows of ``X`` by each clusterer.

    A fitted clusterer predicts, or gives its ``labels_`` if it has no ``predict``; the others are
    cloned, seeded and fitted.
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


def cut_and_merge(cut: Cut, partitions: Codes, n_parts: int, seed: int, n_cuts: int) -> Array:
    """Cut pieces several times, merge them, and keep the result with the highest mean NMI."""
    n_pieces = min(PIECES_PER_CLUSTER * n_parts, partitions.shape[1])

    def merged(_: int, cut_seed: int) -> Array:
        return merge_pieces(partitions, cut(n_pieces, cut_seed), n_parts)

    return best_cut(merged, partitions, n_parts, seed, n_cuts)


def best_cut(cut: Cut, partitions: Codes, n_parts: int, seed: int, n_cuts: int) -> Array:
    """Cut several times; keep the result with the highest mean NMI with the partitions."""
    if n_parts == 1:
        return np.zeros(partitions.shape[1], np.int32)
    cuts = [cut(n_parts, seed + index) for index in range(n_cuts)]
    scores = [mean_nmi(partitions, parts) for parts in cuts] if n_cuts > 1 else [0.0]
    return cuts[int(np.argmax(scores))]


def mean_nmi(partitions: Codes, labels: Array) -> float:
    """Mean NMI of labels with the partitions, each on the rows that it sampled."""
    scores = []
    for partition in partitions:
        seen = partition != NOT_SAMPLED
        if seen.any():  # a sample of the rows may leave none
            both = partition[seen], labels[seen]
            scores.append(normalized_mutual_info_score(*both, average_method="geometric"))
    return float(np.mean(scores))


def merge_pieces(partitions: Codes, pieces: Array, n_parts: int) -> Array:
    """Merge the two most similar pieces until ``n_parts`` remain; then reassign the rows."""
    pieces = _reassign(partitions, _renumbered(pieces), n_parts)
    shares, _ = part_profiles(partitions, pieces)
    sizes = np.bincount(pieces).astype(np.float64)
    together = (shares @ shares.T) * np.outer(sizes, sizes)
    merged = np.arange(len(sizes))
    n_left = len(sizes)
    np.fill_diagonal(together, -np.inf)
    while n_left > n_parts:
        similar = together / np.outer(sizes, sizes)
        kept, dropped = sorted(np.unravel_index(int(np.argmax(similar)), similar.shape))
        together[kept] += together[dropped]
        together[:, kept] += together[:, dropped]
        together[kept, kept] = together[dropped] = together[:, dropped] = -np.inf
        sizes[kept] += sizes[dropped]
        merged[merged == dropped] = kept
        n_left -= 1
    return _reassign(partitions, _renumbered(merged[pieces]), n_parts)


def part_profiles(
    partitions: Codes, parts: Array, n_clusters: Array | None = None
) -> tuple[Array, Array]:
    """Cluster profile of each part; ``n_clusters`` as in :func:`indicators`.

    Returns the fraction of the part's rows in each cluster, (n_parts, n_all_clusters), and the sums
    of their squares in each partition, (n_parts, n_partitions).
    """
    n_clusters = partitions.max(axis=1) + 1 if n_clusters is None else n_clusters
    n_parts, n_rows = int(parts.max()) + 1, len(parts)
    places = parts, np.arange(n_rows)
    rows_of = sparse.csr_array((np.ones(n_rows), places), shape=(n_parts, n_rows))
    seen = (partitions != NOT_SAMPLED).T.astype(np.float64)
    owner = np.repeat(np.arange(len(partitions)), n_clusters)
    counts = (rows_of @ indicators(partitions, np.float64, n_clusters)).toarray()
    shares = counts / np.maximum((rows_of @ seen)[:, owner], 1)
    norms = np.zeros((len(partitions), n_parts))
    np.add.at(norms, owner, np.square(shares).T)
    return shares, norms.T


def nearest_part(partitions: Codes, shares: Array, norms: Array) -> Array:
    """Assign each row to the part with the nearest profile; ties go to the first."""
    n_rows = partitions.shape[1]
    found = np.empty(n_rows, np.int32)
    n_columns = partitions.max(axis=1) + 1
    offsets = np.cumsum(n_columns) - n_columns
    for start in range(0, n_rows, CHUNK_ROWS):
        labels = partitions[:, start : start + CHUNK_ROWS]
        score = np.zeros((labels.shape[1], len(shares)))
        for partition, offset, norm in zip(labels, offsets, norms.T, strict=True):
            seen = partition != NOT_SAMPLED
            score[seen] += 2 * shares.T[partition[seen] + offset] - norm
        found[start : start + CHUNK_ROWS] = score.argmax(axis=1)
    return found


def sample_rows(partitions: Codes, max_rows: int, seed: int) -> Codes:
    """Draw at most ``max_rows`` rows; each partition keeps its cluster codes."""
    n_rows = partitions.shape[1]
    if n_rows <= max_rows:
        return partitions
    chosen = np.random.default_rng(seed).choice(n_rows, max_rows, replace=False)
    return partitions[:, np.sort(chosen)]


def assign_to_parts(partitions: Codes, sampled: Codes, parts: Array) -> Array:
    """Assign every row to the part of sampled rows with the nearest profile."""
    if sampled is partitions:
        return parts
    n_clusters = partitions.max(axis=1) + 1
    return nearest_part(partitions, *part_profiles(sampled, _renumbered(parts), n_clusters))


def _reassign(partitions: Codes, parts: Array, min_parts: int) -> Array:
    """Reassign rows to the nearest profile until none changes; stop before parts get too few."""
    for _ in range(MAX_PASSES):
        moved = _renumbered(nearest_part(partitions, *part_profiles(partitions, parts)))
        if moved.max() + 1 < min(min_parts, int(parts.max()) + 1) or np.array_equal(moved, parts):
            break
        parts = moved
    return parts


def _renumbered(parts: Array) -> Array:
    return np.asarray(np.unique(parts, return_inverse=True)[1])


def co_association(partitions: Any) -> sparse.csr_array:
    r"""Co-association matrix: fraction of the partitions that put two rows in one cluster.

    Parameters
    ----------
    partitions : array-like of shape (n_partitions, n_samples)
        Cluster of each row in each partition; -1 where a partition did not sample the row.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric, with ones on the diagonal; zeros are not stored.

    Notes
    -----
    With :math:`H` the rows-by-clusters indicator matrix and :math:`M` the rows-by-partitions
    indicator matrix of sampled rows, entry (i, j) is :math:`(H H^\top)_{ij} / (M M^\top)_{ij}`.

    Examples
    --------
    >>> from ensemblage.consensus import co_association
    >>> co_association([[0, 0, 1], [0, 1, 1]]).toarray().tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    partitions = check_partitions(partitions)
    members = indicators(partitions, np.float64)
    together = sparse.csr_array(members @ members.T)
    together.sort_indices()
    if partitions.min() > NOT_SAMPLED:
        together.data /= len(partitions)
        return together
    seen = (partitions != NOT_SAMPLED).T.astype(np.float64)
    for row in range(len(seen)):  # only pairs that are stored
        part = slice(together.indptr[row], together.indptr[row + 1])
        together.data[part] /= seen[together.indices[part]] @ seen[row]
    return together


def condensed_distances(partitions: Codes) -> NDArray[np.float64]:
    """One minus co-association, in SciPy's condensed form; 1 for a pair never sampled together."""
    members = indicators(partitions).toarray()
    together = members @ members.T
    if partitions.min() > NOT_SAMPLED:
        together /= len(partitions)
    else:
        seen = (partitions != NOT_SAMPLED).T.astype(np.float32)
        together /= np.maximum(seen @ seen.T, 1)
    np.subtract(1, together, out=together)
    np.fill_diagonal(together, 0)
    return np.asarray(squareform(together, checks=False), dtype=np.float64)


def check_memory(n_bytes: float, limit: float, n_rows: int, method: str) -> None:
    """Raise before allocation if more than ``limit`` bytes would be needed."""
    if n_bytes > limit:
        raise MemoryError(
            f"{method} compares all pairs of {n_rows} rows, about {n_bytes / 1e9:.3g} GB, which is "
            f"more than memory_limit={limit:.3g} bytes. Use MCLA or HBGF, whose memory is linear "
            "in the number of rows, or increase memory_limit."
        )


def cut_by_order(merges: NDArray[Any], n_clusters: int) -> NDArray[np.int32]:
    """Undo the last merges of a SciPy dendrogram until ``n_clusters`` remain.

    Unlike a cut at a height, this separates merges of equal height.
    """
    n_rows = len(merges) + 1
    kept = merges[: n_rows - n_clusters, :2].astype(np.int64)
    joined = n_rows + np.arange(len(kept))
    ends = np.concatenate([kept[:, 0], kept[:, 1]]), np.concatenate([joined, joined])
    size = n_rows + len(kept)
    graph = sparse.coo_array((np.ones(2 * len(kept), np.int8), ends), shape=(size, size))
    labels = connected_components(graph, directed=False)[1][:n_rows]
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int32)


def longest_lifetime(merges: NDArray[Any], min_rows: int = 1) -> int:
    """Return the number of clusters with the longest lifetime (range of heights).

    Only clusters of at least ``min_rows`` rows count, and only heights at which most rows are in
    such clusters. The lifetime of a single cluster ends at height 1, the largest possible distance;
    ties go to the fewest clusters.
    """
    n_rows = len(merges) + 1
    heights = np.concatenate([[0.0], np.maximum.accumulate(merges[:, 2]), [1.0]])
    lifetimes = np.zeros(n_rows + 1)
    sizes = np.concatenate([np.ones(n_rows), merges[:, 3]])
    n_large, covered = (n_rows, n_rows) if min_rows <= 1 else (0, 0)
    for step in range(n_rows):
        if step:
            parts = sizes[merges[step - 1, :2].astype(np.int64)]
            large = parts[parts >= min_rows]
            whole = merges[step - 1, 3]
            n_large += int(whole >= min_rows) - len(large)
            covered += int(whole if whole >= min_rows else 0) - int(large.sum())
        if 2 * covered > n_rows:
            lifetimes[n_large] += max(heights[step + 1] - heights[step], 0.0)
    return max(1, int(np.argmax(lifetimes)))


def count_clusters(partitions: Codes, seed: int) -> int:
    """Choose the number of clusters by the longest lifetime in average linkage.

    With more than ``LIFETIME_ROWS`` rows, a random sample is used. Clusters with less than
    ``MIN_SHARE`` of the rows are ignored.
    """
    sampled = sample_rows(partitions, LIFETIME_ROWS, seed)
    n_rows = sampled.shape[1]
    if n_rows == 1:
        return 1
    merges = linkage(condensed_distances(sampled), "average")
    return longest_lifetime(merges, max(2, round(MIN_SHARE * n_rows)))
