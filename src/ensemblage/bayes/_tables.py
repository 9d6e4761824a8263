"""Probability tables of a structure: counts, smoothing, expected counts for missing values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp
from sklearn.exceptions import ConvergenceWarning

from ensemblage._core import expect, expect_array, set_module, warn_user
from ensemblage.bayes._coding import (
    Coder,
    EntryCapError,
    Grid,
    ProbabilityTable,
    Sample,
    Training,
    code_columns,
)
from ensemblage.bayes._score_kernels import CLASS
from ensemblage.bayes._search import Structure
from ensemblage.bayes._table_kernels import (
    LookUp,
    add_log_likelihood,
    entry_weights,
    log_probabilities,
)
from ensemblage.datasets import MISSING_CODE

Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]


@set_module("ensemblage.bayes")
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
    def make(cls, node: int, parents: Sequence[int], grid: Grid, log_table: Doubles) -> NodeTable:
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

    def add_log_likelihood(self, codes: Codes, out: Doubles) -> None:
        """Add what the feature says about the class to each row of (n_rows, n_classes), in place.

        The codes, of shape (n_nodes, n_rows), have no gaps; unseen categories are at or above
        the number of categories.
        """
        if self.has_class:
            add_log_likelihood(codes, self.node, self.look_up, out)

    def log_probabilities(self, family: Sequence[NDArray[np.int64]]) -> Doubles:
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
        out: Doubles = np.where((g >= 0)[..., None], found, -np.log(self.n_categories))
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


@set_module("ensemblage.bayes")
@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """Coders and tables of all features, in order, and the classes' log probabilities."""

    coders: list[Coder]
    tables: list[NodeTable]
    log_prior: Doubles

    @property
    def n_categories(self) -> list[int]:
        """Number of each node's categories, the class first."""
        return [len(self.log_prior), *(table.n_categories for table in self.tables)]

    def _check_fitted(self) -> None:
        """Refuse coders and tables that no fit makes, before compiled code reads them."""
        expect_array(self, "log_prior", (None,), high=0)
        expect(len(self.coders) == len(self.tables), "the network has not one table per column")
        for coder in self.coders:
            coder.check()
        sizes = [len(self.log_prior), *(coder.n_codes for coder in self.coders)]
        for node, table in enumerate(self.tables, start=1):
            expect(table.node == node, "the tables are in another order")
            table.check(sizes)

    def log_joint(self, codes: Codes) -> Doubles:
        """Log of class and row together, up to a constant per row: (n_rows, n_classes).

        The codes, of shape (n_nodes, n_rows), have no gaps.
        """
        out = np.tile(self.log_prior, (codes.shape[1], 1))
        for table in self.tables:
            table.add_log_likelihood(codes, out)
        return out

    def contributions(self, codes: Codes) -> Doubles:
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


def fit_prior(sample: Sample, smoothing: float) -> Doubles:
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


class Factor(NamedTuple):
    """Log values of shape (n_rows, n_classes, *categories of the missing nodes)."""

    nodes: tuple[int, ...]
    values: Doubles


class Elimination(NamedTuple):
    """The missing node whose elimination makes the smallest table, and that table's size."""

    node: int
    size: int


def relevant_tables(missing: set[int], tables: list[NodeTable]) -> list[NodeTable]:
    """Drop missing nodes that nothing observed depends on: they sum to one."""
    kept = tables
    while True:
        used = {parent for table in kept for parent in table.family[1:]}
        barren = {table.node for table in kept if table.node in missing} - used
        if not barren:
            return kept
        kept = [table for table in kept if table.node not in barren]


def make_factor(
    codes: Codes, n_categories: list[int], table: NodeTable, hidden: set[int]
) -> Factor:
    """Look a table up for all values of its missing nodes at once."""
    axes = tuple(sorted(set(table.family) & hidden))
    indices = []
    for member in table.family:
        shape = [1] * (len(axes) + 1)
        if member in hidden:
            shape[1 + axes.index(member)] = -1
            indices.append(np.arange(n_categories[member]).reshape(shape))
        else:
            indices.append(codes[member].astype(np.int64).reshape([-1, *shape[1:]]))
    return Factor(axes, np.moveaxis(table.log_probabilities(indices), -1, 1))


