"""Tables 2 and 3 of the Inner Ensembles paper, and its noise experiment (section 4)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif
from sklearn.preprocessing import StandardScaler

from ensemblage.consensus import CSPA, HGPA, MCLA, EvidenceAccumulation
from ensemblage.datasets import Dataset
from ensemblage.evaluation import nmi_score, purity_score
from ensemblage.experiments._inner_paper_figures import TABLE_2, TABLE_3, PaperRow
from ensemblage.inner import InnerKMeans
from ensemblage.inner._feature_views import draw_feature_views

Array = NDArray[Any]
MEASURES = {"nmi": (nmi_score, TABLE_2), "purity": (purity_score, TABLE_3)}
GRAPH = (CSPA, MCLA, HGPA)
LINKAGES = ("single", "average", "complete")


class Protocol(NamedTuple):
    """How the tables are made.

    Attributes
    ----------
    n_starts : int
        Random starts; for each, rows are drawn anew if there are too many.
    n_rows : int
        Most rows of a start.
    n_views : tuple of int
        Ensemble sizes of the grid.
    view_sizes : tuple of float
        Sample sizes of the grid.
    consensus_cells : tuple of (int, float)
        The cells at which cluster ensembles are made, which cost most.
    consensus_starts : int
        Starts at which they are made.
    max_iter : int
        Most passes of one clustering.
    """

    n_starts: int = 30
    n_rows: int = 500
    n_views: tuple[int, ...] = tuple(range(10, 101, 10))
    view_sizes: tuple[float, ...] = tuple(size / 10 for size in range(1, 11))
    consensus_cells: tuple[tuple[int, float], ...] = ((20, 0.3), (20, 0.5), (20, 0.7))
    consensus_starts: int = 5
    max_iter: int = 30


QUICK = Protocol(
    n_starts=30, n_views=(10, 50), view_sizes=(0.3, 0.5, 0.7, 0.9), consensus_cells=((20, 0.5),),
    consensus_starts=2, max_iter=20,
)  # fmt: skip


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


def consensus_labels(partitions: Array, n_clusters: int, seed: int) -> dict[str, Array]:
    """Combine partitions by each method of the paper.

    Parameters
    ----------
    partitions : ndarray of shape (n_partitions, n_rows)
        Labels.
    n_clusters : int
        Number of clusters.
    seed : int
        Seed of the graph partitioners.

    Returns
    -------
    dict of str to ndarray of shape (n_rows,)
        Labels by method, graph-based ones first.
    """
    found = {
        method.__name__: method(n_clusters, random_state=seed).fit_partitions(partitions).labels_
        for method in GRAPH
    }
    for linkage in LINKAGES:
        model = EvidenceAccumulation(n_clusters, linkage=linkage).fit_partitions(partitions)
        found[linkage] = model.labels_
    return found


def dataset_rows(
    X: Array, y: Array, protocol: Protocol, seed: int = 0
) -> dict[str, dict[str, Any]]:
    """One dataset's line of Table 2 and of Table 3.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, raw.
    y : ndarray of shape (n_samples,)
        Classes.
    protocol : Protocol
        How much to run.
    seed : int, default=0
        Of the whole line.

    Returns
    -------
    dict of str to dict
        For ``"nmi"`` and ``"purity"``: ``kmeans``; ``all``, the mean over all cells of the
        grid; ``selective``, over those that improved on K-means, as the paper did; ``best``;
        ``improved``, the share of cells that did; ``graph``, ``graph_best``, ``linkage``,
        ``linkage_best``.
    """
    starts = [draw_start(X, y, protocol.n_rows, 1000 * seed + i) for i in range(protocol.n_starts)]
    plain = _score(starts, [plain_labels(start) for start in starts])
    grid = [
        _score(starts, [inner_labels(start, *cell, protocol.max_iter) for start in starts])
        for cell in product(protocol.n_views, protocol.view_sizes)
    ]
    few = starts[: protocol.consensus_starts]
    members = [_consensus_scores(few, *cell) for cell in protocol.consensus_cells]
    return {
        measure: _line(plain[measure], [cell[measure] for cell in grid],
                       [cell[measure] for cell in members])
        for measure in MEASURES
    }  # fmt: skip


def noise_rows(
    X: Array, y: Array, shares: Iterable[float], n_starts: int = 8, n_rows: int = 500
) -> list[dict[str, float]]:
    """K-means and Inner K-means on ever more noise, raw and standardised (section 4).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, raw.
    y : ndarray of shape (n_samples,)
        Classes.
    shares : iterable of float
        Shares of entries replaced.
    n_starts : int, default=8
        Random starts.
    n_rows : int, default=500
        Most rows of a start.

    Returns
    -------
    list of dict
        Mean NMI by share of noise and scaling, for ``kmeans`` and ``inner``.
    """
    rows = []
    for share, scaled in product(shares, (False, True)):
        starts = [add_noise(draw_start(X, y, n_rows, seed), share) for seed in range(n_starts)]
        if scaled:
            starts = [standardise(start) for start in starts]
        plain = _score(starts, [plain_labels(start) for start in starts])["nmi"]
        inner = _score(starts, [inner_labels(start, 50, 0.5, 50) for start in starts])["nmi"]
        rows.append({"noise": share, "scaled": scaled, "kmeans": plain, "inner": inner})
    return rows


def table_lines(found: Mapping[str, dict[str, dict[str, Any]]], measure: str) -> Iterator[str]:
    """Lines of text: ours beside the paper's, dataset by dataset, means last.

    Parameters
    ----------
    found : mapping of str to dict
        Results of :func:`dataset_rows` by dataset.
    measure : {"nmi", "purity"}
        Which table.

    Yields
    ------
    str
        One line each.
    """
    columns = (
        "kmeans",
        "all",
        "selective",
        "best",
        "graph",
        "graph_best",
        "linkage",
        "linkage_best",
    )
    paper = MEASURES[measure][1]
    yield f"{measure:14s}" + "".join(f"{name:>14s}" for name in (*columns, "improved"))
    rows = []
    for name, line in found.items():
        rows.append((line[measure], paper.get(name)))
        yield _text(name, columns, *rows[-1])
    mean = {key: float(np.mean([row[key] for row, _ in rows])) for key in (*columns, "improved")}
    known = [row for _, row in rows if row is not None]
    yield _text("mean", columns, mean, PaperRow(*np.mean(known, axis=0)) if known else None)


def _quietly(model: Any, X: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit_predict(X))


def _score(starts: list[Start], labels: list[Array]) -> dict[str, float]:
    return {
        measure: float(np.mean([score(start.y, each) for start, each in
                                zip(starts, labels, strict=True)]))
        for measure, (score, _) in MEASURES.items()
    }  # fmt: skip


def _consensus_scores(starts: list[Start], n_views: int, view_size: float) -> dict[str, Any]:
    """Score each consensus method at one cell, by measure."""
    labels = [
        consensus_labels(view_partitions(start, n_views, view_size), len(start.centers), start.seed)
        for start in starts
    ]
    scores = {name: _score(starts, [each[name] for each in labels]) for name in labels[0]}
    return {m: {name: score[m] for name, score in scores.items()} for m in MEASURES}


def _line(plain: float, grid: list[float], members: list[dict[str, float]]) -> dict[str, Any]:
    better = [score for score in grid if score > plain]
    graph = [max(cell[method.__name__] for method in GRAPH) for cell in members]
    linkage = [max(cell[name] for name in LINKAGES) for cell in members]
    return {
        "kmeans": plain,
        "all": float(np.mean(grid)),
        "selective": float(np.mean(better)) if better else plain,
        "best": max(grid),
        "improved": len(better) / len(grid),
        "graph": float(np.mean(graph)),
        "graph_best": max(graph),
        "linkage": float(np.mean(linkage)),
        "linkage_best": max(linkage),
    }


def _text(name: str, columns: tuple[str, ...], line: dict[str, Any], paper: PaperRow | None) -> str:
    cells = []
    for column in columns:
        theirs = f" ({getattr(paper, column):.2f})" if paper and column != "all" else ""
        cells.append(f"{line[column]:.3f}{theirs}".rjust(14))
    return f"{name:14s}" + "".join(cells) + f"{line['improved']:14.0%}"
