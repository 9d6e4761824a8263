"""Decisions of a tree that an ensemble of views takes: its splits, and which of them stay."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.inner._inner_ensemble import InnerEnsemble
from ensemblage.inner._tree_kernels import (
    ENTROPY,
    GINI,
    ROUNDING,
    SQUARED,
    RowTargets,
    SoftTree,
    TreeRows,
    Views,
    bin_sums,
    bins_of,
    candidate_cuts,
    node_sums,
    pruning_alphas,
    score_side,
    split_gains,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
Truths = NDArray[np.bool_]


def as_counts(views: NDArray[Any]) -> Views:
    """Transpose views to (n_items, n_views): bytes if they are counts, as the kernels prefer."""
    if views.dtype != np.uint8:
        views = np.asarray(views, dtype=np.float64)
        if views.max() <= np.iinfo(np.uint8).max and (views == np.floor(views)).all():
            views = views.astype(np.uint8)
    return np.ascontiguousarray(views.T)


def weigh_by_residual(targets: RowTargets, counts: Views) -> RowTargets:
    r"""Multiply the weights of a node's rows by their residual in the tree that ends there.

    It is :math:`1 - p_{y_i}` with the proportion of the row's class in all views, or
    :math:`|y_i - \mu|` with their mean. If all residuals are 0, the weights stay as they are.
    """
    drawn = targets.weights * counts.sum(axis=1)
    if not drawn.any():
        return targets
    if targets.n_classes:
        sums = np.bincount(targets.codes, drawn, targets.n_classes)
        residuals = 1.0 - sums[targets.codes] / sums.sum()
    else:
        residuals = np.abs(targets.values - np.average(targets.values, weights=drawn))
        residuals[residuals <= ROUNDING * np.abs(targets.values).max()] = 0.0
    if not (residuals * drawn).any():
        return targets
    return targets._replace(weights=targets.weights * residuals)


class ColumnCuts(NamedTuple):
    """Candidate splits of a node's rows on one column; ``bins`` count the cuts below each row."""

    feature: int
    cuts: Doubles
    bins: NDArray[np.uint8]
    missing_left: bool


def candidate_splits(rows: TreeRows, criterion: int, min_rows: int) -> list[ColumnCuts]:
    """Find the cuts of each column that leave enough rows on both sides.

    Missing values are on the side of the larger half of the others.
    """
    found, targets = [], rows.targets
    once = np.ones((len(rows.X), 1), dtype=np.uint8)
    for feature in range(rows.X.shape[1]):
        x = np.ascontiguousarray(rows.X[:, feature])
        known = np.unique(x[~np.isnan(x)]).astype(np.float64)
        if len(known) < 2:
            continue
        middle = len(known) // 2
        own = (known[middle - 1] + known[middle]) / 2
        cuts, _ = candidate_cuts(x, targets.weights, own, 1.0)
        missing_left = bool(np.median(x[~np.isnan(x)]) <= own)
        bins = bins_of(x, cuts, missing_left)
        sides = np.cumsum(bin_sums(bins, once, targets, len(cuts) + 1)[:, :, 0], axis=0)
        left, right = sides[:-1], sides[-1] - sides[:-1]
        enough = np.minimum(left[:, 0], right[:, 0]) >= min_rows
        if not targets.n_classes and criterion != SQUARED:  # Poisson: no side without a target
            enough &= np.minimum(left[:, 2], right[:, 2]) > ROUNDING * sides[-1, 2]
        if not enough.all():
            cuts = cuts[enough]
            bins = bins_of(x, cuts, missing_left)
        if len(cuts):
            found.append(ColumnCuts(feature, cuts, bins, missing_left))
    return found


class SplitMeasure:
    """Gain of each candidate split of a node's rows over no split.

    Candidates are those of :func:`candidate_splits`, numbered column by column.
    """

    def __init__(self, targets: RowTargets, criterion: int) -> None:
        self.n_items = len(targets.weights)
        self.targets = targets
        self.criterion = criterion

    def __call__(self, candidates: list[ColumnCuts], view: NDArray[Any]) -> Doubles:
        """Score the candidates on one view."""
        scores: Doubles = self.score_views(candidates, view[None])[0]
        return scores

    def score_views(self, candidates: list[ColumnCuts], views: NDArray[Any]) -> Doubles:
        """Score the candidates on all views together: (n_views, n_candidates)."""
        counts = as_counts(views)
        sums = (bin_sums(c.bins, counts, self.targets, len(c.cuts) + 1) for c in candidates)
        return np.hstack([split_gains(each, self.criterion) for each in sums])

    def item_losses(self, candidates: list[ColumnCuts], best: int, view: NDArray[Any]) -> Doubles:
        """Loss of each row, 0 to 1, if the sides of a candidate predict by the view's rows."""
        column, cut = candidate_at(candidates, best)
        return side_losses((column.bins > cut).astype(np.intp), self.targets, view)


