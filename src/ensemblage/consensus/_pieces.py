r"""Cuts that assume no sizes: rows cut into many small pieces, and the pieces merged.

A graph partitioner balances its parts, so it cuts a large cluster in two sooner than it leaves a
small one alone. Pieces are small enough for that not to matter. The profile of a part is, for each
cluster of each partition, the share of the part's rows in it, :math:`F_{pc}`; a row goes to the
part whose profile is nearest to its own clusters, in squared distance. Two parts are as similar as
two of their rows on average are, :math:`\sum_c F_{pc} F_{qc}` over the number of partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score

from ensemblage.consensus._partitions import NOT_SAMPLED, Partitions, indicators

Array = NDArray[Any]
Cut = Callable[[int, int], Array]
"""Part of each row, from a number of parts and a seed."""

PIECES_PER_CLUSTER = 4
MOST_PASSES = 20
CHUNK_ROWS = 65536


class Profiles(NamedTuple):
    """What the rows of each part have in common."""

    shares: Array  # (n_parts, n_all_clusters): of the part's rows in each cluster
    norms: Array  # (n_parts, n_partitions): sums of squared shares in each partition


def cut_freely(cut: Cut, partitions: Partitions, n_parts: int, seed: int, n_cuts: int) -> Array:
    """Cut pieces several times, merge them, and keep what shares most with the partitions."""
    n_pieces = min(PIECES_PER_CLUSTER * n_parts, partitions.shape[1])

    def merged(_: int, cut_seed: int) -> Array:
        return merge_pieces(partitions, cut(n_pieces, cut_seed), n_parts)

    return best_cut(merged, partitions, n_parts, seed, n_cuts)


def best_cut(cut: Cut, partitions: Partitions, n_parts: int, seed: int, n_cuts: int) -> Array:
    """Cut several times; keep the parts with the largest mean NMI with the partitions."""
    if n_parts == 1:
        return np.zeros(partitions.shape[1], np.int32)
    cuts = [cut(n_parts, seed + index) for index in range(n_cuts)]
    shared = [shared_information(partitions, parts) for parts in cuts] if n_cuts > 1 else [0.0]
    return cuts[int(np.argmax(shared))]


def shared_information(partitions: Partitions, labels: Array) -> float:
    """Mean NMI of labels with the partitions, each on the rows that it sampled."""
    scores = []
    for partition in partitions:
        seen = partition != NOT_SAMPLED
        if seen.any():  # a sample of the rows may leave none
            both = partition[seen], labels[seen]
            scores.append(normalized_mutual_info_score(*both, average_method="geometric"))
    return float(np.mean(scores))


def merge_pieces(partitions: Partitions, pieces: Array, n_parts: int) -> Array:
    """Merge the two most similar pieces until so many are left; rows then move where they fit."""
    pieces = _settle(partitions, _coded(pieces), n_parts)
    profiles = part_profiles(partitions, pieces)
    sizes = np.bincount(pieces).astype(np.float64)
    together = (profiles.shares @ profiles.shares.T) * np.outer(sizes, sizes)
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
    return _settle(partitions, _coded(home[pieces]), n_parts)


def part_profiles(partitions: Partitions, parts: Array, n_sets: Array | None = None) -> Profiles:
    """Describe each part by its rows' clusters; partitions may have more than these rows show."""
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
    return Profiles(shares, norms.T)


def nearest_part(partitions: Partitions, profiles: Profiles) -> Array:
    """Give each row to the part with the nearest profile; of equal ones to the first."""
    n_rows = partitions.shape[1]
    found = np.empty(n_rows, np.int32)
    n_columns = partitions.max(axis=1) + 1
    offsets = np.cumsum(n_columns) - n_columns
    for start in range(0, n_rows, CHUNK_ROWS):
        labels = partitions[:, start : start + CHUNK_ROWS]
        score = np.zeros((labels.shape[1], len(profiles.shares)))
        for partition, offset, norms in zip(labels, offsets, profiles.norms.T, strict=True):
            seen = partition != NOT_SAMPLED
            score[seen] += 2 * profiles.shares.T[partition[seen] + offset] - norms
        found[start : start + CHUNK_ROWS] = score.argmax(axis=1)
    return found


def sample_rows(partitions: Partitions, most: int, seed: int) -> Partitions:
    """Draw so many rows at most; each partition keeps its clusters' numbers."""
    n_rows = partitions.shape[1]
    if n_rows <= most:
        return partitions
    return partitions[:, np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))]


def spread_parts(partitions: Partitions, sampled: Partitions, parts: Array) -> Array:
    """Give every row the part of sampled rows that it is most like."""
    if sampled is partitions:
        return parts
    n_sets = partitions.max(axis=1) + 1
    return nearest_part(partitions, part_profiles(sampled, _coded(parts), n_sets))


def _settle(partitions: Partitions, parts: Array, least: int) -> Array:
    """Let rows move to the nearest profile until none does; fewer parts than asked for are none."""
    for _ in range(MOST_PASSES):
        moved = _coded(nearest_part(partitions, part_profiles(partitions, parts)))
        if moved.max() + 1 < min(least, int(parts.max()) + 1) or np.array_equal(moved, parts):
            break
        parts = moved
    return parts


def _coded(parts: Array) -> Array:
    return np.asarray(np.unique(parts, return_inverse=True)[1])
