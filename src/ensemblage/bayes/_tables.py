"""Conditional probability tables of a fitted network, and sums over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.bayes._cells import Configurations
from ensemblage.kernels._tables import add_log_likelihood, cell_weights, log_probabilities

NodeTable = dict[str, Any]
"""One feature's table, of plain arrays so that it can be saved.

``parents``: list of int, in the order in which they were added; ``others``: those besides the
class; ``steps`` and ``offsets``: from the others' values to the number of their
configuration (see :func:`ensemblage.kernels._tables.add_log_likelihood`);
``configurations``: their codes, of shape (n_configurations, n_others); ``log_table``: log
probabilities of shape (n_configurations, n_categories + 1, n_classes), where the last
category is a value never seen and n_classes is 1 without the class among the parents.
"""


def make_table(
    parents: list[int],
    configurations: NDArray[np.int32],
    steps: list[NDArray[np.int32]],
    log_table: NDArray[np.float64],
) -> NodeTable:
    """Put a table together.

    Parameters
    ----------
    parents : list of int
        The class is node 0.
    configurations : ndarray of shape (n_configurations, n_others)
        Codes of the parents other than the class.
    steps : list of ndarray
        One per such parent.
    log_table : ndarray of shape (n_configurations, n_categories + 1, n_classes)
        Log probabilities.

    Returns
    -------
    dict
        See ``NodeTable``.
    """
    sizes = np.array([len(step) for step in steps], dtype=np.int64)
    return {
        "parents": list(parents),
        "others": np.array([p for p in parents if p != 0], dtype=np.int64),
        "steps": np.concatenate(steps) if steps else np.zeros(1, dtype=np.int32),
        "offsets": np.cumsum(sizes) - sizes,
        "configurations": configurations,
        "log_table": np.ascontiguousarray(log_table),
    }


def fit_table(
    cells: Configurations,
    node: int,
    parents: list[int],
    weights: NDArray[np.float64],
    smoothing: float,
) -> NodeTable:
    r"""Estimate one feature's table: :math:`(n + \alpha) / (N + \alpha r)`.

    Parameters
    ----------
    cells : Configurations
        Codes of all nodes.
    node : int
        The feature.
    parents : list of int
        Its parents.
    weights : ndarray of shape (n_rows,)
        Weight of each row.
    smoothing : float
        :math:`\alpha`.

    Returns
    -------
    dict
        See ``NodeTable``.
    """
    others = [p for p in parents if p != 0]
    configuration, count, steps = cells.steps(others)
    configurations = np.zeros((count, len(others)), dtype=np.int32)
    configurations[configuration] = cells.columns[others].T
    n_classes = int(cells.n_categories[0]) if 0 in parents else 1
    labels = cells.columns[0] if 0 in parents else np.zeros_like(cells.columns[0])
    cells.check(node, parents, count * n_classes, node)
    counts = cell_weights(
        configuration, count, cells.columns[node], int(cells.n_categories[node]),
        labels, n_classes, weights,
    )  # fmt: skip
    return make_table(parents, configurations, steps, log_probabilities(counts, smoothing))


def fit_prior(
    labels: NDArray[np.int32], n_classes: int, weights: NDArray[np.float64], smoothing: float
) -> NDArray[np.float64]:
    """Estimate the classes' log probabilities.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Class codes.
    n_classes : int
        Number of class codes.
    weights : ndarray of shape (n_rows,)
        Weight of each row.
    smoothing : float
        Added to each class's weight.

    Returns
    -------
    ndarray of shape (n_classes,)
        Log probabilities.
    """
    counts = np.bincount(labels, weights=weights, minlength=n_classes) + smoothing
    return np.asarray(np.log(counts / counts.sum()))


def node_log_likelihood(
    codes: NDArray[np.int32],
    n_categories: NDArray[np.int64],
    node: int,
    table: NodeTable,
    out: NDArray[np.float64],
) -> None:
    """Add what one feature says about the class to each row, in place.

    Parameters
    ----------
    codes : ndarray of shape (n_nodes, n_rows)
        No gaps; unseen categories at ``n_categories``.
    n_categories : ndarray of shape (n_nodes,)
        Number of codes of each node.
    node : int
        The feature.
    table : dict
        Its ``NodeTable``.
    out : ndarray of shape (n_rows, n_classes)
        Changed. A feature without the class among its parents cancels and adds nothing.
    """
    if 0 in table["parents"]:
        _check_shapes(table, codes.shape[0], out.shape[1])
        add_log_likelihood(
            codes, node, table["others"], n_categories,
            table["steps"], table["offsets"], table["log_table"], out,
        )  # fmt: skip


def _check_shapes(table: NodeTable, n_nodes: int, n_classes: int) -> None:
    """Refuse a table that no fit makes, before compiled code walks over it."""
    others = table["others"]
    sound = (
        len(others) == len(table["offsets"])
        and table["log_table"].shape[2] == n_classes
        and ((others > 0) & (others < n_nodes)).all()
        and (table["offsets"] >= 0).all()
    )
    if not sound:
        raise ValueError("The network's tables are damaged; fit it again.")


def look_up(
    table: NodeTable,
    n_categories: NDArray[np.int64],
    own: NDArray[np.int64],
    others: list[NDArray[np.int64]],
) -> NDArray[np.float64]:
    """Log probabilities of any values given any values of the parents.

    Parameters
    ----------
    table : dict
        A ``NodeTable``.
    n_categories : ndarray of shape (n_nodes,)
        Number of codes of each node.
    own : ndarray
        The node's codes.
    others : list of ndarray
        Codes of the parents other than the class; all broadcast against each other.

    Returns
    -------
    ndarray of shape (..., n_classes)
        Uniform where no training row had the configuration; n_classes is 1 without the class
        among the parents.
    """
    log_table = table["log_table"]
    n_own = log_table.shape[1] - 1
    arrays = np.broadcast_arrays(own, *others)
    g = np.zeros(arrays[0].shape, dtype=np.int64)
    for j, codes in enumerate(arrays[1:]):
        n = int(n_categories[table["others"][j]])
        known = (g >= 0) & (codes < n)
        position = table["offsets"][j] + np.where(known, g * n + codes, 0)
        g = np.where(known, table["steps"][position], -1)
    found = log_table[np.maximum(g, 0), np.minimum(arrays[0], n_own)]
    return np.where((g >= 0)[..., None], found, -np.log(n_own))


def describe_table(table: NodeTable, n_classes: int, names: list[str]) -> dict[str, Any]:
    """Show a table to the user: who the parents are, and one distribution per configuration.

    Parameters
    ----------
    table : dict
        A ``NodeTable``.
    n_classes : int
        Number of classes.
    names : list of str
        Names of the nodes; the class first.

    Returns
    -------
    dict
        ``parents`` (names), ``configurations`` of shape (n_configurations, n_parents) with the
        parents' codes, and ``probabilities`` of shape (n_configurations, n_categories).
    """
    parents, others = table["parents"], table["configurations"]
    probabilities = np.exp(table["log_table"][:, :-1])
    if 0 in parents:
        position = parents.index(0)
        classes = np.tile(np.arange(n_classes, dtype=np.int32), len(others))
        others = np.insert(np.repeat(others, n_classes, axis=0), position, classes, axis=1)
    distributions = probabilities.transpose(0, 2, 1).reshape(len(others), -1)
    return {
        "parents": [names[p] for p in parents],
        "configurations": others,
        "probabilities": distributions,
    }
