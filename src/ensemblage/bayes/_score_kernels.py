"""Kernels of the scores of a node and its parents."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import compiled

Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

CLASS = 0
"""Index of the class among the nodes."""
NO_EXTRA = -1
"""Candidate without an additional parent."""
# leave-one-out metrics of the whole network
ACCURACY = 0
PROBABILITY = 1
LOG = 2
# local metrics of one node
K2 = 0
BDEU = 1
BIC = 2
LIKELIHOOD = 3


class Nodes(NamedTuple):
    """Codes of all nodes, (n_nodes, n_rows), the class first, and their numbers of categories."""

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

    ``rows``, ``weights`` and ``left_out`` have the length n_entries, ``starts`` n_views + 1.
    ``left_out`` is the part of its own weight that a row is predicted without.
    """

    rows: Integers
    starts: Integers
    weights: Doubles
    left_out: Doubles


class OneView(NamedTuple):
    r"""One view's part of :class:`RowViews`, and of the ratios of the network without a node.

    The ratios, of shape (n_entries, n_classes), are :math:`B_{mk} = P_k / P_y` with row m left
    out; 1 for the row's own class.
    """

    rows: Integers
    weights: Doubles
    left_out: Doubles
    ratios: Doubles


@compiled(inline="always")
def view_of(views: RowViews, ratios: Doubles, e: int) -> OneView:
    """Select one view."""
    first, last = views.starts[e], views.starts[e + 1]
    return OneView(
        views.rows[first:last],
        views.weights[first:last],
        views.left_out[first:last],
        ratios[first:last],
    )


@compiled(inline="always")
def split_by(nodes: Nodes, family: Family, extra: int) -> tuple[Codes, int]:
    """Return a candidate's column and number of categories: 1 if it splits no configuration.

    Tables are always by class, so the class splits none.
    """
    if extra in (CLASS, NO_EXTRA):
        return nodes.codes[family.node], 1
    return nodes.codes[extra], nodes.n_categories[extra]


@compiled(inline="always")
def widest_split(nodes: Nodes, family: Family, extras: Integers) -> int:
    """Find the largest number of categories among the candidates."""
    widest = 1
    for c in range(len(extras)):
        widest = max(widest, split_by(nodes, family, extras[c])[1])
    return widest


@compiled(inline="always")
def wins(rival: float, own: float, earlier: bool) -> bool:
    """Whether a class is predicted instead of the true one; ties go to the earlier class."""
    return rival > own * (1.0 + 1e-10) or (earlier and rival >= own * (1.0 - 1e-10))


@compiled
def row_score(own: float, others: float, correct: bool, metric: int) -> float:
    """Score a row by the weights of its true class and of all other classes."""
    if metric == ACCURACY:
        return 1.0 if correct else 0.0
    probability = own / (own + others)
    return probability if metric == PROBABILITY else np.log(probability)


@compiled
def score_without(labels: Codes, view: OneView, metric: int) -> float:
    """Score the network with a node whose parents do not include the class: it cancels out."""
    score, weight = 0.0, 0.0
    for i in range(len(labels)):
        y = labels[i]
        others, correct = 0.0, True
        for k in range(view.ratios.shape[1]):
            if k != y:
                others += view.ratios[i, k]
                if metric == ACCURACY and wins(view.ratios[i, k], 1.0, k < y):
                    correct = False
        score += view.weights[i] * row_score(1.0, others, correct, metric)
        weight += view.weights[i]
    return score / weight


