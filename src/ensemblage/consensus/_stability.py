"""Cluster stability, the choice of the number of clusters, and their display."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array

from ensemblage._core import count, draw_seeds, require, run_tasks, set_module, set_seed
from ensemblage.consensus._stability_kernels import resampled_pairs
from ensemblage.evaluation import nmi_score

Array = NDArray[Any]
Doubles = NDArray[np.float64]

# Largest number of clusters tried by default.
MAX_CLUSTERS = 15
# Fewest rows per cluster, on average, for a number of clusters tried by default.
ROWS_PER_CLUSTER = 5
# Most pairs of rows evaluated; of more pairs a random sample is drawn.
MAX_PAIRS = 20_000
# Fraction of the rows in each subsample.
SAMPLED_SHARE = 0.8
# Initialisations of K-means per subsample.
N_STARTS = 3
# The largest number of clusters within this distance of the highest relative stability is chosen.
STABILITY_TOLERANCE = 0.05
# Consensus values at which the empirical distribution function is evaluated.
GRID = np.linspace(0, 1, 101)
# A pair of rows is ambiguous if its consensus lies between these values.
AMBIGUOUS = (0.1, 0.9)
DISPLAY_KINDS = ("stability", "cdf", "delta-area")


def stability_score(
    estimator: Any,
    X: Any,
    y: Any = None,  # noqa: ARG001  a scorer is called with it
    *,
    n_starts: int = 8,
    random_state: Any = 0,
) -> float:
    r"""Stability of a clusterer over random initialisations.

    The estimator is cloned and fitted on ``X`` from several seeds; the score is the mean NMI of
    each pair of clusterings. It has the signature of a scorer, so that ``GridSearchCV`` can choose
    hyperparameters without labels.

    Parameters
    ----------
    estimator : clusterer
        Anything with ``fit_predict`` and a ``random_state``, a pipeline included.
    X : array-like of shape (n_samples, n_features)
        The data; in a search, the test part of a split.
    y : None
        Ignored.
    n_starts : int, default=8
        Number of initialisations, at least two.
    random_state : int, RandomState instance or None, default=0
        Determines the seeds. A fixed value compares all hyperparameters on the same seeds.

    Returns
    -------
    float
        Between 0 and 1; higher is better. A single cluster of all rows is perfectly stable, so
        compare hyperparameters at the same number of clusters.

    Notes
    -----
    :math:`\frac{2}{m(m-1)} \sum_{a<b} \mathrm{NMI}(c_a, c_b)` over the clusterings
    :math:`c_1 \dots c_m`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import GridSearchCV, ShuffleSplit
    >>> from ensemblage.consensus import stability_score
    >>> from ensemblage.inner import InnerKMeans
    >>> X = load_wine().data
    >>> search = GridSearchCV(
    ...     InnerKMeans(3, random_state=0), {"n_views": [10, 50], "view_size": [0.3, 0.6]},
    ...     scoring=stability_score, cv=ShuffleSplit(1, test_size=0.5, random_state=0),
    ... ).fit(X)
    >>> sorted(search.best_params_)
    ['n_views', 'view_size']
    """
    if n_starts < 2:
        raise ValueError(
            f"n_starts={n_starts} gives no pair of clusterings to compare; set it to at least 2."
        )
    labels = [
        set_seed(clone(estimator), seed).fit_predict(X)
        for seed in draw_seeds(random_state, n_starts)
    ]
    return float(np.mean([nmi_score(one, other) for one, other in combinations(labels, 2)]))


def _ambiguity(cdf: Doubles) -> Doubles:
    low, high = np.searchsorted(GRID, AMBIGUOUS)
    return np.asarray(cdf[:, high - 1] - cdf[:, low])


@set_module("ensemblage.consensus")
@dataclass(frozen=True)
class StabilityCurve:
    """Stability of clusterings of subsamples, for each number of clusters."""

    n_clusters: NDArray[np.int64]  # (n_tried,)
    cdf: Doubles  # (n_tried, 101): fraction of pairs with consensus at most 0, .01, ..., 1
    references: Doubles  # (n_references, n_tried): ambiguity of the null references

    @property
    def ambiguity(self) -> Doubles:
        """Proportion of ambiguous pairs (PAC), for each number of clusters."""
        return _ambiguity(self.cdf)

    @property
    def relative_stability(self) -> Doubles:
        """One minus the ambiguity divided by the mean ambiguity of the null references."""
        expected = np.maximum(self.references.mean(axis=0), 1e-12)
        return np.asarray(1 - self.ambiguity / expected)

    @property
    def exceeds_references(self) -> bool:
        """Whether the highest stability, over the numbers of clusters, is above every reference's.

        Each dataset is compared with the mean of all others. For rows without clusters this has a
        probability of 1 / (1 + number of references).
        """
        every = np.vstack([self.ambiguity, self.references])
        others = (every.sum(axis=0) - every) / (len(every) - 1)
        highest = (1 - every / np.maximum(others, 1e-12)).max(axis=1)
        return bool(highest[0] > highest[1:].max())

    @property
    def area(self) -> Doubles:
        """Area under each distribution function of the consensus."""
        return np.asarray((self.cdf[:, :-1] + self.cdf[:, 1:]).mean(axis=1) / 2)

    @property
    def delta_area(self) -> Doubles:
        """Relative increase of the area over the previous number of clusters; first, the area."""
        area = self.area
        return np.concatenate([area[:1], np.diff(area) / np.maximum(area[:-1], 1e-12)])

    @property
    def best_n_clusters(self) -> int:
        """The largest number of clusters within .05 of the highest relative stability.

        Only numbers whose ambiguity is below that of every null reference qualify. 1 if none does,
        or if the highest stability is not above that of every reference, whatever its number of
        clusters. Where clusters are nested, fewer clusters are stable too, hence the largest.
        """
        qualifies = self.ambiguity < self.references.min(axis=0)
        stability = np.where(qualifies, self.relative_stability, -np.inf)
        if stability.max() < 0 or not self.exceeds_references:
            return 1
        near_best = stability >= stability.max() - STABILITY_TOLERANCE
        return int(self.n_clusters[np.flatnonzero(near_best)[-1]])

    @property
    def reason(self) -> str:
        """Why this number of clusters was chosen."""
        best, counts = self.best_n_clusters, self.n_clusters
        tried = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
        if best == 1:
            return (
                f"1 cluster: with {tried} clusters, clusterings of subsamples are no more stable "
                "than in a null reference (data without clusters)."
            )
        place = int(np.flatnonzero(counts == best)[0])
        return (
            f"{best} clusters chosen from {tried}: the largest k within {STABILITY_TOLERANCE} of "
            "the highest stability relative to a null reference. Clusterings of subsamples "
            f"disagree on {self.ambiguity[place]:.0%} of row pairs (null reference: "
            f"{self.references[:, place].mean():.0%}; p = {1 / (1 + len(self.references)):.2g})."
        )


def stability_curve(
    X: Any,
    n_clusters: Iterable[int] | None = None,
    *,
    n_partitions: int = 30,
    n_references: int = 5,
    max_rows: int | None = 1000,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> StabilityCurve:
    """Measure the stability of K-means over subsamples of the rows, for each number of clusters.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data; scale the features as for K-means.
    n_clusters : iterable of int, default=None
        Numbers of clusters to try, at least 2; by default 2 to 15, or up to ``n_samples // 5`` if
        that is less.
    n_partitions : int, default=30
        Number of subsamples of 80 % of the rows, each clustered by K-means with three
        initialisations.
    n_references : int, default=5
        Number of null reference datasets: normal rows with the covariance of the data.
    max_rows : int or None, default=1000
        If there are more rows, a random sample of this size is used; None uses all rows.
    n_jobs : int, default=None
        Number of datasets (the data and the references) processed in parallel, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Determines subsamples, initialisations and references.

    Returns
    -------
    StabilityCurve
        ``best_n_clusters`` is the number of clusters chosen, and ``reason`` says why. For each
        number in ``n_clusters``, ``ambiguity`` is the proportion of ambiguous pairs of rows,
        ``references`` the same in the null references, ``relative_stability`` one minus their
        ratio, and ``cdf`` the distribution function of the consensus, with its ``area`` and
        ``delta_area``.

    See Also
    --------
    ClusterStabilityDisplay : Plots the curve.

    Notes
    -----
    The consensus of a pair of rows is the fraction of the clusterings that put both in one cluster,
    among those that sampled both. A pair is ambiguous if its consensus is above .1 and below .9;
    the fraction of such pairs is the proportion of ambiguous clustering (PAC). It decreases with
    the number of clusters in any data, since fewer pairs share a cluster, so it is compared with
    null references: normal rows with the covariance of the data.

    The chosen number of clusters is the largest whose relative stability, one minus the PAC of the
    data divided by the mean PAC of the references, is within .05 of the highest, among those whose
    PAC is below that of every reference; 1 if there is none, or if the highest relative stability
    is not above that of every reference, each with its own best number. Normal rows without
    clusters are thus taken for clusters with a probability of 1 / (1 + n_references), one in six by
    default; uniformly distributed rows more often.

    References
    ----------
    S. Monti, P. Tamayo, J. Mesirov, T. Golub. Consensus Clustering. Machine Learning 52, 2003.

    Y. Senbabaoglu, G. Michailidis, J. Z. Li. Critical Limitations of Consensus Clustering in Class
    Discovery. Scientific Reports 4, 2014.

    C. R. John et al. M3C: Monte Carlo Reference-Based Consensus Clustering. Scientific Reports
    10, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ensemblage.consensus import stability_curve
    >>> curve = stability_curve(scale(load_wine().data), range(2, 7), random_state=0)
    >>> curve.best_n_clusters
    3
    """
    X = check_array(X, dtype=np.float64, ensure_min_samples=2)
    counts = _cluster_counts(n_clusters, len(X))
    sample_seed, *seeds = draw_seeds(random_state, n_references + 2)
    if max_rows is not None and len(X) > max_rows:
        X = X[np.random.default_rng(sample_seed).choice(len(X), max_rows, replace=False)]
    rows = _principal(X)
    tasks = [(rows, index > 0, counts, n_partitions, seed) for index, seed in enumerate(seeds)]
    data, *others = run_tasks(_consensus_cdf, tasks, n_jobs)
    return StabilityCurve(counts, data, np.array([_ambiguity(cdf) for cdf in others]))


def _cluster_counts(n_clusters: Iterable[int] | None, n_rows: int) -> NDArray[np.int64]:
    if n_clusters is None:
        most = max(2, min(MAX_CLUSTERS, n_rows // ROWS_PER_CLUSTER))
        return np.arange(2, most + 1)
    counts = np.unique(np.array(list(n_clusters), dtype=np.int64))
    most = int(SAMPLED_SHARE * n_rows)
    if not len(counts) or counts[0] < 2 or counts[-1] > most:
        raise ValueError(
            f"n_clusters={counts.tolist()} must be integers from 2 to {most} "
            f"({SAMPLED_SHARE:.0%} of {count(n_rows, 'row')}). Omit n_clusters to try 2 to "
            f"{MAX_CLUSTERS}."
        )
    return counts


def _principal(X: Array) -> Doubles:
    """Principal component scores, whose covariance is diagonal."""
    left, scales, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    kept = scales > 1e-10 * max(scales[0], 1e-300)
    return np.ascontiguousarray((left * scales)[:, kept if kept.any() else slice(1)])


def _consensus_cdf(
    rows: Doubles, reference: bool, counts: Array, n_partitions: int, seed: int
) -> Doubles:
    """Distribution function of the consensus on the grid, for each number of clusters."""
    rng = np.random.default_rng(seed)
    n_rows = len(rows)
    if reference:
        rows = rng.normal(size=rows.shape) * rows.std(axis=0)
    pairs = _pairs(n_rows, rng)
    n_sampled = max(2, int(SAMPLED_SHARE * n_rows))
    cdf = np.empty((len(counts), len(GRID)))
    for place, n_clusters in enumerate(counts):
        draws = [rng.choice(n_rows, n_sampled, replace=False) for _ in range(n_partitions)]
        n_trials = 2 + int(np.log(n_clusters))
        uniforms = rng.random((n_partitions, N_STARTS, int(n_clusters), n_trials))
        together, sampled = resampled_pairs(rows, np.array(draws), uniforms, pairs)
        known = sampled > 0
        consensus = np.sort(together[known] / sampled[known])
        cdf[place] = np.searchsorted(consensus, GRID, side="right") / max(len(consensus), 1)
    return cdf


def _pairs(n_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All pairs of different rows, or ``MAX_PAIRS`` drawn at random."""
    if n_rows * (n_rows - 1) // 2 <= MAX_PAIRS:
        return np.stack(np.triu_indices(n_rows, 1), axis=1)
    one = rng.integers(n_rows, size=MAX_PAIRS)
    return np.stack([one, (one + rng.integers(1, n_rows, size=MAX_PAIRS)) % n_rows], axis=1)


