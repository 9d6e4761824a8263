"""Checks of numeric rows, numeric targets and sample weights."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ensemblage._core._sklearn import check_sample_weight, safe_indexing

# Probabilities count as at least this before their logarithm is taken.
PROBABILITY_FLOOR = 1e-12
UNKNOWN_SOURCE = -1
# Squares of doubles below can be added up, as many as there are.
MAX_SQUARABLE = 1e150
# The mean weight up to which weights are taken for copies of rows.
MAX_MEAN_COUNT = 1e6
# Bits of a weight that tell rows apart; the rest depend on the unit of the weights.
WEIGHT_BITS = 32


def take_rows(X: Any, rows: NDArray[Any]) -> Any:
    """Copy some rows of an array or a frame, by index or mask."""
    if isinstance(X, np.ndarray):
        return X[rows] if rows.dtype == bool else X.take(rows, axis=0)
    return safe_indexing(X, rows)


def as_numbers(y: Any) -> NDArray[np.float64]:
    """Read a numeric target; text and dates are refused by the first of them."""
    given = np.asarray(y)
    if given.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers; give real ones.")
    try:
        if given.dtype.kind not in "mM":
            return given.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"y holds {given.ravel().tolist()[0]!r}, which is no number; a regressor predicts numbers. "
        "Use a classifier for categories."
    )


def squares_are_finite(values: NDArray[np.float64]) -> bool:
    """Tell finite doubles whose squares can be added up, without a closer look at each."""
    return bool(values.max() < MAX_SQUARABLE and values.min() > -MAX_SQUARABLE)


def validate_numbers(
    estimator: Any, X: Any, y: Any = "no_validation", *, squares: bool = False, **checks: Any
) -> Any:
    """Validate as scikit-learn does, but for dates, which it takes for numbers of nanoseconds.

    With ``squares`` values are refused whose squares cannot be added up.
    """
    refuse_dates(estimator, X)
    if checks.pop("y_numeric", False) and y is not None and not isinstance(y, str):
        as_numbers(y)  # says what is no number
        checks["y_numeric"] = True
    found = validate_data(estimator, X, y, **checks)
    if squares:
        refuse_overflow(found[0] if isinstance(found, tuple) else found)
    return found


def refuse_dates(estimator: Any, X: Any) -> None:
    """Refuse columns of dates or durations by the first of them."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    column: Any = None
    if isinstance(frame, nw.DataFrame):
        column = next((name for name, kind in frame.schema.items() if kind.is_temporal()), None)
    elif getattr(getattr(X, "dtype", None), "kind", "") in {"M", "m"}:
        column = 0
    if column is not None:
        raise ValueError(
            f"Column {column!r} of X holds dates or durations; {type(estimator).__name__} takes "
            "numbers. Make numbers of them first, for instance with TableEncoder."
        )


def refuse_overflow(X: NDArray[Any], name: str = "X") -> None:
    """Refuse values so large that the sum of their squares overflows; NaN does not count."""
    if X.dtype.kind != "f" or X.size == 0:
        return
    largest = float(max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None)))
    if largest > np.sqrt(np.finfo(X.dtype).max / (4.0 * X.size)):
        raise ValueError(
            f"{name} holds values as large as {largest:.3g}, whose squares overflow {X.dtype}. "
            "Scale the columns first, for instance divide them by their largest value."
        )


def refuse_infinite(outputs: NDArray[Any]) -> NDArray[Any]:
    """Give outputs of a model if all are finite; refuse rows for which they are not."""
    if not np.isfinite(outputs).all():
        raise ValueError(
            "X holds rows so far from the training rows that predictions overflow. Leave them "
            "out, or check their units."
        )
    return outputs


def read_weights(sample_weight: Any, rows: Any) -> NDArray[np.float64]:
    """Read row weights as numbers of copies; those that cannot be are scaled to a mean of one.

    Penalties, scores and smoothing compare counts with constants. A boosting algorithm's weights,
    which add up to one, would otherwise be a sample of one row; the smallest and the largest
    numbers would vanish or overflow.
    """
    weights: NDArray[np.float64] = check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    present = np.count_nonzero(weights)
    if not present:  # scikit-learn itself refuses them from 1.9 on
        raise ValueError("Sample weights must contain at least one non-zero number.")
    relative = weights / weights.max()  # whose sum cannot overflow
    mean = weights.max() * (relative.sum() / present)
    return weights if 1 <= mean <= MAX_MEAN_COUNT else relative * (present / relative.sum())


def short_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drop a weight's last bits: trees, whose splits are often ties, would go by them."""
    parts, powers = np.frexp(weights)
    short: NDArray[np.float64] = np.ldexp(
        np.round(np.ldexp(parts, WEIGHT_BITS)), powers - WEIGHT_BITS
    )
    return short
