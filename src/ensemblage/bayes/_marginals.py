"""Rows with gaps: sum over what the missing values may have been, by variable elimination."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ensemblage.bayes._network_tables import FittedNetwork, NodeTable
from ensemblage.bayes._probability_table import EntryCapError
from ensemblage.kernels import CLASS
from ensemblage.tables import MISSING

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


class Factor(NamedTuple):
    """Log values of shape (n_rows, n_classes, *categories of the missing nodes)."""

    nodes: tuple[int, ...]
    values: Floats


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


def _same_gaps(network: FittedNetwork, codes: Codes, missing: set[int], max_entries: int) -> Floats:
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


def marginal_log_joint(network: FittedNetwork, codes: Codes, max_entries: int) -> Floats:
    """Log of class and what is known of each row, up to a constant per row: (n_rows, n_classes).

    Exact; the codes have shape (n_nodes, n_rows), and no table in between may be larger than the
    cap.
    """
    out = np.empty((codes.shape[1], len(network.log_prior)))
    patterns, which = np.unique(codes[CLASS + 1 :] == MISSING, axis=1, return_inverse=True)
    which = which.reshape(-1)
    for j, pattern in enumerate(patterns.T):
        missing = {int(position) + CLASS + 1 for position in np.flatnonzero(pattern)}
        rows = np.flatnonzero(which == j)
        out[rows] = _same_gaps(network, codes[:, rows], missing, max_entries)
    return network.log_prior + out
