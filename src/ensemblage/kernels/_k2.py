"""Scores of candidate parents in a Bayesian network classifier (K2, Algorithms 2 to 4).

Node 0 is the class, the other nodes are the features. ``columns`` holds all nodes' codes,
one row per node, so that a node's codes are contiguous. A *configuration* numbers the values
of a node's parents other than the class. Views of the rows are kept compressed: view ``e``
has the rows ``rows[starts[e]:starts[e + 1]]`` with their ``weights``.
"""

from __future__ import annotations

from math import lgamma

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

ACCURACY, PROBABILITY, LOG = 0, 1, 2
K2, BDEU, BIC = 0, 1, 2

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@compiled
def leave_one_out_scores(  # noqa: C901, PLR0912, PLR0915  one kernel: compiled functions cannot be nested
    columns: Codes,
    n_categories: NDArray[np.int64],
    node: int,
    has_class: bool,
    configuration: Codes,
    n_configurations: int,
    extras: NDArray[np.int64],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    weights: Floats,
    ratios: Floats,
    smoothing: float,
    metric: int,
    counts: Floats,
    totals: Floats,
) -> Floats:
    r"""Leave-one-out score of a node with each extra parent, on each view (Algorithms 3, 4).

    Parameters
    ----------
    columns : ndarray of shape (n_nodes, n_rows)
        Codes; the class first.
    n_categories : ndarray of shape (n_nodes,)
        Number of codes of each node.
    node : int
        The feature whose parents are chosen.
    has_class : bool
        Whether the class is a parent already.
    configuration : ndarray of shape (n_rows,)
        Number of each row's configuration.
    n_configurations : int
        How many there are.
    extras : ndarray of shape (n_extras,)
        Candidate parents; the node itself stands for no extra parent.
    rows, starts, weights : ndarray
        Compressed views; lengths n_entries, n_views + 1, n_entries.
    ratios : ndarray of shape (n_entries, n_classes)
        :math:`B_{mk} = P_k / P_y` of the network without this node, row m left out.
    smoothing : float
        :math:`\alpha` added to each count.
    metric : int
        ``ACCURACY``, ``PROBABILITY`` or ``LOG``.
    counts, totals : ndarray
        Scratch, large enough for the widest candidate's cells.

    Returns
    -------
    ndarray of shape (n_views, n_extras)
        Weighted mean score; more is better.

    Notes
    -----
    With :math:`p_k = (n_k + \alpha) / (N_k + \alpha r)` and the row itself (or one of its
    copies) taken from its own cell, :math:`p_y = a / b`, the true class has probability
    :math:`a / (a + b \sum_{k \ne y} B_{mk} p_k)`: no exponential, no logarithm. A node that
    does not have the class as a parent cancels.
    """
    n_views, n_extras, n_classes = len(starts) - 1, len(extras), n_categories[0]
    labels, own, n_own = columns[0], columns[node], n_categories[node]
    floor = smoothing * n_own
    scores = np.empty((n_views, n_extras))
    for e in range(n_views):
        first, last = starts[e], starts[e + 1]
        unchanged = -1
        for c in range(n_extras):
            extra = extras[c]
            involved = has_class or extra == 0
            if not involved and unchanged >= 0:
                scores[e, c] = scores[e, unchanged]
                continue
            split = extra not in (0, node)
            n_extra = n_categories[extra] if split else 1
            column = columns[extra]
            if involved:
                n_cells = n_configurations * n_extra * n_classes
                counts[: n_cells * n_own] = 0.0
                totals[:n_cells] = floor
                for i in range(first, last):
                    m = rows[i]
                    g = configuration[m] * n_extra + (column[m] if split else 0)
                    counts[(g * n_own + own[m]) * n_classes + labels[m]] += weights[i]
                    totals[g * n_classes + labels[m]] += weights[i]
            score, weight = 0.0, 0.0
            for i in range(first, last):
                m = rows[i]
                y = labels[m]
                a, b, cell, total = 1.0, 1.0, 0, 0
                if involved:
                    g = configuration[m] * n_extra + (column[m] if split else 0)
                    cell, total = (g * n_own + own[m]) * n_classes, g * n_classes
                    removed = min(weights[i], 1.0)
                    a = counts[cell + y] - removed + smoothing
                    b = totals[total + y] - removed
                others, correct = 0.0, 1.0
                for k in range(n_classes):
                    if k != y:
                        rival = b * ratios[i, k]
                        if involved:
                            rival *= (counts[cell + k] + smoothing) / totals[total + k]
                        others += rival
                        # the first of equally probable classes is predicted
                        if rival > a * (1.0 + 1e-10) or (k < y and rival >= a * (1.0 - 1e-10)):
                            correct = 0.0
                if metric == 0:
                    score += weights[i] * correct
                elif metric == 1:
                    score += weights[i] * (a / (a + others))
                else:
                    score += weights[i] * np.log(a / (a + others))
                weight += weights[i]
            scores[e, c] = score / weight
            if not involved:
                unchanged = c
    return scores