def candidate_at(candidates: list[ColumnCuts], number: int) -> tuple[ColumnCuts, int]:
    """Find a candidate by its number: its column, and its place among the column's cuts."""
    ends = np.cumsum([len(each.cuts) for each in candidates])
    place = int(np.searchsorted(ends, number, side="right"))
    return candidates[place], number - int(ends[place]) + len(candidates[place].cuts)


def side_losses(sides: Indices, targets: RowTargets, view: NDArray[Any]) -> Doubles:
    """Loss of each row, 0 to 1, if the sides of a split predict by the rows of a view.

    One minus the proportion of the row's class; for a numeric target the absolute error as a share
    of the largest.
    """
    weights, n_sides = targets.weights * view, int(sides.max()) + 1
    if targets.n_classes:
        shares = _side_shares(sides, targets, weights, n_sides, 0.0)
        return np.asarray(np.clip(1.0 - shares[sides, targets.codes], 0.0, 1.0))
    errors = np.abs(targets.values - _side_means(sides, targets.values, weights, n_sides)[sides])
    largest = errors.max()
    return np.asarray(errors / largest if largest > 0 else errors)


def _side_shares(
    sides: Indices, targets: RowTargets, weights: Doubles, n_sides: int, added: float
) -> Doubles:
    """Class proportions of each side, with a weight added to each class; 0 without rows."""
    cells = sides * targets.n_classes + targets.codes
    sums = np.bincount(cells, weights, n_sides * targets.n_classes).reshape(n_sides, -1) + added
    totals = sums.sum(axis=1, keepdims=True)
    return np.asarray(sums / np.where(totals > 0, totals, 1.0))


def _side_means(sides: Indices, values: Doubles, weights: Doubles, n_sides: int) -> Doubles:
    """Weighted mean of each side; a side without weight has the mean of all rows."""
    totals = np.bincount(sides, weights, n_sides)
    sums = np.bincount(sides, weights * values, n_sides)
    whole = sums.sum() / totals.sum() if totals.sum() > 0 else values.mean()
    return np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), whole)


class PruningMeasure:
    """Out-of-view score of a node as a leaf, and with its split: the two candidates.

    The log likelihood of the rows outside of a view under the class proportions of those in it
    (Laplace smoothing), or minus their squared errors.
    """

    def __init__(self, targets: RowTargets, sides: Indices) -> None:
        self.n_items = len(sides)
        self.targets = targets
        self.sides = sides

    def __call__(self, candidates: Any, view: NDArray[Any]) -> Doubles:
        """Score both candidates on one view."""
        alone = np.zeros_like(self.sides)
        return np.array([self._score(alone, 1, view), self._score(self.sides, 2, view)])

    def _score(self, sides: Indices, n_sides: int, view: NDArray[Any]) -> float:
        weights, codes, values, n_classes = self.targets
        out, drawn = view == 0, weights * view
        if n_classes:
            shares = _side_shares(sides, self.targets, drawn, n_sides, 1.0)
            return float((weights[out] * np.log(shares[sides[out], codes[out]])).sum())
        means = _side_means(sides, values, drawn, n_sides)
        return -float((weights[out] * (values[out] - means[sides[out]]) ** 2).sum())

    def item_losses(self, candidates: Any, best: int, view: NDArray[Any]) -> Doubles:
        """Loss of each row, 0 to 1, as a leaf or with the split."""
        return side_losses(self.sides * best, self.targets, view)


def _combined(measure: Any, candidates: Any, views: Any, combine: str) -> Doubles:
    return InnerEnsemble(measure, lambda _: views, combine)(candidates)


class Split(NamedTuple):
    """A threshold of a feature and its mean gain; 0 where no split is possible."""

    gain: float = 0.0
    feature: int = -1
    cut: float = 0.0
    missing_left: bool = False


