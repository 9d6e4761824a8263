"""Vectorised exponentials and logarithms; products of small matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage._core._compile import compiled

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]


# exp(x) = 2^k exp(r) with k = round(x / log 2) and |r| <= log(2) / 2. Adding ROUND leaves k in the
# last bits of a float; log 2 comes in two parts, the first short enough for k * LN2_HIGH to be
# exact; exp(r) is its Taylor series, up to r^13 / 13! in float64 and r^7 / 7! in float32.
LOG2_E = 1.4426950408889634
LOG2_E_32 = np.float32(1.4426950408889634)
ROUND = 6755399441055744.0
ROUND_32 = np.float32(12582912.0)
LN2_HIGH = 0.69314718036912382
LN2_HIGH_32 = np.float32(0.693359375)
LN2_LOW = 1.9082149292705877e-10
LN2_LOW_32 = np.float32(-2.12194440054690583e-4)
EXPONENT_BIT = 52
EXPONENT_BIT_32 = np.int32(23)
# Coefficients 1 / k! of the Taylor series in float64.
C2 = 1 / 2
C3 = 1 / 6
C4 = 1 / 24
C5 = 1 / 120
C6 = 1 / 720
C7 = 1 / 5040
C8 = 1 / 40320
C9 = 1 / 362880
C10 = 1 / 3628800
C11 = 1 / 39916800
C12 = 1 / 479001600
C13 = 1 / 6227020800
# The same in float32.
S1 = np.float32(1)
S2 = np.float32(C2)
S3 = np.float32(C3)
S4 = np.float32(C4)
S5 = np.float32(C5)
S6 = np.float32(C6)
S7 = np.float32(C7)

# log(x) = e log 2 + log(m) with m between sqrt(1/2) and sqrt(2), and log(m) = 2 artanh(s) with
# s = (m - 1) / (m + 1): 2 s (1 + s^2 / 3 + ...), up to s^20 / 21 in float64, s^8 / 9 in float32.
# Bits of sqrt(1/2).
ROOT_HALF = 0x3FE6A09E667F3BCD
ROOT_HALF_32 = np.int32(0x3F3504F3)
LOG_2 = 0.6931471805599453
LOG_2_32 = np.float32(0.6931471805599453)
# Coefficients of the series of artanh in float64.
A3 = 1 / 3
A5 = 1 / 5
A7 = 1 / 7
A9 = 1 / 9
A11 = 1 / 11
A13 = 1 / 13
A15 = 1 / 15
A17 = 1 / 17
A19 = 1 / 19
A21 = 1 / 21
# The same in float32.
B3 = np.float32(A3)
B5 = np.float32(A5)
B7 = np.float32(A7)
B9 = np.float32(A9)


@compiled(fastmath={"contract"})
def exponentials(logs: Floats, negligible: float, out: Floats) -> None:
    """Fill ``out`` with the exponentials of ``logs``, of the same dtype and at most zero.

    Exponentials of logs at or below ``negligible`` are zero. The relative error is 4e-16 in float64
    and 2e-7 in float32. The loops have no branch and no call, so that they are vectorised; NumPy's
    exponential would prevent that.
    """
    if logs.itemsize == 4:
        least = np.float32(negligible)
        for i in range(logs.size):
            out[i] = _exponential_32(np.float32(logs[i]), least)
    else:
        for i in range(logs.size):
            out[i] = _exponential_64(np.float64(logs[i]), negligible)


@compiled(fastmath={"contract"})
def add_exponentials(
    logs: Floats, tops: Floats, negligible: float, out: Floats, sums: Floats
) -> None:
    """Fill ``out`` with the exponentials of ``logs`` minus ``tops``, and add them to ``sums``."""
    if logs.itemsize == 4:
        least = np.float32(negligible)
        for i in range(logs.size):
            out[i] = _exponential_32(np.float32(logs[i]) - np.float32(tops[i]), least)
            sums[i] += out[i]
    else:
        for i in range(logs.size):
            out[i] = _exponential_64(np.float64(logs[i]) - np.float64(tops[i]), negligible)
            sums[i] += out[i]


@compiled(inline="always")
def _exponential_32(log: np.float32, least: np.float32) -> np.float32:
    x = max(least, log)
    t = x * LOG2_E_32 + ROUND_32
    k = t - ROUND_32
    r = x - k * LN2_HIGH_32 - k * LN2_LOW_32
    p = S3 + r * (S4 + r * (S5 + r * (S6 + r * S7)))
    p = S1 + r * (S1 + r * (S2 + r * p))
    bits = np.float32(p).view(np.int32)
    bits += np.float32(t).view(np.int32) << EXPONENT_BIT_32
    return np.int32(bits).view(np.float32) if x > least else np.float32(0)


@compiled(inline="always")
def _exponential_64(log: float, least: float) -> float:
    x = max(least, log)
    t = x * LOG2_E + ROUND
    k = t - ROUND
    r = x - k * LN2_HIGH - k * LN2_LOW
    p = C9 + r * (C10 + r * (C11 + r * (C12 + r * C13)))
    p = C4 + r * (C5 + r * (C6 + r * (C7 + r * (C8 + r * p))))
    p = 1.0 + r * (1.0 + r * (C2 + r * (C3 + r * p)))
    bits = np.float64(p).view(np.int64)
    bits += np.float64(t).view(np.int64) << EXPONENT_BIT
    return np.int64(bits).view(np.float64) if x > least else 0.0


@compiled(fastmath={"contract"}, error_model="numpy")
def logarithms(values: Floats, out: Floats) -> None:
    """Fill ``out`` with the logs of ``values``, of the same dtype, finite and at least one.

    The relative error is that of ``exponentials``.
    """
    if values.itemsize == 4:
        for i in range(values.size):
            bits = np.float32(values[i]).view(np.int32)
            e = (bits - ROOT_HALF_32) >> EXPONENT_BIT_32
            m = np.int32(bits - (e << EXPONENT_BIT_32)).view(np.float32)
            s = (m - S1) / (m + S1)
            z = s * s
            q = S1 + z * (B3 + z * (B5 + z * (B7 + z * B9)))
            out[i] = np.float32(e) * LOG_2_32 + (s + s) * q
    else:
        for i in range(values.size):
            wide = np.float64(values[i]).view(np.int64)
            k = (wide - ROOT_HALF) >> EXPONENT_BIT
            r = np.int64(wide - (k << EXPONENT_BIT)).view(np.float64)
            t = (r - 1.0) / (r + 1.0)
            y = t * t
            p = A13 + y * (A15 + y * (A17 + y * (A19 + y * A21)))
            p = 1.0 + y * (A3 + y * (A5 + y * (A7 + y * (A9 + y * (A11 + y * p)))))
            out[i] = np.float64(k) * LOG_2 + (t + t) * p


SMALL = 10**6
"""Number of multiplications above which OpenBLAS copies the operands."""
MIN_PART_COLUMNS = 256
"""Smallest number of columns per part."""


def small_parts(n_columns: int, per_column: int) -> Iterator[slice]:
    """Parts of the columns of equal size but the last; one part if parts would be too short."""
    step = SMALL // per_column
    n_parts = max(1, -(-n_columns // step)) if step >= MIN_PART_COLUMNS else 1
    step = max(1, -(-n_columns // n_parts))
    return (slice(start, start + step) for start in range(0, n_columns, step))


def multiply_in_parts(left: Array, right: Array, out: Array) -> Array:
    """Matrix product of a small matrix and one with many columns."""
    for part in small_parts(right.shape[1], left.size):
        np.matmul(left, right[:, part], out=out[:, part])
    return out