@compiled
def leave_one_out_scores_by_cell(  # noqa: C901, PLR0912, PLR0915  as above
    columns: Codes,
    n_categories: NDArray[np.int64],
    node: int,
    configuration: Codes,
    n_configurations: int,
    extras: NDArray[np.int64],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    weights: Floats,
    ratios: Floats,
    smoothing: float,
    metric: int,
    counts: Floats,
    factors: Floats,
) -> Floats:
    r"""Do the same for a node under the class, faster where rows outnumber cells.

    What a row contributes depends on its cell and on its ratios only, as long as one whole
    row is left out: the factors :math:`p_k b / a` are computed once per cell, and a row costs
    :math:`C` products and one division.

    Parameters
    ----------
    columns, n_categories, node, configuration, n_configurations, extras : ndarray and int
        As in ``leave_one_out_scores``, with the class among the parents.
    rows, starts, weights : ndarray
        Compressed views, with no weight below one.
    ratios : ndarray of shape (n_entries, n_classes)
        As in ``leave_one_out_scores``; 1 for the row's own class.
    smoothing, metric : float and int
        As in ``leave_one_out_scores``.
    counts, factors : ndarray
        Scratch; factors has n_classes times the cells of counts.

    Returns
    -------
    ndarray of shape (n_views, n_extras)
        Weighted mean score; more is better.
    """
    n_views, n_extras, n_classes = len(starts) - 1, len(extras), n_categories[0]
    labels, own, n_own = columns[0], columns[node], n_categories[node]
    floor, block = smoothing * n_own, n_own * n_classes
    scores = np.empty((n_views, n_extras))
    largest = 0
    for e in range(n_views):
        largest = max(largest, starts[e + 1] - starts[e])
    outer, inner = np.empty(largest, dtype=np.int32), np.empty(largest, dtype=np.int32)
    cells = np.empty(largest, dtype=np.int32)
    totals = np.empty(n_classes)
    for e in range(n_views):
        first, size = starts[e], starts[e + 1] - starts[e]
        weight = 0.0
        for i in range(size):
            m = rows[first + i]
            outer[i] = configuration[m]
            inner[i] = own[m] * n_classes + labels[m]
            weight += weights[first + i]
        for c in range(n_extras):
            extra = extras[c]
            column = columns[extra]
            n_extra = n_categories[extra] if extra not in (0, node) else 1
            n_groups = n_configurations * n_extra
            counts[: n_groups * block] = 0.0
            if n_extra > 1:
                for i in range(size):
                    g = outer[i] * n_extra + column[rows[first + i]]
                    cells[i] = g * block + inner[i]
                    counts[cells[i]] += weights[first + i]
            else:
                for i in range(size):
                    cells[i] = outer[i] * block + inner[i]
                    counts[cells[i]] += weights[first + i]
            for g in range(n_groups):
                totals[:] = floor
                for v in range(n_own):
                    for k in range(n_classes):
                        totals[k] += counts[g * block + v * n_classes + k]
                for v in range(n_own):
                    cell = g * block + v * n_classes
                    for y in range(n_classes):
                        if counts[cell + y] > 0.0:
                            odds = (totals[y] - 1.0) / (counts[cell + y] - 1.0 + smoothing)
                            for k in range(n_classes):
                                p = (counts[cell + k] + smoothing) / totals[k]
                                factors[(cell + y) * n_classes + k] = p * odds
                            factors[(cell + y) * n_classes + y] = 1.0
            score = 0.0
            if metric == 1 and n_classes == 2:
                for i in range(size):
                    f, j = cells[i] * 2, first + i
                    both = ratios[j, 0] * factors[f] + ratios[j, 1] * factors[f + 1]
                    score += weights[j] / both
            elif metric == 0:
                for i in range(size):
                    f, y = cells[i] * n_classes, labels[rows[first + i]]
                    correct = 1.0
                    for k in range(n_classes):
                        rival = ratios[first + i, k] * factors[f + k]
                        if rival > 1.0 + 1e-10 or (k < y and rival >= 1.0 - 1e-10):
                            correct = 0.0
                    score += weights[first + i] * correct
            else:
                for i in range(size):
                    f, total = cells[i] * n_classes, 0.0
                    for k in range(n_classes):
                        total += ratios[first + i, k] * factors[f + k]
                    if metric == 1:
                        score += weights[first + i] / total
                    else:
                        score -= weights[first + i] * np.log(total)
            scores[e, c] = score / weight
    return scores


