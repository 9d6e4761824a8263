"""Partitions and how often rows fall together in them."""

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
# Without balance, a graph is cut into so many pieces per cluster, which are then merged.
PIECES_PER_CLUSTER = 4
# Passes of rows to the nearest part.
MAX_PASSES = 20
# Rows whose distances to the parts are held at once.
CHUNK_ROWS = 65536
# Of more rows, the number of clusters is chosen by a sample of as many.
LIFETIME_ROWS = 2000
# Clusters with a smaller share of the rows do not count there.
MIN_SHARE = 0.02

Cut = Callable[[int, int], Array]
"""Part of each row, from a number of parts and a seed."""


def check_partitions(partitions: Any) -> Codes:
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
            f"partition {index} has no row: its labels are all -1 or None. Leave it out."
        )
    if labels.min() < NOT_SAMPLED or labels.max() > len(labels):
        labels = np.where(seen, np.searchsorted(np.unique(labels[seen]), labels), NOT_SAMPLED)
    labels = labels.astype(np.int64, copy=False)
    # counting is several times faster than sorting, and most labels are small numbers
    used = np.bincount(labels[seen]) > 0
    codes = np.append(np.cumsum(used) - 1, NOT_SAMPLED)
    return np.asarray(codes[labels], dtype=np.int32)


def indicators(
    partitions: Codes, dtype: Any = np.float32, n_sets: NDArray[Any] | None = None
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
) -> Codes:
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


def cut_and_merge(cut: Cut, partitions: Codes, n_parts: int, seed: int, n_cuts: int) -> Array:
    """Cut pieces several times, merge them, and keep what shares most with the partitions."""
    n_pieces = min(PIECES_PER_CLUSTER * n_parts, partitions.shape[1])

    def merged(_: int, cut_seed: int) -> Array:
        return merge_pieces(partitions, cut(n_pieces, cut_seed), n_parts)

    return best_cut(merged, partitions, n_parts, seed, n_cuts)


def best_cut(cut: Cut, partitions: Codes, n_parts: int, seed: int, n_cuts: int) -> Array:
    """Cut several times; keep the parts with the largest mean NMI with the partitions."""
    if n_parts == 1:
        return np.zeros(partitions.shape[1], np.int32)
    cuts = [cut(n_parts, seed + index) for index in range(n_cuts)]
    shared = [shared_information(partitions, parts) for parts in cuts] if n_cuts > 1 else [0.0]
    return cuts[int(np.argmax(shared))]


def shared_information(partitions: Codes, labels: Array) -> float:
    """Mean NMI of labels with the partitions, each on the rows that it sampled."""
    scores = []
    for partition in partitions:
        seen = partition != NOT_SAMPLED
        if seen.any():  # a sample of the rows may leave none
            both = partition[seen], labels[seen]
            scores.append(normalized_mutual_info_score(*both, average_method="geometric"))
    return float(np.mean(scores))


def merge_pieces(partitions: Codes, pieces: Array, n_parts: int) -> Array:
    """Merge the two most similar pieces until so many are left; rows then move where they fit."""
    pieces = _settle(partitions, _renumbered(pieces), n_parts)
    shares, _ = part_profiles(partitions, pieces)
    sizes = np.bincount(pieces).astype(np.float64)
    together = (shares @ shares.T) * np.outer(sizes, sizes)
    home = np.arange(len(sizes))
    left = len(sizes)
    np.fill_diagonal(together, -np.inf)
    while left > n_parts:
        similar = together / np.outer(sizes, sizes)
        kept, gone = sorted(np.unravel_index(int(np.argmax(similar)), similar.shape))
        together[kept] += together[gone]
        together[:, kept] += together[:, gone]
        together[kept, kept] = together[gone] = together[:, gone] = -np.inf
        sizes[kept] += sizes[gone]
        home[home == gone] = kept
        left -= 1
    return _settle(partitions, _renumbered(home[pieces]), n_parts)


def part_profiles(
    partitions: Codes, parts: Array, n_sets: Array | None = None
) -> tuple[Array, Array]:
    """Describe each part by its rows' clusters; partitions may have more than these rows show.

    Gives shares of the part's rows in each cluster, (n_parts, n_all_clusters), and the sums of
    their squares in each partition, (n_parts, n_partitions).
    """
    n_sets = partitions.max(axis=1) + 1 if n_sets is None else n_sets
    n_parts, n_rows = int(parts.max()) + 1, len(parts)
    places = parts, np.arange(n_rows)
    rows_of = sparse.csr_array((np.ones(n_rows), places), shape=(n_parts, n_rows))
    seen = (partitions != NOT_SAMPLED).T.astype(np.float64)
    owner = np.repeat(np.arange(len(partitions)), n_sets)
    counts = (rows_of @ indicators(partitions, np.float64, n_sets)).toarray()
    shares = counts / np.maximum((rows_of @ seen)[:, owner], 1)
    norms = np.zeros((len(partitions), n_parts))
    np.add.at(norms, owner, np.square(shares).T)
    return shares, norms.T


