"""Tables of a Bayesian network: parents' configurations, counts, and look-up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


def refine(
    configuration: Codes, n_configurations: int, codes: Codes, n_codes: int
) -> tuple[Codes, NDArray[np.int32], int]:
    """Split configurations by one more parent and number those that occur.

    Parameters
    ----------
    configuration : ndarray of shape (n_rows,)
        Number of each row's configuration so far.
    n_configurations : int
        How many there are.
    codes : ndarray of shape (n_rows,)
        The new parent's codes.
    n_codes : int
        Number of its categories.

    Returns
    -------
    refined : ndarray of shape (n_rows,)
        New numbers, in the order of (configuration, code).
    step : ndarray of shape (n_configurations * n_codes,)
        From (configuration, code) to the new number, -1 where no row is.
    n_refined : int
        How many occur.
    """
    key = configuration.astype(np.int64) * n_codes + codes
    occurs = np.zeros(n_configurations * n_codes, dtype=np.bool_)
    occurs[key] = True
    step = np.where(occurs, np.cumsum(occurs) - 1, -1).astype(np.int32)
    return step[key], step, int(np.count_nonzero(occurs))


def cell_weights(
    configuration: Codes,
    n_configurations: int,
    codes: Codes,
    n_codes: int,
    labels: Codes,
    n_classes: int,
    weights: Floats,
) -> Floats:
    """Add up the rows' weights in each cell of a table.

    Parameters
    ----------
    configuration, n_configurations : ndarray of shape (n_rows,) and int
        Configurations of the parents other than the class.
    codes, n_codes : ndarray of shape (n_rows,) and int
        The node's own values.
    labels, n_classes : ndarray of shape (n_rows,) and int
        Class codes; all zero and one class for a node without the class as a parent.
    weights : ndarray of shape (n_rows,)
        Weight of each row.

    Returns
    -------
    ndarray of shape (n_configurations, n_codes, n_classes)
        Weighted counts.
    """
    key = (configuration.astype(np.int64) * n_codes + codes) * n_classes + labels
    size = n_configurations * n_codes * n_classes
    counts = np.bincount(key, weights=weights, minlength=size).astype(np.float64)
    return counts.reshape(n_configurations, n_codes, n_classes)


def log_probabilities(counts: Floats, smoothing: float) -> Floats:
    r"""Smoothed log probabilities, with a last row for a value never seen.

    Parameters
    ----------
    counts : ndarray of shape (n_configurations, n_codes, n_classes)
        Weighted counts.
    smoothing : float
        :math:`\alpha > 0`.

    Returns
    -------
    ndarray of shape (n_configurations, n_codes + 1, n_classes)
        :math:`\log (n + \alpha) / (N + \alpha r)`; in the last row :math:`n = 0`.
    """
    unseen = np.zeros_like(counts[:, :1])
    totals = counts.sum(axis=1, keepdims=True) + smoothing * counts.shape[1]
    return np.asarray(np.log((np.concatenate([counts, unseen], axis=1) + smoothing) / totals))


@compiled
def add_log_likelihood(
    columns: Codes,
    node: int,
    parents: NDArray[np.int64],
    n_categories: NDArray[np.int64],
    steps: NDArray[np.int32],
    offsets: NDArray[np.int64],
    table: Floats,
    out: Floats,
) -> None:
    """Add one node's log probabilities under each class to the rows' sums, in place.

    Parameters
    ----------
    columns : ndarray of shape (n_nodes, n_rows)
        Codes; ``n_categories`` of the node and above mean a value never seen.
    node : int
        The feature.
    parents : ndarray of shape (n_parents,)
        Its parents other than the class.
    n_categories : ndarray of shape (n_nodes,)
        Number of codes of each node.
    steps, offsets : ndarray
        Where each parent's value leads: ``steps[offsets[j] + configuration * n + code]``.
    table : ndarray of shape (n_configurations, n_codes + 1, n_classes)
        Log probabilities.
    out : ndarray of shape (n_rows, n_classes)
        Changed. A configuration that no training row had is uniform, which says nothing
        about the class, so nothing is added.
    """
    n_classes = out.shape[1]
    for m in range(out.shape[0]):
        g = 0
        for j in range(len(parents)):
            n, code = n_categories[parents[j]], columns[parents[j], m]
            step = offsets[j] + g * n + code
            # the bounds hold for any fitted network; a forged model file must not reach further
            g = steps[step] if 0 <= code < n and step < len(steps) else -1
            if g < 0 or g >= len(table):
                g = -1
                break
        if g >= 0:
            v = min(columns[node, m], table.shape[1] - 1)
            for k in range(n_classes):
                out[m, k] += table[g, v, k]
