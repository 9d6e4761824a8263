"""Ranges of columns, a check of their values, and standardised blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ensemblage.blocks._blocks import Block, BlockSource
from ensemblage.blocks._dask import ParquetParts
from ensemblage.blocks._files import FileBlocks

Array = NDArray[Any]
Doubles = NDArray[np.float64]


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


class Scaling(NamedTuple):
    """What to take from each column, and what to divide it by."""

    centre: Doubles
    spread: Doubles

    def apply(self, rows: Any) -> Any:
        """Scale rows, in their own dtype."""
        return (rows - self.centre.astype(rows.dtype)) / self.spread.astype(rows.dtype)

    def undo(self, rows: Array) -> Doubles:
        """Give the rows in their own units."""
        units: Doubles = rows * self.spread + self.centre
        return units


class ScaledBlocks(FileBlocks):
    """Rows in files, scaled as they are read."""

    def __init__(self, source: FileBlocks, scaling: Scaling) -> None:
        super().__init__(source.shape, source.dtype, None, source.block_rows, source.feature_names)
        self._source, self._scaling = source, scaling
        self._settle(source._beside)  # noqa: SLF001  of the same family

    def place(self, row: int) -> str:
        return self._source.place(row)

    def _read(self) -> Iterator[Array]:
        for rows in self._source._read():  # noqa: SLF001
            yield self._scaling.apply(rows)


def standardised(source: FileBlocks | ParquetParts) -> tuple[BlockSource, Scaling]:
    """Scale rows by mean and standard deviation, in two passes; a constant column stays so.

    A value that is missing is refused by its file, row and column.
    """
    column_extent(source)
    n_rows = source.shape[0]
    (sums,) = source.total(_sums)
    (squares,) = source.total(_squares, sums / n_rows)
    spread = np.sqrt(squares / n_rows)
    scaling = Scaling(sums / n_rows, np.where(spread > 0, spread, 1.0))
    if isinstance(source, ParquetParts):
        return source.transformed(scaling.apply), scaling
    return ScaledBlocks(source, scaling), scaling


def _sums(block: Block) -> tuple[Doubles]:
    return (block.rows.sum(axis=0, dtype=np.float64),)


def _squares(block: Block, mean: Doubles) -> tuple[Doubles]:
    return (np.square(block.rows - mean).sum(axis=0),)
