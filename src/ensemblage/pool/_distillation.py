"""Distillation: one interpretable model fitted to the pool's probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from ensemblage._core import (
    deal_folds,
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
Indices = NDArray[np.intp]

N_FOLDS = 5
MIN_PROBABILITY = 1e-3
"""Classes with a lower probability are ignored."""


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class DistilledModel:
    """An interpretable model fitted to a pool's probabilities, and its cross-validated scores.

    ``fidelity`` is the share of rows on which it agrees with the pool; ``label_log_loss`` is the
    log loss of the same model fitted to the classes. The last three are None without classes.
    """

    model: Any
    fidelity: float
    log_loss: float | None
    accuracy: float | None
    label_log_loss: float | None


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


def distill(
    model: Any, X: Any, proba: Doubles, classes: NDArray[Any], y: Indices | None = None
) -> DistilledModel:
    """Fit a model to a pool's probabilities; score it by cross-validation."""
    pool_classes = proba.argmax(axis=1)

    def cross_val_proba(targets: Doubles) -> Doubles:
        found = np.zeros_like(targets)
        for train, test in deal_folds(pool_classes, N_FOLDS, np.random.default_rng(0)):
            fitted = fit_to_probabilities(model, take_rows(X, train), targets[train], classes)
            known = np.searchsorted(classes, fitted.classes_)
            found[test[:, None], known] = fitted.predict_proba(take_rows(X, test))
        return found

    predicted = cross_val_proba(proba)
    fidelity = float((predicted.argmax(axis=1) == pool_classes).mean())
    fitted = fit_to_probabilities(model, X, proba, classes)
    if y is None:
        return DistilledModel(fitted, fidelity, None, None, None)
    of_labels = cross_val_proba(np.eye(len(classes))[y])
    accuracy = float((predicted.argmax(axis=1) == y).mean())
    # mixed with class frequencies, as the probabilities of the pool's members are
    prior = np.bincount(y, minlength=len(classes)) / len(y)
    losses = [
        log_loss((1 - MIN_PROBABILITY) * each + MIN_PROBABILITY * prior, y)
        for each in (predicted, of_labels)
    ]
    return DistilledModel(fitted, fidelity, losses[0], accuracy, losses[1])
