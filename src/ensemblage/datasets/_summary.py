"""What a dataset holds, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ensemblage._core import count, write_number
from ensemblage.datasets._dataset import Dataset
from ensemblage.datasets._table import Table, is_missing, kind_of, parse_number
from ensemblage.evaluation import REGRESSION

Array = NDArray[Any]
DATE = "date"
NUMBER = "number"
WORD = "word"


Count = Annotated[int, Meta(ge=0)]
MOST_COMMON = 3
MOST_CLASSES = 4
"""More are not named in a line."""
MILLISECONDS = 86_400_000
"""In a day."""


class ColumnCard(Struct, frozen=True, forbid_unknown_fields=True):
    """What one column holds.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"number", "word", "date"}
        What its values are.
    missing : int
        Rows without a value.
    distinct : int
        Different values; of words, the categories.
    low, middle, high : float, str or None
        The least, the median (of two the lower) and the greatest number or date; None for words.
    common : dict of str to int
        Rows of the most frequent words, of those that occur twice or more.
    """

    name: Annotated[str, Meta(description="Its name.")]
    kind: Annotated[Literal["number", "word", "date"], Meta(description="What its values are.")]
    missing: Annotated[Count, Meta(description="Rows without a value.")]
    distinct: Annotated[Count, Meta(description="Different values; of words, the categories.")]
    low: Annotated[
        float | str | None, Meta(description="The least number or date; null for words.")
    ] = None
    middle: Annotated[
        float | str | None, Meta(description="The median, of two the lower; null for words.")
    ] = None
    high: Annotated[
        float | str | None, Meta(description="The greatest number or date; null for words.")
    ] = None
    common: Annotated[
        dict[str, Count],
        Meta(description="Rows of the most frequent words, of those that occur twice or more."),
    ] = {}


class DataCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a dataset holds: rows, columns by kind, gaps, categories, target, sources.

    Made by :meth:`of_dataset` or :meth:`of_table`; it travels with results, so that a page can
    say what they are of.

    Parameters
    ----------
    name : str
        Of the data.
    n_rows : int
        Rows.
    columns : tuple of ColumnCard
        The columns learned from, in their order: name, kind, missing values, different values,
        and what is typical.
    target : str or None
        The column that is predicted.
    classes : dict of str to int
        Rows of each class; empty without a target, or if that holds numbers.
    numbers : ColumnCard or None
        The target, if it holds numbers.
    task_reason : str
        Why classes are predicted, or numbers.
    sources : dict of str to int
        Rows of each source; empty where none are known.
    notes : tuple of str
        How the file was read, what was left out, what looks odd.

    Examples
    --------
    >>> from ensemblage.datasets import DataCard, load_dataset
    >>> card = DataCard.of_dataset(load_dataset("iris"))
    >>> card.sentence
    'columns: 4 of numbers; no gaps; classes: setosa 33%, versicolor 33%, virginica 33%'
    """

    name: Annotated[str, Meta(description="Name of the data.")]
    n_rows: Annotated[Count, Meta(description="Rows.")]
    columns: Annotated[
        tuple[ColumnCard, ...], Meta(description="The columns learned from, in their order.")
    ]
    target: Annotated[str | None, Meta(description="The column that is predicted.")] = None
    classes: Annotated[
        dict[str, Count],
        Meta(description="Rows of each class; empty without a target, or if that holds numbers."),
    ] = {}
    numbers: Annotated[
        ColumnCard | None, Meta(description="The target, if it holds numbers; else null.")
    ] = None
    task_reason: Annotated[
        str, Meta(description="Why classes are predicted, or numbers; empty without a target.")
    ] = ""
    sources: Annotated[
        dict[str, Count], Meta(description="Rows of each source; empty where none are known.")
    ] = {}
    notes: Annotated[
        tuple[str, ...],
        Meta(description="How the file was read, what was left out, what looks odd."),
    ] = ()

    @classmethod
    def of_dataset(cls, dataset: Dataset) -> DataCard:
        """Describe a dataset.

        Parameters
        ----------
        dataset : Dataset
            Any.

        Returns
        -------
        DataCard
            With its columns, target, sources and notes.
        """
        columns = [
            _as_dates(column)
            if kind == DATE
            else column.astype(float)
            if kind == NUMBER
            else column
            for kind, column in zip(dataset.kinds, dataset.X.T, strict=True)
        ]
        return cls(
            name=dataset.name,
            n_rows=len(dataset.y),
            columns=_column_cards(dataset.feature_names, columns),
            target=dataset.target,
            classes=dataset.classes,
            numbers=(
                _column_card(dataset.target, dataset.y) if dataset.task is REGRESSION else None
            ),
            task_reason=dataset.task_reason,
            sources=_counts(dataset.sources),
            notes=tuple(dataset.notes),
        )

    @classmethod
    def of_table(cls, table: Table, name: str) -> DataCard:
        """Describe a table that has no target.

        Parameters
        ----------
        table : Table
            Any.
        name : str
            Of the data.

        Returns
        -------
        DataCard
            With its columns and notes.
        """
        return cls(
            name=name,
            n_rows=table.n_rows,
            columns=_column_cards(table.names, table.columns),
            notes=tuple(table.notes),
        )

    @property
    def n_missing(self) -> int:  # numpydoc ignore=RT01
        """Missing values in all columns."""
        return sum(column.missing for column in self.columns)

    @property
    def kinds(self) -> dict[str, int]:  # numpydoc ignore=RT01
        """Number of columns of each kind that there is."""
        kinds = [column.kind for column in self.columns]
        return {kind: kinds.count(kind) for kind in (NUMBER, WORD, DATE) if kind in kinds}

    @property
    def n_gappy(self) -> int:  # numpydoc ignore=RT01
        """Columns with missing values."""
        return sum(column.missing > 0 for column in self.columns)

    @property
    def class_shares(self) -> dict[str, float]:  # numpydoc ignore=RT01
        """Share of each class in the rows, the most frequent first."""
        order = sorted(self.classes, key=lambda label: -self.classes[label])
        return {label: self.classes[label] / self.n_rows for label in order}

    @property
    def number_like(self) -> bool:  # numpydoc ignore=RT01
        """Whether the target holds numbers, be they taken as such or for classes."""
        names = [*self.classes]
        return self.numbers is not None or (
            bool(names) and not any(np.isnan(parse_number(name)) for name in names)
        )

    @property
    def sentence(self) -> str:  # numpydoc ignore=RT01
        """What is in the rows, in one line."""
        kinds = [f"{number} of {kind}s" for kind, number in self.kinds.items()]
        told = [f"columns: {', '.join(kinds)}"]
        gaps = f"{count(self.n_missing, 'gap')} in {count(self.n_gappy, 'column')}"
        told.append(gaps if self.n_missing else "no gaps")
        shares = self.class_shares
        if len(shares) > MOST_CLASSES:
            low, high = _share(min(shares.values())), _share(max(shares.values()))
            spread = f"{low} each" if low == high else f"{low} to {high}"
            told.append(f"classes: {len(shares)} of {spread}")
        elif shares:
            named = [f"{label} {_share(share)}" for label, share in shares.items()]
            told.append(f"classes: {', '.join(named)}")
        if self.numbers is not None:
            told.append(f"numbers: {range_text(self.numbers)}")
        if self.sources:
            told.append(f"sources: {len(self.sources)}")
        return "; ".join(told)


