"""Predictions of new rows, as values to write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Predictions:
    """Predicted classes.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        The predicted class of each row.
    classes : tuple of str
        The model's classes.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        None if the model gives no probabilities.
    """

    labels: NDArray[Any]
    classes: tuple[str, ...]
    probabilities: NDArray[Any] | None = None

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Give a table to write.

        Returns
        -------
        header : list of str
            ``prediction``, then ``probability_CLASS`` for each class.
        rows : list of list of str
            The values as text.
        """
        labels = [[str(label)] for label in self.labels.tolist()]
        if self.probabilities is None:
            return ["prediction"], labels
        header = ["prediction", *(f"probability_{label}" for label in self.classes)]
        shares = [[f"{p:.6g}" for p in row] for row in self.probabilities.tolist()]
        return header, [a + b for a, b in zip(labels, shares, strict=True)]


def predict_rows(model: Any, X: NDArray[Any], sources: Any = None) -> Predictions:
    """Predict new rows, with probabilities where the model has them.

    Parameters
    ----------
    model : estimator
        A fitted classifier.
    X : ndarray of shape (n_rows, n_features)
        The rows, in the model's order of columns.
    sources : array-like of shape (n_rows,), default=None
        Where they come from, if the model is told so.

    Returns
    -------
    Predictions
        Labels, classes and probabilities.
    """
    told = {} if sources is None else {"sources": sources}
    shares = model.predict_proba(X, **told) if hasattr(model, "predict_proba") else None
    classes = tuple(str(label) for label in model.classes_)
    return Predictions(np.asarray(model.predict(X, **told)), classes, shares)
