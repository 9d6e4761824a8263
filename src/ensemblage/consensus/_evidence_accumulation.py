"""Hierarchical clustering of rows by how often they fall together."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy
from sklearn.utils._param_validation import Interval, StrOptions

from ensemblage._core import expect_fitted, set_module, with_shared
from ensemblage.consensus._base import CONSENSUS_DOCS, ConsensusClusterer
from ensemblage.consensus._partitions import condensed_distances, cut_by_order, guard_memory

Codes = NDArray[np.int32]


BYTES_PER_PAIR = 16


@set_module("ensemblage.consensus")
@with_shared(CONSENSUS_DOCS)
class EvidenceAccumulation(ConsensusClusterer):
    r"""Hierarchical clustering of rows by how often they share a cluster.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters; if None, it is chosen, see :class:`ConsensusClusterer`.
    linkage : {"average", "single", "complete"}, default="average"
        How far apart two groups of rows are: by the mean, the nearest or the farthest pair.
    {clusterers, n_partitions}
    memory_limit : float, default=4e9
        Bytes that the pairs of rows may take; more raises before they are formed.
    {n_jobs}
    random_state : int, RandomState instance or None, default=None
        Determines the clones' seeds.

    Attributes
    ----------
    {labels_, n_clusters_}
    linkage_matrix_ : ndarray of shape (n_sampled - 1, 4)
        The dendrogram, as SciPy writes it, of the rows that a partition sampled.
    {partitions_, n_features_in_, feature_names_in_}

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

    def _check_fitted(self) -> None:
        """Refuse merges that no fit makes."""
        super()._check_fitted()
        merges = len(self.labels_) - 1
        expect_fitted(self, {"linkage_matrix_": "float (merges, 4) 0.."}, merges=merges)

    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        self._guard_rows(partitions.shape[1])
        if partitions.shape[1] == 1:
            self.linkage_matrix_ = np.empty((0, 4))
            return np.zeros(1, np.int32)
        method: Any = self.linkage
        merges = hierarchy.linkage(condensed_distances(partitions), method)
        self.linkage_matrix_ = merges
        return cut_by_order(merges, n_clusters)