def _share(share: float) -> str:
    """Write a class's share; what is rare is not nothing, and what has exceptions not all."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def range_text(card: ColumnCard) -> str:
    """Write the least, the greatest and the middle of a column of numbers or dates."""
    ends = (card.low, card.high, card.middle)
    low, high, middle = (
        write_number(each, 6) if isinstance(each, float) else str(each) for each in ends
    )
    return f"{low} to {high}, half up to {middle}"


def _column_cards(names: Sequence[str], columns: Sequence[Array]) -> tuple[ColumnCard, ...]:
    return tuple(_column_card(name, column) for name, column in zip(names, columns, strict=True))


def _column_card(name: str, column: Array) -> ColumnCard:
    missing = is_missing(column)
    known = column[~missing]
    n_missing = int(missing.sum())
    if kind_of(column) == WORD:
        found = Counter(map(str, known.tolist()))
        # of equally frequent words, the first by the alphabet; what occurs once may be a name
        order = sorted(found, key=lambda word: (-found[word], word))[:MOST_COMMON]
        common = {word: found[word] for word in order if found[word] > 1}
        return ColumnCard(name, "word", n_missing, len(found), common=common)
    if len(known) == 0:
        return ColumnCard(name, _kind(column), n_missing, 0)
    known = np.sort(known)
    distinct = 1 + int((known[1:] != known[:-1]).sum())
    places = (0, (len(known) - 1) // 2, -1)
    low, middle, high = (_written(known[place]) for place in places)
    return ColumnCard(name, _kind(column), n_missing, distinct, low, middle, high)


def _kind(column: Array) -> Literal["number", "date"]:
    return "date" if kind_of(column) == DATE else "number"


def _written(value: Any) -> float | str:
    return str(value.astype("datetime64[D]")) if isinstance(value, np.datetime64) else float(value)


def _as_dates(days: Array) -> Array:
    """Turn days since 1970 back into dates, as they were before ``as_days``."""
    days = days.astype(float)
    dates = np.full(len(days), np.datetime64("NaT", "ms"))
    known = ~np.isnan(days)
    dates[known] = np.datetime64(0, "ms") + np.round(days[known] * MILLISECONDS).astype(int)
    return dates


def _counts(labels: NDArray[np.str_] | None) -> dict[str, int]:
    if labels is None:
        return {}
    names, counts = np.unique(labels, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))
