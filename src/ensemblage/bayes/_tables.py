"""Probability tables of a structure: estimation, EM, marginalisation, temperature scaling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp
from sklearn.exceptions import ConvergenceWarning

from ensemblage._core import expect, expect_array, set_module, warn_user
from ensemblage.bayes._coding import (
    Coder,
    EntryCapError,
    ProbabilityTable,
    Sample,
    Training,
    code_columns,
    full_grid,
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
Factor: TypeAlias = tuple[tuple[int, ...], Doubles]
"""Missing nodes, and log values of shape (n_rows, n_classes, *categories of these nodes)."""

MAX_ITERATIONS = 100
"""Maximal number of iterations of EM."""
EM_TOLERANCE = 1e-4
"""EM has converged when no probability changes by more."""
MAX_LOG_TEMPERATURE = 4.0
"""Bound on the absolute logarithm of a temperature."""


@set_module("ensemblage.bayes")
@dataclass(frozen=True, eq=False)
class NodeTable:
    """One feature's table.

    Parents are in the order in which they were added; ``configurations``, of shape
    (n_configurations, n_others), are the codes of those other than the class. For the other
    arrays see :class:`LookUp`.
    """

    node: int
    parents: tuple[int, ...]
    configurations: Codes
    sizes: NDArray[np.int64]
    steps: Codes
    offsets: NDArray[np.int64]
    log_table: Doubles

    @classmethod
    def make(
        cls,
        node: int,
        parents: Sequence[int],
        sizes: Sequence[int],
        grid: tuple[Codes, list[Codes]],
        log_table: Doubles,
    ) -> NodeTable:
        """Make a table; sizes and grid are those of the parents other than the class."""
        configurations, steps = grid
        lengths = np.array([len(step) for step in steps], dtype=np.int64)
        joined = np.concatenate(steps) if steps else np.zeros(1, dtype=np.int32)
        return cls(
            node, tuple(parents), configurations, np.array(sizes, dtype=np.int64), joined,
            np.cumsum(lengths) - lengths, np.ascontiguousarray(log_table),
        )  # fmt: skip

    @property
    def look_up(self) -> LookUp:
        """Arrays for the look-up kernel."""
        others = np.array(self.family[1:], dtype=np.int64)
        return LookUp(others, self.sizes, self.steps, self.offsets, self.log_table)

    @property
    def has_class(self) -> bool:
        """Whether the class is a parent."""
        return CLASS in self.parents

    @property
    def family(self) -> tuple[int, ...]:
        """The node, then its parents other than the class."""
        return (self.node, *(parent for parent in self.parents if parent != CLASS))

    @property
    def n_categories(self) -> int:
        """Number of the node's own categories."""
        return int(self.log_table.shape[1]) - 1

    def add_log_likelihood(self, codes: Codes, out: Doubles) -> None:
        """Add the feature's log likelihood of each class to (n_rows, n_classes), in place.

        The codes, of shape (n_nodes, n_rows), have no missing values; unseen categories are at or
        above the number of categories.
        """
        if self.has_class:
            add_log_likelihood(codes, self.node, self.look_up, out)

    def log_probabilities(self, family: Sequence[NDArray[np.int64]]) -> Doubles:
        """Look up codes of the ``family``, broadcast against each other: shape (..., n_classes).

        Uniform if no training row has the configuration; n_classes is 1 if the class is not a
        parent.
        """
        own, *others = np.broadcast_arrays(*family)
        g = np.zeros(own.shape, dtype=np.int64)
        for codes, n, offset in zip(others, self.sizes.tolist(), self.offsets, strict=True):
            known = (g >= 0) & (codes < n)
            g = np.where(known, self.steps[offset + np.where(known, g * n + codes, 0)], -1)
        found = self.log_table[np.maximum(g, 0), np.minimum(own, self.n_categories)]
        out: Doubles = np.where((g >= 0)[..., None], found, -np.log(self.n_categories))
        return out

    def describe(self, n_classes: int, names: list[str]) -> ProbabilityTable:
        """Convert to a ``ProbabilityTable``; names are those of the nodes, the class first."""
        listed = self.configurations
        probabilities = np.exp(self.log_table[:, :-1])
        if self.has_class:
            classes = np.tile(np.arange(n_classes, dtype=np.int32), len(listed))
            position = self.parents.index(CLASS)
            listed = np.insert(np.repeat(listed, n_classes, axis=0), position, classes, axis=1)
        distributions = probabilities.transpose(0, 2, 1).reshape(len(listed), -1)
        return ProbabilityTable([names[p] for p in self.parents], listed, distributions)

    def check(self, sizes: Sequence[int]) -> None:
        """Reject a table that no fit produces; sizes are numbers of categories, the class first."""
        n_nodes, table = len(sizes), self.log_table
        expect(0 < self.node < n_nodes, "a table has no node")
        expect(set(self.parents) <= set(range(n_nodes)), "a table's parents are not nodes")
        others = self.family[1:]
        n_classes = sizes[CLASS] if self.has_class else 1
        expect(table.ndim == 3 and table.dtype == np.float64, "a table is not a 3d float array")
        expect(table.shape[1:] == (sizes[self.node] + 1, n_classes), "a table has a wrong shape")
        expect(bool(np.isfinite(table).all()), "a table has values that are not finite")
        expect_array(self, "configurations", (len(table), len(others)), "integer", low=0)
        expect_array(self, "sizes", (len(others),), "integer")
        expect_array(self, "offsets", (len(others),), "integer")
        expect_array(self, "steps", (None,), "integer", low=-1)
        expect(self.sizes.tolist() == [sizes[p] for p in others], "sizes of parents do not match")
        start, reached = 0, 1  # each step starts at the end of the one before
        for offset, size in zip(self.offsets.tolist(), self.sizes.tolist(), strict=True):
            part = self.steps[start : start + reached * size]
            expect(offset == start and len(part) == reached * size, "a table's steps are damaged")
            start, reached = start + len(part), int(part.max()) + 1
        left = self.steps[start:].tolist()
        expect(left == ([] if others else [0]), "a table's steps are damaged")
        expect(reached == len(table), "a table's steps do not match its configurations")


