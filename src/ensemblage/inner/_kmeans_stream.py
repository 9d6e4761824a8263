"""Inner K-means on a stream: one step for each batch of rows, which is then forgotten."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import BlockSource, MemoryBlocks
from ensemblage.inner._inner_ensemble import check_view_size, draw_feature_views
from ensemblage.inner._kmeans_loop import Crowd, Run, add_statistics, assign_pass
from ensemblage.kernels import ClusterSums, Draws, cluster_means
from ensemblage.parallel import draw_seeds, guarded_fit

Array = NDArray[Any]


def step_towards(centers: Array, weights: Array, sums: ClusterSums) -> tuple[Array, Array]:
    r"""Move centres towards the means of a batch, by the batch's share of all weight so far.

    :math:`\mu_k \leftarrow \mu_k + \frac{w_k}{N_k} (\bar x_k - \mu_k)` with the batch's weight
    :math:`w_k` and mean in cluster k, and :math:`N_k` the weight so far, the batch's included.
    """
    total = weights + sums.totals
    share = sums.totals / np.where(total > 0, total, 1.0)
    means = np.where(sums.totals[:, None] > 0, cluster_means(sums), centers)
    moved = centers + share[:, None] * (means - centers)
    return moved.astype(centers.dtype), total


class StreamMixin:
    """``partial_fit`` of Inner K-means."""

    n_clusters: int
    n_views: int
    view_size: float
    replace: bool
    resample: str
    random_state: Any
    n_iter_: int
    n_evaluations_: int
    cluster_centers_: Array
    cluster_weights_: Array
    views_: Array

    @guarded_fit
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on with one more batch of rows, where a stream of these is all there is.

        The first batch is fitted as ``fit`` does; each further one is a single voting pass, whose
        means move the centres by the batch's share of all weight so far. That is an approximation:
        no row is seen twice, so it ends near where ``fit`` on all rows would, not there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch; the first needs at least ``n_clusters`` rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts for the centres; ones if not given.

        Returns
        -------
        self : object
            The estimator, with ``labels_``, ``votes_`` and ``inertia_`` of this batch.
        """
        if not hasattr(self, "cluster_centers_"):
            fitted: Self = self.fit(X, sample_weight=sample_weight)  # type: ignore[attr-defined]
            return fitted
        if len(self.cluster_centers_) != self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters}, but the stream began with "
                f"{len(self.cluster_centers_)} clusters: call fit to start anew."
            )
        source: MemoryBlocks
        source, fit = self._final(X, sample_weight)  # type: ignore[attr-defined]
        crowd = self._next_crowd(source)
        call = assign_pass, fit.run.centers, crowd, True
        found = source.begin().advance_total(*call, combine=add_statistics)
        centers, weights = step_towards(fit.run.centers, self.cluster_weights_, found.sums)
        evaluated = self.n_evaluations_ + found.n_evaluated
        run = Run(centers, self.n_iter_ + 1, evaluated, converged=True)
        self._store(source, fit._replace(run=run), weights)  # type: ignore[attr-defined]
        return self

    def _next_crowd(self, source: BlockSource) -> Crowd:
        """Draw the voters of the next batch; the same ones as before if they vote all along."""
        if self.resample == "fit":
            return self.views_
        n_features = source.shape[1]
        n_draws = check_view_size(n_features, self.view_size, self.replace)
        seed = draw_seeds(self.random_state, self.n_iter_ + 1)[-1]
        draws = Draws(self.n_views, n_draws, self.replace, seed)
        return draws if self.resample == "instance" else draw_feature_views(n_features, draws)
