"""Inner K-means: rows are assigned by the vote of many views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

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
from ensemblage.inner._inner_ensemble import check_view_size, draw_feature_views
from ensemblage.inner._kmeans_kernels import (
    ClusterSums,
    Draws,
    add_cluster_sums,
    agreeing_views,
    bounded_view_votes,
    center_drift,
    cluster_means,
    cluster_sums,
    instance_votes,
    move_row,
    own_distances,
    view_votes,
)

Array = NDArray[Any]
PassViews: TypeAlias = Array | Draws
"""Voters of a pass: views that all rows share, (n_views, n_features), or how rows draw them."""

ANNEALED_PASSES = 20
"""Voting passes of the annealed schedule at most."""
FINAL_VIEWS = 4
"""Voters at the end of the annealed schedule, for each of those before."""
RANDOM_STARTS = 10
"""Starts where each is random rows or a callable's."""
START_ROWS = 100_000
"""Rows among which distant ones are sought, drawn by the seed."""
ROWS_PER_CLUSTER = 100
"""The same for each cluster, where that is more."""
SMALLEST_WEIGHT = 1e-100
"""Weights all below this, or above its inverse, are scaled."""
ROW_LABEL = np.dtype([("label", np.int32), ("vote", np.float64)])
"""What is found for each row: its cluster, and the share of the views that vote for it."""
ROW_STATE = np.dtype([("label", np.int32), ("bound", np.float64)])
"""What a pass keeps of each row: its cluster, and how far centres may move before it can change."""
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


def positive_weights(sample_weight: Any, X: Array) -> NDArray[np.float64]:
    """Check row weights, in float64; only extreme ones are scaled, as inertia is."""
    weights: NDArray[np.float64] = check_sample_weight(sample_weight, X, dtype=np.float64)
    usual = SMALLEST_WEIGHT < weights.max(initial=0) < 1 / SMALLEST_WEIGHT and weights.min() >= 0
    return weights if usual else read_weights(sample_weight, X)


def start_centers(
    source: BlockSource, n_clusters: int, init: Any, X: Array | None, seed: int
) -> Array:
    """First centres as ``init`` says; a callable one is given the rows, so they must be here."""
    n_features = source.shape[1]
    if isinstance(init, str):
        draw = distant_rows if init == "k-means++" else random_rows
        centers = draw(source, n_clusters, np.random.default_rng(seed))
    elif callable(init):
        if X is None:
            raise ValueError(
                f"init={init!r} needs rows in memory: take 'k-means++', 'random' or an "
                "array of centres for rows on disk or on a cluster."
            )
        centers = init(X, n_clusters, random_state=np.random.RandomState(seed))
    else:
        centers = init
    centers = np.array(centers, dtype=source.dtype, order="C")
    if centers.shape != (n_clusters, n_features) or not np.isfinite(centers).all():
        raise ValueError(
            f"init gives centres of shape {centers.shape}, expected finite values of shape "
            f"(n_clusters, n_features) = {(n_clusters, n_features)}."
        )
    return centers


def random_rows(source: BlockSource, n_clusters: int, rng: np.random.Generator) -> Array:
    """Draw distinct rows, in proportion to their weights."""
    weights = source.weights
    if np.count_nonzero(weights) < n_clusters:
        weights = np.ones(len(weights))  # zero weights would leave too few rows to start from
    share = weights / weights.sum()
    chosen = rng.choice(len(weights), size=n_clusters, replace=False, p=share)
    found = np.concatenate(list(source.map(_pick, np.sort(chosen))))
    return found[np.argsort(np.argsort(chosen))]


def distant_rows(source: BlockSource, n_clusters: int, rng: np.random.Generator) -> Array:
    r"""Draw rows far apart, by greedy k-means++.

    Each next centre is the best of :math:`2 + \lfloor \log K \rfloor` rows drawn in proportion
    to weight times squared distance to the nearest centre so far, where the best lowers the
    weighted sum of these distances most. A draw picks the block by the blocks' sums and the
    row inside each block by the same uniform number, so one pass serves all draws. Of many rows,
    some are drawn first: two passes over all of them for each centre took a third of a fit.
    """
    n_trials = 2 + int(np.log(n_clusters))
    n_rows, weights = max(START_ROWS, ROWS_PER_CLUSTER * n_clusters), source.weights
    n_eligible = np.count_nonzero(weights)
    if n_eligible > n_rows:
        chosen = np.sort(rng.choice(n_eligible, n_rows, replace=False))
        if n_eligible < len(weights):
            chosen = np.flatnonzero(weights)[chosen]
        rows = np.concatenate(list(source.map(_pick, chosen)))
        source = MemoryBlocks(rows, np.ascontiguousarray(weights[chosen]))
    centers = _draw(source, _weighted_candidates, rng, 1)
    while len(centers) < n_clusters:
        step = centers[-1:], len(centers) == 1
        candidates = _draw(source, _distant_candidates, rng, n_trials, *step)
        costs = source.reduce(_candidate_costs, candidates)
        centers = np.concatenate([centers, candidates[[int(np.argmin(costs[0]))]]])
    return centers


