"""What members that predict numbers say of rows: a mean, and a variance if they have one."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ensemblage.fusion._base import Array
from ensemblage.tables import refuse_infinite

SMALLEST = 1e-9
"""A member that says it is sure of a row counts as off by this share of the target's variance."""


def number_response(member: Any) -> str:
    """Name what a regressor is asked for: ``predict_std`` if its ``predict`` tells the spread."""
    last = member[-1] if isinstance(member, Pipeline) else member
    known = inspect.signature(last.predict).parameters
    return "predict_std" if "return_std" in known else "predict"


def number_outputs(member: Any, X: Any, response: str, variance: float) -> Array:
    """Ask a fitted regressor for means and variances, (n_samples, 2).

    Without a spread of its own it says the variance given, that of the target. Predictions whose
    squares do not add up to a number are refused: no fusion could weigh them.
    """
    if response == "predict_std":
        mean, spread = member.predict(X, return_std=True)
        own = np.maximum(np.square(spread, dtype=float), SMALLEST * variance)
    else:
        mean = np.asarray(member.predict(X), dtype=float)
        own = np.full(len(mean), variance)
    with np.errstate(over="ignore"):
        refuse_infinite(4.0 * len(mean) * np.square(mean) + own)
    return np.column_stack([mean, own])
