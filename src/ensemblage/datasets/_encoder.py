"""Raw tables to numbers."""

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
    refuse_overflow,
    set_module,
)
from ensemblage.datasets._columns import MISSING_CODE, Column, as_kind, per_column, read_features
from ensemblage.datasets._table import CATEGORICAL, KINDS

Doubles = NDArray[np.float64]

# The category of missing values, where there were some in training.
MISSING_CATEGORY = "missing"
# The name of what rare categories are put together under.
OTHER = "other"


def _category_codes(column: Column, known: Sequence[Any]) -> NDArray[np.int32]:
    """Code by known categories; ``len(known)`` for others, and for missing if that is not known."""
    codes = column.match(known)
    missing = known.index(MISSING_CATEGORY) if MISSING_CATEGORY in known else len(known)
    codes[codes == MISSING_CODE] = missing
    return codes


def split_rare(
    column: Column, min_frequency: float | None, max_categories: int | None
) -> tuple[list[Any], list[Any]]:
    """Part categories from those with too few rows, and from the rarest of too many."""
    seen = column.occurring()
    if (column.match(seen) == MISSING_CODE).any() and MISSING_CATEGORY not in seen:
        seen = Column(column.name, values=[*seen, MISSING_CATEGORY]).occurring()
    counts = np.bincount(_category_codes(column, seen), minlength=len(seen))
    is_count = min_frequency is None or isinstance(min_frequency, Integral)
    least = (min_frequency or 0) * (1 if is_count else column.n_rows)
    rare = counts < least
    if max_categories is not None and len(seen) - rare.sum() + rare.any() > max_categories:
        rare |= np.argsort(np.argsort(-counts, kind="stable")) >= max_categories - 1
    own = [category for category, few in zip(seen, rare, strict=True) if not few]
    return own, [category for category, few in zip(seen, rare, strict=True) if few]


def feature_codes(column: Column, own: list[Any], rare: list[Any]) -> NDArray[np.int32]:
    """Code by features: rare categories share the last, and unseen ones have one more."""
    codes = _category_codes(column, [*own, *rare])
    unseen = codes == len(own) + len(rare)
    return np.where(unseen, len(own) + bool(rare), np.minimum(codes, len(own)))


def one_hot(column: Column, own: list[Any], rare: list[Any]) -> Doubles:
    """Give zeros and ones, (n_rows, n_features); unseen categories have no one."""
    codes = feature_codes(column, own, rare)
    out = np.zeros((column.n_rows, len(own) + bool(rare)), order="F")
    rows = np.flatnonzero(codes < out.shape[1])
    out[rows, codes[rows]] = 1.0
    return out


