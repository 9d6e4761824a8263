"""Coding of columns as discrete nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length

from ensemblage._core import (
    expect,
    expect_fitted,
    listing,
    read_weights,
    refuse_missing_targets,
    run_tasks,
    set_module,
)
from ensemblage.bayes._discretizer_kernels import bin_numbers, mdlp_cut_points
from ensemblage.bayes._score_kernels import CLASS, NO_EXTRA, Nodes
from ensemblage.bayes._table_kernels import CodedColumn, refine
from ensemblage.datasets import MISSING_CODE, Column, per_column, read_features

Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]

MAX_ENTRIES = 2**24
"""Default of the maximal number of entries of a table."""
MAX_CACHED_ROWS = 2**22
"""Maximal number of rows, over all sets of parents, whose configurations are cached."""
MIN_COMPILED_ROWS = 2**12
"""Number of rows from which numbers are binned by a compiled kernel."""


@set_module("ensemblage.bayes")
class ProbabilityTable(NamedTuple):
    """A node's distribution for each configuration of its parents.

    Parameters
    ----------
    parents : list of str
        Names of the parents.
    configurations : ndarray of shape (n_configurations, n_parents)
        Indices of the parents' states. A configuration that is not listed is uniform.
    probabilities : ndarray of shape (n_configurations, n_states)
        One distribution per configuration.
    """

    parents: list[str]
    configurations: NDArray[np.int32]
    probabilities: NDArray[np.float64]

    def given(self, states: NDArray[np.int64]) -> NDArray[np.float64]:
        """Look up the distribution of each row.

        Parameters
        ----------
        states : ndarray of shape (n_rows, n_parents)
            Indices of the parents' states.

        Returns
        -------
        ndarray of shape (n_rows, n_states)
            Probabilities, up to a factor per row.
        """
        known = np.asarray(self.configurations, dtype=np.int64)
        _, index = np.unique(np.concatenate([known, states]), axis=0, return_inverse=True)
        index = index.reshape(-1)
        found = np.full((index.max() + 1, self.probabilities.shape[1]), 1.0)
        found[index[: len(known)]] = self.probabilities
        return found[index[len(known) :]]


@set_module("ensemblage.bayes")
class EntryCapError(ValueError):
    """A table would have more entries than ``max_entries`` allows."""


def check_entries(entries: int, max_entries: int, node: str, parents: Sequence[str]) -> None:
    """Reject a table that is too large, before it is allocated."""
    if entries > max_entries:
        given = ", ".join(map(repr, parents)) or "no parents"
        raise EntryCapError(
            f"The table of {node!r} given {given} would have {entries} entries, more than "
            f"max_entries={max_entries}. Lower max_parents, remove columns with many categories, "
            "merge categories, or raise max_entries."
        )


class Training(NamedTuple):
    """Training data; ``classes`` are in the order of their codes, ``labels``."""

    columns: list[Column]
    target_name: str
    classes: NDArray[Any]
    labels: Codes
    weights: Doubles

    @property
    def names(self) -> list[str]:
        """Names of the nodes, the class first."""
        return [self.target_name, *(column.name for column in self.columns)]

    @property
    def sorted_codes(self) -> NDArray[np.int64]:
        """Codes in the order of the sorted classes; as declared if classes cannot be compared."""
        try:
            return np.argsort(self.classes, kind="stable")
        except TypeError:
            return np.arange(len(self.classes))

    def take(self, rows: NDArray[np.intp]) -> Training:
        """Select rows; declared classes are kept."""
        columns = [column.take(rows) for column in self.columns]
        return self._replace(columns=columns, labels=self.labels[rows], weights=self.weights[rows])


def read_training(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Training:
    """Validate the input of ``fit``; rows without weight are dropped."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    columns = read_features(estimator, X, reset=True)
    names = [column.name for column in columns]
    target_name = str(getattr(y, "name", None) or "class")
    while target_name in names:
        target_name += "_"
    given, declared_classes = estimator.categories, None
    if isinstance(given, Mapping):
        declared_classes = given.get(target_name)
        given = {name: known for name, known in given.items() if name != target_name}
    declared = per_column(given, names, "categories")
    pairs = zip(columns, declared, strict=True)
    columns = [column if known is None else column.as_categories(known) for column, known in pairs]
    classes, labels = _read_classes(y, declared_classes)
    check_consistent_length(X, labels)
    weights = read_weights(sample_weight, np.empty((len(labels), 1)))
    training = Training(columns, target_name, classes, labels, weights)
    kept = np.flatnonzero(weights)
    return training if len(kept) == len(weights) else training.take(kept)


