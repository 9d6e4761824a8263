"""Tables from rows with gaps, by expectation and maximisation, given the structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from ensemblage.bayes._coding import Grid, Sample, Training, code_columns
from ensemblage.bayes._marginals import Factor, eliminate, make_factor, next_elimination
from ensemblage.bayes._network_tables import (
    FittedNetwork,
    NodeTable,
    fit_network,
    fit_prior,
    fit_table,
)
from ensemblage.bayes._probability_table import EntryCapError
from ensemblage.bayes._search_space import Structure
from ensemblage.kernels import CLASS, log_probabilities
from ensemblage.messages import warn_user
from ensemblage.tables import MISSING

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

MAX_ROUNDS = 100
TOLERANCE = 1e-4
"""Rounds end when no probability changes by more."""


class SameGaps(NamedTuple):
    """Rows, (n_nodes, n_rows), in which the same nodes are missing, and their weights."""

    codes: Codes
    weights: Floats
    hidden: set[int]

    def halves(self) -> list[SameGaps]:
        """Part the rows."""
        parts = zip(
            np.array_split(self.codes, 2, axis=1), np.array_split(self.weights, 2), strict=True
        )
        return [SameGaps(codes, weights, self.hidden) for codes, weights in parts]


def same_gaps(codes: Codes, weights: Floats) -> Iterator[SameGaps]:
    """Group the rows that count by what is missing in them; those without a gap are the first."""
    codes, weights = codes[:, weights > 0], weights[weights > 0]
    patterns, which = np.unique(codes == MISSING, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(which.reshape(-1) == number)
        yield SameGaps(codes[:, rows], weights[rows], set(np.flatnonzero(pattern).tolist()))


def posterior(factors: list[Factor], kept: tuple[int, ...], sizes: list[int], most: int) -> Floats:
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


def count_expected(group: SameGaps, network: FittedNetwork, most: int) -> dict[int, Floats]:
    """Give the expected counts of the rows in each table, flat, by node."""
    sizes = network.n_categories
    try:
        chances = _chances(group, network, most)
    except _TooManyRowsError:
        parts = [count_expected(half, network, most) for half in group.halves()]
        return {node: np.sum([part[node] for part in parts], axis=0) for node in parts[0]}
    counts: dict[int, Floats] = {}
    for table in network.tables:
        place = _entries(group, table, sizes)
        weights = group.weights.reshape([-1] + [1] * (place.ndim - 1))
        place, shares = np.broadcast_arrays(place, weights * chances.get(table.node, 1.0))
        length = table.look_up.log_table[:, :-1].size
        found = np.bincount(place.ravel(), weights=shares.ravel(), minlength=length)
        counts[table.node] = found.astype(np.float64)
    return counts


def _chances(group: SameGaps, network: FittedNetwork, most: int) -> dict[int, Floats]:
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
    if not (codes == MISSING).any():
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
