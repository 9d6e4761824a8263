"""Strata in terms of the columns: what is distinctive about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

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

Doubles = NDArray[np.float64]


def mean_losses(
    losses: Doubles, memberships: Doubles, error_from_loss: Callable[[float], float] = float
) -> tuple[list[float | None], float | None]:
    """Errors from mean losses, NaN if not known, of each stratum by membership, and of all rows."""
    known = np.isfinite(losses)
    shares, losses = memberships[known], losses[known]
    strata = [
        error_from_loss(float(losses @ own / total)) if total > 0 else None
        for own, total in zip(shares.T, shares.sum(axis=0), strict=True)
    ]
    return strata, error_from_loss(float(losses.mean())) if len(losses) > 0 else None


QUARTILES = (0.25, 0.5, 0.75)
NORMAL_RANGE = 1.3489795003921634
"""Distance between the quartiles of a normal distribution of variance one."""
ROUNDING = 1e-12


class StandingOut(NamedTuple):
    """What is typical of each part and of all rows, and how far apart that is.

    Medians of a number have the shapes (n_parts,), () and (n_parts,); shares of categories
    (n_parts, n_categories), (n_categories,) and (n_parts, n_categories).
    """

    parts: Doubles
    all_rows: Doubles
    distance: Doubles


def weighted_quantiles(values: Doubles, weights: Doubles, levels: tuple[float, ...]) -> Doubles:
    """Quantiles of values (n_rows,) by each column of weights, (n_levels, n_columns).

    A quantile is the value at which the weights, added up in the order of the values, pass the
    level; where they hit it exactly, the mean of that value and the next, as for the median.
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


def compare_medians(values: Doubles, memberships: Doubles) -> StandingOut:
    r"""Difference of medians over the pooled robust spread.

    With the quartiles' distance :math:`q` over 1.349 as spread :math:`s`, part :math:`k` lies
    :math:`(m_k - m) / \sqrt{(s_k^2 + s^2) / 2}` from all rows. Where both spreads are zero,
    standard deviations take their place. A part without weight has the distance zero.
    """
    weights = np.column_stack([memberships, np.ones(len(values))])
    heavy = weights.sum(axis=0) > 0
    weights[:, ~heavy] = 1.0
    low, medians, high = weighted_quantiles(values, weights, QUARTILES)
    spread = _pooled((high - low) / NORMAL_RANGE)
    deviation = _pooled(_deviations(values, weights))
    scale = np.where(spread > 0, spread, deviation)
    gaps = medians[:-1] - medians[-1]
    distance = np.divide(gaps, scale, out=np.zeros_like(gaps), where=scale > 0)
    return StandingOut(medians[:-1], medians[-1], distance)


def compare_shares(codes: NDArray[np.integer], n_codes: int, memberships: Doubles) -> StandingOut:
    r"""Shares of the codes 0 to ``n_codes`` - 1, and Cohen's distance between them.

    :math:`h = 2 \arcsin \sqrt{p_k} - 2 \arcsin \sqrt{p}`, which reads on the scale of a
    difference of medians. A part without weight has the shares of all rows.
    """
    everywhere = np.bincount(codes, minlength=n_codes) / len(codes)
    totals = memberships.sum(axis=0)
    parts = np.tile(everywhere, (memberships.shape[1], 1))
    for k in np.flatnonzero(totals > 0):
        parts[k] = np.bincount(codes, memberships[:, k], minlength=n_codes) / totals[k]
    return StandingOut(parts, everywhere, _angle(parts) - _angle(everywhere))


def _angle(shares: Doubles) -> Doubles:
    return np.asarray(2 * np.arcsin(np.sqrt(np.clip(shares, 0, 1))))


def _pooled(spreads: Doubles) -> Doubles:
    """Pool each part's spread with that of all rows, which stands last."""
    return np.asarray(np.sqrt((spreads[:-1] ** 2 + spreads[-1] ** 2) / 2))


