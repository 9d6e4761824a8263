"""What a fit said, and how good its predictions are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

# A probability of zero for the true class would make the log loss infinite.
SMALLEST = 1e-15


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
