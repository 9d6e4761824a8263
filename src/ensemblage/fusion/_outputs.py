"""What members are asked for, and their outputs as one array."""

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


def as_columns(decision: Doubles) -> Doubles:
    """Decision values with one column per class, also for two classes.

    Parameters
    ----------
    decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What ``decision_function`` gave.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        For two classes the pair (-d, d).
    """
    return np.column_stack([-decision, decision]) if decision.ndim == 1 else decision


RESPONSES = ("predict_proba", "decision_function", "predict")
"""Methods of a classifier, the one that tells most first."""
PROBABILITY_FLOOR = 1e-12
"""Probabilities count as at least this, so that one member cannot rule a class out."""


def common_response(members: Sequence[Any]) -> str:
    """Name the best method that all members have, fitted or not."""
    return next(name for name in RESPONSES if all(hasattr(each, name) for each in members))


def is_constant(member: Any) -> bool:
    """Tell whether a member always says the same; such a one has no decision values."""
    return isinstance(getattr(member, "foreign", member), DummyClassifier)


def member_outputs(member: Any, X: Any, n_classes: int, response: str) -> Doubles:
    """Ask a member that was fitted on class numbers, (n_samples, n_classes).

    Classes that it never saw have probability zero, or a decision value one below its lowest. An
    answer that is no number is refused.
    """
    known: Any
    lowest: Any = 0.0
    if response == "predict_proba":
        known = member.predict_proba(X)
    elif is_constant(member):
        known, lowest = 2 * member.predict_proba(X) - 1, -1.0
    elif response == "predict":
        return np.asarray(2 * np.eye(n_classes)[_numbers(member, member.predict(X), n_classes)] - 1)
    else:
        known = as_columns(member.decision_function(X))
        lowest = known.min(axis=1, keepdims=True) - 1
    if not np.isfinite(known).all():
        raise ValueError(
            f"{type(getattr(member, 'foreign', member)).__name__} answers with NaN or infinity: X "
            "holds values too large for it. Scale the columns first, for instance with "
            "StandardScaler."
        )
    if np.array_equal(member.classes_, np.arange(n_classes)):
        return np.asarray(known, dtype=float)
    outputs = np.broadcast_to(np.asarray(lowest, dtype=float), (len(known), n_classes)).copy()
    outputs[:, _numbers(member, member.classes_, n_classes)] = known
    return outputs


def _numbers(member: Any, classes: Any, n_classes: int) -> NDArray[np.intp]:
    """Refuse what are no numbers of classes."""
    numbers = np.asarray(classes)
    inside = numbers.dtype.kind in "iu" and bool(((numbers >= 0) & (numbers < n_classes)).all())
    if not inside:
        raise ValueError(
            f"{type(getattr(member, 'foreign', member)).__name__} speaks of other classes than the "
            f"{n_classes} that it was to learn: it, or the file that it is from, is damaged."
        )
    return numbers


def are_probabilities(outputs: Doubles) -> bool:
    """Tell one member's probabilities from decision values, both (n_samples, n_classes)."""
    # a product adds up short rows faster than sum does
    sums = outputs @ np.ones(outputs.shape[1])
    return bool(outputs.min() >= 0 and np.abs(sums - 1).max() <= 1e-5)


MIN_VARIANCE_SHARE = 1e-9
"""A member that says it is sure of a row counts as off by this share of the target's variance."""


def number_response(member: Any) -> str:
    """Name what a regressor is asked for: ``predict_std`` if its ``predict`` tells the spread."""
    last = member[-1] if isinstance(member, Pipeline) else member
    known = inspect.signature(last.predict).parameters
    return "predict_std" if "return_std" in known else "predict"


def number_outputs(member: Any, X: Any, response: str, variance: float) -> Doubles:
    """Ask a fitted regressor for means and variances, (n_samples, 2).

    Without a spread of its own it says the variance given, that of the target. Predictions whose
    squares do not add up to a number are refused: no fusion could weigh them.
    """
    if response == "predict_std":
        mean, spread = member.predict(X, return_std=True)
        own = np.maximum(np.square(spread, dtype=float), MIN_VARIANCE_SHARE * variance)
    else:
        mean = np.asarray(member.predict(X), dtype=float)
        own = np.full(len(mean), variance)
    with np.errstate(over="ignore"):
        refuse_infinite(4.0 * len(mean) * np.square(mean) + own)
    return np.column_stack([mean, own])
