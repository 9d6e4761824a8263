"""Columns as codes of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length

from ensemblage._core import expect, expect_fitted, read_weights, run_tasks, set_module
from ensemblage.bayes._discretizer_kernels import bin_numbers, mdlp_cut_points
from ensemblage.bayes._score_kernels import CLASS, NO_EXTRA, Nodes
from ensemblage.bayes._table_kernels import CodedColumn, Refinement, refine
from ensemblage.datasets import MISSING_CODE, Column, per_column, read_features

MAX_ENTRIES = 2**24


@set_module("ensemblage.bayes")
class ProbabilityTable(NamedTuple):
    """A node's distribution for each configuration of its parents.

    Parameters
    ----------
    parents : list of str
        Their names.
    configurations : ndarray of shape (n_configurations, n_parents)
        Positions among the parents' states. A configuration that is not listed is uniform.
    probabilities : ndarray of shape (n_configurations, n_states)
        One distribution per configuration.
    """

    parents: list[str]
    configurations: NDArray[np.int32]
    probabilities: NDArray[np.float64]

    def given(self, states: NDArray[np.int64]) -> NDArray[np.float64]:
        """Find the distribution of each row.

        Parameters
        ----------
        states : ndarray of shape (n_rows, n_parents)
            The parents' states.

        Returns
        -------
        ndarray of shape (n_rows, n_states)
            Probabilities, up to a factor per row.
        """
        known = np.asarray(self.configurations, dtype=np.int64)
        _, number = np.unique(np.concatenate([known, states]), axis=0, return_inverse=True)
        number = number.reshape(-1)
        chances = np.full((number.max() + 1, self.probabilities.shape[1]), 1.0)
        chances[number[: len(known)]] = self.probabilities
        return chances[number[len(known) :]]


@set_module("ensemblage.bayes")
class EntryCapError(ValueError):
    """A table would have more entries than ``max_entries`` allows."""


def check_entries(entries: int, max_entries: int, node: str, parents: Sequence[str]) -> None:
    """Refuse a table that is too large, before any of it is allocated."""
    if entries > max_entries:
        given = ", ".join(map(repr, parents)) or "no parents"
        raise EntryCapError(
            f"The table of {node!r} given {given} would take {entries} entries, more than "
            f"max_entries={max_entries}. Lower max_parents, leave out or merge columns with many "
            "categories, or raise max_entries."
        )


def read_training(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Training:
    """Read what ``fit`` gets; rows without weight are dropped."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    columns = _declare(read_features(estimator, X, reset=True), estimator.categories)
    target = read_target(y, [column.name for column in columns])
    check_consistent_length(X, target.labels)
    like = np.empty((len(target.labels), 1))
    weights = read_weights(sample_weight, like)
    training = Training(columns, target, weights)
    kept = np.flatnonzero(weights)
    return training if len(kept) == len(weights) else training.take(kept)


def _declare(columns: list[Column], categories: Any) -> list[Column]:
    """Take categories that the user declares beside those of the columns' own types."""
    declared = per_column(categories, [column.name for column in columns], "categories")
    pairs = zip(columns, declared, strict=True)
    return [column if known is None else column.as_words(known) for column, known in pairs]


def read_target(y: Any, taken: list[str]) -> Target:
    """Read the class column; a categorical one keeps its declared classes."""
    declared = _declared_classes(y)
    name = str(getattr(y, "name", None) or "class")
    while name in taken:
        name += "_"
    values = column_or_1d(y, warn=True)
    assert_all_finite(values, input_name="y")
    if declared is None or not all(isinstance(each, str) for each in declared):
        check_classification_targets(values)  # words leave nothing to check, and sort slowly
    if declared is None:
        categories, labels = np.unique(values, return_inverse=True)
    else:
        categories = np.array(declared)
        position = {category: code for code, category in enumerate(declared)}
        labels = np.array([position[value] for value in values.tolist()])
    return Target(name, labels.astype(np.int32), categories)


