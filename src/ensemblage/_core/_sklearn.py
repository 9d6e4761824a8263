"""What is taken from scikit-learn beyond its public interface; the last step of a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


def final_step(model: Any) -> Any:
    """Give the model itself, also where a pipeline prepares its rows."""
    return final_step(model[-1]) if isinstance(model, Pipeline) else model


def rows_at_final_step(model: Any, X: Any) -> Any:
    """Give the rows as they reach the last step of a fitted pipeline; None stays None."""
    if X is None or not isinstance(model, Pipeline):
        return X
    prepared = model[:-1].transform(X) if len(model) > 1 else X
    return rows_at_final_step(model[-1], prepared)


def encoded_rows(estimator: Any, X: Any) -> Any:
    """Give the rows as an estimator that encodes tables itself sees them; None stays None."""
    encoder = getattr(estimator, "encoder_", None)
    return X if encoder is None or X is None else encoder.transform(X)


def fit_parameter(model: Any, name: str) -> str | None:
    """Name under which ``fit`` takes a further argument of its last step; None if it does not."""
    if isinstance(model, Pipeline):
        step, last = model.steps[-1]
        inner = fit_parameter(last, name)
        return inner and f"{step}__{inner}"
    return name if has_fit_parameter(model, name) else None