@compiled
def score_rows(
    view: OneView,
    labels: Codes,
    entries: Integers,
    groups: Integers,
    counts: Doubles,
    totals: Doubles,
    smoothing: float,
    metric: int,
) -> float:
    r"""Sum up the rows' weighted scores.

    ``entries`` and ``groups`` are the positions of the first class of a row's entry and group.
    ``counts`` are the weights of the entries, ``totals`` the smoothed weights of the groups, both
    by class and flat.

    With :math:`p_k = (n_k + \alpha) / (N_k + \alpha r)` and the row itself (or one of its
    copies, ``left_out``) removed from its own entry, :math:`p_y = a / b`, the true class has
    probability :math:`a / (a + b \sum_{k \ne y} B_{mk} p_k)`, without exponentials or logarithms.
    """
    n_classes, score = view.ratios.shape[1], 0.0
    if metric == PROBABILITY and n_classes == 2:  # the most common case, without an inner loop
        for i in range(len(labels)):
            y, entry, total = labels[i], entries[i], groups[i]
            removed = view.left_out[i]
            a = counts[entry + y] - removed + smoothing
            b = totals[total + y] - removed
            p = (counts[entry + 1 - y] + smoothing) / totals[total + 1 - y]
            score += view.weights[i] * (a / (a + b * view.ratios[i, 1 - y] * p))
        return score
    for i in range(len(labels)):
        y, entry, total = labels[i], entries[i], groups[i]
        removed = view.left_out[i]
        a = counts[entry + y] - removed + smoothing
        b = totals[total + y] - removed
        others, correct = 0.0, True
        for k in range(n_classes):
            if k != y:
                p = (counts[entry + k] + smoothing) / totals[total + k]
                rival = b * view.ratios[i, k] * p
                others += rival
                if metric == ACCURACY and wins(rival, a, k < y):
                    correct = False
        score += view.weights[i] * row_score(a, others, correct, metric)
    return score


@compiled
def leave_one_out_scores(
    nodes: Nodes,
    family: Family,
    extras: Integers,
    views: RowViews,
    ratios: Doubles,
    smoothing: float,
    metric: int,
) -> Doubles:
    """Leave-one-out score of a node with each extra parent, on each view (Algorithms 3, 4).

    There may be many more entries than rows, so only the entries of the rows are reset.
    """
    configuration = family.configuration
    n_classes, n_own = nodes.n_categories[CLASS], nodes.n_categories[family.node]
    n_groups = family.n_configurations * widest_split(nodes, family, extras)
    floor = smoothing * n_own
    counts, totals = np.zeros(n_groups * n_own * n_classes), np.full(n_groups * n_classes, floor)
    scores = np.empty((len(views.starts) - 1, len(extras)))
    for e in range(len(scores)):
        view = view_of(views, ratios, e)
        labels, own = nodes.codes[CLASS][view.rows], nodes.codes[family.node][view.rows]
        outer, size = configuration[view.rows], len(view.rows)
        entries, groups = np.empty(size, np.int64), np.empty(size, np.int64)
        without = np.nan if family.has_class else score_without(labels, view, metric)
        weight = 0.0
        for i in range(size):
            weight += view.weights[i]
        for c in range(len(extras)):
            if not family.has_class and extras[c] != CLASS:
                scores[e, c] = without
                continue
            column, n_extra = split_by(nodes, family, extras[c])
            for i in range(size):
                g = outer[i] * n_extra + (column[view.rows[i]] if n_extra > 1 else 0)
                entries[i] = (g * n_own + own[i]) * n_classes
                groups[i] = g * n_classes
                counts[entries[i] + labels[i]] += view.weights[i]
                totals[groups[i] + labels[i]] += view.weights[i]
            score = score_rows(view, labels, entries, groups, counts, totals, smoothing, metric)
            scores[e, c] = score / weight
            for i in range(size):
                counts[entries[i] + labels[i]] = 0.0
                totals[groups[i] + labels[i]] = floor
    return scores


def leave_one_out_scores_by_entry(
    nodes: Nodes,
    family: Family,
    n_entries: int,
    extras: Integers,
    views: RowViews,
    ratios: Doubles,
    smoothing: float,
    metric: int,
) -> Doubles:
    r"""Compute the same scores for a node with the class as parent, faster for few entries.

    If every weight is at least one, one whole row is left out, and the score of a row depends only
    on its entry and its ratios: the factors :math:`p_k b / a` are computed once per entry, and a
    row needs :math:`C` products and one division.
    """
    n_classes, n_rows = ratios.shape[1], int(np.diff(views.starts).max())
    scores = np.empty((len(views.starts) - 1, len(extras)))
    # given arrays compile faster than arrays and tuples made inside
    score_by_entry(
        *nodes, family.node, family.configuration, family.n_configurations,
        extras, *views[:3], ratios, smoothing, metric,
        np.empty(n_entries), np.empty(n_entries * n_classes), np.empty(n_classes),
        np.empty((3, n_rows), np.int32), scores,
    )  # fmt: skip
    return scores


