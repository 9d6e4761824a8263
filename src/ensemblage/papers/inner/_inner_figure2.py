"""Figure 2 of the inner ensembles paper: prediction time against ensemble size."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ensemblage.papers._paper_rows import entry, failed, grouped
from ensemblage.papers._paper_scope import (
    PaperScope,
    make_scope,
    paper_cell,
    paper_dataset,
)
from ensemblage.papers.inner._inner_networks import DATASETS, as_frame, paper_model
from ensemblage.runs import Cell, CellResult, Experiment, ResultTable

SIZES = {
    "quick": (10, 50),
    "standard": (10, 40, 70, 100),
    "full": tuple(range(10, 101, 10)),
}
COLUMNS = {
    "inner": "inner score, one network",
    "crowd": "inner score, pooled tables (ours)",
    "bagging": "bagging",
}
BEST_OF = {"quick": 3, "standard": 5, "full": 20}
VIEW_SIZE = 0.3
TITLE = "Prediction time against ensemble size (Figure 2)"
VERSION = 1
NOTES = (
    (
        "Milliseconds to predict all rows of a dataset, the best of several tries, averaged over "
        "the datasets as in the paper. Times are those of the machine that ran this, and of what "
        "else it was doing: the ratio of the columns is what can be compared."
    ),
    "The paper draws this figure and prints no numbers.",
)


@paper_cell
def compute_inner_figure2(cell: Cell, data_dir: str | None) -> Mapping[str, Any]:
    """Time the prediction of one fitted model.

    Parameters
    ----------
    cell : Cell
        Dataset, method, ensemble size, number of tries and seed.
    data_dir : str or None
        Folder of CSV files.

    Returns
    -------
    dict
        ``milliseconds`` for all rows, and the number of ``rows``.
    """
    params = cell.params
    X, y = as_frame(paper_dataset(params["dataset"], data_dir))
    sampling = {} if params["method"] == "bagging" else {"view_size": VIEW_SIZE, "replace": False}
    model = paper_model(params["method"], params["seed"], n_views=params["n_views"], **sampling)
    model.fit(X, y).predict(X)  # what is made at the first call is not timed
    seconds = []
    for _ in range(params["best_of"]):
        start = time.perf_counter()
        model.predict(X)
        seconds.append(time.perf_counter() - start)
    return {"milliseconds": 1000.0 * min(seconds), "rows": len(y)}


def declare_inner_figure2(
    name: str,
    scale: str,
    seed: int = 0,
    data_dir: str | None = None,
    datasets: Sequence[str] | None = None,
) -> Experiment:
    """Declare the figure.

    Parameters
    ----------
    name : str
        Of the experiment.
    scale : {"quick", "standard", "full"}
        Two ensemble sizes, four, or ten as in the paper.
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
    scope = make_scope(scale, seed, data_dir, DATASETS, datasets)
    cells = [
        scope.cell(name, VERSION, dataset=each, method=method, n_views=size, best_of=BEST_OF[scale])
        for each in scope.prints
        for size in SIZES[scale]
        for method in COLUMNS
    ]
    summarise = partial(summarise_inner_figure2, name=name, scope=scope)
    return Experiment(name, TITLE, cells, compute_inner_figure2, summarise, data_dir)


def summarise_inner_figure2(
    results: Sequence[CellResult], name: str, scope: PaperScope
) -> list[ResultTable]:
    """Average the times over the datasets.

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
        One.
    """
    groups = grouped(results, "method", "n_views")
    sizes = SIZES[scope.scale]
    rows, means = [], {}
    for size in sizes:
        for method, title in COLUMNS.items():
            found = groups.get((method, size), [])
            times = [float(r.values["milliseconds"]) for r in found if not r.error]
            rows.append(entry(f"ensemble size {size}", title, times, failures=failed(found)))
            means[method, size] = rows[-1].ours
    summary = []
    for method, title in COLUMNS.items():
        first, last = means[method, sizes[0]], means[method, sizes[-1]]
        if first is not None and last is not None:
            summary.append(
                f"{title}: {first:.2f} ms with {sizes[0]}, {last:.2f} ms with {sizes[-1]}: "
                f"{last / first:.1f} times as long."
            )
    inner, bagging = means["inner", sizes[-1]], means["bagging", sizes[-1]]
    if inner is not None and bagging is not None:
        ratio = bagging / inner
        summary.append(f"Bagging of {sizes[-1]} takes {ratio:.0f} times as long as one network.")
    return [
        ResultTable(
            name, TITLE, "prediction time (ms)", rows, summary, (*NOTES, *scope.missing_notes),
            greater_is_better=False,
        )
    ]  # fmt: skip
