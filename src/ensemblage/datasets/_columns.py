"""Columns of arrays and dataframes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ensemblage._core import count, listing, suggestion
from ensemblage.datasets._table import (
    CATEGORICAL,
    DATE,
    MILLISECONDS_PER_DAY,
    NUMERIC,
    PLURALS,
    to_days,
)

# Code of a missing value.
MISSING_CODE = -1
# Types of Boolean and missing values.
BOOLEAN_TYPES = {type(None), bool, np.bool_}


class _Positions(dict[Any, int]):
    """Codes by category; unseen categories share the code ``len(categories)``."""

    def __init__(self, categories: Sequence[Any]) -> None:
        super().__init__((category, code) for code, category in enumerate(categories))
        self.unseen = len(categories)
        self[None] = MISSING_CODE

    def __missing__(self, value: Any) -> int:
        return self.unseen


@dataclass(frozen=True, eq=False)
class Column:
    """One column: ``numbers`` if numeric (NaN where missing), else ``values`` (None where missing).

    Dates are numeric, days since 1970-01-01, with ``is_date`` set. ``declared`` are the categories
    of a categorical dtype, in order, and ``codes`` the positions among them if the dtype stores
    them.
    """

    name: str
    numbers: NDArray[np.float64] | None = None
    values: list[Any] | None = None
    declared: list[Any] | None = None
    codes: NDArray[np.int32] | None = None
    is_date: bool = False

    @property
    def n_rows(self) -> int:
        held = (self.numbers, self.values, self.codes)
        return len(next(each for each in held if each is not None))

    @property
    def kind(self) -> str:
        """Numeric, date or categorical; Boolean columns are categorical."""
        if self.is_date:
            return DATE
        return CATEGORICAL if self.numbers is None else NUMERIC

    def take(self, rows: NDArray[np.int64]) -> Column:
        return replace(
            self,
            numbers=None if self.numbers is None else self.numbers[rows],
            values=None if self.values is None else [self.values[row] for row in rows],
            codes=None if self.codes is None else self.codes[rows],
        )

    def as_categories(self, declared: Sequence[Any] | None = None) -> Column:
        """Convert to a categorical column; values outside ``declared`` are an error."""
        known = self.declared if declared is None else list(declared)
        column = Column(self.name, values=self._values(), declared=known)
        if declared is not None:
            allowed = set(declared)
            others = [value for value in column.occurring() if value not in allowed]
            if others:
                raise ValueError(
                    f"Column {self.name!r} contains {others[0]!r}, which is not one of its "
                    f"`categories`: {listing(map(str, declared))}."
                )
        return column

    def coded(self) -> Column:
        """Replace values by codes, which are faster to match repeatedly."""
        if self.values is None:
            return self
        known = self.occurring()
        return Column(self.name, declared=known, codes=self.match(known))

    def occurring(self) -> list[Any]:
        """Return the unique values, sorted; mixed types are sorted by type first."""
        if self.numbers is not None:
            return [float(v) for v in np.unique(self.numbers[~np.isnan(self.numbers)])]
        if self.codes is not None and self.declared is not None:
            seen = {self.declared[code] for code in np.unique(self.codes) if code != MISSING_CODE}
        else:
            seen = set(self._values()) - {None}
        try:
            return sorted(seen)
        except TypeError:
            return sorted(seen, key=lambda value: (type(value).__name__, str(value)))

    def categories(self) -> list[Any]:
        """Return the declared categories, or else the unique values."""
        return self.occurring() if self.declared is None else list(self.declared)

    def match(self, categories: Sequence[Any]) -> NDArray[np.int32]:
        """Encode by known categories; unseen categories get ``len(categories)``."""
        position = _Positions(categories)
        if self.codes is not None and self.declared is not None:
            known = [position[category] for category in self.declared]
            return np.array([*known, MISSING_CODE], dtype=np.int32)[self.codes]
        values = self._values()
        return np.fromiter(map(position.__getitem__, values), dtype=np.int32, count=len(values))

    def field(self, row: int) -> Any:
        """Return one value: a number, a date as days, or a category; None or NaN if missing."""
        return self._values()[row] if self.numbers is None else float(self.numbers[row])

    def as_numbers(self) -> NDArray[np.float64]:
        """Return a numeric array; of categorical columns only Boolean and empty ones have one."""
        if self.numbers is not None:
            return self.numbers
        if self.codes is not None and (self.codes == MISSING_CODE).all():
            return np.full(len(self.codes), np.nan)
        if self.values is not None and set(map(type, self.values)) <= BOOLEAN_TYPES:
            return np.array(self.values, dtype=np.float64)
        raise ValueError(
            f"Column {self.name!r} was numeric when the model was fitted and is now categorical. "
            "Convert it to numeric values, or fit the model again."
        )

    def _values(self) -> list[Any]:
        """Return values, decoded from codes, or from numbers that were categories in the fit."""
        if self.values is not None:
            return self.values
        if self.codes is not None and self.declared is not None:
            categories = np.empty(len(self.declared) + 1, dtype=object)
            categories[:-1] = self.declared
            return list(categories[self.codes])
        numbers = self.as_numbers().astype(object)
        numbers[np.isnan(self.as_numbers())] = None
        return list(numbers)


class ReadRows:
    """Rows that are validated and read once, for several estimators of the same columns."""

    ndim = 2

    def __init__(self, columns: list[Column]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return self.columns[0].n_rows

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)


def is_frame(X: Any) -> bool:
    """Whether ``X`` is a dataframe of pandas, polars or Arrow, with one dtype per column."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return isinstance(frame, nw.DataFrame)