def means_of_other_folds(
    encoder: TargetEncoder, codes: NDArray[np.int32], y: NDArray[Any], folds: Sequence[Fold]
) -> Doubles:
    """Give each row the means that a fitted encoder would have learnt from the other folds.

    This is what scikit-learn's ``fit_transform`` gives, which takes folds from 1.9 on only.
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
    r"""Turn a table of numbers, categories, dates and missing values into numbers.

    Numeric and date columns: a missing value becomes the median, with a feature that marks it, and
    features are standardised. Categorical columns and truth values: each category becomes a feature
    of zeros and ones, a missing value being a category too. Columns of very many categories become
    smoothed means of the target. What does not vary in training is left out. This is what the
    commands ``fit``, ``compare`` and ``cluster`` do with a file.

    Parameters
    ----------
    kinds : "auto", list or dict, default="auto"
        ``"numeric"``, ``"categorical"`` or ``"date"`` for each column, in a list, or by name for
        some of them; None, and all others, as their type says.
    categories : "auto", list or dict, default="auto"
        Lists of categories for columns that have them, in a list with None for the others, or by
        name. Such a column is categorical even if it holds numbers, and ``fit`` refuses any other
        value in it.
    max_categories : int, default=100
        A column of more categories is encoded as ``high_cardinality`` says.
    min_frequency : int or float, default=None
        Categories with fewer rows, or a smaller share of the rows, are put together as ``other``.
    high_cardinality : {"target", "rare"}, default="target"
        How to encode a column of more than ``max_categories`` categories: by the mean of the
        target in each, or by putting the rarest together. Without a target it is always the
        second.
    missing_values : {"median", "keep"}, default="median"
        Impute missing numbers by the median and mark them, or leave them as NaN for an estimator
        that handles them.
    scale : bool, default=True
        Whether numbers, marks of missing values and means of the target are standardised.
    cv : int, default=5
        Folds from which means of the target are taken in ``fit_transform``.
    random_state : int, RandomState instance or None, default=None
        For these folds; nothing else is random.

    Attributes
    ----------
    kinds_ : list of {"numeric", "categorical", "date"}
        Kind of each column.
    categories_ : list of list or None
        For each categorical column the categories known from training and not rare, ``"missing"``
        among them if there were missing values.
    rare_categories_ : list of list or None
        Those that are put together as ``other``.
    numeric_steps_ : Pipeline or None
        What imputes and standardises; None if all columns are categorical.
    target_columns_ : ndarray of int
        Positions of the columns that have too many categories, and become means of the target.
    target_encoder_ : TargetEncoder or None
        What holds these means.
    target_scaler_ : StandardScaler or None
        What standardises them.
    varying_ : ndarray of bool
        Which of the features that could be made vary in training and are there.
    feature_columns_ : ndarray of shape (n_features_out,)
        Position of the column that each feature comes from.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    Notes
    -----
    A category that was not seen in training has only zeros, or the mean of the target. The mean
    of a category with :math:`n` rows is shrunk towards that of all rows as scikit-learn's
    :class:`~sklearn.preprocessing.TargetEncoder` does.

    ``fit_transform(X, y)`` differs from ``fit(X, y).transform(X)`` on purpose where there are
    means of the target: each row gets means from the other folds, so that what comes after does
    not learn from a row's own target. Pipelines call ``fit_transform``.

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
        """Learn medians, scales, categories and means of the target.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_columns)
            Numbers, categories, dates and truth values; any may be missing.
        y : array-like of shape (n_samples,), default=None
            Classes or a numeric target; only columns of very many categories need it.

        Returns
        -------
        self : object
            Fitted encoder.
        """
        self._learn(X, y)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Doubles:
        """Learn, and encode the training rows, each by means of the target in other folds.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_columns)
            As in ``fit``.
        y : array-like of shape (n_samples,), default=None
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Equal to what ``transform`` gives, means of the target aside.
        """
        return self._learn(X, y)

    def transform(self, X: Any) -> Doubles:
        """Encode rows.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_columns)
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Finite numbers, and NaN only with ``missing_values="keep"``.
        """
        check_is_fitted(self)
        found = read_features(self, X, reset=False)
        columns = [as_kind(*each) for each in zip(found, self.kinds_, strict=True)]
        means = None
        if self.target_encoder_ is not None:
            means = self.target_encoder_.transform(self._target_codes(columns))
        return np.asfortranarray(self._encode(columns, means)[:, self.varying_])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the features as a reader would: ``age``, ``age missing``, ``job = cook``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, for a table that had none in ``fit``.

        Returns
        -------
        ndarray of shape (n_features_out,)
            Names.
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        features = [f"{names[column]}{ending}" for column, ending, _ in self._features()]
        return np.asarray(np.array(features, dtype=object)[self.varying_])

    def _learn(self, X: Any, y: Any) -> Doubles:
        """Set the fitted attributes, and give the training rows encoded."""
        columns = self._learn_kinds(read_features(self, X, reset=True))
        if y is not None:
            check_consistent_length(X, y)
        numbers = self._numbers(columns)
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        steps = make_pipeline(
            fill if self.missing_values == "median" else "passthrough",
            StandardScaler() if self.scale else "passthrough",
        )
        with np.errstate(invalid="ignore"):  # the mean of a column without values
            self.numeric_steps_ = steps.fit(numbers) if numbers.size else None
        self._learn_categories(columns, by_target=y is not None)
        encoded = self._encode(columns, self._learn_means(columns, y))
        known = ~np.isnan(encoded).all(axis=0)
        varying = known & (encoded != encoded[0]).any(axis=0)
        # where nothing varies, something must stay for an estimator to take
        self.varying_ = varying if varying.any() else np.ones_like(varying)
        self.feature_columns_ = np.array([each[0] for each in self._features()])[self.varying_]
        return np.asfortranarray(encoded[:, self.varying_])

    def _learn_kinds(self, columns: list[Column]) -> list[Column]:
        names = [column.name for column in columns]
        kinds = per_column(self.kinds, names, "kinds")
        unknown = [kind for kind in kinds if kind not in {*KINDS, None}]
        if unknown:
            raise ValueError(
                f"`kinds` holds {unknown[0]!r}; {listing(map(repr, KINDS))} are known."
            )
        declared = per_column(self.categories, names, "categories")
        columns = [as_kind(*each).coded() for each in zip(columns, kinds, declared, strict=True)]
        self.kinds_ = [column.kind for column in columns]
        return columns

    def _learn_categories(self, columns: list[Column], *, by_target: bool) -> None:
        by_target = by_target and self.high_cardinality == "target"
        most = None if by_target else self.max_categories
        splits = [
            split_rare(column, self.min_frequency, most) if column.kind == CATEGORICAL else None
            for column in columns
        ]
        wide = [
            j
            for j, split in enumerate(splits)
            if split is not None and len(split[0]) + bool(split[1]) > self.max_categories
        ]
        self.target_columns_ = np.array(wide, dtype=np.intp)
        self.categories_ = [None if split is None else split[0] for split in splits]
        self.rare_categories_ = [None if split is None else split[1] for split in splits]

    def _learn_means(self, columns: list[Column], y: Any) -> Doubles | None:
        """Learn means of the target, and give each row those of other folds."""
        self.target_encoder_, self.target_scaler_ = None, None
        if not len(self.target_columns_):
            return None
        y = column_or_1d(y, warn=True)
        if type_of_target(y, input_name="y") == "continuous":
            labels = np.zeros(len(y), dtype=np.intp)
        else:
            labels = np.unique(y, return_inverse=True)[1]
        rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
        codes = self._target_codes(columns)
        self.target_encoder_ = TargetEncoder(cv=self.cv).fit(codes, y)
        folds = deal_folds(labels, self.cv, rng)
        means = means_of_other_folds(self.target_encoder_, codes, y, folds)
        self.target_scaler_ = StandardScaler().fit(means) if self.scale else None
        return means

    def _numbers(self, columns: list[Column]) -> Doubles:
        """Give the columns that are not categorical, (n_rows, n_columns)."""
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
        """Codes of the columns with too many categories, (n_rows, n_columns)."""
        return np.column_stack(
            [feature_codes(columns[j], *self._split(j)) for j in self.target_columns_]
        )

    def _features(self) -> Iterator[tuple[int, str, str | None]]:
        """Tell column, ending of the name and category of all features, varying or not."""
        numeric = [j for j, kind in enumerate(self.kinds_) if kind != CATEGORICAL]
        yield from ((j, "", None) for j in numeric)
        if self.numeric_steps_ is not None and self.missing_values == "median":
            for k in self.numeric_steps_[0].indicator_.features_:
                yield numeric[k], " missing", None
        for j in self._one_hot_columns():
            own, rare = self._split(j)
            for label in map(_label_text, [*own, OTHER] if rare else own):
                yield j, f" = {label}", label
        if self.target_encoder_ is not None:
            endings = [": mean of the target"]
            if (classes := self.target_encoder_.classes_) is not None:
                shown = classes[1:] if len(classes) == 2 else classes
                endings = [f": share of {_label_text(label)}" for label in shown]
            for j in self.target_columns_:
                yield from ((int(j), ending, None) for ending in endings)

    def _encode(self, columns: list[Column], means: Doubles | None) -> Doubles:
        """Make all features, numbers first, then categories, then means of the target."""
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
            expect(len(getattr(self, name)) == self.n_features_in_, f"{name} has another length")
        columns = [self.kinds_, self.categories_, self.rare_categories_]
        for kind, *listed in zip(*columns, strict=True):
            expect(kind in KINDS, "kinds_ names none")
            for values in listed:
                expect(values is None or isinstance(values, list), "categories_ are no lists")
                plain = all(isinstance(each, str | int | float) for each in values or [])
                expect(plain, "categories_ hold more than texts and numbers")
        high = self.n_features_in_ - 1
        expect_array(self, "target_columns_", [None], "integer", low=0, high=high)
        owners = [column for column, _, _ in self._features()]
        expect_array(self, "varying_", [len(owners)], "truth")
        steps = self.numeric_steps_
        if any(kind != CATEGORICAL for kind in self.kinds_):
            valid = isinstance(steps, Pipeline) and len(steps) == 2
        else:
            valid = steps is None
        expect(valid, "numeric_steps_ is no pipeline")
        expect_array(self, "feature_columns_", [None], "integer")
        own = [each for each, varies in zip(owners, self.varying_, strict=True) if varies]
        expect(self.feature_columns_.tolist() == own, "feature_columns_ are others")
        distinct = len(np.unique(self.target_columns_)) == len(self.target_columns_)
        expect(distinct, "target_columns_ repeat")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def feature_categories(encoder: Any) -> list[str | None]:
    """Tell the category behind each feature of zeros and ones, or None.

    Of other encoders nothing is known: then the list is empty.
    """
    if not isinstance(encoder, TableEncoder):
        return []
    found = [category for _, _, category in encoder._features()]  # noqa: SLF001
    return [each for each, varies in zip(found, encoder.varying_, strict=True) if varies]


def _label_text(label: Any) -> str:
    """Write a category; a whole number without its decimal point."""
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label) if whole else label)
