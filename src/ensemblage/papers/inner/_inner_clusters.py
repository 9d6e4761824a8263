"""Clusterings of the inner ensembles paper: from given starts, on clean or noisy rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif
from sklearn.preprocessing import StandardScaler

from ensemblage.consensus import CSPA, HGPA, MCLA, EvidenceAccumulation
from ensemblage.datasets import Dataset
from ensemblage.inner import InnerKMeans
from ensemblage.inner._feature_views import draw_feature_views

Array = NDArray[Any]
N_ROWS = 500
GRAPH = {"CSPA": CSPA, "MCLA": MCLA, "HGPA": HGPA}
LINKAGE = ("single", "average", "complete")


class Start(NamedTuple):
    """The rows of one start, and the centres that all methods begin with.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Classes.
    centers : ndarray of shape (n_clusters, n_features)
        Rows drawn at random, one per class.
    seed : int
        For whatever else is drawn.
    """

    X: Array
    y: Array
    centers: Array
    seed: int


def numeric_features(dataset: Dataset) -> Array:
    """Numbers as they are, categories by their position, as the paper's program read them.

    Parameters
    ----------
    dataset : Dataset
        Without missing cells.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        In float64.
    """
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
    """Draw rows without replacement, and starting centres among them.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        All rows.
    y : ndarray of shape (n_samples,)
        Classes.
    n_rows : int
        Most rows.
    seed : int
        Of this start.

    Returns
    -------
    Start
        As many centres as there are classes among the rows.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(X))[:n_rows] if len(X) > n_rows else np.arange(len(X))
    X, y = X[chosen], y[chosen]
    first = rng.choice(len(X), size=len(np.unique(y)), replace=False)
    return Start(X, y, X[first].copy(), seed)


def add_noise(start: Start, share: float) -> Start:
    """Replace entries of the more significant half of the features by uniform noise.

    Parameters
    ----------
    start : Start
        Clean rows.
    share : float
        Share of the entries of a feature that are replaced.

    Returns
    -------
    Start
        The same rows and starting rows, with noise.
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
    """Scale the features to mean 0 and variance 1.

    Parameters
    ----------
    start : Start
        Rows in their own units.

    Returns
    -------
    Start
        Rows and centres scaled.
    """
    scaler = StandardScaler().fit(start.X)
    return start._replace(X=scaler.transform(start.X), centers=scaler.transform(start.centers))


def plain_labels(start: Start) -> Array:
    """Cluster by K-means.

    Parameters
    ----------
    start : Start
        Rows and centres.

    Returns
    -------
    ndarray of shape (n_rows,)
        Labels.
    """
    model = KMeans(len(start.centers), init=start.centers, n_init=1, tol=0.0)
    return _quietly(model, start.X)


def inner_labels(start: Start, n_views: int, view_size: float, max_iter: int) -> Array:
    """Cluster by Inner K-means as in Algorithm 6, views drawn anew in each pass.

    Parameters
    ----------
    start : Start
        Rows and centres.
    n_views : int
        Ensemble size.
    view_size : float
        Sample size, with replacement.
    max_iter : int
        Most passes.

    Returns
    -------
    ndarray of shape (n_rows,)
        Labels.
    """
    model = InnerKMeans(
        len(start.centers), n_views=n_views, view_size=view_size, schedule="paper",
        init=start.centers, max_iter=max_iter, random_state=start.seed,
    )  # fmt: skip
    return _quietly(model, start.X)


def view_partitions(start: Start, n_views: int, view_size: float) -> Array:
    """Cluster by K-means on each of many feature views: the members of a cluster ensemble.

    Parameters
    ----------
    start : Start
        Rows.
    n_views : int
        Number of members.
    view_size : float
        Sample size, with replacement.

    Returns
    -------
    ndarray of shape (n_views, n_rows)
        Labels.
    """
    n_features = start.X.shape[1]
    n_draws = max(1, round(view_size * n_features))
    views = draw_feature_views(n_features, n_views, n_draws, True, start.seed)
    rng = np.random.default_rng(start.seed + 2)
    partitions = []
    for view in views:
        seen = np.ascontiguousarray((start.X * np.sqrt(view))[:, view > 0])
        first = seen[rng.choice(len(seen), size=len(start.centers), replace=False)]
        partitions.append(_quietly(KMeans(len(first), init=first, n_init=1), seen))
    return np.array(partitions)


def graph_labels(partitions: Array, n_clusters: int, seed: int) -> dict[str, Array]:
    """Combine partitions by each graph-based method of the paper.

    Parameters
    ----------
    partitions : ndarray of shape (n_partitions, n_rows)
        Labels.
    n_clusters : int
        Number of clusters.
    seed : int
        Of the partitioners.

    Returns
    -------
    dict of str to ndarray of shape (n_rows,)
        Labels by method.
    """
    return {
        name: method(n_clusters, random_state=seed).fit_partitions(partitions).labels_
        for name, method in GRAPH.items()
    }


def linkage_labels(partitions: Array, n_clusters: int, seed: int) -> dict[str, Array]:  # noqa: ARG001
    """Combine partitions by each linkage of the paper.

    Parameters
    ----------
    partitions : ndarray of shape (n_partitions, n_rows)
        Labels.
    n_clusters : int
        Number of clusters.
    seed : int
        Not needed: nothing is drawn.

    Returns
    -------
    dict of str to ndarray of shape (n_rows,)
        Labels by linkage.
    """
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


def _quietly(model: Any, X: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit_predict(X))
