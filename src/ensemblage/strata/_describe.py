"""Descriptions of strata by the columns in which they differ most from all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from ensemblage._core import (
    Field,
    Heading,
    TableBlock,
    html_table,
    share_field,
    text_table,
    write_number,
)
from ensemblage.datasets import MISSING_CODE, Column, read_columns
from ensemblage.strata._targets import mean_losses

Doubles = NDArray[np.float64]
ErrorRows = Literal["out-of-fold", "training", "given"]

QUARTILES = (0.25, 0.5, 0.75)
NORMAL_RANGE = 1.3489795003921634
"""Interquartile range of the standard normal distribution."""
ROUNDING = 1e-12
"""Relative rounding error of a sum of weights."""
DAY = 86_400
"""Seconds per day."""
WIDTH = 120
"""Width of the printed table, in characters."""
SMALL_EFFECT = 0.2
"""Smallest effect size of a difference that is part of a name."""
MEDIUM_EFFECT = 0.5
"""Smallest effect size of a difference listed after the first ``MIN_COLUMNS``."""
MIN_COLUMNS = 3
"""Number of columns listed whatever their effect size."""
RARE_SHARE = 0.25
"""Share of all rows below which the absence of a category is not part of a name."""
MIN_PHRASES = 2
"""Number of phrases in a name; more where names would be equal."""
LIKE_ALL = "like all rows"
"""Name of a stratum without a distinctive column."""
PHRASES = {
    "numeric": ("high ({})", "low ({})"),
    "date": ("late ({})", "early ({})"),
    "categorical": ("= {}", "not {}"),
    "missing": ("missing", "known"),
}
"""Phrases for a positive and a negative effect size, by kind of column."""


def weighted_quantiles(values: Doubles, weights: Doubles, levels: tuple[float, ...]) -> Doubles:
    """Weighted quantiles of values (n_rows,) for each column of weights, (n_levels, n_columns).

    A quantile is the value at which the cumulative weight exceeds the level; if it equals the
    level, the mean of that value and the next, as for the median.
    """
    order = np.argsort(values, kind="stable")
    ascending, held = values[order], np.cumsum(weights[order], axis=0)
    found = np.empty((len(levels), weights.shape[1]))
    for k, (part, total) in enumerate(zip(held.T, held[-1], strict=True)):
        goals = np.multiply(levels, total)
        low = np.searchsorted(part, goals - ROUNDING * total, side="left")
        high = np.searchsorted(part, goals + ROUNDING * total, side="right")
        found[:, k] = (ascending[low] + ascending[np.minimum(high, len(values) - 1)]) / 2
    return found


def median_effect_sizes(values: Doubles, memberships: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    r"""Medians of strata, (n_strata,), and of all rows, (), and the effect sizes, (n_strata,).

    With the interquartile range over 1.349 as robust standard deviation :math:`s`, the effect size
    of stratum :math:`k` is :math:`(m_k - m) / \sqrt{(s_k^2 + s^2) / 2}`. Where both are zero,
    standard deviations are used. The effect size of a stratum without weight is zero.
    """
    weights = np.column_stack([memberships, np.ones(len(values))])
    heavy = weights.sum(axis=0) > 0
    weights[:, ~heavy] = 1.0
    low, medians, high = weighted_quantiles(values, weights, QUARTILES)
    shares = weights / weights.sum(axis=0)
    centred = values[:, None] - values @ shares
    robust, plain = (
        # pooled with that of all rows, the last column
        np.sqrt((each[:-1] ** 2 + each[-1] ** 2) / 2)
        for each in ((high - low) / NORMAL_RANGE, np.sqrt((shares * centred**2).sum(axis=0)))
    )
    scale = np.where(robust > 0, robust, plain)
    differences = medians[:-1] - medians[-1]
    sizes = np.divide(differences, scale, out=np.zeros_like(differences), where=scale > 0)
    return medians[:-1], medians[-1], sizes


def cohens_h(
    codes: NDArray[np.integer], n_codes: int, memberships: Doubles
) -> tuple[Doubles, Doubles, Doubles]:
    r"""Shares of the codes 0 to ``n_codes`` - 1 in strata and in all rows, and Cohen's h.

    :math:`h = 2 \arcsin \sqrt{p_k} - 2 \arcsin \sqrt{p}`, on a scale comparable
    to a standardised difference. A stratum without weight has the shares of all rows. Shapes are
    (n_strata, n_codes), (n_codes,) and (n_strata, n_codes).
    """
    everywhere = np.bincount(codes, minlength=n_codes) / len(codes)
    totals = memberships.sum(axis=0)
    strata = np.tile(everywhere, (memberships.shape[1], 1))
    for k in np.flatnonzero(totals > 0):
        strata[k] = np.bincount(codes, memberships[:, k], minlength=n_codes) / totals[k]
    angles, angle = (2 * np.arcsin(np.sqrt(np.clip(p, 0, 1))) for p in (strata, everywhere))
    return strata, everywhere, angles - angle


@dataclass(frozen=True)
class ColumnDifference:
    """How a stratum differs from all rows in one column.

    ``stratum`` and ``all_rows`` are medians (of dates, in days since 1970-01-01), or shares of a
    category or of missing values; an ``effect_size`` of 0.2 is small, 0.8 is large.
    """

    column: str
    kind: Literal["numeric", "date", "categorical", "missing"]
    category: str | None
    stratum: float
    all_rows: float
    effect_size: float

    @property
    def phrase(self) -> str:
        """A short text, such as "age high (61)" or "site = Basel"."""
        high, low = PHRASES[self.kind]
        template = high if self.effect_size > 0 else low
        value = self.category if self.kind == "categorical" else self.format_value(self.stratum)
        return f"{self.column} {template.format(value)}"

    @property
    def is_distinctive(self) -> bool:
        """Whether it can be part of a name: not small, and not the absence of a rare category."""
        absent = self.effect_size < 0 and self.kind in {"categorical", "missing"}
        if absent and self.all_rows < RARE_SHARE:
            return False
        return abs(self.effect_size) >= SMALL_EFFECT

    def format_value(self, value: float) -> str:
        """Format a median in the column's units, or a share in per cent."""
        if self.kind == "date":
            return datetime.fromtimestamp(value * DAY, UTC).date().isoformat()
        return write_number(value) if self.kind == "numeric" else f"{value:.0%}"

    def __str__(self) -> str:
        what = {"categorical": f" = {self.category}", "missing": " missing"}.get(self.kind, "")
        stratum, everywhere = self.format_value(self.stratum), self.format_value(self.all_rows)
        return f"{self.column}{what}: {stratum} (all rows {everywhere}, {self.effect_size:+.1f})"


