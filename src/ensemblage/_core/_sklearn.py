"""All private names of scikit-learn that the package uses; helpers for pipelines."""

# ruff: noqa: SLF001  private names are allowed here only

from __future__ import annotations

from typing import Any

from sklearn import base, utils
from sklearn.pipeline import Pipeline
from sklearn.utils import _param_validation, multiclass, validation
from sklearn.utils.validation import has_fit_parameter

HasMethods = _param_validation.HasMethods
Interval = _param_validation.Interval
Options = _param_validation.Options
StrOptions = _param_validation.StrOptions
validate_parameter_constraints = _param_validation.validate_parameter_constraints
validate_params = _param_validation.validate_params
fit_context = base._fit_context
safe_indexing = utils._safe_indexing
ovr_decision_function = multiclass._ovr_decision_function
check_feature_names_in = validation._check_feature_names_in
check_sample_weight = validation._check_sample_weight
check_y = validation._check_y
is_fitted = validation._is_fitted
num_samples = validation._num_samples


def half_binomial_loss() -> Any:
    from sklearn._loss import HalfBinomialLoss  # noqa: PLC0415  a compiled module

    return HalfBinomialLoss()


def half_multinomial_loss(n_classes: int) -> Any:
    from sklearn._loss import HalfMultinomialLoss  # noqa: PLC0415  a compiled module

    return HalfMultinomialLoss(n_classes=n_classes)


def final_step(model: Any) -> Any:
    """Give the last step of a pipeline, or the model itself."""
    return final_step(model[-1]) if isinstance(model, Pipeline) else model


def rows_at_final_step(model: Any, X: Any) -> Any:
    """Transform rows by all steps of a fitted pipeline but the last; None remains None."""
    if X is None or not isinstance(model, Pipeline):
        return X
    prepared = model[:-1].transform(X) if len(model) > 1 else X
    return rows_at_final_step(model[-1], prepared)


def encoded_rows(estimator: Any, X: Any) -> Any:
    """Encode rows by an estimator's ``encoder_``, if it has one; None remains None."""
    encoder = getattr(estimator, "encoder_", None)
    return X if encoder is None or X is None else encoder.transform(X)


def fit_parameter(model: Any, name: str) -> str | None:
    """Name of a ``fit`` parameter, with the prefix of a pipeline's last step; None if absent."""
    if isinstance(model, Pipeline):
        step, last = model.steps[-1]
        inner = fit_parameter(last, name)
        return inner and f"{step}__{inner}"
    return name if has_fit_parameter(model, name) else None
