"""Names of sources as numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

UNKNOWN = -1
"""Number of a source that is missing, or was not there in training."""


class SourceCodes(NamedTuple):
    """Sources, sorted, and the number of each row's."""

    names: NDArray[Any]
    codes: NDArray[np.int64]


def number_sources(sources: Any, X: Any, *, gaps: bool = False) -> SourceCodes:
    """Give training rows' sources numbers; refuse names that cannot be sorted.

    A row whose source is missing is refused, or is ``UNKNOWN`` where ``gaps`` are allowed.
    """
    column = _one_per_row(sources)
    check_consistent_length(X, column)
    missing = np.fromiter(map(_is_gap, column.tolist()), dtype=bool, count=len(column))
    if missing.all() or (missing.any() and not gaps):
        raise ValueError(
            f"sources is missing for {missing.sum()} of {len(missing)} rows: give these a source "
            "of their own, or leave them out."
        )
    known = column[~missing]
    try:
        names, numbers = np.unique(known, return_inverse=True)
    except TypeError:
        kinds = sorted({type(each).__name__ for each in known.tolist()})
        raise TypeError(
            f"sources mixes values of type {' and '.join(kinds)}: make them all text."
        ) from None
    codes = np.full(len(column), UNKNOWN, dtype=np.int64)
    codes[~missing] = numbers
    return SourceCodes(names, codes)


def source_classes(codes: NDArray[np.int64], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Give each pair of class and source a number, so that folds keep the shares of both.

    Pairs of one class follow each other: dealt in turn, a class that is rare in every source does
    not end up in one fold.
    """
    pairs = labels * (int(codes.max()) + 2) + codes
    return np.asarray(np.unique(pairs, return_inverse=True)[1])


def find_sources(sources: Any, names: NDArray[Any], n_rows: int) -> NDArray[np.int64]:
    """Look up the sources of new rows; ``UNKNOWN`` for gaps and new names, or if none are given."""
    if sources is None:
        return np.full(n_rows, UNKNOWN, dtype=np.int64)
    column = _one_per_row(sources).tolist()
    if len(column) != n_rows:
        raise ValueError(f"sources has {len(column)} entries, but there are {n_rows} rows.")
    known = {name: number for number, name in enumerate(names.tolist())}
    found = (UNKNOWN if _is_gap(each) else known.get(each, UNKNOWN) for each in column)
    return np.fromiter(found, dtype=np.int64, count=n_rows)


def _one_per_row(sources: Any) -> NDArray[Any]:
    shape = np.shape(sources)
    if len(shape) != 1 and not (len(shape) == 2 and shape[1] == 1):
        raise ValueError(
            f"sources must tell of each row where it comes from, in one column; got shape {shape}."
        )
    return np.asarray(column_or_1d(sources))


def _is_gap(value: Any) -> bool:
    # NaN and pandas' missing dates are the values that do not equal themselves
    return value is None or bool(value != value)  # noqa: PLR0124