def _read_classes(y: Any, declared: Sequence[Any] | None) -> tuple[NDArray[Any], Codes]:
    """Return the declared classes, or those that occur, and each row's code.

    Those that occur are in the order of a categorical column.
    """
    refuse_missing_targets(y)
    categories = declared
    if categories is None:
        categories = getattr(getattr(y, "dtype", None), "categories", None)
    values = column_or_1d(y, warn=True)
    assert_all_finite(values, input_name="y")
    if categories is None:
        check_classification_targets(values)
        found, labels = np.unique(values, return_inverse=True)
        return found, labels.astype(np.int32)
    occurring = set(values.tolist())
    classes = list(categories.tolist() if hasattr(categories, "tolist") else categories)
    if declared is None:
        classes = [each for each in classes if each in occurring]
    if not all(isinstance(each, str) for each in classes):
        check_classification_targets(values)  # slow for strings, which are always valid
    position = {category: code for code, category in enumerate(classes)}
    if unknown := occurring - set(classes):
        raise ValueError(
            f"y has the class {unknown.pop()!r}, which `categories` does not list for the target: "
            f"{listing(map(repr, classes))}. Add it there."
        )
    return np.array(classes), np.array([position[v] for v in values.tolist()], dtype=np.int32)


def cut_column(values: Doubles, labels: Codes, weights: Doubles, n_classes: int) -> Doubles:
    """Find one column's cut points; rows with a missing value or without weight are ignored."""
    kept = np.flatnonzero(~np.isnan(values) & (weights > 0))
    order = kept[np.argsort(values[kept], kind="stable")]
    ascending, classes = values[order].astype(np.float64), labels[order].astype(np.int64)
    cuts: Doubles = mdlp_cut_points(ascending, classes, weights[order], n_classes)
    return cuts


