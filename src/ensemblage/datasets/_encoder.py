"""Raw tables to numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

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
GAP = "missing"
OTHER = "other"

"""The category of a gap, where there were gaps in training."""
"""The name of what rare categories are put together under."""


class Split(NamedTuple):
    """Categories with a feature each, and rare ones that share one more."""

    own: list[Any]
    rare: list[Any]

    @property
    def n_features(self) -> int:
        """Number of columns of zeros and ones."""
        return len(self.own) + bool(self.rare)

    @property
    def labels(self) -> list[Any]:
        """What each of them stands for."""
        return [*self.own, OTHER] if self.rare else self.own


def _seen_categories(column: Column) -> list[Any]:
    """Categories that occur, sorted, a gap as one of them."""
    seen = column.occurring()
    if (column.match(seen) == MISSING_CODE).any() and GAP not in seen:
        return Column(column.name, values=[*seen, GAP]).occurring()
    return seen


def _word_codes(column: Column, known: Sequence[Any]) -> NDArray[np.int32]:
    """Code by known categories; ``len(known)`` for any other, and for a gap if none was known."""
    codes = column.match(known)
    codes[codes == MISSING_CODE] = known.index(GAP) if GAP in known else len(known)
    return codes


def split_rare(column: Column, min_frequency: float | None, max_categories: int | None) -> Split:
    """Put together categories with too few rows, and the rarest of too many."""
    seen = _seen_categories(column)
    counts = np.bincount(_word_codes(column, seen), minlength=len(seen))
    is_count = min_frequency is None or isinstance(min_frequency, Integral)
    least = (min_frequency or 0) * (1 if is_count else column.n_rows)
    rare = counts < least
    if max_categories is not None and len(seen) - rare.sum() + rare.any() > max_categories:
        rare |= np.argsort(np.argsort(-counts, kind="stable")) >= max_categories - 1
    own = [category for category, few in zip(seen, rare, strict=True) if not few]
    return Split(own, [category for category, few in zip(seen, rare, strict=True) if few])


def group_codes(column: Column, split: Split) -> NDArray[np.int32]:
    """Code by features: rare categories share the last, and unseen ones have one more."""
    codes = _word_codes(column, [*split.own, *split.rare])
    unseen = codes == len(split.own) + len(split.rare)
    return np.where(unseen, split.n_features, np.minimum(codes, len(split.own)))


def write_words(column: Column, split: Split, out: NDArray[np.float64]) -> None:
    """Set ones in ``out``, zeros of shape (n_rows, n_features); unseen categories have none."""
    codes = group_codes(column, split)
    rows = np.flatnonzero(codes < split.n_features)
    out[rows, codes[rows]] = 1.0


def means_of_other_folds(
    encoder: TargetEncoder, codes: NDArray[np.int32], y: NDArray[Any], folds: Sequence[Fold]
) -> NDArray[np.float64]:
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


class Feature(NamedTuple):
    """One column of the result: the table's column that it comes from, and its name's ending.

    A feature of zeros and ones stands for a category.
    """

    column: int
    ending: str = ""
    category: str | None = None


@set_module("ensemblage.datasets")
class TableEncoder(TransformerMixin, DocLinkMixin, BaseEstimator):
    r"""Turn a table of numbers, words, dates and gaps into numbers.

    Numbers and dates: a gap becomes the median, with a feature that marks it, and features are
    standardised. Words and truth values: each category becomes a feature of zeros and ones, a
    gap being a category too. Columns of very many categories become smoothed means of the target.
    What does not vary in training is left out. This is what the commands ``fit``, ``compare`` and
    ``cluster`` do with a file.

    Parameters
    ----------
    kinds : "auto", list or dict, default="auto"
        ``"numeric"``, ``"categorical"`` or ``"date"`` for each column, in a list, or by name for
        some of them; None, and all others, as their type says.
    categories : "auto", list or dict, default="auto"
        Lists of categories for columns that have them, in a list with None for the others, or by
        name. Such a column holds categories even if they are numbers, and ``fit`` refuses any
        other value in it.
    max_categories : int, default=100
        A column of more categories is encoded as ``high_cardinality`` says.
    min_frequency : int or float, default=None
        Categories with fewer rows, or a smaller share of the rows, are put together as ``other``.
    high_cardinality : {"target", "rare"}, default="target"
        How to encode a column of more than ``max_categories`` categories: by the mean of the
        target in each, or by putting the rarest together. Without a target it is always the
        second.
    missing_values : {"median", "keep"}, default="median"
        Fill gaps of numbers with the median and mark them, or leave them as NaN for an estimator
        that knows what to do with them.
    scale : bool, default=True
        Whether numbers, marks of gaps and means of the target are standardised.
    cv : int, default=5
        Folds from which means of the target are taken in ``fit_transform``.
    random_state : int, RandomState instance or None, default=None
        For these folds; nothing else is random.

    Attributes
    ----------
    kinds_ : list of {"numeric", "categorical", "date"}
        Kind of each column.
    categories_ : list of list or None
        For each column of words the categories known from training and not rare, ``"missing"``
        among them if there were gaps.
    numbers_ : Pipeline or None
        What fills gaps and standardises; None if all columns hold words.
    rare_categories_ : list of list or None
        Those that are put together as ``other``.
    target_columns_ : ndarray of int
        Positions of the columns that have too many categories, and become means of the target.
    target_means_ : TargetEncoder or None
        What holds these means.
    means_scale_ : StandardScaler or None
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
    of a category with :math:`n` rows is pulled towards that of all rows as scikit-learn's
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
            Numbers, words, dates and truth values, with gaps.
        y : array-like of shape (n_samples,), default=None
            Classes, or numbers to estimate; only columns of very many categories need it.

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
        if self.target_means_ is not None:
            means = self.target_means_.transform(self._wide_codes(columns))
        return self._varying(self._encode(columns, means))

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
        said = [f"{names[each.column]}{each.ending}" for each in self._features()]
        return np.asarray(np.array(said, dtype=object)[self.varying_])

    def _learn(self, X: Any, y: Any) -> Doubles:
        """Set the fitted attributes, and give the training rows encoded."""
        columns = self._learn_kinds(read_features(self, X, reset=True))
        if y is not None:
            check_consistent_length(X, y)
        numbers = self._numbers(columns)
        with np.errstate(invalid="ignore"):  # the mean of a column that is all gaps
            self.numbers_ = self._number_steps().fit(numbers) if numbers.size else None
        self._learn_categories(columns, by_target=y is not None)
        encoded = self._encode(columns, self._learn_means(columns, y))
        known = ~np.isnan(encoded).all(axis=0)
        varying = known & (encoded != encoded[0]).any(axis=0)
        # where nothing varies, something must stay for an estimator to take
        self.varying_ = varying if varying.any() else np.ones_like(varying)
        origins = [each.column for each in self._features()]
        self.feature_columns_ = np.array(origins)[self.varying_]
        return self._varying(encoded)

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
            if split is not None and split.n_features > self.max_categories
        ]
        self.target_columns_ = np.array(wide, dtype=np.intp)
        self.categories_ = [None if split is None else split.own for split in splits]
        self.rare_categories_ = [None if split is None else split.rare for split in splits]

    def _learn_means(self, columns: list[Column], y: Any) -> Doubles | None:
        """Learn means of the target, and give each row those of other folds."""
        self.target_means_, self.means_scale_ = None, None
        if not len(self.target_columns_):
            return None
        y = column_or_1d(y, warn=True)
        measured = type_of_target(y, input_name="y") == "continuous"
        labels = (
            np.zeros(len(y), dtype=np.intp) if measured else np.unique(y, return_inverse=True)[1]
        )
        rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
        codes = self._wide_codes(columns)
        self.target_means_ = TargetEncoder(cv=self.cv).fit(codes, y)
        folds = deal_folds(labels, self.cv, rng)
        means = means_of_other_folds(self.target_means_, codes, y, folds)
        self.means_scale_ = StandardScaler().fit(means) if self.scale else None
        return means

    def _number_steps(self) -> Pipeline:
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        return make_pipeline(
            fill if self.missing_values == "median" else "passthrough",
            StandardScaler() if self.scale else "passthrough",
        )

    def _numbers(self, columns: list[Column]) -> Doubles:
        measured = [column.as_numbers() for column in columns if column.kind != CATEGORICAL]
        numbers = np.array(measured, dtype=np.float64).reshape(-1, columns[0].n_rows).T
        if self.scale:
            refuse_overflow(numbers)
        return numbers

    def _splits(self) -> Iterator[tuple[int, Split]]:
        """Give each column of words that has features of zeros and ones, with its categories."""
        for j, kind in enumerate(self.kinds_):
            if kind == CATEGORICAL and j not in self.target_columns_:
                yield j, self._split(j)

    def _split(self, column: int) -> Split:
        return Split(self.categories_[column] or [], self.rare_categories_[column] or [])

    def _wide_codes(self, columns: list[Column]) -> NDArray[np.int32]:
        """Codes of the columns with too many categories, (n_rows, n_columns)."""
        return np.column_stack(
            [group_codes(columns[j], self._split(j)) for j in self.target_columns_]
        )

    def _features(self) -> Iterator[Feature]:
        """Tell all features in their order, also those that do not vary."""
        measured = [j for j, kind in enumerate(self.kinds_) if kind != CATEGORICAL]
        yield from map(Feature, measured)
        if self.numbers_ is not None and self.missing_values == "median":
            for k in self.numbers_[0].indicator_.features_:
                yield Feature(measured[k], " missing")
        for j, split in self._splits():
            for label in split.labels:
                yield Feature(j, f" = {_written(label)}", _written(label))
        if self.target_means_ is not None:
            classes = self.target_means_.classes_
            if classes is None:
                endings = [": mean of the target"]
            else:
                said = classes[1:] if len(classes) == 2 else classes
                endings = [f": share of {_written(label)}" for label in said]
            for j in self.target_columns_:
                yield from (Feature(int(j), ending) for ending in endings)

    def _encode(self, columns: list[Column], means: Doubles | None) -> Doubles:
        """Make all features, numbers first, then words, then means of the target."""
        parts = []
        if self.numbers_ is not None:
            parts.append(self.numbers_.transform(self._numbers(columns)))
        n_rows = columns[0].n_rows
        for j, split in self._splits():
            ones = np.zeros((n_rows, split.n_features), order="F")
            write_words(columns[j], split, ones)
            parts.append(ones)
        if means is not None:
            scaled = means if self.means_scale_ is None else self.means_scale_.transform(means)
            parts.append(scaled)
        return np.hstack(parts)

    def _varying(self, encoded: Doubles) -> Doubles:
        return np.asfortranarray(encoded[:, self.varying_])

    def _check_fitted(self) -> None:
        """Refuse attributes that do not belong together."""
        for name in ("kinds_", "categories_", "rare_categories_"):
            expect(len(getattr(self, name)) == self.n_features_in_, f"{name} has another length")
        columns = [self.kinds_, self.categories_, self.rare_categories_]
        for kind, *listed in zip(*columns, strict=True):
            expect(kind in KINDS, "kinds_ names none")
            for words in listed:
                expect(words is None or isinstance(words, list), "categories_ are no lists")
                plain = all(isinstance(each, str | int | float) for each in words or [])
                expect(plain, "categories_ hold more than words")
        high = self.n_features_in_ - 1
        expect_array(self, "target_columns_", [None], "integer", low=0, high=high)
        owners = [feature.column for feature in self._features()]
        expect_array(self, "varying_", [len(owners)], "truth")
        measured = any(kind != CATEGORICAL for kind in self.kinds_)
        filled = isinstance(self.numbers_, Pipeline) and len(self.numbers_) == 2
        expect(filled if measured else self.numbers_ is None, "numbers_ is no pipeline")
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
    """Tell the category behind each feature ``column = category`` of zeros and ones, or None.

    Of other encoders nothing is known: then the list is empty.
    """
    if not isinstance(encoder, TableEncoder):
        return []
    found = [feature.category for feature in encoder._features()]  # noqa: SLF001
    return [each for each, varies in zip(found, encoder.varying_, strict=True) if varies]


def _written(label: Any) -> str:
    """Write a category; a whole number without its decimal point."""
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label) if whole else label)