@compiled
def add_log_ratios(
    columns: Codes,
    n_categories: NDArray[np.int64],
    node: int,
    configuration: Codes,
    n_configurations: int,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    weights: Floats,
    smoothing: float,
    sign: float,
    log_ratios: Floats,
) -> None:
    r"""Add a feature that has the class as a parent to each row's log ratios, in place.

    Parameters
    ----------
    columns, n_categories, node, configuration, n_configurations : ndarray and int
        As in ``leave_one_out_scores``.
    rows, starts, weights : ndarray
        Compressed views.
    smoothing : float
        :math:`\alpha` added to each count.
    sign : float
        1 to add the node, -1 to take it away.
    log_ratios : ndarray of shape (n_entries, n_classes)
        :math:`\log P_k - \log P_y`, row left out; changed.
    """
    n_classes, n_own = n_categories[0], n_categories[node]
    labels, own = columns[0], columns[node]
    floor = smoothing * n_own
    counts = np.empty((n_configurations, n_own, n_classes))
    totals = np.empty((n_configurations, n_classes))
    # as long as one whole row is left out, rows of a cell have their logarithms in common
    n_logs = n_configurations * n_own * n_classes
    shared = n_logs <= len(rows)
    n_logs = n_logs if shared else 1
    known = np.empty((n_logs, n_classes))
    stamps = np.full(n_logs, -1)
    for e in range(len(starts) - 1):
        counts[:] = 0.0
        totals[:] = 0.0
        for i in range(starts[e], starts[e + 1]):
            m = rows[i]
            counts[configuration[m], own[m], labels[m]] += weights[i]
            totals[configuration[m], labels[m]] += weights[i]
        for i in range(starts[e], starts[e + 1]):
            m = rows[i]
            g, v, y = configuration[m], own[m], labels[m]
            removed = min(weights[i], 1.0)
            cell = (g * n_own + v) * n_classes + y if shared else 0
            if stamps[cell] != e or removed < 1.0:
                stamps[cell] = e if shared and removed == 1.0 else -1
                a = counts[g, v, y] - removed + smoothing
                b = totals[g, y] - removed + floor
                for k in range(n_classes):
                    p = (counts[g, v, k] + smoothing) / (totals[g, k] + floor)
                    known[cell, k] = np.log(p * b / a) if k != y else 0.0
            for k in range(n_classes):
                log_ratios[i, k] += sign * known[cell, k]


@compiled
def local_scores(  # noqa: C901  as above
    columns: Codes,
    n_categories: NDArray[np.int64],
    node: int,
    configuration: Codes,
    n_configurations: int,
    n_possible: float,
    extras: NDArray[np.int64],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    weights: Floats,
    metric: int,
    counts: Floats,
) -> Floats:
    """Decomposable score of a node with each extra parent, on each view.

    Parameters
    ----------
    columns, n_categories, node : ndarray and int
        As in ``leave_one_out_scores``; here the class is a node like the others.
    configuration, n_configurations : ndarray of shape (n_rows,) and int
        Numbers of the observed values of all parents, the class included.
    n_possible : float
        Number of possible configurations, observed or not.
    extras : ndarray of shape (n_extras,)
        Candidate parents; the node itself stands for no extra parent.
    rows, starts, weights : ndarray
        Compressed views.
    metric : int
        ``K2`` (uniform prior), ``BDEU`` (equivalent sample size 1) or ``BIC``.
    counts : ndarray
        Scratch, large enough for the widest candidate's cells.

    Returns
    -------
    ndarray of shape (n_views, n_extras)
        Log score of the node.
    """
    n_views, n_extras, n_own = len(starts) - 1, len(extras), n_categories[node]
    own = columns[node]
    scores = np.empty((n_views, n_extras))
    for e in range(n_views):
        for c in range(n_extras):
            extra = extras[c]
            n_extra = n_categories[extra] if extra != node else 1
            column = columns[extra]
            n_cells = n_configurations * n_extra
            counts[: n_cells * n_own] = 0.0
            size = 0.0
            for i in range(starts[e], starts[e + 1]):
                m = rows[i]
                g = configuration[m] * n_extra + (column[m] if n_extra > 1 else 0)
                counts[g * n_own + own[m]] += weights[i]
                size += weights[i]
            prior = 1.0 if metric == 0 else 1.0 / (n_possible * n_extra * n_own)
            score = 0.0
            for g in range(n_cells):
                total = 0.0
                for v in range(n_own):
                    n = counts[g * n_own + v]
                    total += n
                    if metric == 2:
                        score += n * np.log(n) if n > 0.0 else 0.0
                    elif n > 0.0:
                        score += lgamma(n + prior) - lgamma(prior)
                if metric == 2:
                    score -= total * np.log(total) if total > 0.0 else 0.0
                elif total > 0.0:
                    score += lgamma(n_own * prior) - lgamma(total + n_own * prior)
            if metric == 2:
                score -= 0.5 * np.log(size) * n_possible * n_extra * (n_own - 1)
            scores[e, c] = score
    return scores
