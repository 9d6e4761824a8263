"""Predictions of classifiers that fuse what their members say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from ensemblage.fusion._base import Array


class FusedClassifierMixin(ClassifierMixin):
    """Give classes, probabilities or decision values from fused scores.

    Members are fitted on class numbers; a class that uses it fills in what is left open here.
    """

    classes_: NDArray[Any]

    def _scores(self, X: Any) -> Array:
        """Fuse what members say of rows, (n_samples, n_classes)."""
        raise NotImplementedError  # look: ok

    def _gives_probabilities(self) -> bool:
        """Tell whether scores are probabilities; it is asked before ``fit`` too."""
        raise NotImplementedError  # look: ok

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        winners = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    @available_if(lambda self: self._gives_probabilities())
    def predict_proba(self, X: Any) -> Array:
        """Predict class probabilities, where the fusion gives them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self._scores(X)

    @available_if(lambda self: not self._gives_probabilities())
    def decision_function(self, X: Any) -> Array:
        """Fused decision values, where the fusion gives no probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value per row for two classes: positive for the second.
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1]) if len(self.classes_) == 2 else scores
