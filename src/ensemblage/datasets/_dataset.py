"""A dataset: columns, target, task."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import count, listing, set_module, suggestion
from ensemblage.datasets._columns import Column, as_kind, read_columns
from ensemblage.datasets._table import (
    CATEGORICAL,
    DATE,
    NUMERIC,
    Table,
    days_to_dates,
    is_missing,
    kind_of,
    parse_number,
)
from ensemblage.evaluation import CLASSIFICATION, REGRESSION, TASKS, Task

Array = NDArray[Any]
Doubles = NDArray[np.float64]

# A numeric target with at most this many distinct values is treated as classification.
MAX_NUMERIC_CLASSES = 5
# So is one with at most this many distinct integers.
MAX_INTEGER_CLASSES = 20
# Share of numeric, or of unique, values from which a column is taken to be numeric or unique.
NEARLY_ALL = 0.9
# Largest absolute target: sums of weighted squares stay finite.
MAX_TARGET = 1e70
# Largest absolute feature: sums of squares stay finite in float64.
MAX_FEATURE = 1e100
# With fewer rows, all values of a column may be unique by chance.
MIN_ROWS_FOR_NOTES = 20
# Quantile bins of a numeric target, by which folds are stratified, at most.
MAX_TARGET_BINS = 10
# Rows per quantile bin, at least.
MIN_BIN_ROWS = 20
# Codes by which `dataset_fingerprint` hashes kinds; seeds of studies depend on them.
FINGERPRINT_KINDS = {NUMERIC: "number", CATEGORICAL: "word"}


def check_task(name: str | None) -> None:
    if name is not None and name not in TASKS:
        raise ValueError(
            f"`task`={name!r} is unknown.{suggestion(name, TASKS)} Expected one of: "
            f"{', '.join(TASKS)}."
        )


class Target(NamedTuple):
    """The target, a mask of the rows where it is known, the task and its reason.

    Values are class labels as text, or floats in a regression. With ``classes``, set if the target
    is read from a file in blocks, values are codes of the classes, -1 where missing.
    """

    values: Array
    known: NDArray[np.bool_]
    task: Task
    reason: str
    notes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


def read_target(table: Table, target: str, requested: str | None = None) -> Target:
    """Read the target column for the given task, which is inferred by default."""
    check_task(requested)
    if target not in table.names:
        raise ValueError(
            f"There is no target column {target!r}.{suggestion(target, table.names)} "
            f"The columns are: {listing(table.names)}."
        )
    column, written = table.column(target), table.written
    if written is not None and target not in written.names:
        written = None
    numbers = _numbers(column)
    task, reason = _task(table, target, numbers, requested)
    if task is CLASSIFICATION:
        column = column if written is None else written.column(target)
        known = ~is_missing(column)
    elif numbers is None:
        raise ValueError(_not_numeric(column, target))
    else:
        known = ~np.isnan(numbers)
    if not known.any():
        raise ValueError(f"All values of the target column {target!r} are missing.")
    if task is REGRESSION and numbers is not None:
        _check_numbers(numbers[known], target)
        return Target(numbers, known, task, reason, () if written is None else written.notes)
    labels = np.array(_texts(column[known]), dtype=str)
    if (labels == labels[0]).all():
        raise ValueError(
            f"The target column {target!r} has only one class, {str(labels[0])!r}: "
            "expected at least two."
        )
    values = np.full(len(column), "", dtype=labels.dtype)
    values[known] = labels
    return Target(values, known, task, reason)


def _numbers(column: Array) -> Doubles | None:
    """Convert a column to float64 with NaN for missing values; None if it is not numeric."""
    if kind_of(column) != CATEGORICAL:
        return column if kind_of(column) == NUMERIC else None
    found = np.array([np.nan if text is None else parse_number(str(text)) for text in column])
    return None if (np.isnan(found) != is_missing(column)).any() else found


def _task(
    table: Table, target: str, numbers: Doubles | None, requested: str | None
) -> tuple[Task, str]:
    """Infer the task, with a sentence on why."""
    if requested is not None:
        task = TASKS[requested]
        return task, f"{target!r} is treated as {task.name}, as set by `task`."
    if target in table.categories:
        return CLASSIFICATION, f"{target!r} has declared categories: treated as classification."
    if numbers is None:
        _refuse_nearly_numeric(table.column(target), target)
        return CLASSIFICATION, f"{target!r} is not numeric: treated as classification."
    known = numbers[~np.isnan(numbers)]
    distinct = np.unique(known)
    found = f"{target!r} has {len(distinct)} distinct numeric values"
    if are_classes(known, distinct):
        return CLASSIFICATION, (
            f"{found}: treated as classification; use `task` regression for a numeric target."
        )
    return REGRESSION, f"{found}: treated as regression; use `task` classification for classes."


def are_classes(known: Doubles, distinct: Doubles) -> bool:
    """Whether a numeric target is treated as classification.

    So it is with at most five distinct values, or twenty distinct integers that occur at least
    twice on average.
    """
    if len(distinct) <= MAX_NUMERIC_CLASSES:
        return True
    whole = bool((distinct == np.round(distinct)).all())
    return whole and len(distinct) <= min(MAX_INTEGER_CLASSES, len(known) / 2)


def _check_numbers(y: Doubles, target: str) -> None:
    if y.min() == y.max():
        raise ValueError(
            f"The target column {target!r} is constant ({y[0]:g}): there is nothing to predict."
        )
    largest = y[np.argmax(np.abs(y))]
    if not abs(largest) <= MAX_TARGET:
        raise ValueError(
            f"The target column {target!r} contains {largest:g}; absolute values must not exceed "
            f"{MAX_TARGET:g}: correct them, or rescale the column."
        )


def _refuse_nearly_numeric(column: Array, target: str) -> None:
    """Refuse a nearly numeric column with a few values that are not numbers."""
    if kind_of(column) != CATEGORICAL:
        return
    texts = [str(text) for text in column[~is_missing(column)]]
    others = [text for text in texts if np.isnan(parse_number(text))]
    if len(set(texts)) > MAX_INTEGER_CLASSES and 0 < len(others) <= (1 - NEARLY_ALL) * len(texts):
        raise ValueError(
            f"The target column {target!r} contains {len(texts) - len(others)} numbers and "
            f"{others[0]!r}, which is not a finite number: correct it or leave it empty, or use "
            "`task` classification."
        )


def _not_numeric(column: Array, target: str) -> str:
    if kind_of(column) == DATE:
        return (
            f"The target column {target!r} contains dates: convert them to numbers, such as days."
        )
    known = [str(text) for text in column if text is not None]
    bad = next(text for text in known if np.isnan(parse_number(text)))
    return (
        f"The target column {target!r} contains {bad!r}, which is not a finite number, and `task` "
        "is regression: correct it or leave it empty, or use classification."
    )


def _texts(column: Array) -> list[str]:
    """Format values without missing ones as text; integers without a decimal point."""
    if kind_of(column) == NUMERIC:
        return [f"{x:.0f}" if x.is_integer() else repr(x) for x in column.tolist()]
    if kind_of(column) == DATE:
        midnight = bool((column == column.astype("datetime64[D]")).all())
        return [str(day) for day in np.datetime_as_string(column, "D" if midnight else "s")]
    return [str(value) for value in column]


def fold_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that folds are stratified by: classes, or quantile bins of the target."""
    if y.dtype.kind != "f":
        return y
    n_bins = int(np.clip(len(y) // MIN_BIN_ROWS, 1, MAX_TARGET_BINS))
    inner = np.quantile(y, np.linspace(0, 1, n_bins + 1)[1:-1])
    return np.searchsorted(np.unique(inner), y, side="right")


class ColumnTypes(NamedTuple):
    """Names, kinds and declared categories (or None) of the features."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]


@set_module("ensemblage.datasets")
@dataclass(frozen=True)
class Dataset:
    """Features, target and sources for a classification or regression task.

    Parameters
    ----------
    name : str
        A short name.
    X : ndarray of shape (n_rows, n_features)
        Features: float64 with NaN for missing values, or object (float, str, None) if a column is
        categorical. Dates are days since 1970-01-01.
    y : ndarray of shape (n_rows,)
        Target: class labels as text, or float64 for regression.
    feature_names : tuple of str
        The column names of ``X``.
    kinds : tuple of {"numeric", "categorical", "date"}
        The kind of each column of ``X``.
    target : str, default="class"
        The name of the target column.
    description : str, default=""
        One sentence.
    origin : str, default=""
        Where the rows were read from.
    categories : mapping of str to tuple of str, default={}
        Declared categories, in order, including those that do not occur.
    sources : ndarray of shape (n_rows,) or (n_rows, 2), or None, default=None
        Source of each row, as text, or its outer and its inner source; not among the columns of
        ``X``.
    notes : tuple of str, default=()
        How the file was read, and what may affect results: dropped rows, duplicate rows,
        identifier columns.
    task_reason : str, default=""
        Why the task is classification or regression.
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    kinds: tuple[str, ...]
    target: str = "class"
    description: str = ""
    origin: str = ""
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: NDArray[np.str_] | None = None
    notes: tuple[str, ...] = ()
    task_reason: str = ""

    @property
    def task(self) -> Task:  # numpydoc ignore=RT01
        """The task: regression if ``y`` is of dtype float, else classification."""
        return REGRESSION if self.y.dtype.kind == "f" else CLASSIFICATION

    @property
    def columns(self) -> ColumnTypes:  # numpydoc ignore=RT01
        """The ``names``, ``kinds`` and declared ``categories`` of the features."""
        declared = tuple(self.categories.get(name) for name in self.feature_names)
        return ColumnTypes(self.feature_names, self.kinds, declared)

    @property
    def classes(self) -> dict[str, int]:  # numpydoc ignore=RT01
        """Number of rows per class, sorted by label; empty for regression."""
        if self.task is REGRESSION:
            return {}
        labels, counts = np.unique(self.y, return_counts=True)
        return dict(zip(labels.tolist(), counts.tolist(), strict=True))

    @property
    def outer_sources(self) -> NDArray[np.str_] | None:  # numpydoc ignore=RT01
        """Source of each row, the outer one if sources are nested."""
        nested = self.sources is not None and self.sources.ndim == 2
        return self.sources[:, 0] if nested else self.sources  # type: ignore[index]

    @property
    def source_labels(self) -> NDArray[np.str_] | None:  # numpydoc ignore=RT01
        """Source of each row as one text, ``outer / inner`` if sources are nested."""
        if self.sources is None or self.sources.ndim == 1:
            return self.sources
        return np.array([" / ".join(each) for each in self.sources.tolist()], dtype=str)

    @property
    def max_folds(self) -> int:  # numpydoc ignore=RT01
        """Largest number of folds: rows of the largest class, or half of all rows in regression."""
        return max(self.classes.values(), default=len(self.y) // 2)

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
        source: str | Sequence[str] | None = None,
        task: str | None = None,
    ) -> Dataset:
        """Split a table into features and target.

        Parameters
        ----------
        table : Table
            The table, including the target column.
        target : str
            The target column. Rows where it is missing are dropped.
        name : str, default="data"
            A short name.
        description : str, default=""
            One sentence.
        origin : str, default=""
            Where the table was read from.
        drop : sequence of str, default=()
            Columns to drop, for example identifiers.
        source : str or sequence of str, default=None
            The column with the source of each row, or two columns if sources are nested, the outer
            one first; they are not used as features.
        task : {"classification", "regression"}, default=None
            The task. By default it is classification if the target is not numeric, has at most
            five distinct values, or has at most twenty distinct integers that occur at least twice
            on average; else regression.

        Returns
        -------
        Dataset
            With notes on dropped rows, duplicate rows and identifier columns.

        Examples
        --------
        >>> from ensemblage.datasets import Dataset, Table
        >>> table = Table.from_texts(["age", "job"], [["31", "", "52"], ["cook", "cook", "smith"]])
        >>> Dataset.from_table(table, target="job").classes
        {'cook': 2, 'smith': 1}
        """
        predicted = read_target(table, target, task)
        available = set(table.names)
        for each in (each for each in drop if each not in available):
            table.column(each)  # raises an error
        levels = [source] if isinstance(source, str) else list(source or ())
        others = {target, *levels, *drop}
        names = [each for each in table.names if each not in others]
        if not names:
            raise ValueError(f"There are no features: the only column is the target {target!r}.")
        known, y = predicted.known, predicted.values[predicted.known]
        features = table.select(names).take(known)
        X, kinds = features.to_array(), features.kinds
        _check_magnitudes(features)
        # missing values included
        if all(_codes(column).max(initial=0) == 0 for column in features.columns):
            raise ValueError(
                f"Every column except the target {target!r} is constant: there is nothing to learn."
            )
        n_missing = int((~known).sum())
        sources = _source_names(table.take(known), levels, target, drop) if levels else None
        missing = f"Rows with a missing value of {target!r}, left out: {n_missing}."
        notes = [missing] if n_missing else []
        return cls(
            name=name, X=X, y=y, feature_names=features.names, kinds=kinds, target=target,
            description=description, origin=origin, categories=dict(table.categories),
            sources=sources, task_reason=predicted.reason,
            notes=(
                *table.notes, *predicted.notes, *notes, *_row_notes(features, y),
                *column_notes(features),
            ),
        )  # fmt: skip

    @classmethod
    def from_arrays(
        cls, X: Any, y: Any = None, *, sources: Any = None, task: str | None = None
    ) -> Dataset:
        """Make a dataset from features and target.

        Parameters
        ----------
        X : dataframe, array-like of shape (n_rows, n_features) or Dataset
            The features; a Dataset is returned unchanged.
        y : array-like of shape (n_rows,), default=None
            The target; not needed if ``X`` is a Dataset.
        sources : array-like of shape (n_rows,) or (n_rows, 2), default=None
            The source of each row, or its outer and its inner source.
        task : {"classification", "regression"}, default=None
            By default inferred from ``y``, see :meth:`from_table`.

        Returns
        -------
        Dataset
            With notes on duplicate rows and identifier columns.

        Examples
        --------
        >>> from ensemblage.datasets import Dataset
        >>> Dataset.from_arrays([[1, 2], [3, 5], [4, 4]], ["a", "b", "a"]).classes
        {'a': 2, 'b': 1}
        """
        if isinstance(X, Dataset):
            if y is not None or sources is not None or task not in {None, X.task.name}:
                raise TypeError(
                    "A Dataset has its own target and sources: do not pass `y`, `sources`, "
                    "`groups` or `task`, and pass methods as `methods`."
                )
            return X
        if y is None:
            raise TypeError("`y` is None: the target is required unless `X` is a Dataset.")
        columns = _columns(X)
        names = [each.name for each in columns]
        target, *levels = (_unused(name, names) for name in ("class", "source", "inner source"))
        given = [_one_column(y, target)]
        if np.ndim(sources) == 2 and np.shape(sources)[1] == 2:
            both = np.asarray(sources, dtype=object).T
            given += [_one_column(column, name) for column, name in zip(both, levels, strict=True)]
        elif sources is not None:
            given.append(_one_column(sources, levels[0]))
        for each in given:
            if each.n_rows != columns[0].n_rows:
                raise ValueError(
                    f"`X` has {count(columns[0].n_rows, 'row')}, but the {each.name} has "
                    f"{each.n_rows}: expected the same number."
                )
        return cls.from_table(
            _table([*columns, *given]), target, name="the rows",
            source=[each.name for each in given[1:]], task=task,
        )  # fmt: skip


def align_columns(
    table: Table, columns: Sequence[str], target: str | None, ignored: Collection[str]
) -> Table:
    """Select the columns of new rows that a model was fitted on."""
    available, expected = set(table.names), {*columns, target, *ignored}
    absent = [name for name in columns if name not in available]
    extra = [name for name in table.names if name not in expected]
    if absent:
        raise ValueError(
            f"Columns that the model requires are missing: {listing(absent)}."
            f"{suggestion(absent[0], extra)}"
        )
    if extra:
        raise ValueError(
            f"Columns that the model was not fitted on: {listing(extra)}."
            f"{suggestion(extra[0], columns)} Remove them from the file, or drop them in training."
        )
    features = table.select(columns)
    _check_magnitudes(features)
    return features


def _source_names(table: Table, levels: Sequence[str], target: str, drop: Sequence[str]) -> Array:
    """Read the source of each row, or its outer and its inner source, as text."""
    if len(levels) > 2:
        raise ValueError(
            f"{len(levels)} source columns are given ({listing(map(repr, levels))}): give one, or "
            "two if sources are nested, the outer one first."
        )
    if len(set(levels)) < len(levels):
        raise ValueError(
            f"The source column {levels[0]!r} is given twice: give it once, or for nested sources "
            "two columns, the outer one first."
        )
    found = []
    for source in levels:
        if source == target:
            raise ValueError(f"The column {source!r} cannot be both target and source.")
        if source in drop:
            raise ValueError(
                f"The column {source!r} is both the source and dropped: leave it out of `drop`; a "
                "source is not a feature."
            )
        column = table.column(source)
        n_missing = int(is_missing(column).sum())
        if n_missing:
            raise ValueError(
                f"The source column {source!r} has {count(n_missing, 'missing value')}: assign "
                "these rows to a source, or drop them."
            )
        found.append(np.array(_texts(column), dtype=str))
    return found[0] if len(found) == 1 else np.column_stack(found)


def _check_magnitudes(features: Table) -> None:
    """Refuse values whose squares would overflow."""
    for name, column in zip(features.names, features.columns, strict=True):
        if kind_of(column) == NUMERIC and np.nanmax(np.abs(column), initial=0.0) > MAX_FEATURE:
            raise ValueError(
                f"Column {name!r} contains {column[np.nanargmax(np.abs(column))]:g}; absolute "
                f"values must not exceed {MAX_FEATURE:g}: correct them, or rescale the column."
            )


def _row_notes(features: Table, y: Array) -> Iterator[str]:
    codes = [np.unique(y, return_inverse=True)[1]]
    codes += [_codes(column) for column in features.columns]
    repeated = len(y) - len(np.unique(np.column_stack(codes), axis=0))
    if repeated:
        yield (
            f"{repeated} of {len(y)} rows {'is a' if repeated == 1 else 'are'} duplicate"
            f"{'s' * (repeated > 1)}; duplicates across training and test folds inflate scores."
        )


def _codes(column: Array) -> NDArray[np.intp]:
    """Encode values as integers; missing values share a code."""
    if kind_of(column) != CATEGORICAL:
        return np.unique(column, return_inverse=True)[1]
    texts = ["" if value is None else f"={value}" for value in column]
    return np.unique(texts, return_inverse=True)[1]


def column_notes(features: Table) -> list[str]:
    """Return one sentence per row index, identifier and nearly numeric column."""
    if features.n_rows < MIN_ROWS_FOR_NOTES:
        return []
    named = zip(features.names, features.columns, strict=True)
    return [text for name, column in named for text in _column_notes(name, column)]


def _column_notes(name: str, column: Array) -> Iterator[str]:
    if kind_of(column) == NUMERIC:
        if np.array_equal(column - column[0], np.arange(len(column))):
            yield f"Column {name!r} is a row index: drop it unless it is meaningful."
        return
    if kind_of(column) == DATE:
        return
    values = column[~is_missing(column)].tolist()
    others = [value for value in values if np.isnan(parse_number(value))]
    if 0 < len(others) <= (1 - NEARLY_ALL) * len(values):
        yield f"Column {name!r} is categorical because {others[0]!r} is not a number."
    elif len(set(values)) > NEARLY_ALL * len(values):
        yield f"Column {name!r} looks like an identifier: nearly all values are unique."


def dataset_fingerprint(dataset: Dataset) -> str:
    """Hash the values, target, sources, kinds and declared categories of a dataset.

    Name, origin and notes are ignored: the same rows from a file and from the network have the same
    hash.
    """
    categories = {name: list(values) for name, values in dataset.categories.items()}
    kinds = [FINGERPRINT_KINDS.get(kind, kind) for kind in dataset.kinds]
    facts = [list(dataset.X.shape), list(dataset.feature_names), kinds, categories]
    digest = hashlib.sha256(_json_bytes(facts))
    for kind, column in zip(dataset.kinds, dataset.X.T, strict=True):
        if kind == CATEGORICAL:
            digest.update(_json_bytes(column.tolist()))
        else:
            numbers = column.astype("<f8")
            # all NaN bit patterns are the same missing value
            digest.update(np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes())
    digest.update(_json_bytes(np.asarray(dataset.y).tolist()))
    if dataset.sources is not None:
        digest.update(_json_bytes(np.asarray(dataset.sources).tolist()))
    return digest.hexdigest()


def _json_bytes(values: object) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def frame_table(frame: Any, kinds: Mapping[str | None, str]) -> Table:
    """Convert a dataframe to a table, with the given kinds."""
    columns = [as_kind(each, kinds.get(each.name)) for each in _columns(frame)]
    return _table(columns)


def _columns(X: Any) -> list[Column]:
    if hasattr(X, "columns"):
        return read_columns(X, [str(name) for name in X.columns])
    rows = np.asarray(X)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(
            f"`X` must be two-dimensional and not empty, got an array of shape {rows.shape}."
        )
    return read_columns(rows, [f"x{j}" for j in range(rows.shape[1])])


def _one_column(values: Any, name: str) -> Column:
    flat = np.asarray(values)
    if flat.size != len(flat):
        raise ValueError(f"Expected one {name} per row, got an array of shape {flat.shape}.")
    return read_columns(flat.reshape(-1, 1), [name])[0]


def _table(columns: Sequence[Column]) -> Table:
    declared = {
        each.name: tuple(map(str, each.declared)) for each in columns if each.declared is not None
    }
    return Table(tuple(each.name for each in columns), tuple(map(_table_column, columns)), declared)


def _table_column(column: Column) -> NDArray[Any]:
    if column.is_date:
        return days_to_dates(column.as_numbers())
    if column.numbers is not None:
        return column.numbers
    values = np.empty(column.n_rows, dtype=object)
    values[:] = [None if x is None else str(x) for x in column.as_categories().values or ()]
    return values


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
