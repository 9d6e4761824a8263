"""Consensus by cutting a hypergraph: HGPA."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ensemblage.consensus._base import CONSENSUS_DOCS, CUT_CONSTRAINTS, ConsensusClusterer
from ensemblage.consensus._partitions import Partitions, indicators
from ensemblage.consensus._pieces import best_cut, cut_freely, sample_rows, spread_parts
from ensemblage.messages import require, with_shared

USUAL_BALANCE = 0.05
CUT_ROWS = 2_000
SETTINGS = Path(__file__).with_name("hypergraph_cuts.ini")


@with_shared(CONSENSUS_DOCS)
class HGPA(ConsensusClusterer):
    r"""Hypergraph partitioning: cut as few clusters as possible.

    Rows are vertices and each cluster of each partition is a hyperedge. Mt-KaHyPar cuts the
    rows into parts that split few hyperedges.

    Parameters
    ----------
    {n_clusters, clusterers, n_partitions, balance, n_cuts, n_jobs, random_state}

    Attributes
    ----------
    {labels_, n_clusters_, partitions_, n_features_in_, feature_names_in_}

    See Also
    --------
    HBGF : The same vertices and clusters as an ordinary graph, usually with a better result.

    Notes
    -----
    Minimises :math:`\sum_c (\lambda_c - 1)`, where :math:`\lambda_c` is the number of parts
    that hold rows of cluster c, with parts of about equal size; what is done without
    ``balance`` is said at :class:`CSPA`. One row out of place splits a cluster as much as half
    of its rows do, so noisy partitions suit the other methods better. Of more than 2,000 rows, a
    sample of as many is cut, and every row goes to the part whose rows' clusters are most like
    its own.

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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  as scikit-learn declares it
        **ConsensusClusterer._parameter_constraints,  # noqa: SLF001
        **CUT_CONSTRAINTS,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        clusterers: Any = None,
        n_partitions: int = 20,
        balance: float | None = None,
        n_cuts: int = 3,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            clusterers=clusterers,
            n_partitions=n_partitions,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.balance = balance
        self.n_cuts = n_cuts

    def _consensus(self, partitions: Partitions, n_clusters: int, seed: int) -> NDArray[Any]:
        sampled = sample_rows(partitions, CUT_ROWS, seed)
        members = sparse.csc_array(indicators(sampled))
        sets = [part.tolist() for part in np.split(members.indices, members.indptr[1:-1])]
        balance = USUAL_BALANCE if self.balance is None else self.balance

        def cut(n_wanted: int, cut_seed: int) -> NDArray[Any]:
            return cut_hypergraph(sets, sampled.shape[1], n_wanted, cut_seed, balance)

        search = cut_freely if self.balance is None else best_cut
        parts = search(cut, sampled, n_clusters, seed, self.n_cuts)
        return spread_parts(partitions, sampled, parts)


@cache
def _partitioner() -> tuple[Any, Any]:
    # Mt-KaHyPar may be started once per process; one thread gives the same cut everywhere
    mtkahypar = require("mtkahypar", "HGPA", extra="consensus")
    return mtkahypar, mtkahypar.initialize(1)


def cut_hypergraph(
    sets: list[list[int]], n_rows: int, n_parts: int, seed: int, balance: float = USUAL_BALANCE
) -> NDArray[Any]:
    """Cut rows into parts of about equal size that split few of the sets of rows."""
    mtkahypar, start = _partitioner()
    if n_parts == 1:
        return np.zeros(n_rows, np.int32)
    mtkahypar.set_seed(seed % (2**31 - 1))
    context = start.context_from_file(str(SETTINGS))
    context.set_partitioning_parameters(n_parts, balance, mtkahypar.Objective.KM1)
    context.logging = False
    joined = [part for part in sets if len(part) > 1]  # a set of one row cannot be split
    graph = start.create_hypergraph(context, n_rows, len(joined), joined)
    return np.asarray(graph.partition(context).get_partition())