def _deviations(values: Doubles, weights: Doubles) -> Doubles:
    shares = weights / weights.sum(axis=0)
    centred = values[:, None] - values @ shares
    return np.asarray(np.sqrt((shares * centred**2).sum(axis=0)))


ErrorRows = Literal["out-of-fold", "training", "given"]
DAY = 86_400
"""Seconds of a day."""
WIDTH = 120
LITTLE = 0.2
RARE = 0.25
PHRASES = {
    "numeric": ("high ({})", "low ({})"),
    "date": ("late ({})", "early ({})"),
    "categorical": ("= {}", "not {}"),
    "missing": ("missing", "known"),
}
"""What is said of a stratum above all rows, and below."""


@dataclass(frozen=True)
class ColumnDifference:
    """How a stratum differs from all rows in one column.

    Parameters
    ----------
    column : str
        The column.
    kind : {"numeric", "date", "categorical", "missing"}
        What is compared: medians (of dates, in days since 1970-01-01), or the share of a
        category or of gaps.
    category : str or None
        The category, of a word.
    stratum, all_rows : float
        The stratum's median or share, and that of all rows.
    distance : float
        How far apart: medians over the pooled robust spread, or Cohen's h of the shares.
        0.2 is little, 0.8 is much, for both.
    """

    column: str
    kind: Literal["numeric", "date", "categorical", "missing"]
    category: str | None
    stratum: float
    all_rows: float
    distance: float

    @property
    def phrase(self) -> str:  # numpydoc ignore=RT01
        """A few plain words, such as "age high (61)" or "site = Basel"."""
        high, low = PHRASES[self.kind]
        words = high if self.distance > 0 else low
        value = self.category if self.kind == "categorical" else self.written(self.stratum)
        return f"{self.column} {words.format(value)}"

    @property
    def is_telling(self) -> bool:  # numpydoc ignore=RT01
        """Whether it is fit for a name: not little, nor that something rare is absent."""
        absent = self.distance < 0 and self.kind in {"categorical", "missing"}
        return abs(self.distance) >= LITTLE and not (absent and self.all_rows < RARE)

    def __str__(self) -> str:
        what = {"categorical": f" = {self.category}", "missing": " missing"}.get(self.kind, "")
        stratum, everywhere = self.written(self.stratum), self.written(self.all_rows)
        return f"{self.column}{what}: {stratum} (all rows {everywhere}, {self.distance:+.1f})"

    def written(self, value: float) -> str:
        """Write a median or a share as a reader of the file would.

        Parameters
        ----------
        value : float
            In the units of ``stratum``.

        Returns
        -------
        str
            A number, a day, or per cent.
        """
        if self.kind == "date":
            return datetime.fromtimestamp(value * DAY, UTC).date().isoformat()
        return write_number(value) if self.kind == "numeric" else f"{value:.0%}"


@dataclass(frozen=True)
class StratumDescription:
    """One stratum.

    Parameters
    ----------
    stratum : int
        Its number.
    name : str
        Made of the columns in which it differs most, or the name of its source.
    share : float
        Mean membership of the rows in it.
    error : float or None
        Share of wrong predictions on its rows, by membership, or of numbers the root of the mean
        squared error; None where it is not known.
    differences : tuple of ColumnDifference
        The largest first.
    """

    stratum: int
    name: str
    share: float
    error: float | None
    differences: tuple[ColumnDifference, ...]


