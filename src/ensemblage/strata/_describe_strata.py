"""In which columns strata differ from all rows, in the file's own units and words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from ensemblage.kernels import compare_medians, compare_shares
from ensemblage.messages import write_number
from ensemblage.strata._member_report import count_errors
from ensemblage.strata._strata_description import (
    ColumnDifference,
    StrataDescription,
    StratumDescription,
)
from ensemblage.strata._stratum_names import name_strata
from ensemblage.tables import MISSING, Column, read_columns

Floats = NDArray[np.float64]

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
    kinds : sequence of {"number", "word", "date"}, default=None
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
    return told.with_errors(*count_errors(np.asarray(wrong, dtype=float), shares), "given")


def _assemble(
    ranked: list[list[ColumnDifference]], memberships: Floats, labels: Sequence[str] | None
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


def _differences(column: Column, memberships: Floats) -> Iterator[ColumnDifference]:
    """Give each stratum's difference in a column."""
    if column.numbers is not None and len(column.occurring()) > 2 * (not column.dated):
        yield from _in_numbers(column, column.numbers, memberships)
    else:
        yield from _in_words(column, memberships)


def _in_numbers(column: Column, numbers: Floats, memberships: Floats) -> Iterator[ColumnDifference]:
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
                column.name, "date" if column.dated else "number", None, float(found.parts[k]),
                float(found.all_rows), distance,
            )  # fmt: skip


def _in_words(column: Column, memberships: Floats) -> Iterator[ColumnDifference]:
    categories = column.occurring()
    codes = column.match(categories)
    n_codes = len(categories)
    # gaps count as one more category, the last
    found = compare_shares(np.where(codes == MISSING, n_codes, codes), n_codes + 1, memberships)
    for shares, distances in zip(found.parts, found.distance, strict=True):
        # of two categories both stand out as far: the one that the stratum has is told
        best = int(np.argmax(np.abs(distances) + 1e-9 * (distances > 0)))
        missing = best == n_codes
        yield ColumnDifference(
            column.name, "missing" if missing else "word",
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
