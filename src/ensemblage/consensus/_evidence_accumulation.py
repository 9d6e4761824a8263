"""Consensus by linkage of co-association: evidence accumulation."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from sklearn.utils._param_validation import Interval, StrOptions

from ensemblage.consensus._base import ConsensusClusterer
from ensemblage.consensus._co_association import condensed_distances, guard_memory
from ensemblage.consensus._cut import cut_by_order, largest_lifetime
from ensemblage.consensus._partitions import Partitions

BYTES_PER_PAIR = 16


class EvidenceAccumulation(ConsensusClusterer):
    r"""Hierarchical clustering of rows by how often they share a cluster.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters; if None, the number with the largest lifetime in the dendrogram.
    linkage : {"average", "single", "complete"}, default="average"
        How far apart two groups of rows are: by the mean, the nearest or the farthest pair.
    clusterers : clusterer or sequence of clusterers, default=None
        What ``fit`` asks for partitions. One clusterer is cloned ``n_partitions`` times with
        seeds of their own; in a sequence, fitted ones predict and others are cloned and
        fitted. By default K-means from random rows.
    n_partitions : int, default=20
        How often a single clusterer is cloned.
    memory_limit : float, default=4e9
        Bytes that the pairs of rows may take; more raises before they are formed.
    n_jobs : int, default=None
        Clusterers fitted at once, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Determines the clones' seeds.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The consensus; -1 for a row that no partition sampled.
    n_clusters_ : int
        Number of clusters found.
    linkage_matrix_ : ndarray of shape (n_sampled - 1, 4)
        The dendrogram, as SciPy writes it, of the rows that a partition sampled.
    partitions_ : ndarray of shape (n_partitions, n_samples)
        What was combined, clusters numbered from 0.
    n_features_in_ : int
        Number of features seen in ``fit``; not set by ``fit_partitions``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if ``fit`` saw strings.

    See Also
    --------
    MCLA : Memory grows with the number of rows only.

    Notes
    -----
    The distance of two rows is one minus the share of the partitions, among those that
    sampled both, that put them in one cluster. Many of these distances are equal, so the tree
    is cut by the order of its merges, not at a height.

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
        **ConsensusClusterer._parameter_constraints,  # noqa: SLF001
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

    def _guard_rows(self, n_rows: int) -> None:
        n_bytes = BYTES_PER_PAIR * float(n_rows) ** 2
        guard_memory(n_bytes, self.memory_limit, n_rows, "EvidenceAccumulation")

    def _consensus(self, partitions: Partitions, seed: int) -> NDArray[Any]:
        self._guard_rows(partitions.shape[1])
        if partitions.shape[1] == 1:
            self.linkage_matrix_ = np.empty((0, 4))
            return np.zeros(1, np.int32)
        method: Any = self.linkage
        merges = hierarchy.linkage(condensed_distances(partitions), method)
        self.linkage_matrix_ = merges
        wanted = self.n_clusters or largest_lifetime(merges)
        return cut_by_order(merges, min(wanted, partitions.shape[1]))