def _draw(
    source: BlockSource, kernel: Any, rng: np.random.Generator, n_draws: int, *state: Any
) -> Array:
    """Draw rows: the kernel gives one per block and draw, and the block's weight."""
    inside, between = rng.random(n_draws), rng.random(n_draws)
    run = source.map_with_state if state else source.map
    found = list(run(kernel, inside, *state))
    totals = np.cumsum([total for total, _ in found])
    chosen = np.searchsorted(totals, between * totals[-1], side="right")
    chosen = np.minimum(chosen, len(found) - 1)
    return np.stack([found[block][1][draw] for draw, block in enumerate(chosen)])


def _pick(block: Block, indices: Array) -> Array:
    """Rows by their numbers, which rise."""
    first, last = np.searchsorted(indices, [block.start, block.start + len(block.rows)])
    return np.asarray(block.rows[indices[first:last] - block.start])


def _weighted_candidates(block: Block, inside: Array) -> tuple[float, Array]:
    return _weighted_rows(block.rows, block.weights, inside)


def _distant_candidates(
    block: Block, inside: Array, latest: Array, fresh: bool
) -> tuple[Array, tuple[float, Array]]:
    nearest = own_distances(block.rows, latest, np.zeros(len(block.rows), np.int32))
    if not fresh:
        nearest = np.minimum(nearest, block.state)
    return nearest, _weighted_rows(block.rows, nearest * block.weights, inside)


def _candidate_costs(block: Block, candidates: Array) -> tuple[Array]:
    costs = np.empty(len(candidates))
    for index in range(len(candidates)):
        candidate = candidates[index : index + 1]
        distances = own_distances(block.rows, candidate, np.zeros(len(block.rows), np.int32))
        costs[index] = np.minimum(distances, block.state) @ block.weights
    return (costs,)


def _weighted_rows(rows: Array, weights: Array, inside: Array) -> tuple[float, Array]:
    """Rows drawn in proportion to their weights, and the sum of the weights."""
    cumulated = np.cumsum(weights)
    places = np.searchsorted(cumulated, inside * cumulated[-1], side="right")
    return float(cumulated[-1]), rows[np.minimum(places, len(rows) - 1)]


class PassStatistics(NamedTuple):
    """What a pass adds up over the rows."""

    sums: ClusterSums  # weighted sums of each cluster's rows
    n_changed: int  # rows that changed cluster
    n_evaluated: int  # rows whose distances were computed


class Run(NamedTuple):
    """The outcome of one start."""

    centers: Array
    n_iter: int  # passes made
    n_evaluated: int  # rows evaluated in all passes together
    converged: bool  # whether the last loop came to rest, rather than to its limit


def assign_pass(
    block: Block, centers: Array, views: PassViews, fresh: bool
) -> tuple[Array, PassStatistics]:
    """Assign every row of a block by vote; ties stay where they are. A fresh run has no state."""
    before = _state(block, fresh)
    vote = instance_votes if isinstance(views, Draws) else view_votes
    labels, _ = vote(block.rows, centers, views, before["label"])  # type: ignore[arg-type]
    return _finish(block, before, labels, np.zeros(len(labels)), len(labels), len(centers))


def bounded_pass(
    block: Block, centers: Array, views: Array, fresh: bool, drift: Array
) -> tuple[Array, PassStatistics]:
    """Assign as :func:`assign_pass`, skipping rows that cannot change.

    The views are the same in every pass of a run; ``drift`` is what the last move of the centres
    costs the bounds, by cluster.
    """
    before = _state(block, fresh)
    bounds = before["bound"] - drift[before["label"]]
    labels, bounds, n_evaluated = bounded_view_votes(
        block.rows, centers, views, before["label"], bounds
    )
    return _finish(block, before, labels, bounds, n_evaluated, len(centers))