@set_module("ensemblage.bayes")
@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """Coders and tables of all features, in order, and the log prior of the classes."""

    coders: list[Coder]
    tables: list[NodeTable]
    log_prior: Doubles

    @property
    def n_categories(self) -> list[int]:
        """Number of each node's categories, the class first."""
        return [len(self.log_prior), *(table.n_categories for table in self.tables)]

    def _check_fitted(self) -> None:
        """Reject coders and tables that no fit produces, before compiled code reads them."""
        expect_array(self, "log_prior", (None,), high=0)
        n_tables = len(self.tables)
        expect(len(self.coders) == n_tables, "the network does not have one table per column")
        for coder in self.coders:
            coder.check()
        sizes = [len(self.log_prior), *(coder.n_codes for coder in self.coders)]
        for node, table in enumerate(self.tables, start=1):
            expect(table.node == node, "the tables are in a wrong order")
            table.check(sizes)

    def log_joint(self, codes: Codes) -> Doubles:
        """Log joint of class and row, up to a constant per row: (n_rows, n_classes).

        The codes, of shape (n_nodes, n_rows), have no missing values.
        """
        out = np.tile(self.log_prior, (codes.shape[1], 1))
        for table in self.tables:
            table.add_log_likelihood(codes, out)
        return out

    def contributions(self, codes: Codes) -> Doubles:
        """Compute the terms of ``log_joint``, (n_rows, n_nodes, n_classes), the prior first."""
        n_rows, n_classes = codes.shape[1], len(self.log_prior)
        out = np.zeros((n_rows, len(self.tables) + 1, n_classes))
        out[:, CLASS] = self.log_prior
        for table in self.tables:
            likelihood = np.zeros((n_rows, n_classes))
            table.add_log_likelihood(codes, likelihood)
            out[:, table.node] = likelihood
        return out

    def describe(self, names: list[str]) -> dict[str, ProbabilityTable]:
        """Convert all tables to ``ProbabilityTable``; names are of the nodes, the class first."""
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
    sizes = rows.nodes.n_categories[others].tolist()
    return NodeTable.make(node, parents, sizes, grid, log_probabilities(counts, smoothing))


def fit_prior(sample: Sample, smoothing: float) -> Doubles:
    """Estimate the log prior of the classes."""
    rows = sample.rows
    weights = np.bincount(rows.nodes.codes[CLASS], sample.weights, minlength=rows.n_classes)
    smoothed = weights + smoothing
    return np.asarray(np.log(smoothed / smoothed.sum()))