def read_features(estimator: Any, X: Any, *, reset: bool) -> list[Column]:
    """Read the columns of ``X``, setting or checking the estimator's features."""
    if isinstance(X, ReadRows):
        return X.columns
    # not at import: prediction from a file reads columns without scikit-learn
    from sklearn.utils import check_array  # noqa: PLC0415
    from sklearn.utils.validation import validate_data  # noqa: PLC0415

    if is_frame(X) or hasattr(X, "by_column"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if min(X.shape) == 0:
            check_array(np.empty(X.shape))  # raises scikit-learn's error
    else:
        X = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    default = [f"x{j}" for j in range(estimator.n_features_in_)]
    return read_columns(X, [str(each) for each in getattr(estimator, "feature_names_in_", default)])


def read_columns(X: Any, names: Sequence[str]) -> list[Column]:
    """Read a dataframe or a two-dimensional array column by column."""
    if hasattr(X, "by_column"):  # TableRows
        return [_read_array(one, name) for one, name in zip(X.by_column, names, strict=True)]
    if nw.dependencies.is_pandas_dataframe(X):
        return [_read_pandas(one, name) for (_, one), name in zip(X.items(), names, strict=True)]
    if is_frame(X):
        series = nw.from_native(X, eager_only=True).iter_columns()
        return [_read_series(one, name) for one, name in zip(series, names, strict=True)]
    return [_read_array(X[:, j], name) for j, name in enumerate(names)]


def per_column(given: Any, names: Sequence[str], parameter: str) -> list[Any]:
    """Expand a list, or a mapping by name, to one entry per column; None where not given."""
    if given is None or (isinstance(given, str) and given == "auto"):
        return [None] * len(names)
    if isinstance(given, Mapping):
        known = set(names)
        unknown = [str(name) for name in given if name not in known]
        if unknown:
            raise ValueError(
                f"`{parameter}` contains {unknown[0]!r}, which is not a column."
                f"{suggestion(unknown[0], names)} The columns are: {listing(names)}."
            )
        return [given.get(name) for name in names]
    if len(given) != len(names):
        raise ValueError(
            f"`{parameter}` has {count(len(given), 'entry', 'entries')}, but `X` has "
            f"{count(len(names), 'column')}: expected one entry per column."
        )
    return list(given)


def as_kind(column: Column, kind: str | None, declared: Sequence[Any] | None = None) -> Column:
    """Convert a column to the given kind; text is parsed as numbers or dates."""
    if declared is not None or (kind == CATEGORICAL and column.kind != CATEGORICAL):
        return column.as_categories(declared)
    if kind in {None, CATEGORICAL}:
        return column
    if column.kind == CATEGORICAL:
        return _parse(column, str(kind))
    return replace(column, is_date=kind == DATE)


def _parse(column: Column, kind: str) -> Column:
    known = column.occurring()
    try:
        found = np.array(known, dtype="datetime64[ms]" if kind == DATE else np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {column.name!r} cannot be converted to {PLURALS[kind]} ({error}): correct its "
            "values, or fit again with other `kinds`."
        ) from None
    values = np.append(to_days(found) if kind == DATE else found, np.nan)
    column = _read_array(values[column.match(known)], column.name)
    return replace(column, is_date=kind == DATE)


def _read_pandas(series: Any, name: str) -> Column:
    """Read the most common dtypes without narwhals, whose calls take longer than few values."""
    plain, kind = isinstance(series.dtype, np.dtype), series.dtype.kind
    if plain and kind in "iuf":
        return _read_array(series.to_numpy(), name)
    if (plain and kind == "O") or type(series.dtype).__name__ == "StringDtype":
        return _read_objects(series.tolist(), name)
    return _read_series(nw.from_native(series, series_only=True), name)


def _read_series(series: nw.Series[Any], name: str) -> Column:
    dtype = series.dtype
    if dtype.is_numeric():
        numbers = series.to_numpy()
        if numbers.dtype.kind not in "iuf":  # decimals and nullable dtypes
            numbers = series.cast(nw.Float64).to_numpy()
        return _read_array(numbers, name)
    if isinstance(dtype, nw.Enum | nw.Categorical):
        return _read_categorical(series, name)
    if dtype.is_temporal():
        return _read_temporal(series, name)
    values: list[Any] = series.to_list()
    missing = series.is_null().to_numpy()
    if missing.any():
        values = [None if gone else x for x, gone in zip(values, missing.tolist(), strict=True)]
    if dtype == nw.Boolean:
        return Column(name, values=values, declared=[False, True])
    return _read_objects(values, name)


def _read_categorical(series: nw.Series[Any], name: str) -> Column:
    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas stores codes
        codes = np.asarray(native.cat.codes, dtype=np.int32)
        return Column(name, declared=list(native.cat.categories), codes=codes)
    values = series.cast(nw.String).to_list()
    if isinstance(series.dtype, nw.Enum):
        return Column(name, values=values, declared=series.cat.get_categories().to_list())
    # a polars Categorical shares its categories with other columns, so they are not declared
    return Column(name, values=values)


def _read_temporal(series: nw.Series[Any], name: str) -> Column:
    """Convert dates to days since 1970-01-01 (UTC), and durations to days."""
    if series.dtype == nw.Time:
        raise TypeError(
            f"Column {name!r} contains times of day: convert them to numbers, such as hours."
        )
    is_duration = series.dtype == nw.Duration
    moments = series.dt.total_milliseconds() if is_duration else series.dt.timestamp("ms")
    days = moments.cast(nw.Float64).to_numpy() / MILLISECONDS_PER_DAY
    return Column(name, days, is_date=not is_duration)


def _read_array(values: NDArray[Any], name: str) -> Column:
    if values.dtype.kind in "iuf":
        numbers = np.asarray(values, dtype=np.float64)
        if np.isinf(numbers).any():
            raise ValueError(
                f"Column {name!r} contains infinity. Replace it with a finite number, or with NaN "
                "for a missing value."
            )
        return Column(name, numbers)
    if values.dtype.kind == "b":
        return Column(name, values=values.tolist(), declared=[False, True])
    if values.dtype.kind in "mM":
        return Column(name, to_days(values), is_date=values.dtype.kind == "M")
    return _read_objects(values.tolist(), name)


def _read_objects(values: list[Any], name: str) -> Column:
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {float}:  # the most common case; a missing value is NaN or None
        return _read_array(np.array(values, dtype=np.float64), name)
    if kinds != {str}:
        values = _with_none(values, name)
        kinds = set(map(type, values)) - {type(None)}
    if kinds and all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return Column(name, values=values, declared=[False, True])
    if kinds and all(issubclass(kind, Real) for kind in kinds):
        return _read_array(np.array(values, dtype=np.float64), name)
    if kinds and all(issubclass(kind, (date, np.datetime64)) for kind in kinds):
        moments = np.array([*map(_to_utc, values)], dtype="datetime64[ms]")
        return Column(name, to_days(moments), is_date=True)
    return Column(name, values=values)


def _with_none(values: list[Any], name: str) -> list[Any]:
    """Replace missing values by None; only unique values are tested."""
    try:
        # NaN and NaT differ from themselves; pandas' NA gives NA when compared
        missing = {
            value
            for value in set(values)
            if value is None or type(value).__name__ == "NAType" or value != value  # noqa: PLR0124
        }
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values if type(value).__hash__ is None})
        kind = kinds[0] if kinds else "nested value"
        raise TypeError(
            f"Column {name!r} contains a {kind}; each argument must be a string or a number. "
            "Expand such values into columns first."
        ) from None
    return [None if value in missing else value for value in values] if missing - {None} else values


def _to_utc(moment: Any) -> Any:
    zoned = getattr(moment, "tzinfo", None) is not None
    return moment.astimezone(UTC).replace(tzinfo=None) if zoned else moment
