"""What the user hands over, read into columns: numbers, categories, truth values, gaps."""

from __future__ import annotations

from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_consistent_length,
    validate_data,
)

from ensemblage.bayes._coding import Column, Target, Training


def is_frame(X: Any) -> bool:
    """Tell whether the columns may have types of their own, as in pandas and polars."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return isinstance(frame, nw.DataFrame)


def feature_names(estimator: Any) -> list[str]:
    """Name the features as the user does, or x0, x1 and so on."""
    default = [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in getattr(estimator, "feature_names_in_", default)]


def read_rows(estimator: Any, X: Any, reset: bool) -> list[Column]:
    """Read the features; the estimator's number and names of features are set or checked."""
    if is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if min(X.shape) == 0:
            check_array(np.empty(X.shape))  # says what is missing
        series = nw.from_native(X, eager_only=True).iter_columns()
        names = feature_names(estimator)
        return [_read_series(one, name) for one, name in zip(series, names, strict=True)]
    X = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    return [_read_array(X[:, j], name) for j, name in enumerate(feature_names(estimator))]


def read_training(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Training:
    """Read what ``fit`` gets; rows without weight are dropped."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    columns = read_rows(estimator, X, reset=True)
    target = read_target(y, feature_names(estimator))
    check_consistent_length(X, target.labels)
    like = np.empty((len(target.labels), 1))
    weights = _check_sample_weight(sample_weight, like, dtype=np.float64, ensure_non_negative=True)
    kept = np.flatnonzero(weights)
    if len(kept) < len(weights):
        columns = [column.take(kept) for column in columns]
        target, weights = target._replace(labels=target.labels[kept]), weights[kept]
    return Training(columns, target, weights)


def read_target(y: Any, taken: list[str]) -> Target:
    """Read the class column; a categorical one keeps its declared classes."""
    declared = _declared_classes(y)
    name = str(getattr(y, "name", None) or "class")
    while name in taken:
        name += "_"
    values = column_or_1d(y, warn=True)
    assert_all_finite(values, input_name="y")
    check_classification_targets(values)
    if declared is None:
        categories, labels = np.unique(values, return_inverse=True)
    else:
        categories = np.array(declared)
        position = {category: code for code, category in enumerate(declared)}
        labels = np.array([position[value] for value in values.tolist()])
    return Target(name, labels.astype(np.int32), categories)


def _declared_classes(y: Any) -> list[Any] | None:
    dtype = getattr(y, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return None
    return list(categories.tolist() if hasattr(categories, "tolist") else categories)


def _read_series(series: nw.Series[Any], name: str) -> Column:
    dtype = series.dtype
    if dtype.is_numeric():
        values = series.to_numpy()
        if values.dtype.kind not in "iuf":  # decimals, and nullable numbers with gaps
            values = series.cast(nw.Float64).to_numpy()
        return _read_array(values, name)
    if isinstance(dtype, nw.Enum | nw.Categorical):
        return _read_categorical(series, name)
    if dtype.is_temporal():
        raise TypeError(
            f"Column {name!r} holds {dtype}; a network takes numbers, categories and truth "
            "values. Turn dates into numbers (or parts such as the month) first."
        )
    gaps = series.is_null().to_list()
    found = [None if gap else value for value, gap in zip(series.to_list(), gaps, strict=True)]
    if dtype == nw.Boolean:
        return Column(name, values=found, declared=[False, True])
    return _read_objects(found, name)


def _read_categorical(series: nw.Series[Any], name: str) -> Column:
    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas keeps the codes at hand
        codes = np.asarray(native.cat.codes, dtype=np.int32)
        return Column(name, declared=list(native.cat.categories), codes=codes)
    values = series.cast(nw.String).to_list()
    if isinstance(series.dtype, nw.Enum):
        return Column(name, values=values, declared=series.cat.get_categories().to_list())
    # the other categories of a polars Categorical may come from any column of the session
    return Column(name, values=values)


def _read_array(values: NDArray[Any], name: str) -> Column:
    if values.dtype.kind in "iuf":
        numbers = np.asarray(values, dtype=np.float64)
        if np.isinf(numbers).any():
            raise ValueError(
                f"Column {name!r} contains infinity. Replace it by a finite number, or by NaN "
                "for a missing value."
            )
        return Column(name, numbers)
    if values.dtype.kind == "b":
        return Column(name, values=values.tolist(), declared=[False, True])
    return _read_objects([None if _is_gap(value) else value for value in values.tolist()], name)


def _is_gap(value: Any) -> bool:
    # pandas' NA is neither equal to itself nor unequal; NaN and NaT are unequal to themselves
    return value is None or type(value).__name__ == "NAType" or value != value  # noqa: PLR0124


def _read_objects(values: list[Any], name: str) -> Column:
    kinds = {type(value) for value in values if value is not None}
    for kind in kinds:
        if kind.__hash__ is None:
            raise TypeError(
                f"Column {name!r} holds a {kind.__name__}; each argument must be a string or a "
                "number. Unpack such values into columns first."
            )
    if kinds and all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return Column(name, values=values, declared=[False, True])
    if kinds and all(issubclass(kind, Real) for kind in kinds):
        numbers = np.array([np.nan if value is None else float(value) for value in values])
        return _read_array(numbers, name)
    return Column(name, values=values)
