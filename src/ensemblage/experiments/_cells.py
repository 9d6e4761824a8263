"""One cell of a comparison: one method on one fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ensemblage.experiments._methods import get_method, make_model

# A probability of zero for the true class would make the log loss infinite.
SMALLEST = 1e-15


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


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Collect what a fit warns of, but for what concerns developers only.

    Yields
    ------
    list of str
        Filled at the end, each warning in one line.
    """
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        yield texts
    texts.extend(" ".join(str(each.message).split()) for each in caught)


def balanced_accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    """Average the recall over the classes that occur in ``y``.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        The true classes.
    predicted : ndarray of shape (n_rows,)
        The predicted ones.

    Returns
    -------
    float
        Between 0 and 1.
    """
    # scikit-learn's own warns if a predicted class does not occur; on a small fold it may.
    return float(np.mean([(predicted[y == label] == label).mean() for label in np.unique(y)]))


def log_loss(y: np.ndarray, probabilities: np.ndarray, classes: np.ndarray) -> float:
    """Average the negative log probability of the true class.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        The true classes.
    probabilities : ndarray of shape (n_rows, n_classes)
        What the model gives.
    classes : ndarray of shape (n_classes,)
        Its classes; a true class that it has never seen has probability zero.

    Returns
    -------
    float
        Not negative, and finite: probabilities count as at least 1e-15.
    """
    true = np.zeros(len(y))
    for j, label in enumerate(classes):
        true[y == label] = probabilities[y == label, j]
    return float(-np.log(np.clip(true, SMALLEST, 1.0)).mean())


def _scores(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    predicted = np.asarray(model.predict(X))
    loss = np.nan
    if hasattr(model, "predict_proba"):
        loss = log_loss(y, model.predict_proba(X), model.classes_)
    return float((predicted == y).mean()), balanced_accuracy(y, predicted), loss