class SplitSearch(NamedTuple):
    """How the views choose a split."""

    criterion: int
    min_rows: int
    combine: str
    weighted: bool

    def best(self, rows: TreeRows, counts: Views) -> Split:
        """Find the split with the highest combined score, which is its gain; of votes, the mean."""
        if self.weighted:
            rows = rows._replace(targets=weigh_by_residual(rows.targets, counts))
        candidates = candidate_splits(rows, self.criterion, self.min_rows)
        if not candidates or not counts.any():
            return Split()
        measure = SplitMeasure(rows.targets, self.criterion)
        scores = _combined(measure, candidates, counts.T, self.combine)
        column, c = candidate_at(candidates, int(scores.argmax()))
        gain = float(scores.max())
        if self.combine == "vote":
            alone = ColumnCuts(column.feature, column.cuts[[c]], (column.bins > c).astype(np.uint8),
                               column.missing_left)  # fmt: skip
            gain = float(measure.score_views([alone], counts.T).mean())
        return Split(gain, column.feature, float(column.cuts[c]), column.missing_left)


class _GrownNode(NamedTuple):
    rows: Indices
    split: Split
    left: int = -1


def grow_by_views(
    rows: TreeRows, counts: Views, search: SplitSearch, max_leaf_nodes: int | None
) -> tuple[SoftTree, Doubles]:
    r"""Grow a tree best-first; each split is chosen by the views.

    Also returns the :math:`\alpha` at which each node is pruned, by the costs on all rows.
    """
    made = [_GrownNode(np.arange(len(rows.X)), search.best(rows, counts))]
    waiting, n_leaves = [(-made[0].split.gain, 0)], 1
    while waiting and (max_leaf_nodes is None or n_leaves < max_leaf_nodes):
        gain, node = heapq.heappop(waiting)
        if gain >= 0:
            break
        here, split = made[node].rows, made[node].split
        x = rows.X[here, split.feature]
        left = np.where(np.isnan(x), split.missing_left, x <= split.cut)
        made[node] = made[node]._replace(left=len(made))
        for part in (here[left], here[~left]):
            best = search.best(rows.take(part), counts[part])
            heapq.heappush(waiting, (-best.gain, len(made)))
            made.append(_GrownNode(part, best))
        n_leaves += 1
    left_child = np.array([node.left for node in made], dtype=np.int64)
    inner = left_child >= 0
    tree = SoftTree(
        left_child,
        np.where(inner, left_child + 1, -1),
        np.where(inner, [node.split.feature for node in made], -1).astype(np.int64),
        inner & np.array([node.split.missing_left for node in made]),
        np.where(inner, [node.split.cut for node in made], 0.0)[:, None],
    )
    costs = node_costs(tree, rows, search.criterion)
    return tree, pruning_alphas(tree.left, tree.right, costs)


def node_costs(tree: SoftTree, rows: TreeRows, criterion: int) -> Doubles:
    """Impurity of each node as a leaf, times its share of the weight, up to a common constant."""
    sums = node_sums(tree, rows.X, rows.targets)
    channels = np.vstack([np.ones(len(sums)), sums.T])
    scores, weights = np.empty(len(sums)), np.empty(len(sums))
    score_side(channels, criterion, scores, weights)
    costs = weights - scores if criterion == GINI else -scores
    return np.asarray(costs / weights[0] / (np.log(2) if criterion == ENTROPY else 1.0))


def splits_kept_by_views(
    tree: SoftTree, rows: TreeRows, counts: Views, combine: str, weighted: bool
) -> Truths:
    """Mark the splits that stay: those that score higher than a leaf, and all above them."""
    kept = np.zeros(len(tree.left), dtype=bool)
    reached = {0}
    for node, here in rows_at_splits(tree, rows):
        if node not in reached:
            continue
        part, drawn = rows.take(here), counts[here]
        targets = weigh_by_residual(part.targets, drawn) if weighted else part.targets
        judging = drawn.T[(drawn == 0).any(axis=0)]
        if not judging.any():
            continue
        measure = PruningMeasure(targets, goes_right(tree, node, part.X))
        if _combined(measure, None, judging, combine).argmax() == 1:
            kept[node] = True
            reached |= {int(tree.left[node]), int(tree.right[node])}
    return kept


def goes_right(tree: SoftTree, node: int, X: NDArray[np.float32]) -> Indices:
    """Side of each row at a node by its first threshold: 0 left, 1 right."""
    x = X[:, tree.feature[node]]
    left = np.where(np.isnan(x), tree.missing_left[node], x <= tree.thresholds[node, 0])
    return np.asarray(~left, dtype=np.intp)


def rows_at_splits(tree: SoftTree, rows: TreeRows) -> Iterator[tuple[int, Indices]]:
    """Yield each split with the rows that reach it, parents first."""
    waiting = {0: np.arange(len(rows.X))}
    for node in np.flatnonzero(tree.left >= 0).tolist():
        here = waiting.pop(node)
        yield node, here
        right = goes_right(tree, node, rows.X[here]) == 1
        waiting[int(tree.left[node])], waiting[int(tree.right[node])] = here[~right], here[right]
