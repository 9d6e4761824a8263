"""Column ranges, validation of values, and standardised blocks."""

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


class ColumnRange(NamedTuple):
    """Minimum and maximum of each column; row, column and value of the first non-finite one."""

    lowest: Array
    highest: Array
    bad: tuple[int, int, float] | None = None

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return float(max(-self.lowest.min(), self.highest.max()))


def column_range(source: BlockSource) -> ColumnRange:
    """Range of all rows; raises on a non-finite value, with its file, row and column."""
    found = source.reduce(_block_range, combine=_union)
    if found.bad is not None:
        row, column, value = found.bad
        name = column if source.feature_names is None else repr(source.feature_names[column])
        raise ValueError(
            f"Column {name} is {value} in {source.describe_row(row)} (counted from 0): impute it, "
            "or remove the row."
        )
    return found


def _block_range(block: Block) -> ColumnRange:
    lowest, highest = _by_column(np.minimum, block.rows), _by_column(np.maximum, block.rows)
    if np.isfinite(lowest).all() and np.isfinite(highest).all():
        return ColumnRange(lowest, highest)
    row, column = (int(at) for at in np.argwhere(~np.isfinite(block.rows))[0])
    return ColumnRange(lowest, highest, (block.start + row, column, float(block.rows[row, column])))


def _by_column(extreme: np.ufunc, rows: Array) -> Array:
    """Reduce each column, eight rows at a time, as short rows are slow."""
    whole = len(rows) - len(rows) % 8
    if whole:
        eights: Array = extreme.reduce(rows[:whole].reshape(-1, 8 * rows.shape[1]), axis=0)
        rows = np.concatenate([eights.reshape(8, -1), rows[whole:]])
    columns: Array = extreme.reduce(rows, axis=0)
    return columns


def _union(left: ColumnRange, right: ColumnRange) -> ColumnRange:
    lowest = np.minimum(left.lowest, right.lowest)
    highest = np.maximum(left.highest, right.highest)
    return ColumnRange(lowest, highest, right.bad if left.bad is None else left.bad)


def note_columns(estimator: Any, source: BlockSource, min_rows: int = 1) -> None:
    """Set ``n_features_in_`` and ``feature_names_in_`` of an estimator."""
    if source.shape[0] < min_rows:
        raise ValueError(
            f"At least {min_rows} rows are needed; there is only {source.describe_row(0)}."
        )
    validate_data(estimator, source.placeholder, skip_check_array=True)
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)


class Scaling(NamedTuple):
    """Mean and standard deviation of each column."""

    mean: Doubles
    std: Doubles

    def apply(self, rows: Any) -> Any:
        """Standardise rows, in their own dtype."""
        return (rows - self.mean.astype(rows.dtype)) / self.std.astype(rows.dtype)

    def undo(self, rows: Array) -> Doubles:
        """Transform rows back to their original units."""
        units: Doubles = rows * self.std + self.mean
        return units


class ScaledBlocks(FileBlocks):
    """Rows in files, standardised as they are read."""

    def __init__(self, source: FileBlocks, scaling: Scaling) -> None:
        super().__init__(source.shape, source.dtype, None, source.block_rows, source.feature_names)
        self._source, self._scaling = source, scaling
        self._set_outputs(source._folder, source._out)  # noqa: SLF001  of the same family

    def describe_row(self, row: int) -> str:
        return self._source.describe_row(row)

    def _read(self) -> Iterator[Array]:
        for rows in self._source._read():  # noqa: SLF001
            yield self._scaling.apply(rows)


def standardised(source: FileBlocks | ParquetParts) -> tuple[BlockSource, Scaling]:
    """Standardise rows by mean and standard deviation; constant columns are only centred.

    Raises on a missing value, with its file, row and column.
    """
    column_range(source)
    n_rows = source.shape[0]
    (sums,) = source.reduce(_sums)
    (squares,) = source.reduce(_squares, sums / n_rows)
    std = np.sqrt(squares / n_rows)
    scaling = Scaling(sums / n_rows, np.where(std > 0, std, 1.0))
    if isinstance(source, ParquetParts):
        return source.transformed(scaling.apply), scaling
    return ScaledBlocks(source, scaling), scaling


def _sums(block: Block) -> tuple[Doubles]:
    return (block.rows.sum(axis=0, dtype=np.float64),)


def _squares(block: Block, mean: Doubles) -> tuple[Doubles]:
    return (np.square(block.rows - mean).sum(axis=0),)
