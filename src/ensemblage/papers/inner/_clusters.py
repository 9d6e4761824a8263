"""Inner K-means: Tables 2 and 3, and the noise experiment."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif
from sklearn.preprocessing import StandardScaler

from ensemblage.consensus import CSPA, HGPA, MCLA, EvidenceAccumulation, stability_score
from ensemblage.datasets import Dataset
from ensemblage.evaluation import nmi_score, purity_score
from ensemblage.inner import Draws, InnerKMeans, draw_feature_views
from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_dataset,
    paper_table,
    read_printed,
    repeat_seed,
)
from ensemblage.papers._summaries import (
    Groups,
    Repeats,
    averaged,
    best_of,
    by_repeat,
    closeness,
    complete_scores,
    failed,
    friedman,
    gain_sentence,
    grouped,
    mean_rows,
)
from ensemblage.papers.inner._networks import (
    ALL,
    BEST,
    IMPROVING,
    SELECTION_NOTE,
    selection_rows,
    setting_values,
    share_row,
)
from ensemblage.studies import CellResult, ResultRow, ResultTable

Array = NDArray[Any]
Score: TypeAlias = Callable[[Array, Array], float]
"""Score of class labels and cluster labels."""
Views: TypeAlias = tuple[int, float]
"""Ensemble size, and fraction of the features drawn with replacement."""
Ensembles: TypeAlias = tuple[tuple[int, ...], float]
"""Sizes of nested cluster ensembles, and fraction of the features."""

# Most rows per start.
N_ROWS = 500
# One balanced cut each, as in the paper.
GRAPH_METHODS: dict[str, Callable[..., Any]] = {
    "CSPA": partial(CSPA, balance=0.03, n_cuts=1),
    "MCLA": MCLA,
    "HGPA": partial(HGPA, balance=0.05, n_cuts=1),
}
LINKAGES = ("single", "average", "complete")
# Starts per cell of the cluster ensembles, which are slow.
CONSENSUS_BLOCK = 10


class Start(NamedTuple):
    """Rows of one start, and the initial centres of all methods.

    ``centers``, of shape (n_clusters, n_features), are randomly drawn rows, as many as classes; the
    seed determines all further draws.
    """

    X: Array
    y: Array
    centers: Array
    seed: int


class StartParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Starts of one dataset in a cell."""

    dataset: str
    first: int
    starts: int
    seed: int


def starts_of(params: StartParams, data_dir: str | None) -> list[Start]:
    """Draw the starts of a cell, the same for all methods."""
    dataset = paper_dataset(params.dataset, data_dir)
    X = numeric_features(dataset)
    indices = range(params.first, params.first + params.starts)
    return [draw_start(X, dataset.y, N_ROWS, repeat_seed(params.seed, i)) for i in indices]


def consensus_blocks(n_starts: int) -> list[tuple[int, int]]:
    """Divide the starts of a slow method into cells: first start and number of starts."""
    return [
        (first, min(CONSENSUS_BLOCK, n_starts - first))
        for first in range(0, n_starts, CONSENSUS_BLOCK)
    ]


def numeric_features(dataset: Dataset) -> Array:
    """Numeric columns unchanged, categorical columns ordinal-encoded, as in the paper."""
    columns = []
    for name, kind, column in zip(dataset.feature_names, dataset.kinds, dataset.X.T, strict=True):
        if kind == "categorical":
            known = dataset.categories.get(name) or sorted(set(column))
            codes = {category: index for index, category in enumerate(known)}
            columns.append([codes[category] for category in column])
        else:
            columns.append(column)
    return np.array(columns, dtype=np.float64).T.copy()


