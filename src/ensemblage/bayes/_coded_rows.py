"""Training rows as codes, and which configurations of parents occur among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.bayes._coders import Coder, code_columns, fill_missing, learn_coders
from ensemblage.bayes._probability_table import MAX_ENTRIES, check_entries
from ensemblage.bayes._typed_columns import Training
from ensemblage.kernels import CLASS, NO_EXTRA, CodedColumn, Nodes, Refinement, refine

KNOWN_ROWS = 2**22
"""Configurations are remembered up to so many rows in all."""


class Grid(NamedTuple):
    """Configurations of some parents: their codes, of shape (n_configurations, n_parents).

    ``sizes`` are the parents' numbers of categories; for ``steps``, one per parent, see
    :class:`ensemblage.kernels.Refinement`.
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
        self._single = CodedColumn(np.zeros(self.n_rows, dtype=np.int32), 1)
        self._known: dict[tuple[int, ...], Refinement] = {}

    @property
    def n_classes(self) -> int:
        """Number of classes, declared ones included."""
        return int(self.nodes.n_categories[CLASS])

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
        numbers = self.configurations(parents)
        configurations = np.zeros((numbers.n_codes, len(parents)), dtype=np.int32)
        configurations[numbers.codes] = self.nodes.codes[list(parents)].T
        sizes = self.nodes.n_categories[list(parents)]
        steps = [self._refined(tuple(parents[: j + 1])).step for j in range(len(parents))]
        return Grid(configurations, sizes, steps)

    def count_entries(
        self, node: int, parents: Sequence[int], n_configurations: int, extra: int = NO_EXTRA
    ) -> int:
        """Count the entries of a table with one more parent, and refuse too many.

        ``n_configurations`` includes the classes if the class is a parent.
        """
        split = 1 if extra == NO_EXTRA else int(self.nodes.n_categories[extra])
        entries = n_configurations * split * int(self.nodes.n_categories[node])
        if entries > self.max_entries:
            family = [*parents] if extra == NO_EXTRA else [*parents, extra]
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

    def coder(self, node: int) -> Coder:
        """Give a feature's coder."""
        return self.coders[node - CLASS - 1]


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
