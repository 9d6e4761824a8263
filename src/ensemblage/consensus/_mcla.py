"""Consensus by grouping clusters: MCLA."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ensemblage.consensus._base import CONSENSUS_DOCS, ConsensusClusterer
from ensemblage.consensus._metis import cut_graph
from ensemblage.consensus._partitions import NOT_SAMPLED, Partitions, indicators
from ensemblage.messages import with_shared


@with_shared(CONSENSUS_DOCS)
class MCLA(ConsensusClusterer):
    r"""Meta-clustering: group the clusters of all partitions, then let rows choose a group.

    Clusters are vertices of a graph whose weights say how much two clusters overlap. METIS
    cuts it into ``n_clusters`` groups; a row goes to the group that it is most often in.

    Parameters
    ----------
    {n_clusters, clusterers, n_partitions, n_jobs, random_state}

    Attributes
    ----------
    {labels_}
    n_clusters_ : int
        Number of clusters found; a group that no row chooses leaves fewer than asked for.
    {partitions_, n_features_in_, feature_names_in_}

    See Also
    --------
    HBGF : Cuts a graph of rows and clusters.

    Notes
    -----
    Clusters a and b overlap by :math:`|a \cap b| / |a \cup b|`. A row's association with a
    group is the share of the group's clusters that hold the row; of equal groups it takes the
    one with the lower index.

    References
    ----------
    A. Strehl, J. Ghosh. Cluster Ensembles: A Knowledge Reuse Framework for Combining Multiple
    Partitions. JMLR 3, 2002.

    Examples
    --------
    >>> from ensemblage.consensus import MCLA
    >>> partitions = [[0, 0, 0, 1, 1, 1], [5, 5, 5, 2, 2, 2], [0, 0, 1, 1, 1, 1]]
    >>> MCLA(n_clusters=2, random_state=0).fit_partitions(partitions).labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def _consensus(self, partitions: Partitions, n_clusters: int, seed: int) -> NDArray[Any]:
        overlap = cluster_overlap(partitions)
        group = cut_graph(overlap, min(n_clusters, overlap.shape[0]), seed, "MCLA")
        return choose_group(partitions, group)


def cluster_overlap(partitions: Partitions) -> sparse.csr_array:
    """Jaccard overlap of the clusters of all partitions, in thousandths.

    Of shape (n_all_clusters, n_all_clusters), with nothing on the diagonal.
    """
    members = indicators(partitions)
    shared = (members.T @ members).toarray().astype(np.float64)
    sizes = np.diag(shared)
    overlap = np.rint(1000 * shared / (sizes[:, None] + sizes - shared)).astype(np.int64)
    np.fill_diagonal(overlap, 0)
    return sparse.csr_array(overlap)


def choose_group(partitions: Partitions, group: NDArray[Any]) -> NDArray[Any]:
    """Let each row choose the group of clusters that it is most often in."""
    share = 1.0 / np.maximum(np.bincount(group), 1)
    association = np.zeros((len(share), partitions.shape[1]))
    columns = np.arange(partitions.shape[1])
    start = 0
    for labels in partitions:
        n_sets = int(labels.max()) + 1
        seen = labels != NOT_SAMPLED
        chosen = group[start : start + n_sets][labels[seen]]
        association[chosen, columns[seen]] += share[chosen]
        start += n_sets
    return np.asarray(association.argmax(axis=0))