def draw_start(X: Array, y: Array, n_rows: int, seed: int) -> Start:
    """Draw at most ``n_rows`` rows without replacement, and initial centres among them."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(X))[:n_rows] if len(X) > n_rows else np.arange(len(X))
    X, y = X[chosen], y[chosen]
    first = rng.choice(len(X), size=len(np.unique(y)), replace=False)
    return Start(X, y, X[first].copy(), seed)


def add_noise(start: Start, share: float) -> Start:
    """Replace a fraction of the values in the more significant half of the features by noise.

    The noise is uniform. The initial centres are drawn again, from the noisy rows.
    """
    rng = np.random.default_rng(start.seed + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a constant feature has no F statistic
        strength = np.nan_to_num(f_classif(start.X, start.y)[0])
    X = start.X.copy()
    for feature in np.argsort(-strength, kind="stable")[: max(1, round(X.shape[1] / 2))]:
        hit = rng.random(len(X)) < share
        low, high = X[:, feature].min(), X[:, feature].max()
        X[hit, feature] = rng.uniform(low, high, hit.sum())
    first = rng.choice(len(X), size=len(start.centers), replace=False)
    return start._replace(X=X, centers=X[first].copy())


def standardise(start: Start) -> Start:
    """Scale the features of rows and centres to mean 0 and variance 1."""
    scaler = StandardScaler().fit(start.X)
    return start._replace(X=scaler.transform(start.X), centers=scaler.transform(start.centers))


def plain_labels(start: Start) -> Array:
    model = KMeans(len(start.centers), init=start.centers, n_init=1, tol=0.0)
    return _quietly(model, start.X)


def inner_labels(start: Start, views: Views, max_iter: int, **options: Any) -> Array:
    """Cluster by Inner K-means as in Algorithm 6, with new views in each pass."""
    n_views, view_size = views
    model = InnerKMeans(
        len(start.centers), n_views=n_views, view_size=view_size, schedule="paper",
        init=start.centers, max_iter=max_iter, random_state=start.seed, **options,
    )  # fmt: skip
    return _quietly(model, start.X)


def view_partitions(start: Start, views: Views) -> Array:
    """Cluster by K-means on each feature view: a cluster ensemble of shape (n_views, n_rows)."""
    (n_views, view_size), n_features = views, start.X.shape[1]
    n_draws = max(1, round(view_size * n_features))
    drawn = draw_feature_views(n_features, Draws(n_views, n_draws, True, start.seed))
    rng = np.random.default_rng(start.seed + 2)
    partitions = []
    for view in drawn:
        seen = np.ascontiguousarray((start.X * np.sqrt(view))[:, view > 0])
        first = seen[rng.choice(len(seen), size=len(start.centers), replace=False)]
        partitions.append(_quietly(KMeans(len(first), init=first, n_init=1), seen))
    return np.array(partitions)


def graph_labels(partitions: Array, n_clusters: int, seed: int) -> dict[str, Array]:
    """Combine partitions by each graph-based method of the paper."""
    return {
        name: method(n_clusters, random_state=seed).fit_partitions(partitions).labels_
        for name, method in GRAPH_METHODS.items()
    }


def linkage_labels(partitions: Array, n_clusters: int, seed: int) -> dict[str, Array]:  # noqa: ARG001
    """Combine partitions by each linkage of the paper; deterministic."""
    return {
        linkage: EvidenceAccumulation(n_clusters, linkage=linkage)
        .fit_partitions(partitions)
        .labels_
        for linkage in LINKAGES
    }


CONSENSUS: dict[str, Callable[[Array, int, int], dict[str, Array]]] = {
    "graph": graph_labels,
    "linkage": linkage_labels,
}
CONSENSUS_NAMES = {"graph": tuple(GRAPH_METHODS), "linkage": LINKAGES}


def consensus_key(measure: str, name: str, size: int) -> str:
    """Key of the scores of a consensus method in a cell, such as "nmi:MCLA:20"."""
    return f"{measure}:{name}:{size}"


def consensus_scores(
    groups: Sequence[str],
    starts: Sequence[Start],
    ensembles: Ensembles,
    measures: Mapping[str, Score],
) -> dict[str, list[float]]:
    """Score consensus clusterings of feature views, by the methods of groups in ``CONSENSUS``.

    Returns one score per start for each key.
    """
    sizes, view_size = ensembles
    scores: dict[str, list[float]] = {}
    for start in starts:
        partitions = view_partitions(start, (max(sizes), view_size))
        for size, group in product(sizes, groups):
            found = CONSENSUS[group](partitions[:size], len(start.centers), start.seed)
            for (name, labels), (measure, score) in product(found.items(), measures.items()):
                key = consensus_key(measure, name, size)
                scores.setdefault(key, []).append(score(start.y, labels))
    return scores


def _quietly(model: Any, X: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit_predict(X))


IMPROVED = "improved"
PLAIN = "K-means"
STABLE = "inner, chosen by stability"
GRAPH = "graph-based, all settings"
GRAPH_BEST = "graph-based, best setting"
LINKAGE = "linkage, all settings"
LINKAGE_BEST = "linkage, best setting"
COLUMNS = (PLAIN, ALL, IMPROVING, BEST, STABLE, GRAPH, GRAPH_BEST, LINKAGE, LINKAGE_BEST)
GROUPS = {"graph": (GRAPH, GRAPH_BEST), "linkage": (LINKAGE, LINKAGE_BEST)}
MODE = "with replacement"


def _summary(rows: Sequence[ResultRow]) -> list[str]:
    sentences = closeness(rows)
    for column in (ALL, IMPROVING, STABLE):
        scores = complete_scores(rows, (PLAIN, column))[1]
        sentences += gain_sentence(column, PLAIN, list(scores[:, 1] - scores[:, 0]), 3)
    average, best = (PLAIN, IMPROVING, GRAPH, LINKAGE), (PLAIN, BEST, GRAPH_BEST, LINKAGE_BEST)
    for columns in (average, best):
        sentences += friedman(rows, columns, "paper")
        sentences += friedman(rows, columns)
    sentences += friedman(rows, (PLAIN, STABLE, GRAPH, LINKAGE))
    if any(row.paper is not None for row in rows):
        sentences.append(
            "The paper prints two digits, which makes ties; its own statistics, smaller, are those "
            "of the printed columns without the correction for ties."
        )
    return sentences


MEASURES: dict[str, Score] = {"nmi": nmi_score, "purity": purity_score}
MAX_ITER = 30


class ClusterParams(StartParams, frozen=True, omit_defaults=True, kw_only=True):
    """One method with one setting; K-means has none, and stability is of the inner ensemble only.

    The cluster ensembles of all ``sizes`` are nested, and share a cell.
    """

    method: str
    n_views: int | None = None
    view_size: float | None = None
    stability_starts: int | None = None
    sizes: tuple[int, ...] = ()


class ClusterGrid(NamedTuple):
    """Settings and numbers of starts; the slow cluster ensembles have fewer of both."""

    settings: tuple[Views, ...]
    starts: int
    ensembles: tuple[Ensembles, ...]
    consensus_starts: int
    stability_starts: int


def _views(sizes: Sequence[int], shares: Sequence[float]) -> tuple[Views, ...]:
    return tuple(product(sizes, shares))


def _ensembles(sizes: Sequence[int], shares: Sequence[float]) -> tuple[Ensembles, ...]:
    return tuple((tuple(sizes), share) for share in shares)


QUICK = ClusterGrid(_views([10], [0.5, 0.9]), 10, _ensembles([10], [0.5]), 2, stability_starts=4)
STANDARD = ClusterGrid(
    _views([10, 50, 100], [0.1, 0.3, 0.5, 0.7, 0.9]), 30, _ensembles([20], [0.3, 0.5, 0.7]), 5,
    stability_starts=8,
)  # fmt: skip
SIZES = range(10, 101, 10)
SHARES = [share / 10 for share in range(1, 11)]
FULL = ClusterGrid(_views(SIZES, SHARES), 30, _ensembles(SIZES, SHARES), 30, stability_starts=8)


class ClusterTable(PaperTable[ClusterGrid]):
    """One measure of the clusterings; the tables share their cells."""

    scales = Scales(QUICK, STANDARD, FULL)
    family = "inner-clusters"
    measure: str
    """Name of the measure in the cells."""
    measure_title: str

    def grid(self, scope: PaperScope) -> Iterator[ClusterParams]:
        """Datasets first; the slow cluster ensembles last."""
        grid = self.scale_of(scope)
        blocks = consensus_blocks(grid.consensus_starts)
        for name in scope.datasets:
            params = partial(ClusterParams, dataset=name, seed=scope.seed)
            yield params(method="kmeans", first=0, starts=grid.starts)
            for n_views, view_size in grid.settings:
                yield params(
                    method="inner", n_views=n_views, view_size=view_size, first=0,
                    starts=grid.starts, stability_starts=grid.stability_starts,
                )  # fmt: skip
            for (sizes, view_size), (first, starts) in product(grid.ensembles, blocks):
                yield params(
                    method="consensus", sizes=sizes, view_size=view_size, first=first, starts=starts
                )

    @staticmethod
    @paper_cell(ClusterParams)
    def compute(params: ClusterParams, data_dir: str | None) -> dict[str, Any]:
        starts = starts_of(params, data_dir)
        if params.view_size is None:
            return _scores(starts, [plain_labels(start) for start in starts])
        if params.n_views is None or params.stability_starts is None:
            ensembles = params.sizes, params.view_size
            return consensus_scores(list(CONSENSUS), starts, ensembles, MEASURES)
        views = params.n_views, params.view_size
        values = _scores(starts, [inner_labels(start, views, MAX_ITER) for start in starts])
        return {**values, "stability": _agreement(starts[0], views, params.stability_starts)}

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Compare the scores with the paper's, and count the settings that improve on K-means."""
        groups = grouped(results, "dataset", "method", "n_views", "view_size")
        rows, shares = [], []
        for name in scope.datasets:
            plain_cells = groups.get((name, "kmeans", None, None), [])
            settings = self.scale_of(scope).settings
            cells = [groups.get((name, "inner", *views), []) for views in settings]
            plain, inner = by_repeat(plain_cells, self.measure), setting_values(cells, self.measure)
            done = [part for part in cells if part and not failed(part)]
            stable = max(done, key=_stability, default=[])
            rows += [
                self.entry(name, PLAIN, plain, failed(plain_cells)),
                *selection_rows(self, name, inner, plain),
                self.entry(name, STABLE, by_repeat(stable, self.measure), inner.failures),
                *(
                    row
                    for group in GROUPS
                    for row in self._consensus_rows(name, group, groups, scope)
                ),
            ]
            improved = self.printed.value(name, IMPROVED)
            shares.append(share_row(name, MODE, inner, plain, improved))
        return [
            ResultTable(
                self.name, self.printed.title, self.measure_title,
                [*rows, *mean_rows(rows, COLUMNS)], _summary(rows),
                (SELECTION_NOTE, *self.printed.notes, *scope.missing_notes), greater_is_better=True,
            ),
            ResultTable(
                f"{self.name}-improved", "Settings that beat K-means", "share of settings (%)",
                [*shares, *mean_rows(shares, (MODE,))], closeness(shares, 0),
                ("A setting of no effect would beat it about half of the time.",),
            ),
        ]  # fmt: skip

    def _consensus_rows(
        self, name: str, group: str, groups: Groups, scope: PaperScope
    ) -> list[ResultRow]:
        """Best method of a group at each setting."""
        chosen: list[Repeats] = []
        failures = 0
        for sizes, view_size in self.scale_of(scope).ensembles:
            part = groups.get((name, "consensus", None, view_size), [])
            failures += failed(part)
            for size in sizes:
                keys = (consensus_key(self.measure, each, size) for each in CONSENSUS_NAMES[group])
                known = [values for values in (by_repeat(part, key) for key in keys) if values]
                chosen += [best_of(known)] if known else []
        average, highest = GROUPS[group]
        return [
            self.entry(name, average, averaged(chosen), failures),
            self.entry(name, highest, best_of(chosen), failures),
        ]


