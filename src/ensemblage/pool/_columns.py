"""Columns: permutation importance, and Shapley contributions to the prediction of one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    check_random_state,
)

from ensemblage._core import (
    PROBABILITY_FLOOR,
    UNKNOWN_SOURCE,
    Field,
    Heading,
    TableBlock,
    count,
    num_samples,
    number_field,
    require,
    run_tasks,
    set_module,
    signed_field,
    take_rows,
    write_number,
)
from ensemblage.datasets import Column, EncodeMixin, is_frame, read_columns
from ensemblage.pool._fit import refit_on_rows
from ensemblage.pool._leaderboard import PrintedRows
from ensemblage.pool._member_spec import (
    ARRAY_CHECKS,
    TABLE,
    PoolTarget,
    TrainingData,
    make_cv_folds,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]

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


class ColumnEffects(EncodeMixin):
    """Base of the pools: importance of the columns, and their contributions to one prediction."""

    _numeric: ClassVar[bool]
    fusion: Any
    cv: Any
    n_jobs: Any
    leaderboard_: Any
    member_names_: list[str]
    estimators_: list[Any]
    member_inputs_: list[str]
    source_pool_: Any

    def _target(self) -> PoolTarget:
        raise NotImplementedError  # look: ok

    def _split_sources(self, X: Any, sources: Any) -> tuple[Any, Integers]:
        """Return X without its source column, and the codes of the sources."""
        raise NotImplementedError  # look: ok

    def _outputs(self, X: Any, codes: Integers) -> Doubles:
        """Predict rows, by the source-aware pool if their source is known."""
        raise NotImplementedError  # look: ok

    def permutation_importance(
        self,
        X: Any,
        y: Any,
        *,
        sources: Any = None,
        groups: Any = None,
        out_of_fold: bool = False,
        n_repeats: int = 5,
        random_state: Any = None,
    ) -> ColumnImportance:
        r"""Measure how much the loss increases when the values of a column are permuted.

        Columns are those of X: what is encoded from one, as the categories of a categorical column,
        is permuted together. The importances are also stored as ``feature_importances_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that were not used in ``fit``: on rows of the fit the loss is too low, and columns
            that members overfitted seem important. For those, set ``out_of_fold``.
        y : array-like of shape (n_samples,)
            Their target.
        sources : array-like of shape (n_samples,) or (n_samples, 2), str or list, default=None
            Their sources, for the source-aware pool; sources are not permuted.
        groups : array-like of shape (n_samples,), default=None
            Groups that are never split, only with ``out_of_fold``.
        out_of_fold : bool, default=False
            Whether X may be rows of ``fit``: on folds as in ``fit``, members with a weight are then
            refitted to the training rows, and the importance is that for the test rows. This takes
            as long as fitting each member once per fold. Hyperparameters and fusion remain those
            of ``fit``; the source-aware pool is not included.
        n_repeats : int, default=5
            Number of permutations of each column.
        random_state : int, RandomState instance or None, default=None
            Seed of the permutations and folds.

        Returns
        -------
        ColumnImportance
            A row per column, in their order, with ``column``, ``importance`` and its 95 %
            confidence interval from ``low`` to ``high``; prints as a table. The loss is the log
            loss, for regression the squared error.

        Notes
        -----
        The interval is for new rows and permutations, not for new fits; with ``out_of_fold`` it
        is widened for the overlap of the folds (Nadeau and Bengio, 2003). Rows are taken as
        independent. A column may have no importance although it is predictive, if others replace
        it.

        References
        ----------
        L. Breiman, "Random Forests", Machine Learning 45, 2001.
        """
        self._check_explainable("permutation_importance")
        if not isinstance(n_repeats, Integral) or n_repeats < 1:
            raise ValueError(f"n_repeats={n_repeats!r} is not a number of permutations, 1 or more.")
        if groups is not None and not out_of_fold:
            raise ValueError("groups were given with out_of_fold=False; set out_of_fold=True.")
        if sources is not None and out_of_fold:
            raise ValueError(
                "sources were given with out_of_fold=True, which leaves out the source-aware pool; "
                "omit them, or give rows that were not used in fit."
            )
        X = X if hasattr(X, "shape") else np.array(X, dtype=object)
        X, codes = self._split_sources(X, sources)
        check_consistent_length(X, y, groups)
        if num_samples(X) < 2:
            raise ValueError(f"X has {num_samples(X)} row, but permutations need 2 or more.")
        y, rng = self._encode_target(y), check_random_state(random_state)
        seed, fold_seed = (int(each) for each in rng.randint(np.iinfo(np.int32).max, size=2))
        parts: Any = [(self, np.arange(len(y)))]
        factor = 1.0
        if out_of_fold:
            codes = np.full(len(y), UNKNOWN_SOURCE)
            parts = list(self._refit_on_folds(X, y, groups, fold_seed))
            n_tested = sum(len(test) for _, test in parts)
            factor = float(np.sqrt(1 + n_tested / (len(y) - n_tested / len(parts))))
        draws = np.random.default_rng(seed)
        found = []
        for pool, rows in parts:
            losses_of = pool._losses_of(y[rows], codes[rows])  # noqa: SLF001  itself, or a copy
            found.append(permute_columns(losses_of, take_rows(X, rows), int(n_repeats), draws))
        losses = np.concatenate([each.losses for each in found])
        result = ColumnImportance(
            summarise_importance(found, self._column_names(), factor=factor),
            "squared error" if self._numeric else "log loss",
            float(losses.mean()),
            len(losses),
            int(n_repeats),
            out_of_fold,
        )
        self.feature_importances_ = result.importances
        return result

    def explain_columns(
        self,
        x: Any,
        background: Any,
        source: Any = None,
        *,
        label: Any = None,
        n_permutations: int | None = None,
        random_state: Any = None,
    ) -> ColumnContributions:
        r"""Explain the prediction of one row by additive contributions of the columns.

        Parameters
        ----------
        x : array-like of shape (n_features,), or a frame with one row
            The row.
        background : array-like of shape (n_samples, n_features)
            Rows to compare with, such as the training rows; at most 256 are drawn.
        source : object, default=None
            The source of the row; if it is known, the source-aware pool is explained, and the
            background rows are predicted as of that source.
        label : object, default=None
            Class whose log-odds are explained, by default the predicted one. With more than two
            classes it is its log probability minus the mean over the classes.
        n_permutations : int, default=None
            Number of random orders of the columns, by default as many as 20,000 predicted rows
            allow, 32 to 1,024. There are at least two pairs for each background row.
        random_state : int, RandomState instance or None, default=None
            Seed of the orders and of the background rows.

        Returns
        -------
        ColumnContributions
            A row per column, in their order, with ``column``, ``value``, ``contribution`` and its
            Monte Carlo ``standard_error``; ``baseline``, ``total``, ``prediction`` and ``measure``;
            prints as a table, and ``as_shap()`` converts to ``shap.Explanation``.

        Notes
        -----
        Contributions are interventional Shapley values :math:`\phi_j` of the pool's log-odds (or
        numeric prediction) f, each column of the table being one player:

        .. math:: f(x) = \frac1B \sum_b f(z_b) + \sum_j \phi_j, \qquad
            \phi_j = \frac1{B\,d!} \sum_b \sum_\pi
            f(x_{\pi \le j}, z_b) - f(x_{\pi < j}, z_b),

        with background rows :math:`z_b`. The mean over orders :math:`\pi` of the columns is
        estimated by random orders, each together with its reverse; the sum holds exactly. For a
        sum of functions of one or two columns each, such as a linear model, where
        :math:`\phi_j = w_j (x_j - \bar z_j)`, the contributions are exact too.

        References
        ----------
        S. M. Lundberg and S.-I. Lee, "A Unified Approach to Interpreting Model Predictions",
        NeurIPS 2017.
        """
        self._check_explainable("explain_columns")
        row = x if hasattr(x, "columns") else np.asarray(x, dtype=_row_type(x)).reshape(1, -1)
        row, codes = self._split_sources(row, None if source is None else [source])
        others = background if hasattr(background, "shape") else np.array(background, dtype=object)
        others, _ = self._split_sources(others, None)
        if len(np.shape(others)) != 2 or np.shape(others)[1] != np.shape(row)[1]:
            raise ValueError(
                f"background has shape {np.shape(others)}, but x has {np.shape(row)[1]} columns: "
                "give rows with the same columns."
            )
        if num_samples(row) != 1 or num_samples(others) == 0:
            raise ValueError(
                f"x has {num_samples(row)} and background {num_samples(others)} rows; give one "
                "row, and one background row or more."
            )
        prediction, measure, value = self._explained_value(self._outputs(row, codes), label)
        if n_permutations is None:
            n_permutations = n_permutations_for(row.shape[1])
        if not isinstance(n_permutations, Integral) or n_permutations < 1:
            raise ValueError(f"n_permutations={n_permutations!r} is not a number of 1 or more.")

        def values(table: Any) -> Doubles:
            return value(self._outputs(table, np.repeat(codes, num_samples(table))))

        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        found = explain_by_columns(
            values, stack_rows(row, others), int(n_permutations), np.random.default_rng(seed)
        )
        names = self._column_names()
        fields = [first_value(each) for each in read_columns(row, names)]
        each_column = zip(names, fields, found.contributions, found.errors, strict=True)
        known = codes[0] != UNKNOWN_SOURCE and self.source_pool_.helps
        return ColumnContributions(
            tuple(ColumnContribution(a, b, float(c), float(d)) for a, b, c, d in each_column),
            prediction, measure, found.baseline, found.total,
            found.n_background, found.n_permutations,
            self.source_pool_.label(int(codes[0])) if known else None,
        )  # fmt: skip

    def _losses_of(self, y: NDArray[Any], codes: Integers) -> Callable[[Any, Any], Doubles]:
        """Return a function that gives the losses of changed rows, from their old positions."""
        return lambda table, rows: self._explained_losses(
            self._outputs(table, codes[rows]), y[rows]
        )

    def _column_names(self) -> list[str]:
        numbered = [f"x{j}" for j in range(self.n_features_in_)]  # type: ignore[attr-defined]
        return [str(each) for each in getattr(self, "feature_names_in_", numbered)]

    def _check_explainable(self, method: str) -> None:
        """Refuse a pool whose outputs are neither probabilities nor values."""
        check_is_fitted(self)
        if not (self._numeric or self._returns_probabilities()):
            raise ValueError(
                f"{method} needs class probabilities, which fusion={self.fusion!r} does not return "
                "with these members. Use fusion='log_linear', or members with predict_proba."
            )

    def _returns_probabilities(self) -> bool:
        return False

    def _encode_target(self, y: Any) -> NDArray[Any]:
        """Return codes of known classes, or floats."""
        raise NotImplementedError  # look: ok

    def _explained_losses(self, outputs: Doubles, y: NDArray[Any]) -> Doubles:
        """Return log losses of rows, or squared errors."""
        raise NotImplementedError  # look: ok

    def _explained_value(
        self, outputs: Doubles, label: Any
    ) -> tuple[Any, str, Callable[[Doubles], Doubles]]:
        """Return the prediction of one row, and the measure to explain as text and function."""
        raise NotImplementedError  # look: ok

    def _refit_on_folds(
        self, X: Any, y: NDArray[Any], groups: Any, seed: int
    ) -> Iterator[tuple[Self, NDArray[np.intp]]]:
        """Give a source-blind pool refitted to the training rows of each fold, and its test rows.

        Encoding is refitted too, hyperparameters and fusion are not.
        """
        target = self._target()
        folds = make_cv_folds(target.stratification_labels(y), self.cv, seed, groups)
        limits = {each.member: each.n_samples for each in self.leaderboard_}
        for train, test in folds:
            pool, table = copy(self), take_rows(X, train)
            vars(pool).pop("source_pool_", None)
            if hasattr(self, "encoder_"):
                pool.encoder_ = clone(self.encoder_)
                encoded = pool.encoder_.fit_transform(table, y[train])
                rows = check_array(encoded, **self._allowed(ARRAY_CHECKS))
            else:
                rows = self._new_rows(table, **ARRAY_CHECKS)
            data = TrainingData(rows, y[train], target, None, [], forms={TABLE: table})
            members = zip(self.member_names_, self.estimators_, self.member_inputs_, strict=True)
            tasks = [
                (each, data._replace(X=data.forms.get(kind, rows), forms={}), limits[name], seed)
                for name, each, kind in members
            ]
            pool.estimators_ = run_tasks(refit_on_rows, tasks, self.n_jobs)
            yield pool, test


def _row_type(x: Any) -> type[object] | None:
    """Keep the types of a list of numbers and categories."""
    return None if hasattr(x, "shape") else object