def fit_network(sample: Sample, smoothing: float, structure: Structure) -> FittedNetwork:
    """Estimate all tables of a structure from one sample."""
    tables = [
        fit_table(sample, node, structure.parents[node], smoothing) for node in structure.features
    ]
    return FittedNetwork(sample.coders, tables, fit_prior(sample, smoothing))


class _TooManyRowsError(Exception):
    """The table is small enough for fewer rows at a time."""


def _check_size(entries: int, n_rows: int, max_entries: int) -> None:
    if entries > max_entries and n_rows > 1:
        raise _TooManyRowsError
    if entries > max_entries:
        raise EntryCapError(
            f"Marginalising missing values needs a table of {entries} entries for one row, more "
            f"than max_entries={max_entries}. Lower max_parents, set missing='mode', or raise "
            "max_entries."
        )


def relevant_tables(missing: set[int], tables: list[NodeTable]) -> list[NodeTable]:
    """Drop barren nodes: missing nodes without observed descendants, which sum to one."""
    kept = tables
    while True:
        used = {parent for table in kept for parent in table.family[1:]}
        barren = {table.node for table in kept if table.node in missing} - used
        if not barren:
            return kept
        kept = [table for table in kept if table.node not in barren]


def make_factor(codes: Codes, sizes: list[int], table: NodeTable, hidden: set[int]) -> Factor:
    """Look up a table for all values of its missing nodes."""
    axes = tuple(sorted(set(table.family) & hidden))
    indices = []
    for member in table.family:
        shape = [1] * (len(axes) + 1)
        if member in hidden:
            shape[1 + axes.index(member)] = -1
            indices.append(np.arange(sizes[member]).reshape(shape))
        else:
            indices.append(codes[member].astype(np.int64).reshape([-1, *shape[1:]]))
    return axes, np.moveaxis(table.log_probabilities(indices), -1, 1)


def eliminate(factors: list[Factor], node: int) -> Factor:
    """Multiply the factors that involve a node, and sum over its values (variable elimination)."""
    axes = tuple(sorted({axis for nodes, _ in factors for axis in nodes}))
    total = np.zeros((1,) * (len(axes) + 2))
    for nodes, values in factors:
        shape = [*values.shape[:2], *(1 for _ in axes)]
        for axis, size in zip(nodes, values.shape[2:], strict=True):
            shape[2 + axes.index(axis)] = size
        total = total + values.reshape(shape)
    kept = tuple(axis for axis in axes if axis != node)
    return kept, logsumexp(total, axis=2 + axes.index(node))


def eliminate_all(
    factors: list[Factor],
    hidden: set[int],
    sizes: list[int],
    shape: tuple[int, int],
    max_entries: int,
) -> list[Factor]:
    """Eliminate the hidden nodes, always the one whose elimination needs the smallest table.

    ``shape`` is (n_rows, n_classes).
    """
    hidden, (n_rows, n_classes) = set(hidden), shape
    while hidden:
        costs = []
        for each in hidden:
            axes = {axis for nodes, _ in factors if each in nodes for axis in nodes}
            costs.append((int(np.prod([float(sizes[axis]) for axis in axes])), each))
        size, node = min(costs)
        _check_size(size * n_classes * n_rows, n_rows, max_entries)
        involved = [factor for factor in factors if node in factor[0]]
        factors = [factor for factor in factors if node not in factor[0]]
        factors.append(eliminate(involved, node))
        hidden.discard(node)
    return factors


def _same_missing(
    network: FittedNetwork, codes: Codes, missing: set[int], max_entries: int
) -> Doubles:
    """Process rows with the same missing nodes; in halves if a table would be too large."""
    sizes = network.n_categories
    n_rows, n_classes = codes.shape[1], sizes[CLASS]
    tables = relevant_tables(missing, network.tables)
    hidden = {table.node for table in tables} & missing
    out = np.zeros((n_rows, n_classes))
    factors = []
    for table in tables:
        if set(table.family) & hidden:
            factors.append(make_factor(codes, sizes, table, hidden))
        elif table.has_class:
            out += make_factor(codes, sizes, table, hidden)[1]
    try:
        factors = eliminate_all(factors, hidden, sizes, out.shape, max_entries)
    except _TooManyRowsError:
        halves = np.array_split(codes, 2, axis=1)
        parts = [_same_missing(network, half, missing, max_entries) for half in halves]
        return np.concatenate(parts)
    for _, values in factors:
        out += values
    return out


