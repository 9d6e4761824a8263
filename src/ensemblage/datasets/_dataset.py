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

# Up to so many different numbers are classes, whatever they are.
FEW = 5
# More different numbers than these are no classes.
MANY = 20
# A column of which this share are numbers, or different, is meant to be so.
NEARLY_ALL = 0.9
# Squares of such targets, summed over all rows, are still finite, also times a weight.
LARGEST_TARGET = 1e70
# Squares and sums of squares of features must stay finite in float64.
LARGEST = 1e100
# With fewer rows, all values of a column may well differ by chance.
ENOUGH_ROWS = 20
# Folds of a regression have targets of every tenth; ...
N_PARTS = 10
# ... where rows are few, of fewer parts of so many rows.
PART_ROWS = 20
# `dataset_fingerprint` hashes kinds by these codes, which seeds of studies depend on.
FINGERPRINT_KINDS = {NUMERIC: "number", CATEGORICAL: "word"}


def check_task(name: str | None) -> None:
    if name is not None and name not in TASKS:
        raise ValueError(
            f"`task`={name!r} is not known.{suggestion(name, TASKS)} It must be one of: "
            f"{', '.join(TASKS)}."
        )


class Target(NamedTuple):
    """What is to be predicted of each row, the rows where it is known, the task and its reason.

    Values are texts, or numbers in a regression. With ``classes``, as a target has that is read
    from a file in blocks, they are codes among these, -1 where missing.
    """

    values: Array
    known: NDArray[np.bool_]
    task: Task
    reason: str
    notes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


def read_target(table: Table, target: str, asked: str | None = None) -> Target:
    """Take a column for classes or for numbers, as asked or else by what it holds."""
    check_task(asked)
    if target not in table.names:
        raise ValueError(
            f"There is no target column {target!r}.{suggestion(target, table.names)} "
            f"The columns are: {listing(table.names)}."
        )
    column, written = table.column(target), table.written
    if written is not None and target not in written.names:
        written = None
    numbers = _numbers(column)
    task, reason = _task(table, target, numbers, asked)
    if task is CLASSIFICATION:
        column = column if written is None else written.column(target)
        known = ~is_missing(column)
    elif numbers is None:
        raise ValueError(_no_number(column, target))
    else:
        known = ~np.isnan(numbers)
    if not known.any():
        raise ValueError(f"The target column {target!r} has no values.")
    if task is REGRESSION and numbers is not None:
        _check_numbers(numbers[known], target)
        return Target(numbers, known, task, reason, () if written is None else written.notes)
    labels = np.array(_texts(column[known]), dtype=str)
    if (labels == labels[0]).all():
        raise ValueError(
            f"The target column {target!r} has only one class, {str(labels[0])!r}: "
            "at least two are needed."
        )
    values = np.full(len(column), "", dtype=labels.dtype)
    values[known] = labels
    return Target(values, known, task, reason)


def _numbers(column: Array) -> Doubles | None:
    """Give the column as numbers, NaN for missing; None where it holds anything else."""
    if kind_of(column) != CATEGORICAL:
        return column if kind_of(column) == NUMERIC else None
    found = np.array([np.nan if text is None else parse_number(str(text)) for text in column])
    return None if (np.isnan(found) != is_missing(column)).any() else found


def _task(
    table: Table, target: str, numbers: Doubles | None, asked: str | None
) -> tuple[Task, str]:
    """Decide, with a sentence: text and few numbers are classes."""
    if asked is not None:
        task = TASKS[asked]
        return task, f"{target!r} is predicted as {task.targets}, as `task` asks."
    if target in table.categories:
        return CLASSIFICATION, f"{target!r} has declared categories: treated as classification."
    if numbers is None:
        _refuse_spoilt(table.column(target), target)
        return CLASSIFICATION, f"{target!r} holds no numbers: treated as classification."
    known = numbers[~np.isnan(numbers)]
    different = np.unique(known)
    holds = f"{target!r} holds {len(different)} different numbers"
    if are_classes(known, different):
        return CLASSIFICATION, f"{holds}, few enough for classes; set `task` to override."
    return REGRESSION, f"{holds}, treated as regression; set `task` to override."


