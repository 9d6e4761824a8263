r"""Scores of candidate parents in a Bayesian network classifier (K2, Algorithms 2 to 4).

Notation: :math:`\alpha` is the smoothing, :math:`r` the number of the node's categories. A
*configuration* numbers the values of a node's parents. Scores have shape (n_views, n_extras),
and more is better; where a candidate is ``NO_EXTRA``, the node keeps the parents that it has.
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels._compile import compiled

CLASS = 0
"""The class is the first of all nodes."""

NO_EXTRA = -1
"""The candidate that leaves a node's parents as they are."""

ACCURACY, PROBABILITY, LOG = 0, 1, 2
K2, BDEU, BIC = 0, 1, 2

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Integers = NDArray[np.int64]


class Nodes(NamedTuple):
    """All nodes' codes, of shape (n_nodes, n_rows), the class first; and how many each has."""

    codes: Codes
    n_categories: Integers


class Family(NamedTuple):
    """A node, and the configurations of its parents.

    In the leave-one-out scores the class is not counted among those parents: ``has_class`` says
    whether it is one. In the local scores it is a parent like the others.
    """

    node: int
    has_class: bool
    configuration: Codes
    n_configurations: int


class RowViews(NamedTuple):
    """Compressed views: view ``e`` has the rows ``rows[starts[e]:starts[e + 1]]``.

    ``rows`` and ``weights`` have the length n_entries, ``starts`` n_views + 1.
    """

    rows: Integers
    starts: Integers
    weights: Floats


class Rest(NamedTuple):
    r"""What the network says without the node under change.

    ``ratios``, of shape (n_entries, n_classes), hold :math:`B_{mk} = P_k / P_y` with row m left
    out; 1 for the row's own class.
    """

    ratios: Floats
    smoothing: float


@compiled
def leave_one_out_scores(  # noqa: C901, PLR0912, PLR0915  one kernel: compiled functions cannot be nested
    nodes: Nodes, family: Family, extras: Integers, views: RowViews, rest: Rest, metric: int
) -> Floats:
    r"""Leave-one-out score of a node with each extra parent, on each view (Algorithms 3, 4).

    With :math:`p_k = (n_k + \alpha) / (N_k + \alpha r)` and the row itself (or one of its
    copies) taken from its own entry, :math:`p_y = a / b`, the true class has probability
    :math:`a / (a + b \sum_{k \ne y} B_{mk} p_k)`: no exponential, no logarithm. A node that
    does not have the class as a parent cancels.
    """
    rows, weights, ratios, smoothing = views.rows, views.weights, rest.ratios, rest.smoothing
    n_views, n_extras, n_classes = len(views.starts) - 1, len(extras), nodes.n_categories[CLASS]
    labels, own = nodes.codes[CLASS], nodes.codes[family.node]
    n_own, configuration = nodes.n_categories[family.node], family.configuration
    floor = smoothing * n_own
    widest = 1
    for c in range(n_extras):
        if extras[c] not in (CLASS, NO_EXTRA):
            widest = max(widest, nodes.n_categories[extras[c]])
    totals = np.empty(family.n_configurations * widest * n_classes)
    counts = np.empty(len(totals) * n_own)
    scores = np.empty((n_views, n_extras))
    for e in range(n_views):
        first, last = views.starts[e], views.starts[e + 1]
        unchanged = -1
        for c in range(n_extras):
            extra = extras[c]
            involved = family.has_class or extra == CLASS
            if not involved and unchanged >= 0:
                scores[e, c] = scores[e, unchanged]
                continue
            split = extra not in (CLASS, NO_EXTRA)
            n_extra = nodes.n_categories[extra] if split else 1
            column = nodes.codes[extra] if split else own
            if involved:
                n_groups = family.n_configurations * n_extra * n_classes
                counts[: n_groups * n_own] = 0.0
                totals[:n_groups] = floor
                for i in range(first, last):
                    m = rows[i]
                    g = configuration[m] * n_extra + (column[m] if split else 0)
                    counts[(g * n_own + own[m]) * n_classes + labels[m]] += weights[i]
                    totals[g * n_classes + labels[m]] += weights[i]
            score, weight = 0.0, 0.0
            for i in range(first, last):
                m = rows[i]
                y = labels[m]
                a, b, entry, total = 1.0, 1.0, 0, 0
                if involved:
                    g = configuration[m] * n_extra + (column[m] if split else 0)
                    entry, total = (g * n_own + own[m]) * n_classes, g * n_classes
                    removed = min(weights[i], 1.0)
                    a = counts[entry + y] - removed + smoothing
                    b = totals[total + y] - removed
                others, correct = 0.0, 1.0
                for k in range(n_classes):
                    if k != y:
                        rival = b * ratios[i, k]
                        if involved:
                            rival *= (counts[entry + k] + smoothing) / totals[total + k]
                        others += rival
                        # the first of equally probable classes is predicted
                        if rival > a * (1.0 + 1e-10) or (k < y and rival >= a * (1.0 - 1e-10)):
                            correct = 0.0
                if metric == ACCURACY:
                    score += weights[i] * correct
                elif metric == PROBABILITY:
                    score += weights[i] * (a / (a + others))
                else:
                    score += weights[i] * np.log(a / (a + others))
                weight += weights[i]
            scores[e, c] = score / weight
            if not involved:
                unchanged = c
    return scores


