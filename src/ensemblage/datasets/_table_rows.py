"""Rows of a table that are kept by column, and are one array to whoever asks for one."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


class TableRows:
    """Rows by column: numbers as doubles, NaN where missing; words as objects, None where missing.

    What reads columns takes them as they are. To all others this is an array, made when it is
    first asked for: of doubles if there are no words, otherwise of objects.
    """

    ndim = 2

    def __init__(self, *by_column: NDArray[Any]) -> None:
        self.by_column = by_column

    def __len__(self) -> int:
        return len(self.by_column[0]) if self.by_column else 0

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return len(self), len(self.by_column)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the array's values."""
        worded = any(column.dtype.kind == "O" for column in self.by_column)
        return np.dtype(object if worded else np.float64)

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
