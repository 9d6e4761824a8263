"""Distillation: one interpretable model fitted to the pool's probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
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
from ensemblage.inner import InnerTreeClassifier
from ensemblage.pool._member_spec import log_loss
from ensemblage.strata import ScaledLogisticRegression

Doubles = NDArray[np.float64]

MIN_PROBABILITY = 1e-3
"""Classes with a lower probability are ignored."""


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class DistilledModel:
    """An interpretable model fitted to a pool's probabilities, and its scores on test rows.

    ``fidelity`` is the share of test rows on which it agrees with the pool; it is None without test
    rows, ``log_loss`` and ``accuracy`` also without their classes.
    """

    model: Any
    fidelity: float | None = None
    log_loss: float | None = None
    accuracy: float | None = None


def make_student(kind: str, max_leaf_nodes: int, *, encoded: bool = False) -> Any:
    """Return an unfitted model of a kind; with ``encoded`` one that accepts raw tables."""
    models = {
        "tree": InnerTreeClassifier(max_leaf_nodes=max_leaf_nodes, criterion="log_loss"),
        "network": BayesNetClassifier(calibration=None),  # copies of a row are in all folds
        "logistic": ScaledLogisticRegression(max_iter=500),
    }
    if kind not in models:
        raise ValueError(
            f"kind={kind!r} is unknown.{suggestion(kind, models)} Use one of "
            f"{listing(map(repr, models))}."
        )
    model = set_seed(models[kind], 0)
    if encoded and kind == "logistic":
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


def score_on_test_rows(
    fitted: Any, X: Any, proba: Doubles, classes: NDArray[Any], y: Any, prior: Doubles
) -> DistilledModel:
    """Score a fitted model on rows that neither it nor the pool was fitted to.

    ``proba`` are the pool's probabilities of these rows; ``y`` may be None.
    """
    predicted = np.zeros_like(proba)  # also of classes that the model has not seen
    predicted[:, np.searchsorted(classes, fitted.classes_)] = fitted.predict_proba(X)
    fidelity = float((predicted.argmax(axis=1) == proba.argmax(axis=1)).mean())
    if y is None:
        return DistilledModel(fitted, fidelity)
    codes = np.searchsorted(classes, y)
    # mixed with class frequencies, as the probabilities of the pool's members are
    mixed = (1 - MIN_PROBABILITY) * predicted + MIN_PROBABILITY * prior
    accuracy = float((predicted.argmax(axis=1) == codes).mean())
    return DistilledModel(fitted, fidelity, log_loss(mixed, codes), accuracy)