def _stability(part: Sequence[CellResult]) -> float:
    value: Any = part[0].values["stability"]
    return float(value)


def _scores(starts: Sequence[Start], labels: Sequence[Array]) -> dict[str, list[float]]:
    pairs = list(zip(starts, labels, strict=True))
    return {
        measure: [score(start.y, each) for start, each in pairs]
        for measure, score in MEASURES.items()
    }


def _agreement(start: Start, views: Views, n_starts: int) -> float:
    n_views, view_size = views
    model = InnerKMeans(
        len(start.centers), n_views=n_views, view_size=view_size, schedule="paper",
        init="random", n_init=1, max_iter=MAX_ITER,
    )  # fmt: skip
    return float(stability_score(model, start.X, n_starts=n_starts, random_state=start.seed))


@paper_table("inner-table2")
class InnerTable2(ClusterTable):
    """Normalised mutual information of clusterings with the classes."""

    measure, measure_title = "nmi", "normalised mutual information"


@paper_table("inner-table3")
class InnerTable3(ClusterTable):
    """Purity of clusterings in the classes."""

    measure, measure_title = "purity", "purity"


NOISE_COLUMNS = {
    "kmeans": "K-means",
    "inner": "inner ensemble",
    "graph": "graph-based",
    "linkage": "linkage",
}
SCALINGS = {False: "raw", True: "standardised"}
# Number of views, and fraction of the features, of the inner ensemble.
INNER_VIEWS = (50, 0.5)
# Most passes of the inner ensemble.
NOISE_MAX_ITER = 50
# Partitions of a cluster ensemble.
CONSENSUS_SIZE = 20
# Fraction of the features in each of its views.
CONSENSUS_VIEW = 0.5


