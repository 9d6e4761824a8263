"""Sources and periods as integer codes, a frame's source column, and folds over both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from ensemblage._core import UNKNOWN_SOURCE, Fold, count, deal_folds, suggestion
from ensemblage.datasets import Column, read_columns

Integers = NDArray[np.int64]

MAX_PERIODS = 10
"""Distinct times, years or months up to which each is a period."""
N_PARTS = 6
"""Periods of about equal numbers of rows otherwise."""
UNEVEN = 2.0
"""Ratio of the sizes of parts from which ties are mentioned."""
MILLISECONDS_PER_DAY = 86_400_000
NOT_A_TIME = int(np.iinfo(np.int64).min)
"""Of NumPy's missing dates."""


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


class Periods(NamedTuple):
    """The period of each row, in order, with the periods' names and what to know of them."""

    codes: Integers
    names: list[str]
    notes: list[str]


def read_periods(time: Any, n_rows: int) -> Periods:
    """Divide rows into periods: the times themselves, years, months, or parts of equal size."""
    column = _read_times(time, n_rows)
    values = column.numbers
    assert values is not None  # noqa: S101  by _read_times
    distinct = np.unique(values)
    if len(distinct) < 2:
        raise ValueError(
            f"time has one value only, {written_time(distinct[0], column.is_date)}: give the time "
            "of each row, or leave `time` out."
        )
    if len(distinct) <= MAX_PERIODS:
        names = [written_time(each, column.is_date) for each in distinct]
        return Periods(np.searchsorted(distinct, values), names, [])
    if column.is_date:
        days = np.floor(values).astype("datetime64[D]")
        for unit in ("Y", "M"):
            parts, codes = np.unique(days.astype(f"datetime64[{unit}]"), return_inverse=True)
            if 3 <= len(parts) <= MAX_PERIODS:
                return Periods(codes.astype(np.int64), [str(each) for each in parts], [])
    edges = np.unique(np.quantile(values, np.arange(1, N_PARTS) / N_PARTS))
    codes = np.unique(np.searchsorted(edges, values, side="right"), return_inverse=True)[1]
    sizes = np.bincount(codes)
    members = [values[codes == each] for each in range(len(sizes))]
    names = [
        f"{written_time(part.min(), column.is_date)} to {written_time(part.max(), column.is_date)}"
        for part in members
    ]
    notes = []
    if sizes.max() > UNEVEN * sizes.min():
        notes.append(
            f"Many rows share the same time ({count(len(distinct), 'distinct time')} in {n_rows} "
            "rows); they are kept in one period, so that periods differ in size."
        )
    return Periods(codes.astype(np.int64), names, notes)


def _read_times(time: Any, n_rows: int) -> Column:
    given = np.asarray(time)
    if given.shape != (n_rows,):
        raise ValueError(
            f"time must have one entry per row, {n_rows} in one column; got shape {given.shape}."
        )
    column = read_columns(given[:, None], ["time"])[0]
    if column.numbers is None:
        column = _parse_dates(column)
    missing = np.isnan(column.numbers)  # type: ignore[arg-type]
    if missing.any():
        raise ValueError(
            f"time is missing for {missing.sum()} of {n_rows} rows: fill it in, or drop these rows."
        )
    return column


def _parse_dates(column: Column) -> Column:
    known = column.occurring()
    days = np.full(len(known) + 1, np.nan)
    for j, text in enumerate(known):
        try:
            moment = int(np.datetime64(str(text).strip(), "ms").astype(np.int64))
        except ValueError:
            moment = NOT_A_TIME
        if moment == NOT_A_TIME:
            raise ValueError(
                f"time contains {text!r}, which is not a date such as 2024-03-01: correct it, or "
                "give numbers."
            )
        days[j] = moment / MILLISECONDS_PER_DAY
    return Column(column.name, days[column.match(known)], is_date=True)


def written_time(value: float, is_date: bool) -> str:
    """Format a time: a number, or a date by its days since 1970."""
    return str(np.datetime64(int(np.floor(value)), "D")) if is_date else f"{value:g}"


def expanding_folds(periods: Integers, left_out: Sequence[Fold] = ()) -> list[Fold]:
    """Train on earlier periods and test on the next; with folds of sources, on their left-out rows.

    Folds without rows for training or for testing are left out.
    """
    everything = np.arange(len(periods))
    found = []
    for train, test in left_out or [Fold(everything, everything)]:
        for period in range(1, int(periods.max()) + 1):
            past, next_rows = train[periods[train] < period], test[periods[test] == period]
            if len(past) and len(next_rows):
                found.append(Fold(past, next_rows))
    return found
