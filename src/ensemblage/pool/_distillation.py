"""One readable model fitted to the pool's predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

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
from ensemblage.pool._targets import log_loss
from ensemblage.strata import ScaledLogisticRegression

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]


N_FOLDS = 5
LEAST_SHARE = 1e-3
"""Classes of less probability are not told to the model."""


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class Distilled:
    """A readable model fitted to a pool's probabilities, and how well it does.

    Parameters
    ----------
    model : classifier
        Fitted to all rows that were given.
    fidelity : float
        Share of the rows of which it says what the pool says, on rows that it has not seen.
    log_loss, accuracy : float or None
        Its own, on rows that it has not seen; None if the classes were not given.
    label_log_loss : float or None
        Of the same model fitted to the classes instead, on the same rows.

    Examples
    --------
    >>> from ensemblage.pool import Distilled
    >>> Distilled(None, 0.97, 0.3, 0.9, 0.4).fidelity
    0.97
    """

    model: Any
    fidelity: float
    log_loss: float | None
    accuracy: float | None
    label_log_loss: float | None


class Soft(NamedTuple):
    """Probabilities of classes, (n_samples, n_classes), to be learned."""

    targets: Doubles
    classes: NDArray[Any]

    def take(self, rows: Indices) -> Soft:
        """Give those of some rows."""
        return Soft(self.targets[rows], self.classes)


def make_readable(kind: str, max_leaves: int, *, encoded: bool = False) -> Any:
    """Make a model of a kind, not fitted; one of tables that have to be ``encoded`` does so."""
    models = {
        "tree": InnerTreeClassifier(max_leaf_nodes=max_leaves, criterion="log_loss"),
        "network": BayesNetClassifier(calibration=None),  # copies of a row are in all folds
        "logistic": ScaledLogisticRegression(max_iter=500),
    }
    if kind not in models:
        raise ValueError(
            f"kind={kind!r} is not known.{suggestion(kind, models)} Use one of "
            f"{listing(map(repr, models))}."
        )
    model = set_seed(models[kind], 0)
    if encoded and kind == "logistic":
        return make_pipeline(TableEncoder(scale=False, random_state=0), model)
    return model


def fit_softly(model: Any, X: Any, soft: Soft) -> Any:
    """Fit a copy to probabilities: each row once per class, weighted by its probability."""
    rows, columns = np.nonzero(soft.targets >= LEAST_SHARE)
    fresh, weights = clone(model), soft.targets[rows, columns]
    passed: dict[str, Any] = {fit_parameter(fresh, "sample_weight") or "sample_weight": weights}
    if (groups := fit_parameter(fresh, "groups")) is not None:
        passed[groups] = rows  # copies of a row stay together
    return fresh.fit(take_rows(X, rows), soft.classes[columns], **passed)


def distil(model: Any, X: Any, soft: Soft, y: Indices | None = None) -> Distilled:
    """Fit a model to a pool's probabilities; judge it by folds."""
    winners = soft.targets.argmax(axis=1)
    said = _said_elsewhere(model, X, soft, winners)
    fidelity = float((said.argmax(axis=1) == winners).mean())
    whole = fit_softly(model, X, soft)
    if y is None:
        return Distilled(whole, fidelity, None, None, None)
    of_labels = _said_elsewhere(model, X, Soft(np.eye(len(soft.classes))[y], soft.classes), winners)
    accuracy = float((said.argmax(axis=1) == y).mean())
    return Distilled(whole, fidelity, _loss(said, y), accuracy, _loss(of_labels, y))


def _said_elsewhere(model: Any, X: Any, soft: Soft, strata: Indices) -> Doubles:
    """Probabilities by models that have not seen the row, in folds with the strata's shares."""
    said = np.zeros_like(soft.targets)
    for train, test in deal_folds(strata, N_FOLDS, np.random.default_rng(0)):
        fitted = fit_softly(model, take_rows(X, train), soft.take(train))
        known = np.searchsorted(soft.classes, fitted.classes_)
        said[test[:, None], known] = fitted.predict_proba(take_rows(X, test))
    return said


def _loss(probabilities: Doubles, y: Indices) -> float:
    """Log loss with a floor of one in a thousand, as members of the pool have it."""
    shares = np.bincount(y, minlength=probabilities.shape[1]) / len(y)
    return log_loss((1 - LEAST_SHARE) * probabilities + LEAST_SHARE * shares, y)
