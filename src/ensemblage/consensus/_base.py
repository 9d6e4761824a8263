"""What consensus clusterings share: partitions in, one partition out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils._param_validation import HasMethods, Interval

from ensemblage._core import (
    DocLinkMixin,
    draw_seeds,
    expect,
    expect_fitted,
    guarded_fit,
    set_module,
    validate_numbers,
    with_shared,
)
from ensemblage.consensus._partitions import (
    NOT_SAMPLED,
    check_lengths,
    check_partitions,
    count_clusters,
    make_partitions,
)
from ensemblage.consensus._stability import stability_curve

Codes = NDArray[np.int32]


CONSENSUS_DOCS = """
n_clusters : int, default=None
    Number of clusters; if None, it is chosen, see :class:`ConsensusClusterer`.
clusterers : clusterer or sequence of clusterers, default=None
    What ``fit`` asks for partitions. One clusterer is cloned ``n_partitions`` times with
    seeds of their own; in a sequence, fitted ones predict and others are cloned and
    fitted. By default K-means from random rows.
n_partitions : int, default=20
    How often a single clusterer is cloned.
balance : float, default=None
    How much larger than the mean a part may be, relatively, such as 0.05. If None, clusters
    may be of any size.
n_cuts : int, default=3
    Cuts with seeds of their own, of which the one that shares most information with the
    partitions is kept.
n_jobs : int, default=None
    Clusterers fitted at once, as in joblib.
random_state : int, RandomState instance or None, default=None
    Determines the clones' seeds and the partitioner's.
labels_ : ndarray of shape (n_samples,)
    The consensus; -1 for a row that no partition sampled.
n_clusters_ : int
    Number of clusters found.
partitions_ : ndarray of shape (n_partitions, n_samples)
    What was combined, clusters numbered from 0.
n_features_in_ : int
    Number of features seen in ``fit``; not set by ``fit_partitions``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if ``fit`` saw strings.
"""

CUT_CONSTRAINTS: dict[str, list[Any]] = {
    "balance": [Interval(Real, 0, None, closed="neither"), None],
    "n_cuts": [Interval(Integral, 1, None, closed="left")],
}


@set_module("ensemblage.consensus")
@with_shared(CONSENSUS_DOCS)
class ConsensusClusterer(ClusterMixin, DocLinkMixin, BaseEstimator, ABC):
    """Base of the consensus clusterers: one clustering out of many.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters. If None and no clusterers are given, the number that
        :func:`stability_curve` finds in the data; else the number of clusters, of at least a
        fiftieth of the rows, that lives longest in average linkage of the partitions.
    clusterers : clusterer or sequence of clusterers, default=None
        What ``fit`` asks for partitions; see there.
    {n_partitions, n_jobs, random_state}
    """

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
    def fit(self, X: Any, y: Any = None) -> ConsensusClusterer:
        """Cluster the rows many times, then combine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : None
            Ignored.

        Returns
        -------
        ConsensusClusterer
            The fitted estimator.
        """
        self._validate_params()
        X = validate_numbers(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        if self.clusterers is None:
            X = _in_usual_units(X)
        self._check_n_clusters(len(X))
        self._guard_rows(len(X))
        member_seed, seed = draw_seeds(self.random_state, 2)
        wanted = self.n_clusters
        if wanted is None and self.clusterers is None:
            wanted = stability_curve(X, n_jobs=self.n_jobs, random_state=seed).best_n_clusters
        partitions = make_partitions(self._members(wanted), X, member_seed, self.n_jobs)
        if partitions.shape[1] != len(X):
            raise ValueError(
                f"A fitted clusterer has labels of {partitions.shape[1]} rows, X has {len(X)}. "
                "One that cannot predict must have been fitted on the same X."
            )
        return self._combine(partitions, wanted, seed)

    def fit_partitions(self, partitions: Any) -> ConsensusClusterer:
        """Combine label arrays.

        Parameters
        ----------
        partitions : array-like of shape (n_partitions, n_samples)
            Cluster of each row in each partition, as whole numbers or words; -1, or None
            among words, where a partition did not sample the row. A row that no partition
            sampled gets the label -1.

        Returns
        -------
        ConsensusClusterer
            The fitted estimator.
        """
        self._validate_params()
        n_rows = len(check_lengths(partitions)[0])
        self._check_n_clusters(n_rows)
        self._guard_rows(n_rows)
        partitions = check_partitions(partitions)
        return self._combine(partitions, self.n_clusters, draw_seeds(self.random_state, 2)[1])

    def _check_n_clusters(self, n_rows: int) -> None:
        if self.n_clusters is not None and self.n_clusters > n_rows:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the n_samples={n_rows} given. "
                "Ask for fewer clusters, or give more rows."
            )

    def _guard_rows(self, n_rows: int) -> None:
        """Refuse too many rows before any clusterer is fitted."""

    def _members(self, wanted: int | None) -> Sequence[Any]:
        if isinstance(self.clusterers, (list, tuple)):
            return self.clusterers
        member = self.clusterers
        if member is None:
            member = KMeans(wanted, init="random", n_init=1)
        return [member] * self.n_partitions

    def _combine(self, partitions: Codes, wanted: int | None, seed: int) -> ConsensusClusterer:
        seen = (partitions != NOT_SAMPLED).any(axis=0)
        sampled = partitions[:, seen]
        labels = np.full(len(seen), NOT_SAMPLED, np.int32)
        # never more than the rows that were sampled
        wanted = min(wanted or count_clusters(sampled, seed), sampled.shape[1])
        found = self._consensus(sampled, wanted, seed)
        labels[seen] = np.unique(found, return_inverse=True)[1]
        self.partitions_ = partitions
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        return self

    def _check_fitted(self) -> None:
        """Refuse labels that no fit makes."""
        partitions = "integer (partitions, rows) -1.."
        expect_fitted(
            self,
            {"n_clusters_": "count", "partitions_": partitions, "labels_": "integer (rows) -1.."},
        )
        expect(int(self.labels_.max()) + 1 == self.n_clusters_, "n_clusters_ is another number")

    @abstractmethod
    def _consensus(self, partitions: Codes, n_clusters: int, seed: int) -> NDArray[Any]:
        """Labels of rows that at least one partition sampled."""


def _in_usual_units(X: NDArray[Any]) -> NDArray[Any]:
    """Scale values whose squares vanish or overflow by a power of two, which K-means cannot tell.

    Others are given as they are.
    """
    exponent = int(np.frexp(np.abs(X).max())[1])
    usual = np.finfo(X.dtype).maxexp // 4
    return X if abs(exponent) < usual else np.ldexp(X, -exponent)
