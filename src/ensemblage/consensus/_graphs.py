"""Consensus by cuts of graphs and hypergraphs: CSPA, MCLA, HBGF, HGPA."""

from __future__ import annotations

from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval

from ensemblage._core import require, set_module, with_shared
from ensemblage.consensus._base import CONSENSUS_DOCS, CUT_CONSTRAINTS, ConsensusClusterer
from ensemblage.consensus._partitions import (
    NOT_SAMPLED,
    best_cut,
    co_association,
    cut_freely,
    guard_memory,
    indicators,
    sample_rows,
    spread_parts,
)

Codes = NDArray[np.int32]


METIS_BALANCE = 0.03
"""METIS's own: parts at most 3 % larger than the mean."""


def cut_graph(
    graph: sparse.csr_array, n_parts: int, seed: int, method: str, balance: float = METIS_BALANCE
) -> NDArray[Any]:
    """Cut a graph into parts of about equal size, with little weight across.

    It is symmetric, with whole positive weights and nothing on the diagonal; ``method`` is who
    asks, for the message if METIS is missing. No part is larger than the mean by more than
    ``balance``, relatively.
    """
    pymetis = require("pymetis", method, extra="consensus")
    if n_parts == 1:
        return np.zeros(graph.shape[0], np.int32)
    dtype = pymetis.zero_copy_dtype()
    found = pymetis.part_graph(
        n_parts,
        pymetis.CSRAdjacency(graph.indptr.astype(dtype), graph.indices.astype(dtype)),
        eweights=graph.data.astype(dtype),
        options=pymetis.Options(seed=seed % (2**31 - 1), ufactor=max(1, round(1000 * balance))),
    )
    return np.asarray(found.vertex_part)


BYTES_PER_PAIR = 40
CUT_ROWS = 20_000
LEAST_PAIRS_SHARE = 64


@set_module("ensemblage.consensus")
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

    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
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
            return cut_graph(graph, n_parts, cut_seed, "CSPA", self.balance or METIS_BALANCE)

        search = cut_freely if self.balance is None else best_cut
        return search(cut, partitions, n_clusters, seed, self.n_cuts)


@set_module("ensemblage.consensus")
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

    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        sampled = sample_rows(partitions, CUT_ROWS, seed)
        graph = bipartite(indicators(sampled, np.int32))

        def cut(n_wanted: int, cut_seed: int) -> NDArray[Any]:
            balance = self.balance or METIS_BALANCE
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


@set_module("ensemblage.consensus")
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

    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        overlap = cluster_overlap(partitions)
        group = cut_graph(overlap, min(n_clusters, overlap.shape[0]), seed, "MCLA")
        return choose_group(partitions, group)


def cluster_overlap(partitions: Codes) -> sparse.csr_array:
    """Jaccard overlap of the clusters of all partitions, in thousandths.

    Of shape (n_all_clusters, n_all_clusters), with nothing on the diagonal.
    """
    members = indicators(partitions)
    shared = (members.T @ members).toarray().astype(np.float64)
    sizes = np.diag(shared)
    overlap = np.rint(1000 * shared / (sizes[:, None] + sizes - shared)).astype(np.int64)
    np.fill_diagonal(overlap, 0)
    return sparse.csr_array(overlap)


def choose_group(partitions: Codes, group: NDArray[Any]) -> NDArray[Any]:
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


HYPERGRAPH_BALANCE = 0.05
HYPERGRAPH_CUT_ROWS = 2_000
SETTINGS = Path(__file__).with_name("hypergraph_cuts.ini")


@set_module("ensemblage.consensus")
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

    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        sampled = sample_rows(partitions, HYPERGRAPH_CUT_ROWS, seed)
        members = sparse.csc_array(indicators(sampled))
        sets = [part.tolist() for part in np.split(members.indices, members.indptr[1:-1])]
        balance = HYPERGRAPH_BALANCE if self.balance is None else self.balance

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
    sets: list[list[int]], n_rows: int, n_parts: int, seed: int, balance: float = HYPERGRAPH_BALANCE
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
