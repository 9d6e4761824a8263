"""Clusterings of the inner ensembles paper: from given starts, on clean or noisy rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
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

from ensemblage.consensus import CSPA, HGPA, MCLA, EvidenceAccumulation
from ensemblage.datasets import Dataset
from ensemblage.inner import InnerKMeans, draw_feature_views
from ensemblage.kernels import Draws
from ensemblage.papers._paper_table import paper_dataset, repeat_seed

Array: TypeAlias = NDArray[Any]
Score: TypeAlias = Callable[[Array, Array], float]
"""Of classes and labels."""

N_ROWS = 500
# One balanced cut each, as in the paper.
GRAPH: dict[str, Callable[..., Any]] = {
    "CSPA": partial(CSPA, balance=0.03, n_cuts=1),
    "MCLA": MCLA,
    "HGPA": partial(HGPA, balance=0.05, n_cuts=1),
}
LINKAGE = ("single", "average", "complete")
# The cluster ensembles are slow: their starts are spread over several cells.
CONSENSUS_BLOCK = 10


class Views(NamedTuple):
    """Ensemble size, and sample size of the features, drawn with replacement."""

    n_views: int
    view_size: float


class Ensembles(NamedTuple):
    """Cluster ensembles of several sizes: a smaller one is the beginning of a larger one."""

    sizes: tuple[int, ...]
    view_size: float


class Start(NamedTuple):
    """The rows of one start, and the centres that all methods begin with.

    ``centers``, of shape (n_clusters, n_features), are rows drawn at random, one per class; the
    seed is for whatever else is drawn.
    """

    X: Array
    y: Array
    centers: Array
    seed: int


class Block(NamedTuple):
    """So many starts, counted from the first."""

    first: int
    starts: int


class StartParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The starts of one dataset that a cell is about."""

    dataset: str
    first: int
    starts: int
    seed: int


def starts_of(params: StartParams, data_dir: str | None) -> list[Start]:
    """Draw the starts that a cell is about, the same for all methods."""
    dataset = paper_dataset(params.dataset, data_dir)
    X = numeric_features(dataset)
    numbers = range(params.first, params.first + params.starts)
    return [draw_start(X, dataset.y, N_ROWS, repeat_seed(params.seed, i)) for i in numbers]


def consensus_blocks(n_starts: int) -> list[Block]:
    """Spread the starts of a slow method over cells."""
    return [
        Block(first, min(CONSENSUS_BLOCK, n_starts - first))
        for first in range(0, n_starts, CONSENSUS_BLOCK)
    ]


def numeric_features(dataset: Dataset) -> Array:
    """Numbers as they are, categories by their position, as the paper's program read them."""
    columns = []
    for name, kind, column in zip(dataset.feature_names, dataset.kinds, dataset.X.T, strict=True):
        if kind == "word":
            known = dataset.categories.get(name) or sorted(set(column))
            place = {word: index for index, word in enumerate(known)}
            columns.append([place[word] for word in column])
        else:
            columns.append(column)
    return np.array(columns, dtype=np.float64).T.copy()


def draw_start(X: Array, y: Array, n_rows: int, seed: int) -> Start:
    """Draw so many rows at most, without replacement, and starting centres among them."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(X))[:n_rows] if len(X) > n_rows else np.arange(len(X))
    X, y = X[chosen], y[chosen]
    first = rng.choice(len(X), size=len(np.unique(y)), replace=False)
    return Start(X, y, X[first].copy(), seed)


def add_noise(start: Start, share: float) -> Start:
    """Replace a share of the entries of the more significant half of the features by uniform noise.

    The starting centres are drawn anew from the noisy rows.
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
    """Cluster by K-means."""
    model = KMeans(len(start.centers), init=start.centers, n_init=1, tol=0.0)
    return _quietly(model, start.X)


def inner_labels(start: Start, views: Views, max_iter: int) -> Array:
    """Cluster by Inner K-means as in Algorithm 6, views drawn anew in each pass."""
    model = InnerKMeans(
        len(start.centers), n_views=views.n_views, view_size=views.view_size, schedule="paper",
        init=start.centers, max_iter=max_iter, random_state=start.seed,
    )  # fmt: skip
    return _quietly(model, start.X)


def view_partitions(start: Start, views: Views) -> Array:
    """Cluster by K-means on each feature view: a cluster ensemble of shape (n_views, n_rows)."""
    n_features = start.X.shape[1]
    n_draws = max(1, round(views.view_size * n_features))
    drawn = draw_feature_views(n_features, Draws(views.n_views, n_draws, True, start.seed))
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
        for name, method in GRAPH.items()
    }


def linkage_labels(partitions: Array, n_clusters: int, seed: int) -> dict[str, Array]:  # noqa: ARG001
    """Combine partitions by each linkage of the paper; nothing is drawn."""
    return {
        linkage: EvidenceAccumulation(n_clusters, linkage=linkage)
        .fit_partitions(partitions)
        .labels_
        for linkage in LINKAGE
    }


CONSENSUS: dict[str, Callable[[Array, int, int], dict[str, Array]]] = {
    "graph": graph_labels,
    "linkage": linkage_labels,
}
CONSENSUS_NAMES = {"graph": tuple(GRAPH), "linkage": LINKAGE}


def consensus_key(measure: str, name: str, size: int) -> str:
    """Under which key a cell holds the scores of a consensus method, such as "nmi:MCLA:20"."""
    return f"{measure}:{name}:{size}"


def consensus_scores(
    groups: Sequence[str],
    starts: Sequence[Start],
    ensembles: Ensembles,
    measures: Mapping[str, Score],
) -> dict[str, list[float]]:
    """Score consensus clusterings of many feature views, by methods of the groups of ``CONSENSUS``.

    One number per start under each key.
    """
    sizes, view_size = ensembles
    scores: dict[str, list[float]] = {}
    for start in starts:
        partitions = view_partitions(start, Views(max(sizes), view_size))
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
