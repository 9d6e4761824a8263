"""Tables 2 and 3 of the inner ensembles paper: K-means with an inner ensemble on 15 datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from ensemblage.evaluation import nmi_score, purity_score, stability_score
from ensemblage.inner import InnerKMeans
from ensemblage.papers._paper_scope import (
    PaperScope,
    make_scope,
    paper_cell,
    paper_dataset,
    repeat_seed,
)
from ensemblage.papers.inner._inner_clusters import (
    CONSENSUS,
    N_ROWS,
    Start,
    draw_start,
    inner_labels,
    numeric_features,
    plain_labels,
    view_partitions,
)
from ensemblage.papers.inner._inner_printed import TABLE_2
from ensemblage.papers.inner._inner_tables23_rows import summarise_inner_clusters
from ensemblage.runs import Cell, Experiment

TITLES = {
    "inner-table2": "K-means with an inner ensemble: normalised mutual information (Table 2)",
    "inner-table3": "K-means with an inner ensemble: purity (Table 3)",
}
CELLS, VERSION = "inner-clusters", 1
MEASURES = {"nmi": nmi_score, "purity": purity_score}
DATASETS = tuple(TABLE_2)

FULL_SIZES = tuple(range(10, 101, 10))
FULL_SHARES = tuple(share / 10 for share in range(1, 11))
SETTINGS = {
    "quick": tuple(product((10,), (0.5, 0.9))),
    "standard": tuple(product((10, 50, 100), (0.1, 0.3, 0.5, 0.7, 0.9))),
    "full": tuple(product(FULL_SIZES, FULL_SHARES)),
}
CONSENSUS_SETTINGS = {
    "quick": ((10, 0.5),),
    "standard": ((20, 0.3), (20, 0.5), (20, 0.7)),
    "full": SETTINGS["full"],
}
STARTS = {"quick": 10, "standard": 30, "full": 30}
CONSENSUS_STARTS = {"quick": 2, "standard": 5, "full": 30}
# The graph-based methods are slow: their starts are spread over several cells.
GRAPH_BLOCK = 10
STABILITY_STARTS = {"quick": 4, "standard": 8, "full": 8}
MAX_ITER = 30


def starts_of(cell: Cell, data_dir: str | None) -> list[Start]:
    """Draw the starts that a cell is about.

    Parameters
    ----------
    cell : Cell
        With ``dataset``, ``first``, ``starts`` and ``seed``.
    data_dir : str or None
        Folder of CSV files.

    Returns
    -------
    list of Start
        The same for all methods.
    """
    params = cell.params
    dataset = paper_dataset(params["dataset"], data_dir)
    X = numeric_features(dataset)
    numbers = range(params["first"], params["first"] + params["starts"])
    return [draw_start(X, dataset.y, N_ROWS, repeat_seed(params["seed"], i)) for i in numbers]


def consensus_scores(
    method: str, starts: Sequence[Start], n_views: int, view_size: float, measures: Mapping
) -> dict[str, list[float]]:
    """Score consensus clusterings of many feature views.

    Parameters
    ----------
    method : {"graph", "linkage"}
        Which group.
    starts : sequence of Start
        Rows.
    n_views : int
        Members.
    view_size : float
        Sample size of their features.
    measures : mapping of str to callable
        Scores.

    Returns
    -------
    dict of str to list of float
        One number per start, under keys such as ``"nmi:MCLA"``.
    """
    scores: dict[str, list[float]] = {}
    for start in starts:
        partitions = view_partitions(start, n_views, view_size)
        found = CONSENSUS[method](partitions, len(start.centers), start.seed)
        for (name, labels), (measure, score) in product(found.items(), measures.items()):
            scores.setdefault(f"{measure}:{name}", []).append(score(start.y, labels))
    return scores


@paper_cell
def compute_inner_clusters(cell: Cell, data_dir: str | None) -> Mapping[str, Any]:
    """Cluster one dataset by one method with one setting, from each start.

    Parameters
    ----------
    cell : Cell
        Dataset, method, setting, starts and seed.
    data_dir : str or None
        Folder of CSV files.

    Returns
    -------
    dict
        Lists of scores, one number per start; ``stability`` of the setting, which needs no
        classes.
    """
    params = cell.params
    starts = starts_of(cell, data_dir)
    if params["method"] in CONSENSUS:
        setting = params["n_views"], params["view_size"]
        return consensus_scores(params["method"], starts, *setting, MEASURES)
    if params["method"] == "kmeans":
        return _scores(starts, [plain_labels(start) for start in starts])
    setting = params["n_views"], params["view_size"], MAX_ITER
    values = _scores(starts, [inner_labels(start, *setting) for start in starts])
    return {**values, "stability": _stability(starts[0], *setting, params["stability_starts"])}


def _scores(starts: Sequence[Start], labels: Sequence[Any]) -> dict[str, Any]:
    pairs = list(zip(starts, labels, strict=True))
    return {
        measure: [score(start.y, each) for start, each in pairs]
        for measure, score in MEASURES.items()
    }


def _stability(start: Start, n_views: int, view_size: float, max_iter: int, n_starts: int) -> float:
    model = InnerKMeans(
        len(start.centers), n_views=n_views, view_size=view_size, schedule="paper", init="random",
        n_init=1, max_iter=max_iter,
    )  # fmt: skip
    return stability_score(model, start.X, n_starts=n_starts, random_state=start.seed)


def declare_inner_clusters(
    name: str,
    scale: str,
    seed: int = 0,
    data_dir: str | None = None,
    datasets: Sequence[str] | None = None,
) -> Experiment:
    """Declare Table 2 or Table 3: the same cells, another measure.

    Parameters
    ----------
    name : {"inner-table2", "inner-table3"}
        Which.
    scale : {"quick", "standard", "full"}
        2 settings from 10 starts; 15 from 30; or 100 from 30, as in the paper. Cluster ensembles
        cost most: 1 setting from 2 starts, 3 from 5, 100 from 30.
    seed : int, default=0
        The user's seed.
    data_dir : str or None, default=None
        Folder of CSV files.
    datasets : sequence of str or None, default=None
        Some of the rows.

    Returns
    -------
    Experiment
    """
    scope = make_scope(scale, seed, data_dir, DATASETS, datasets)
    cells = [
        scope.cell(CELLS, VERSION, dataset=each, **params)
        for each in scope.prints
        for params in _entries(scope)
    ]
    summarise = partial(
        summarise_inner_clusters, name=name, title=TITLES[name], scope=scope,
        settings=SETTINGS[scale], consensus_settings=CONSENSUS_SETTINGS[scale],
    )  # fmt: skip
    return Experiment(name, TITLES[name], cells, compute_inner_clusters, summarise, data_dir)


def _entries(scope: PaperScope) -> list[dict[str, Any]]:
    """Methods, settings and starts of one dataset."""
    scale = scope.scale
    every = {"first": 0, "starts": STARTS[scale]}
    few = CONSENSUS_STARTS[scale]
    settings = [{"n_views": size, "view_size": share} for size, share in SETTINGS[scale]]
    shared = [{"n_views": size, "view_size": share} for size, share in CONSENSUS_SETTINGS[scale]]
    stability = {"stability_starts": STABILITY_STARTS[scale]}
    return [
        {"method": "kmeans", **every},
        *({"method": "inner", **setting, **every, **stability} for setting in settings),
        *({"method": "linkage", **setting, "first": 0, "starts": few} for setting in shared),
        *(
            {"method": "graph", **setting, "first": first, "starts": min(GRAPH_BLOCK, few - first)}
            for setting in shared
            for first in range(0, few, GRAPH_BLOCK)
        ),
    ]