@dataclass(frozen=True)
class StratumDescription:
    """One stratum, named by its source or by the columns in which it differs most.

    ``share`` is the mean membership; ``error``, weighted by membership, is None where it is not
    known. ``differences`` are sorted by absolute effect size, the largest first.
    """

    stratum: int
    name: str
    share: float
    error: float | None
    differences: tuple[ColumnDifference, ...]


@dataclass(frozen=True)
class StrataDescription:
    """Descriptions of all strata; prints as a table.

    ``error`` is the error rate, or the RMSE of a numeric target, on all rows; ``error_rows`` says
    on which rows. Both are None where the error is not known.
    """

    strata: tuple[StratumDescription, ...]
    n_rows: int
    error: float | None = None
    error_rows: ErrorRows | None = None
    is_classification: bool = True

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.strata]

    def with_errors(
        self,
        strata: Sequence[float | None],
        error: float | None,
        error_rows: ErrorRows,
        *,
        is_classification: bool = True,
    ) -> StrataDescription:
        """Add errors of each stratum and of all rows; None where not known."""
        if error is None:
            return self
        pairs = zip(self.strata, strata, strict=True)
        return replace(
            self,
            strata=tuple(replace(each, error=own) for each, own in pairs),
            error=error,
            error_rows=error_rows,
            is_classification=is_classification,
        )

    @property
    def block(self) -> TableBlock:
        """The table, for a page or a terminal."""
        columns = [Heading("stratum"), Heading("name"), Heading("rows", numeric=True)]
        columns += [Heading("error", numeric=True)] * (self.error is not None)
        rows = [
            [
                Field(str(each.stratum)), Field(each.name), share_field(each.share),
                *[Field(self.format_error(each.error), each.error)] * (self.error is not None),
                Field("; ".join(map(str, each.differences))),
            ]
            for each in self.strata
        ]  # fmt: skip
        columns.append(Heading("differs in", wide=True))
        return TableBlock(columns, rows, "Description of the strata", self.legend)

    def format_error(self, error: float | None) -> str:
        """Format an error rate, or an error in the target's units; a dash where there is none."""
        if self.is_classification or error is None:
            return share_field(error).text
        return write_number(error)

    @property
    def legend(self) -> str:
        """Explanation of the table's columns."""
        overlapping = sum(each.share for each in self.strata) > 1 + 1e-9
        legend = (
            f"Rows: share of the rows in the stratum{'; a row may be in several' * overlapping}. "
            "Differs in: median or share in the stratum, in all rows, and effect size (0.2 is "
            "small, 0.8 is large)."
        )
        return legend if self.error is None else f"{legend} {self.error_sentence}"

    @property
    def error_sentence(self) -> str:
        """Which error, on which rows; empty without errors."""
        if self.error is None:
            return ""
        where = {
            "out-of-fold": "out-of-fold",
            "training": "in-sample, which is optimistic",
            "given": "on the given rows",
        }[self.error_rows or "given"]
        what = "error rate" if self.is_classification else "RMSE"
        return f"Error: {what}, {where}; on all rows {self.format_error(self.error)}."

    def __str__(self) -> str:
        return text_table(self.block, WIDTH)

    def _repr_html_(self) -> str:
        return html_table(self.block)

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        """Show the table where IPython has no HTML."""
        del cycle
        printer.text(str(self))  # type: ignore[attr-defined]


