"""Checks of numeric rows, numeric targets and sample weights."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ensemblage._core._sklearn import check_sample_weight, safe_indexing
from ensemblage._core._text import listing

# Lower bound of probabilities before a logarithm.
PROBABILITY_FLOOR = 1e-12
# Index of a row's source that is missing or new.
UNKNOWN_SOURCE = -1
# Absolute value of doubles below which the sum of their squares cannot overflow.
MAX_SQUARABLE = 1e150
# Largest mean of weights that are counts of rows; others are scaled to mean 1.
MAX_MEAN_COUNT = 1e6
# Significant bits of a weight that are kept; the rest depend on the unit of the weights.
WEIGHT_BITS = 32


def take_rows(X: Any, rows: NDArray[Any]) -> Any:
    """Copy some rows of an array or a frame, by index or mask."""
    if isinstance(X, np.ndarray):
        return X[rows] if rows.dtype == bool else X.take(rows, axis=0)
    return safe_indexing(X, rows)


def refuse_missing_targets(y: Any) -> None:
    """Reject a target with None, NaN or pandas.NA, naming the first such rows."""
    # NumPy would make a text of NaN among texts
    values = np.asarray(y, dtype=object if isinstance(y, (list, tuple)) else None)
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind == "O" and values.ndim > 0:
        missing = np.array([_is_missing(each) for each in values.ravel()], dtype=bool)
    else:
        return
    if missing.any():
        places = np.flatnonzero(missing.reshape(len(values), -1).any(axis=1))
        raise ValueError(
            f"y is missing in {len(places)} of {len(values)} rows (counted from 0: "
            f"{listing(places, 5)}). Omit these rows."
        )


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def as_numbers(y: Any) -> NDArray[np.float64]:
    """Convert a numeric target to floats; reject text, dates and missing values."""
    refuse_missing_targets(y)
    given = np.asarray(y)
    if given.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers; use real values.")
    try:
        if given.dtype.kind not in "mM":
            return given.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"y holds {given.ravel().tolist()[0]!r}, which is not numeric; a regressor needs a numeric "
        "target. Use a classifier for categories."
    )


def squares_are_finite(values: NDArray[np.float64]) -> bool:
    """Whether all doubles are finite and the sum of their squares cannot overflow."""
    return bool(values.max() < MAX_SQUARABLE and values.min() > -MAX_SQUARABLE)


def validate_numbers(
    estimator: Any, X: Any, y: Any = "no_validation", *, squares: bool = False, **checks: Any
) -> Any:
    """Validate as scikit-learn does, but reject dates, which it converts to nanoseconds.

    With ``squares``, values are rejected if the sum of their squares overflows.
    """
    refuse_dates(estimator, X)
    if y is not None and not isinstance(y, str):
        (as_numbers if checks.get("y_numeric") else refuse_missing_targets)(y)  # names the rows
    found = validate_data(estimator, X, y, **checks)
    if squares:
        refuse_overflow(found[0] if isinstance(found, tuple) else found)
    return found


def refuse_dates(estimator: Any, X: Any) -> None:
    """Reject dates and durations, naming the first such column."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    column: Any = None
    if isinstance(frame, nw.DataFrame):
        column = next((name for name, kind in frame.schema.items() if kind.is_temporal()), None)
    elif getattr(getattr(X, "dtype", None), "kind", "") in {"M", "m"}:
        column = 0
    if column is not None:
        raise ValueError(
            f"Column {column!r} of X holds dates or durations; {type(estimator).__name__} needs "
            "numeric columns. Encode them first, for instance with TableEncoder."
        )


def refuse_overflow(X: NDArray[Any], name: str = "X") -> None:
    """Reject values so large that the sum of their squares overflows; NaN is ignored."""
    if X.dtype.kind != "f" or X.size == 0:
        return
    largest = float(max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None)))
    if largest > np.sqrt(np.finfo(X.dtype).max / (4.0 * X.size)):
        raise ValueError(
            f"{name} holds values as large as {largest:.3g}, whose squares overflow {X.dtype}. "
            "Scale the columns first, for instance divide them by their largest value."
        )


def refuse_infinite(outputs: NDArray[Any]) -> NDArray[Any]:
    """Return the outputs of a model if all are finite, else raise ValueError."""
    if not np.isfinite(outputs).all():
        raise ValueError(
            "X holds rows so far from the training rows that predictions overflow. Omit them, or "
            "check their units."
        )
    return outputs


def read_weights(sample_weight: Any, rows: Any) -> NDArray[np.float64]:
    """Validate row weights; they are counts of rows, or else are scaled to mean 1.

    Penalties, scores and smoothing compare counts with constants. Weights of a boosting algorithm,
    which sum to one, would otherwise count as one row; very small and very large weights would
    underflow or overflow.
    """
    weights: NDArray[np.float64] = check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    present = np.count_nonzero(weights)
    if not present:  # scikit-learn itself rejects them from 1.9 on
        raise ValueError("Sample weights must contain at least one non-zero number.")
    relative = weights / weights.max()  # whose sum cannot overflow
    mean = weights.max() * (relative.sum() / present)
    return weights if 1 <= mean <= MAX_MEAN_COUNT else relative * (present / relative.sum())


def short_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round weights to ``WEIGHT_BITS`` bits, so that rounding errors do not break ties in trees."""
    parts, powers = np.frexp(weights)
    short: NDArray[np.float64] = np.ldexp(
        np.round(np.ldexp(parts, WEIGHT_BITS)), powers - WEIGHT_BITS
    )
    return short
