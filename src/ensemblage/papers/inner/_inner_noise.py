"""The noise experiment of the inner ensembles paper (section 4): it has words, no figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ensemblage.evaluation import nmi_score
from ensemblage.papers._paper_rows import (
    by_repeat,
    entry,
    failed,
    grouped,
    mean_of,
    mean_rows,
)
from ensemblage.papers._paper_scope import PaperScope, make_scope, paper_cell
from ensemblage.papers._paper_sentences import (
    complete_scores,
    gain_sentence,
)
from ensemblage.papers.inner._inner_clusters import (
    CONSENSUS,
    CONSENSUS_NAMES,
    add_noise,
    inner_labels,
    plain_labels,
    standardise,
)
from ensemblage.papers.inner._inner_tables23 import DATASETS, consensus_scores, starts_of
from ensemblage.runs import Cell, CellResult, Experiment, ResultRow, ResultTable

TITLE = "K-means with an inner ensemble on noisy features (section 4)"
VERSION = 1
COLUMNS = {
    "kmeans": "K-means",
    "inner": "inner ensemble",
    "graph": "graph-based",
    "linkage": "linkage",
}
NOISE = {"quick": (0.0, 0.4), "standard": (0.0, 0.2, 0.4, 0.6), "full": (0.0, 0.2, 0.4, 0.6)}
STARTS = {"quick": 4, "standard": 10, "full": 30}
GRAPH_STARTS = {"quick": 1, "standard": 2, "full": 30}
GRAPH_BLOCK = 10
QUICK_DATASETS = ("ecoli", "iris", "segment", "vehicle", "wine")
# Ensemble size, sample size, passes; and members of the cluster ensembles.
INNER_SETTING, CONSENSUS_SETTING = (50, 0.5, 50), (20, 0.5)
NOTES = (
    (
        "The paper gives no figures. It says that with 20, 40 and 60 % noise in the more "
        "significant half of the features the inner ensemble is more stable than K-means, and "
        "comparable to cluster ensembles but for 60 %, where some of these are better."
    ),
    (
        "Ours: the half of the features with the larger F statistic; in each of them that share of "
        "the cells is replaced by uniform noise over the feature's range. 50 views of half of the "
        "features; cluster ensembles of 20 such views."
    ),
    (
        "graph-based is the best of CSPA, MCLA and HGPA, linkage that of single, average and "
        "complete, chosen by the classes, which flatters them."
    ),
)


@paper_cell
def compute_inner_noise(cell: Cell, data_dir: str | None) -> Mapping[str, Any]:
    """Cluster noisy rows of one dataset by one method, from each start.

    Parameters
    ----------
    cell : Cell
        Dataset, method, share of noise, scaling, starts and seed.
    data_dir : str or None
        Folder of CSV files.

    Returns
    -------
    dict
        Lists of NMI, one number per start.
    """
    params = cell.params
    starts = [add_noise(start, params["noise"]) for start in starts_of(cell, data_dir)]
    if params["scaled"]:
        starts = [standardise(start) for start in starts]
    if params["method"] in CONSENSUS:
        return consensus_scores(params["method"], starts, *CONSENSUS_SETTING, {"nmi": nmi_score})
    if params["method"] == "kmeans":
        labels = [plain_labels(start) for start in starts]
    else:
        labels = [inner_labels(start, *INNER_SETTING) for start in starts]
    return {"nmi": [nmi_score(s.y, each) for s, each in zip(starts, labels, strict=True)]}


def declare_inner_noise(
    name: str,
    scale: str,
    seed: int = 0,
    data_dir: str | None = None,
    datasets: Sequence[str] | None = None,
) -> Experiment:
    """Declare the experiment.

    Parameters
    ----------
    name : str
        Of the experiment.
    scale : {"quick", "standard", "full"}
        Five sets, two levels of noise, 4 starts; 15, four, 10; or 15, four, 30. The graph-based
        methods cost most: 1, 2 or 30 starts.
    seed : int, default=0
        The user's seed.
    data_dir : str or None, default=None
        Folder of CSV files.
    datasets : sequence of str or None, default=None
        Some of the datasets.

    Returns
    -------
    Experiment
    """
    if datasets is None and scale == "quick":
        datasets = QUICK_DATASETS
    scope = make_scope(scale, seed, data_dir, DATASETS, datasets)
    cells = [
        scope.cell(name, VERSION, dataset=each, noise=noise, scaled=scaled, **params)
        for each in scope.prints
        for noise, scaled in product(NOISE[scale], (False, True))
        for params in _entries(scale)
    ]
    summarise = partial(summarise_inner_noise, name=name, scope=scope)
    return Experiment(name, TITLE, cells, compute_inner_noise, summarise, data_dir)


def _entries(scale: str) -> list[dict[str, Any]]:
    few = GRAPH_STARTS[scale]
    return [
        *(
            {"method": method, "first": 0, "starts": STARTS[scale]}
            for method in COLUMNS
            if method != "graph"
        ),
        *(
            {"method": "graph", "first": first, "starts": min(GRAPH_BLOCK, few - first)}
            for first in range(0, few, GRAPH_BLOCK)
        ),
    ]


def summarise_inner_noise(
    results: Sequence[CellResult], name: str, scope: PaperScope
) -> list[ResultTable]:
    """Average over the starts; compare over the datasets.

    Parameters
    ----------
    results : sequence of CellResult
        Those that there are.
    name : str
        Of the experiment.
    scope : PaperScope
        What was declared.

    Returns
    -------
    list of ResultTable
        On raw and on standardised features.
    """
    groups = grouped(results, "scaled", "noise", "dataset", "method")
    tables = []
    for scaled, words in ((False, "raw"), (True, "standardised")):
        rows: list[ResultRow] = []
        summary: list[str] = []
        for noise in NOISE[scope.scale]:
            level = [
                _entry(each, noise, method, groups.get((scaled, noise, each, method), []))
                for each in scope.prints
                for method in COLUMNS
            ]
            means = mean_rows(level, tuple(COLUMNS.values()), f"mean, {noise:.0%} noise")
            rows += [*level, *means]
            summary += _sentences(level, noise)
        tables.append(
            ResultTable(
                f"{name}-{words}", f"{TITLE}, {words} features", "normalised mutual information",
                rows, summary, (*NOTES, *scope.missing_notes), greater_is_better=True,
            )
        )  # fmt: skip
    return tables


def _entry(name: str, noise: float, method: str, found: Sequence[CellResult]) -> ResultRow:
    keys = [f"nmi:{each}" for each in CONSENSUS_NAMES[method]] if method in CONSENSUS else ["nmi"]
    known = [values for values in (by_repeat(found, key) for key in keys) if values]
    best = max(known, key=mean_of, default={})
    return entry(f"{name}, {noise:.0%} noise", COLUMNS[method], best, failures=failed(found))


def _sentences(level: Sequence[ResultRow], noise: float) -> list[str]:
    sentences = []
    for method in ("kmeans", "graph", "linkage"):
        columns = (COLUMNS[method], COLUMNS["inner"])
        scores = complete_scores(level, columns)[1]
        gains = np.diff(scores, axis=1)[:, 0]
        title = f"{noise:.0%} noise: {columns[1]}"
        sentences += gain_sentence(title, columns[0], list(gains), 3)
    return sentences
