"""A table of named columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import listing, set_module, suggestion

Array = NDArray[Any]

NUMERIC: Final = "numeric"
CATEGORICAL: Final = "categorical"
DATE: Final = "date"
KINDS = (NUMERIC, CATEGORICAL, DATE)
# Kind requested of a target: numeric, with its labels as written, if possible; else categorical.
NUMERIC_OR_LABEL = "numeric_or_label"
# Values of each kind, in messages.
PLURALS = {NUMERIC: "numbers", CATEGORICAL: "categories", DATE: "dates"}
# Texts that are missing values in any column.
MISSING_TOKENS = frozenset({"", "NA", "NaN", "nan", "?", "null"})
MILLISECONDS_PER_DAY = 86_400_000


def parse_number(text: str) -> float:
    """Parse stripped text as a finite number, or return NaN."""
    # float() also accepts "1_000", which is text in a data file
    if "_" in text:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def parse_date(text: str) -> np.datetime64:
    """Parse ISO 8601, such as ``2024-03-01`` with or without a time, or return NaT."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return np.datetime64("NaT", "ms")
    # convert to UTC
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(moment, "ms")


def column_from_texts(texts: Sequence[str | None], kind: str | None = None) -> Array:
    """Make a column of ``kind``; by default numeric if all texts are finite numbers."""
    if kind == DATE:
        dates = [np.datetime64("NaT", "ms") if text is None else parse_date(text) for text in texts]
        bad = [c for c, x in zip(texts, dates, strict=True) if c is not None and np.isnat(x)]
        if bad:
            raise ValueError(f"contains {bad[0]!r}, which is not a date such as 2024-03-01")
        return np.array(dates, dtype="datetime64[ms]")
    if kind != CATEGORICAL:
        numbers = [math.nan if text is None else parse_number(text) for text in texts]
        bad = [c for c, x in zip(texts, numbers, strict=True) if c is not None and math.isnan(x)]
        if not bad:
            return np.array(numbers, dtype=np.float64)
        if kind == NUMERIC:
            raise ValueError(f"contains {bad[0]!r}, which is not a finite number")
    column = np.empty(len(texts), dtype=object)
    column[:] = texts
    return column


def kind_of(column: Array) -> str:
    return {"f": NUMERIC, "M": DATE}.get(column.dtype.kind, CATEGORICAL)


def is_missing(column: Array) -> NDArray[np.bool_]:
    if kind_of(column) == CATEGORICAL:
        return np.array([value is None for value in column], dtype=bool)
    return np.asarray(np.isnat(column) if kind_of(column) == DATE else np.isnan(column))


def to_days(moments: Array) -> NDArray[np.float64]:
    """Convert dates to days since 1970-01-01, and durations to days; NaN for missing values."""
    whole = moments.astype(f"{moments.dtype.kind}8[ms]")
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / MILLISECONDS_PER_DAY)


def days_to_dates(days: NDArray[np.float64]) -> Array:
    """Convert days since 1970-01-01 to dates, the inverse of ``to_days``."""
    dates = np.full(len(days), np.datetime64("NaT", "ms"))
    known = ~np.isnan(days)
    dates[known] = np.round(days[known] * MILLISECONDS_PER_DAY).astype("datetime64[ms]")
    return dates