@dataclass(frozen=True)
class StrataDescription:
    """What strata are: a value that prints as a table.

    Parameters
    ----------
    strata : tuple of StratumDescription
        In their order.
    n_rows : int
        Number of rows that were looked at.
    error : float or None
        Error on all rows, in the same way; None where it is not known.
    error_rows : {"out-of-fold", "training", "given"} or None
        Which rows errors are counted on: training rows that members and fusion had not seen, the
        training rows as they were learned, or the rows given.
    is_classification : bool
        Whether errors are shares of wrong classes; those of numbers are roots of mean squared
        errors.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.strata import describe_strata
    >>> age = np.array([[20.0], [22], [24], [60], [62], [64]])
    >>> young_and_old = np.repeat(np.eye(2), 3, axis=0)
    >>> print(describe_strata(age, young_and_old, names=["age"]))
    stratum  name            rows  differs in
    ──────────────────────────────────────────────────────────
    0        age low (22)   50.0%  age: 22 (all rows 42, -0.9)
    1        age high (62)  50.0%  age: 62 (all rows 42, +0.9)
    """

    strata: tuple[StratumDescription, ...]
    n_rows: int
    error: float | None = None
    error_rows: ErrorRows | None = None
    is_classification: bool = True

    @property
    def names(self) -> list[str]:  # numpydoc ignore=RT01
        """The strata's names, in their order."""
        return [each.name for each in self.strata]

    def with_errors(
        self,
        strata: Sequence[float | None],
        error: float | None,
        error_rows: ErrorRows,
        *,
        is_classification: bool = True,
    ) -> StrataDescription:
        """Give the same with errors that were counted elsewhere.

        Parameters
        ----------
        strata : sequence of float or None
            Error of each stratum.
        error : float or None
            On all rows; None where none is known.
        error_rows : {"out-of-fold", "training", "given"}
            Which rows these are.
        is_classification : bool, default=True
            Whether errors are shares of wrong classes.

        Returns
        -------
        StrataDescription
            A new one.
        """
        if error is None:
            return self
        pairs = zip(self.strata, strata, strict=True)
        told = tuple(replace(each, error=own) for each, own in pairs)
        return replace(
            self,
            strata=told,
            error=error,
            error_rows=error_rows,
            is_classification=is_classification,
        )

    @property
    def block(self) -> TableBlock:  # numpydoc ignore=RT01
        """The table, for a page or a terminal."""
        columns = [Heading("stratum"), Heading("name"), Heading("rows", numeric=True)]
        columns += [Heading("error", numeric=True)] * (self.error is not None)
        rows = [
            [
                Field(str(each.stratum)), Field(each.name), share_field(each.share),
                *[Field(self.written_error(each.error), each.error)] * (self.error is not None),
                Field("; ".join(map(str, each.differences))),
            ]
            for each in self.strata
        ]  # fmt: skip
        columns.append(Heading("differs in", wide=True))
        return TableBlock(columns, rows, "What the strata are", self.legend)

    def written_error(self, error: float | None) -> str:
        """Write an error as a share of wrong predictions, or in the target's units.

        Parameters
        ----------
        error : float or None
            Of a stratum, or of all rows.

        Returns
        -------
        str
            A dash where there is none.
        """
        if self.is_classification or error is None:
            return share_field(error).text
        return write_number(error)

    @property
    def legend(self) -> str:  # numpydoc ignore=RT01
        """How to read the table, in sentences."""
        overlapping = sum(each.share for each in self.strata) > 1 + 1e-9
        said = (
            f"Rows: share of the rows in the stratum{'; a row may be in several' * overlapping}. "
            "Differs in: the stratum's median or share, that of all rows, and how far apart they "
            "are (0.2 is little, 0.8 is much)."
        )
        return said if self.error is None else f"{said} {self.error_sentence}"

    @property
    def error_sentence(self) -> str:  # numpydoc ignore=RT01
        """What the errors are counted on; empty without them."""
        if self.error is None:
            return ""
        where = {
            "out-of-fold": "training rows that members and fusion had not seen",
            "training": "the training rows themselves, which flatters",
            "given": "the rows given",
        }[self.error_rows or "given"]
        what = (
            "share of wrong predictions"
            if self.is_classification
            else "root of the mean squared error"
        )
        said = self.written_error(self.error)
        return f"Error: {what} on {where}; on all of them {said}."

    def __str__(self) -> str:
        return text_table(self.block, WIDTH)

    def _repr_html_(self) -> str:
        return html_table(self.block)

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        """Show the table where IPython has no HTML."""
        del cycle
        printer.text(str(self))  # type: ignore[attr-defined]


