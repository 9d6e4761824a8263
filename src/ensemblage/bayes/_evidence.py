"""Rows with gaps: sum over what the missing values may have been."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ensemblage.bayes._cells import EntryCapError
from ensemblage.bayes._columns import MISSING
from ensemblage.bayes._tables import NodeTable, look_up

Factor = tuple[tuple[int, ...], NDArray[np.float64]]
"""Missing nodes, and log values of shape (n_rows, n_classes, *their categories)."""


def relevant_nodes(hidden: set[int], tables: list[NodeTable]) -> set[int]:
    """Drop missing nodes that nothing observed depends on: they sum to one.

    Parameters
    ----------
    hidden : set of int
        Missing nodes.
    tables : list of dict
        Of the nodes 1, 2 and so on.

    Returns
    -------
    set of int
        Nodes that matter.
    """
    nodes = set(range(1, len(tables) + 1))
    while True:
        used = {int(p) for node in nodes for p in tables[node - 1]["others"]}
        barren = {node for node in nodes & hidden if node not in used}
        if not barren:
            return nodes
        nodes -= barren


def _factor(
    codes: NDArray[np.int32],
    n_categories: NDArray[np.int64],
    node: int,
    table: NodeTable,
    hidden: set[int],
) -> Factor:
    family = [node, *(int(p) for p in table["others"])]
    axes = tuple(sorted(set(family) & hidden))
    indices = []
    for member in family:
        shape = [1] * (len(axes) + 1)
        if member in hidden:
            shape[1 + axes.index(member)] = -1
            indices.append(np.arange(int(n_categories[member])).reshape(shape))
        else:
            indices.append(codes[member].astype(np.int64).reshape([-1, *shape[1:]]))
    values = look_up(table, n_categories, indices[0], indices[1:])
    return axes, np.moveaxis(values, -1, 1)


def _eliminate(factors: list[Factor], node: int) -> Factor:
    """Multiply the factors that involve a node and sum over its values."""
    axes = tuple(sorted({axis for own, _ in factors for axis in own}))
    total = np.zeros((1,) * (len(axes) + 2))
    for own, values in factors:
        shape = [*values.shape[:2], *(1 for _ in axes)]
        for axis, size in zip(own, values.shape[2:], strict=True):
            shape[2 + axes.index(axis)] = size
        total = total + values.reshape(shape)
    kept = tuple(axis for axis in axes if axis != node)
    return kept, logsumexp(total, axis=2 + axes.index(node))


def _next_node(
    hidden: Iterable[int], factors: list[Factor], n_categories: NDArray[np.int64]
) -> tuple[int, int]:
    """Find the missing node whose elimination makes the smallest table, and its size."""
    sizes = {}
    for node in hidden:
        axes = {axis for own, _ in factors if node in own for axis in own}
        sizes[node] = int(np.prod([float(n_categories[axis]) for axis in axes]))
    return min(sizes.items(), key=lambda item: (item[1], item[0]))


def _same_gaps(
    codes: NDArray[np.int32],
    n_categories: NDArray[np.int64],
    tables: list[NodeTable],
    missing: set[int],
    max_entries: int,
) -> NDArray[np.float64]:
    nodes = relevant_nodes(missing, tables)
    hidden = nodes & missing
    n_rows, n_classes = codes.shape[1], int(n_categories[0])
    out = np.zeros((n_rows, n_classes))
    factors = []
    for node in sorted(nodes):
        table = tables[node - 1]
        family = {node, *(int(p) for p in table["others"])}
        if family & hidden:
            factors.append(_factor(codes, n_categories, node, table, hidden))
        elif 0 in table["parents"]:
            out += _factor(codes, n_categories, node, table, hidden)[1]
    while hidden:
        node, size = _next_node(hidden, factors, n_categories)
        if size * n_classes * n_rows > max_entries and n_rows > 1:
            halves = np.array_split(codes, 2, axis=1)
            return np.concatenate(
                [_same_gaps(half, n_categories, tables, missing, max_entries) for half in halves]
            )
        if size * n_classes > max_entries:
            raise EntryCapError(
                f"Summing over {len(hidden)} missing values takes a table of {size * n_classes} "
                f"entries, more than max_entries={max_entries}. Set missing='mode', or "
                "raise max_entries."
            )
        involved = [factor for factor in factors if node in factor[0]]
        factors = [factor for factor in factors if node not in factor[0]]
        factors.append(_eliminate(involved, node))
        hidden.discard(node)
    for _, values in factors:
        out += values
    return out


def marginal_log_likelihood(
    codes: NDArray[np.int32],
    n_categories: NDArray[np.int64],
    tables: list[NodeTable],
    max_entries: int,
) -> NDArray[np.float64]:
    """Log probability of what is known of each row, under each class.

    Parameters
    ----------
    codes : ndarray of shape (n_nodes, n_rows)
        -1 where missing.
    n_categories : ndarray of shape (n_nodes,)
        Number of codes of each node.
    tables : list of dict
        Of the nodes 1, 2 and so on.
    max_entries : int
        Cap on the tables in between.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        Exact, by variable elimination, up to a constant per row.
    """
    out = np.empty((codes.shape[1], int(n_categories[0])))
    gaps = codes[1:] == MISSING
    patterns, which = np.unique(gaps, axis=1, return_inverse=True)
    which = which.reshape(-1)
    for j, pattern in enumerate(patterns.T):
        missing = {int(node) + 1 for node in np.flatnonzero(pattern)}
        rows = np.flatnonzero(which == j)
        out[rows] = _same_gaps(codes[:, rows], n_categories, tables, missing, max_entries)
    return out