def _declared_classes(y: Any) -> list[Any] | None:
    dtype = getattr(y, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return None
    return list(categories.tolist() if hasattr(categories, "tolist") else categories)


KNOWN_ROWS = 2**22
"""Configurations are remembered up to so many rows in all."""


class Target(NamedTuple):
    """The class column: its codes per row, and the classes in the order of their codes."""

    name: str
    labels: NDArray[np.int32]
    categories: NDArray[Any]

    @property
    def sorted_codes(self) -> NDArray[np.int64]:
        """Codes in the order of the sorted classes; as declared if types cannot be compared."""
        try:
            return np.argsort(self.categories, kind="stable")
        except TypeError:
            return np.arange(len(self.categories))


class Training(NamedTuple):
    """Everything that ``fit`` gets: features, classes, and the weight of each row."""

    columns: list[Column]
    target: Target
    weights: NDArray[np.float64]

    @property
    def names(self) -> list[str]:
        """Names of the nodes, the class first."""
        return [self.target.name, *(column.name for column in self.columns)]

    def take(self, rows: NDArray[np.intp]) -> Training:
        """Give some of the rows; what the target declares stays."""
        columns = [column.take(rows) for column in self.columns]
        target = self.target._replace(labels=self.target.labels[rows])
        return Training(columns, target, self.weights[rows])

    def resolve_order(self, order: Any) -> list[int]:
        """Turn the user's order of features, by name or position, into nodes; the class is none."""
        features = self.names[CLASS + 1 :]
        if order is None:
            return list(range(CLASS + 1, len(features) + 1))
        position = {name: j for j, name in enumerate(features)}
        wanted = [position.get(item, item) for item in np.asarray(order).tolist()]
        if sorted(map(str, wanted)) != sorted(map(str, range(len(features)))):
            raise ValueError(
                f"order must name each of the {len(features)} features exactly once, by name or by "
                f"position, got {order!r}. The class always comes first and is not listed."
            )
        return [int(j) + CLASS + 1 for j in wanted]


def cut_column(
    values: NDArray[np.float64],
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
    n_classes: int,
) -> NDArray[np.float64]:
    """Cut one column, in any order; rows without a value or weight are left out."""
    kept = np.flatnonzero(~np.isnan(values) & (weights > 0))
    order = kept[np.argsort(values[kept], kind="stable")]
    numbers, classes = values[order].astype(np.float64), labels[order].astype(np.int64)
    cuts: NDArray[np.float64] = mdlp_cut_points(numbers, classes, weights[order], n_classes)
    return cuts


def bin_of(values: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.int32]:
    """Count the cut points below each value; ``-1`` where it is NaN."""
    bins: NDArray[np.int32] = bin_numbers(np.ascontiguousarray(values, dtype=np.float64), cuts)
    return bins


def bin_labels(cuts: NDArray[np.float64]) -> list[str]:
    """Name the bins by their ranges; there is one more than there are cuts.

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
    """How one column becomes codes: by cut points, or by categories, whose order is the code.

    The mode is the code that stands in for a missing value.
    """

    cuts: NDArray[np.float64] | None = None
    categories: list[Any] | None = None
    mode: int = 0

    @property
    def labels(self) -> list[Any]:
        """What each code stands for: categories, or the ranges of bins."""
        if self.cuts is not None:
            return list(bin_labels(self.cuts))
        # a column without any value still is a node, of a single state
        return list(self.categories) if self.categories else ["missing"]

    @property
    def n_codes(self) -> int:
        """Number of labels."""
        return len(self.cuts) + 1 if self.cuts is not None else max(len(self.categories or []), 1)

    def check(self) -> None:
        """Refuse cuts and categories that no fit makes."""
        expect_fitted(self, {"cuts": "optional float (*)"})
        ascend = self.cuts is None or bool((np.diff(self.cuts) > 0).all())
        expect(ascend, "a column's cuts do not ascend")
        told = self.categories is None or isinstance(self.categories, list)
        expect(told and not any(isinstance(each, dict) for each in self.categories or []),
               "a column's categories are none")  # fmt: skip
        whole = isinstance(self.mode, int) and 0 <= self.mode < self.n_codes
        expect(whole, "a column's mode is none of its codes")

    def code(self, column: Column) -> NDArray[np.int32]:
        """Code a column: ``MISSING_CODE`` for a gap, ``n_codes`` for an unseen category."""
        if self.cuts is not None:
            return bin_of(column.as_numbers(), self.cuts)
        codes = column.match(self.categories or [])
        return (
            codes
            if self.categories
            else np.where(codes == MISSING_CODE, MISSING_CODE, self.n_codes)
        )

    def masses(self, column: Column, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weight of the rows that have each code."""
        codes = self.code(column)
        known = (codes != MISSING_CODE) & (codes < self.n_codes)
        masses = np.bincount(codes[known], weights=weights[known], minlength=self.n_codes)
        return masses.astype(np.float64)


def learn_coders(
    training: Training, discretizer: str | None, n_jobs: int | None = None
) -> list[Coder]:
    """Learn bins, categories and modes; without a discretizer each number is a category."""
    columns, target, weights = training
    numeric = [j for j, c in enumerate(columns) if c.numbers is not None and discretizer]
    shared = (target.labels, weights, len(target.categories))
    tasks = [(columns[j].numbers, *shared) for j in numeric]
    cuts = dict(zip(numeric, run_tasks(cut_column, tasks, n_jobs), strict=True))
    coders = []
    for j, column in enumerate(columns):
        coder = Coder(cuts[j]) if j in cuts else Coder(categories=column.categories())
        coders.append(replace(coder, mode=int(coder.masses(column, weights).argmax())))
    return coders


def code_columns(columns: list[Column], coders: list[Coder]) -> NDArray[np.int32]:
    """Code all columns, of shape (n_nodes, n_rows); the class's place is left at zero."""
    codes = np.zeros((len(columns) + 1, columns[0].n_rows), dtype=np.int32)
    for row, column, coder in zip(codes[CLASS + 1 :], columns, coders, strict=True):
        row[:] = coder.code(column)
    return codes


def fill_missing(codes: NDArray[np.int32], coders: list[Coder]) -> NDArray[np.int32]:
    """Put each column's mode where a value is missing, in place."""
    for row, coder in zip(codes[CLASS + 1 :], coders, strict=True):
        row[row == MISSING_CODE] = coder.mode
    return codes


class Grid(NamedTuple):
    """Configurations of some parents: their codes, of shape (n_configurations, n_parents).

    ``sizes`` are the parents' numbers of categories; for ``steps``, one per parent, see
    :class:`ensemblage.bayes.Refinement`.
    """

    configurations: NDArray[np.int32]
    sizes: NDArray[np.int64]
    steps: list[NDArray[np.int32]]

    @classmethod
    def full(cls, sizes: Sequence[int]) -> Grid:
        """List all possible configurations."""
        counts = np.cumprod(sizes, dtype=np.int64)
        n_all = int(np.prod(sizes, dtype=np.int64))
        listed = np.indices(sizes, dtype=np.int32).reshape(len(sizes), n_all).T
        steps = [np.arange(count, dtype=np.int32) for count in counts]
        return cls(np.ascontiguousarray(listed), np.array(sizes, dtype=np.int64), steps)


class CodedRows:
    """Codes of all nodes; numbers the observed configurations of growing sets of parents.

    The names are for errors; no table may have more than ``max_entries``.
    """

    def __init__(self, nodes: Nodes, names: list[str], max_entries: int = MAX_ENTRIES) -> None:
        self.nodes = nodes
        self.names = names
        self.max_entries = max_entries
        self.n_rows = nodes.codes.shape[1]
        self.n_classes = int(nodes.n_categories[CLASS])  # declared ones included
        # nodes with one category say nothing of any other
        self.telling: NDArray[np.bool_] = nodes.n_categories > 1
        self.all_tell = bool(self.telling.all())
        # a list is faster to ask than an array; what leaves the parents as they are is its last
        self._splits: list[int] = [*nodes.n_categories.tolist(), 1]
        self._single = CodedColumn(np.zeros(self.n_rows, dtype=np.int32), 1)
        self._known: dict[tuple[int, ...], Refinement] = {}

    def one_class(self) -> bool:
        """Tell whether all rows have the same class."""
        return len(np.unique(self.nodes.codes[CLASS])) < 2

    def column(self, node: int) -> CodedColumn:
        """Give one node's codes."""
        return CodedColumn(self.nodes.codes[node], int(self.nodes.n_categories[node]))

    def labels(self, told_apart: bool) -> CodedColumn:
        """Give the class's codes, or one class for all if they are not to be told apart."""
        return self.column(CLASS) if told_apart else self._single

    def configurations(self, parents: Sequence[int]) -> CodedColumn:
        """Give each row the number of its configuration; the parents' order matters."""
        return self._refined(tuple(parents)).configurations if parents else self._single

    def grid(self, parents: Sequence[int]) -> Grid:
        """List the configurations that occur, and the way to them."""
        configurations, steps = np.zeros((1, 0), dtype=np.int32), []
        for j, parent in enumerate(parents):
            step = self._refined(tuple(parents[: j + 1])).step
            before, code = np.divmod(np.flatnonzero(step >= 0), self.nodes.n_categories[parent])
            columns = [configurations[before], code.astype(np.int32)[:, None]]
            configurations = np.concatenate(columns, axis=1)
            steps.append(step)
        return Grid(configurations, self.nodes.n_categories[list(parents)], steps)

    def count_entries(
        self,
        node: int,
        parents: Sequence[int],
        n_configurations: int,
        extras: Sequence[int] = (NO_EXTRA,),
    ) -> int:
        """Count the entries of the widest table with an extra as one more parent; refuse too many.

        ``n_configurations`` includes the classes if the class is a parent.
        """
        widest = max(extras, key=self._splits.__getitem__)
        entries = n_configurations * self._splits[widest] * self._splits[node]
        if entries > self.max_entries:
            family = [*parents] if widest == NO_EXTRA else [*parents, widest]
            given = [self.names[parent] for parent in family]
            check_entries(entries, self.max_entries, self.names[node], given)
        return entries

    def _refined(self, parents: tuple[int, ...]) -> Refinement:
        """Refine the configurations of all parents but the last by the last."""
        if parents not in self._known:
            before, last = self.configurations(parents[:-1]), self.column(parents[-1])
            needed, name = before.n_codes * last.n_codes, self.names[parents[-1]]
            check_entries(needed, self.max_entries, name, ["other parents"])
            if len(self._known) * self.n_rows > KNOWN_ROWS:
                self._known.clear()
            self._known[parents] = refine(before, last)
        return self._known[parents]


class Sample(NamedTuple):
    """Weighted rows on the bins that were learned from them."""

    coders: list[Coder]
    rows: CodedRows
    weights: NDArray[np.float64]


def code_sample(
    training: Training, discretizer: str | None, max_entries: int, n_jobs: int | None = None
) -> Sample:
    """Learn coders from the rows, and code them; gaps are filled with the mode."""
    coders = learn_coders(training, discretizer, n_jobs)
    codes = fill_missing(code_columns(training.columns, coders), coders)
    codes[CLASS] = training.target.labels
    sizes = [len(training.target.categories), *(coder.n_codes for coder in coders)]
    nodes = Nodes(codes, np.array(sizes, dtype=np.int64))
    return Sample(coders, CodedRows(nodes, training.names, max_entries), training.weights)
