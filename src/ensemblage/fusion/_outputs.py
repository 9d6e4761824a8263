"""Members' outputs as one array."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline

from ensemblage._core import refuse_infinite

Doubles = NDArray[np.float64]

# Methods of a classifier, the most informative first.
RESPONSE_METHODS = ("predict_proba", "decision_function", "predict")
# Smallest variance that a member may predict, as a share of the target's.
MIN_VARIANCE_SHARE = 1e-9


def as_columns(decision: Doubles) -> Doubles:
    """Decision values with one column per class; for two classes the pair (-d, d)."""
    return np.column_stack([-decision, decision]) if decision.ndim == 1 else decision


def common_response_method(members: Sequence[Any]) -> str:
    """Name the most informative method that all members have, fitted or not."""
    return next(name for name in RESPONSE_METHODS if all(hasattr(each, name) for each in members))


def is_constant(member: Any) -> bool:
    """Tell whether a member predicts the same for all rows; it has no decision values."""
    return isinstance(getattr(member, "wrapped", member), DummyClassifier)


def member_outputs(member: Any, X: Any, n_classes: int, method: str) -> Doubles:
    """Predict by a member that was fitted on class indices, (n_samples, n_classes).

    Classes that it never saw have probability zero, or a decision value one below its lowest.
    """
    known: Any
    lowest: Any = 0.0
    if method == "predict_proba":
        known = member.predict_proba(X)
    elif is_constant(member):
        known, lowest = 2 * member.predict_proba(X) - 1, -1.0
    elif method == "predict":
        return np.asarray(2 * np.eye(n_classes)[_indices(member, member.predict(X), n_classes)] - 1)
    else:
        known = as_columns(member.decision_function(X))
        lowest = known.min(axis=1, keepdims=True) - 1
    if not np.isfinite(known).all():
        raise ValueError(
            f"{type(getattr(member, 'wrapped', member)).__name__} predicts NaN or infinity: X "
            "holds values too large for it. Scale the columns first, for instance with "
            "StandardScaler."
        )
    if np.array_equal(member.classes_, np.arange(n_classes)):
        return np.asarray(known, dtype=float)
    outputs = np.broadcast_to(np.asarray(lowest, dtype=float), (len(known), n_classes)).copy()
    outputs[:, _indices(member, member.classes_, n_classes)] = known
    return outputs


def _indices(member: Any, classes: Any, n_classes: int) -> NDArray[np.intp]:
    indices = np.asarray(classes)
    inside = indices.dtype.kind in "iu" and bool(((indices >= 0) & (indices < n_classes)).all())
    if not inside:
        raise ValueError(
            f"{type(getattr(member, 'wrapped', member)).__name__} predicts other classes than "
            f"the {n_classes} that it was fitted to: it, or the file that it is from, is damaged."
        )
    return indices


def are_probabilities(outputs: Doubles) -> bool:
    """Tell one member's probabilities from decision values, both (n_samples, n_classes)."""
    # a product adds up short rows faster than sum does
    sums = outputs @ np.ones(outputs.shape[1])
    return bool(outputs.min() >= 0 and np.abs(sums - 1).max() <= 1e-5)


def regressor_response_method(member: Any) -> str:
    """Name what a regressor is asked for: ``predict_std`` if ``predict`` takes ``return_std``."""
    last = member[-1] if isinstance(member, Pipeline) else member
    known = inspect.signature(last.predict).parameters
    return "predict_std" if "return_std" in known else "predict"


def regressor_outputs(member: Any, X: Any, method: str, variance: float) -> Doubles:
    """Means and variances predicted by a fitted regressor, (n_samples, 2).

    Without variances of its own it has the one given, that of the target. Predictions whose
    squares overflow are refused: no fusion could weigh them.
    """
    if method == "predict_std":
        mean, std = member.predict(X, return_std=True)
        own = np.maximum(np.square(std, dtype=float), MIN_VARIANCE_SHARE * variance)
    else:
        mean = np.asarray(member.predict(X), dtype=float)
        own = np.full(len(mean), variance)
    with np.errstate(over="ignore"):
        refuse_infinite(4.0 * len(mean) * np.square(mean) + own)
    return np.column_stack([mean, own])
