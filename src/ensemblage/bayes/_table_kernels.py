"""Kernels of probability tables: counts, smoothing, look-ups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import compiled

Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]


class CodedColumn(NamedTuple):
    """Codes of shape (n_rows,), all below ``n_codes``."""

    codes: Codes
    n_codes: int


class LookUp(NamedTuple):
    """A node's log probabilities, and the arrays to look them up.

    The parents other than the class have ``sizes`` categories. A configuration of the first j
    parents and the ``code`` of the next one give the configuration ``steps[offsets[j] +
    configuration * size + code]``. The log table has shape (n_configurations, n_codes + 1,
    n_classes); its last code is for unseen categories, and n_classes is 1 if the class is not a
    parent.
    """

    parents: NDArray[np.int64]
    sizes: NDArray[np.int64]
    steps: Codes
    offsets: NDArray[np.int64]
    log_table: Doubles


def refine(configurations: CodedColumn, parent: CodedColumn) -> tuple[CodedColumn, Codes]:
    """Split configurations by one more parent, and index those that occur, in order.

    Also returns the index of the new configuration for each old configuration and code of the
    parent, of shape (n_configurations before * n_codes,); -1 if no row has it.
    """
    n_keys = configurations.n_codes * parent.n_codes
    key = configurations.codes.astype(np.int64) * parent.n_codes + parent.codes
    occurs = np.zeros(n_keys, dtype=np.bool_)
    occurs[key] = True
    step = np.where(occurs, np.cumsum(occurs) - 1, -1).astype(np.int32)
    return CodedColumn(step[key], int(np.count_nonzero(occurs))), step


def entry_weights(
    configurations: CodedColumn, own: CodedColumn, labels: CodedColumn, weights: Doubles
) -> Doubles:
    """Sum up the rows' weights in each entry, of shape (n_configurations, n_codes, n_classes).

    If the class is not a parent, all labels are of a single class.
    """
    shape = (configurations.n_codes, own.n_codes, labels.n_codes)
    group = configurations.codes.astype(np.int64) * own.n_codes + own.codes
    key = group * labels.n_codes + labels.codes
    counts = np.bincount(key, weights=weights, minlength=shape[0] * shape[1] * shape[2])
    return counts.astype(np.float64).reshape(shape)


def log_probabilities(counts: Doubles, smoothing: float) -> Doubles:
    r"""Smoothed log probabilities :math:`\log (n + \alpha) / (N + \alpha r)` of weighted counts.

    A last code, with :math:`n = 0`, is added for unseen categories.
    """
    unseen = np.zeros_like(counts[:, :1])
    totals = counts.sum(axis=1, keepdims=True) + smoothing * counts.shape[1]
    return np.asarray(np.log((np.concatenate([counts, unseen], axis=1) + smoothing) / totals))


@compiled
def add_log_likelihood(codes: Codes, node: int, table: LookUp, out: Doubles) -> None:
    """Add one node's log probabilities under each class to ``out`` (n_rows, n_classes), in place.

    ``codes`` has shape (n_nodes, n_rows). A configuration that does not occur in training is
    uniform for all classes, so nothing is added.
    """
    for m in range(out.shape[0]):
        g = 0
        for j in range(len(table.parents)):
            n, code = table.sizes[j], codes[table.parents[j], m]
            step = table.offsets[j] + g * n + code
            # true for any fitted network; a forged model file must not read out of bounds
            g = table.steps[step] if 0 <= code < n and 0 <= step < len(table.steps) else -1
            if g < 0 or g >= len(table.log_table):
                g = -1
                break
        if g >= 0:
            unseen = table.log_table.shape[1] - 1
            v = codes[node, m] if 0 <= codes[node, m] < unseen else unseen
            for k in range(out.shape[1]):
                out[m, k] += table.log_table[g, v, k]
