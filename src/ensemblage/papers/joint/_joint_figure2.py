"""Figure 2 of the joint feature-subset paper: two true features among six dummies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ensemblage.datasets import make_quarter_circle
from ensemblage.papers._paper_rows import by_repeat, entry, failed, grouped
from ensemblage.papers._paper_scope import PaperScope, make_scope, paper_cell, repeat_seed
from ensemblage.runs import Cell, CellResult, Experiment, ResultTable
from ensemblage.subspace import JointSubspaceSelector

N_DUMMIES = 6
N_MEMBERS = 10
# Seeds on which nothing was tuned.
FRESH_SEEDS = 1000
REPEATS = {"quick": 20, "standard": 100, "full": 100}
SIZES = (20, 100)
VARIANTS: dict[str, dict[str, Any]] = {
    "selector": {},
    "literal": {"solver": "paper", "flip_probability": 0.01, "size_penalty": 0.0},
}
COLUMNS = {
    "pair": "true pair is the most frequent pair",
    "single": "true features are the two most frequent",
    "both": "both, as in the figure",
    "score": "selector's two best are the true ones",
}
TITLE = "Finding two features among six dummies (Figure 2)"
VERSION = 1
NOTES = (
    (
        "The paper shows the matrix of one run, in which the true features are the two most "
        "frequent and their pair the most frequent pair. It does not say how often that happens; "
        "here it is counted over fresh datasets, the columns in a new order in each."
    ),
    (
        f"{N_MEMBERS} members. selector: ours, with converged coefficients, annealing and a price "
        "on each feature kept. literal: Algorithm 1 as printed, without that price; members that "
        "keep all features tie, and a tie does not count as found."
    ),
)


def true_pair(X: np.ndarray, y: np.ndarray, seed: int, **parameters: Any) -> dict[str, float]:
    """Whether the first two columns are found, after the columns were mixed.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The true features first.
    y : ndarray of shape (n_rows,)
        Classes.
    seed : int
        Of the order of the columns and of the selector.
    **parameters : parameters
        Of :class:`JointSubspaceSelector`.

    Returns
    -------
    dict of str to float
        100 or 0 for each of ``COLUMNS``.
    """
    order = np.random.default_rng(seed).permutation(X.shape[1])
    parameters = {"n_estimators": N_MEMBERS, "random_state": seed, **parameters}
    selector = JointSubspaceSelector(2, **parameters).fit(X[:, order], y)
    true = np.flatnonzero(order < 2)
    pairs = np.triu(np.ones_like(selector.co_selection_, dtype=bool), 1)
    pairs[true[0], true[1]] = False
    pair = selector.co_selection_[true[0], true[1]] > selector.co_selection_[pairs].max()
    single = selector.frequencies_[true].min() > np.delete(selector.frequencies_, true).max()
    score = selector.support_[true].all()
    found = {"pair": pair, "single": single, "both": pair and single, "score": score}
    return {name: 100.0 * bool(value) for name, value in found.items()}


@paper_cell
def compute_joint_figure2(cell: Cell, data_dir: str | None) -> Mapping[str, Any]:  # noqa: ARG001
    """Look for the pair in one dataset.

    Parameters
    ----------
    cell : Cell
        Rows per class, variant, repeat and seed.
    data_dir : str or None
        Not needed: the data are generated.

    Returns
    -------
    dict of str to float
        100 if found, else 0.
    """
    params = cell.params
    seed = FRESH_SEEDS + repeat_seed(params["seed"], params["repeat"])
    X, y = make_quarter_circle(params["rows_per_class"], n_dummies=N_DUMMIES, random_state=seed)
    return true_pair(X, y, seed, **VARIANTS[params["variant"]])


def declare_joint_figure2(
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
        20, 100 or 100 datasets per size and variant.
    seed : int, default=0
        The user's seed.
    data_dir : str or None, default=None
        Not needed.
    datasets : sequence of str or None, default=None
        Some of the rows, such as ``"20 per class, literal"``.

    Returns
    -------
    Experiment
    """
    rows = {f"{size} per class, {each}": (size, each) for each in VARIANTS for size in SIZES}
    scope = make_scope(scale, seed, data_dir, tuple(rows), datasets, tuple(rows))
    cells = [
        scope.cell(name, VERSION, rows_per_class=rows[row][0], variant=rows[row][1], repeat=repeat)
        for repeat in range(REPEATS[scale])
        for row in scope.prints
    ]
    summarise = partial(summarise_joint_figure2, name=name, scope=scope)
    return Experiment(name, TITLE, cells, compute_joint_figure2, summarise, data_dir)


def summarise_joint_figure2(
    results: Sequence[CellResult], name: str, scope: PaperScope
) -> list[ResultTable]:
    """Count the runs in which the figure's picture comes out.

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
    groups = grouped(results, "rows_per_class", "variant")
    rows, summary = [], []
    for row in scope.prints:
        size, variant = row.split(" per class, ")
        found = groups.get((int(size), variant), [])
        for key, title in COLUMNS.items():
            note = "The paper shows one run, in which it comes out."
            rows.append(entry(row, title, by_repeat(found, key), failures=failed(found), note=note))
        both = by_repeat(found, "both")
        if both:
            share = np.mean(list(both.values()))
            summary.append(f"{row}: the figure comes out in {share:.0f} % of {len(both)} datasets.")
    return [
        ResultTable(name, TITLE, "share of datasets (%)", rows, summary, NOTES,
                    greater_is_better=True)
    ]  # fmt: skip
