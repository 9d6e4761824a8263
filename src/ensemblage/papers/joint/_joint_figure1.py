"""Figure 1 of the joint feature-subset paper: the quarter circle, ever more rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ensemblage.datasets import make_quarter_circle
from ensemblage.papers._paper_rows import grouped
from ensemblage.papers._paper_scope import PaperScope, make_scope, paper_cell, repeat_seed
from ensemblage.papers.joint._joint_literal import (
    GAINS,
    NOTES,
    accuracy_rows,
    gain_rows,
    joint_tables,
    literal_scores,
)
from ensemblage.runs import Cell, CellResult, Experiment, ResultTable

SIZES = {
    "quick": (20, 100),
    "standard": (10, 20, 50, 100, 200, 500),
    "full": (10, 20, 50, 100, 200, 500),
}
REPEATS = {"quick": 10, "standard": 25, "full": 100}
TEST_ROWS, TEST_SEED = 50_000, 10**6
SETTINGS = (0.1, 1e-4)
TITLES = (
    "Joint feature subsets on the quarter circle: gains over one classifier (Figure 1)",
    "Joint feature subsets on the quarter circle: the base and a tuned baseline",
)
VERSION = 1
ROW_NOTE = "The paper draws this figure and prints no numbers."
OWN_NOTES = (
    (
        "Two features, equally many rows of both classes, 50,000 fresh rows per class to test, "
        "the number of members chosen on the training rows, as in the paper, which averages 100 "
        "datasets per size. The sizes on its axis cannot be read from the text; ours are ours."
    ),
    (
        "The paper reports that every ensemble beats the base at every size, most of all with "
        "few rows, and that choosing features helps."
    ),
    (
        "Step 0.1 and threshold 1e-4. A smaller step gives a weaker base and larger gains. With "
        "two features and a few steps a flip is hardly ever kept, so the columns with features "
        "fixed and chosen are nearly the same."
    ),
)


@lru_cache(maxsize=1)
def _test_rows() -> tuple[np.ndarray, np.ndarray]:
    return make_quarter_circle(TEST_ROWS, random_state=TEST_SEED)


@paper_cell
def compute_joint_figure1(cell: Cell, data_dir: str | None) -> Mapping[str, Any]:  # noqa: ARG001
    """Score the ensembles of one training set.

    Parameters
    ----------
    cell : Cell
        Rows per class, repeat and seed.
    data_dir : str or None
        Not needed: the data are generated.

    Returns
    -------
    dict of str to float
        Accuracies in per cent.
    """
    seed = repeat_seed(cell.params["seed"], cell.params["repeat"])
    train = make_quarter_circle(cell.params["rows_per_class"], random_state=seed)
    return literal_scores(train, train, _test_rows(), SETTINGS, seed)


def declare_joint_figure1(
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
        Ten datasets of two sizes; 25 of six; or, as in the paper, 100 of each.
    seed : int, default=0
        The user's seed.
    data_dir : str or None, default=None
        Not needed.
    datasets : sequence of str or None, default=None
        Some of the rows, such as ``"20 per class"``.

    Returns
    -------
    Experiment
    """
    rows = {f"{size} per class": size for size in SIZES[scale]}
    scope = make_scope(scale, seed, data_dir, tuple(rows), datasets, tuple(rows))
    cells = [
        scope.cell(name, VERSION, rows_per_class=rows[row], repeat=repeat)
        for repeat in range(REPEATS[scale])
        for row in scope.prints
    ]
    summarise = partial(summarise_joint_figure1, name=name, scope=scope)
    return Experiment(name, TITLES[0], cells, compute_joint_figure1, summarise, data_dir)


def summarise_joint_figure1(
    results: Sequence[CellResult], name: str, scope: PaperScope
) -> list[ResultTable]:
    """Average the gains by size.

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
        Gains, and accuracies.
    """
    groups = grouped(results, "rows_per_class")
    accuracies, gains = [], []
    for row in scope.prints:
        found = groups.get((int(row.split()[0]),), [])
        accuracies += accuracy_rows(row, found, note=ROW_NOTE)
        gains += gain_rows(row, found, [None] * len(GAINS), note=ROW_NOTE)
    return joint_tables(name, TITLES, accuracies, gains, (*OWN_NOTES, *NOTES))