def _state(block: Block, fresh: bool) -> Array:
    if fresh or block.state is None:
        return np.full(len(block.rows), np.array((-1, 0.0), ROW_STATE))
    return np.asarray(block.state)


def _finish(
    block: Block, before: Array, labels: Array, bounds: Array, n_evaluated: int, n_clusters: int
) -> tuple[Array, PassStatistics]:
    after = np.empty(len(labels), ROW_STATE)
    after["label"], after["bound"] = labels, bounds
    sums = cluster_sums(block.rows, block.weights, labels, n_clusters)
    n_changed = int(np.count_nonzero(labels != before["label"]))
    return after, PassStatistics(sums, n_changed, n_evaluated)


def add_statistics(one: PassStatistics, other: PassStatistics) -> PassStatistics:
    """Add those of two blocks."""
    sums = add_cluster_sums(one.sums, other.sums)
    evaluated = one.n_evaluated + other.n_evaluated
    return PassStatistics(sums, one.n_changed + other.n_changed, evaluated)


def farthest_rows(block: Block, centers: Array, n_rows: int) -> tuple[Array, Array, Array, Array]:
    """Find at most ``n_rows`` rows of positive weight farthest from the centres of their labels.

    Gives their distances, the rows, their labels and weights, the farthest first.
    """
    labels = _state(block, fresh=False)["label"]
    distances = own_distances(block.rows, centers, labels)
    distances[block.weights <= 0] = 0.0
    chosen = np.argsort(-distances, kind="stable")[:n_rows]
    return distances[chosen], block.rows[chosen], labels[chosen], block.weights[chosen]


def _next_centers(source: BlockSource, centers: Array, statistics: PassStatistics) -> Array:
    """Means of the clusters; an empty one moves to the row farthest from its own centre.

    Only rows whose cluster has other rows as well are taken.
    """
    sums = ClusterSums(*(field.copy() for field in statistics.sums))
    empty = np.flatnonzero(sums.totals <= 0)
    if len(empty):
        # one row of each other cluster may be its only one, which is not taken
        n_rows = len(empty) + len(centers)
        parts = zip(*source.map(farthest_rows, centers, n_rows), strict=True)
        distances, rows, labels, weights = (np.concatenate(part) for part in parts)
        candidates = iter(np.argsort(-distances, kind="stable"))
        for cluster in empty.tolist():
            for row in candidates:
                if distances[row] > 0 and sums.totals[labels[row]] > weights[row]:
                    move_row(sums, rows[row], weights[row], labels[row], cluster)
                    break
    filled = sums.totals[:, None] > 0
    return np.where(filled, cluster_means(sums), centers).astype(centers.dtype)


def passes(
    source: BlockSource, centers: Array, views_of: Callable[[int], PassViews], prune: bool
) -> Iterator[tuple[Array, float, int, int]]:
    """Assign and update, without end (Algorithm 6, lines 4 to 14).

    ``views_of`` gives the voters of a pass by its number; ``prune`` skips rows that cannot change:
    exact, with the same shared views in each pass. Each pass gives the centres, the sum of their
    squared moves, and the number of rows that changed cluster and whose distances were computed.
    """
    drift = np.zeros(len(centers))
    for index in count():
        views: Any = views_of(index)
        kernel, state = (bounded_pass, (drift,)) if prune else (assign_pass, ())
        if index == 0:
            source.reset()
        call = kernel, centers, views, index == 0, *state
        statistics = source.reduce_with_state(*call, combine=add_statistics)
        moved = _next_centers(source, centers, statistics)
        if prune:
            drift = center_drift(centers, moved, views)
        shift = float(np.square(moved.astype(np.float64) - centers).sum())
        centers = moved
        yield centers, shift, statistics.n_changed, statistics.n_evaluated


def run_until_rest(
    source: BlockSource,
    centers: Array,
    views_of: Callable[[int], PassViews],
    prune: bool,
    max_iter: int,
    tol: float,
    step: Callable[[], bool],
) -> Run:
    """Pass after pass until no row changes, the centres rest, or the limit (Algorithm 6, line 15).

    The centres rest when the sum of their squared moves is at most ``tol``. ``step`` is called
    after each pass, and true to stop.
    """
    total = 0
    for index, done in enumerate(passes(source, centers, views_of, prune), start=1):
        centers, shift, n_changed, n_evaluated = done
        total += n_evaluated
        rests = n_changed == 0 or shift <= tol
        if step() or rests or index == max_iter:
            return Run(centers, index, total, rests)
    raise AssertionError("passes never end by themselves")