def bin_of(values: Doubles, cuts: Doubles) -> Codes:
    """Count the cut points below each value; ``-1`` for NaN."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    bins: Codes
    if len(values) < MIN_COMPILED_ROWS:
        bins = np.searchsorted(cuts, values).astype(np.int32)
        bins[np.isnan(values)] = -1
    else:
        bins = bin_numbers(values, cuts)
    return bins


def bin_labels(cuts: Doubles) -> list[str]:
    """Name the bins by their ranges; there is one more bin than cuts.

    Examples
    --------
    >>> bin_labels(np.array([0.8, 1.75]))
    ['(-inf, 0.8]', '(0.8, 1.75]', '(1.75, inf)']
    """
    edges = ["-inf", *(repr(float(cut)) for cut in cuts), "inf"]
    labels = [f"({low}, {high}]" for low, high in pairwise(edges)]
    return [*labels[:-1], labels[-1][:-1] + ")"]


@set_module("ensemblage.bayes")
@dataclass(frozen=True, eq=False)
class Coder:
    """Coding of one column: by cut points, or by categories, whose position is the code.

    The mode is the code that replaces a missing value.
    """

    cuts: Doubles | None = None
    categories: list[Any] | None = None
    mode: int = 0

    @property
    def labels(self) -> list[Any]:
        """Category or range of the bin of each code."""
        if self.cuts is not None:
            return list(bin_labels(self.cuts))
        # a column without values is a node with a single state
        return list(self.categories) if self.categories else ["missing"]

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return len(self.cuts) + 1 if self.cuts is not None else max(len(self.categories or []), 1)

    def check(self) -> None:
        """Reject cuts and categories that no fit produces."""
        expect_fitted(self, {"cuts": "optional float (*)"})
        ascend = self.cuts is None or bool((np.diff(self.cuts) > 0).all())
        expect(ascend, "a column's cut points are not sorted")
        listed = self.categories is None or isinstance(self.categories, list)
        expect(listed and not any(isinstance(each, dict) for each in self.categories or []),
               "a column's categories are invalid")  # fmt: skip
        valid = isinstance(self.mode, int) and 0 <= self.mode < self.n_codes
        expect(valid, "a column's mode is not one of its codes")

    def code(self, column: Column) -> Codes:
        """Code a column: ``MISSING_CODE`` for missing values, ``n_codes`` for unseen categories."""
        if self.cuts is not None:
            return bin_of(column.as_numbers(), self.cuts)
        if self.categories:
            return column.match(self.categories)
        return np.where(column.match([]) == MISSING_CODE, MISSING_CODE, self.n_codes)

    def code_weights(self, column: Column, weights: Doubles) -> Doubles:
        """Weight of the rows with each code."""
        codes = self.code(column)
        known = (codes != MISSING_CODE) & (codes < self.n_codes)
        found = np.bincount(codes[known], weights=weights[known], minlength=self.n_codes)
        return found.astype(np.float64)


def learn_coders(
    training: Training, discretizer: str | None, n_jobs: int | None = None
) -> list[Coder]:
    """Fit bins, categories and modes; without a discretizer each value is a category."""
    columns, weights = training.columns, training.weights
    numeric = [j for j, c in enumerate(columns) if c.numbers is not None and discretizer]
    shared = (training.labels, weights, len(training.classes))
    tasks = [(columns[j].numbers, *shared) for j in numeric]
    cuts = dict(zip(numeric, run_tasks(cut_column, tasks, n_jobs), strict=True))
    coders = []
    for j, column in enumerate(columns):
        coder = Coder(cuts[j]) if j in cuts else Coder(categories=column.categories())
        coders.append(replace(coder, mode=int(coder.code_weights(column, weights).argmax())))
    return coders


def code_columns(columns: list[Column], coders: list[Coder]) -> Codes:
    """Code all columns: (n_nodes, n_rows); the row of the class is zero."""
    codes = np.zeros((len(columns) + 1, columns[0].n_rows), dtype=np.int32)
    for row, column, coder in zip(codes[CLASS + 1 :], columns, coders, strict=True):
        row[:] = coder.code(column)
    return codes


def fill_missing(codes: Codes, coders: list[Coder]) -> Codes:
    """Replace missing values by the column's mode, in place."""
    for row, coder in zip(codes[CLASS + 1 :], coders, strict=True):
        row[row == MISSING_CODE] = coder.mode
    return codes


def full_grid(sizes: Sequence[int]) -> tuple[Codes, list[Codes]]:
    """List all configurations of parents with these numbers of categories.

    The result is that of :meth:`CodedRows.grid`.
    """
    listed = np.indices(sizes, dtype=np.int32).reshape(len(sizes), math.prod(sizes)).T
    steps = [np.arange(n, dtype=np.int32) for n in np.cumprod(sizes, dtype=np.int64)]
    return np.ascontiguousarray(listed), steps


