"""What members say of rows: the method they are asked for, and an answer for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier

from ensemblage.fusion._base import Array
from ensemblage.fusion._stacking import as_columns

RESPONSES = ("predict_proba", "decision_function", "predict")
"""Methods of a classifier, the one that tells most first."""
SMALLEST = 1e-12
"""Probabilities count as at least this, so that one member cannot rule a class out."""


def common_response(members: Sequence[Any]) -> str:
    """Name the best method that all members have, fitted or not."""
    return next(name for name in RESPONSES if all(hasattr(each, name) for each in members))


def is_constant(member: Any) -> bool:
    """Tell whether a member always says the same; such a one has no decision values."""
    return isinstance(getattr(member, "foreign", member), DummyClassifier)


def member_outputs(member: Any, X: Any, n_classes: int, response: str) -> Array:
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


def are_probabilities(outputs: Array) -> bool:
    """Tell one member's probabilities from decision values, both (n_samples, n_classes)."""
    # a product adds up short rows faster than sum does
    sums = outputs @ np.ones(outputs.shape[1])
    return bool(outputs.min() >= 0 and np.abs(sums - 1).max() <= 1e-5)