def eliminate(factors: list[Factor], node: int) -> Factor:
    """Multiply the factors that involve a node and sum over its values."""
    axes = tuple(sorted({axis for factor in factors for axis in factor.nodes}))
    total = np.zeros((1,) * (len(axes) + 2))
    for own, values in factors:
        shape = [*values.shape[:2], *(1 for _ in axes)]
        for axis, size in zip(own, values.shape[2:], strict=True):
            shape[2 + axes.index(axis)] = size
        total = total + values.reshape(shape)
    kept = tuple(axis for axis in axes if axis != node)
    return Factor(kept, logsumexp(total, axis=2 + axes.index(node)))


def next_elimination(
    hidden: Iterable[int], factors: list[Factor], n_categories: list[int]
) -> Elimination:
    """Choose the cheapest node; of equals the first."""
    found = []
    for node in hidden:
        axes = {axis for own, _ in factors if node in own for axis in own}
        size = int(np.prod([float(n_categories[axis]) for axis in axes]))
        found.append(Elimination(node, size))
    return min(found, key=lambda one: (one.size, one.node))


def _same_gaps(
    network: FittedNetwork, codes: Codes, missing: set[int], max_entries: int
) -> Doubles:
    """Treat rows in which the same nodes are missing; halves of them if a table grows too large."""
    n_categories = network.n_categories
    n_rows, n_classes = codes.shape[1], n_categories[CLASS]
    tables = relevant_tables(missing, network.tables)
    hidden = {table.node for table in tables} & missing
    out = np.zeros((n_rows, n_classes))
    factors = []
    for table in tables:
        if set(table.family) & hidden:
            factors.append(make_factor(codes, n_categories, table, hidden))
        elif table.has_class:
            out += make_factor(codes, n_categories, table, hidden).values
    while hidden:
        node, size = next_elimination(hidden, factors, n_categories)
        if size * n_classes * n_rows > max_entries and n_rows > 1:
            halves = np.array_split(codes, 2, axis=1)
            return np.concatenate(
                [_same_gaps(network, half, missing, max_entries) for half in halves]
            )
        if size * n_classes > max_entries:
            raise EntryCapError(
                f"Summing over {len(hidden)} missing values takes a table of {size * n_classes} "
                f"entries, more than max_entries={max_entries}. Set missing='mode', or raise "
                "max_entries."
            )
        involved = [factor for factor in factors if node in factor.nodes]
        factors = [factor for factor in factors if node not in factor.nodes]
        factors.append(eliminate(involved, node))
        hidden.discard(node)
    for factor in factors:
        out += factor.values
    return out


def marginal_log_joint(network: FittedNetwork, codes: Codes, max_entries: int) -> Doubles:
    """Log of class and what is known of each row, up to a constant per row: (n_rows, n_classes).

    Exact; the codes have shape (n_nodes, n_rows), and no table in between may be larger than the
    cap.
    """
    out = np.empty((codes.shape[1], len(network.log_prior)))
    patterns, which = np.unique(codes[CLASS + 1 :] == MISSING_CODE, axis=1, return_inverse=True)
    which = which.reshape(-1)
    for j, pattern in enumerate(patterns.T):
        missing = {int(position) + CLASS + 1 for position in np.flatnonzero(pattern)}
        rows = np.flatnonzero(which == j)
        out[rows] = _same_gaps(network, codes[:, rows], missing, max_entries)
    return network.log_prior + out


MAX_ROUNDS = 100
TOLERANCE = 1e-4
"""Rounds end when no probability changes by more."""


class SameGaps(NamedTuple):
    """Rows, (n_nodes, n_rows), in which the same nodes are missing, and their weights."""

    codes: Codes
    weights: Doubles
    hidden: set[int]

    def halves(self) -> list[SameGaps]:
        """Part the rows."""
        parts = zip(
            np.array_split(self.codes, 2, axis=1), np.array_split(self.weights, 2), strict=True
        )
        return [SameGaps(codes, weights, self.hidden) for codes, weights in parts]


