"""Columns: permutation importance, and Shapley contributions to the prediction of one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from ensemblage._core import (
    PROBABILITY_FLOOR,
    Field,
    Heading,
    TableBlock,
    count,
    number_field,
    require,
    set_module,
    signed_field,
    write_number,
)
from ensemblage.datasets import Column, is_frame
from ensemblage.pool._leaderboard import PrintedRows

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_BACKGROUND = 256
"""Background rows of an explanation at most."""
MIN_PAIRS = 2
"""Pairs of orders per background row at least, so that there is a standard error."""
MAX_PERMUTATIONS = 1024
PREDICTED_ROWS = 20_000
"""Rows that are predicted to explain one row, unless that leaves too few orders."""
MIN_PERMUTATIONS = 32
COVERAGE = 0.95


def gather(X: Any, rows: Indices) -> Any:
    """Take each column at rows of its own, (n_new_rows, n_columns), from an array or a frame."""
    if not is_frame(X):
        return np.take_along_axis(np.asarray(X), rows, axis=0)
    frame = nw.from_native(X, eager_only=True)
    taken = {name: frame[name][rows[:, j].tolist()] for j, name in enumerate(frame.columns)}
    if frame.implementation.is_pandas_like():  # whose rows would be aligned by their labels
        made = {name: each.to_native().reset_index(drop=True) for name, each in taken.items()}
        return type(X)(made)
    return nw.from_dict(taken).to_native()


def stack_rows(x: Any, background: Any) -> Any:
    """Put one row above the background rows."""
    if not is_frame(background):
        first = np.asarray(x)
        first = first.reshape(1, -1) if first.ndim == 1 else first
        others = np.asarray(background)
        mixed = object if "O" in {first.dtype.kind, others.dtype.kind} else None
        return np.vstack([first.astype(mixed or first.dtype), others.astype(mixed or others.dtype)])
    if not is_frame(x):
        raise ValueError(
            f"x is of type {type(x).__name__}, but background is a frame: pass x as a frame with "
            "one row and the same columns."
        )
    parts = [nw.from_native(each, eager_only=True) for each in (x, background)]
    return nw.concat(parts).to_native()


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class ColumnImportanceRow:
    """Increase of the loss when a column is permuted, with a 95 % confidence interval."""

    column: str
    importance: float
    low: float
    high: float


@set_module("ensemblage.pool")
@dataclass(frozen=True, repr=False)
class ColumnImportance(PrintedRows):
    """Permutation importance of the columns, in their order; prints as a table, largest first.

    ``loss`` is that of the unchanged rows, in the ``measure``; ``out_of_fold`` says whether models
    refitted without these rows were measured.
    """

    rows: tuple[ColumnImportanceRow, ...]
    measure: str
    loss: float
    n_samples: int
    n_repeats: int
    out_of_fold: bool

    @property
    def importances(self) -> Doubles:
        return np.array([each.importance for each in self.rows])

    def as_table(self) -> TableBlock:
        """Return the table as plain values: a row per column, the largest importance first."""
        ordered = sorted(self.rows, key=lambda each: -each.importance)
        places = places_for(each.high - each.low for each in ordered)
        rows = [
            [
                Field(each.column),
                *(signed_field(part, places) for part in (each.importance, each.low, each.high)),
            ]
            for each in ordered
        ]
        rows_of = "rows, out of fold" if self.out_of_fold else "rows given"
        legend = (
            f"Increase of the {self.measure} ({write_number(self.loss)}) on {self.n_samples:,} "
            f"{rows_of}, when the values of a column are permuted, mean of "
            f"{count(self.n_repeats, 'repeat')}, with 95 % confidence intervals. Correlated "
            "columns can replace each other."
        )
        if not self.out_of_fold:
            legend += " On rows of the fit the loss is too low; use others."
        columns = [Heading("column"), *(Heading(each, numeric=True) for each in HEADS)]
        return TableBlock(columns, rows, "Permutation importance", legend)


HEADS = ("importance", "from", "to")


def places_for(values: Iterable[float]) -> int:
    """Decimal places that write the largest of some values with three significant digits."""
    largest = max((abs(each) for each in values), default=0.0)
    return 3 if largest == 0 else int(np.clip(2 - np.floor(np.log10(largest)), 0, 9))


class PermutedLosses(NamedTuple):
    """Losses of the same rows, and their increases when a column is permuted.

    ``losses`` are (n_rows,); ``increases`` and ``donated``, those by the values that a row donated
    to others, are means over the repeats, (n_columns, n_rows).
    """

    losses: Doubles
    increases: Doubles
    donated: Doubles


def permute_columns(
    losses: Callable[[Any, Indices], Doubles], X: Any, n_repeats: int, rng: np.random.Generator
) -> PermutedLosses:
    """Permute each column in turn; ``losses`` takes rows and their original positions."""
    n_rows, n_columns = X.shape
    every = np.arange(n_rows)
    own = losses(X, every)
    increases, donated = np.zeros((2, n_columns, n_rows))
    for j in range(n_columns):
        orders = rng.permuted(np.tile(every, (n_repeats, 1)), axis=1)
        positions = np.tile(every, n_repeats)
        rows = np.repeat(positions[:, None], n_columns, axis=1)
        rows[:, j] = orders.ravel()
        changes = losses(gather(X, rows), positions) - np.tile(own, n_repeats)
        increases[j] = changes.reshape(n_repeats, n_rows).mean(axis=0)
        donated[j] = np.bincount(orders.ravel(), changes, n_rows) / n_repeats
    return PermutedLosses(own, increases, donated)


def summarise_importance(
    found: Sequence[PermutedLosses], names: Iterable[str], *, factor: float = 1.0
) -> tuple[ColumnImportanceRow, ...]:
    r"""Mean increases of the loss with confidence intervals, from parts with different rows.

    A mean increase is a U statistic over pairs of a row and a donor. Its variance is that of the
    sum of the increases of a row and of those by its donations, divided by the number of rows
    (Hoeffding); with few repeats these sums also have the variance of the permutations, so that
    the interval covers it. ``factor`` multiplies the standard errors.
    """
    increases = np.concatenate([each.increases for each in found], axis=1)
    donated = np.concatenate([each.donated for each in found], axis=1)
    n_rows = increases.shape[1]
    means = increases.mean(axis=1)
    errors = np.std(increases + donated, axis=1, ddof=1) / np.sqrt(n_rows)
    half = student.ppf((1 + COVERAGE) / 2, n_rows - 1) * factor * errors
    return tuple(
        ColumnImportanceRow(str(name), float(mean), float(mean - each), float(mean + each))
        for name, mean, each in zip(names, means, half, strict=True)
    )


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class ColumnContribution:
    """What a column adds to a prediction, and the Monte Carlo standard error of that."""

    column: str
    value: Any
    contribution: float
    standard_error: float


@set_module("ensemblage.pool")
@dataclass(frozen=True, repr=False)
class ColumnContributions(PrintedRows):
    """Contributions of the columns, in their order; prints as a table, the largest first.

    ``baseline`` and the contributions add up to ``total``: the ``measure``, of ``prediction``.
    ``baseline`` is its mean over ``n_background`` background rows.
    """

    rows: tuple[ColumnContribution, ...]
    prediction: Any
    measure: str
    baseline: float
    total: float
    n_background: int
    n_permutations: int
    source: Any = None

    def as_table(self) -> TableBlock:
        """Return the table as plain values: a row per column, then the baseline and the total."""
        ordered = sorted(self.rows, key=lambda each: -abs(each.contribution))
        blank = Field("")
        places = 1 + places_for(each.contribution for each in ordered)
        rows = [
            [
                Field(each.column),
                Field(write_value(each.value)),
                signed_field(each.contribution, places),
                number_field(each.standard_error, places),
            ]
            for each in ordered
        ]
        for name, value in (("(baseline)", self.baseline), ("(total)", self.total)):
            rows.append([Field(name), blank, signed_field(value, places), blank])
        heads = (Heading(each, numeric=True) for each in ("contribution", "standard error"))
        label = write_value(self.prediction)
        source = "" if self.source is None else f", source {self.source}"
        legend = (
            f"Shapley values of the {self.measure}, relative to its mean over "
            f"{count(self.n_background, 'background row')}. standard error: of the "
            f"{self.n_permutations:,} random orders of the columns."
        )
        return TableBlock(
            [Heading("column"), Heading("value"), *heads],
            rows,
            f"Contributions of the columns to the prediction {label}{source}",
            legend,
        )

    def as_shap(self) -> Any:
        """Convert to ``shap.Explanation``, for the plots of the package shap.

        Returns
        -------
        shap.Explanation
            Contributions, baseline, values and names of the columns, in their order.
        """
        shap = require("shap", "as_shap")
        values = np.empty(len(self.rows), dtype=object)
        values[:] = [each.value for each in self.rows]
        return shap.Explanation(
            np.array([each.contribution for each in self.rows]),
            base_values=self.baseline,
            data=values,
            feature_names=[each.column for each in self.rows],
            error_std=np.array([each.standard_error for each in self.rows]),
        )


def first_value(column: Column) -> Any:
    """Return the first value of a column, None if it is missing."""
    value = column.field(0)
    if isinstance(value, float) and np.isnan(value):
        return None
    return np.datetime64(round(value), "D").item() if column.is_date else value


def write_value(value: Any) -> str:
    """Write a value of a row, numbers with six digits."""
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class ShapleyValues(NamedTuple):
    """Contributions of the columns with Monte Carlo standard errors, and the value explained."""

    contributions: Doubles
    errors: Doubles
    baseline: float
    total: float
    n_background: int
    n_permutations: int


def log_contrast(proba: Doubles, code: int) -> Doubles:
    """Log-odds of a class, or of more than two its log probability minus their mean."""
    logs = np.log(np.maximum(proba, PROBABILITY_FLOOR))
    if logs.shape[1] == 2:
        return np.asarray(logs[:, code] - logs[:, 1 - code])
    return np.asarray(logs[:, code] - logs.mean(axis=1))


def n_permutations_for(n_columns: int) -> int:
    """Count the orders of the columns that ``PREDICTED_ROWS`` allows."""
    fitting = PREDICTED_ROWS // max(n_columns - 1, 1)
    return int(np.clip(fitting, MIN_PERMUTATIONS, MAX_PERMUTATIONS))


def explain_by_columns(
    values: Callable[[Any], Doubles], stacked: Any, n_permutations: int, rng: np.random.Generator
) -> ShapleyValues:
    r"""Sample the interventional Shapley values of the first row; the others are the background.

    From a background row, columns are changed one by one, in a random order and in the reverse of
    it, to those of the row; a column's contribution is the mean change of ``values``. Of the
    background, ``MAX_BACKGROUND`` rows are drawn at most, and all have the same number of pairs of
    orders. Thus contributions add up to the row's value minus the mean of the background, and they
    are exact for a sum of functions of one or two columns each. Standard errors are by the variance
    of the pairs of the same background row.

    References
    ----------
    R. Mitchell, J. Cooper, E. Frank and G. Holmes, "Sampling permutations for Shapley value
    estimation", Journal of Machine Learning Research 23, 2022.
    """
    n_rows, n_columns = stacked.shape
    n_used = min(n_rows - 1, MAX_BACKGROUND, max(1, n_permutations // (2 * MIN_PAIRS)))
    used = 1 + rng.choice(n_rows - 1, n_used, replace=False)
    n_pairs = max(MIN_PAIRS, n_permutations // (2 * n_used))
    orders = rng.permuted(np.tile(np.arange(n_columns), (n_used * n_pairs, 1)), axis=1)
    orders = np.stack([orders, orders[:, ::-1]], axis=1)
    ranks = np.argsort(orders, axis=2)
    steps = np.arange(1, n_columns)[:, None]
    starts = np.repeat(used, n_pairs)[:, None, None, None]
    between = np.where(ranks[:, :, None, :] < steps, 0, starts)
    ends = np.repeat(np.append(0, used)[:, None], n_columns, axis=1)
    found = values(gather(stacked, np.concatenate([ends, between.reshape(-1, n_columns)])))
    total, own, between_values = found[0], found[1 : n_used + 1], found[n_used + 1 :]
    walks = np.empty((*orders.shape[:2], n_columns + 1))
    walks[:, :, 0], walks[:, :, -1] = np.repeat(own, n_pairs)[:, None], total
    walks[:, :, 1:-1] = between_values.reshape(*orders.shape[:2], n_columns - 1)
    changes = np.empty(orders.shape)
    np.put_along_axis(changes, orders, np.diff(walks, axis=2), axis=2)
    pairs = changes.mean(axis=1).reshape(n_used, n_pairs, n_columns)
    errors = np.sqrt(pairs.var(axis=1, ddof=1).mean(axis=0) / (n_used * n_pairs))
    return ShapleyValues(
        pairs.mean(axis=(0, 1)),
        errors,
        float(own.mean()),
        float(total),
        n_used,
        2 * n_used * n_pairs,
    )
