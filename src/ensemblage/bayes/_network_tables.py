"""A network as prediction reads it: coders, a table for each feature, the classes' prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ensemblage.bayes._coding import Coder, Grid, Sample
from ensemblage.bayes._probability_table import ProbabilityTable
from ensemblage.bayes._search_space import Structure
from ensemblage.kernels import (
    CLASS,
    LookUp,
    add_log_likelihood,
    entry_weights,
    log_probabilities,
)
from ensemblage.messages import expect, expect_array

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeTable:
    """One feature's table.

    The parents stand in the order in which they were added; ``configurations``, of shape
    (n_configurations, n_others), are the codes of those other than the class.
    """

    node: int
    parents: tuple[int, ...]
    configurations: Codes
    look_up: LookUp

    @classmethod
    def make(cls, node: int, parents: Sequence[int], grid: Grid, log_table: Floats) -> NodeTable:
        """Put a table together; the grid is that of the parents other than the class."""
        others = np.array([p for p in parents if p != CLASS], dtype=np.int64)
        lengths = np.array([len(step) for step in grid.steps], dtype=np.int64)
        steps = np.concatenate(grid.steps) if grid.steps else np.zeros(1, dtype=np.int32)
        offsets = np.cumsum(lengths) - lengths
        look_up = LookUp(others, grid.sizes, steps, offsets, np.ascontiguousarray(log_table))
        return cls(node, tuple(parents), grid.configurations, look_up)

    @property
    def has_class(self) -> bool:
        """Whether the class is a parent: only then the table tells something about it."""
        return CLASS in self.parents

    @property
    def family(self) -> tuple[int, ...]:
        """The node, then its parents other than the class."""
        return (self.node, *self.look_up.parents.tolist())

    @property
    def n_categories(self) -> int:
        """Number of the node's own categories."""
        return int(self.look_up.log_table.shape[1]) - 1

    def add_log_likelihood(self, codes: Codes, out: Floats) -> None:
        """Add what the feature says about the class to each row of (n_rows, n_classes), in place.

        The codes, of shape (n_nodes, n_rows), have no gaps; unseen categories are at or above
        the number of categories.
        """
        if self.has_class:
            add_log_likelihood(codes, self.node, self.look_up, out)

    def log_probabilities(self, family: Sequence[NDArray[np.int64]]) -> Floats:
        """Look up codes of the ``family``, broadcast against each other: shape (..., n_classes).

        Uniform where no training row had the configuration; n_classes is 1 without the class
        among the parents.
        """
        _, sizes, steps, offsets, log_table = self.look_up
        own, *others = np.broadcast_arrays(*family)
        g = np.zeros(own.shape, dtype=np.int64)
        for codes, n, offset in zip(others, sizes.tolist(), offsets, strict=True):
            known = (g >= 0) & (codes < n)
            g = np.where(known, steps[offset + np.where(known, g * n + codes, 0)], -1)
        found = log_table[np.maximum(g, 0), np.minimum(own, self.n_categories)]
        out: Floats = np.where((g >= 0)[..., None], found, -np.log(self.n_categories))
        return out

    def describe(self, n_classes: int, names: list[str]) -> ProbabilityTable:
        """Show the table to the user; the names are those of the nodes, the class first."""
        listed = self.configurations
        probabilities = np.exp(self.look_up.log_table[:, :-1])
        if self.has_class:
            classes = np.tile(np.arange(n_classes, dtype=np.int32), len(listed))
            position = self.parents.index(CLASS)
            listed = np.insert(np.repeat(listed, n_classes, axis=0), position, classes, axis=1)
        distributions = probabilities.transpose(0, 2, 1).reshape(len(listed), -1)
        return ProbabilityTable([names[p] for p in self.parents], listed, distributions)

    def check(self, sizes: Sequence[int]) -> None:
        """Refuse a table that no fit makes of nodes with so many categories, the class first."""
        n_nodes, table = len(sizes), self.look_up.log_table
        expect(0 < self.node < n_nodes, "a table is of no node")
        expect(set(self.parents) <= set(range(n_nodes)), "a table's parents are no nodes")
        others = [parent for parent in self.parents if parent != CLASS]
        n_classes = sizes[CLASS] if self.has_class else 1
        expect(table.ndim == 3 and table.dtype == np.float64, "a table is no array of three axes")
        expect(table.shape[1:] == (sizes[self.node] + 1, n_classes), "a table has another shape")
        expect(bool(np.isfinite(table).all()), "a table holds values that are not finite")
        expect_array(self, "configurations", (len(table), len(others)), "integer", low=0)
        expect(self.look_up.parents.tolist() == others, "a table is of other parents")
        expect(self.look_up.sizes.tolist() == [sizes[p] for p in others], "parents' sizes differ")
        self._check_steps(len(table))

    def _check_steps(self, n_configurations: int) -> None:
        """Follow the parents: each step starts where the one before has ended."""
        _, sizes, steps, offsets, _ = self.look_up
        start, reached = 0, 1
        expect(len(offsets) == len(sizes), "a table has not one offset per parent")
        for offset, size in zip(offsets.tolist(), sizes.tolist(), strict=True):
            part = steps[start : start + reached * size]
            expect(offset == start and len(part) == reached * size, "a table's steps are damaged")
            expect(bool((part >= -1).all()), "a table's steps are damaged")
            start, reached = start + len(part), int(part.max()) + 1
        expect(reached == n_configurations, "a table's steps lead elsewhere")


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """Coders and tables of all features, in order, and the classes' log probabilities."""

    coders: list[Coder]
    tables: list[NodeTable]
    log_prior: Floats

    @property
    def n_categories(self) -> list[int]:
        """Number of each node's categories, the class first."""
        return [len(self.log_prior), *(table.n_categories for table in self.tables)]

    def __check_state__(self) -> None:
        """Refuse coders and tables that no fit makes, before compiled code reads them."""
        expect_array(self, "log_prior", (None,), high=0)
        expect(len(self.coders) == len(self.tables), "the network has not one table per column")
        for coder in self.coders:
            coder.check()
        sizes = [len(self.log_prior), *(coder.n_codes for coder in self.coders)]
        for node, table in enumerate(self.tables, start=1):
            expect(table.node == node, "the tables are in another order")
            table.check(sizes)

    def log_joint(self, codes: Codes) -> Floats:
        """Log of class and row together, up to a constant per row: (n_rows, n_classes).

        The codes, of shape (n_nodes, n_rows), have no gaps.
        """
        out = np.tile(self.log_prior, (codes.shape[1], 1))
        for table in self.tables:
            table.add_log_likelihood(codes, out)
        return out

    def contributions(self, codes: Codes) -> Floats:
        """Give the terms of ``log_joint``, (n_rows, n_nodes, n_classes), the prior first."""
        n_rows, n_classes = codes.shape[1], len(self.log_prior)
        out = np.zeros((n_rows, len(self.tables) + 1, n_classes))
        out[:, CLASS] = self.log_prior
        for table in self.tables:
            likelihood = np.zeros((n_rows, n_classes))
            table.add_log_likelihood(codes, likelihood)
            out[:, table.node] = likelihood
        return out

    def describe(self, names: list[str]) -> dict[str, ProbabilityTable]:
        """Show all tables to the user; the names are those of the nodes, the class first."""
        alone = np.zeros((1, 0), dtype=np.int32)
        prior = ProbabilityTable([], alone, np.exp(self.log_prior)[None])
        features = [table.describe(len(self.log_prior), names) for table in self.tables]
        return dict(zip(names, [prior, *features], strict=True))


