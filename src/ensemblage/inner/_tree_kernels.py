"""Kernels of inner trees: candidate thresholds, soft memberships, shrinkage, pruning."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import compiled

Bytes = NDArray[np.uint8]
Views: TypeAlias = NDArray[np.uint8] | NDArray[np.float64]
"""How often each view has drawn each row, or the row's weight in it: (n_rows, n_views)."""
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Rows = NDArray[np.float32]


GINI = 0
ENTROPY = 1
SQUARED = 2
POISSON = 3
"""Split criteria; the first two are for classification, the others for regression."""
LEAF = -1
"""Stands for a leaf's children and feature."""
MAX_CUTS = 255
"""Candidate cuts of a node at most; a bin is a byte."""
NEAR = np.float32(1e-7)
"""Scikit-learn's trees do not split between values with a smaller difference."""
SLACK = 1e-12
"""Tolerance of a window, as a share of the rows' weight: ranks at its edge are in it."""
ROUNDING = 1e-12
"""Relative tolerance: a score that is larger by less is not better."""
MIN_PROBABILITY = np.finfo(np.float64).eps
"""Lower probabilities are raised to this one in a log loss."""


class RowTargets(NamedTuple):
    """Weights of rows, and their targets: class codes or values of a numeric target.

    ``values`` is used if ``n_classes`` is 0, otherwise ``codes``.
    """

    weights: Doubles
    codes: NDArray[np.int32]
    values: Doubles
    n_classes: int


class TreeRows(NamedTuple):
    """Rows, float32 in C order, with their weights and targets.

    Rows without weight are ignored: a fold has all rows, and sets the weights of the others to 0,
    so that no rows are copied.
    """

    X: Rows
    targets: RowTargets

    @property
    def y(self) -> NDArray[Any]:
        """Class codes, or the numeric target."""
        return self.targets.codes if self.targets.n_classes else self.targets.values

    @property
    def counted(self) -> NDArray[np.intp]:
        """Indices of the rows with a positive weight."""
        return np.flatnonzero(self.targets.weights)

    def only(self, rows: NDArray[np.intp]) -> TreeRows:
        """Set the weight of all other rows to 0."""
        weights = np.zeros(len(self.targets.weights))
        weights[rows] = self.targets.weights[rows]
        return self._replace(targets=self.targets._replace(weights=weights))

    def take(self, rows: NDArray[np.intp]) -> TreeRows:
        """Copy some of the rows."""
        weights, codes, values, n_classes = self.targets
        return TreeRows(
            self.X[rows], RowTargets(weights[rows], codes[rows], values[rows], n_classes)
        )


def candidate_cuts(x: Rows, weights: Doubles, own: float, window: float) -> tuple[Doubles, int]:
    """Find the cuts between distinct values whose rank differs from the own cut's by ``window``.

    Returns the cuts in ascending order, and the index of the own cut. Ranks are shares of the
    rows' weight, without missing values. At most ``MAX_CUTS`` cuts are kept, at equal distances in
    rank.
    """
    x, below = _ranked(x, weights)
    n_left = int(np.searchsorted(x, own, side="right"))
    rank = below[n_left - 1] if n_left else 0.0
    reach = (window + SLACK) * below[-1] if len(x) else 0.0
    first = int(np.searchsorted(below, rank - reach))
    last = min(int(np.searchsorted(below, rank + reach, side="right")), len(x) - 1)
    places = first + np.flatnonzero(x[first + 1 : last + 1] > x[first:last] + NEAR)
    places = places[places != n_left - 1]
    if len(places) > MAX_CUTS - 1:
        ranks = np.linspace(below[places[0]], below[places[-1]], MAX_CUTS - 1)
        found = np.searchsorted(below[places], ranks)  # in ascending order
        places = places[found[np.append(True, found[1:] > found[:-1])]]
    low, high = x[places].astype(np.float64), x[places + 1].astype(np.float64)
    middle = low / 2 + high / 2
    cuts = np.append(np.where(middle == high, low, middle), own)
    order = np.argsort(cuts, kind="stable")
    return cuts[order], int(np.argmax(order == len(places)))


def _ranked(x: Rows, weights: Doubles) -> tuple[Rows, Doubles]:
    """Sort the values that are not missing, with their cumulative weights."""
    if (weights == 1.0).all():  # sorting is several times faster than sorting indices
        x = np.sort(x)  # missing ones last
        x = x[: int(np.searchsorted(x, np.inf, side="right"))]
        return x, np.arange(1.0, len(x) + 1)
    known = ~np.isnan(x)
    x, weights = x[known], weights[known]
    order = np.argsort(x, kind="stable")
    return x[order], np.cumsum(weights[order])