def name_strata(phrases: Sequence[Sequence[str]]) -> list[str]:
    """Join the first phrases of each stratum: two, or more where names would be equal."""
    names = [", ".join(each[:MIN_PHRASES]) or LIKE_ALL for each in phrases]
    for most in range(MIN_PHRASES + 1, 1 + max(map(len, phrases), default=0)):
        counts = Counter(names)
        names = [
            (", ".join(each[:most]) or LIKE_ALL) if counts[name] > 1 else name
            for name, each in zip(names, phrases, strict=True)
        ]
    counts, seen, numbered = Counter(names), Counter[str](), []
    for name in names:
        seen[name] += 1
        # "1 of 2", since a name may end in a value
        last = f" ({seen[name]} of {counts[name]})" if counts[name] > 1 else ""
        numbered.append(name + last)
    return numbered


def describe_strata(
    X: Any,
    memberships: Any,
    *,
    names: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    errors: Any = None,
    max_columns: int = 5,
) -> StrataDescription:
    r"""Describe strata by the columns in which they differ most from all rows.

    Parameters
    ----------
    X : dataframe or array-like of shape (n_rows, n_columns)
        Rows before encoding, with categories, dates and missing values.
    memberships : array-like of shape (n_rows, n_strata)
        Memberships of these rows: ``memberships_`` of a stratifier, or the result of its
        ``transform``.
    names : sequence of str, default=None
        Column names; by default those of a dataframe, or x0, x1 and so on.
    kinds : sequence of {"numeric", "categorical", "date"}, default=None
        Kinds of the columns; a date is in days since 1970-01-01. Inferred from the values by
        default.
    labels : sequence of str, default=None
        Names of the strata, such as those of sources; by default made from the differences.
    errors : array-like of shape (n_rows,), default=None
        1 where a prediction is wrong, 0 where it is right; NaN where unknown.
    max_columns : int, default=5
        Largest number of columns per stratum; beyond three, only those with a medium effect size.

    Returns
    -------
    StrataDescription
        Prints as a table.

    See Also
    --------
    StrataEnsembleClassifier.describe_strata : Description of a fitted ensemble's strata.

    Notes
    -----
    Rows are weighted by membership. With medians :math:`m_k` and :math:`m` of a numeric column in
    the stratum and in all rows, and interquartile ranges over 1.349 as robust standard deviations
    :math:`s_k` and :math:`s`, the effect size is

    .. math:: (m_k - m) \, / \, \sqrt{(s_k^2 + s^2) / 2} ,

    and that of a category with shares :math:`p_k` and :math:`p` Cohen's

    .. math:: h = 2 \arcsin \sqrt{p_k} - 2 \arcsin \sqrt{p} .

    For a categorical column the category with the largest effect size is used; missing values are a
    category. A numeric column with two values is treated as categorical.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.strata import describe_strata
    >>> X = np.array([[20, "Bern"], [22, "Bern"], [61, "Basel"], [63, "Basel"]], dtype=object)
    >>> strata = describe_strata(X, np.repeat(np.eye(2), 2, axis=0), names=["age", "site"])
    >>> strata.names
    ['site = Bern, age low (21)', 'site = Basel, age high (62)']
    """
    shares = np.asarray(memberships, dtype=np.float64)
    check_consistent_length(X, shares, errors)
    by_column = [list(_differences(column, shares)) for column in _read(X, names, kinds)]
    ranked = [
        _largest([each[k] for each in by_column], max_columns) for k in range(shares.shape[1])
    ]
    phrases = [[each.phrase for each in some if each.is_distinctive] for some in ranked]
    found = name_strata(phrases) if labels is None else [str(label) for label in labels]
    parts = enumerate(zip(found, shares.mean(axis=0).tolist(), ranked, strict=True))
    strata = [StratumDescription(k, name, size, None, tuple(own)) for k, (name, size, own) in parts]
    described = StrataDescription(tuple(strata), len(shares))
    if errors is None:
        return described
    return described.with_errors(*mean_losses(np.asarray(errors, dtype=float), shares), "given")


