"""Predictions of classifiers that fuse what their members say."""

from __future__ import annotations

from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if


def _with_probabilities(self) -> bool:
    return self._gives_probabilities()


def _with_decisions(self) -> bool:
    return not self._gives_probabilities()


class FusedClassifierMixin(ClassifierMixin):
    """Give classes, probabilities or decision values from fused scores.

    A class that uses it has ``classes_``, ``_scores(X)``, of shape (n_samples, n_classes), and
    ``_gives_probabilities()``, which tells whether scores are probabilities.
    """

    def predict(self, X):
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
        return self.classes_[winners]

    @available_if(_with_probabilities)
    def predict_proba(self, X):
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

    @available_if(_with_decisions)
    def decision_function(self, X):
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
        return scores[:, 1] if len(self.classes_) == 2 else scores