@compiled
def bins_of(x: Rows, cuts: Doubles, missing_left: bool) -> Bytes:
    """Count the cuts below each value; a missing value is below or above all of them."""
    bins = np.empty(len(x), dtype=np.uint8)
    # a binary search without branches, with the same number of steps for all values
    ends = np.empty(MAX_CUTS + 1)
    for j in range(MAX_CUTS + 1):  # assigning arrays would take seconds to compile
        ends[j] = cuts[j] if j < len(cuts) else np.inf
    for i in range(len(x)):
        value, place, step = np.float64(x[i]), 0, (MAX_CUTS + 1) // 2
        while step > 0:
            place += step if ends[place + step - 1] < value else 0
            step //= 2
        bins[i] = place
        if np.isnan(value) and not missing_left:
            bins[i] = len(cuts)
    return bins


@compiled
def bin_sums(bins: Bytes, counts: Views, targets: RowTargets, n_bins: int) -> Doubles:
    """Sum up each bin in each view: (n_bins, n_channels, n_views).

    The first channel counts drawn rows: one with a weight between 0 and 1 in a view counts as one.
    The others are the weights of the classes; for a numeric target the weights, and the weights
    times the values.
    """
    n_views, n_classes = counts.shape[1], targets.n_classes
    sums = np.zeros((n_bins, 1 + n_classes if n_classes else 3, n_views))
    for i in range(len(bins)):
        here, weight = sums[bins[i]], targets.weights[i]
        channel = 1 + targets.codes[i] if n_classes else 1
        for e in range(n_views):
            here[0, e] += np.ceil(counts[i, e])
            here[channel, e] += counts[i, e] * weight
        if not n_classes:
            moment = weight * targets.values[i]
            for e in range(n_views):
                here[2, e] += counts[i, e] * moment
    return sums


@compiled(error_model="numpy")
def score_side(side: Doubles, criterion: int, scores: Doubles, weights: Doubles) -> None:
    r"""Compute score and weight of one side of a cut in each view, from :func:`bin_sums`.

    Gini: :math:`\sum_k L_k^2 / L`; entropy: :math:`\sum_k L_k \log(L_k / L)`; squared error, with
    :math:`S = \sum w y`: :math:`S^2 / L`; Poisson deviance: :math:`S \log(S / L)`; more is purer.
    A side without rows has 0, even if rounding errors remain in its weights.
    """
    n_channels, n_views = side.shape
    first = 1 if criterion in (GINI, ENTROPY) else 2
    for e in range(n_views):
        scores[e], weights[e] = 0.0, 0.0
    # the loops over views have no branches, so that they are vectorised
    for k in range(1, n_channels if first == 1 else 2):
        for e in range(n_views):
            weights[e] += side[k, e]
    for k in range(first, n_channels):
        for e in range(n_views):
            part = side[k, e]
            share = part / (weights[e] if weights[e] > 0.0 else 1.0)
            if criterion in (ENTROPY, POISSON):
                share = np.log(share) if share > 0.0 else 0.0
            counts = side[0, e] >= 1.0 and (part > 0.0 or criterion == SQUARED)
            scores[e] += part * share if counts else 0.0


@compiled
def leaves_enough(left: Doubles, right: Doubles, e: int, criterion: int, min_rows: int) -> bool:
    """Whether both sides have ``min_rows``; for Poisson deviance also a positive target."""
    if left[0, e] < min_rows or right[0, e] < min_rows:
        return False
    if criterion != POISSON:
        return True
    least = ROUNDING * (left[2, e] + right[2, e])
    return bool(left[2, e] > least and right[2, e] > least)


@compiled(inline="always")
def _sum_of_bins(sums: Doubles) -> Doubles:
    """Compute ``sums.sum(axis=0)``, which would take half a second to compile."""
    n_bins, n_channels, n_views = sums.shape
    total = np.zeros((n_channels, n_views))
    for c in range(n_bins):
        for k in range(n_channels):
            for e in range(n_views):
                total[k, e] += sums[c, k, e]
    return total


