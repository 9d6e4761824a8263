"""Classes and probabilities of rows whose source may be known."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if

from ensemblage.fusion._base import Array, FusedClassifierMixin, at_most_one


class SourcedClassifierMixin(FusedClassifierMixin):
    """Give classes and probabilities from fused scores, of rows whose sources may be given."""

    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__predict_proba: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sources": True}

    def _scores(self, X: Any, sources: Any = None) -> Array:
        """Fuse what members say of rows, (n_samples, n_classes)."""
        raise NotImplementedError  # look: ok

    def predict(self, X: Any, sources: Any = None) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,) or str, default=None
            Where each row comes from; see ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        winners = self._scores(X, sources).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    @available_if(lambda self: self._gives_probabilities())
    def predict_proba(self, X: Any, sources: Any = None) -> Array:
        """Predict class probabilities, where the fusion gives them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,) or str, default=None
            Where each row comes from: one per row, or, in a pool, the column of X that tells. A row
            whose source is missing or new is answered as if none had been given.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return at_most_one(self._scores(X, sources))

    def score(self, X: Any, y: Any, sample_weight: Any = None, sources: Any = None) -> float:
        """Share of rows whose class is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        sources : array-like of shape (n_samples,) or str, default=None
            As in ``predict_proba``.

        Returns
        -------
        float
            Accuracy.
        """
        return float(accuracy_score(y, self.predict(X, sources), sample_weight=sample_weight))
