"""The first pass of a fit: whether all values are numbers, and how far they reach."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from ensemblage.blocks._source import Array, Block, BlockSource


class ColumnExtent(NamedTuple):
    """The least and the largest value of each column."""

    lowest: Array
    highest: Array

    @property
    def largest(self) -> float:
        """The largest value of all, without its sign."""
        return float(max(-self.lowest.min(), self.highest.max()))


class _Reach(NamedTuple):
    """The same of a block, and its first value that is none."""

    lowest: Array
    highest: Array
    bad: tuple[int, int, float] | None  # row, column, value


def column_extent(source: BlockSource) -> ColumnExtent:
    """Read all rows once, and refuse a value that is no number by its file, row and column."""
    reach = source.total(_reach, combine=_wider)
    if reach.bad is not None:
        row, column, value = reach.bad
        name = column if source.feature_names is None else repr(source.feature_names[column])
        raise ValueError(
            f"Column {name} is {value} in {source.place(row)}, counted from 0: fill it in, or "
            "leave the row out."
        )
    return ColumnExtent(reach.lowest, reach.highest)


def _reach(block: Block) -> _Reach:
    lowest, highest = _by_column(np.minimum, block.rows), _by_column(np.maximum, block.rows)
    if np.isfinite(lowest).all() and np.isfinite(highest).all():
        return _Reach(lowest, highest, None)
    row, column = (int(at) for at in np.argwhere(~np.isfinite(block.rows))[0])
    return _Reach(lowest, highest, (block.start + row, column, float(block.rows[row, column])))


def _by_column(extreme: np.ufunc, rows: Array) -> Array:
    """Reduce each column; eight rows at a time where there are so many, as short ones are slow."""
    whole = len(rows) - len(rows) % 8
    if whole:
        eights: Array = extreme.reduce(rows[:whole].reshape(-1, 8 * rows.shape[1]), axis=0)
        rows = np.concatenate([eights.reshape(8, -1), rows[whole:]])
    columns: Array = extreme.reduce(rows, axis=0)
    return columns


def _wider(left: _Reach, right: _Reach) -> _Reach:
    lowest = np.minimum(left.lowest, right.lowest)
    highest = np.maximum(left.highest, right.highest)
    return _Reach(lowest, highest, right.bad if left.bad is None else left.bad)


def note_columns(estimator: Any, source: BlockSource, min_rows: int = 1) -> None:
    """Set the number and the names of the columns that an estimator sees, as scikit-learn does."""
    if source.shape[0] < min_rows:
        raise ValueError(f"At least {min_rows} rows are needed; there is {source.place(0)} alone.")
    validate_data(estimator, source.stand_in, skip_check_array=True)
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