@compiled
def leave_one_out_scores_by_entry(  # noqa: C901, PLR0912, PLR0915  as above
    nodes: Nodes, family: Family, extras: Integers, views: RowViews, rest: Rest, metric: int
) -> Floats:
    r"""Do the same for a node under the class, faster where rows outnumber entries.

    What a row contributes depends on its entry and on its ratios only, as long as one whole
    row is left out, so no weight may be below one: the factors :math:`p_k b / a` are computed
    once per entry, and a row costs :math:`C` products and one division.
    """
    rows, weights, ratios, smoothing = views.rows, views.weights, rest.ratios, rest.smoothing
    n_views, n_extras, n_classes = len(views.starts) - 1, len(extras), nodes.n_categories[CLASS]
    labels, own = nodes.codes[CLASS], nodes.codes[family.node]
    n_own, configuration = nodes.n_categories[family.node], family.configuration
    floor, block = smoothing * n_own, n_own * n_classes
    scores = np.empty((n_views, n_extras))
    largest, widest = 0, 1
    for e in range(n_views):
        largest = max(largest, views.starts[e + 1] - views.starts[e])
    for c in range(n_extras):
        if extras[c] not in (CLASS, NO_EXTRA):
            widest = max(widest, nodes.n_categories[extras[c]])
    outer, inner = np.empty(largest, dtype=np.int32), np.empty(largest, dtype=np.int32)
    entries = np.empty(largest, dtype=np.int32)
    counts = np.empty(family.n_configurations * widest * block)
    factors = np.empty(len(counts) * n_classes)
    totals = np.empty(n_classes)
    for e in range(n_views):
        first, size = views.starts[e], views.starts[e + 1] - views.starts[e]
        weight = 0.0
        for i in range(size):
            m = rows[first + i]
            outer[i] = configuration[m]
            inner[i] = own[m] * n_classes + labels[m]
            weight += weights[first + i]
        for c in range(n_extras):
            extra = extras[c]
            split = extra not in (CLASS, NO_EXTRA)
            n_extra = nodes.n_categories[extra] if split else 1
            column = nodes.codes[extra] if split else own
            n_groups = family.n_configurations * n_extra
            counts[: n_groups * block] = 0.0
            if n_extra > 1:
                for i in range(size):
                    g = outer[i] * n_extra + column[rows[first + i]]
                    entries[i] = g * block + inner[i]
                    counts[entries[i]] += weights[first + i]
            else:
                for i in range(size):
                    entries[i] = outer[i] * block + inner[i]
                    counts[entries[i]] += weights[first + i]
            for g in range(n_groups):
                totals[:] = floor
                for v in range(n_own):
                    for k in range(n_classes):
                        totals[k] += counts[g * block + v * n_classes + k]
                for v in range(n_own):
                    entry = g * block + v * n_classes
                    for y in range(n_classes):
                        if counts[entry + y] > 0.0:
                            odds = (totals[y] - 1.0) / (counts[entry + y] - 1.0 + smoothing)
                            for k in range(n_classes):
                                p = (counts[entry + k] + smoothing) / totals[k]
                                factors[(entry + y) * n_classes + k] = p * odds
                            factors[(entry + y) * n_classes + y] = 1.0
            score = 0.0
            if metric == PROBABILITY and n_classes == 2:
                for i in range(size):
                    f, j = entries[i] * 2, first + i
                    both = ratios[j, 0] * factors[f] + ratios[j, 1] * factors[f + 1]
                    score += weights[j] / both
            elif metric == ACCURACY:
                for i in range(size):
                    f, y = entries[i] * n_classes, labels[rows[first + i]]
                    correct = 1.0
                    for k in range(n_classes):
                        rival = ratios[first + i, k] * factors[f + k]
                        if rival > 1.0 + 1e-10 or (k < y and rival >= 1.0 - 1e-10):
                            correct = 0.0
                    score += weights[first + i] * correct
            else:
                for i in range(size):
                    f, total = entries[i] * n_classes, 0.0
                    for k in range(n_classes):
                        total += ratios[first + i, k] * factors[f + k]
                    if metric == PROBABILITY:
                        score += weights[first + i] / total
                    else:
                        score -= weights[first + i] * np.log(total)
            scores[e, c] = score / weight
    return scores