LIKE_ALL = "like all rows"
USUAL = 2
"""So many phrases make a name, where they are enough to tell strata apart."""


def name_strata(phrases: Sequence[Sequence[str]]) -> list[str]:
    """Join each stratum's first phrases: two, or more where names would be the same."""
    names = [_joined(each, USUAL) for each in phrases]
    for most in range(USUAL + 1, 1 + max(map(len, phrases), default=0)):
        counts = Counter(names)
        names = [
            _joined(each, most) if counts[name] > 1 else name
            for name, each in zip(names, phrases, strict=True)
        ]
    return _numbered_names(names)


def _joined(phrases: Sequence[str], most: int) -> str:
    return ", ".join(phrases[:most]) or LIKE_ALL


def _numbered_names(names: list[str]) -> list[str]:
    """Tell what is still the same apart; a name may end in a value, so say of how many."""
    counts, seen = Counter(names), Counter[str]()
    made = []
    for name in names:
        seen[name] += 1
        made.append(f"{name} ({seen[name]} of {counts[name]})" if counts[name] > 1 else name)
    return made


FEWEST = 3
CLEAR = 0.5
"""Beyond the first three columns, only differences of this size are told."""


def describe_strata(
    X: Any,
    memberships: Any,
    *,
    names: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    wrong: Any = None,
    max_columns: int = 5,
) -> StrataDescription:
    r"""Tell in which columns strata differ most from all rows.

    Parameters
    ----------
    X : dataframe or array-like of shape (n_rows, n_columns)
        The rows as a reader knows them: numbers, words, dates and gaps, before any encoding.
    memberships : array-like of shape (n_rows, n_strata)
        Of the same rows: a stratifier's ``memberships_``, or what its ``transform`` gives.
    names : sequence of str, default=None
        Of the columns; those of a frame, or x0, x1 and so on, if not given.
    kinds : sequence of {"numeric", "categorical", "date"}, default=None
        Of the columns: a number that is a date counts days since 1970-01-01. Read from the
        values if not given.
    labels : sequence of str, default=None
        Names that the strata have already, such as those of sources.
    wrong : array-like of shape (n_rows,), default=None
        1 where a prediction is wrong, 0 where it is right; NaN where that is not known.
    max_columns : int, default=5
        Most columns to tell per stratum; beyond three, only those with a clear difference.

    Returns
    -------
    StrataDescription
        A value that prints as a table.

    See Also
    --------
    StrataEnsembleClassifier.describe_strata : The same of a fitted ensemble.

    Notes
    -----
    Rows count by their membership. With medians :math:`m_k` and :math:`m` of a number in the
    stratum and in all rows, and the distances of their quartiles over 1.349 as spreads
    :math:`s_k` and :math:`s`, the difference is

    .. math:: (m_k - m) \, / \, \sqrt{(s_k^2 + s^2) / 2} ,

    and that of a category with shares :math:`p_k` and :math:`p` Cohen's

    .. math:: h = 2 \arcsin \sqrt{p_k} - 2 \arcsin \sqrt{p} .

    Of a word the category that stands out most is told; gaps are a category. A number with two
    values is taken for a word.

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
    check_consistent_length(X, shares, wrong)
    columns = _read(X, names, kinds)
    candidates = [list(_differences(column, shares)) for column in columns]
    ranked = [
        _largest([each[k] for each in candidates], max_columns) for k in range(shares.shape[1])
    ]
    told = _assemble(ranked, shares, labels)
    if wrong is None:
        return told
    return told.with_errors(*mean_losses(np.asarray(wrong, dtype=float), shares), "given")


def _assemble(
    ranked: list[list[ColumnDifference]], memberships: Doubles, labels: Sequence[str] | None
) -> StrataDescription:
    """Put differences, names and sizes of the strata together."""
    phrases = [[each.phrase for each in some if each.is_telling] for some in ranked]
    names = name_strata(phrases) if labels is None else [str(label) for label in labels]
    sizes = memberships.mean(axis=0).tolist()
    parts = enumerate(zip(names, sizes, ranked, strict=True))
    strata = [StratumDescription(k, name, size, None, tuple(own)) for k, (name, size, own) in parts]
    return StrataDescription(tuple(strata), len(memberships))


def _read(X: Any, names: Sequence[str] | None, kinds: Sequence[str] | None) -> list[Column]:
    if not hasattr(X, "columns"):
        X = np.asarray(X)
    if names is None:
        names = [str(name) for name in getattr(X, "columns", _numbered(X.shape[1]))]
    columns = read_columns(X, names)
    if kinds is None:
        return columns
    pairs = zip(columns, kinds, strict=True)
    return [
        Column(each.name, each.numbers, dated=True)
        if kind == "date" and each.numbers is not None
        else each
        for each, kind in pairs
    ]


def _numbered(n_columns: int) -> list[str]:
    return [f"x{j}" for j in range(n_columns)]


def _differences(column: Column, memberships: Doubles) -> Iterator[ColumnDifference]:
    """Give each stratum's difference in a column."""
    if column.numbers is not None and len(column.occurring()) > 2 * (not column.dated):
        yield from _in_numbers(column, column.numbers, memberships)
    else:
        yield from _in_words(column, memberships)