def anneal(
    source: BlockSource,
    centers: Array,
    views_of: Callable[[int], PassViews],
    prune: bool,
    n_passes: int,
    step: Callable[[], bool],
) -> Run:
    """Move the centres by voting passes; give their mean over the later half of these.

    A pass that changes no row is the last.
    """
    trail: list[Array] = []
    total = 0
    for moved, _, n_changed, n_evaluated in islice(
        passes(source, centers, views_of, prune), n_passes
    ):
        total += n_evaluated
        trail.append(moved)
        if step() or n_changed == 0:
            break
    last = trail[len(trail) // 2 :] or [centers]
    mean = np.mean(last, axis=0, dtype=np.float64).astype(centers.dtype)
    return Run(mean, len(trail), total, False)


def draw_pass_views(
    n_features: int, draws: Draws, resample: str, max_iter: int, n_final: int
) -> tuple[Callable[[int], PassViews], Array]:
    """Give the views of each pass by its number, and those that judge rows at the end."""
    *seeds, last = draw_seeds(draws.seed, max_iter + 1)
    final = draw_feature_views(n_features, draws._replace(n_views=n_final, seed=last))
    if resample == "fit":
        shared = draw_feature_views(n_features, draws)
        return lambda _: shared, final if n_final != draws.n_views else shared
    if resample == "instance":
        return lambda index: draws._replace(seed=seeds[index]), final
    return lambda index: draw_feature_views(n_features, draws._replace(seed=seeds[index])), final


def mean_variance(source: BlockSource) -> float:
    """Mean over features of the weighted variance, the unit of ``tol``."""
    total, sums = source.reduce(_moments)
    (squares,) = source.reduce(_squares, sums / total)
    return float(squares.mean() / total)


def _moments(block: Block) -> tuple[float, Array]:
    return float(block.weights.sum()), block.weights @ block.rows.astype(np.float64)


def _squares(block: Block, mean: Array) -> tuple[Array]:
    return (block.weights @ np.square(block.rows - mean),)


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


def label_rows(
    block: Block, centers: Array, deciding: Array, views: Array
) -> tuple[Array, tuple[float, Array, Array]]:
    """Label rows by the deciding views, ties to the lowest index; count all views that agree.

    Gives values of dtype ``ROW_LABEL``, and what :func:`cluster_totals` does.
    """
    labels, counts = view_votes(block.rows, centers, deciding)
    if deciding is not views:
        counts = agreeing_views(block.rows, centers, views, labels)
    values = np.empty(len(labels), ROW_LABEL)
    values["label"], values["vote"] = labels, counts / len(views)
    return values, _totals(block, centers, labels)


def cluster_totals(block: Block, centers: Array, deciding: Array) -> tuple[float, Array, Array]:
    """Give the inertia, and number and weight of each cluster's rows, by the deciding views."""
    labels, _ = view_votes(block.rows, centers, deciding)
    return _totals(block, centers, labels)


def _totals(block: Block, centers: Array, labels: Array) -> tuple[float, Array, Array]:
    inertia = float(own_distances(block.rows, centers, labels) @ block.weights)
    counts = np.bincount(labels, minlength=len(centers))
    return inertia, counts, np.bincount(labels, block.weights, len(centers))


def labelled_blocks(model: Any, source: BlockSource) -> Iterator[tuple[Array, ClusterSums]]:
    """Label the rows of a fitted model's source block by block, and add up each cluster's rows."""
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
        Where to start: rows far apart (sought among 100,000, or 100 for each cluster), random rows,
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
        weights = positive_weights(sample_weight, source.placeholder) if given else None
        with source.begin(weights) as rows:
            self._check_range(column_range(rows).largest, rows)
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
        assert best is not None  # noqa: S101  there is at least one start
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
        """Run one start; give also the views that judge rows at the end."""
        annealed, prune = self.schedule == "anneal", self.resample == "fit"
        n_final = FINAL_VIEWS * self.n_views if annealed else self.n_views
        views: Any
        views_of, views = draw_pass_views(
            centers.shape[1], draws, self.resample, self.max_iter, n_final
        )
        if not annealed:
            # centres under ever new views do not rest; Algorithm 6 asks for unchanged labels
            limit = tol if prune else -1.0
            run = run_until_rest(source, centers, views_of, prune, self.max_iter, limit, step)
            if self.resample == "iteration":
                views = views_of(run.n_iter - 1)
            return run, views
        n_votes = min(ANNEALED_PASSES, self.max_iter // 2)
        voted = anneal(source, centers, views_of, prune, n_votes, step)
        deciding, n_left = self._deciding(views), self.max_iter - voted.n_iter
        run = run_until_rest(source, voted.centers, lambda _: deciding, True, n_left, tol, step)
        n_iter, n_evaluated = run.n_iter + voted.n_iter, run.n_evaluated + voted.n_evaluated
        return run._replace(n_iter=n_iter, n_evaluated=n_evaluated), views

    @guarded_fit
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> InnerKMeans:
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
            fitted: InnerKMeans = self.fit(X, sample_weight=sample_weight)
            return fitted
        if len(self.cluster_centers_) != self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters}, but the stream began with "
                f"{len(self.cluster_centers_)} clusters: call fit to start anew."
            )
        source, centers = self._new_source(X, sample_weight)
        views: PassViews = self.views_
        if self.resample != "fit":
            n_features = source.shape[1]
            n_draws = check_view_size(n_features, self.view_size, self.replace)
            seed = draw_seeds(self.random_state, self.n_iter_ + 1)[-1]
            views = Draws(self.n_views, n_draws, self.replace, seed)
            if self.resample == "iteration":
                views = draw_feature_views(n_features, views)
        call = assign_pass, centers, views, True
        found = source.begin().reduce_with_state(*call, combine=add_statistics)
        moved, weights = step_towards(centers, self.cluster_weights_, found.sums)
        evaluated = self.n_evaluations_ + found.n_evaluated
        run = Run(moved, self.n_iter_ + 1, evaluated, converged=True)
        self._store(source, run, self.views_, weights)
        return self

    def _deciding(self, views: Array) -> Array:
        """Give the views that decide on labels at the end and in ``predict``."""
        usual = "vote" if self.schedule == "paper" else "nearest"
        # one view of everything is plain K-means
        by_vote = (usual if self.assign == "auto" else self.assign) == "vote"
        return views if by_vote else np.ones((1, views.shape[1]))

    def _store(
        self, source: BlockSource, run: Run, views: Array, weights: Array | None = None
    ) -> None:
        """Label all rows and set the fitted attributes; a stream has weights of its own."""
        values, (inertia, counts, own_weights) = source.collect(
            label_rows, run.centers, self._deciding(views), views
        )
        for name, field in (("labels_", "label"), ("votes_", "vote")):
            self.__dict__.pop(name, None)  # that of an earlier fit
            if values is not None:  # else the source keeps them
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
                "too few distinct rows. Ask for fewer clusters.",
                ConvergenceWarning,
            )
        elif not run.converged:
            advice = "Raise max_iter or tol."
            if self.schedule == "paper" and self.resample != "fit":
                advice = (
                    f"With resample={self.resample!r} every pass has new views, so they seldom "
                    "rest. Use schedule='anneal' or resample='fit' to converge."
                )
            warn_user(
                f"Rows still change cluster after max_iter={self.max_iter} passes. {advice}",
                ConvergenceWarning,
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
        source, centers = self._new_source(X)
        values, _ = source.collect(label_rows, centers, self._deciding(self.views_), self.views_)
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
        source, centers = self._new_source(X, sample_weight)
        return -source.reduce(cluster_totals, centers, self._deciding(self.views_))[0]

    def _new_source(self, X: Any, sample_weight: Any = None) -> tuple[MemoryBlocks, Array]:
        """Read new rows, and give the centres in their precision."""
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
        """Refuse values whose squares overflow when they are added up over all rows."""
        # a view's distance adds at most draws * (2 * largest)^2, and inertia adds the rows
        heaviest, size = max(1.0, float(self.view_size)), rows.shape[0] * rows.shape[1]
        limit = np.sqrt(np.finfo(rows.dtype).max / (4.0 * max(size, 1) * heaviest))
        if largest > limit:
            raise ValueError(
                f"X has values up to {largest:.3g}; squared distances overflow {rows.dtype} above "
                f"{limit:.3g}. Scale the features, for instance with StandardScaler."
            )

    def _check_fitted(self) -> None:
        """Refuse prototypes and views that no fit makes, before compiled code reads them."""
        sizes = {"clusters": self.n_clusters, "features": self.n_features_in_}
        expect_fitted(self, FITTED, **sizes)
        expect(len(self.views_) > 0, "there are no views")
        expect(self._n_features_out == self.n_clusters, "_n_features_out is another number")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