@compiled(inline="always")
def cut_scores(sums: Doubles, own: int, criterion: int, min_rows: int) -> Doubles:
    """Score of each cut in each view, (n_cuts, n_views), from :func:`bin_sums`.

    Minus infinity if a side has too few rows, except for the cut ``own``.
    """
    n_bins, n_channels, n_views = sums.shape
    left, right = np.zeros((n_channels, n_views)), _sum_of_bins(sums)
    left_score, right_score = np.empty(n_views), np.empty(n_views)
    weights = np.empty(n_views)
    scores = np.empty((n_bins - 1, n_views))
    for c in range(n_bins - 1):
        for k in range(n_channels):
            for e in range(n_views):
                left[k, e] += sums[c, k, e]
                right[k, e] -= sums[c, k, e]
        score_side(left, criterion, left_score, weights)
        score_side(right, criterion, right_score, weights)
        for e in range(n_views):
            enough = c == own or leaves_enough(left, right, e, criterion, min_rows)
            scores[c, e] = left_score[e] + right_score[e] if enough else -np.inf
    return scores


@compiled
def cut_gains(sums: Doubles, own: int, criterion: int, min_rows: int) -> Doubles:
    """Gain of each cut over the tree's own, in each view: (n_views, n_cuts).

    Minus infinity if there is no gain, or if a side has too few rows.
    """
    scores = cut_scores(sums, own, criterion, min_rows)
    n_cuts, n_views = scores.shape
    gains = np.empty((n_views, n_cuts))
    for e in range(n_views):
        least = scores[own, e] + ROUNDING * abs(scores[own, e])
        for c in range(n_cuts):
            better = c == own or scores[c, e] > least
            gains[e, c] = scores[c, e] - scores[own, e] if better else -np.inf
    return gains


@compiled
def split_gains(sums: Doubles, criterion: int) -> Doubles:
    """Gain of each cut over no split, in each view: (n_views, n_cuts).

    0 if there is no gain, or if a side has no rows.
    """
    scores = cut_scores(sums, -1, criterion, 1)
    n_cuts, n_views = scores.shape
    whole, weights = np.empty(n_views), np.empty(n_views)
    score_side(_sum_of_bins(sums), criterion, whole, weights)
    gains = np.zeros((n_views, n_cuts))
    for e in range(n_views):
        for c in range(n_cuts):
            gain = scores[c, e] - whole[e]
            if gain > ROUNDING * abs(whole[e]):
                gains[e, c] = gain
    return gains


@compiled
def rows_of_side(  # noqa: C901  rows, views
    bins: Bytes, counts: Views, chosen: Integers, left: bool
) -> tuple[Integers, Views]:
    """Find the rows that at least one view sends to a side, by the cut that it has chosen.

    Returns their indices, and how often each view drew them.
    """
    n_rows, n_views = counts.shape
    low, high = chosen[0], chosen[0]
    for e in range(n_views):
        low = min(low, chosen[e])
        high = max(high, chosen[e])
    n_most = 0
    for i in range(n_rows):
        n_most += bins[i] <= high if left else bins[i] > low
    places, kept = np.empty(n_most, dtype=np.int64), np.empty((n_most, n_views), dtype=counts.dtype)
    n_kept = 0
    for i in range(n_rows):
        if bins[i] > high if left else bins[i] <= low:
            continue
        some = bins[i] <= low or bins[i] > high  # all views agree
        if some:
            for e in range(n_views):
                kept[n_kept, e] = counts[i, e]
        else:
            for e in range(n_views):
                stays = (bins[i] <= chosen[e]) == left
                kept[n_kept, e] = counts[i, e] * stays
                some = some or (stays and counts[i, e] > 0)
        if some:
            places[n_kept] = i
            n_kept += 1
    return places[:n_kept], kept[:n_kept]


@compiled
def count_draws(drawn: NDArray[np.uint32], counts: Bytes) -> None:
    """Count how often each row was drawn, 255 times at most."""
    for i in drawn:
        counts[i] += counts[i] < 255


class SoftTree(NamedTuple):
    """Nodes in an order with parents first; node 0 is the root.

    ``thresholds`` has shape (n_nodes, n_views), ascending in each node; the other arrays
    (n_nodes,). Children and feature of a leaf are -1.
    """

    left: Integers
    right: Integers
    feature: Integers
    missing_left: NDArray[np.bool_]
    thresholds: Doubles


