"""One cell of a comparison: one method on one fold."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ensemblage.methods._registry import get_method, make_model
from ensemblage.runs import balanced_accuracy, log_loss, recorded_warnings


class Cell(NamedTuple):
    """The scores of one method on one fold.

    Attributes
    ----------
    accuracy, balanced_accuracy : float
        Shares between 0 and 1; NaN if the fit failed.
    log_loss : float
        Mean negative log probability of the true class; NaN where there are no probabilities.
    seconds : float
        For the fit, on one core.
    error : str
        What went wrong, or nothing.
    warnings : tuple of str
        What the fit warned of, each once.
    """

    accuracy: float
    balanced_accuracy: float
    log_loss: float
    seconds: float
    error: str = ""
    warnings: tuple[str, ...] = ()


class Task(NamedTuple):
    """What a worker needs to compute a cell."""

    method: str
    fold: int
    seed: int
    train: np.ndarray
    test: np.ndarray


def score_cell(
    task: Task,
    X: np.ndarray,
    y: np.ndarray,
    kinds: Sequence[str],
    sources: np.ndarray | None = None,
    new_sources: bool = False,
) -> Cell:
    """Fit a method on a fold's training rows and score it on its test rows.

    Parameters
    ----------
    task : Task
        Method, seed, training and test rows.
    X : ndarray of shape (n_rows, n_features)
        All rows.
    y : ndarray of shape (n_rows,)
        Their classes.
    kinds : sequence of {"number", "word"}
        The kind of each column.
    sources : ndarray of shape (n_rows,), default=None
        Where each row comes from, for the methods that take it.
    new_sources : bool, default=False
        Whether the test rows come from sources of their own.

    Returns
    -------
    Cell
        The scores; or the text of the error, as one method's failure must not end the others.
    """
    # One thread everywhere: sums have one order, and seconds mean the same for every method.
    with threadpool_limits(limits=1), recorded_warnings() as said:
        try:
            start = time.perf_counter()
            known = None if sources is None else sources[task.train]
            extra = get_method(task.method).fit_params(known, new_sources)
            model = make_model(task.method, kinds, task.seed)
            model.fit(X[task.train], y[task.train], **extra)
            seconds = time.perf_counter() - start
            scores = _scores(model, X[task.test], y[task.test])
        except Exception as error:
            return Cell(np.nan, np.nan, np.nan, np.nan, f"{type(error).__name__}: {error}")
    return Cell(*scores, seconds, warnings=tuple(dict.fromkeys(said)))


def _scores(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    predicted = np.asarray(model.predict(X))
    loss = np.nan
    if hasattr(model, "predict_proba"):
        loss = log_loss(y, model.predict_proba(X), model.classes_)
    return float((predicted == y).mean()), balanced_accuracy(y, predicted), loss