def marginal_log_joint(network: FittedNetwork, codes: Codes, max_entries: int) -> Doubles:
    """Log joint of class and observed values, up to a constant per row: (n_rows, n_classes).

    Exact; the codes have shape (n_nodes, n_rows), and no intermediate table may exceed
    ``max_entries``.
    """
    out = np.empty((codes.shape[1], len(network.log_prior)))
    patterns, which = np.unique(codes[CLASS + 1 :] == MISSING_CODE, axis=1, return_inverse=True)
    which = which.reshape(-1)
    for j, pattern in enumerate(patterns.T):
        missing = {int(position) + CLASS + 1 for position in np.flatnonzero(pattern)}
        rows = np.flatnonzero(which == j)
        out[rows] = _same_missing(network, codes[:, rows], missing, max_entries)
    return network.log_prior + out


def posterior(
    factors: list[Factor], kept: tuple[int, ...], sizes: list[int], max_entries: int
) -> Doubles:
    """Compute the posterior of the kept nodes in each row: (n_rows, *categories).

    The factors are for the rows' own classes; all other nodes in them are marginalised.
    """
    n_rows = max(values.shape[0] for _, values in factors)
    others = {node for nodes, _ in factors for node in nodes} - set(kept)
    factors = eliminate_all(factors, others, sizes, (n_rows, 1), max_entries)
    _check_size(n_rows * int(np.prod([float(sizes[node]) for node in kept])), n_rows, max_entries)
    total = np.zeros((n_rows, *(sizes[node] for node in kept)))
    for nodes, values in factors:
        shape = [values.shape[0], *(sizes[node] if node in nodes else 1 for node in kept)]
        total = total + values.reshape(shape)
    axes = tuple(range(1, total.ndim))
    return np.asarray(np.exp(total - logsumexp(total, axis=axes, keepdims=True)))


def _entries(
    codes: Codes, hidden: set[int], table: NodeTable, sizes: list[int]
) -> NDArray[np.int64]:
    """Find the indices of a row's possible entries: (n_rows, *categories of its missing nodes)."""
    axes = sorted(set(table.family) & hidden)
    place = np.zeros((1,) * (len(axes) + 1), dtype=np.int64)
    own, *others = table.family
    for node in (*others, own, *([CLASS] if table.has_class else [])):
        shape = [1] * (len(axes) + 1)
        if node in hidden:
            shape[1 + axes.index(node)] = -1
            values = np.arange(sizes[node]).reshape(shape)
        else:
            values = codes[node].astype(np.int64).reshape([-1, *shape[1:]])
        place = place * sizes[node] + values
    return place


def _missing_posteriors(
    codes: Codes, hidden: set[int], network: FittedNetwork, max_entries: int
) -> dict[int, Doubles]:
    """Compute the posterior of the missing nodes in each family with missing nodes."""
    sizes, rows = network.n_categories, np.arange(codes.shape[1])
    factors: list[Factor] = []
    for table in network.tables:
        if set(table.family) & hidden:
            nodes, values = make_factor(codes, sizes, table, hidden)
            n_rows, n_classes = values.shape[:2]
            own = values[rows if n_rows > 1 else 0 * rows, codes[CLASS] % n_classes]
            factors.append((nodes, own[:, None]))
    found = {}
    for table in network.tables:
        kept = tuple(sorted(set(table.family) & hidden))
        if kept:
            found[table.node] = posterior(factors, kept, sizes, max_entries)
    return found


def count_expected(
    codes: Codes, weights: Doubles, hidden: set[int], network: FittedNetwork, max_entries: int
) -> dict[int, Doubles]:
    """Compute the expected counts of each table, by node, for rows with ``hidden`` nodes."""
    try:
        posteriors = _missing_posteriors(codes, hidden, network, max_entries)
    except _TooManyRowsError:
        halves = zip(np.array_split(codes, 2, axis=1), np.array_split(weights, 2), strict=True)
        parts = [count_expected(*half, hidden, network, max_entries) for half in halves]
        return {node: np.sum([part[node] for part in parts], axis=0) for node in parts[0]}
    counts: dict[int, Doubles] = {}
    for table in network.tables:
        place = _entries(codes, hidden, table, network.n_categories)
        shaped = weights.reshape([-1] + [1] * (place.ndim - 1))
        place, shares = np.broadcast_arrays(place, shaped * posteriors.get(table.node, 1.0))
        length = table.log_table[:, :-1].size
        found = np.bincount(place.ravel(), weights=shares.ravel(), minlength=length)
        counts[table.node] = found.astype(np.float64)
    return counts