def _read(X: Any, names: Sequence[str] | None, kinds: Sequence[str] | None) -> list[Column]:
    if not hasattr(X, "columns"):
        X = np.asarray(X)
    if names is None:
        names = [str(name) for name in getattr(X, "columns", map("x{}".format, range(X.shape[1])))]
    columns = read_columns(X, names)
    if kinds is None:
        return columns
    pairs = zip(columns, kinds, strict=True)
    return [
        Column(each.name, each.numbers, is_date=True)
        if kind == "date" and each.numbers is not None
        else each
        for each, kind in pairs
    ]


def _differences(column: Column, memberships: Doubles) -> Iterator[ColumnDifference]:
    """Difference of each stratum in a column."""
    numbers = column.numbers
    if numbers is None or len(column.occurring()) <= 2 * (not column.is_date):
        yield from _category_differences(column, memberships)
        return
    known = ~np.isnan(numbers)
    medians, median, sizes = median_effect_sizes(numbers[known], memberships[known])
    missing, missing_share, h = cohens_h(known.astype(np.intp), 2, memberships)
    kind: Literal["date", "numeric"] = "date" if column.is_date else "numeric"
    for k, size in enumerate(sizes.tolist()):
        share, own_h = float(missing[k, 0]), float(h[k, 0])
        # the median of few known values does not describe the stratum
        if (share > 0.5 and own_h > 0) or abs(own_h) > abs(size):
            yield ColumnDifference(
                column.name, "missing", None, share, float(missing_share[0]), own_h
            )
        else:
            yield ColumnDifference(column.name, kind, None, float(medians[k]), float(median), size)


def _category_differences(column: Column, memberships: Doubles) -> Iterator[ColumnDifference]:
    categories = column.occurring()
    codes, n_codes = column.match(categories), len(categories)
    # missing values are one more category, the last
    codes = np.where(codes == MISSING_CODE, n_codes, codes)
    strata, everywhere, sizes = cohens_h(codes, n_codes + 1, memberships)
    for shares, own in zip(strata, sizes, strict=True):
        # with two categories effect sizes are equal: take the one above its overall share
        best = int(np.argmax(np.abs(own) + 1e-9 * (own > 0)))
        category = None
        if best < n_codes:
            value = categories[best]
            category = write_number(value) if isinstance(value, float) else str(value)
        yield ColumnDifference(
            column.name, "missing" if category is None else "categorical", category,
            float(shares[best]), float(everywhere[best]), float(own[best]),
        )  # fmt: skip


def _largest(found: Sequence[ColumnDifference], most: int) -> list[ColumnDifference]:
    some = [each for each in found if each.effect_size != 0]
    some.sort(key=lambda each: -abs(each.effect_size))
    return [
        each
        for position, each in enumerate(some[:most])
        if position < MIN_COLUMNS or abs(each.effect_size) >= MEDIUM_EFFECT
    ]
