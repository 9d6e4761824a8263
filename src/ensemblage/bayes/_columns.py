"""Columns of a table as they come: numbers, categories, truth values, gaps."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

MISSING = -1


class Column(NamedTuple):
    """One column, read.

    Attributes
    ----------
    name : str
        For errors and for the network.
    numbers : ndarray of shape (n_rows,) or None
        Values of a numeric column, NaN where missing.
    cells : list or None
        Values of any other column, None where missing.
    declared : list or None
        Categories that the column's type declares, in order.
    codes : ndarray of shape (n_rows,) or None
        Positions in ``declared``, if the type keeps them; -1 where missing.
    """

    name: str
    numbers: NDArray[np.float64] | None
    cells: list[Any] | None = None
    declared: list[Any] | None = None
    codes: NDArray[np.int32] | None = None


def is_frame(X: Any) -> bool:
    """Tell whether the columns may have types of their own.

    Parameters
    ----------
    X : object
        What the user gave.

    Returns
    -------
    bool
        True for pandas, polars and other frames that narwhals knows.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return isinstance(frame, nw.DataFrame)


def read_columns(X: Any, names: list[str]) -> list[Column]:
    """Read each column of a frame or array.

    Parameters
    ----------
    X : dataframe or ndarray of shape (n_rows, n_columns)
        Validated.
    names : list of str
        The columns' names.

    Returns
    -------
    list of Column
        In order.
    """
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        series = frame.iter_columns()
        return [_read_series(one, name) for one, name in zip(series, names, strict=True)]
    return [_read_array(X[:, j], name) for j, name in enumerate(names)]


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
    cells = [None if gap else c for c, gap in zip(series.to_list(), gaps, strict=True)]
    if dtype == nw.Boolean:
        return Column(name, None, cells, [False, True])
    return _read_objects(cells, name)


def _read_categorical(series: nw.Series[Any], name: str) -> Column:
    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas keeps the codes at hand
        codes = np.asarray(native.cat.codes, dtype=np.int32)
        return Column(name, None, None, list(native.cat.categories), codes)
    cells = series.cast(nw.String).to_list()
    if isinstance(series.dtype, nw.Enum):
        return Column(name, None, cells, series.cat.get_categories().to_list())
    # the other categories of a polars Categorical may come from any column of the session
    return Column(name, None, cells)


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
        return Column(name, None, values.tolist(), [False, True])
    return _read_objects([None if _is_gap(cell) else cell for cell in values.tolist()], name)


def _is_gap(cell: Any) -> bool:
    # pandas' NA is neither equal to itself nor unequal; NaN and NaT are unequal to themselves
    return cell is None or type(cell).__name__ == "NAType" or cell != cell  # noqa: PLR0124


def _read_objects(cells: list[Any], name: str) -> Column:
    kinds = {type(cell) for cell in cells if cell is not None}
    for kind in kinds:
        if kind.__hash__ is None:
            raise TypeError(
                f"Column {name!r} holds a {kind.__name__}; each cell's argument must be a string "
                "or a number. Unpack such cells into columns first."
            )
    if kinds and all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return Column(name, None, cells, [False, True])
    if kinds and all(issubclass(kind, Real) for kind in kinds):
        numbers = np.array([np.nan if cell is None else float(cell) for cell in cells])
        return _read_array(numbers, name)
    return Column(name, None, cells)


def observed_categories(cells: list[Any]) -> list[Any]:
    """List the categories that occur, sorted.

    Parameters
    ----------
    cells : list
        None where missing.

    Returns
    -------
    list
        Sorted by value; values of different types by type first.
    """
    seen = {cell for cell in cells if cell is not None}
    try:
        return sorted(seen)
    except TypeError:
        return sorted(seen, key=lambda cell: (type(cell).__name__, str(cell)))


def match_categories(column: Column, categories: list[Any]) -> NDArray[np.int32]:
    """Code a column by known categories.

    Parameters
    ----------
    column : Column
        Categorical.
    categories : list
        Their order is the code.

    Returns
    -------
    ndarray of shape (n_rows,)
        -1 where missing, ``len(categories)`` for a category that is not among them.
    """
    position = {category: code for code, category in enumerate(categories)}
    unseen = len(categories)
    if column.codes is not None and column.declared is not None:
        known = [position.get(category, unseen) for category in column.declared]
        return np.array([*known, MISSING], dtype=np.int32)[column.codes]
    cells = column.cells if column.cells is not None else _as_cells(column)
    codes = (MISSING if cell is None else position.get(cell, unseen) for cell in cells)
    return np.fromiter(codes, dtype=np.int32, count=len(cells))


def _as_cells(column: Column) -> list[Any]:
    """Read numbers as categories, for a column that held categories when it was fitted."""
    assert column.numbers is not None  # noqa: S101
    return [None if np.isnan(number) else number for number in column.numbers.tolist()]