@set_module("ensemblage.datasets")
@dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Parameters
    ----------
    names : tuple of str
        The column names, which must be unique.
    columns : tuple of ndarray
        One array of shape (n_rows,) per name: float64 with NaN for missing values, object (str,
        None for missing values), or datetime64[ms] with NaT for missing values.
    categories : mapping of str to tuple of str, default={}
        Categories declared in the file, in order, including those that do not occur.
    notes : tuple of str, default=()
        How the file was read, where it is not the default: one sentence each.
    written : Table, default=None
        A numeric target as written in the file, where values may be labels such as 01.

    Examples
    --------
    >>> from ensemblage.datasets import Table
    >>> table = Table.from_texts(["age", "job"], [["31", "NA", "52"], ["cook", "?", "smith"]])
    >>> table.kinds
    ('numeric', 'categorical')
    >>> table.column("job").tolist()
    ['cook', None, 'smith']
    """

    names: tuple[str, ...]
    columns: tuple[Array, ...]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    written: Table | None = None

    def __post_init__(self) -> None:
        repeated = sorted(name for name, times in Counter(self.names).items() if times > 1)
        if repeated:
            raise ValueError(
                f"Column names must be unique, but {listing(map(repr, repeated))} occurs more than "
                "once: rename the columns."
            )
        if len({len(column) for column in self.columns}) > 1:
            raise ValueError("All columns of a table must have the same number of rows.")

    @classmethod
    def from_texts(
        cls,
        names: Sequence[str],
        texts: Sequence[Sequence[str]],
        *,
        kinds: Mapping[str, str] | None = None,
        categories: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Table:
        """Build a table from text.

        Parameters
        ----------
        names : sequence of str
            The column names.
        texts : sequence of sequence of str
            The values of each column; ``''``, ``NA``, ``NaN``, ``?`` and ``null`` are missing
            values.
        kinds : mapping of str to {"numeric", "categorical", "date"}, default=None
            The kind of a column. By default it is numeric if all values are numbers, else
            categorical. Dates have the form ``2024-03-01``, with or without a time.
        categories : mapping of str to tuple of str, default=None
            Declared categories; such a column is categorical, even if all values are numbers.

        Returns
        -------
        Table
            Numeric, categorical or date columns.
        """
        declared = dict(categories or {})
        wanted = dict.fromkeys(declared, CATEGORICAL) | dict(kinds or {})
        columns = []
        for name, column in zip(names, texts, strict=True):
            known = [None if text in MISSING_TOKENS else text for text in map(str.strip, column)]
            try:
                columns.append(column_from_texts(known, wanted.get(name)))
            except ValueError as error:
                raise ValueError(
                    f"Column {name!r} {error}; expected {PLURALS[wanted[name]]}."
                ) from None
        return cls(tuple(names), tuple(columns), declared)

    @property
    def n_rows(self) -> int:  # numpydoc ignore=RT01
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    @property
    def kinds(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """Per column ``"numeric"``, ``"categorical"`` or ``"date"``."""
        return tuple(kind_of(column) for column in self.columns)

    def column(self, name: str) -> Array:
        """Return one column.

        Parameters
        ----------
        name : str
            The column name.

        Returns
        -------
        ndarray of shape (n_rows,)
            The column, not a copy.
        """
        if name not in self.names:
            raise ValueError(
                f"There is no column {name!r}.{suggestion(name, self.names)} "
                f"The columns are: {listing(self.names)}."
            )
        return self.columns[self.names.index(name)]

    def select(self, names: Sequence[str]) -> Table:
        """Select columns.

        Parameters
        ----------
        names : sequence of str
            The column names, in the order of the result.

        Returns
        -------
        Table
            A table of these columns.
        """
        kept = {name: self.categories[name] for name in names if name in self.categories}
        by_name = dict(zip(self.names, self.columns, strict=True))
        columns = tuple(by_name[name] if name in by_name else self.column(name) for name in names)
        return replace(self, names=tuple(names), columns=columns, categories=kept)

    def take(self, rows: NDArray[Any]) -> Table:
        """Select rows.

        Parameters
        ----------
        rows : ndarray
            Row indices or a Boolean mask.

        Returns
        -------
        Table
            A table of these rows.
        """
        written = None if self.written is None else self.written.take(rows)
        return replace(self, columns=tuple(each[rows] for each in self.columns), written=written)

    def to_array(self) -> NDArray[Any]:
        """Convert to a two-dimensional array.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            Of dtype float64 if no column is categorical, else object. Dates are days since
            1970-01-01.
        """
        return np.asarray(self.to_rows())

    def to_rows(self) -> TableRows:
        """Return an array-like that keeps the columns apart.

        Returns
        -------
        array-like of shape (n_rows, n_columns)
            The values of ``to_array``, which are put into one array on first use.
        """
        return TableRows(
            *(to_days(each) if kind_of(each) == DATE else each for each in self.columns)
        )


class TableRows:
    """Rows stored by column: float64 (NaN where missing), or object (None where missing).

    ``np.asarray`` puts them into one array, on first use: float64 if no column is categorical,
    else object.
    """

    ndim = 2

    def __init__(self, *by_column: NDArray[Any]) -> None:
        self.by_column = by_column

    def __len__(self) -> int:
        return len(self.by_column[0]) if self.by_column else 0

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.by_column)

    @property
    def dtype(self) -> np.dtype[Any]:
        mixed = any(column.dtype.kind == "O" for column in self.by_column)
        return np.dtype(object if mixed else np.float64)

    @cached_property
    def _matrix(self) -> NDArray[Any]:
        matrix = np.empty(self.shape, dtype=self.dtype)
        for j, column in enumerate(self.by_column):
            matrix[:, j] = column
        return matrix

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._matrix, dtype=dtype, copy=copy)

    def __getitem__(self, key: Any) -> NDArray[Any]:
        return np.asarray(self._matrix[key])
