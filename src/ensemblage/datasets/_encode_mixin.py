"""Mixin of estimators that encode raw tables."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from ensemblage._core import (
    HasMethods,
    Options,
    StrOptions,
    refuse_missing_targets,
    safe_indexing,
    validate_numbers,
)
from ensemblage.datasets._columns import ReadRows, read_features
from ensemblage.datasets._encoder import TableEncoder

ENCODE_DOCS = """
encode : "auto", None or transformer, default="auto"
    How to encode categories, dates and missing values. "auto" fits a
    :class:`~ensemblage.datasets.TableEncoder` if there are any, and none if all values are numeric;
    None never encodes; a transformer always does.
encoder_ : transformer
    The fitted encoder; set only if one was used.
"""

ENCODE_CONSTRAINT: list[Any] = [
    StrOptions({"auto"}),
    Options(bool, {False}),
    HasMethods(["fit_transform", "transform"]),
    None,
]


def is_raw_table(X: Any, *, missing_values: bool = True) -> bool:
    """Whether there are categories, dates or, with ``missing_values``, missing values."""
    if issparse(X):
        return False
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        if not all(kind.is_numeric() or kind == nw.Boolean for kind in frame.schema.values()):
            return True
        X = frame.to_numpy()
    try:
        values = np.asarray(X)
        if values.dtype.kind in "cmM":  # complex numbers are refused later
            return values.dtype.kind != "c"
        numbers = values.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        return True
    return missing_values and numbers.ndim == 2 and bool(np.isnan(numbers).any())


class EncodeMixin:
    """Encodes raw tables for an estimator with a parameter ``encode``.

    ``n_features_in_`` and ``feature_names_in_`` are those of the raw table.
    """

    _keeps_missing: ClassVar[bool] = False
    """Whether the estimator handles NaN itself; then missing values are not imputed."""

    _shows_table: ClassVar[bool] = False
    """Whether members use the raw table in addition to the encoded features."""

    encode: Any = None

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any = None, **checks: Any
    ) -> tuple[Any, NDArray[Any]]:
        """Validate and encode the training rows; the encoder ignores rows of zero weight."""
        self.__dict__.pop("encoder_", None)
        encoder = self._encoder_for(X)
        if encoder is None:
            rows, labels = validate_numbers(self, X, y, **self._allowed(checks))
            return rows, labels
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but it is None.")
        refuse_missing_targets(y)
        X = _with_types(X)
        validate_data(self, X, skip_check_array=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        self.encoder_ = clone(encoder)
        encoded = _fit_encoder(self.encoder_, X, y, sample_weight)
        rows, labels = check_X_y(encoded, y, **self._allowed(checks))
        return rows, labels

    def _new_rows(self, X: Any, **checks: Any) -> Any:
        """Validate and encode rows to predict."""
        if not hasattr(self, "encoder_"):
            return validate_numbers(self, X, reset=False, **self._allowed(checks))
        if isinstance(X, ReadRows):
            return check_array(self.encoder_.transform(X), **self._allowed(checks))
        X = _with_types(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return check_array(self.encoder_.transform(X), **self._allowed(checks))

    def _read_rows(self, X: Any) -> Any:
        """Validate and read rows to predict once, if they are to be encoded by a TableEncoder."""
        X = _with_types(X)
        if not isinstance(getattr(self, "encoder_", None), TableEncoder):
            return X
        return ReadRows(read_features(self, X, reset=False))

    def _encoder_for(self, X: Any) -> Any:
        """Return the transformer for these rows, or None."""
        if self.encode is None or self.encode is False:
            return None
        if not isinstance(self.encode, str):
            return self.encode
        if not is_raw_table(X, missing_values=not self._keeps_missing):
            return None
        if self._keeps_missing:
            return TableEncoder(scale=False, missing_values="keep", random_state=0)
        return TableEncoder(random_state=0)

    def _allowed(self, checks: dict[str, Any]) -> dict[str, Any]:
        return {"ensure_all_finite": "allow-nan", **checks} if self._keeps_missing else checks

    def _encoded_width(self) -> int:
        """Count the features after encoding."""
        names = self.encoder_.get_feature_names_out() if hasattr(self, "encoder_") else None
        return int(self.n_features_in_) if names is None else len(names)  # type: ignore[attr-defined]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        encodes = self.encode is not None and self.encode is not False
        tags.input_tags.allow_nan = encodes or self._keeps_missing
        tags.input_tags.string = encodes
        tags.input_tags.categorical = encodes
        return tags


def as_pipeline(model: Any) -> Any:
    """Convert a fitted estimator with an encoder to the equivalent pipeline."""
    if isinstance(model, Pipeline):
        last, inside = model.steps[-1]
        return Pipeline([*model.steps[:-1], (last, as_pipeline(inside))])
    if not isinstance(model, EncodeMixin) or not hasattr(model, "encoder_"):
        return model
    if model._shows_table:  # noqa: SLF001
        return model
    plain = copy(model)
    plain.n_features_in_ = model._encoded_width()  # type: ignore[attr-defined]  # noqa: SLF001
    for name in ("encoder_", "feature_names_in_"):
        plain.__dict__.pop(name, None)
    return Pipeline([("table", model.encoder_), ("model", plain)])


def _with_types(X: Any) -> Any:
    """Keep the types of a list's values, which NumPy would convert to strings."""
    return X if hasattr(X, "shape") else np.array(X, dtype=object)


def _fit_encoder(encoder: Any, X: Any, y: NDArray[Any], sample_weight: Any) -> Any:
    """Encode training rows, with the encoder fitted on rows of nonzero weight."""
    weights = np.asarray(1.0 if sample_weight is None else sample_weight)
    zero = weights == 0
    if weights.shape != y.shape or not zero.any() or zero.all():  # invalid weights raise later
        return encoder.fit_transform(X, y)
    weighted, unweighted = np.flatnonzero(~zero), np.flatnonzero(zero)
    encoded = encoder.fit_transform(safe_indexing(X, weighted), y[weighted])
    rows = np.empty((len(y), encoded.shape[1]), dtype=encoded.dtype)
    rows[weighted], rows[unweighted] = encoded, encoder.transform(safe_indexing(X, unweighted))
    return rows