def _by_missing_nodes(codes: Codes, weights: Doubles) -> Iterator[tuple[Codes, Doubles, set[int]]]:
    """Group the rows with a positive weight by their missing nodes; complete rows come first."""
    codes, weights = codes[:, weights > 0], weights[weights > 0]
    patterns, which = np.unique(codes == MISSING_CODE, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(which.reshape(-1) == number)
        yield codes[:, rows], weights[rows], set(np.flatnonzero(pattern).tolist())


def fit_expected(
    training: Training, sample: Sample, smoothing: float, structure: Structure
) -> FittedNetwork:
    r"""Estimate all tables of a structure by EM; values are missing at random given the others.

    The E step computes expected counts under the current tables, the M step
    :math:`(n + \alpha) / (N + \alpha r)`. No iteration lowers
    :math:`\sum_i w_i \log P(x_i, y_i) + \alpha \sum \log \theta`, the last sum over all
    probabilities of the tables.
    """
    codes = code_columns(training.columns, sample.coders)
    codes[CLASS] = training.labels
    if not (codes == MISSING_CODE).any():
        return fit_network(sample, smoothing, structure)
    rows, n_categories = sample.rows, sample.rows.nodes.n_categories
    tables = []
    for node in structure.features:
        parents = structure.parents[node]
        sizes = [int(n_categories[parent]) for parent in structure.others(node)]
        grid, n_classes = full_grid(sizes), rows.n_classes if CLASS in parents else 1
        rows.count_entries(node, parents, len(grid[0]) * n_classes)
        flat = np.full((len(grid[0]), int(n_categories[node]) + 1, n_classes), 0.0)
        flat -= np.log(n_categories[node])
        tables.append(NodeTable.make(node, parents, sizes, grid, flat))
    start = FittedNetwork(sample.coders, tables, fit_prior(sample, smoothing))
    groups = list(_by_missing_nodes(codes, sample.weights))
    return _iterate_em(start, groups, smoothing, rows.max_entries)


def _iterate_em(
    network: FittedNetwork,
    groups: list[tuple[Codes, Doubles, set[int]]],
    smoothing: float,
    max_entries: int,
) -> FittedNetwork:
    complete = [count_expected(*g, network, max_entries) for g in groups if not g[2]]
    incomplete = [group for group in groups if group[2]]
    change = np.inf
    for _ in range(MAX_ITERATIONS):
        counts = [*complete, *(count_expected(*g, network, max_entries) for g in incomplete)]
        tables, change = [], 0.0
        for table in network.tables:
            before = table.log_table
            total = sum(each[table.node] for each in counts)
            shaped = np.reshape(total, (len(before), table.n_categories, before.shape[2]))
            after = np.ascontiguousarray(log_probabilities(shaped, smoothing))
            tables.append(replace(table, log_table=after))
            change = max(change, float(np.abs(np.exp(after) - np.exp(before)).max()))
        network = replace(network, tables=tables)
        if change < EM_TOLERANCE:
            return network
    warn_user(
        f"missing='em' did not converge in {MAX_ITERATIONS} iterations: a probability still "
        f"changed by {change:.2g}. Remove columns with few observed values, raise smoothing, or "
        "set missing='mode'.",
        ConvergenceWarning,
    )
    return network


def fit_temperature(log_joint: Doubles, labels: Codes, weights: Doubles) -> float:
    r"""Fit the temperature to an out-of-fold (or out-of-bag) log joint.

    Minimises :math:`-\sum_i w_i \log \mathrm{softmax}(a_i / T)_{y_i} + \frac12 (\log T)^2`: the
    second term shrinks T towards one for few rows.
    """
    each = np.arange(len(labels))

    def loss(log_t: float) -> float:
        log_p = log_softmax(log_joint * np.exp(-log_t), axis=1)
        return float(0.5 * log_t**2 - weights @ log_p[each, labels])

    bounds = (-MAX_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