def fit_table(sample: Sample, node: int, parents: Sequence[int], smoothing: float) -> NodeTable:
    r"""Estimate one feature's table: :math:`(n + \alpha) / (N + \alpha r)`."""
    rows, others = sample.rows, [p for p in parents if p != CLASS]
    configurations, grid = rows.configurations(others), rows.grid(others)
    own, labels = rows.column(node), rows.labels(CLASS in parents)
    rows.count_entries(node, parents, configurations.n_codes * labels.n_codes)
    counts = entry_weights(configurations, own, labels, sample.weights)
    return NodeTable.make(node, parents, grid, log_probabilities(counts, smoothing))


def fit_prior(sample: Sample, smoothing: float) -> Floats:
    """Estimate the classes' log probabilities."""
    rows = sample.rows
    masses = np.bincount(rows.nodes.codes[CLASS], sample.weights, minlength=rows.n_classes)
    smoothed = masses + smoothing
    return np.asarray(np.log(smoothed / smoothed.sum()))


def fit_network(sample: Sample, smoothing: float, structure: Structure) -> FittedNetwork:
    """Estimate all tables of a structure from one sample."""
    tables = [
        fit_table(sample, node, structure.parents[node], smoothing) for node in structure.features
    ]
    return FittedNetwork(sample.coders, tables, fit_prior(sample, smoothing))
