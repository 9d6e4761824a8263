"""Sources and periods as integer codes, a frame's source column, and folds over both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from ensemblage._core import (
    UNKNOWN_SOURCE,
    Fold,
    count,
    deal_folds,
    expect,
    expect_fitted,
    num_samples,
    suggestion,
    warn_user,
)
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
    sources: Any, X: Any, *, allow_missing: bool = False, allow_nested: bool = False
) -> tuple[NDArray[Any], Integers]:
    """Give the names of the sources, sorted, and each training row's code.

    Sources nested in outer ones have two columns, outer and inner; their names have the shape
    (n_sources, 2), one row per pair. A row whose source is missing is refused, or has the code
    ``UNKNOWN_SOURCE``.
    """
    columns = _read_levels(sources)
    if len(columns) == 2 and not allow_nested:
        raise ValueError(
            f"sources must have one entry per row, in one column; got shape {np.shape(sources)}."
        )
    _check_length(columns[0], num_samples(X))
    missing = np.zeros(len(columns[0]), dtype=bool)
    for column in columns:
        missing |= np.fromiter(map(_is_missing, column.tolist()), dtype=bool, count=len(column))
    if missing.all() or (missing.any() and not allow_missing):
        raise ValueError(
            f"sources is missing for {missing.sum()} of {len(missing)} rows: give these a source "
            "of their own, or drop them."
        )
    codes = np.full(len(missing), UNKNOWN_SOURCE, dtype=np.int64)
    levels = [_encode_level(column[~missing]) for column in columns]
    if len(levels) == 1:
        codes[~missing] = levels[0][1]
        return levels[0][0], codes
    (outer_names, outer), (inner_names, inner) = levels
    pairs, codes[~missing] = np.unique(outer * len(inner_names) + inner, return_inverse=True)
    outer, inner = np.divmod(pairs, len(inner_names))
    _check_nesting(outer, inner, outer_names, inner_names)
    names = [outer_names[outer], inner_names[inner]]
    if names[0].dtype.kind != names[1].dtype.kind:  # one array would make texts of numbers
        names = [each.astype(object) for each in names]
    return np.column_stack(names), codes


def _check_length(column: NDArray[Any], n_rows: int) -> None:
    if len(column) != n_rows:
        raise ValueError(
            f"sources has {count(len(column), 'entry', 'entries')}, but there are {n_rows} rows: "
            "give one per row."
        )


def _encode_level(column: NDArray[Any]) -> tuple[NDArray[Any], Integers]:
    try:
        names, codes = np.unique(column, return_inverse=True)
    except TypeError:
        kinds = sorted({type(each).__name__ for each in column.tolist()})
        raise TypeError(
            f"sources mixes values of type {' and '.join(kinds)}: convert them all to text."
        ) from None
    return names, codes.astype(np.int64)


def _check_nesting(
    outer: Integers, inner: Integers, outer_names: NDArray[Any], inner_names: NDArray[Any]
) -> None:
    """Refuse inner sources that are given first; warn of labels in several outer sources."""
    n_inner, n_outer = np.bincount(outer), np.bincount(inner)
    if outer_names.tolist() == inner_names.tolist() and np.array_equal(outer, inner):
        raise ValueError("The two columns of sources are identical: give one of them.")
    if n_inner.max() == 1 and n_outer.max() == 1 and len(n_outer) > 1:
        warn_user(
            "Each outer source has one inner source, so that the two levels of sources cannot be "
            "distinguished. Give one column."
        )
    elif n_inner.max() == 1 and n_outer.max() > 1:
        raise ValueError(
            "sources is given in the wrong order: each value of the first column occurs with one "
            "value of the second only, so that the first is nested in the second. Give the second "
            "column, the outer sources, first."
        )
    elif n_outer.max() > 1:
        most, n_crossed = int(n_outer.argmax()), int((n_outer > 1).sum())
        label = inner_names.tolist()[most]
        others = f", and {count(n_crossed - 1, 'other inner label')} in several"
        warn_user(
            f"Inner sources are not unique: {label!r} occurs in {n_outer[most]} of the outer "
            f"sources{others if n_crossed > 1 else ''}; each pair counts as a source of its own."
        )


def outer_sources(names: NDArray[Any]) -> tuple[NDArray[Any], Integers]:
    """Give the names of the outer sources, sorted, and the index of each source's outer one.

    Sources of one level are outer sources themselves.
    """
    if names.ndim == 1:
        return names, np.arange(len(names))
    return _encode_level(names[:, 0])


def source_labels(names: NDArray[Any]) -> list[Any]:
    """Names of sources as people read them: ``outer / inner`` if they are nested."""
    listed: list[Any] = names.tolist()
    return listed if names.ndim == 1 else [f"{outer} / {inner}" for outer, inner in listed]


def lookup_sources(sources: Any, names: NDArray[Any], n_rows: int) -> Integers:
    """Give new rows' codes; ``UNKNOWN_SOURCE`` where the source is missing, new or not given.

    If sources are nested, a row whose inner source only is missing or new has the code
    ``n_sources + k``, where k is the index of its outer source in ``outer_sources``.
    """
    if sources is None:
        return np.full(n_rows, UNKNOWN_SOURCE, dtype=np.int64)
    columns, n_levels = _read_levels(sources), names.ndim
    if len(columns) != n_levels:
        shape = "in one column" if n_levels == 1 else "in two columns, outer and inner"
        raise ValueError(
            f"sources must have one entry per row, {shape}, as in fit; got shape "
            f"{np.shape(sources)}."
        )
    _check_length(columns[0], n_rows)
    if n_levels == 1:
        return _lookup(columns[0].tolist(), names.tolist(), n_rows)
    outer, inner = (column.tolist() for column in columns)
    pairs = zip(outer, inner, strict=True)
    codes = _lookup(pairs, map(tuple, names.tolist()), n_rows)
    outer_codes = _lookup(outer, outer_sources(names)[0].tolist(), n_rows)
    only_outer = (codes == UNKNOWN_SOURCE) & (outer_codes != UNKNOWN_SOURCE)
    return np.where(only_outer, len(names) + outer_codes, codes)


def _lookup(values: Iterable[Any], names: Iterable[Any], n_rows: int) -> Integers:
    # a missing value equals no name
    known, given = {name: code for code, name in enumerate(names)}, list(values)
    codes = np.fromiter(
        (known.get(each, UNKNOWN_SOURCE) for each in given), dtype=np.int64, count=n_rows
    )
    if (codes == UNKNOWN_SOURCE).all() and {str(each) for each in given} & {*map(str, known)}:
        new = next(each for each in given if str(each) in {*map(str, known)})
        old = next(each for each in known if str(each) == str(new))
        warn_user(
            f"No source is known: sources has {type(new).__name__} values such as {new!r}, and in "
            f"fit there was the {type(old).__name__} {old!r}. Convert them to the same type."
        )
    return codes


def _read_levels(sources: Any) -> list[NDArray[Any]]:
    """Read one entry per row, in one column or in two, the outer sources first."""
    shape = np.shape(sources)
    if len(shape) == 2 and shape[1] == 2:
        # numbers beside texts stay numbers
        given = np.asarray(sources, dtype=object if isinstance(sources, (list, tuple)) else None)
        return [given[:, 0], given[:, 1]]
    if len(shape) != 1 and not (len(shape) == 2 and shape[1] == 1):
        raise ValueError(
            "sources must have one entry per row, in one column, or in two, outer and inner; got "
            f"shape {shape}."
        )
    return [np.asarray(column_or_1d(sources))]


def expect_source_names(owner: Any, name: str) -> None:
    """Check names of sources of a model file, of one level or two."""
    names = vars(owner).get(name)
    if getattr(names, "ndim", None) != 2:
        expect_fitted(owner, {name: "labels (*)"})
        return
    expect(names.dtype.kind in "biufUSO" and names.shape[1] == 2, f"{name} is no array of labels")
    listed = names.tolist()
    labels = all(isinstance(each, (str, bytes, Real)) and not _is_missing(each)
                 for pair in listed for each in pair)  # fmt: skip
    expect(labels, f"{name} holds values that are not labels")
    expect(len(set(map(tuple, listed))) == len(listed) > 0, f"{name} holds a label twice, or none")
    _, outer = outer_sources(names)
    expect(bool((np.diff(outer) >= 0).all()), f"{name} is not sorted")


def _is_missing(value: Any) -> bool:
    # NaN and pandas' missing dates are the values that do not equal themselves
    return value is None or bool(value != value)  # noqa: PLR0124


def split_source_column(X: Any, sources: Any) -> tuple[Any, Any]:
    """Give rows and sources; columns of a frame named by ``sources`` are removed from it.

    Nested sources have a list or tuple of two names, the outer source first.
    """
    columns = _columns(X)
    named = _named_columns(X, sources, columns)
    if not named:
        return X, sources
    for name in named:
        if name not in columns:
            which = "" if isinstance(sources, str) else f"{name!r} "
            raise ValueError(
                f"sources={sources!r}{', of which ' if which else ' '}{which}is not a column of X."
                f"{suggestion(name, columns)} Give a column name of a frame, or one source per row."
            )
    if len(named) == 2 and named[0] == named[1]:
        raise ValueError(f"sources={sources!r} names one column twice: give it once.")
    if len(named) > 2:
        raise ValueError(
            f"sources={sources!r} names {len(named)} columns of X: give one, or two if sources are "
            "nested, the outer one first."
        )
    return _pop_columns(X, named)


def source_column(sources: Any) -> Any:
    """Give the names of the source columns as estimators store them: one, or a list of two."""
    return sources if isinstance(sources, str) else list(sources)


def split_fitted_column(X: Any, sources: Any, column: str | list[str] | None) -> tuple[Any, Any]:
    """Remove the source columns of ``fit`` from a frame; sources that are given take precedence.

    A level whose column is not there is missing in all rows.
    """
    columns = _columns(X)
    names = [column] if isinstance(column, str) else list(column or ())
    if _named_columns(X, sources, columns) or not set(names) & set(columns):
        return split_source_column(X, sources)
    rest, found = _pop_columns(X, names)
    return rest, found if sources is None else sources


def _named_columns(X: Any, sources: Any, columns: list[str]) -> list[str]:
    """Give the column names that ``sources`` consists of, if it is not one source per row."""
    if isinstance(sources, str):
        return [sources]
    if not isinstance(sources, (list, tuple)) or len(sources) < 2:
        return []
    if not all(isinstance(each, str) for each in sources):
        return []
    n_columns = len(set(sources) & set(columns))
    if len(sources) == num_samples(X):  # one source per row, unless they are two columns
        return list(sources) if n_columns == len(sources) == 2 else []
    return list(sources) if n_columns or len(sources) == 2 else []


def _columns(X: Any) -> list[str]:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return [str(each) for each in frame.columns] if isinstance(frame, nw.DataFrame) else []


def _pop_columns(X: Any, names: list[str]) -> tuple[Any, Any]:
    frame = nw.from_native(X, eager_only=True)
    there = [name for name in names if name in frame.columns]
    rest = frame.drop(there).to_native()
    if len(names) == 1:
        return rest, frame[names[0]].to_numpy()
    found = np.full((len(frame), len(names)), None, dtype=object)
    for name in there:
        found[:, names.index(name)] = frame[name].to_numpy()
    return rest, found


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