def _in_numbers(
    column: Column, numbers: Doubles, memberships: Doubles
) -> Iterator[ColumnDifference]:
    known = ~np.isnan(numbers)
    found = compare_medians(numbers[known], memberships[known])
    gaps = compare_shares(known.astype(np.intp), 2, memberships)
    for k, distance in enumerate(found.distance.tolist()):
        # a median of the few that are known says little of the stratum
        mostly_gaps = gaps.parts[k, 0] > 0.5 and gaps.distance[k, 0] > 0
        if mostly_gaps or abs(gaps.distance[k, 0]) > abs(distance):
            yield ColumnDifference(
                column.name, "missing", None, float(gaps.parts[k, 0]), float(gaps.all_rows[0]),
                float(gaps.distance[k, 0]),
            )  # fmt: skip
        else:
            yield ColumnDifference(
                column.name, "date" if column.dated else "numeric", None, float(found.parts[k]),
                float(found.all_rows), distance,
            )  # fmt: skip


def _in_words(column: Column, memberships: Doubles) -> Iterator[ColumnDifference]:
    categories = column.occurring()
    codes = column.match(categories)
    n_codes = len(categories)
    # gaps count as one more category, the last
    found = compare_shares(
        np.where(codes == MISSING_CODE, n_codes, codes), n_codes + 1, memberships
    )
    for shares, distances in zip(found.parts, found.distance, strict=True):
        # of two categories both stand out as far: the one that the stratum has is told
        best = int(np.argmax(np.abs(distances) + 1e-9 * (distances > 0)))
        missing = best == n_codes
        yield ColumnDifference(
            column.name, "missing" if missing else "categorical",
            None if missing else _word(categories[best]), float(shares[best]),
            float(found.all_rows[best]), float(distances[best]),
        )  # fmt: skip


def _word(category: Any) -> str:
    return write_number(category) if isinstance(category, float) else str(category)


def _largest(found: Sequence[ColumnDifference], most: int) -> list[ColumnDifference]:
    some = [each for each in found if each.distance != 0]
    some.sort(key=lambda each: -abs(each.distance))
    return [
        each
        for position, each in enumerate(some[:most])
        if position < FEWEST or abs(each.distance) >= CLEAR
    ]