def are_classes(known: Doubles, different: Doubles) -> bool:
    """Take numbers for classes if they are few.

    That is five different ones at most, or twenty whole ones that occur twice or more on average.
    """
    if len(different) <= FEW:
        return True
    whole = bool((different == np.round(different)).all())
    return whole and len(different) <= min(MANY, len(known) / 2)


def _check_numbers(y: Doubles, target: str) -> None:
    if y.min() == y.max():
        raise ValueError(
            f"The target column {target!r} holds only one number, {y[0]:g}: there is nothing to "
            "predict."
        )
    largest = y[np.argmax(np.abs(y))]
    if not abs(largest) <= LARGEST_TARGET:
        raise ValueError(
            f"The target column {target!r} holds {largest:g}; numbers beyond {LARGEST_TARGET:g} "
            "cannot be squared and summed: correct them, or divide the column."
        )


def _refuse_spoilt(column: Array, target: str) -> None:
    """Refuse a column of many numbers in which a few values are none."""
    if kind_of(column) != CATEGORICAL:
        return
    texts = [str(text) for text in column[~is_missing(column)]]
    others = [text for text in texts if np.isnan(parse_number(text))]
    if len(set(texts)) > MANY and 0 < len(others) <= (1 - NEARLY_ALL) * len(texts):
        raise ValueError(
            f"The target column {target!r} holds {len(texts) - len(others)} numbers and "
            f"{others[0]!r}, which is not a finite number: correct it or leave it empty, or ask "
            "for classes by `task`."
        )


def _no_number(column: Array, target: str) -> str:
    if kind_of(column) == DATE:
        return f"The target column {target!r} holds dates: count days from one of them first."
    known = [str(text) for text in column if text is not None]
    bad = next(text for text in known if np.isnan(parse_number(text)))
    return (
        f"The target column {target!r} holds {bad!r}, which is not a finite number, and `task` "
        "asks for numbers: correct it or leave it empty, or predict classes."
    )


def _texts(column: Array) -> list[str]:
    """Write a column's values, none of them missing: whole numbers without a point."""
    if kind_of(column) == NUMERIC:
        return [f"{x:.0f}" if x.is_integer() else repr(x) for x in column.tolist()]
    if kind_of(column) == DATE:
        midnight = bool((column == column.astype("datetime64[D]")).all())
        return [str(day) for day in np.datetime_as_string(column, "D" if midnight else "s")]
    return [str(value) for value in column]


def fold_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Give what folds and samples of rows are stratified by: classes, or tenths of the numbers."""
    if y.dtype.kind != "f":
        return y
    n_parts = int(np.clip(len(y) // PART_ROWS, 1, N_PARTS))
    inner = np.quantile(y, np.linspace(0, 1, n_parts + 1)[1:-1])
    return np.searchsorted(np.unique(inner), y, side="right")


class ColumnTypes(NamedTuple):
    """What is known of the columns to learn from; ``categories`` are those declared, or None."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]


