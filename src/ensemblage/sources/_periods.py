"""Periods of time, and folds that train on the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from ensemblage._core import Fold, count
from ensemblage.datasets import Column, read_columns
from ensemblage.sources._meta_analysis import UPPER_975, PooledEstimate
from ensemblage.sources._source_measures import SourceEstimates

Doubles = NDArray[np.float64]
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
MIN_WINDOWS = 4
"""Windows below which nothing is said of the next period (measured with four or more)."""


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
            f"time has one value only, {_written(distinct[0], column.is_date)}: give the time of "
            "each row, or leave `time` out."
        )
    if len(distinct) <= MAX_PERIODS:
        names = [_written(each, column.is_date) for each in distinct]
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
        f"{_written(part.min(), column.is_date)} to {_written(part.max(), column.is_date)}"
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


def _written(value: float, is_date: bool) -> str:
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


def next_period(found: SourceEstimates) -> PooledEstimate | None:
    r"""Summarise windows by their mean; the next is expected within :math:`t s \sqrt{1 + 1/k}`.

    Both on the scale on which a measure is pooled; None with fewer than four windows.
    """
    y = found.estimates[found.known]
    k = len(y)
    if k < MIN_WINDOWS:
        return None
    mean, sd = float(y.mean()), float(y.std(ddof=1))
    half = float(student.ppf(UPPER_975, k - 1)) * sd
    ends = half / np.sqrt(k), half * np.sqrt(1 + 1 / k)
    noise = float(found.variances[found.known].mean())
    tau2 = max(sd**2 - noise, 0.0)
    return found.as_reported(
        PooledEstimate(
            mean, mean - ends[0], mean + ends[0], mean - ends[1], mean + ends[1],
            float(np.sqrt(tau2)), tau2 / (tau2 + noise), k,
        )
    )  # fmt: skip
