"""Table 1 of the inner ensembles paper: Bayesian networks on 14 datasets, over a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from ensemblage.papers._paper_scope import (
    PaperScope,
    make_scope,
    paper_cell,
    paper_dataset,
    repeat_seed,
)
from ensemblage.papers.inner._inner_networks import DATASETS, as_frame, paper_model
from ensemblage.papers.inner._inner_table1_rows import summarise_inner_table1
from ensemblage.runs import Cell, Experiment

TITLE = "Bayesian networks with an inner ensemble (Table 1 and its sensitivity analysis)"
VERSION = 1
N_FOLDS, INNER_FOLDS = 10, 3

SIZES = {"quick": (10,), "standard": (10, 30), "full": tuple(range(10, 101, 10))}
SHARES = {
    "quick": (0.3, 0.7),
    "standard": (0.1, 0.3, 0.5, 0.7, 0.9),
    "full": tuple(share / 10 for share in range(1, 11)),
}
REPEATS = {"quick": 1, "standard": 2, "full": 10}
PLAIN_REPEATS = {"quick": 4, "standard": 10, "full": 10}
# What nested cross-validation chooses from: the whole grid would take a day.
NESTED = {"quick": "quick", "standard": "standard", "full": "standard"}


def folds(y: Any, n_folds: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Stratified folds; a class may have fewer rows than there are folds.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Classes.
    n_folds : int
        How many.
    seed : int
        Of the shuffle.

    Yields
    ------
    tuple of ndarray
        Training and test rows.
    """
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    yield from StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(codes, codes)


def accuracy(model: Any, X: Any, y: Any, train: np.ndarray, test: np.ndarray) -> float:
    """Fit on some rows and score on others.

    Parameters
    ----------
    model : estimator
        Unfitted.
    X : dataframe or ndarray
        All rows.
    y : array-like
        Their classes.
    train, test : ndarray of int
        Which.

    Returns
    -------
    float
        In per cent.
    """
    model.fit(_safe_indexing(X, train), _safe_indexing(y, train))
    truth = np.asarray(_safe_indexing(y, test))
    return 100.0 * float(np.mean(model.predict(_safe_indexing(X, test)) == truth))


def nested_accuracy(
    X: Any, y: Any, train: np.ndarray, test: np.ndarray, settings: Sequence[dict], seed: int
) -> float:
    """Choose a setting on inner folds of the training rows, then score it on the test rows.

    Parameters
    ----------
    X : dataframe or ndarray
        All rows.
    y : array-like
        Their classes.
    train, test : ndarray of int
        Which.
    settings : sequence of dict
        Of the inner score.
    seed : int
        Of the inner folds and of the models.

    Returns
    -------
    float
        In per cent.
    """
    inner = [
        (train[part], train[rest]) for part, rest in folds(np.asarray(y)[train], INNER_FOLDS, seed)
    ]
    scores = [
        np.mean([accuracy(paper_model("inner", seed, **setting), X, y, *rows) for rows in inner])
        for setting in settings
    ]
    chosen = settings[int(np.argmax(scores))]
    return accuracy(paper_model("inner", seed, **chosen), X, y, train, test)


@paper_cell
def compute_inner_table1(cell: Cell, data_dir: str | None) -> Mapping[str, Any]:
    """One ten-fold cross-validation of one method with one setting.

    Parameters
    ----------
    cell : Cell
        Dataset, method, setting, repeat and seed.
    data_dir : str or None
        Folder of CSV files.

    Returns
    -------
    dict
        The mean ``accuracy`` in per cent.
    """
    params = cell.params
    X, y = as_frame(paper_dataset(params["dataset"], data_dir))
    seed = repeat_seed(params["seed"], params["repeat"])
    splits = folds(y, N_FOLDS, seed)
    if params["method"] == "nested":
        settings = _settings(params["n_views"], params["view_size"], [False])
        scores = [nested_accuracy(X, y, *rows, settings, seed) for rows in splits]
    else:
        setting = {key: params[key] for key in ("n_views", "view_size", "replace") if key in params}
        model = partial(paper_model, params["method"], seed, **setting)
        scores = [accuracy(model(), X, y, *rows) for rows in splits]
    return {"accuracy": float(np.mean(scores))}


def _settings(sizes: Sequence[int], shares: Sequence[float], modes: Sequence[bool]) -> list[dict]:
    return [
        {"n_views": size, "view_size": share, "replace": replace}
        for replace, size, share in product(modes, sizes, shares)
    ]


def declare_inner_table1(
    name: str,
    scale: str,
    seed: int = 0,
    data_dir: str | None = None,
    datasets: Sequence[str] | None = None,
) -> Experiment:
    """Declare the table and its grid.

    Parameters
    ----------
    name : str
        Of the experiment.
    scale : {"quick", "standard", "full"}
        One ten-fold cross-validation of 1 ensemble size by 2 sample sizes; two of 2 by 5; or
        ten of 10 by 10, as in the paper; each with and without replacement.
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
        scope.cell(name, VERSION, dataset=each, repeat=repeat, **params)
        for repeat in range(PLAIN_REPEATS[scale])
        for each in scope.prints
        for params in _entries(scope, repeat)
    ]
    summarise = partial(
        summarise_inner_table1, name=name, title=TITLE, scope=scope, sizes=SIZES[scale],
        shares=SHARES[scale],
    )  # fmt: skip
    return Experiment(name, TITLE, cells, compute_inner_table1, summarise, data_dir)


def _entries(scope: PaperScope, repeat: int) -> list[dict[str, Any]]:
    """Methods and settings of one repeat."""
    if repeat >= REPEATS[scope.scale]:
        return [{"method": "plain"}]  # it is cheap
    sizes, shares = SIZES[scope.scale], SHARES[scope.scale]
    nested = NESTED[scope.scale]
    return [
        *({"method": method} for method in ("plain", "default", "crowd")),
        *({"method": "bagging", "n_views": size} for size in sizes),
        *({"method": "inner", **setting} for setting in _settings(sizes, shares, [False, True])),
        {"method": "nested", "n_views": list(SIZES[nested]), "view_size": list(SHARES[nested])},
    ]