@set_module("ensemblage.datasets")
@dataclass(frozen=True)
class Dataset:
    """Rows to learn from.

    Parameters
    ----------
    name : str
        A short name.
    X : ndarray of shape (n_rows, n_features)
        Numbers with NaN for missing; or objects (float, str, None) if a column is categorical.
        Dates are days since 1970-01-01.
    y : ndarray of shape (n_rows,)
        The class of each row, as text, or the number to predict, as float64.
    feature_names : tuple of str
        The column names of ``X``.
    kinds : tuple of {"numeric", "categorical", "date"}
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
        What a reader of results should know: how the file was read, rows left out, rows
        repeated, odd columns.
    task_reason : str, default=""
        Why it is classification or regression.
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
        """What is predicted: regression if ``y`` holds floats, else classification."""
        return REGRESSION if self.y.dtype.kind == "f" else CLASSIFICATION

    @property
    def columns(self) -> ColumnTypes:  # numpydoc ignore=RT01
        """What a model is made for: ``names``, ``kinds`` and ``categories`` of the columns."""
        declared = tuple(self.categories.get(name) for name in self.feature_names)
        return ColumnTypes(self.feature_names, self.kinds, declared)

    @property
    def classes(self) -> dict[str, int]:  # numpydoc ignore=RT01
        """Number of rows per class, in the order of the labels; empty for regression."""
        if self.task is REGRESSION:
            return {}
        labels, counts = np.unique(self.y, return_counts=True)
        return dict(zip(labels.tolist(), counts.tolist(), strict=True))

    @property
    def most_folds(self) -> int:  # numpydoc ignore=RT01
        """So many folds can be drawn: the rows of the largest class, or half of all for numbers."""
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
        source: str | None = None,
        task: str | None = None,
    ) -> Dataset:
        """Split a table into features and what is to be predicted.

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
            ColumnTypes to leave out, for example identifiers.
        source : str, default=None
            A column that tells where each row comes from; it is not learned from as a column.
        task : {"classification", "regression"}, default=None
            Whether the target holds classes or numbers. By default text is a class, and so are
            numbers of which there are few: five different ones at most, or twenty whole ones that
            occur twice or more on average.

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
        predicted = read_target(table, target, task)
        at_hand = set(table.names)
        for each in (each for each in drop if each not in at_hand):
            table.column(each)  # says that there is none
        others = {target, source, *drop}
        names = [each for each in table.names if each not in others]
        if not names:
            raise ValueError(f"There is no column beside the target {target!r} to learn from.")
        known, y = predicted.known, predicted.values[predicted.known]
        features = table.select(names).take(known)
        X, kinds = features.to_array(), features.kinds
        _check_magnitudes(features)
        # missing values included
        if all(_codes(column).max(initial=0) == 0 for column in features.columns):
            raise ValueError(f"Every column beside {target!r} is constant: nothing can be learned.")
        left_out = int((~known).sum())
        sources = None if source is None else _source_names(table, source, target)[known]
        notes = [f"Rows without a value of {target!r}, left out: {left_out}."] if left_out else []
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
        """Make a dataset of rows and their target.

        Parameters
        ----------
        X : dataframe, array-like of shape (n_rows, n_features) or Dataset
            The rows; a Dataset is given back as it is.
        y : array-like of shape (n_rows,), default=None
            The class or number of each row; not needed if ``X`` is a Dataset.
        sources : array-like of shape (n_rows,), default=None
            Where each row comes from.
        task : {"classification", "regression"}, default=None
            By default the values of ``y`` decide, see :meth:`from_table`.

        Returns
        -------
        Dataset
            With notes on what looks odd.

        Examples
        --------
        >>> from ensemblage.datasets import Dataset
        >>> Dataset.from_arrays([[1, 2], [3, 5], [4, 4]], ["a", "b", "a"]).classes
        {'a': 2, 'b': 1}
        """
        if isinstance(X, Dataset):
            if y is not None or sources is not None or task not in {None, X.task.name}:
                raise TypeError(
                    f"A Dataset has its own {X.task.targets} and sources: leave out `y`, "
                    "`sources`, `groups` and `task`, and give methods by `methods`."
                )
            return X
        if y is None:
            raise TypeError(
                "`y`, the class or number of each row, is needed unless `X` is a Dataset."
            )
        columns = _columns(X)
        names = [each.name for each in columns]
        target, source = (_unused(name, names) for name in ("class", "source"))
        beside = [_one_column(y, target)]
        beside += [] if sources is None else [_one_column(sources, source)]
        for each in beside:
            if each.n_rows != columns[0].n_rows:
                raise ValueError(
                    f"`X` has {count(columns[0].n_rows, 'row')}, but there is a {each.name} for "
                    f"{each.n_rows}."
                )
        return cls.from_table(
            _table([*columns, *beside]), target, name="the rows",
            source=None if sources is None else source, task=task,
        )  # fmt: skip


def align_columns(
    table: Table, columns: Sequence[str], target: str | None, ignored: Collection[str]
) -> Table:
    """Give the columns of new rows that a model was fitted on, as a table."""
    at_hand, expected = set(table.names), {*columns, target, *ignored}
    absent = [name for name in columns if name not in at_hand]
    extra = [name for name in table.names if name not in expected]
    if absent:
        raise ValueError(
            f"The model needs columns that are not there: {listing(absent)}."
            f"{suggestion(absent[0], extra)}"
        )
    if extra:
        raise ValueError(
            f"There are columns that the model does not know: {listing(extra)}."
            f"{suggestion(extra[0], columns)} Leave them out of the file, or out of the training."
        )
    features = table.select(columns)
    _check_magnitudes(features)
    return features