def same_gaps(codes: Codes, weights: Doubles) -> Iterator[SameGaps]:
    """Group the rows that count by what is missing in them; those without a gap are the first."""
    codes, weights = codes[:, weights > 0], weights[weights > 0]
    patterns, which = np.unique(codes == MISSING_CODE, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(which.reshape(-1) == number)
        yield SameGaps(codes[:, rows], weights[rows], set(np.flatnonzero(pattern).tolist()))


def posterior(factors: list[Factor], kept: tuple[int, ...], sizes: list[int], most: int) -> Doubles:
    """Give the probability of the kept nodes' values in each row: (n_rows, *categories).

    The factors are of the rows' own classes; all other nodes in them are summed out.
    """
    n_rows = max(factor.values.shape[0] for factor in factors)
    others = {node for factor in factors for node in factor.nodes} - set(kept)
    while others:
        node, size = next_elimination(others, factors, sizes)
        _check_size(size * n_rows, n_rows, most)
        involved = [factor for factor in factors if node in factor.nodes]
        factors = [factor for factor in factors if node not in factor.nodes]
        factors.append(eliminate(involved, node))
        others.discard(node)
    _check_size(n_rows * int(np.prod([float(sizes[node]) for node in kept])), n_rows, most)
    total = np.zeros((n_rows, *(sizes[node] for node in kept)))
    for own, values in factors:
        shape = [values.shape[0], *(sizes[node] if node in own else 1 for node in kept)]
        total = total + values.reshape(shape)
    axes = tuple(range(1, total.ndim))
    return np.asarray(np.exp(total - logsumexp(total, axis=axes, keepdims=True)))


class _TooManyRowsError(Exception):
    """Fewer rows at a time would do."""


def _check_size(entries: int, n_rows: int, most: int) -> None:
    if entries > most and n_rows > 1:
        raise _TooManyRowsError
    if entries > most:
        raise EntryCapError(
            f"missing='em' takes a table of {entries} entries for one row's missing values, more "
            f"than max_entries={most}. Lower max_parents, set missing='mode', or raise "
            "max_entries."
        )


def _entries(group: SameGaps, table: NodeTable, sizes: list[int]) -> NDArray[np.int64]:
    """Find the entries that a row may be in, by number: (n_rows, *categories of what it misses)."""
    axes = sorted(set(table.family) & group.hidden)
    place = np.zeros((1,) * (len(axes) + 1), dtype=np.int64)
    own, *others = table.family
    for node in (*others, own, *([CLASS] if table.has_class else [])):
        shape = [1] * (len(axes) + 1)
        if node in group.hidden:
            shape[1 + axes.index(node)] = -1
            values = np.arange(sizes[node]).reshape(shape)
        else:
            values = group.codes[node].astype(np.int64).reshape([-1, *shape[1:]])
        place = place * sizes[node] + values
    return place


def count_expected(group: SameGaps, network: FittedNetwork, most: int) -> dict[int, Doubles]:
    """Give the expected counts of the rows in each table, flat, by node."""
    sizes = network.n_categories
    try:
        chances = _chances(group, network, most)
    except _TooManyRowsError:
        parts = [count_expected(half, network, most) for half in group.halves()]
        return {node: np.sum([part[node] for part in parts], axis=0) for node in parts[0]}
    counts: dict[int, Doubles] = {}
    for table in network.tables:
        place = _entries(group, table, sizes)
        weights = group.weights.reshape([-1] + [1] * (place.ndim - 1))
        place, shares = np.broadcast_arrays(place, weights * chances.get(table.node, 1.0))
        length = table.look_up.log_table[:, :-1].size
        found = np.bincount(place.ravel(), weights=shares.ravel(), minlength=length)
        counts[table.node] = found.astype(np.float64)
    return counts


def _chances(group: SameGaps, network: FittedNetwork, most: int) -> dict[int, Doubles]:
    """Give the probability of what is missing in each family that something is missing in."""
    sizes, rows = network.n_categories, np.arange(group.codes.shape[1])
    factors = []
    for table in network.tables:
        if set(table.family) & group.hidden:
            nodes, values = make_factor(group.codes, sizes, table, group.hidden)
            n_rows, n_classes = values.shape[:2]
            own = values[rows if n_rows > 1 else 0 * rows, group.codes[CLASS] % n_classes]
            factors.append(Factor(nodes, own[:, None]))
    found = {}
    for table in network.tables:
        kept = tuple(sorted(set(table.family) & group.hidden))
        if kept:
            found[table.node] = posterior(factors, kept, sizes, most)
    return found


def fit_expected(
    training: Training, sample: Sample, smoothing: float, structure: Structure
) -> FittedNetwork:
    r"""Estimate all tables of a structure by EM; gaps are at random given what is known.

    A round counts each row once for all values that its gaps may have, by their probability under
    the tables at hand, and makes :math:`(n + \alpha) / (N + \alpha r)` of the counts. No round
    lowers :math:`\sum_i w_i \log P(x_i, y_i) + \alpha \sum \log \theta`, the sum over all
    probabilities of the tables.
    """
    codes = code_columns(training.columns, sample.coders)
    codes[CLASS] = training.target.labels
    if not (codes == MISSING_CODE).any():
        return fit_network(sample, smoothing, structure)
    rows, sizes = sample.rows, sample.rows.nodes.n_categories
    tables = []
    for node in structure.features:
        grid = Grid.full([int(sizes[parent]) for parent in structure.others(node)])
        n_classes = rows.n_classes if CLASS in structure.parents[node] else 1
        rows.count_entries(node, structure.parents[node], len(grid.configurations) * n_classes)
        flat = np.full((len(grid.configurations), int(sizes[node]) + 1, n_classes), 0.0)
        flat -= np.log(sizes[node])
        tables.append(NodeTable.make(node, structure.parents[node], grid, flat))
    start = FittedNetwork(sample.coders, tables, fit_prior(sample, smoothing))
    groups = list(same_gaps(codes, sample.weights))
    return _rounds(start, groups, smoothing, rows.max_entries)


def _rounds(
    network: FittedNetwork, groups: list[SameGaps], smoothing: float, most: int
) -> FittedNetwork:
    whole = [count_expected(group, network, most) for group in groups if not group.hidden]
    holed = [group for group in groups if group.hidden]
    change = np.inf
    for _ in range(MAX_ROUNDS):
        counts = [*whole, *(count_expected(group, network, most) for group in holed)]
        tables = []
        for table in network.tables:
            before = table.look_up.log_table
            total = sum(each[table.node] for each in counts)
            shaped = np.reshape(total, (len(before), table.n_categories, before.shape[2]))
            after = log_probabilities(shaped, smoothing)
            tables.append(
                NodeTable(
                    table.node,
                    table.parents,
                    table.configurations,
                    table.look_up._replace(log_table=np.ascontiguousarray(after)),
                )
            )
        pairs = zip(tables, network.tables, strict=True)
        change = max(_change(after, before) for after, before in pairs)
        network = FittedNetwork(network.coders, tables, network.log_prior)
        if change < TOLERANCE:
            return network
    warn_user(
        f"missing='em' did not converge in {MAX_ROUNDS} rounds: a probability still changed by "
        f"{change:.2g}. Columns with few known values need many; leave them out, raise smoothing, "
        "or set missing='mode'.",
        ConvergenceWarning,
    )
    return network


def _change(after: NodeTable, before: NodeTable) -> float:
    pair = (np.exp(table.look_up.log_table) for table in (after, before))
    first, second = pair
    return float(np.abs(first - second).max())


class Estimation(NamedTuple):
    """How a structure's tables are estimated from a sample: with gaps filled, or by EM."""

    smoothing: float
    by_em: bool = False

    def network(self, training: Training, sample: Sample, structure: Structure) -> FittedNetwork:
        """Estimate all tables."""
        if self.by_em:
            return fit_expected(training, sample, self.smoothing, structure)
        return fit_network(sample, self.smoothing, structure)

    def tables(
        self, training: Training, sample: Sample, structure: Structure
    ) -> Callable[[int], NodeTable]:
        """Estimate the table of a node when it is asked for; by EM all of them at once."""
        if self.by_em:
            network = self.network(training, sample, structure)
            return lambda node: network.tables[node - CLASS - 1]
        return partial(_table, sample, structure, self.smoothing)


def _table(sample: Sample, structure: Structure, smoothing: float, node: int) -> NodeTable:
    return fit_table(sample, node, structure.parents[node], smoothing)


WIDEST = 4.0
"""Bound on the logarithm of a temperature, either way."""


def fit_temperature(log_joint: Doubles, labels: NDArray[np.int32], weights: Doubles) -> float:
    r"""Find the temperature at which held-out rows' own classes are most probable.

    Minimises :math:`-\sum_i w_i \log \mathrm{softmax}(a_i / T)_{y_i} + \frac12 (\log T)^2`: the
    second term keeps T near one where few rows speak.
    """
    each = np.arange(len(labels))

    def loss(log_t: float) -> float:
        log_p = log_softmax(log_joint * np.exp(-log_t), axis=1)
        return float(0.5 * log_t**2 - weights @ log_p[each, labels])

    return float(np.exp(minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded").x))