@compiled
def views_right(thresholds: Doubles, x: float, missing_left: bool) -> int:
    """Count the thresholds below a value."""
    if np.isnan(x):
        return 0 if missing_left else len(thresholds)
    if x <= thresholds[0]:
        return 0
    low, high = 0, len(thresholds)
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def reach(tree: SoftTree, row: Rows, nodes: Integers, shares: Doubles) -> int:
    """Write the nodes that a row reaches, parents first, and its memberships; return their number.

    Both arrays are as long as the tree has nodes.
    """
    n_views = tree.thresholds.shape[1]
    nodes[0], shares[0] = 0, 1.0
    done, found = 0, 1
    while done < found:
        node, share = nodes[done], shares[done]
        done += 1
        if tree.left[node] == LEAF:
            continue
        x = np.float64(row[tree.feature[node]])
        right = views_right(tree.thresholds[node], x, tree.missing_left[node])
        if right < n_views:
            nodes[found] = tree.left[node]
            shares[found] = share * ((n_views - right) / n_views)
            found += 1
        if right > 0:
            nodes[found] = tree.right[node]
            shares[found] = share * (right / n_views)
            found += 1
    return found


@compiled
def node_sums(tree: SoftTree, X: Rows, targets: RowTargets) -> Doubles:
    """Sum up the rows in each node by their memberships: (n_nodes, n_classes) weights.

    For a numeric target there are two columns: weights, and weights times values. Rows without
    weight are skipped.
    """
    n_classes = targets.n_classes
    sums = np.zeros((len(tree.left), n_classes or 2))
    nodes, shares = np.empty(len(tree.left), dtype=np.int64), np.empty(len(tree.left))
    for i in range(len(X)):
        if targets.weights[i] == 0.0:
            continue
        for j in range(reach(tree, X[i], nodes, shares)):
            node, weight = nodes[j], shares[j] * targets.weights[i]
            sums[node, targets.codes[i] if n_classes else 0] += weight
            if not n_classes:
                sums[node, 1] += weight * targets.values[i]
    return sums


@compiled
def predict_soft(tree: SoftTree, X: Rows, values: Doubles) -> Doubles:
    """Average the leaves' values, (n_nodes, n_columns), by each row's memberships."""
    out = np.zeros((len(X), values.shape[1]))
    nodes, shares = np.empty(len(tree.left), dtype=np.int64), np.empty(len(tree.left))
    for i in range(len(X)):
        for j in range(reach(tree, X[i], nodes, shares)):
            node = nodes[j]
            if tree.left[node] == LEAF:
                for k in range(values.shape[1]):
                    out[i, k] += shares[j] * values[node, k]
    return out


@compiled
def leaf_memberships(tree: SoftTree, X: Rows) -> tuple[Integers, Integers, Doubles]:
    """Memberships of rows in the leaves that they reach; leaves have the numbers of their nodes.

    Returns ``starts``, ``leaves``, ``shares``: row i is in ``leaves[starts[i]:starts[i + 1]]``.
    """
    nodes, shares = np.empty(len(tree.left), dtype=np.int64), np.empty(len(tree.left))
    starts = np.zeros(len(X) + 1, dtype=np.int64)
    for i in range(len(X)):
        starts[i + 1] = starts[i]
        for j in range(reach(tree, X[i], nodes, shares)):
            starts[i + 1] += tree.left[nodes[j]] == LEAF
    leaves, kept = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    for i in range(len(X)):
        place = starts[i]
        for j in range(reach(tree, X[i], nodes, shares)):
            if tree.left[nodes[j]] == LEAF:
                leaves[place], kept[place] = nodes[j], shares[j]
                place += 1
    return starts, leaves, kept


def node_means(tree: SoftTree, sums: Doubles, is_class: bool) -> tuple[Doubles, Doubles]:
    """Means (n_nodes, n_columns) and weights (n_nodes,); an empty node has its parent's mean."""
    weights = sums.sum(axis=1) if is_class else sums[:, 0]
    totals = sums if is_class else sums[:, 1:]
    means = totals / np.where(weights > 0, weights, 1.0)[:, None]
    if (weights <= 0).any():
        for node in np.flatnonzero(tree.left != LEAF):
            for child in (tree.left[node], tree.right[node]):
                if weights[child] <= 0:
                    means[child] = means[node]
    return means, weights


def shrinkage_factors(weights: Doubles, parents: NDArray[np.int64], strengths: Doubles) -> Doubles:
    r"""Factors :math:`1 / (1 + \lambda / N_{p(t)})`, of shape (n_nodes, n_strengths)."""
    above = np.maximum(weights[np.maximum(parents, 0)], np.finfo(np.float64).tiny)
    return above[:, None] / (above[:, None] + strengths)


@compiled
def loss_of(prediction: float, target: float, is_class: bool) -> float:
    """Log loss of the true class's probability, or squared error."""
    if is_class:
        return float(-np.log(max(prediction, MIN_PROBABILITY)))
    return (prediction - target) ** 2


