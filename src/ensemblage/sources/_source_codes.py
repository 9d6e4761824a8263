"""Names of sources as integer codes, a frame's source column, and folds over sources."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from ensemblage._core import UNKNOWN_SOURCE, Fold, deal_folds, suggestion

Integers = NDArray[np.int64]


def encode_sources(
    sources: Any, X: Any, *, allow_missing: bool = False
) -> tuple[NDArray[Any], Integers]:
    """Give the names of the sources, sorted, and each training row's code.

    A row whose source is missing is refused, or has the code ``UNKNOWN_SOURCE``.
    """
    column = _one_per_row(sources)
    check_consistent_length(X, column)
    missing = np.fromiter(map(_is_missing, column.tolist()), dtype=bool, count=len(column))
    if missing.all() or (missing.any() and not allow_missing):
        raise ValueError(
            f"sources is missing for {missing.sum()} of {len(missing)} rows: give these a source "
            "of their own, or drop them."
        )
    known = column[~missing]
    try:
        names, known_codes = np.unique(known, return_inverse=True)
    except TypeError:
        kinds = sorted({type(each).__name__ for each in known.tolist()})
        raise TypeError(
            f"sources mixes values of type {' and '.join(kinds)}: convert them all to text."
        ) from None
    codes = np.full(len(column), UNKNOWN_SOURCE, dtype=np.int64)
    codes[~missing] = known_codes
    return names, codes


def lookup_sources(sources: Any, names: NDArray[Any], n_rows: int) -> Integers:
    """Give new rows' codes; ``UNKNOWN_SOURCE`` where the source is missing, new or not given."""
    if sources is None:
        return np.full(n_rows, UNKNOWN_SOURCE, dtype=np.int64)
    column = _one_per_row(sources).tolist()
    if len(column) != n_rows:
        raise ValueError(f"sources has {len(column)} entries, but there are {n_rows} rows.")
    known = {name: code for code, name in enumerate(names.tolist())}
    codes = (
        UNKNOWN_SOURCE if _is_missing(each) else known.get(each, UNKNOWN_SOURCE) for each in column
    )
    return np.fromiter(codes, dtype=np.int64, count=n_rows)


def _one_per_row(sources: Any) -> NDArray[Any]:
    shape = np.shape(sources)
    if len(shape) != 1 and not (len(shape) == 2 and shape[1] == 1):
        raise ValueError(f"sources must have one entry per row, in one column; got shape {shape}.")
    return np.asarray(column_or_1d(sources))


def _is_missing(value: Any) -> bool:
    # NaN and pandas' missing dates are the values that do not equal themselves
    return value is None or bool(value != value)  # noqa: PLR0124


def split_source_column(X: Any, sources: Any) -> tuple[Any, Any]:
    """Give rows and sources; a column of a frame named by ``sources`` is removed from it."""
    if not isinstance(sources, str):
        return X, sources
    columns = _columns(X)
    if sources not in columns:
        raise ValueError(
            f"sources={sources!r} is not a column of X.{suggestion(sources, columns)} Give a "
            "column name of a frame, or one source per row."
        )
    return _pop_column(X, sources)


def split_fitted_column(X: Any, sources: Any, column: str | None) -> tuple[Any, Any]:
    """Remove the source column of ``fit`` from a frame; sources that are given take precedence."""
    if column is None or isinstance(sources, str) or column not in _columns(X):
        return split_source_column(X, sources)
    rest, found = _pop_column(X, column)
    return rest, found if sources is None else sources


def _columns(X: Any) -> list[str]:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return [str(each) for each in frame.columns] if isinstance(frame, nw.DataFrame) else []


def _pop_column(X: Any, column: str) -> tuple[Any, Any]:
    frame = nw.from_native(X, eager_only=True)
    return frame.drop(column).to_native(), frame[column].to_numpy()


def source_folds(codes: Integers, max_folds: int) -> list[Fold]:
    """Leave out each source, or groups of them of about equal size; one source has no folds.

    Rows of unknown source are in training in every fold.
    """
    counts = np.bincount(codes[codes >= 0])
    if len(counts) < 2:
        return []
    group, sizes = np.zeros(len(counts), dtype=int), np.zeros(min(max_folds, len(counts)))
    for source in np.argsort(-counts, kind="stable"):
        group[source] = sizes.argmin()
        sizes[group[source]] += counts[source]
    groups = np.where(codes >= 0, group[codes], -1)
    return [
        Fold(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(len(sizes))
    ]


def balanced_folds(labels: Integers, codes: Integers, n_folds: int, seed: int) -> list[Fold]:
    """Make folds stratified by source and class.

    Pairs are ordered by source first; those of ``class_source_pairs`` give other folds.
    """
    pairs = np.unique(codes * (labels.max() + 1) + labels, return_inverse=True)[1]
    return deal_folds(pairs, n_folds, np.random.default_rng(seed))


def class_source_pairs(codes: Integers, labels: NDArray[Any]) -> NDArray[np.intp]:
    """Give each row's pair of class and source a code, to stratify folds by both.

    Pairs of one class are adjacent, so that a class that is rare in every source is not confined
    to one fold.
    """
    pairs = labels * (int(codes.max()) + 2) + codes
    return np.asarray(np.unique(pairs, return_inverse=True)[1])
