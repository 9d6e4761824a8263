"""Encoder of raw tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ensemblage._core import (
    DocLinkMixin,
    Fold,
    Interval,
    StrOptions,
    check_feature_names_in,
    deal_folds,
    draw_seeds,
    expect,
    expect_array,
    fit_context,
    guarded_fit,
    listing,
    refuse_missing_targets,
    refuse_overflow,
    set_module,
)
from ensemblage.datasets._columns import MISSING_CODE, Column, as_kind, per_column, read_features
from ensemblage.datasets._table import CATEGORICAL, KINDS

Doubles = NDArray[np.float64]

# Category of missing values, if there are any in training.
MISSING_CATEGORY = "missing"
# Category of all rare categories.
OTHER = "other"


def _category_codes(column: Column, known: Sequence[Any]) -> NDArray[np.int32]:
    """Encode by known categories; ``len(known)`` for unseen ones, and unseen missing values."""
    codes = column.match(known)
    missing = known.index(MISSING_CATEGORY) if MISSING_CATEGORY in known else len(known)
    codes[codes == MISSING_CODE] = missing
    return codes


def split_rare(
    column: Column, min_frequency: float | None, max_categories: int | None
) -> tuple[list[Any], list[Any]]:
    """Split categories into frequent and rare ones."""
    seen = column.occurring()
    if (column.match(seen) == MISSING_CODE).any() and MISSING_CATEGORY not in seen:
        seen = Column(column.name, values=[*seen, MISSING_CATEGORY]).occurring()
    counts = np.bincount(_category_codes(column, seen), minlength=len(seen))
    is_count = min_frequency is None or isinstance(min_frequency, Integral)
    least = (min_frequency or 0) * (1 if is_count else column.n_rows)
    rare = counts < least
    if max_categories is not None and len(seen) - rare.sum() + rare.any() > max_categories:
        rare |= np.argsort(np.argsort(-counts, kind="stable")) >= max_categories - 1
    frequent = [category for category, few in zip(seen, rare, strict=True) if not few]
    return frequent, [category for category, few in zip(seen, rare, strict=True) if few]


def feature_codes(column: Column, frequent: list[Any], rare: list[Any]) -> NDArray[np.int32]:
    """Encode by one-hot feature: rare categories share the last, unseen ones get the next code."""
    codes = _category_codes(column, [*frequent, *rare])
    unseen = codes == len(frequent) + len(rare)
    return np.where(unseen, len(frequent) + bool(rare), np.minimum(codes, len(frequent)))


def one_hot(column: Column, frequent: list[Any], rare: list[Any]) -> Doubles:
    """One-hot encode, (n_rows, n_features); unseen categories are all zeros."""
    codes = feature_codes(column, frequent, rare)
    out = np.zeros((column.n_rows, len(frequent) + bool(rare)), order="F")
    rows = np.flatnonzero(codes < out.shape[1])
    out[rows, codes[rows]] = 1.0
    return out


def cross_fitted_means(
    encoder: TargetEncoder, codes: NDArray[np.int32], y: NDArray[Any], folds: Sequence[Fold]
) -> Doubles:
    """Target-encode the training rows by cross fitting: each fold by means of the other folds.

    As ``fit_transform`` of scikit-learn's ``TargetEncoder``, which accepts folds only from 1.9 on.
    """
    classes = encoder.classes_
    shares = [] if classes is None else [(y == each).astype(np.int64) for each in classes]
    targets = shares if len(shares) > 2 else shares[-1:] or [y]
    means = np.empty((*codes.shape, len(targets)))
    of_fold = TargetEncoder(categories=encoder.categories_, target_type="continuous")
    for train, test in folds:
        for target, place in zip(targets, np.moveaxis(means, 2, 0), strict=True):
            place[test] = of_fold.fit(codes[train], target[train]).transform(codes[test])
    return means.reshape(len(codes), -1)


@set_module("ensemblage.datasets")
class TableEncoder(TransformerMixin, DocLinkMixin, BaseEstimator):
    r"""Encode a table with numeric, categorical and date columns and missing values.

    Numeric and date columns: missing values are imputed by the median, with an indicator feature,
    and features are standardised. Categorical and Boolean columns are one-hot encoded; missing is
    a category. High-cardinality columns are target encoded. Features that are constant in training
    are dropped. The commands ``fit``, ``compare`` and ``cluster`` encode files in this way.

    Parameters
    ----------
    kinds : "auto", list or dict, default="auto"
        ``"numeric"``, ``"categorical"`` or ``"date"`` for each column, in a list or by name. For
        columns that are None or not named, the dtype decides.
    categories : "auto", list or dict, default="auto"
        Lists of categories, in a list with None for other columns, or by name. Such a column is
        categorical even if its values are numbers, and any other value in it is an error in
        ``fit``.
    max_categories : int, default=100
        Columns with more categories are encoded as set by ``high_cardinality``.
    min_frequency : int or float, default=None
        Categories with fewer rows, or a smaller fraction of the rows, are grouped as ``other``.
    high_cardinality : {"target", "rare"}, default="target"
        How to encode a column with more than ``max_categories`` categories: "target" for target
        encoding, "rare" for one-hot encoding with the rarest categories grouped as ``other``.
        Without ``y`` it is always "rare".
    missing_values : {"median", "keep"}, default="median"
        "median" imputes missing numeric values and adds an indicator of missingness; "keep" leaves
        NaN, for estimators that handle it.
    scale : bool, default=True
        Whether to standardise numeric features, missing indicators and target encodings.
    cv : int, default=5
        Number of folds for the cross fitting of target encodings in ``fit_transform``.
    random_state : int, RandomState instance or None, default=None
        Determines these folds.

    Attributes
    ----------
    kinds_ : list of {"numeric", "categorical", "date"}
        Kind of each column.
    categories_ : list of list or None
        Frequent categories of each categorical column in training, including ``"missing"`` if
        there were missing values; None for other columns.
    rare_categories_ : list of list or None
        Rare categories of each categorical column, grouped as ``other``.
    numeric_steps_ : Pipeline or None
        Imputation and scaling of numeric columns; None if all columns are categorical.
    target_columns_ : ndarray of int
        Indices of the target-encoded columns.
    target_encoder_ : TargetEncoder or None
        The target encoder of these columns.
    target_scaler_ : StandardScaler or None
        The scaler of the target encodings.
    varying_ : ndarray of bool
        Mask of the features that vary in training; the others are dropped.
    feature_columns_ : ndarray of shape (n_features_out,)
        Index of the input column of each feature.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the input columns; set only if all are strings.

    Notes
    -----
    An unseen category is all zeros in a one-hot encoding, and the overall mean of the target in a
    target encoding. Means of categories are shrunk towards the overall mean by scikit-learn's
    :class:`~sklearn.preprocessing.TargetEncoder`.

    ``fit_transform(X, y)`` differs from ``fit(X, y).transform(X)`` for target encodings: each row
    is encoded by means of the other folds (cross fitting), so that a row's own target does not
    leak into its features. Pipelines call ``fit_transform``.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.datasets import TableEncoder
    >>> X = np.array([[31.0, "cook"], [np.nan, "smith"], [52.0, None]], dtype=object)
    >>> encoder = TableEncoder().fit(X)
    >>> encoder.get_feature_names_out(["age", "job"]).tolist()
    ['age', 'age missing', 'job = cook', 'job = missing', 'job = smith']
    >>> encoder.transform(X)[:, 2:]
    array([[1., 0., 0.],
           [0., 0., 1.],
           [0., 1., 0.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kinds": [StrOptions({"auto"}), dict, list, tuple],
        "categories": [StrOptions({"auto"}), dict, list, tuple],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "min_frequency": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        "high_cardinality": [StrOptions({"target", "rare"})],
        "missing_values": [StrOptions({"median", "keep"})],
        "scale": ["boolean"],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kinds: Any = "auto",
        categories: Any = "auto",
        max_categories: int = 100,
        min_frequency: float | None = None,
        high_cardinality: str = "target",
        missing_values: str = "median",
        scale: bool = True,
        cv: int = 5,
        random_state: Any = None,
    ) -> None:
        self.kinds = kinds
        self.categories = categories
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.high_cardinality = high_cardinality
        self.missing_values = missing_values
        self.scale = scale
        self.cv = cv
        self.random_state = random_state

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the encoder.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_columns)
            Numeric, categorical, date and Boolean columns, with or without missing values.
        y : array-like of shape (n_samples,), default=None
            Target, used only for the target encoding of high-cardinality columns.

        Returns
        -------
        self : object
            Fitted encoder.
        """
        self._fit(X, y)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Doubles:
        """Fit the encoder and encode the training rows, with cross fitting of target encodings.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_columns)
            As in ``fit``.
        y : array-like of shape (n_samples,), default=None
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Encoded rows; equal to ``transform(X)`` except for target encodings.
        """
        return self._fit(X, y)

    def transform(self, X: Any) -> Doubles:
        """Encode rows.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_columns)
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Encoded rows; NaN only with ``missing_values="keep"``.
        """
        check_is_fitted(self)
        found = read_features(self, X, reset=False)
        columns = [as_kind(*each) for each in zip(found, self.kinds_, strict=True)]
        means = None
        if self.target_encoder_ is not None:
            means = self.target_encoder_.transform(self._target_codes(columns))
        return np.asfortranarray(self._encode(columns, means)[:, self.varying_])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return feature names such as ``age``, ``age missing`` and ``job = cook``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Column names, if ``X`` had none in ``fit``.

        Returns
        -------
        ndarray of shape (n_features_out,)
            Feature names.
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        features = [f"{names[column]}{suffix}" for column, suffix, _ in self._features()]
        return np.asarray(np.array(features, dtype=object)[self.varying_])

    def _fit(self, X: Any, y: Any) -> Doubles:
        """Set the fitted attributes and return the encoded training rows."""
        columns = self._fit_kinds(read_features(self, X, reset=True))
        if y is not None:
            check_consistent_length(X, y)
        numbers = self._numbers(columns)
        imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        steps = make_pipeline(
            imputer if self.missing_values == "median" else "passthrough",
            StandardScaler() if self.scale else "passthrough",
        )
        with np.errstate(invalid="ignore"):  # the mean of an all-missing column
            self.numeric_steps_ = steps.fit(numbers) if numbers.size else None
        self._fit_categories(columns, target_encode=y is not None)
        encoded = self._encode(columns, self._fit_target_encoder(columns, y))
        known = ~np.isnan(encoded).all(axis=0)
        varying = known & (encoded != encoded[0]).any(axis=0)
        # if nothing varies, keep all: estimators need at least one feature
        self.varying_ = varying if varying.any() else np.ones_like(varying)
        self.feature_columns_ = np.array([each[0] for each in self._features()])[self.varying_]
        return np.asfortranarray(encoded[:, self.varying_])

    def _fit_kinds(self, columns: list[Column]) -> list[Column]:
        names = [column.name for column in columns]
        kinds = per_column(self.kinds, names, "kinds")
        unknown = [kind for kind in kinds if kind not in {*KINDS, None}]
        if unknown:
            raise ValueError(
                f"`kinds` contains {unknown[0]!r}; expected one of {listing(map(repr, KINDS))}."
            )
        declared = per_column(self.categories, names, "categories")
        columns = [as_kind(*each).coded() for each in zip(columns, kinds, declared, strict=True)]
        self.kinds_ = [column.kind for column in columns]
        return columns

    def _fit_categories(self, columns: list[Column], *, target_encode: bool) -> None:
        target_encode = target_encode and self.high_cardinality == "target"
        max_categories = None if target_encode else self.max_categories
        splits = [
            split_rare(column, self.min_frequency, max_categories)
            if column.kind == CATEGORICAL
            else None
            for column in columns
        ]
        high_cardinality = [
            j
            for j, split in enumerate(splits)
            if split is not None and len(split[0]) + bool(split[1]) > self.max_categories
        ]
        self.target_columns_ = np.array(high_cardinality, dtype=np.intp)
        self.categories_ = [None if split is None else split[0] for split in splits]
        self.rare_categories_ = [None if split is None else split[1] for split in splits]

    def _fit_target_encoder(self, columns: list[Column], y: Any) -> Doubles | None:
        """Fit the target encoder and return the cross-fitted encodings."""
        self.target_encoder_, self.target_scaler_ = None, None
        if not len(self.target_columns_):
            return None
        refuse_missing_targets(y)
        y = column_or_1d(y, warn=True)
        if type_of_target(y, input_name="y") == "continuous":
            labels = np.zeros(len(y), dtype=np.intp)
        else:
            labels = np.unique(y, return_inverse=True)[1]
        rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
        codes = self._target_codes(columns)
        self.target_encoder_ = TargetEncoder(cv=self.cv).fit(codes, y)
        folds = deal_folds(labels, self.cv, rng)
        means = cross_fitted_means(self.target_encoder_, codes, y, folds)
        self.target_scaler_ = StandardScaler().fit(means) if self.scale else None
        return means

    def _numbers(self, columns: list[Column]) -> Doubles:
        """Numeric and date columns, (n_rows, n_columns)."""
        found = [column.as_numbers() for column in columns if column.kind != CATEGORICAL]
        numbers = np.array(found, dtype=np.float64).reshape(-1, columns[0].n_rows).T
        if self.scale:
            refuse_overflow(numbers)
        return numbers

    def _split(self, column: int) -> tuple[list[Any], list[Any]]:
        return self.categories_[column] or [], self.rare_categories_[column] or []

    def _one_hot_columns(self) -> Iterator[int]:
        for j, kind in enumerate(self.kinds_):
            if kind == CATEGORICAL and j not in self.target_columns_:
                yield j

    def _target_codes(self, columns: list[Column]) -> NDArray[np.int32]:
        """Category codes of the target-encoded columns, (n_rows, n_columns)."""
        return np.column_stack(
            [feature_codes(columns[j], *self._split(j)) for j in self.target_columns_]
        )

    def _features(self) -> Iterator[tuple[int, str, str | None]]:
        """Yield column index, name suffix and category of all features, including constant ones."""
        numeric = [j for j, kind in enumerate(self.kinds_) if kind != CATEGORICAL]
        yield from ((j, "", None) for j in numeric)
        if self.numeric_steps_ is not None and self.missing_values == "median":
            for k in self.numeric_steps_[0].indicator_.features_:
                yield numeric[k], " missing", None
        for j in self._one_hot_columns():
            frequent, rare = self._split(j)
            for label in map(_label_text, [*frequent, OTHER] if rare else frequent):
                yield j, f" = {label}", label
        if self.target_encoder_ is not None:
            suffixes = [": mean of the target"]
            if (classes := self.target_encoder_.classes_) is not None:
                shown = classes[1:] if len(classes) == 2 else classes
                suffixes = [f": share of {_label_text(label)}" for label in shown]
            for j in self.target_columns_:
                yield from ((int(j), suffix, None) for suffix in suffixes)

    def _encode(self, columns: list[Column], means: Doubles | None) -> Doubles:
        """All features: numeric, one-hot and target-encoded, in this order."""
        parts = []
        if self.numeric_steps_ is not None:
            parts.append(self.numeric_steps_.transform(self._numbers(columns)))
        parts += [one_hot(columns[j], *self._split(j)) for j in self._one_hot_columns()]
        if means is not None:
            scaler = self.target_scaler_
            parts.append(means if scaler is None else scaler.transform(means))
        return np.hstack(parts)

    def _check_fitted(self) -> None:
        for name in ("kinds_", "categories_", "rare_categories_"):
            expect(len(getattr(self, name)) == self.n_features_in_, f"{name} has the wrong length")
        columns = [self.kinds_, self.categories_, self.rare_categories_]
        for kind, *listed in zip(*columns, strict=True):
            expect(kind in KINDS, "kinds_ contains an unknown kind")
            for values in listed:
                expect(values is None or isinstance(values, list), "categories_ are not lists")
                plain = all(isinstance(each, str | int | float) for each in values or [])
                expect(plain, "categories_ are not strings or numbers")
        high = self.n_features_in_ - 1
        expect_array(self, "target_columns_", [None], "integer", low=0, high=high)
        owners = [column for column, _, _ in self._features()]
        expect_array(self, "varying_", [len(owners)], "truth")
        steps = self.numeric_steps_
        if any(kind != CATEGORICAL for kind in self.kinds_):
            valid = isinstance(steps, Pipeline) and len(steps) == 2
        else:
            valid = steps is None
        expect(valid, "numeric_steps_ is not a pipeline")
        expect_array(self, "feature_columns_", [None], "integer")
        kept = [each for each, varies in zip(owners, self.varying_, strict=True) if varies]
        expect(self.feature_columns_.tolist() == kept, "feature_columns_ do not match the features")
        distinct = len(np.unique(self.target_columns_)) == len(self.target_columns_)
        expect(distinct, "target_columns_ are not unique")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def feature_categories(encoder: Any) -> list[str | None]:
    """Return the category of each one-hot feature, None for others.

    The list is empty for encoders other than ``TableEncoder``.
    """
    if not isinstance(encoder, TableEncoder):
        return []
    found = [category for _, _, category in encoder._features()]  # noqa: SLF001
    return [each for each, varies in zip(found, encoder.varying_, strict=True) if varies]


def _label_text(label: Any) -> str:
    """Format a category; integers without a decimal point."""
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label) if whole else label)
