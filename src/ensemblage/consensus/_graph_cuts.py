"""Consensus by cutting a graph of rows: CSPA and HBGF."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval

from ensemblage.consensus._base import CONSENSUS_DOCS, CUT_CONSTRAINTS, ConsensusClusterer
from ensemblage.consensus._co_association import co_association, guard_memory
from ensemblage.consensus._metis import USUAL_BALANCE, cut_graph
from ensemblage.consensus._partitions import Partitions, indicators
from ensemblage.consensus._pieces import best_cut, cut_freely, sample_rows, spread_parts
from ensemblage.messages import with_shared

BYTES_PER_PAIR = 40
CUT_ROWS = 20_000
LEAST_PAIRS_SHARE = 64


@with_shared(CONSENSUS_DOCS)
class CSPA(ConsensusClusterer):
    r"""Cluster-based similarity partitioning: cut the graph of co-association.

    Rows are vertices; the weight between two is the share of the partitions that put them in
    one cluster. METIS cuts this graph.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters; if None, it is chosen, see :class:`ConsensusClusterer`.
    {clusterers, n_partitions, balance, n_cuts}
    memory_limit : float, default=4e9
        Bytes that the graph may take; more raises before it is built.
    {n_jobs, random_state}

    Attributes
    ----------
    {labels_, n_clusters_, partitions_, n_features_in_, feature_names_in_}

    See Also
    --------
    MCLA : Memory grows with the number of rows only.
    HBGF : Memory grows with the number of rows only.

    Notes
    -----
    The similarity is :math:`(H H^\top)_{ij}` over the number of partitions that sampled both
    rows, with :math:`H` the rows-by-clusters indicators. The diagonal is left out: a vertex's
    edge to itself says nothing about where to cut.

    METIS cuts parts of about equal size. Without ``balance``, it cuts four times as many pieces
    as clusters are wanted; each row goes to the piece whose clusters are most like its own, the
    most similar pieces are merged, and the rows move once more. Of ``n_cuts`` such results the
    one that shares most information with the partitions is kept.

    References
    ----------
    A. Strehl, J. Ghosh. Cluster Ensembles: A Knowledge Reuse Framework for Combining Multiple
    Partitions. JMLR 3, 2002.

    Examples
    --------
    >>> from ensemblage.consensus import CSPA
    >>> partitions = [[0, 0, 0, 1, 1, 1], [5, 5, 5, 2, 2, 2], [0, 0, 1, 1, 1, 1]]
    >>> CSPA(n_clusters=2, random_state=0).fit_partitions(partitions).n_clusters_
    2
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  as scikit-learn declares it
        **ConsensusClusterer._parameter_constraints,  # noqa: SLF001
        **CUT_CONSTRAINTS,
        "memory_limit": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        clusterers: Any = None,
        n_partitions: int = 20,
        balance: float | None = None,
        n_cuts: int = 3,
        memory_limit: float = 4e9,
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
        self.memory_limit = memory_limit

    def _guard_rows(self, n_rows: int) -> None:
        # the partitions are not known yet; clusters as many as these would make few pairs
        n_bytes = BYTES_PER_PAIR * float(n_rows) ** 2 / LEAST_PAIRS_SHARE
        guard_memory(n_bytes, self.memory_limit, n_rows, "CSPA")

    def _consensus(self, partitions: Partitions, n_clusters: int, seed: int) -> NDArray[Any]:
        n_rows = partitions.shape[1]
        sizes = indicators(partitions).sum(axis=0).astype(np.float64)
        n_pairs = min(float(np.square(sizes).sum()), float(n_rows) ** 2)
        guard_memory(BYTES_PER_PAIR * n_pairs, self.memory_limit, n_rows, "CSPA")
        similarity = co_association(partitions).tocoo()
        weight = np.rint(similarity.data * 1000).astype(np.int64)
        kept = (similarity.row != similarity.col) & (weight > 0)
        ends = similarity.row[kept], similarity.col[kept]
        graph = sparse.csr_array((weight[kept], ends), shape=similarity.shape)

        def cut(n_parts: int, cut_seed: int) -> NDArray[Any]:
            return cut_graph(graph, n_parts, cut_seed, "CSPA", self.balance or USUAL_BALANCE)

        search = cut_freely if self.balance is None else best_cut
        return search(cut, partitions, n_clusters, seed, self.n_cuts)


@with_shared(CONSENSUS_DOCS)
class HBGF(ConsensusClusterer):
    r"""Hybrid bipartite graph formulation: cut rows and clusters together.

    Rows and clusters of all partitions are vertices, with an edge from each row to each
    cluster that it is in. METIS cuts this graph; rows and clusters of one part belong
    together. No pair of rows is ever formed.

    Parameters
    ----------
    {n_clusters, clusterers, n_partitions, balance, n_cuts, n_jobs, random_state}

    Attributes
    ----------
    {labels_, n_clusters_, partitions_, n_features_in_, feature_names_in_}

    See Also
    --------
    MCLA : Cuts a graph of clusters alone; faster still.

    Notes
    -----
    The graph is :math:`\begin{pmatrix} 0 & H \\ H^\top & 0 \end{pmatrix}` with :math:`H` the
    rows-by-clusters indicators. Rows and clusters alike weigh one where METIS balances parts;
    what is done without ``balance`` is said at :class:`CSPA`. Of more than 20,000 rows, a sample
    of as many is cut, and every row goes to the part whose rows' clusters are most like its own.

    References
    ----------
    X. Z. Fern, C. E. Brodley. Solving Cluster Ensemble Problems by Bipartite Graph
    Partitioning. ICML 2004.

    Examples
    --------
    >>> from ensemblage.consensus import HBGF
    >>> partitions = [[0, 0, 0, 1, 1, 1], [5, 5, 5, 2, 2, 2], [0, 0, 1, 1, 1, 1]]
    >>> HBGF(n_clusters=2, random_state=0).fit_partitions(partitions).n_clusters_
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
        graph = bipartite(indicators(sampled, np.int32))

        def cut(n_wanted: int, cut_seed: int) -> NDArray[Any]:
            balance = self.balance or USUAL_BALANCE
            return cut_graph(graph, n_wanted, cut_seed, "HBGF", balance)[: sampled.shape[1]]

        search = cut_freely if self.balance is None else best_cut
        parts = search(cut, sampled, n_clusters, seed, self.n_cuts)
        return spread_parts(partitions, sampled, parts)


def bipartite(members: sparse.csr_array) -> sparse.csr_array:
    """Graph with an edge from each row to each cluster that it is in; rows first, then clusters."""
    n_rows, n_sets = members.shape
    back = sparse.csr_array(members.T)
    return sparse.csr_array(
        (
            np.concatenate([members.data, back.data]),
            np.concatenate([members.indices + n_rows, back.indices]),
            np.concatenate([members.indptr, members.nnz + back.indptr[1:]]),
        ),
        shape=(n_rows + n_sets, n_rows + n_sets),
    )