@compiled
def add_log_ratios(
    nodes: Nodes, family: Family, views: RowViews, smoothing: float, sign: float, log_ratios: Floats
) -> None:
    r"""Add a feature under the class to :math:`\log P_k - \log P_y`, row left out, in place.

    ``log_ratios`` has shape (n_entries, n_classes); a sign of -1 takes the feature away again.
    """
    rows, weights = views.rows, views.weights
    n_classes, n_own = nodes.n_categories[CLASS], nodes.n_categories[family.node]
    labels, own, configuration = nodes.codes[CLASS], nodes.codes[family.node], family.configuration
    floor = smoothing * n_own
    counts = np.empty((family.n_configurations, n_own, n_classes))
    totals = np.empty((family.n_configurations, n_classes))
    # as long as one whole row is left out, rows of an entry have their logarithms in common
    n_logs = family.n_configurations * n_own * n_classes
    shared = n_logs <= len(rows)
    n_logs = n_logs if shared else 1
    known = np.empty((n_logs, n_classes))
    stamps = np.full(n_logs, -1)
    for e in range(len(views.starts) - 1):
        counts[:] = 0.0
        totals[:] = 0.0
        for i in range(views.starts[e], views.starts[e + 1]):
            m = rows[i]
            counts[configuration[m], own[m], labels[m]] += weights[i]
            totals[configuration[m], labels[m]] += weights[i]
        for i in range(views.starts[e], views.starts[e + 1]):
            m = rows[i]
            g, v, y = configuration[m], own[m], labels[m]
            removed = min(weights[i], 1.0)
            entry = (g * n_own + v) * n_classes + y if shared else 0
            if stamps[entry] != e or removed < 1.0:
                stamps[entry] = e if shared and removed == 1.0 else -1
                a = counts[g, v, y] - removed + smoothing
                b = totals[g, y] - removed + floor
                for k in range(n_classes):
                    p = (counts[g, v, k] + smoothing) / (totals[g, k] + floor)
                    known[entry, k] = np.log(p * b / a) if k != y else 0.0
            for k in range(n_classes):
                log_ratios[i, k] += sign * known[entry, k]


@compiled
def local_scores(  # noqa: C901  as above
    nodes: Nodes, family: Family, n_possible: float, extras: Integers, views: RowViews, metric: int
) -> Floats:
    """Decomposable log score of a node with each extra parent, on each view.

    The metric is ``K2`` (uniform prior), ``BDEU`` (equivalent sample size 1) or ``BIC``;
    ``n_possible`` counts the possible configurations of the parents, observed or not.
    """
    n_views, n_extras, n_own = len(views.starts) - 1, len(extras), nodes.n_categories[family.node]
    own, configuration = nodes.codes[family.node], family.configuration
    widest = 1
    for c in range(n_extras):
        if extras[c] != NO_EXTRA:
            widest = max(widest, nodes.n_categories[extras[c]])
    counts = np.empty(family.n_configurations * widest * n_own)
    scores = np.empty((n_views, n_extras))
    for e in range(n_views):
        for c in range(n_extras):
            extra = extras[c]
            n_extra = nodes.n_categories[extra] if extra != NO_EXTRA else 1
            column = nodes.codes[extra] if extra != NO_EXTRA else own
            n_groups = family.n_configurations * n_extra
            counts[: n_groups * n_own] = 0.0
            size = 0.0
            for i in range(views.starts[e], views.starts[e + 1]):
                m, weight = views.rows[i], views.weights[i]
                g = configuration[m] * n_extra + (column[m] if n_extra > 1 else 0)
                counts[g * n_own + own[m]] += weight
                size += weight
            prior = 1.0 if metric == K2 else 1.0 / (n_possible * n_extra * n_own)
            score = 0.0
            for g in range(n_groups):
                total = 0.0
                for v in range(n_own):
                    n = counts[g * n_own + v]
                    total += n
                    if metric == BIC:
                        score += n * np.log(n) if n > 0.0 else 0.0
                    elif n > 0.0:
                        score += lgamma(n + prior) - lgamma(prior)
                if metric == BIC:
                    score -= total * np.log(total) if total > 0.0 else 0.0
                elif total > 0.0:
                    score += lgamma(n_own * prior) - lgamma(total + n_own * prior)
            if metric == BIC:
                score -= 0.5 * np.log(size) * n_possible * n_extra * (n_own - 1)
            scores[e, c] = score
    return scores
