"""Distillation: one interpretable model fitted to the pool's outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline

from ensemblage._core import (
    fit_parameter,
    listing,
    set_module,
    set_seed,
    suggestion,
    take_rows,
)
from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import TableEncoder
from ensemblage.inner import InnerTreeClassifier, InnerTreeRegressor
from ensemblage.pool._member_spec import log_loss
from ensemblage.strata import ScaledLogisticRegression, ScaledRidge

Doubles = NDArray[np.float64]

MIN_PROBABILITY = 1e-3
"""Classes with a lower probability are ignored."""


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class DistilledModel:
    """An interpretable model fitted to a pool's outputs, and its scores on test rows.

    ``fidelity`` is the share of test rows on which it agrees with the pool, or for a numeric target
    the share of the variance of the pool's predictions that it explains; it is None without test
    rows. ``log_loss`` and ``accuracy``, or ``rmse``, are None also without their targets.
    """

    model: Any
    fidelity: float | None = None
    log_loss: float | None = None
    accuracy: float | None = None
    rmse: float | None = None


@dataclass(frozen=True)
class DistilledClasses:
    """Distillation of class probabilities."""

    classes: NDArray[Any]

    def fit(self, model: Any, X: Any, proba: Doubles) -> Any:
        return fit_to_probabilities(model, X, proba, self.classes)

    def score(self, fitted: Any, X: Any, proba: Doubles, y: Any, prior: Doubles) -> DistilledModel:
        """Score a fitted model on rows that neither it nor the pool was fitted to.

        ``proba`` are the pool's probabilities of these rows; ``y`` may be None.
        """
        predicted = np.zeros_like(proba)  # also of classes that the model has not seen
        predicted[:, np.searchsorted(self.classes, fitted.classes_)] = fitted.predict_proba(X)
        fidelity = float((predicted.argmax(axis=1) == proba.argmax(axis=1)).mean())
        if y is None:
            return DistilledModel(fitted, fidelity)
        codes = np.searchsorted(self.classes, y)
        # mixed with class frequencies, as the probabilities of the pool's members are
        mixed = (1 - MIN_PROBABILITY) * predicted + MIN_PROBABILITY * prior
        accuracy = float((predicted.argmax(axis=1) == codes).mean())
        return DistilledModel(fitted, fidelity, log_loss(mixed, codes), accuracy)


@dataclass(frozen=True)
class DistilledValues:
    """Distillation of the means of a numeric target."""

    def fit(self, model: Any, X: Any, outputs: Doubles) -> Any:
        return clone(model).fit(X, outputs[:, 0])

    def score(
        self, fitted: Any, X: Any, outputs: Doubles, y: Any, prior: Doubles
    ) -> DistilledModel:
        """Score a fitted model on rows that neither it nor the pool was fitted to."""
        del prior
        predicted = np.asarray(fitted.predict(X), dtype=float)
        fidelity = float(r2_score(outputs[:, 0], predicted))
        if y is None:
            return DistilledModel(fitted, fidelity)
        errors = predicted - np.asarray(y, dtype=float)
        return DistilledModel(fitted, fidelity, rmse=float(np.sqrt((errors**2).mean())))


def make_student(
    kind: str, max_leaf_nodes: int, *, encoded: bool = False, numeric: bool = False
) -> Any:
    """Return an unfitted model of a kind; with ``encoded`` one that accepts raw tables."""
    models = {
        "tree": InnerTreeClassifier(max_leaf_nodes=max_leaf_nodes, criterion="log_loss"),
        "network": BayesNetClassifier(calibration=None),  # copies of a row are in all folds
        "logistic": ScaledLogisticRegression(max_iter=500),
    }
    if numeric:
        models = {
            "tree": InnerTreeRegressor(max_leaf_nodes=max_leaf_nodes),
            "linear": ScaledRidge(),
        }
    if kind not in models:
        raise ValueError(
            f"kind={kind!r} is unknown.{suggestion(kind, models)} Use one of "
            f"{listing(map(repr, models))}."
        )
    model = set_seed(models[kind], 0)
    if encoded and kind in {"logistic", "linear"}:
        return make_pipeline(TableEncoder(scale=False, random_state=0), model)
    return model


def fit_to_probabilities(model: Any, X: Any, proba: Doubles, classes: NDArray[Any]) -> Any:
    """Fit a copy to probabilities: each row once per class, weighted by its probability."""
    rows, columns = np.nonzero(proba >= MIN_PROBABILITY)
    fresh, weights = clone(model), proba[rows, columns]
    passed: dict[str, Any] = {fit_parameter(fresh, "sample_weight") or "sample_weight": weights}
    if (groups := fit_parameter(fresh, "groups")) is not None:
        passed[groups] = rows  # copies of a row stay together
    return fresh.fit(take_rows(X, rows), classes[columns], **passed)