def nearest_part(partitions: Codes, shares: Array, norms: Array) -> Array:
    """Give each row to the part with the nearest profile; of equal ones to the first."""
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


def sample_rows(partitions: Codes, most: int, seed: int) -> Codes:
    """Draw so many rows at most; each partition keeps its clusters' numbers."""
    n_rows = partitions.shape[1]
    if n_rows <= most:
        return partitions
    return partitions[:, np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))]


def assign_to_parts(partitions: Codes, sampled: Codes, parts: Array) -> Array:
    """Give every row the part of sampled rows that it is most like."""
    if sampled is partitions:
        return parts
    n_sets = partitions.max(axis=1) + 1
    return nearest_part(partitions, *part_profiles(sampled, _renumbered(parts), n_sets))


def _settle(partitions: Codes, parts: Array, least: int) -> Array:
    """Let rows move to the nearest profile until none does; fewer parts than asked for are none."""
    for _ in range(MAX_PASSES):
        moved = _renumbered(nearest_part(partitions, *part_profiles(partitions, parts)))
        if moved.max() + 1 < min(least, int(parts.max()) + 1) or np.array_equal(moved, parts):
            break
        parts = moved
    return parts


def _renumbered(parts: Array) -> Array:
    return np.asarray(np.unique(parts, return_inverse=True)[1])


def co_association(partitions: Any) -> sparse.csr_array:
    r"""Share of the partitions in which two rows are in one cluster.

    Parameters
    ----------
    partitions : array-like of shape (n_partitions, n_samples)
        Cluster of each row in each partition; -1 where a partition did not sample the row.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric, ones on the diagonal; pairs that never meet are not stored.

    Notes
    -----
    With :math:`H` the rows-by-clusters indicator matrix and :math:`M` the rows-by-partitions
    matrix of which rows were sampled, entry (i, j) is :math:`(H H^\top)_{ij} / (M M^\top)_{ij}`.

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
    """Refuse, before anything is allocated, what would take more than the user's limit."""
    if n_bytes > limit:
        raise MemoryError(
            f"{method} compares all pairs of {n_rows} rows, about {n_bytes / 1e9:.3g} GB, which is "
            f"more than memory_limit={limit:.3g} bytes. Use MCLA or HBGF, whose memory grows with "
            "the number of rows only, or raise memory_limit."
        )


def cut_by_order(merges: NDArray[Any], n_clusters: int) -> NDArray[np.int32]:
    """Undo the last of SciPy's merges until ``n_clusters`` are left.

    Cutting at a height cannot tell merges of equal height apart; the order can.
    """
    n_rows = len(merges) + 1
    kept = merges[: n_rows - n_clusters, :2].astype(np.int64)
    joined = n_rows + np.arange(len(kept))
    ends = np.concatenate([kept[:, 0], kept[:, 1]]), np.concatenate([joined, joined])
    size = n_rows + len(kept)
    graph = sparse.coo_array((np.ones(2 * len(kept), np.int8), ends), shape=(size, size))
    labels = connected_components(graph, directed=False)[1][:n_rows]
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int32)


def largest_lifetime(merges: NDArray[Any], least_rows: int = 1) -> int:
    """Find the number of clusters that stays the same over the longest range of heights.

    Only clusters of so many rows count, and only heights at which most rows are in such ones. The
    range of a single cluster ends at height 1, the largest distance that two rows can have; at
    equal lifetimes the fewest clusters are chosen.
    """
    n_rows = len(merges) + 1
    heights = np.concatenate([[0.0], np.maximum.accumulate(merges[:, 2]), [1.0]])
    lifetimes = np.zeros(n_rows + 1)
    sizes = np.concatenate([np.ones(n_rows), merges[:, 3]])
    n_large, covered = (n_rows, n_rows) if least_rows <= 1 else (0, 0)
    for step in range(n_rows):
        if step:
            parts = sizes[merges[step - 1, :2].astype(np.int64)]
            large = parts[parts >= least_rows]
            whole = merges[step - 1, 3]
            n_large += int(whole >= least_rows) - len(large)
            covered += int(whole if whole >= least_rows else 0) - int(large.sum())
        if 2 * covered > n_rows:
            lifetimes[n_large] += max(heights[step + 1] - heights[step], 0.0)
    return max(1, int(np.argmax(lifetimes)))


def count_clusters(partitions: Codes, seed: int) -> int:
    """Choose the number of clusters by the largest lifetime of average linkage.

    Of more than ``LIFETIME_ROWS`` rows a random sample is looked at. Clusters with less than
    ``MIN_SHARE`` of the rows do not count.
    """
    sampled = sample_rows(partitions, LIFETIME_ROWS, seed)
    n_rows = sampled.shape[1]
    if n_rows == 1:
        return 1
    merges = linkage(condensed_distances(sampled), "average")
    return largest_lifetime(merges, max(2, round(MIN_SHARE * n_rows)))