def _source_names(table: Table, source: str, target: str) -> Array:
    if source == target:
        raise ValueError(f"The column {source!r} cannot be both target and source.")
    column = table.column(source)
    if is_missing(column).any():
        raise ValueError(
            f"The source column {source!r} has {int(is_missing(column).sum())} missing values: "
            "give those rows a source of their own, or leave them out."
        )
    return np.array(_texts(column), dtype=str)


def _check_magnitudes(features: Table) -> None:
    """Refuse numbers whose squares would overflow."""
    for name, column in zip(features.names, features.columns, strict=True):
        if kind_of(column) == NUMERIC and np.nanmax(np.abs(column), initial=0.0) > LARGEST:
            raise ValueError(
                f"Column {name!r} holds {column[np.nanargmax(np.abs(column))]:g}; numbers beyond "
                f"{LARGEST:g} cannot be scaled: correct them, or divide the column."
            )


def _row_notes(features: Table, y: Array) -> Iterator[str]:
    codes = [np.unique(y, return_inverse=True)[1]]
    codes += [_codes(column) for column in features.columns]
    repeated = len(y) - len(np.unique(np.column_stack(codes), axis=0))
    if repeated:
        yield (
            f"{repeated} of the {len(y)} rows {'repeats' if repeated == 1 else 'repeat'} another "
            "row; duplicates across training and test rows inflate scores."
        )


def _codes(column: Array) -> NDArray[np.intp]:
    """Give each value a number, equal ones the same, missing ones included."""
    if kind_of(column) != CATEGORICAL:
        return np.unique(column, return_inverse=True)[1]
    texts = ["" if value is None else f"={value}" for value in column]
    return np.unique(texts, return_inverse=True)[1]


def column_notes(features: Table) -> list[str]:
    """Say in one sentence per finding what looks odd about the columns."""
    if features.n_rows < ENOUGH_ROWS:
        return []
    named = zip(features.names, features.columns, strict=True)
    return [text for name, column in named for text in _column_notes(name, column)]


def _column_notes(name: str, column: Array) -> Iterator[str]:
    if kind_of(column) == NUMERIC:
        if np.array_equal(column - column[0], np.arange(len(column))):
            yield f"Column {name!r} is a row index: leave it out unless it means something."
        return
    if kind_of(column) == DATE:
        return
    values = column[~is_missing(column)].tolist()
    others = [value for value in values if np.isnan(parse_number(value))]
    if 0 < len(others) <= (1 - NEARLY_ALL) * len(values):
        yield f"Column {name!r} is categorical because {others[0]!r} is not a number."
    elif len(set(values)) > NEARLY_ALL * len(values):
        yield f"Nearly every value of {name!r} is different: it looks like an identifier."


def dataset_fingerprint(dataset: Dataset) -> str:
    """Hash what a method sees of a dataset: values, target, kinds and declared categories.

    Name, origin and notes do not count: the same rows from a file and from the network are the
    same data.
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
            # a missing value is missing, whatever its bits
            digest.update(np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes())
    digest.update(_json_bytes(np.asarray(dataset.y).tolist()))
    if dataset.sources is not None:
        digest.update(_json_bytes(np.asarray(dataset.sources).tolist()))
    return digest.hexdigest()


def _json_bytes(values: object) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def frame_table(frame: Any, kinds: Mapping[str | None, str]) -> Table:
    """Make a table of a frame, its columns of the kinds that are known."""
    columns = [as_kind(each, kinds.get(each.name)) for each in _columns(frame)]
    return _table(columns)


def _columns(X: Any) -> list[Column]:
    if hasattr(X, "columns"):
        return read_columns(X, [str(name) for name in X.columns])
    rows = np.asarray(X)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"`X` must have rows and columns, got an array of shape {rows.shape}.")
    return read_columns(rows, [f"x{j}" for j in range(rows.shape[1])])


def _one_column(values: Any, name: str) -> Column:
    flat = np.asarray(values)
    if flat.size != len(flat):
        raise ValueError(f"One {name} per row is needed, got an array of shape {flat.shape}.")
    return read_columns(flat.reshape(-1, 1), [name])[0]


def _table(columns: Sequence[Column]) -> Table:
    declared = {
        each.name: tuple(map(str, each.declared)) for each in columns if each.declared is not None
    }
    return Table(tuple(each.name for each in columns), tuple(map(_table_column, columns)), declared)


def _table_column(column: Column) -> NDArray[Any]:
    if column.dated:
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
