"""Inner K-means: K-means whose rows are assigned by the vote of many feature views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
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
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    CallbackSupportMixin,
    DocLinkMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    draw_seeds,
    expect,
    expect_fitted,
    fit_progress,
    guarded_fit,
    read_weights,
    set_module,
    validate_numbers,
    warn_user,
    with_callbacks,
)
from ensemblage.blocks import (
    Block,
    BlockSource,
    MemoryBlocks,
    column_range,
    is_source,
    lazy_on_dask,
    note_columns,
    open_blocks,
)
from ensemblage.inner._inner_ensemble import check_view_size
from ensemblage.inner._kmeans_kernels import ClusterSums, Draws, cluster_sums
from ensemblage.inner._kmeans_passes import (
    Run,
    add_statistics,
    anneal,
    assign_pass,
    cluster_totals,
    draw_item_views,
    draw_pass_views,
    label_rows,
    mean_variance,
    refine_views,
    run_until_converged,
    settle_views,
    start_centers,
    update_by_batch,
    views_of_partition,
)

Array = NDArray[Any]

ANNEALED_PASSES = 20
"""Most voting passes of the annealed schedule."""
FINAL_VIEWS = 4
"""Final views of the annealed schedule, as a multiple of ``n_views``."""
RANDOM_STARTS = 10
"""Initialisations for ``n_init="auto"`` with random rows or a callable ``init``."""
LARGEST_WEIGHT = 2.0**11
"""Largest weight of a feature in a view, relative to its draws, for the range of the data."""
SMALLEST_WEIGHT = 1e-100
"""Weights whose maximum is below this, or above its inverse, are rescaled."""
FITTED = {
    "cluster_centers_": "float (clusters, features)",
    "cluster_weights_": "float (clusters) 0..",
    # not set for rows on disk or on a Dask cluster
    "labels_": "optional integer (rows) 0..<clusters",
    "votes_": "optional float (rows) 0..1.000001",
    "inertia_": "number",
    "n_iter_": "count",
    "n_evaluations_": "count",
    "_n_features_out": "count",
}


def positive_weights(sample_weight: Any, X: Array) -> NDArray[np.float64]:
    """Validate sample weights, in float64; only extreme ones are rescaled, as is the inertia."""
    weights: NDArray[np.float64] = check_sample_weight(sample_weight, X, dtype=np.float64)
    usual = SMALLEST_WEIGHT < weights.max(initial=0) < 1 / SMALLEST_WEIGHT and weights.min() >= 0
    return weights if usual else read_weights(sample_weight, X)


def _views_of_features(model: Any) -> bool:
    """Whether ``partial_fit`` can draw views: those of rows are samples of all rows."""
    if model.view_of == "rows":
        raise AttributeError(
            "view_of='rows' draws views of all rows, but partial_fit sees one batch at a time. Use "
            "fit, or view_of='features'."
        )
    return True


def labelled_blocks(model: Any, source: BlockSource) -> Iterator[tuple[Array, ClusterSums]]:
    """Yield labels and cluster sums of each block of rows, by a fitted model."""
    deciding = model._deciding(model.views_)  # noqa: SLF001
    yield from source.map(_label_and_add, model.cluster_centers_, deciding, model.views_)


def _label_and_add(
    block: Block, centers: Array, deciding: Array, views: Array
) -> tuple[Array, ClusterSums]:
    values, _ = label_rows(block, centers, deciding, views)
    return values, cluster_sums(block.rows, block.weights, values["label"].copy(), len(centers))


@set_module("ensemblage.inner")
class InnerKMeans(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    CallbackSupportMixin,
    DocLinkMixin,
    BaseEstimator,
):
    r"""K-means whose assignments are votes of random feature views (Algorithm 6).

    In each pass, each view, a random weighting of the features, votes for its nearest centre; a row
    is assigned to the centre with the most votes. The result is one clustering with one prototype
    per cluster, as in K-means, not an ensemble of clusterings.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, K.
    n_views : int, default=50
        Number of views that vote on a row, the paper's ensemble size E.
    view_size : float or int, default=0.5
        Features (or rows) drawn by each view: a fraction (float), the paper's sample size S, or a
        number (int).
    replace : bool, default=True
        Whether they are drawn with replacement; a feature drawn twice has weight two.
    resample : {"iteration", "fit", "instance"}, default="iteration"
        When views are drawn: in each pass, once per initialisation, or for each row in each pass
        as in the paper's pseudocode. ``schedule="paper"`` converges only with ``"fit"``.
        ``"instance"`` excludes the three options that follow.
    view_of : {"features", "rows"}, default="features"
        What a view is a sample of. The views of rows have centres of their own, the means of their
        rows in each cluster; they are nearly equal, so that the votes seldom differ, and need
        rows in memory.
    views : {"uniform", "weighted"}, default="uniform"
        ``"weighted"`` is boosting inside K-means: in each pass, views give more weight to features
        that the clusters so far explain badly, or to rows between clusters.
    sampler : callable or None, default=None
        Function from the number of features (or rows) to their weights in each view, an array of
        shape (n_views, n_items), for instance a :class:`ViewSampler`. It is called whenever views
        are drawn; then ``n_views``, ``view_size`` and ``replace`` are not used. A model with a
        function of your own cannot be saved; one with a ``ViewSampler`` can.
    schedule : {"anneal", "paper"}, default="anneal"
        ``"paper"`` is Algorithm 6. ``"anneal"`` runs up to 20 voting passes, fewer if one
        changes no row, averages the centres over the later half of them, and then iterates to
        convergence with the assignments of ``assign``.
    assign : {"auto", "nearest", "vote"}, default="auto"
        How rows are labelled at the end of ``fit`` and in ``predict``: by the nearest prototype,
        or by the vote of ``views_``. The annealed schedule ends with standard K-means under
        ``"nearest"``, and with ``4 * n_views`` fixed views under ``"vote"``, which is more robust
        to noisy features but may degrade well-separated clusters. ``"auto"`` is ``"nearest"`` for
        the annealed schedule and ``"vote"`` for the paper's.
    init : {"k-means++", "random"}, callable or array-like, default="k-means++"
        Initial centres: greedy k-means++ (on a sample of 100,000 rows, or 100 per cluster if that
        is more), random rows, ``init(X, n_clusters, random_state)``, or an array of shape
        (n_clusters, n_features).
    n_init : int or "auto", default="auto"
        Number of initialisations; the one with the lowest inertia is kept. ``"auto"`` is 10 for
        ``init="random"`` or a callable, else 1.
    max_iter : int, default=300
        Most passes per initialisation. The annealed schedule uses at most half of them for voting
        with new views.
    tol : float, default=1e-4
        Tolerance for convergence: the sum of the squared shifts of the centres is at most ``tol``
        times the mean variance of the features.
    random_state : int, RandomState instance or None, default=None
        Determines initialisations and views.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The prototypes.
    cluster_weights_ : ndarray of shape (n_clusters,)
        Total weight of the rows of each cluster; over all batches with ``partial_fit``.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, as returned by ``predict``.
    votes_ : ndarray of shape (n_samples,)
        Fraction of the views ``views_`` that vote for the row's cluster.
    views_ : ndarray of shape (n_final_views, n_features)
        How often each view drew each feature, or its weights: the ``4 * n_views`` final views of
        the annealed schedule, or the ``n_views`` of the last pass if ``schedule="paper"``; with
        ``resample="instance"``, one further draw shared by all rows. With ``view_of="rows"`` the
        centres of each view, of shape (n_final_views, n_clusters, n_features).
    inertia_ : float
        Weighted sum of squared distances of the rows to their prototypes, over all features:
        the objective of K-means, which voting does not minimise.
    n_iter_ : int
        Number of passes of the best initialisation.
    n_evaluations_ : int
        Number of rows whose distances were computed in these passes. Less than ``n_iter_`` times
        the number of rows where bounds exclude a change of label.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in ``fit``, if all of them are strings.

    See Also
    --------
    sklearn.cluster.KMeans : The special case ``n_views=1``, ``view_size=1.0``, ``replace=False``
        and ``schedule="paper"``.

    Notes
    -----
    View e weighs feature j by :math:`w_{ej}`, the number of times it drew it among
    :math:`s = \max(1, \mathrm{round}(S d))` draws, and votes for

    .. math:: \arg\min_k D_e(x, k), \qquad D_e(x, k) = \sum_j w_{ej} (x_j - \mu_{kj})^2 .

    A row is assigned to the centre with the most votes. On ties it keeps its label; in the first
    pass and in ``predict``, the lowest index wins. No objective decreases monotonically, so
    ``max_iter`` limits the passes. An empty cluster is moved to the row farthest from its own
    centre.

    A view of the rows that drew row i :math:`w_{ei}` times (times its sample weight) votes for
    :math:`\arg\min_k \lVert x - \mu^e_k \rVert^2`, where :math:`\mu^e_k` is the weighted mean of
    the rows in cluster k, or :math:`\mu_k` if the view has none of them. Before the first
    assignment all views have the initial centres.

    Boosting, which the paper leaves to future work: ``views="weighted"`` multiplies the weights
    :math:`w` of each view by :math:`0.1 + b`, divided by its mean, where b is from 0 to 1 and says
    how badly the partition so far does: for feature j the share of its variance that is not
    between clusters,

    .. math:: b_j = \sum_i (x_{ij} - \mu_{k(i)j})^2 \Big/ \sum_i (x_{ij} - \bar x_j)^2 ,

    at most 1, and for row i in cluster k(i)
    :math:`b_i = \lVert x_i - \mu_{k(i)} \rVert^2 / \min_{k \ne k(i)} \lVert x_i - \mu_k \rVert^2`,
    at most 1. The first pass has no partition, and its views are uniform.

    With ``resample="fit"`` and uniform views of features, a row is skipped while the centres have
    moved too little for half of its views to change their vote; the labels are the same as without
    skipping.

    Scaling a single column changes the distances; standardise columns of different units.

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
        "view_of": [StrOptions({"features", "rows"})],
        "views": [StrOptions({"uniform", "weighted"})],
        "sampler": [callable, None],
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
        view_of: str = "features",
        views: str = "uniform",
        sampler: Callable[[int], Any] | None = None,
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
        self.view_of = view_of
        self.views = views
        self.sampler = sampler
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
        """Compute the clustering.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, Dask collection or BlockSource
            The data, float32 or float64. A ``.npy`` or Parquet file, or a Dask collection, is
            processed block by block without loading it; ``labels_`` and ``votes_`` are then not
            set (to write them to a file, see :func:`ensemblage.blocks.open_blocks`).
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; by default all rows have weight one.

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
        weights = positive_weights(sample_weight, source.placeholder) if given else None
        with source.begin(weights) as rows:
            self._check_range(column_range(rows).largest, rows)
            return self._fit_blocks(rows)

    def _fit_blocks(self, source: BlockSource, X: Array | None = None) -> InnerKMeans:
        """Fit on a block source; ``X`` is needed only by a callable ``init``."""
        n_rows = source.shape[0]
        if self.n_clusters > n_rows:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the n_samples={n_rows} given. "
                "Use fewer clusters or more rows."
            )
        n_draws = self._check_views(source)
        tol = self.tol * mean_variance(source)
        n_starts = self.n_init
        if n_starts == "auto":
            random_rows_wanted = isinstance(self.init, str) and self.init == "random"
            n_starts = RANDOM_STARTS if random_rows_wanted or callable(self.init) else 1
        seeds = draw_seeds(self.random_state, int(n_starts))
        best, lowest = None, np.inf
        with fit_progress(self, "pass", len(seeds) * self.max_iter) as step:
            for seed in seeds:
                start_seed, view_seed = draw_seeds(seed, 2)
                centers = start_centers(source, self.n_clusters, self.init, X, start_seed)
                draws = Draws(self.n_views, n_draws, self.replace, view_seed)
                run, views = self._fit_start(source, centers, draws, tol, step)
                inertia = 0.0
                if len(seeds) > 1:
                    deciding = self._deciding(views)
                    inertia = source.reduce(cluster_totals, run.centers, deciding)[0]
                if best is None or inertia < lowest:
                    best, lowest = (run, views), inertia
        assert best is not None  # noqa: S101  n_init is at least 1
        self._store(source, *best)
        return self

    def _fit_start(
        self,
        source: BlockSource,
        centers: Array,
        draws: Draws,
        tol: float,
        step: Callable[[], bool],
    ) -> tuple[Run, Array]:
        """Run one initialisation; return also the final views."""
        annealed, of_rows = self.schedule == "anneal", self.view_of == "rows"
        n_final = FINAL_VIEWS * self.n_views if annealed else self.n_views
        drawn_of, last = draw_pass_views(
            source.shape[0 if of_rows else 1], draws, self.resample, self.max_iter, n_final,
            self.sampler,
        )  # fmt: skip
        refined = partial(refine_views, source, of_rows=of_rows, weighted=self.views == "weighted")
        same = self.resample == "fit"
        prune = same and not callable(refined(last))
        call = source, centers, lambda index: refined(drawn_of(index)), prune
        if not annealed:
            # centres under new views keep moving; Algorithm 6 stops at unchanged labels
            run = run_until_converged(*call, self.max_iter, tol if same else -1.0, step)
            if self.resample == "iteration":
                last = drawn_of(run.n_iter - 1)
            return run, settle_views(refined(last), run.centers, fresh=False)
        voted = anneal(*call, min(ANNEALED_PASSES, self.max_iter // 2), step)
        views = settle_views(refined(last), voted.centers, fresh=voted.n_iter == 0)
        deciding, n_left = self._deciding(views), self.max_iter - voted.n_iter
        moving = of_rows and deciding is views  # the centres of the views follow the partition
        fixed = refined(last) if moving else deciding
        run = run_until_converged(
            source, voted.centers, lambda _: fixed, not moving, n_left, tol, step
        )
        if of_rows:
            views = settle_views(refined(last), run.centers, fresh=False)
        n_iter, n_evaluated = run.n_iter + voted.n_iter, run.n_evaluated + voted.n_evaluated
        return run._replace(n_iter=n_iter, n_evaluated=n_evaluated), views

    @available_if(_views_of_features)
    @guarded_fit
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> InnerKMeans:
        """Update the clusters with a batch of rows (online learning).

        The first call is the same as ``fit``. Each further call makes one voting pass over the
        batch and updates the centres as in mini-batch K-means. The result approximates ``fit`` on
        all rows, as each row is used once. Weighted views are weighted by the batch's assignment
        to the nearest prototypes; with ``resample="fit"`` the views stay those of the first call.
        Views of rows are samples of all rows, and therefore need ``fit``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch; the first one needs at least ``n_clusters`` rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; by default all rows have weight one.

        Returns
        -------
        self : object
            The estimator, with ``labels_``, ``votes_`` and ``inertia_`` of this batch.
        """
        if not hasattr(self, "cluster_centers_"):
            fitted: InnerKMeans = self.fit(X, sample_weight=sample_weight)
            return fitted
        if len(self.cluster_centers_) != self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters}, but partial_fit began with "
                f"{len(self.cluster_centers_)} clusters: call fit to start again."
            )
        source, centers = self._new_source(X, sample_weight)
        n_draws = self._check_views(source)
        views: Any = self.views_
        if self.resample != "fit":
            seed = draw_seeds(self.random_state, self.n_iter_ + 1)[-1]
            views = Draws(self.n_views, n_draws, self.replace, seed)
        if self.resample == "iteration":
            views = draw_item_views(source.shape[1], self.sampler, views)
            if self.views == "weighted":  # by the nearest prototypes
                call = assign_pass, centers, np.ones((1, source.shape[1])), True
                source.reduce_with_state(*call, combine=add_statistics)
                views = views_of_partition(source, views, False, True, centers, False)
        call = assign_pass, centers, views, True
        found = source.reduce_with_state(*call, combine=add_statistics)
        moved, weights = update_by_batch(centers, self.cluster_weights_, found.sums)
        evaluated = self.n_evaluations_ + found.n_evaluated
        run = Run(moved, self.n_iter_ + 1, evaluated, converged=True)
        self._store(source, run, self.views_, weights)
        return self

    def _check_views(self, source: BlockSource) -> int:
        """Reject options of the views that exclude each other; compute the draws per view."""
        of_rows = self.view_of == "rows"
        if self.resample == "instance" and (of_rows or self.views == "weighted" or self.sampler):
            raise ValueError(
                "resample='instance' draws uniform views of the features for each row, got "
                f"view_of={self.view_of!r}, views={self.views!r}, sampler={self.sampler!r}. Use "
                "resample='iteration'."
            )
        if of_rows and not isinstance(source, MemoryBlocks):
            raise ValueError(
                "view_of='rows' needs rows in memory, got rows on disk or on a Dask cluster. Use "
                "view_of='features'."
            )
        if self.sampler is not None:
            return 0  # the sampler draws
        return check_view_size(source.shape[0 if of_rows else 1], self.view_size, self.replace)

    def _deciding(self, views: Array) -> Array:
        """Return the views that determine the labels at the end of ``fit`` and in ``predict``."""
        usual = "vote" if self.schedule == "paper" else "nearest"
        # one view of all features is standard K-means
        by_vote = (usual if self.assign == "auto" else self.assign) == "vote"
        return views if by_vote else np.ones((1, views.shape[-1]))

    def _store(
        self, source: BlockSource, run: Run, views: Array, weights: Array | None = None
    ) -> None:
        """Label all rows and set the fitted attributes; ``partial_fit`` passes the weights."""
        values, (inertia, counts, own_weights) = source.collect(
            label_rows, run.centers, self._deciding(views), views
        )
        for name, field in (("labels_", "label"), ("votes_", "vote")):
            self.__dict__.pop(name, None)  # from an earlier fit
            if values is not None:  # else the source stores them
                setattr(self, name, values[field].copy())
        self.inertia_ = inertia
        self.cluster_centers_ = run.centers
        self.cluster_weights_ = own_weights if weights is None else weights
        self.views_ = views
        self.n_iter_ = run.n_iter
        self.n_evaluations_ = run.n_evaluated
        self._n_features_out = len(run.centers)
        n_found = np.count_nonzero(counts)
        if weights is None and n_found < self.n_clusters:
            warn_user(
                f"Only {n_found} of n_clusters={self.n_clusters} clusters have rows; X may have "
                "too few distinct rows. Use fewer clusters.",
                ConvergenceWarning,
            )
        elif not run.converged:
            advice = "Increase max_iter or tol."
            if self.schedule == "paper" and self.resample != "fit":
                advice = (
                    f"With resample={self.resample!r} every pass has new views, so convergence is "
                    "rare. Use schedule='anneal' or resample='fit'."
                )
            warn_user(
                f"Rows still change cluster after max_iter={self.max_iter} passes. {advice}",
                ConvergenceWarning,
            )

    @lazy_on_dask
    def predict(self, X: Any) -> Array:
        """Predict the cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask collection
            New data.

        Returns
        -------
        ndarray or Dask array of shape (n_samples,)
            Cluster of the nearest prototype, or by the vote of ``views_``, according to
            ``assign``.
        """
        check_is_fitted(self)
        source, centers = self._new_source(X)
        deciding = self._deciding(self.views_)  # the views that agree are not needed
        values, _ = source.collect(label_rows, centers, deciding, deciding)
        labels: Array = values["label"].copy()
        return labels

    @lazy_on_dask
    def transform(self, X: Any) -> Array:
        """Compute the Euclidean distance of each row to each prototype, over all features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask collection
            New data.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_clusters)
            Distances.
        """
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        first = self.cluster_centers_[0]  # squares of rows far from zero lose their differences
        return np.asarray(euclidean_distances(rows - first, self.cluster_centers_ - first))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the negative inertia of new rows; higher is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New data.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        float
            Negative weighted sum of squared distances to each row's prototype.
        """
        check_is_fitted(self)
        source, centers = self._new_source(X, sample_weight)
        return -source.reduce(cluster_totals, centers, self._deciding(self.views_))[0]

    def _new_source(self, X: Any, sample_weight: Any = None) -> tuple[MemoryBlocks, Array]:
        """Validate new rows; return them, and the centres in their dtype."""
        X = self._validated(X, reset=False)
        source = MemoryBlocks(X, positive_weights(sample_weight, X))
        return source, self.cluster_centers_.astype(X.dtype, copy=False)

    def _validated(self, X: Any, reset: bool) -> Array:
        rows: Array = validate_numbers(
            self, X, dtype=[np.float64, np.float32], order="C", reset=reset
        )
        largest = max(-float(rows.min()), float(rows.max()))
        self._check_range(largest, rows)
        return rows

    def _check_range(self, largest: float, rows: Array | BlockSource) -> None:
        """Raise if squared values would overflow when summed over all rows."""
        # a view's distance adds at most draws * (2 * largest)^2, and inertia adds the rows
        heaviest, size = max(1.0, float(self.view_size)), rows.shape[0] * rows.shape[1]
        heaviest *= LARGEST_WEIGHT if self.sampler is not None or self.views == "weighted" else 1
        limit = np.sqrt(np.finfo(rows.dtype).max / (4.0 * max(size, 1) * heaviest))
        if largest > limit:
            raise ValueError(
                f"X has values up to {largest:.3g}; squared distances overflow {rows.dtype} above "
                f"{limit:.3g}. Scale the features, for instance with StandardScaler."
            )

    def _check_fitted(self) -> None:
        """Validate prototypes and views before compiled code reads them."""
        sizes = {"clusters": self.n_clusters, "features": self.n_features_in_}
        of_rows = getattr(vars(self).get("views_"), "ndim", 2) == 3
        shape = "(*, clusters, features)" if of_rows else "(*, features) 0.."
        expect_fitted(self, {**FITTED, "views_": f"float {shape}"}, **sizes)
        expect(len(self.views_) > 0, "views_ is empty")
        expect(self._n_features_out == self.n_clusters, "_n_features_out differs from n_clusters")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