class CodedRows:
    """Codes of all nodes, and indices of the observed configurations of sets of parents.

    The names are for error messages; no table may have more than ``max_entries``.
    """

    def __init__(self, nodes: Nodes, names: list[str], max_entries: int = MAX_ENTRIES) -> None:
        self.nodes = nodes
        self.names = names
        self.max_entries = max_entries
        self.n_rows = nodes.codes.shape[1]
        self.n_classes = int(nodes.n_categories[CLASS])  # declared ones included
        # nodes with one category are independent of any other
        self.varies: NDArray[np.bool_] = nodes.n_categories > 1
        self.all_vary = bool(self.varies.all())
        # indexing a list is faster than indexing an array; the last entry is for NO_EXTRA
        self._splits: list[int] = [*nodes.n_categories.tolist(), 1]
        self._single = CodedColumn(np.zeros(self.n_rows, dtype=np.int32), 1)
        self._known: dict[tuple[int, ...], tuple[CodedColumn, Codes]] = {}

    def one_class(self) -> bool:
        """Whether all rows have the same class."""
        return len(np.unique(self.nodes.codes[CLASS])) < 2

    def column(self, node: int) -> CodedColumn:
        """Return one node's codes."""
        return CodedColumn(self.nodes.codes[node], int(self.nodes.n_categories[node]))

    def labels(self, by_class: bool) -> CodedColumn:
        """Return the class codes, or a single class for all rows."""
        return self.column(CLASS) if by_class else self._single

    def configurations(self, parents: Sequence[int]) -> CodedColumn:
        """Return the index of each row's configuration; it depends on the order of the parents."""
        return self._refined(tuple(parents))[0] if parents else self._single

    def grid(self, parents: Sequence[int]) -> tuple[Codes, list[Codes]]:
        """List the configurations that occur, (n_configurations, n_parents), and look-up steps.

        There is one array of steps per parent; see :func:`refine`.
        """
        configurations, steps = np.zeros((1, 0), dtype=np.int32), []
        for j, parent in enumerate(parents):
            step = self._refined(tuple(parents[: j + 1]))[1]
            before, code = np.divmod(np.flatnonzero(step >= 0), self.nodes.n_categories[parent])
            columns = [configurations[before], code.astype(np.int32)[:, None]]
            configurations = np.concatenate(columns, axis=1)
            steps.append(step)
        return configurations, steps

    def count_entries(
        self,
        node: int,
        parents: Sequence[int],
        n_configurations: int,
        extras: Sequence[int] = (NO_EXTRA,),
    ) -> int:
        """Count the entries of the largest table with an extra parent; raise if there are too many.

        ``n_configurations`` includes the classes if the class is a parent.
        """
        widest = max(extras, key=self._splits.__getitem__)
        entries = n_configurations * self._splits[widest] * self._splits[node]
        if entries > self.max_entries:
            family = [*parents] if widest == NO_EXTRA else [*parents, widest]
            given = [self.names[parent] for parent in family]
            check_entries(entries, self.max_entries, self.names[node], given)
        return entries

    def _refined(self, parents: tuple[int, ...]) -> tuple[CodedColumn, Codes]:
        """Refine the configurations of all parents but the last by the last."""
        if parents not in self._known:
            before, last = self.configurations(parents[:-1]), self.column(parents[-1])
            needed, name = before.n_codes * last.n_codes, self.names[parents[-1]]
            check_entries(needed, self.max_entries, name, ["other parents"])
            if len(self._known) * self.n_rows > MAX_CACHED_ROWS:
                self._known.clear()
            self._known[parents] = refine(before, last)
        return self._known[parents]


class Sample(NamedTuple):
    """Coded rows, with the coders that were fitted to them, and weights."""

    coders: list[Coder]
    rows: CodedRows
    weights: Doubles


def code_sample(
    training: Training, discretizer: str | None, max_entries: int, n_jobs: int | None = None
) -> Sample:
    """Fit coders to the rows, and code them; missing values are filled with the mode."""
    coders = learn_coders(training, discretizer, n_jobs)
    codes = fill_missing(code_columns(training.columns, coders), coders)
    codes[CLASS] = training.labels
    sizes = [len(training.classes), *(coder.n_codes for coder in coders)]
    nodes = Nodes(codes, np.array(sizes, dtype=np.int64))
    return Sample(coders, CodedRows(nodes, training.names, max_entries), training.weights)