@compiled
def sort_by_step(nodes: Integers, shares: Doubles, found: int, steps: Integers) -> None:
    """Sort the nodes that a row reaches by their steps (insertion sort)."""
    for j in range(1, found):
        node, share, place = nodes[j], shares[j], j
        while place > 0 and steps[nodes[place - 1]] > steps[node]:
            nodes[place], shares[place] = nodes[place - 1], shares[place - 1]
            place -= 1
        nodes[place], shares[place] = node, share


@compiled
def shrunk_losses(  # noqa: C901  rows, strengths, nodes
    tree: SoftTree,
    X: Rows,
    targets: RowTargets,
    changes: Doubles,
    factors: Doubles,
    steps: Integers,
    n_steps: int,
) -> Doubles:
    """Weighted sums of the rows' losses: (n_steps, n_strengths); rows without weight are skipped.

    ``changes``, (n_nodes, n_columns), are the differences between a node's mean and its parent's;
    the root has its mean. ``factors``, (n_nodes, n_strengths), shrink them. ``steps``, (n_nodes,),
    are the first steps at which nodes exist: at step 0 the tree is its root.
    """
    n_strengths, is_class = factors.shape[1], targets.n_classes > 0
    jumps = np.zeros((n_steps, n_strengths))
    nodes, shares = np.empty(len(tree.left), dtype=np.int64), np.empty(len(tree.left))
    for i in range(len(X)):
        if targets.weights[i] == 0.0:
            continue
        found = reach(tree, X[i], nodes, shares)
        column = targets.codes[i] if is_class else 0
        sort_by_step(nodes, shares, found, steps)
        for s in range(n_strengths):
            prediction, loss = changes[0, column], 0.0
            for j in range(found):
                node, share = nodes[j], shares[j]
                step = steps[node]
                if step >= n_steps:
                    break
                if node > 0:
                    prediction += share * changes[node, column] * factors[node, s]
                last = j + 1 == found or steps[nodes[j + 1]] > step
                if last:
                    new = loss_of(prediction, targets.values[i], is_class)
                    jumps[step, s] += targets.weights[i] * (new - loss)
                    loss = new
    for step in range(1, n_steps):
        for s in range(n_strengths):
            jumps[step, s] += jumps[step - 1, s]
    return jumps


def parents_of(left: Integers, right: Integers) -> Integers:
    """Parent of each node; -1 for the root."""
    parents = np.full(len(left), -1)
    inner = np.flatnonzero(left >= 0)
    parents[left[inner]] = parents[right[inner]] = inner
    return parents


def pruning_alphas(left: Integers, right: Integers, costs: Doubles) -> Doubles:
    r"""Compute the :math:`\alpha` at which each node is pruned to a leaf; 0 for leaves.

    Children come after their parent; ``costs`` are those of nodes as leaves. The weakest link is
    the node with the smallest :math:`g(t) = (R(t) - R(T_t)) / (|T_t| - 1)`, with :math:`R` the cost
    and :math:`|T_t|` the leaves below. It is pruned, and so on up to the root. Nodes below a pruned
    node have its alpha or a smaller one.
    """
    # lists and a heap: compiling takes longer than a tree of few nodes
    parents = parents_of(left, right).tolist()
    lefts, rights, cost = left.tolist(), right.tolist(), costs.tolist()
    inner = [node for node in range(len(left)) if lefts[node] >= 0]
    below, leaves = list(cost), [1] * len(left)
    for node in reversed(inner):
        below[node] = below[lefts[node]] + below[rights[node]]
        leaves[node] = leaves[lefts[node]] + leaves[rights[node]]

    def link(node: int) -> tuple[float, int, int]:
        return (cost[node] - below[node]) / (leaves[node] - 1), node, leaves[node]

    links = [link(node) for node in inner]
    heapq.heapify(links)
    alphas, alpha = [0.0] * len(left), 0.0
    while links:
        weakness, node, then = heapq.heappop(links)
        if leaves[node] != then:
            continue  # this node or one below has been pruned since
        alpha = max(alpha, weakness)
        saved, lost = cost[node] - below[node], leaves[node] - 1
        waiting = [node]
        while waiting:
            gone = waiting.pop()
            if leaves[gone] > 1:
                alphas[gone], leaves[gone] = alpha, 1
                waiting += [lefts[gone], rights[gone]]
        above = parents[node]
        while above >= 0:
            below[above] += saved
            leaves[above] -= lost
            heapq.heappush(links, link(above))
            above = parents[above]
    return np.array(alphas)
