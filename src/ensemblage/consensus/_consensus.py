"""Consensus clustering: combine partitions into one, by five algorithms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster import hierarchy
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from ensemblage._core import (
    DocLinkMixin,
    HasMethods,
    Interval,
    StrOptions,
    draw_seeds,
    expect,
    expect_fitted,
    guarded_fit,
    require,
    set_module,
    validate_numbers,
    with_shared,
)
from ensemblage.consensus._partitions import (
    NOT_SAMPLED,
    Cut,
    assign_to_parts,
    best_cut,
    check_lengths,
    check_memory,
    check_partitions,
    co_association,
    condensed_distances,
    count_clusters,
    cut_and_merge,
    cut_by_order,
    indicators,
    make_partitions,
    sample_rows,
)
from ensemblage.consensus._stability import stability_curve

Codes = NDArray[np.int32]

# Bytes per pair of rows in condensed distances.
LINKAGE_BYTES = 16
# Bytes per pair of rows in a co-association graph.
GRAPH_BYTES = 40
# Before the partitions are known, at least 1 / 64 of the pairs are assumed to share a cluster.
MAX_CLUSTERS_ASSUMED = 64
# Largest relative excess of a part's size over the mean; the default of METIS.
METIS_BALANCE = 0.03
# The same for Mt-KaHyPar.
HYPERGRAPH_BALANCE = 0.05
# With more rows, HBGF partitions a random sample of this size.
GRAPH_ROWS = 20_000
# With more rows, HGPA partitions a random sample of this size.
HYPERGRAPH_ROWS = 2_000
HYPERGRAPH_SETTINGS = Path(__file__).with_name("hypergraph_cuts.ini")

CONSENSUS_DOCS = """
n_clusters : int, default=None
    Number of clusters. If None and no clusterers are given, :func:`stability_curve` chooses it;
    otherwise it is the number of clusters with the longest lifetime in average linkage of the
    partitions, counting clusters of at least 2 % of the rows.
clusterers : clusterer or sequence of clusterers, default=None
    Base clusterers. A single clusterer is cloned ``n_partitions`` times with different seeds. In
    a sequence, fitted clusterers predict, and the others are cloned and fitted. By default
    K-means with random initialisation.
n_partitions : int, default=20
    Number of clones of a single clusterer.
balance : float, default=None
    Largest relative excess of a cluster's size over the mean, such as 0.05. If None, clusters
    may have any size.
n_cuts : int, default=3
    Number of cuts with different seeds; the one with the highest mean NMI with the partitions
    is kept.
memory_limit : float, default=4e9
    Most bytes for pairs of rows; if more are needed, ``MemoryError`` is raised before allocation.
n_jobs : int, default=None
    Number of clusterers fitted in parallel, as in joblib.
random_state : int, RandomState instance or None, default=None
    Determines the seeds of the clones and of the graph partitioner.
labels_ : ndarray of shape (n_samples,)
    Consensus labels; -1 for a row that no partition sampled.
n_clusters_ : int
    Number of clusters found.
partitions_ : ndarray of shape (n_partitions, n_samples)
    The combined partitions, with clusters numbered from 0.
n_features_in_ : int
    Number of features seen in ``fit``; not set by ``fit_partitions``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if all feature names are strings.