@set_module("ensemblage.consensus")
class ClusterStabilityDisplay:
    """Plots of a stability curve, as in consensus clustering.

    Parameters
    ----------
    curve : StabilityCurve
        Result of :func:`ensemblage.consensus.stability_curve`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    lines_ : list of matplotlib Line2D
        The plotted lines.

    See Also
    --------
    ensemblage.consensus.stability_curve : Computes the curve.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ensemblage.consensus import ClusterStabilityDisplay, stability_curve
    >>> X, _ = make_blobs(120, centers=4, cluster_std=0.5, random_state=2)
    >>> curve = stability_curve(X, range(2, 8), random_state=0)
    >>> display = ClusterStabilityDisplay.from_curve(curve, kind="cdf")
    >>> len(display.lines_)
    6
    """

    def __init__(self, curve: StabilityCurve) -> None:
        self.curve = curve

    @classmethod
    def from_curve(
        cls, curve: StabilityCurve, *, kind: str = "stability", ax: Any = None
    ) -> ClusterStabilityDisplay:
        """Plot a stability curve.

        Parameters
        ----------
        curve : StabilityCurve
            Result of :func:`ensemblage.consensus.stability_curve`.
        kind : {"stability", "cdf", "delta-area"}, default="stability"
            Kind of plot, see :meth:`plot`.
        ax : matplotlib Axes, default=None
            Axes to plot on; a new figure if None.

        Returns
        -------
        ClusterStabilityDisplay
            The display with the plot.
        """
        return cls(curve).plot(kind=kind, ax=ax)

    def plot(self, *, kind: str = "stability", ax: Any = None) -> ClusterStabilityDisplay:
        """Plot the curve.

        Parameters
        ----------
        kind : {"stability", "cdf", "delta-area"}, default="stability"
            ``"stability"``: the proportion of ambiguous pairs of rows in the data and in the null
            references. ``"cdf"``: the distribution function of the consensus for each number of
            clusters; it is flat in the middle where clusterings agree. ``"delta-area"``: the
            relative increase of the area under that function over the previous number.
        ax : matplotlib Axes, default=None
            Axes to plot on; a new figure if None.

        Returns
        -------
        ClusterStabilityDisplay
            The display.
        """
        if kind not in DISPLAY_KINDS:
            raise ValueError(f"kind={kind!r} is not one of: {', '.join(DISPLAY_KINDS)}.")
        plt = require("matplotlib.pyplot", "ClusterStabilityDisplay", extra="plot")
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        draw = {"stability": self._draw_stability, "cdf": self._draw_cdf}
        self.lines_ = draw.get(kind, self._draw_delta_area)(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_stability(self, ax: Any) -> list[Any]:
        curve = self.curve
        counts, references = curve.n_clusters, curve.references
        ax.fill_between(counts, references.min(axis=0), references.max(axis=0), alpha=0.25,
                        color="gray", linewidth=0)  # fmt: skip
        without = ax.plot(counts, references.mean(axis=0), "--", color="gray",
                          label="null reference")  # fmt: skip
        data = ax.plot(counts, curve.ambiguity, "o-", label="data")
        if curve.best_n_clusters > 1:
            ax.axvline(curve.best_n_clusters, color="black", linewidth=0.8, linestyle=":")
        ax.set(xticks=counts, xlabel="number of clusters")
        ax.set_ylabel("proportion of ambiguous pairs (PAC)")
        ax.set_ylim(bottom=0)
        ax.legend()
        return [*data, *without]

    def _draw_cdf(self, ax: Any) -> list[Any]:
        curve = self.curve
        grid = np.linspace(0, 1, curve.cdf.shape[1])
        shades = np.linspace(0.15, 0.9, len(curve.n_clusters))
        colors = require("matplotlib", "ClusterStabilityDisplay", extra="plot").colormaps["viridis"]
        lines = [
            ax.plot(grid, each, color=colors(shade), label=str(number))[0]
            for each, shade, number in zip(curve.cdf, shades, curve.n_clusters, strict=True)
        ]
        ax.set_xlabel("consensus of a pair of rows")
        ax.set_ylabel("cumulative proportion of pairs")
        ax.legend(title="clusters", fontsize="small")
        return lines

    def _draw_delta_area(self, ax: Any) -> list[Any]:
        lines: list[Any] = ax.plot(self.curve.n_clusters, self.curve.delta_area, "o-")
        ax.set(xticks=self.curve.n_clusters, xlabel="number of clusters")
        ax.set_ylabel("relative change in area under the CDF")
        return lines
