"""Consensus by cutting a hypergraph: HGPA."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ensemblage.consensus._base import CONSENSUS_DOCS, ConsensusClusterer
from ensemblage.consensus._partitions import Partitions, indicators
from ensemblage.messages import require, with_shared

IMBALANCE = 0.05


@with_shared(CONSENSUS_DOCS)
class HGPA(ConsensusClusterer):
    r"""Hypergraph partitioning: cut as few clusters as possible.

    Rows are vertices and each cluster of each partition is a hyperedge. Mt-KaHyPar cuts the
    rows into parts of about equal size that split few hyperedges.

    Parameters
    ----------
    {n_clusters, clusterers, n_partitions, n_jobs, random_state}

    Attributes
    ----------
    {labels_, n_clusters_, partitions_, n_features_in_, feature_names_in_}

    See Also
    --------
    HBGF : The same vertices and clusters as an ordinary graph, usually with a better result.

    Notes
    -----
    Minimises :math:`\sum_c (\lambda_c - 1)`, where :math:`\lambda_c` is the number of parts
    that hold rows of cluster c, with parts at most 5 % larger than the mean. One row out of
    place splits a cluster as much as half of its rows do, so noisy partitions suit the other
    methods better.

    References
    ----------
    A. Strehl, J. Ghosh. Cluster Ensembles: A Knowledge Reuse Framework for Combining Multiple
    Partitions. JMLR 3, 2002.

    Examples
    --------
    >>> from ensemblage.consensus import HGPA
    >>> partitions = [[0, 0, 0, 1, 1, 1], [5, 5, 5, 2, 2, 2], [0, 0, 1, 1, 1, 1]]
    >>> HGPA(n_clusters=2, random_state=0).fit_partitions(partitions).n_clusters_
    2
    """

    def _consensus(self, partitions: Partitions, seed: int) -> NDArray[Any]:
        n_parts = self._wanted(partitions, seed)
        members = sparse.csc_array(indicators(partitions))
        sets = np.split(members.indices, members.indptr[1:-1])
        return cut_hypergraph([part.tolist() for part in sets], members.shape[0], n_parts, seed)


@cache
def _partitioner() -> tuple[Any, Any]:
    # Mt-KaHyPar may be started once per process; one thread gives the same cut everywhere
    mtkahypar = require("mtkahypar", "HGPA", extra="consensus")
    return mtkahypar, mtkahypar.initialize(1)


def cut_hypergraph(sets: list[list[int]], n_rows: int, n_parts: int, seed: int) -> NDArray[Any]:
    """Cut rows into parts of about equal size that split few of the sets of rows."""
    mtkahypar, start = _partitioner()
    if n_parts == 1:
        return np.zeros(n_rows, np.int32)
    mtkahypar.set_seed(seed % (2**31 - 1))
    context = start.context_from_preset(mtkahypar.PresetType.DETERMINISTIC)
    context.set_partitioning_parameters(n_parts, IMBALANCE, mtkahypar.Objective.KM1)
    context.logging = False
    joined = [part for part in sets if len(part) > 1]  # a set of one row cannot be split
    graph = start.create_hypergraph(context, n_rows, len(joined), joined)
    return np.asarray(graph.partition(context).get_partition())
