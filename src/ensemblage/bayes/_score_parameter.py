"""A parameter called ``score`` beside scikit-learn's method of that name."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin


def score(  # numpydoc ignore=PR01
    self: Any, X: Any, y: Any, sample_weight: Any = None
) -> float:
    """Mean accuracy of the predictions.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Their true classes.
    sample_weight : array-like of shape (n_samples,), default=None
        Row weights.

    Returns
    -------
    float
        Share of the rows, in weight, whose class is predicted.
    """
    return float(ClassifierMixin.score(self, X, y, sample_weight))


class ScoreParameter:
    """Keeps the parameter ``score`` from hiding the method ``score``.

    A network is searched for by a score, and that is what the literature and users call it;
    scikit-learn's estimators also have a method ``score(X, y)``, and cross-validation calls it.
    Setting the attribute sets the parameter, reading it gives the method, and ``get_params``
    gives the parameter.
    """

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        return score if estimator is None else score.__get__(estimator, owner)

    def __set__(self, estimator: Any, value: Any) -> None:
        estimator.__dict__["score"] = value


class ScoreParameterMixin:
    """An estimator with a parameter and a method called ``score``."""

    score = ScoreParameter()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the estimator's parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether parameters of nested estimators are listed too.

        Returns
        -------
        dict
            Parameter names and values.
        """
        params = super().get_params(deep=deep)  # type: ignore[misc]
        return {**params, "score": self.__dict__["score"]}
