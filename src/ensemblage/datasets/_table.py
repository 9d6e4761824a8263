"""A small table: named columns of numbers or words, without pandas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np

MISSING = frozenset({"", "NA", "NaN", "nan", "?", "null"})

NUMBER = "number"
WORD = "word"


def parse_number(cell: str) -> float:
    """Read a cell as a finite float.

    Parameters
    ----------
    cell : str
        Text, without surrounding blanks.

    Returns
    -------
    float
        The number, or NaN if the cell is no finite number.
    """
    # Python's float() also takes "1_000", which is a word in a data file.
    if "_" in cell:
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def column_from_cells(cells: Sequence[str | None], kind: str | None = None) -> np.ndarray:
    """Turn text cells into a column of numbers or of words.

    Parameters
    ----------
    cells : sequence of str or None
        None is a missing cell.
    kind : {"number", "word"}, default=None
        What the column must be; by default it is a column of numbers if every cell that is
        not missing is a finite number.

    Returns
    -------
    ndarray of shape (n_rows,)
        Numbers with NaN, or objects (str, or None for a missing cell).
    """
    if kind != WORD:
        numbers = [math.nan if cell is None else parse_number(cell) for cell in cells]
        bad = [c for c, x in zip(cells, numbers, strict=True) if c is not None and math.isnan(x)]
        if not bad:
            return np.array(numbers, dtype=np.float64)
        if kind == NUMBER:
            raise ValueError(f"holds {bad[0]!r}, which is not a finite number")
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


def kind_of(column: np.ndarray) -> str:
    """Tell numbers from words.

    Parameters
    ----------
    column : ndarray of shape (n_rows,)
        A column of a table.

    Returns
    -------
    {"number", "word"}
        The kind of its cells.
    """
    return NUMBER if column.dtype == np.float64 else WORD


def is_missing(column: np.ndarray) -> np.ndarray:
    """Mark the missing cells.

    Parameters
    ----------
    column : ndarray of shape (n_rows,)
        A column of a table.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        True where the cell is missing.
    """
    if kind_of(column) == NUMBER:
        return np.isnan(column)
    return np.array([cell is None for cell in column], dtype=bool)


def listing(names: Iterable[object], limit: int = 12) -> str:
    """Write names in a row, cut short when there are many.

    Parameters
    ----------
    names : iterable
        What to list.
    limit : int, default=12
        At most so many are written out.

    Returns
    -------
    str
        The names, separated by commas.
    """
    every = [str(name) for name in names]
    rest = len(every) - limit
    return ", ".join(every[:limit]) + (f" and {rest} more" if rest > 0 else "")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Propose the known name that is closest to a mistyped one.

    Parameters
    ----------
    name : str
        What was asked for.
    known : iterable of str
        What there is.

    Returns
    -------
    str
        A sentence with a blank before it, or nothing.
    """
    lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), lower, n=1)
    return f" Did you mean {lower[close[0]]!r}?" if close else ""


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
    >>> table = Table.from_cells(["age", "job"], [["31", "NA", "52"], ["cook", "?", "smith"]])
    >>> table.kinds
    ('number', 'word')
    >>> table.column("job").tolist()
    ['cook', None, 'smith']
    """

    names: tuple[str, ...]
    columns: tuple[np.ndarray, ...]
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
    def from_cells(
        cls,
        names: Sequence[str],
        cells: Sequence[Sequence[str]],
        *,
        kinds: Mapping[str, str] | None = None,
        categories: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Table:
        """Build a table from text.

        Parameters
        ----------
        names : sequence of str
            The column names.
        cells : sequence of sequence of str
            The cells of each column; ``''``, ``NA``, ``NaN``, ``?`` and ``null`` are missing.
        kinds : mapping of str to {"number", "word"}, default=None
            The kind of a column where it is known; otherwise the cells decide.
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
        for name, texts in zip(names, cells, strict=True):
            known = [None if cell in MISSING else cell for cell in map(str.strip, texts)]
            try:
                columns.append(column_from_cells(known, wanted.get(name)))
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

    def column(self, name: str) -> np.ndarray:
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

    def take(self, rows: np.ndarray) -> Table:
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

    def to_array(self) -> np.ndarray:
        """Give the cells as one matrix.

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
