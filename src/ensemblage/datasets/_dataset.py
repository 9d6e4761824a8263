"""A dataset: features, classes, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.datasets._notes import is_constant, table_notes
from ensemblage.datasets._table import (
    NUMBER,
    Column,
    Table,
    is_missing,
    kind_of,
    parse_number,
)
from ensemblage.messages import listing, suggestion

# Above so many different numbers a target is looked at more closely.
MANY_NUMBERS = 20
# Squares and sums of squares must stay finite in float64.
LARGEST = 1e100


@dataclass(frozen=True)
class Dataset:
    """Rows to learn from.

    Parameters
    ----------
    name : str
        A short name.
    X : ndarray of shape (n_rows, n_features)
        Numbers with NaN for missing; or objects (float, str, None) if a column holds words.
    y : ndarray of shape (n_rows,)
        The class of each row, as text.
    feature_names : tuple of str
        The column names of ``X``.
    kinds : tuple of {"number", "word"}
        The kind of each column of ``X``.
    target : str, default="class"
        The name of the column that ``y`` was.
    description : str, default=""
        One sentence.
    origin : str, default=""
        Where the rows were read from.
    categories : mapping of str to tuple of str, default={}
        Declared categories, in their order, also those that never occur.
    sources : ndarray of shape (n_rows,) or None, default=None
        Where each row comes from, as text; not among the columns of ``X``.
    notes : tuple of str, default=()
        What a reader of results should know: rows left out, rows repeated, odd columns.
    """

    name: str
    X: NDArray[Any]
    y: NDArray[np.str_]
    feature_names: tuple[str, ...]
    kinds: tuple[str, ...]
    target: str = "class"
    description: str = ""
    origin: str = ""
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: NDArray[np.str_] | None = None
    notes: tuple[str, ...] = ()

    @property
    def classes(self) -> dict[str, int]:  # numpydoc ignore=RT01
        """Number of rows per class, in the order of the labels."""
        labels, counts = np.unique(self.y, return_counts=True)
        return dict(zip(labels.tolist(), counts.tolist(), strict=True))

    @classmethod
    def from_table(
        cls,
        table: Table,
        target: str,
        *,
        name: str = "data",
        description: str = "",
        origin: str = "",
        drop: Sequence[str] = (),
        source: str | None = None,
    ) -> Dataset:
        """Split a table into features and classes.

        Parameters
        ----------
        table : Table
            The table with the target column in it.
        target : str
            The column to predict. Rows without a value there are left out.
        name : str, default="data"
            A short name.
        description : str, default=""
            One sentence.
        origin : str, default=""
            Where the table was read from.
        drop : sequence of str, default=()
            Columns to leave out, for example identifiers.
        source : str, default=None
            A column that tells where each row comes from; it is not learned from as a column.

        Returns
        -------
        Dataset
            With notes on what was left out or looks odd.

        Examples
        --------
        >>> from ensemblage.datasets import Dataset, Table
        >>> table = Table.from_texts(["age", "job"], [["31", "", "52"], ["cook", "cook", "smith"]])
        >>> Dataset.from_table(table, target="job").classes
        {'cook': 2, 'smith': 1}
        """
        labels = _target_column(table, target)
        for each in drop:
            table.column(each)
        names = [each for each in table.names if each not in {target, source, *drop}]
        if not names:
            raise ValueError(f"There is no column beside the target {target!r} to learn from.")
        known = ~is_missing(labels)
        y = np.array(_texts(labels[known]), dtype=str)
        _check_classes(y, target)
        features = table.select(names).take(known)
        check_magnitudes(features)
        if all(is_constant(column) for column in features.columns):
            raise ValueError(f"Every column beside {target!r} is constant: nothing can be learned.")
        left_out = int((~known).sum())
        sources = None if source is None else _source_names(table, source, target)[known]
        notes = [f"Rows without a value of {target!r}, left out: {left_out}."] if left_out else []
        return cls(
            name=name, X=features.to_array(), y=y,
            feature_names=features.names, kinds=features.kinds, target=target,
            description=description, origin=origin, categories=dict(table.categories),
            sources=sources, notes=(*notes, *table_notes(features, y)),
        )  # fmt: skip


def _target_column(table: Table, target: str) -> Column:
    if target not in table.names:
        raise ValueError(
            f"There is no target column {target!r}.{suggestion(target, table.names)} "
            f"The columns are: {listing(table.names)}."
        )
    return table.column(target)


def _source_names(table: Table, source: str, target: str) -> Column:
    if source == target:
        raise ValueError(f"The column {source!r} cannot be both target and source.")
    column = table.column(source)
    if is_missing(column).any():
        raise ValueError(
            f"The source column {source!r} has {int(is_missing(column).sum())} missing values: "
            "give those rows a source of their own, or leave them out."
        )
    return np.array(_texts(column), dtype=str)


def _texts(column: Column) -> list[str]:
    if kind_of(column) == NUMBER:
        return [f"{x:.0f}" if x.is_integer() else repr(x) for x in column.tolist()]
    return [str(value) for value in column]


def _check_classes(y: Column, target: str) -> None:
    labels = np.unique(y)
    if len(labels) == 0:
        raise ValueError(f"The target column {target!r} has no values.")
    if len(labels) == 1:
        raise ValueError(
            f"The target column {target!r} has only one class, {str(labels[0])!r}: "
            "at least two are needed."
        )
    if len(labels) <= MANY_NUMBERS:
        return
    numbers = np.array([parse_number(label) for label in labels.tolist()])
    fractions = bool((numbers != np.round(numbers)).any())
    if not np.isnan(numbers).any() and (fractions or len(labels) > len(y) / 10):
        raise ValueError(
            f"The target column {target!r} holds {len(labels)} different numbers, which looks "
            "like a quantity to estimate, but classes are predicted here: "
            "choose another column, or group the numbers into classes first."
        )


def check_magnitudes(features: Table) -> None:
    """Refuse numbers whose squares would overflow."""
    for name, column in zip(features.names, features.columns, strict=True):
        if kind_of(column) == NUMBER and np.nanmax(np.abs(column), initial=0.0) > LARGEST:
            raise ValueError(
                f"Column {name!r} holds {column[np.nanargmax(np.abs(column))]:g}; numbers beyond "
                f"{LARGEST:g} cannot be scaled: correct them, or divide the column."
            )
