"""Rows of numbers, as estimators of numbers alone take them: no dates, nothing that overflows."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ensemblage.parallel import as_numbers

LARGEST = 1e150
"""Squares of doubles below can be added up, as many as there are."""


def are_usual(values: NDArray[np.float64]) -> bool:
    """Tell finite doubles whose squares can be added up, without a closer look at each."""
    return bool(values.max() < LARGEST and values.min() > -LARGEST)


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
    column = _first_date(X)
    if column is not None:
        raise ValueError(
            f"Column {column!r} of X holds dates or durations; {type(estimator).__name__} takes "
            "numbers. Make numbers of them first, for instance with TableEncoder."
        )


def refuse_overflow(X: NDArray[Any], name: str = "X") -> None:
    """Refuse values so large that the sum of their squares is no number; gaps do not count."""
    if X.dtype.kind != "f" or X.size == 0:
        return
    largest = float(max(np.fmax.reduce(X, axis=None), -np.fmin.reduce(X, axis=None)))
    if largest > np.sqrt(np.finfo(X.dtype).max / (4.0 * X.size)):
        raise ValueError(
            f"{name} holds values as large as {largest:.3g}, whose squares overflow {X.dtype}. "
            "Scale the columns first, for instance divide them by their largest value."
        )


def refuse_infinite(outputs: NDArray[Any]) -> NDArray[Any]:
    """Give outputs of a model if all are finite; refuse rows that it cannot speak of."""
    if not np.isfinite(outputs).all():
        raise ValueError(
            "X holds rows so far from the training rows that predictions overflow. Leave them "
            "out, or check their units."
        )
    return outputs


def _first_date(X: Any) -> Any:
    """Name the first column of dates or durations, or give None."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return next((name for name, kind in frame.schema.items() if kind.is_temporal()), None)
    return 0 if getattr(getattr(X, "dtype", None), "kind", "") in {"M", "m"} else None
