"""A small table: named columns of numbers or words, without pandas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.messages import listing, suggestion

Column = NDArray[Any]
"""Values of one column: float64 with NaN for missing, or objects (str, None for missing)."""

MISSING = frozenset({"", "NA", "NaN", "nan", "?", "null"})

NUMBER = "number"
WORD = "word"


def parse_number(text: str) -> float:
    """Read a text without surrounding blanks as a finite number, or give NaN."""
    # Python's float() also takes "1_000", which is a word in a data file.
    if "_" in text:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def column_from_texts(texts: Sequence[str | None], kind: str | None = None) -> Column:
    """Make a column of numbers if every known text is a finite one, or of the kind asked for."""
    if kind != WORD:
        numbers = [math.nan if text is None else parse_number(text) for text in texts]
        bad = [c for c, x in zip(texts, numbers, strict=True) if c is not None and math.isnan(x)]
        if not bad:
            return np.array(numbers, dtype=np.float64)
        if kind == NUMBER:
            raise ValueError(f"holds {bad[0]!r}, which is not a finite number")
    column = np.empty(len(texts), dtype=object)
    column[:] = texts
    return column


def kind_of(column: Column) -> str:
    """Tell numbers from words."""
    return NUMBER if column.dtype == np.float64 else WORD


def is_missing(column: Column) -> NDArray[np.bool_]:
    """Mark the missing values."""
    if kind_of(column) == NUMBER:
        return np.isnan(column)
    return np.array([value is None for value in column], dtype=bool)


@dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Parameters
    ----------
    names : tuple of str
        The column names, each once.
    columns : tuple of ndarray
        Per name an array of shape (n_rows,): float64 with NaN for missing, or objects (str,
        None for missing).
    categories : mapping of str to tuple of str, default={}
        The categories that the file declares for a column, in their order, also those that
        never occur.

    Examples
    --------
    >>> from ensemblage.datasets import Table
    >>> table = Table.from_texts(["age", "job"], [["31", "NA", "52"], ["cook", "?", "smith"]])
    >>> table.kinds
    ('number', 'word')
    >>> table.column("job").tolist()
    ['cook', None, 'smith']
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"Column names must differ, but {listing(map(repr, repeated))} occurs more than "
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
            The values of each column; ``''``, ``NA``, ``NaN``, ``?`` and ``null`` are missing.
        kinds : mapping of str to {"number", "word"}, default=None
            The kind of a column where it is known; otherwise the values decide.
        categories : mapping of str to tuple of str, default=None
            Declared categories; such a column holds words, even if they look like numbers.

        Returns
        -------
        Table
            Columns of numbers or words.
        """
        declared = dict(categories or {})
        wanted = dict.fromkeys(declared, WORD) | dict(kinds or {})
        columns = []
        for name, column in zip(names, texts, strict=True):
            known = [None if text in MISSING else text for text in map(str.strip, column)]
            try:
                columns.append(column_from_texts(known, wanted.get(name)))
            except ValueError as error:
                raise ValueError(
                    f"Column {name!r} {error}; numbers are expected in this column."
                ) from None
        return cls(tuple(names), tuple(columns), declared)

    @property
    def n_rows(self) -> int:  # numpydoc ignore=RT01
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    @property
    def kinds(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """Per column ``"number"`` or ``"word"``."""
        return tuple(kind_of(column) for column in self.columns)

    def column(self, name: str) -> Column:
        """Look up one column.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        ndarray of shape (n_rows,)
            The column itself, not a copy.
        """
        if name not in self.names:
            raise ValueError(
                f"There is no column {name!r}.{suggestion(name, self.names)} "
                f"The columns are: {listing(self.names)}."
            )
        return self.columns[self.names.index(name)]

    def select(self, names: Sequence[str]) -> Table:
        """Keep some columns, in the given order.

        Parameters
        ----------
        names : sequence of str
            Which.

        Returns
        -------
        Table
            A table of these columns.
        """
        kept = {name: self.categories[name] for name in names if name in self.categories}
        return Table(tuple(names), tuple(self.column(name) for name in names), kept)

    def take(self, rows: NDArray[Any]) -> Table:
        """Keep some rows.

        Parameters
        ----------
        rows : ndarray
            Indices or a mask.

        Returns
        -------
        Table
            A table of these rows.
        """
        return Table(self.names, tuple(column[rows] for column in self.columns), self.categories)

    def to_array(self) -> NDArray[Any]:
        """Give the values as one matrix.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            Numbers if every column holds numbers, otherwise objects.
        """
        dtype = np.float64 if WORD not in self.kinds else object
        matrix = np.empty((self.n_rows, len(self.columns)), dtype=dtype)
        for j, column in enumerate(self.columns):
            matrix[:, j] = column
        return matrix
