"""What a fit of each method costs, roughly: to expect the time left before it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ensemblage.methods._method import Method
from ensemblage.runs import Cost

SECONDS = {
    "majority": 0.02,
    "logistic": 0.06,
    "svm": 3.3,
    "forest": 0.7,
    "boosting": 0.2,
    "strata": 0.9,
    "strata-sources": 4.0,
    "strata-paper": 1.9,
    "subspace": 4.0,
    "bayesnet": 0.12,
    "inner-bayesnet": 0.35,
    "tree": 0.5,
    "auto": 15.0,
    "mean": 0.02,
    "ridge": 0.1,
}
"""Of a fit and a prediction on 1,000 rows of 20 columns, some of them words, on one core."""
STEEPNESS = 1.5
"""Power of the rows with which the time of a steep method grows; others grow as the rows do."""
ANY = 1.0


def expected_seconds(method: Method, n_rows: int) -> float:
    """Guess how long a method takes on so many rows; only comparisons mean something."""
    power = STEEPNESS if method.steep else 1.0
    # below some hundred rows the time hardly depends on them
    grown: float = (max(n_rows, 300) / 1000) ** power
    return SECONDS.get(method.name, ANY) * grown


def cell_cost(params: Mapping[str, Any], *, seconds: Mapping[str, float]) -> Cost:
    """Take the cells of one method for alike."""
    return Cost(params["method"], seconds[params["method"]])
