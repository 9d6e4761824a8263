"""Inner K-means: each row's cluster is decided by a vote of feature views."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ensemblage.blocks import (
    BlockSource,
    MemoryBlocks,
    column_extent,
    is_source,
    lazy_on_dask,
    note_columns,
    open_blocks,
)
from ensemblage.inner._inner_ensemble import check_view_size
from ensemblage.inner._kmeans_labels import Fit, inertia_of, label_all
from ensemblage.inner._kmeans_loop import Run, spread
from ensemblage.inner._kmeans_schedules import (
    Schedule,
    Start,
    draw_voters,
    run_annealed,
    run_paper,
)
from ensemblage.inner._kmeans_start import positive_weights, start_centers
from ensemblage.inner._kmeans_stream import StreamMixin
from ensemblage.kernels import Draws
from ensemblage.messages import DocLinkMixin, expect, expect_fitted, warn_user
from ensemblage.parallel import (
    CallbackSupportMixin,
    draw_seeds,
    fit_progress,
    guarded_fit,
    with_callbacks,
)
from ensemblage.tables import validate_numbers

Array = NDArray[Any]

FITTED = {
    "cluster_centers_": "float (clusters, features)",
    "cluster_weights_": "float (clusters) 0..",
    "views_": "float (*, features) 0..",
    # rows on disk or on a cluster have theirs elsewhere
    "labels_": "optional integer (rows) 0..<clusters",
    "votes_": "optional float (rows) 0..1.000001",
    "inertia_": "number",
    "n_iter_": "count",
    "n_evaluations_": "count",
    "_n_features_out": "count",
}
RANDOM_STARTS = 10


class InnerKMeans(
    StreamMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    CallbackSupportMixin,
    DocLinkMixin,
    BaseEstimator,
):
    r"""K-means whose assignments are votes of random feature views (Algorithm 6).

    In each pass, many views of the features, each with its own weights, name the nearest
    centre of a row; the row goes where most of them point. The result is one clustering
    with one prototype per cluster, as in K-means, not a set of clusterings.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, K.
    n_views : int, default=50
        Voters per row, the paper's ensemble size E.
    view_size : float or int, default=0.5
        Features that each view draws: a share of them, the paper's sample size S, or their
        number.
    replace : bool, default=True
        Draw features with replacement; one that is drawn twice weighs two.
    resample : {"iteration", "fit", "instance"}, default="iteration"
        When views are drawn anew: in each pass, once per start, or for each row in each pass
        as in the paper's pseudocode. Only ``"fit"`` lets ``schedule="paper"`` converge.
    schedule : {"anneal", "paper"}, default="anneal"
        ``"paper"`` is Algorithm 6. ``"anneal"`` makes up to 20 voting passes, fewer if one
        of them changes no row, averages the centres over their later half, and brings them to
        rest as ``assign`` says.
    assign : {"auto", "nearest", "vote"}, default="auto"
        How rows are labelled at the end and in ``predict``: by the nearest prototype, or by the
        vote of ``views_``. The annealed schedule ends with plain K-means under ``"nearest"``;
        under ``"vote"``, ``4 * n_views`` views, the same in every pass, vote to the end, which
        resists noisy features and may spoil clear clusters. ``"auto"`` is ``"nearest"`` for the
        annealed schedule, and ``"vote"`` for the paper's.
    init : {"k-means++", "random"}, callable or array-like, default="k-means++"
        Where to start: spread rows (sought among 100,000, or 100 for each cluster), random rows,
        ``init(X, n_clusters, random_state)``, or centres of shape (n_clusters, n_features).
    n_init : int or "auto", default="auto"
        Number of starts, of which the one with the lowest inertia is kept. ``"auto"`` is 10
        for random rows or a callable, else 1.
    max_iter : int, default=300
        Most passes of one start. The annealed schedule spends at most half of them on new views.
    tol : float, default=1e-4
        The centres rest when the sum of their squared moves is at most ``tol`` times the mean
        variance of the features.
    random_state : int, RandomState instance or None, default=None
        Determines the starts and the views.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The prototypes.
    cluster_weights_ : ndarray of shape (n_clusters,)
        Weight of the rows of each cluster; of all batches together in a stream.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, as ``predict`` gives it.
    votes_ : ndarray of shape (n_samples,)
        Share of the views ``views_`` that vote for the row's cluster.
    views_ : ndarray of shape (n_voters, n_features)
        How often each view drew each feature: the ``4 * n_views`` views that end the annealed
        schedule, or the ``n_views`` of the last pass if ``schedule="paper"``; a last draw for
        all rows if ``resample="instance"``.
    inertia_ : float
        Weighted sum of squared distances of the rows to their prototypes, over all features.
        It is what K-means minimises; the votes do not minimise it.
    n_iter_ : int
        Passes made by the start that was kept.
    n_evaluations_ : int
        Rows whose distances were computed in these passes. Fewer than ``n_iter_`` times the
        number of rows where bounds showed that a row could not change.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in ``fit``, if they were strings.

    See Also
    --------
    sklearn.cluster.KMeans : One view of all features; here ``n_views=1``, ``view_size=1.0``,
        ``replace=False`` and ``schedule="paper"``.

    Notes
    -----
    View e weighs feature j by :math:`w_{ej}`, the number of times it drew it among
    :math:`s = \max(1, \mathrm{round}(S d))` draws, and votes for

    .. math:: \arg\min_k D_e(x, k), \qquad D_e(x, k) = \sum_j w_{ej} (x_j - \mu_{kj})^2 .

    The centre with the most votes has the row. On equal votes the row stays where it is; in a
    first pass and in ``predict``, the lowest index wins. No objective falls from pass to pass,
    so ``max_iter`` bounds them. A cluster that loses its last row moves to the row farthest
    from its own centre.

    With ``resample="fit"``, a row is skipped while the centres have moved too little for half
    of its views to change their vote; the labels are the same as without skipping.

    References
    ----------
    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from ensemblage.inner import InnerKMeans
    >>> X, y = load_iris(return_X_y=True)
    >>> model = InnerKMeans(n_clusters=3, random_state=0).fit(X)
    >>> model.cluster_centers_.shape
    (3, 4)
    >>> round(adjusted_rand_score(y, model.labels_), 2)
    0.72
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012  as scikit-learn declares it
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_views": [Interval(Integral, 1, None, closed="left")],
        "view_size": [Interval(Real, 0, None, closed="neither")],
        "replace": ["boolean"],
        "resample": [StrOptions({"fit", "iteration", "instance"})],
        "schedule": [StrOptions({"anneal", "paper"})],
        "assign": [StrOptions({"auto", "nearest", "vote"})],
        "init": [StrOptions({"k-means++", "random"}), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_views: int = 50,
        view_size: float = 0.5,
        replace: bool = True,
        resample: str = "iteration",
        schedule: str = "anneal",
        assign: str = "auto",
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_views = n_views
        self.view_size = view_size
        self.replace = replace
        self.resample = resample
        self.schedule = schedule
        self.assign = assign
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @guarded_fit
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> InnerKMeans:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, Dask collection or BlockSource
            The rows, float32 or float64. A ``.npy`` or Parquet file, or rows on a cluster, are
            read where they are; ``labels_`` and ``votes_`` are then not set
            (:func:`ensemblage.blocks.open_blocks` says where to write them).
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts for the centres; ones if not given.

        Returns
        -------
        InnerKMeans
            The fitted estimator.
        """
        self._validate_params()
        if not is_source(X):
            X = self._validated(X, reset=True)
            return self._fit_blocks(MemoryBlocks(X, positive_weights(sample_weight, X)), X)
        source = open_blocks(X)
        note_columns(self, source)
        given = sample_weight is not None
        weights = positive_weights(sample_weight, source.stand_in) if given else None
        with source.begin(weights) as rows:
            self._check_reach(column_extent(rows).largest, rows)
            return self._fit_blocks(rows)

    def _fit_blocks(self, source: BlockSource, X: Array | None = None) -> InnerKMeans:
        """Fit on any source of rows; ``X`` is needed only by a callable ``init``."""
        n_rows, n_features = source.shape
        if self.n_clusters > n_rows:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the n_samples={n_rows} given. "
                "Ask for fewer clusters, or give more rows."
            )
        n_draws = check_view_size(n_features, self.view_size, self.replace)
        draws = Draws(self.n_views, n_draws, self.replace, 0)
        tol = self.tol * spread(source)
        schedule = Schedule(self.schedule == "paper", self.resample, self.max_iter, tol)
        seeds = draw_seeds(self.random_state, self._n_starts())
        best, lowest = None, np.inf
        with fit_progress(self, "pass", len(seeds) * self.max_iter) as step:
            for seed in seeds:
                start_seed, view_seed = draw_seeds(seed, 2)
                centers = start_centers(source, self.n_clusters, self.init, X, start_seed)
                crowd = draw_voters(n_features, draws._replace(seed=view_seed), schedule)
                fit = self._fit_once(source, Start(centers, *crowd), schedule, step)
                inertia = inertia_of(source, fit) if len(seeds) > 1 else 0.0
                if best is None or inertia < lowest:
                    best, lowest = fit, inertia
        assert best is not None  # noqa: S101  there is at least one start
        self._store(source, best)
        return self

    def _fit_once(
        self, source: BlockSource, start: Start, schedule: Schedule, step: Callable[[], bool]
    ) -> Fit:
        views: Any = start.views
        if not schedule.paper:
            run = run_annealed(source, start, self._deciding(views), schedule, step)
        else:
            run = run_paper(source, start, schedule, step)
            if schedule.resample == "iteration":
                views = start.voters.crowd_of(run.n_iter - 1)
        return Fit(run, views, self._deciding(views))

    def _n_starts(self) -> int:
        if self.n_init != "auto":
            return int(self.n_init)
        many = callable(self.init) or (isinstance(self.init, str) and self.init == "random")
        return RANDOM_STARTS if many else 1

    def _deciding(self, views: Array) -> Array:
        """Give the views that decide on labels at the end and in ``predict``."""
        usual = "vote" if self.schedule == "paper" else "nearest"
        # one view of everything is plain K-means
        by_vote = (usual if self.assign == "auto" else self.assign) == "vote"
        return views if by_vote else np.ones((1, views.shape[1]))

    def _store(self, source: BlockSource, fit: Fit, weights: Array | None = None) -> None:
        run = fit.run
        values, reached = label_all(source, fit)
        for name, field in (("labels_", "label"), ("votes_", "vote")):
            self.__dict__.pop(name, None)  # that of an earlier fit
            if values is not None:
                setattr(self, name, values[field].copy())
        self.inertia_ = reached.inertia
        self.cluster_centers_ = run.centers
        self.cluster_weights_ = reached.weights if weights is None else weights
        self.views_ = fit.views
        self.n_iter_ = run.n_iter
        self.n_evaluations_ = run.n_evaluated
        self._n_features_out = len(run.centers)
        n_found = np.count_nonzero(reached.counts)
        if weights is None and n_found < self.n_clusters:
            warn_user(
                f"Only {n_found} of n_clusters={self.n_clusters} clusters have rows; X may have "
                "too few distinct rows. Ask for fewer clusters.",
                ConvergenceWarning,
            )
        elif not run.converged:
            warn_user(self._advice(), ConvergenceWarning)

    def _advice(self) -> str:
        if self.schedule == "paper" and self.resample != "fit":
            return (
                f"Rows still change cluster after max_iter={self.max_iter} passes; with "
                f"resample={self.resample!r} every pass has new views, so they seldom rest. "
                "Use schedule='anneal' or resample='fit' to converge."
            )
        return (
            f"Rows still change cluster after max_iter={self.max_iter} passes. "
            "Raise max_iter or tol."
        )

    @lazy_on_dask
    def predict(self, X: Any) -> Array:
        """Give the cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask collection
            New rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples,)
            By the nearest prototype, or by the vote of ``views_``, as ``assign`` says.
        """
        check_is_fitted(self)
        values, _ = label_all(*self._final(X))
        labels: Array = values["label"].copy()
        return labels

    @lazy_on_dask
    def transform(self, X: Any) -> Array:
        """Give the Euclidean distance of each row to each prototype, over all features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask collection
            New rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_clusters)
            Distances.
        """
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        return np.asarray(euclidean_distances(rows, self.cluster_centers_))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give minus the inertia of new rows, so that more is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.

        Returns
        -------
        float
            Minus the weighted sum of squared distances to the own prototype.
        """
        check_is_fitted(self)
        return -inertia_of(*self._final(X, sample_weight))

    def _final(self, X: Any, sample_weight: Any = None) -> tuple[BlockSource, Fit]:
        X = self._validated(X, reset=False)
        source = MemoryBlocks(X, positive_weights(sample_weight, X))
        centers = self.cluster_centers_.astype(X.dtype, copy=False)
        run = Run(centers, self.n_iter_, self.n_evaluations_, converged=True)
        return source, Fit(run, self.views_, self._deciding(self.views_))

    def _validated(self, X: Any, reset: bool) -> Array:
        rows: Array = validate_numbers(
            self, X, dtype=[np.float64, np.float32], order="C", reset=reset
        )
        largest = max(-float(rows.min()), float(rows.max()))
        self._check_reach(largest, rows)
        return rows

    def _check_reach(self, largest: float, rows: Array | BlockSource) -> None:
        """Refuse values whose squares overflow when they are added up over all rows."""
        # a view's distance adds at most draws * (2 * largest)^2, and inertia adds the rows
        heaviest, size = max(1.0, float(self.view_size)), rows.shape[0] * rows.shape[1]
        limit = np.sqrt(np.finfo(rows.dtype).max / (4.0 * max(size, 1) * heaviest))
        if largest > limit:
            raise ValueError(
                f"X has values up to {largest:.3g}; squared distances overflow {rows.dtype} above "
                f"{limit:.3g}. Scale the features, for instance with StandardScaler."
            )

    def __check_state__(self) -> None:
        """Refuse prototypes and views that no fit makes, before compiled code reads them."""
        sizes = {"clusters": self.n_clusters, "features": self.n_features_in_}
        expect_fitted(self, FITTED, **sizes)
        expect(len(self.views_) > 0, "there are no views")
        expect(self._n_features_out == self.n_clusters, "_n_features_out is another number")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