@compiled
def score_by_entry(  # noqa: C901, PLR0912  in one piece: each further function takes long to compile
    codes: Codes,
    n_categories: Integers,
    node: int,
    configuration: Codes,
    n_configurations: int,
    extras: Integers,
    rows: Integers,
    starts: Integers,
    weights: Doubles,
    ratios: Doubles,
    smoothing: float,
    metric: int,
    counts: Doubles,
    factors: Doubles,
    totals: Doubles,
    buffers: Codes,
    scores: Doubles,
) -> None:
    r"""Fill the scores, (n_views, n_extras).

    ``counts`` has shape (n_groups, n_own, n_classes), and ``factors``, the :math:`p_k b / a` of
    each entry with a row, one more axis of classes; both are flat. The factor of the row's own
    class is 1. ``totals``, (n_classes,), and ``buffers``, (3, n_rows), are scratch.
    """
    n_classes, n_own = len(totals), n_categories[node]
    block = n_own * n_classes
    labels, outer, inner, entries = codes[CLASS], buffers[0], buffers[1], buffers[2]
    for e in range(len(starts) - 1):
        first, last, weight = starts[e], starts[e + 1], 0.0
        for i in range(first, last):
            m = rows[i]
            outer[i - first] = configuration[m]
            inner[i - first] = codes[node, m] * n_classes + labels[m]
            weight += weights[i]
        for c in range(len(extras)):
            extra = extras[c]  # tables are always by class, so the class splits none
            n_extra = n_categories[extra] if extra not in (CLASS, NO_EXTRA) else 1
            n_entries = n_configurations * n_extra * block
            for entry in range(n_entries):
                counts[entry] = 0.0
            for i in range(last - first):
                g = outer[i] * n_extra
                if n_extra > 1:
                    g += codes[extra, rows[first + i]]
                entries[i] = g * block + inner[i]
                counts[entries[i]] += weights[first + i]
            for start in range(0, n_entries, block):
                for k in range(n_classes):
                    totals[k] = smoothing * n_own
                for entry in range(start, start + block, n_classes):
                    for k in range(n_classes):
                        totals[k] += counts[entry + k]
                for entry in range(start, start + block, n_classes):
                    for y in range(n_classes):
                        if counts[entry + y] > 0.0:
                            odds = (totals[y] - 1.0) / (counts[entry + y] - 1.0 + smoothing)
                            for k in range(n_classes):
                                p = (counts[entry + k] + smoothing) / totals[k]
                                factors[(entry + y) * n_classes + k] = p * odds
                            factors[(entry + y) * n_classes + y] = 1.0
            score = 0.0
            if metric == ACCURACY:
                for i in range(first, last):
                    f, correct = entries[i - first] * n_classes, 1.0
                    for k in range(n_classes):
                        if wins(ratios[i, k] * factors[f + k], 1.0, k < labels[rows[i]]):
                            correct = 0.0
                    score += weights[i] * correct
            else:
                for i in range(first, last):
                    f = entries[i - first] * n_classes
                    total = ratios[i, 0] * factors[f] + ratios[i, 1] * factors[f + 1]
                    for k in range(2, n_classes):
                        total += ratios[i, k] * factors[f + k]
                    if metric == PROBABILITY:
                        score += weights[i] / total
                    else:
                        score -= weights[i] * math.log(total)
            scores[e, c] = score / weight


