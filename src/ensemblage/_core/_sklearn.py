"""Every private name of scikit-learn that the package uses; the last step of a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils.multiclass import _ovr_decision_function as ovr_decision_function
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _is_fitted as is_fitted
from sklearn.utils.validation import _num_samples as num_samples
from sklearn.utils.validation import has_fit_parameter

__all__ = [
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "check_feature_names_in",
    "check_sample_weight",
    "check_y",
    "encoded_rows",
    "final_step",
    "fit_context",
    "fit_parameter",
    "half_binomial_loss",
    "half_multinomial_loss",
    "is_fitted",
    "num_samples",
    "ovr_decision_function",
    "rows_at_final_step",
    "safe_indexing",
    "validate_parameter_constraints",
    "validate_params",
]


def half_binomial_loss() -> Any:
    from sklearn._loss import HalfBinomialLoss  # noqa: PLC0415  a compiled module

    return HalfBinomialLoss()


def half_multinomial_loss(n_classes: int) -> Any:
    from sklearn._loss import HalfMultinomialLoss  # noqa: PLC0415  a compiled module

    return HalfMultinomialLoss(n_classes=n_classes)


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
