"""Names of sources as integer codes, and folds that leave sources out."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from ensemblage._core import UNKNOWN_SOURCE, suggestion

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
    codes = np.full(len(column), UNKNOWN_SOURCE, dtype=np.int64)
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
        return np.full(n_rows, UNKNOWN_SOURCE, dtype=np.int64)
    column = _one_per_row(sources).tolist()
    if len(column) != n_rows:
        raise ValueError(f"sources has {len(column)} entries, but there are {n_rows} rows.")
    known = {name: number for number, name in enumerate(names.tolist())}
    found = (
        UNKNOWN_SOURCE if _is_gap(each) else known.get(each, UNKNOWN_SOURCE) for each in column
    )
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


class Parted(NamedTuple):
    """Rows without their sources, and these, one per row; None where they are not known."""

    X: Any
    sources: Any


def part_sources(X: Any, sources: Any) -> Parted:
    """Take the sources out of the rows, if they are the name of a column; refuse another name."""
    if not isinstance(sources, str):
        return Parted(X, sources)
    columns = _columns(X)
    if sources not in columns:
        raise ValueError(
            f"sources={sources!r} is no column of X.{suggestion(sources, columns)} Give the name "
            "of a column of a frame, or one source per row."
        )
    return _without(X, sources)


def part_known_column(X: Any, sources: Any, column: str | None) -> Parted:
    """Take the column out of which ``fit`` took the sources; what is given besides is preferred."""
    if column is None or isinstance(sources, str) or column not in _columns(X):
        return part_sources(X, sources)
    rest, found = _without(X, column)
    return Parted(rest, found if sources is None else sources)


def _columns(X: Any) -> list[str]:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return [str(each) for each in frame.columns] if isinstance(frame, nw.DataFrame) else []


def _without(X: Any, column: str) -> Parted:
    frame = nw.from_native(X, eager_only=True)
    return Parted(frame.drop(column).to_native(), frame[column].to_numpy())
