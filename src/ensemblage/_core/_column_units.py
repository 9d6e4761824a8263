"""Columns in units that scikit-learn's trees resolve."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ensemblage._core._state import expect_array

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

LEAST_WIDTH = 2.0**-7
"""Width of a column below which it is scaled up: trees take differences below 1e-7 for none."""
LARGEST_WIDTH = 2.0**100
"""Width above which it is scaled down: rows are float32."""
LEAST_RELATIVE_WIDTH = 2.0**-10
"""Width, relative to the distance from zero, below which a column is shifted."""
ROUNDING_WIDTH = 2.0**-44
"""Interquartile range, relative to the range, below which it is rounding errors."""
COLUMN_EXPONENT = 32
"""Binary exponent of the width of a scaled column: differences of 1e-17 of it are seen."""
LARGEST_FLOAT32 = np.finfo(np.float32).max


class ColumnUnits(NamedTuple):
    r"""Offsets and binary exponents of columns, both (n_columns,).

    A value :math:`x` becomes :math:`(x - \text{offset}) \, 2^{-\text{exponent}}` in float32. Both
    are zero, and values unchanged, for columns of ordinary width near zero. The width is the
    interquartile range, or the range where the former is zero up to rounding errors. Scaling by a
    power of two is exact, and so is the difference of near numbers.
    """

    offsets: Doubles
    exponents: Integers

    @classmethod
    def of(
        cls, X: NDArray[Any], *, shift: bool = True, scaled_exponent: int = COLUMN_EXPONENT
    ) -> Self:
        """Find the units of columns, (n_rows, n_columns), which may have missing values."""
        ends = np.zeros((4, X.shape[1]))  # minimum, quartiles, maximum
        for j in range(X.shape[1]):
            known = X[:, j][~np.isnan(X[:, j])]
            n_known = len(known)
            if n_known:
                places = [0, n_known // 4, 3 * n_known // 4, n_known - 1]
                ends[:, j] = np.partition(known, places)[places]
        low, first, third, high = ends
        with np.errstate(over="ignore"):
            most = np.finfo(np.float64).max
            width, middle = np.minimum(high - low, most), np.minimum(third - first, most)
        by_quartiles = middle > ROUNDING_WIDTH * width
        width = np.where(by_quartiles, middle, width)
        distance = np.abs(np.where(by_quartiles, [first, third], [low, high])).max(axis=0)
        far = shift & (width > 0) & (width < LEAST_RELATIVE_WIDTH * distance)
        scaled = (width > 0) & ((width < LEAST_WIDTH) | (width > LARGEST_WIDTH))
        exponents = np.where(scaled, np.frexp(width)[1].astype(np.int64) - scaled_exponent, 0)
        return cls(np.where(far, first, 0.0), exponents)

    def scale(self, X: NDArray[Any]) -> Floats:
        """Convert rows to these units, in C order; values beyond float32 are clipped."""
        changed = np.flatnonzero((self.offsets != 0) | (self.exponents != 0))
        if X.dtype == np.float32 and not len(changed):
            return np.ascontiguousarray(X)
        rows = np.empty(X.shape, dtype=np.float32)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            rows[:] = X
            for j in changed:
                rows[:, j] = self.scale_values(X[:, j], j)
        return np.clip(rows, -LARGEST_FLOAT32, LARGEST_FLOAT32, out=rows)

    def scale_values(self, values: NDArray[Any], columns: Any) -> Doubles:
        """Convert values of these columns, in double precision."""
        distances = values.astype(np.float64) - self.offsets[columns]
        return np.asarray(np.ldexp(distances, -self.exponents[columns]))

    def restore(self, values: NDArray[Any], columns: Any) -> Doubles:
        """Convert values of these columns back."""
        distances = np.ldexp(values.astype(np.float64), self.exponents[columns])
        return np.asarray(distances + self.offsets[columns])

    def restore_thresholds(self, thresholds: Doubles, columns: Any) -> Doubles:
        """Convert thresholds back, rounded down, so that rows stay at their sides."""
        found = self.restore(thresholds, columns)
        above = self.scale_values(found, columns) > thresholds
        return np.where(above, np.nextafter(found, -np.inf), found)


def expect_units(owner: Any, offsets: str, exponents: str, n_columns: int) -> None:
    """Reject attributes that are not the units of so many columns."""
    expect_array(owner, offsets, [n_columns])
    expect_array(owner, exponents, [n_columns], "integer", low=-1200, high=1200)