"""


def _rescale_extreme(X: NDArray[Any]) -> NDArray[Any]:
    """Scale values whose squares under- or overflow by a power of two; K-means is invariant."""
    exponent = int(np.frexp(np.abs(X).max())[1])
    usual = np.finfo(X.dtype).maxexp // 4
    return X if abs(exponent) < usual else np.ldexp(X, -exponent)


class BaseConsensus(ClusterMixin, DocLinkMixin, BaseEstimator, ABC):
    """Base class: compute or accept partitions, and combine them by ``_consensus``."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  as scikit-learn declares it
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "clusterers": [HasMethods(["fit_predict"]), list, tuple, None],
        "n_partitions": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        clusterers: Any = None,
        n_partitions: int = 20,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.clusterers = clusterers
        self.n_partitions = n_partitions
        self.n_jobs = n_jobs
        self.random_state = random_state

    @guarded_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the base clusterers and combine their partitions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        X = validate_numbers(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        if self.clusterers is None:
            X = _rescale_extreme(X)
        self._check_n_rows(len(X))
        member_seed, seed = draw_seeds(self.random_state, 2)
        wanted = self.n_clusters
        if wanted is None and self.clusterers is None:
            wanted = stability_curve(X, n_jobs=self.n_jobs, random_state=seed).best_n_clusters
        members = self.clusterers
        if not isinstance(members, (list, tuple)):
            plain = KMeans(wanted, init="random", n_init=1)
            members = [plain if members is None else members] * self.n_partitions
        partitions = make_partitions(members, X, member_seed, self.n_jobs)
        if partitions.shape[1] != len(X):
            raise ValueError(
                f"A fitted clusterer has labels of {partitions.shape[1]} rows, X has {len(X)}. "
                "A clusterer without `predict` must have been fitted on the same X."
            )
        return self._combine(partitions, wanted, seed)

    def fit_partitions(self, partitions: Any) -> Self:
        """Combine partitions given as label arrays.

        Parameters
        ----------
        partitions : array-like of shape (n_partitions, n_samples)
            Cluster of each row in each partition, as integers or text; -1, or None among text,
            where a partition did not sample the row. A row that no partition sampled gets the
            label -1.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._check_n_rows(len(check_lengths(partitions)[0]))
        partitions = check_partitions(partitions)
        return self._combine(partitions, self.n_clusters, draw_seeds(self.random_state, 2)[1])

    def _check_n_rows(self, n_rows: int) -> None:
        """Raise on too many clusters, or rows, before any clusterer is fitted."""
        if self.n_clusters is not None and self.n_clusters > n_rows:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the n_samples={n_rows} given. "
                "Use fewer clusters or more rows."
            )

    def _combine(self, partitions: Codes, wanted: int | None, seed: int) -> Self:
        seen = (partitions != NOT_SAMPLED).any(axis=0)
        sampled = partitions[:, seen]
        labels = np.full(len(seen), NOT_SAMPLED, np.int32)
        # at most the number of rows that were sampled
        wanted = min(wanted or count_clusters(sampled, seed), sampled.shape[1])
        found = self._consensus(sampled, wanted, seed)
        labels[seen] = np.unique(found, return_inverse=True)[1]
        self.partitions_ = partitions
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        return self

    @abstractmethod
    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        """Labels of rows that at least one partition sampled."""

    def _check_fitted(self) -> None:
        partitions = "integer (partitions, rows) -1.."
        expect_fitted(
            self,
            {"n_clusters_": "count", "partitions_": partitions, "labels_": "integer (rows) -1.."},
        )
        expect(
            int(self.labels_.max()) + 1 == self.n_clusters_,
            "n_clusters_ differs from the number of labels",
        )


@set_module("ensemblage.consensus")
@with_shared(CONSENSUS_DOCS)
class EvidenceAccumulation(BaseConsensus):
    r"""Evidence accumulation: hierarchical clustering of the co-association matrix.

    Parameters
    ----------
    {n_clusters}
    linkage : {"average", "single", "complete"}, default="average"
        Linkage criterion: mean, smallest or largest distance between rows of two groups.
    {clusterers, n_partitions, memory_limit, n_jobs}
    random_state : int, RandomState instance or None, default=None
        Determines the seeds of the clones.

    Attributes
    ----------
    {labels_, n_clusters_}
    linkage_matrix_ : ndarray of shape (n_sampled - 1, 4)
        Dendrogram in SciPy's format, of the rows sampled by at least one partition.
    {partitions_, n_features_in_, feature_names_in_}

    See Also
    --------
    MCLA : Memory linear in the number of rows.

    Notes
    -----
    The distance of two rows is one minus the fraction of the partitions that put them in one
    cluster, among those that sampled both. Many distances are tied, so the dendrogram is cut by
    the order of its merges, not at a height.

    Scaling a single column changes the distances of k-means; standardise columns of different
    units. Random draws are by position: another order of rows may give other partitions.

    References
    ----------
    A. L. N. Fred, A. K. Jain. Combining Multiple Clusterings Using Evidence Accumulation.
    IEEE TPAMI 27, 2005.

    Examples
    --------
    >>> from ensemblage.consensus import EvidenceAccumulation
    >>> partitions = [[0, 0, 0, 1, 1, 1], [5, 5, 5, 2, 2, 2], [0, 0, 1, 1, 1, 1]]
    >>> EvidenceAccumulation().fit_partitions(partitions).labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  as scikit-learn declares it
        **BaseConsensus._parameter_constraints,  # noqa: SLF001
        "linkage": [StrOptions({"average", "single", "complete"})],
        "memory_limit": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        linkage: str = "average",
        clusterers: Any = None,
        n_partitions: int = 20,
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
        self.linkage = linkage
        self.memory_limit = memory_limit

    def _check_n_rows(self, n_rows: int) -> None:
        super()._check_n_rows(n_rows)
        n_bytes = LINKAGE_BYTES * float(n_rows) ** 2
        check_memory(n_bytes, self.memory_limit, n_rows, "EvidenceAccumulation")

    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        if partitions.shape[1] == 1:
            self.linkage_matrix_ = np.empty((0, 4))
            return np.zeros(1, np.int32)
        method: Any = self.linkage
        self.linkage_matrix_ = hierarchy.linkage(condensed_distances(partitions), method)
        return cut_by_order(self.linkage_matrix_, n_clusters)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        merges = len(self.labels_) - 1
        expect_fitted(self, {"linkage_matrix_": "float (merges, 4) 0.."}, merges=merges)


def cut_graph(
    graph: sparse.csr_array, n_parts: int, seed: int, method: str, balance: float = METIS_BALANCE
) -> NDArray[Any]:
    """Partition a graph by METIS into parts of about equal size with minimum edge cut.

    The graph is symmetric, with positive integer weights and an empty diagonal; ``method`` is named
    in the error if METIS is not installed. No part exceeds the mean size by more than the fraction
    ``balance``.
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


class BaseCut(BaseConsensus):
    """Base class: partition a graph several times, with or without balanced sizes."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  as scikit-learn declares it
        **BaseConsensus._parameter_constraints,  # noqa: SLF001
        "balance": [Interval(Real, 0, None, closed="neither"), None],
        "n_cuts": [Interval(Integral, 1, None, closed="left")],
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

    def _best_cut(self, cut: Cut, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        search = cut_and_merge if self.balance is None else best_cut
        return search(cut, partitions, n_clusters, seed, self.n_cuts)


@set_module("ensemblage.consensus")
@with_shared(CONSENSUS_DOCS)
class CSPA(BaseCut):
    r"""Cluster-based similarity partitioning: partition the co-association graph.

    Rows are vertices; the weight of an edge is the fraction of the partitions that put both rows
    in one cluster. METIS partitions this graph.

    Parameters
    ----------
    {n_clusters, clusterers, n_partitions, balance, n_cuts, memory_limit, n_jobs, random_state}

    Attributes
    ----------
    {labels_, n_clusters_, partitions_, n_features_in_, feature_names_in_}

    See Also
    --------
    MCLA : Memory linear in the number of rows.
    HBGF : Memory linear in the number of rows.

    Notes
    -----
    The similarity is :math:`(H H^\top)_{ij}` over the number of partitions that sampled both
    rows, with :math:`H` the rows-by-clusters indicator matrix. The diagonal is omitted, as
    self-loops do not affect a cut.

    METIS produces parts of about equal size. Without ``balance``, it produces four times
    ``n_clusters`` parts; each row is reassigned to the part with the most similar cluster profile,
    the most similar parts are merged, and the rows are reassigned once more. Of ``n_cuts`` such
    results, the one with the highest mean NMI with the partitions is kept.

    Scaling a single column changes the distances of k-means; standardise columns of different
    units. Random draws are by position: another order of rows may give other partitions.

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
        **BaseCut._parameter_constraints,  # noqa: SLF001
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
            balance=balance,
            n_cuts=n_cuts,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.memory_limit = memory_limit

    def _check_n_rows(self, n_rows: int) -> None:
        super()._check_n_rows(n_rows)
        # the partitions are not known yet: a lower bound on the pairs that share a cluster
        n_bytes = GRAPH_BYTES * float(n_rows) ** 2 / MAX_CLUSTERS_ASSUMED
        check_memory(n_bytes, self.memory_limit, n_rows, "CSPA")

    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        n_rows = partitions.shape[1]
        sizes = indicators(partitions).sum(axis=0).astype(np.float64)
        n_pairs = min(float(np.square(sizes).sum()), float(n_rows) ** 2)
        check_memory(GRAPH_BYTES * n_pairs, self.memory_limit, n_rows, "CSPA")
        similarity = co_association(partitions).tocoo()
        weight = np.rint(similarity.data * 1000).astype(np.int64)
        kept = (similarity.row != similarity.col) & (weight > 0)
        ends = similarity.row[kept], similarity.col[kept]
        graph = sparse.csr_array((weight[kept], ends), shape=similarity.shape)

        def cut(n_parts: int, cut_seed: int) -> NDArray[Any]:
            return cut_graph(graph, n_parts, cut_seed, "CSPA", self.balance or METIS_BALANCE)

        return self._best_cut(cut, partitions, n_clusters, seed)


@set_module("ensemblage.consensus")
@with_shared(CONSENSUS_DOCS)
class HBGF(BaseCut):
    r"""Hybrid bipartite graph formulation: partition rows and clusters together.

    Rows and clusters of all partitions are vertices, with an edge from each row to each
    cluster that it is in. METIS partitions this graph into parts of rows and clusters. Memory
    does not grow with the pairs of rows.

    Parameters
    ----------
    {n_clusters, clusterers, n_partitions, balance, n_cuts, n_jobs, random_state}

    Attributes
    ----------
    {labels_, n_clusters_, partitions_, n_features_in_, feature_names_in_}

    See Also
    --------
    MCLA : Partitions a graph of clusters only; faster.

    Notes
    -----
    The graph is :math:`\begin{pmatrix} 0 & H \\ H^\top & 0 \end{pmatrix}` with :math:`H` the
    rows-by-clusters indicator matrix. All vertices have weight one where METIS balances parts;
    without ``balance`` see :class:`CSPA`. With more than 20,000 rows, a random sample of that size
    is partitioned, and each row is assigned to the part with the most similar cluster profile.

    Scaling a single column changes the distances of k-means; standardise columns of different
    units. Random draws are by position: another order of rows may give other partitions.

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

    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        sampled = sample_rows(partitions, GRAPH_ROWS, seed)
        members = indicators(sampled, np.int32)
        blocks: Any = [[None, members], [members.T, None]]
        graph = sparse.csr_array(sparse.block_array(blocks))

        def cut(n_parts: int, cut_seed: int) -> NDArray[Any]:
            balance = self.balance or METIS_BALANCE
            return cut_graph(graph, n_parts, cut_seed, "HBGF", balance)[: sampled.shape[1]]

        parts = self._best_cut(cut, sampled, n_clusters, seed)
        return assign_to_parts(partitions, sampled, parts)


def cluster_overlap(partitions: Codes) -> sparse.csr_array:
    """Jaccard index of the clusters of all partitions, in thousandths.

    Of shape (n_all_clusters, n_all_clusters), with an empty diagonal.
    """
    members = indicators(partitions)
    shared = (members.T @ members).toarray().astype(np.float64)
    sizes = np.diag(shared)
    overlap = np.rint(1000 * shared / (sizes[:, None] + sizes - shared)).astype(np.int64)
    np.fill_diagonal(overlap, 0)
    return sparse.csr_array(overlap)


def assign_to_meta_clusters(partitions: Codes, group: NDArray[Any]) -> NDArray[Any]:
    """Assign each row to the meta-cluster (group of clusters) with the highest association."""
    share = 1.0 / np.maximum(np.bincount(group), 1)
    association = np.zeros((len(share), partitions.shape[1]))
    columns = np.arange(partitions.shape[1])
    start = 0
    for labels in partitions:
        n_clusters = int(labels.max()) + 1
        seen = labels != NOT_SAMPLED
        chosen = group[start : start + n_clusters][labels[seen]]
        association[chosen, columns[seen]] += share[chosen]
        start += n_clusters
    return np.asarray(association.argmax(axis=0))


@set_module("ensemblage.consensus")
@with_shared(CONSENSUS_DOCS)
class MCLA(BaseConsensus):
    r"""Meta-clustering: cluster the clusters of all partitions, then assign rows to meta-clusters.

    Clusters are vertices of a graph, with their Jaccard index as edge weights. METIS partitions
    it into ``n_clusters`` meta-clusters; a row is assigned to the one with the highest
    association.

    Parameters
    ----------
    {n_clusters, clusterers, n_partitions, n_jobs, random_state}

    Attributes
    ----------
    {labels_}
    n_clusters_ : int
        Number of clusters found; less than ``n_clusters`` if a meta-cluster gets no row.
    {partitions_, n_features_in_, feature_names_in_}

    See Also
    --------
    HBGF : Partitions a graph of rows and clusters.

    Notes
    -----
    The Jaccard index of clusters a and b is :math:`|a \cap b| / |a \cup b|`. A row's association
    with a meta-cluster is the fraction of its clusters that contain the row; ties go to the lower
    index.

    Scaling a single column changes the distances of k-means; standardise columns of different
    units. Random draws are by position: another order of rows may give other partitions.

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
        return assign_to_meta_clusters(partitions, group)


@cache
def _partitioner() -> tuple[Any, Any]:
    # Mt-KaHyPar can be initialised once per process; one thread makes its cuts deterministic
    mtkahypar = require("mtkahypar", "HGPA", extra="consensus")
    return mtkahypar, mtkahypar.initialize(1)


def cut_hypergraph(
    edges: list[list[int]],
    n_rows: int,
    n_parts: int,
    seed: int,
    balance: float = HYPERGRAPH_BALANCE,
) -> NDArray[Any]:
    """Partition rows into parts of about equal size that cut few hyperedges (lists of rows)."""
    mtkahypar, start = _partitioner()
    if n_parts == 1:
        return np.zeros(n_rows, np.int32)
    mtkahypar.set_seed(seed % (2**31 - 1))
    context = start.context_from_file(str(HYPERGRAPH_SETTINGS))
    context.set_partitioning_parameters(n_parts, balance, mtkahypar.Objective.KM1)
    context.logging = False
    kept = [edge for edge in edges if len(edge) > 1]  # an edge of one row cannot be cut
    graph = start.create_hypergraph(context, n_rows, len(kept), kept)
    return np.asarray(graph.partition(context).get_partition())


@set_module("ensemblage.consensus")
@with_shared(CONSENSUS_DOCS)
class HGPA(BaseCut):
    r"""Hypergraph partitioning: cut as few clusters as possible.

    Rows are vertices and each cluster of each partition is a hyperedge. Mt-KaHyPar
    partitions the rows so that few hyperedges are cut.

    Parameters
    ----------
    {n_clusters, clusterers, n_partitions, balance, n_cuts, n_jobs, random_state}

    Attributes
    ----------
    {labels_, n_clusters_, partitions_, n_features_in_, feature_names_in_}

    See Also
    --------
    HBGF : The same rows and clusters as a bipartite graph; usually more accurate.

    Notes
    -----
    Minimises :math:`\sum_c (\lambda_c - 1)`, where :math:`\lambda_c` is the number of parts
    that contain rows of cluster c, with parts of about equal size; without ``balance`` see
    :class:`CSPA`. One misassigned row cuts a cluster as much as half of its rows do, so other
    methods suit noisy partitions better. With more than 2,000 rows, a random sample of that size
    is partitioned, and each row is assigned to the part with the most similar cluster profile.

    Scaling a single column changes the distances of k-means; standardise columns of different
    units. Random draws are by position: another order of rows may give other partitions.

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

    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        sampled = sample_rows(partitions, HYPERGRAPH_ROWS, seed)
        members = sparse.csc_array(indicators(sampled))
        edges = [part.tolist() for part in np.split(members.indices, members.indptr[1:-1])]
        balance = HYPERGRAPH_BALANCE if self.balance is None else self.balance

        def cut(n_parts: int, cut_seed: int) -> NDArray[Any]:
            return cut_hypergraph(edges, sampled.shape[1], n_parts, cut_seed, balance)

        parts = self._best_cut(cut, sampled, n_clusters, seed)
        return assign_to_parts(partitions, sampled, parts)
