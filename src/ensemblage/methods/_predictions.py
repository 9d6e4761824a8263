"""Predictions of new rows, as values to write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.methods._number_answers import number_answers


@dataclass(frozen=True)
class Predictions:
    """Predicted classes or numbers.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        The predicted class or number of each row.
    classes : tuple of str
        The model's classes; empty if it predicts numbers.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        None if the model gives no probabilities.
    spread : ndarray of shape (n_rows,) or None
        Standard deviations of predicted numbers; None if the model gives none.
    intervals : ndarray of shape (n_rows, 2) or None
        Ends of intervals that should hold 90 % of the numbers; None without a spread.
    """

    labels: NDArray[Any]
    classes: tuple[str, ...]
    probabilities: NDArray[Any] | None = None
    spread: NDArray[Any] | None = None
    intervals: NDArray[Any] | None = None

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Give a table to write.

        Returns
        -------
        header : list of str
            ``prediction``, then ``probability_CLASS`` for each class, or ``spread``, ``low`` and
            ``high``.
        rows : list of list of str
            The values as text.
        """
        if not self.classes:
            return self._number_rows()
        labels = [[str(label)] for label in self.labels.tolist()]
        if self.probabilities is None:
            return ["prediction"], labels
        header = ["prediction", *(f"probability_{label}" for label in self.classes)]
        shares = [[f"{p:.6g}" for p in row] for row in self.probabilities.tolist()]
        return header, [a + b for a, b in zip(labels, shares, strict=True)]

    def columns(self) -> dict[str, Any]:
        """Give the same table by its columns, with values instead of texts.

        Returns
        -------
        dict of str to array-like
            Classes are texts, all others numbers.
        """
        if self.classes:
            found: dict[str, Any] = {"prediction": list(map(str, self.labels.tolist()))}
            shares = () if self.probabilities is None else np.asarray(self.probabilities).T
            named = zip(self.classes, shares, strict=False)
            return found | {f"probability_{label}": share for label, share in named}
        found = {"prediction": self.labels}
        if self.spread is not None and self.intervals is not None:
            low, high = self.intervals.T
            found |= {"spread": self.spread, "low": low, "high": high}
        return found

    def _number_rows(self) -> tuple[list[str], list[list[str]]]:
        columns = self.columns()
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        return list(columns), [[f"{value:.10g}" for value in row] for row in rows]


def predict_rows(model: Any, X: Any, sources: Any = None) -> Predictions:
    """Predict new rows, with probabilities or a spread where the model has them.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor.
    X : array-like of shape (n_rows, n_features)
        The rows, in the model's order of columns.
    sources : array-like of shape (n_rows,), default=None
        Where they come from, if the model is told so.

    Returns
    -------
    Predictions
        Labels, classes and probabilities, or numbers and their spread.
    """
    told = {} if sources is None else {"sources": sources}
    if not hasattr(model, "classes_"):
        numbers = number_answers(model, X, told)
        return Predictions(numbers.predicted, (), None, numbers.spread, numbers.intervals)
    classes = tuple(str(label) for label in model.classes_)
    if not told:
        from ensemblage.parallel import final_step, rows_at_final_step  # noqa: PLC0415  large

        # a pipeline prepares the rows once, for classes and for probabilities
        model, X = final_step(model), rows_at_final_step(model, X)
    shares = model.predict_proba(X, **told) if hasattr(model, "predict_proba") else None
    return Predictions(np.asarray(model.predict(X, **told)), classes, shares)