def add_log_ratios(
    nodes: Nodes,
    family: Family,
    views: RowViews,
    smoothing: float,
    sign: float,
    log_ratios: Doubles,
) -> None:
    r"""Add a feature with the class as parent to :math:`\log P_k - \log P_y`, in place.

    The row itself is left out. ``log_ratios`` has shape (n_entries, n_classes); a sign of -1
    removes the feature.
    """
    n_classes, n_configurations = log_ratios.shape[1], family.n_configurations
    n_counts = n_configurations * int(nodes.n_categories[family.node]) * n_classes
    # if one whole row is left out, rows of an entry have the same logarithms
    n_known = n_counts if n_counts <= len(views.rows) else 1
    add_ratios(
        *nodes, family.node, family.configuration, *views, smoothing, sign, log_ratios,
        np.empty(n_counts), np.empty(n_configurations * n_classes),
        np.empty((n_known, n_classes)), np.full(n_known, -1),
    )  # fmt: skip


@compiled
def add_ratios(  # noqa: C901  views, rows, classes
    codes: Codes,
    n_categories: Integers,
    node: int,
    configuration: Codes,
    rows: Integers,
    starts: Integers,
    weights: Doubles,
    left_out: Doubles,
    smoothing: float,
    sign: float,
    log_ratios: Doubles,
    counts: Doubles,
    totals: Doubles,
    known: Doubles,
    stamps: Integers,
) -> None:
    """Add the ratios; ``known`` are those of each entry in the view of its stamp, or of one row."""
    n_classes, n_own = log_ratios.shape[1], n_categories[node]
    shared, floor = len(known) == len(counts), smoothing * n_own
    for e in range(len(starts) - 1):
        for j in range(len(counts)):
            counts[j] = 0.0
        for j in range(len(totals)):
            totals[j] = 0.0
        for i in range(starts[e], starts[e + 1]):
            m = rows[i]
            g, y = configuration[m], codes[CLASS, m]
            counts[(g * n_own + codes[node, m]) * n_classes + y] += weights[i]
            totals[g * n_classes + y] += weights[i]
        for i in range(starts[e], starts[e + 1]):
            m = rows[i]
            y, group = codes[CLASS, m], configuration[m] * n_classes
            first = group * n_own + codes[node, m] * n_classes
            entry = first + y if shared else 0
            if stamps[entry] != e or left_out[i] != 1.0:
                removed = left_out[i]
                stamps[entry] = e if shared and removed == 1.0 else -1
                a = counts[first + y] - removed + smoothing
                b = totals[group + y] - removed + floor
                for k in range(n_classes):
                    p = (counts[first + k] + smoothing) / (totals[group + k] + floor)
                    known[entry, k] = math.log(p * b / a) if k != y else 0.0
            for k in range(n_classes):
                log_ratios[i, k] += sign * known[entry, k]


@compiled
def local_scores(  # noqa: C901  views, candidates, groups, categories
    nodes: Nodes, family: Family, n_possible: float, extras: Integers, views: RowViews, metric: int
) -> Doubles:
    """Decomposable log score of a node with each extra parent, on each view.

    The metric is ``K2`` (uniform prior), ``BDEU`` (equivalent sample size 1), ``BIC``, or
    ``LIKELIHOOD``, which is BIC without its penalty; ``n_possible`` is the number of possible
    configurations of the parents, observed or not.
    """
    n_views, n_extras, n_own = len(views.starts) - 1, len(extras), nodes.n_categories[family.node]
    own, configuration = nodes.codes[family.node], family.configuration
    widest = 1
    for c in range(n_extras):
        if extras[c] != NO_EXTRA:
            widest = max(widest, nodes.n_categories[extras[c]])
    counts = np.empty(family.n_configurations * widest * n_own)
    scores = np.empty((n_views, n_extras))
    by_likelihood = metric in (BIC, LIKELIHOOD)
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
                    if by_likelihood:
                        score += n * np.log(n) if n > 0.0 else 0.0
                    elif n > 0.0:
                        score += math.lgamma(n + prior) - math.lgamma(prior)
                if by_likelihood:
                    score -= total * np.log(total) if total > 0.0 else 0.0
                elif total > 0.0:
                    score += math.lgamma(n_own * prior) - math.lgamma(total + n_own * prior)
            if metric == BIC:
                score -= 0.5 * np.log(size) * n_possible * n_extra * (n_own - 1)
            scores[e, c] = score
    return scores