class NoiseParams(StartParams, frozen=True, omit_defaults=True, kw_only=True):
    """One method at one noise level, on raw or standardised features."""

    method: str
    noise: float
    scaled: bool


# Fractions of noisy values.
LEVELS = (0.0, 0.2, 0.4, 0.6)


@paper_table("inner-noise")
class InnerNoise(PaperTable[tuple[tuple[float, ...], int, int]]):
    """Five datasets at two noise levels, or the 15 datasets of Table 2 at four.

    A scale has noise levels, starts, and fewer starts of the slow graph-based methods.
    """

    scales = Scales(((0.0, 0.4), 4, 1), (LEVELS, 10, 2), (LEVELS, 30, 30))
    quick_datasets = ("ecoli", "iris", "segment", "vehicle", "wine")

    def datasets(self, scale: str) -> tuple[str, ...]:
        return tuple(read_printed("inner-table2").rows)

    def grid(self, scope: PaperScope) -> Iterator[NoiseParams]:
        """Datasets first; the slow graph-based methods last."""
        levels, n_starts, n_graph_starts = self.scale_of(scope)
        for name, noise, scaled in product(scope.datasets, levels, SCALINGS):
            params = partial(NoiseParams, dataset=name, noise=noise, scaled=scaled, seed=scope.seed)
            for method in ("kmeans", "inner", "linkage"):
                yield params(method=method, first=0, starts=n_starts)
            for first, starts in consensus_blocks(n_graph_starts):
                yield params(method="graph", first=first, starts=starts)

    @staticmethod
    @paper_cell(NoiseParams)
    def compute(params: NoiseParams, data_dir: str | None) -> dict[str, list[float]]:
        starts = [add_noise(start, params.noise) for start in starts_of(params, data_dir)]
        if params.scaled:
            starts = [standardise(start) for start in starts]
        if params.method in CONSENSUS:
            ensembles = (CONSENSUS_SIZE,), CONSENSUS_VIEW
            return consensus_scores([params.method], starts, ensembles, {"nmi": nmi_score})
        if params.method == "kmeans":
            labels = [plain_labels(start) for start in starts]
        else:
            labels = [inner_labels(start, INNER_VIEWS, NOISE_MAX_ITER) for start in starts]
        return {"nmi": [nmi_score(s.y, each) for s, each in zip(starts, labels, strict=True)]}

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Average over starts, and compare over datasets, for each scaling."""
        groups = grouped(results, "scaled", "noise", "dataset", "method")
        tables = []
        for scaled, scaling in SCALINGS.items():
            rows: list[ResultRow] = []
            summary: list[str] = []
            for noise in self.scale_of(scope)[0]:
                level = [
                    self._entry(name, noise, method, groups.get((scaled, noise, name, method), []))
                    for name, method in product(scope.datasets, NOISE_COLUMNS)
                ]
                means = mean_rows(level, tuple(NOISE_COLUMNS.values()), f"mean, {noise:.0%} noise")
                rows += [*level, *means]
                summary += _sentences(level, noise)
            tables.append(
                ResultTable(
                    f"{self.name}-{scaling}", f"{self.printed.title}, {scaling} features",
                    "normalised mutual information", rows, summary,
                    (*self.printed.notes, *scope.missing_notes), greater_is_better=True,
                    ranked=False,
                )
            )  # fmt: skip
        return tables

    def _entry(
        self, name: str, noise: float, method: str, found: Sequence[CellResult]
    ) -> ResultRow:
        """Score of a method, or of the best of a group of cluster ensembles."""
        names = CONSENSUS_NAMES.get(method, ())
        keys = [consensus_key("nmi", each, CONSENSUS_SIZE) for each in names] or ["nmi"]
        known = [values for values in (by_repeat(found, key) for key in keys) if values]
        row = f"{name}, {noise:.0%} noise"
        return self.entry(row, NOISE_COLUMNS[method], best_of(known), failed(found))


def _sentences(level: Sequence[ResultRow], noise: float) -> list[str]:
    sentences = []
    for method in ("kmeans", "graph", "linkage"):
        columns = (NOISE_COLUMNS[method], NOISE_COLUMNS["inner"])
        gains = np.diff(complete_scores(level, columns)[1], axis=1)[:, 0]
        title = f"{noise:.0%} noise: {columns[1]}"
        sentences += gain_sentence(title, columns[0], list(gains), 3)
    return sentences
